/* What both extension modules have in common: Python's limited API, and texts and errors across it.
 *
 * Everything here runs with the GIL held.  A function that returns NULL or -1 has set a Python exception. */
#ifndef EPPROF_PYTHON_PYTHON_H
#define EPPROF_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000 /* one binary for Python 3.10 and later */
#include <Python.h>
#include <stdbool.h>

#include "epprof/status.h"

/* Python's casts from functions with more parameters than PyCFunction. */
#define PYTHON_FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* Raises `epprof.Error` with the message and the code of a status.
 * Ownership: takes `status`, which is not NULL.  Returns NULL. */
PyObject *python_raise(epp_status *status);

/* Returns the UTF-8 bytes of a str, or the bytes of a bytes object.  Characters that UTF-8 cannot hold become "?".
 * Ownership: `*owner` is a new reference that keeps `*text` valid. */
int python_text(PyObject *object, PyObject **owner, const char **text, size_t *bytes);

/* Creates a str from bytes that are UTF-8 in most cases; others become U+FFFD. */
PyObject *python_str(const char *text, size_t bytes);

#endif
