/* Texts and errors between Python and the libraries. */
#include "python.h"

#include <string.h>

/* The class is in Python (errors.py), and looked up here so that both modules raise the same one. */
PyObject *python_raise(epp_status *status)
{
	PyObject *module = PyImport_ImportModule("epprof.errors");
	PyObject *class = module ? PyObject_GetAttrString(module, "Error") : NULL;
	PyObject *text = class ? python_str(epp_status_message(status), strlen(epp_status_message(status))) : NULL;
	PyObject *error = text ? PyObject_CallFunction(class, "iO", (int)epp_status_code(status), text) : NULL;

	if (error)
		PyErr_SetObject(class, error);
	Py_XDECREF(error);
	Py_XDECREF(text);
	Py_XDECREF(class);
	Py_XDECREF(module);
	epp_status_destroy(status);
	return NULL;
}

int python_text(PyObject *object, PyObject **owner, const char **text, size_t *bytes)
{
	Py_ssize_t count = 0;

	*owner = NULL;
	if (PyUnicode_Check(object)) {
		*text = PyUnicode_AsUTF8AndSize(object, &count);
		if (*text) {
			*owner = Py_NewRef(object);
			*bytes = (size_t)count;
			return 0;
		}
		PyErr_Clear(); /* lone surrogates */
		*owner = PyUnicode_AsEncodedString(object, "utf-8", "replace");
	} else if (PyBytes_Check(object)) {
		*owner = Py_NewRef(object);
	} else {
		PyErr_Format(PyExc_TypeError, "a str is needed, not %R", (PyObject *)Py_TYPE(object));
	}
	char *encoded;
	if (!*owner || PyBytes_AsStringAndSize(*owner, &encoded, &count) < 0) {
		Py_CLEAR(*owner);
		return -1;
	}
	*text = encoded;
	*bytes = (size_t)count;
	return 0;
}

PyObject *python_str(const char *text, size_t bytes)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace");
}
