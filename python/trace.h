/* An opened trace as a Python object.  Everything that reads it runs with the GIL held, so that one thread at a time uses
 * it. */
#ifndef EPPROF_PYTHON_TRACE_H
#define EPPROF_PYTHON_TRACE_H

#include "epprof/trace_reader.h"
#include "python.h"

struct trace {
	PyObject_HEAD epp_trace *trace;
	size_t users; /* iterators that read it; close() waits for them */
	bool is_closed;
};

/* Returns the trace of a Python object, NULL with an exception if it is closed. */
epp_trace *trace_of(PyObject *self);

/* Ends a use that trace->users counts, and closes the trace if it was the last one after close(). */
void trace_leave(struct trace *trace);

/* Appends an item to a list.  Returns the list, or NULL with an exception if the item is NULL or there is no memory.
 * Ownership: takes both. */
PyObject *trace_list_add(PyObject *list, PyObject *item);

/* Trace.events(from_ns, to_ns, run): an iterator of tuples, one for each event, in order of start. */
PyObject *trace_events(PyObject *self, PyObject *arguments);
int trace_events_init(PyObject *module);

/* Trace.arrow_stream(): a capsule with an Arrow C stream of the events. */
PyObject *trace_arrow_stream(PyObject *self, PyObject *unused);

#endif
