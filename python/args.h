/* The args of an event, from Python's keyword arguments: int, float, str and bytes as they are, bool as 0 or 1, and
 * everything else as its str().  Values are converted when they are added, so that a later change of a list, for
 * example, has no effect. */
#ifndef EPPROF_PYTHON_ARGS_H
#define EPPROF_PYTHON_ARGS_H

#include "epprof/record.h"
#include "python.h"

/* Args up to this number need no allocation. */
#define ARGS_INLINE 6u

struct args {
	epp_arg *args;
	PyObject **owners; /* of the texts; NULL for numbers */
	size_t count, room;
	epp_arg inline_args[ARGS_INLINE];
	PyObject *inline_owners[ARGS_INLINE];
};

void args_init(struct args *args);
void args_deinit(struct args *args);

/* Adds the values of the keyword arguments of a call; `names` is its tuple of names, or NULL.  A value whose str() fails
 * is recorded as "(no text)", because recording must not disturb the program.  The only exception is MemoryError. */
int args_add(struct args *args, PyObject *names, PyObject *const *values);

/* Returns the number of the name with this text, 0 with an exception. */
epp_name args_name(PyObject *text);

#endif
