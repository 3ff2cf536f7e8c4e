/* A trace as an Arrow C stream in a capsule: the PyCapsule interface of Arrow.  Consumers read it on threads of their
 * own and without the GIL, so the stream opens the trace a second time, and nothing in it uses Python. */
#include "epprof/arrow.h"

#include <stdlib.h>

#include "trace.h"

#define CAPSULE_NAME "arrow_array_stream"

/* The consumer has moved the stream out of the capsule, or has not taken it. */
static void destroy_capsule(PyObject *capsule)
{
	struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, CAPSULE_NAME);

	if (stream && stream->release)
		stream->release(stream);
	free(stream);
}

static epp_status *open_stream(const char *path, struct ArrowArrayStream *stream)
{
	epp_arrow_options options = { .struct_size = sizeof(options), .close_trace = 1 };
	epp_trace *trace;
	epp_status *status = epp_trace_open(path, &trace);

	if (status)
		return status;
	status = epp_trace_arrow_stream(trace, &options, stream);
	if (status)
		epp_trace_close(trace);
	return status;
}

PyObject *trace_arrow_stream(PyObject *self, PyObject *unused)
{
	const epp_trace *trace = trace_of(self);
	struct ArrowArrayStream *stream = trace ? calloc(1, sizeof(*stream)) : NULL;

	(void)unused;
	if (!trace)
		return NULL;
	if (!stream)
		return PyErr_NoMemory();
	epp_status *status = open_stream(epp_trace_get_info(trace)->path, stream);
	if (status) {
		free(stream);
		return python_raise(status);
	}
	PyObject *capsule = PyCapsule_New(stream, CAPSULE_NAME, destroy_capsule);
	if (!capsule) {
		stream->release(stream);
		free(stream);
	}
	return capsule;
}
