/* Python values as args of events. */
#include "args.h"

#include <string.h>

void args_init(struct args *args)
{
	args->args = args->inline_args;
	args->owners = args->inline_owners;
	args->count = 0;
	args->room = ARGS_INLINE;
}

void args_deinit(struct args *args)
{
	for (size_t i = 0; i < args->count; i++)
		Py_XDECREF(args->owners[i]);
	args->count = 0;
	if (args->args != args->inline_args) {
		PyMem_Free(args->args);
		PyMem_Free(args->owners);
	}
}

static int grow(struct args *args, size_t count)
{
	if (count <= args->room)
		return 0;
	epp_arg *copies = PyMem_Malloc(count * sizeof(*copies));
	PyObject **owners = PyMem_Malloc(count * sizeof(*owners));
	if (!copies || !owners) {
		PyMem_Free(copies);
		PyMem_Free(owners);
		PyErr_NoMemory();
		return -1;
	}
	memcpy(copies, args->args, args->count * sizeof(*copies));
	memcpy(owners, args->owners, args->count * sizeof(*owners));
	if (args->args != args->inline_args) {
		PyMem_Free(args->args);
		PyMem_Free(args->owners);
	}
	args->args = copies;
	args->owners = owners;
	args->room = count;
	return 0;
}

/* Names are mostly literals, and each literal is one object: the cache saves hashing its text.  It holds a reference to
 * each text, so that no other object can have its address. */
#define RECENT_COUNT 256u
static struct recent_name {
	PyObject *text;
	epp_name name;
} recent_names[RECENT_COUNT];

epp_name args_name(PyObject *text)
{
	struct recent_name *recent = &recent_names[(uintptr_t)text / 16 % RECENT_COUNT];
	PyObject *owner;
	const char *bytes;
	size_t count;

	if (recent->text == text)
		return recent->name;
	if (python_text(text, &owner, &bytes, &count) < 0)
		return 0;
	epp_name name = epp_name_intern_bytes(bytes, count);
	Py_DECREF(owner);
	if (PyUnicode_Check(text)) {
		PyObject *replaced = recent->text;
		recent->text = Py_NewRef(text);
		recent->name = name;
		Py_XDECREF(replaced);
	}
	return name;
}

/* Returns false if the integer has more than 64 bits. */
static bool set_integer(epp_arg *arg, PyObject *value)
{
	int overflow;
	long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

	arg->type = EPP_ARG_I64;
	arg->value.i64 = number;
	if (overflow > 0) {
		arg->type = EPP_ARG_U64;
		arg->value.u64 = PyLong_AsUnsignedLongLong(value);
		overflow = PyErr_Occurred() != NULL;
		PyErr_Clear();
	}
	return !overflow;
}

static int set_text(epp_arg *arg, PyObject **owner, PyObject *value)
{
	const char *text;

	arg->type = EPP_ARG_TEXT;
	if (python_text(value, owner, &text, &arg->text_bytes) < 0)
		return -1;
	arg->value.text = text;
	return 0;
}

/* Values of other types, and integers beyond 64 bits. */
static int set_other(epp_arg *arg, PyObject **owner, PyObject *value)
{
	PyObject *integer = !PyLong_Check(value) && PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
	bool is_set = integer && set_integer(arg, integer);

	Py_XDECREF(integer);
	PyErr_Clear();
	if (is_set)
		return 0;
	PyObject *text = PyObject_Str(value);
	if (!text) {
		PyErr_Clear();
		text = PyUnicode_FromString("(no text)");
	}
	int result = text ? set_text(arg, owner, text) : -1;
	Py_XDECREF(text);
	return result;
}

static int set(epp_arg *arg, PyObject **owner, PyObject *value)
{
	*owner = NULL;
	if (PyLong_Check(value) && set_integer(arg, value))
		return 0;
	if (PyFloat_Check(value)) {
		arg->type = EPP_ARG_F64;
		arg->value.f64 = PyFloat_AsDouble(value);
		return 0;
	}
	if (PyUnicode_Check(value) || PyBytes_Check(value))
		return set_text(arg, owner, value);
	return set_other(arg, owner, value);
}

int args_add(struct args *args, PyObject *names, PyObject *const *values)
{
	size_t count = names ? (size_t)PyTuple_Size(names) : 0;

	if (grow(args, args->count + count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		epp_arg *arg = &args->args[args->count];
		arg->key = args_name(PyTuple_GetItem(names, (Py_ssize_t)i));
		if (!arg->key || set(arg, &args->owners[args->count], values[i]) < 0)
			return -1;
		args->count++;
	}
	return 0;
}
