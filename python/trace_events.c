/* The iterator over the events of a trace. */
#include "epprof/timeline.h"
#include "trace.h"

struct events {
	PyObject_HEAD struct trace *trace; /* a reference */
	epp_timeline *timeline;
};

static PyTypeObject *events_type;

static const char *word(const char *const *words, size_t count, unsigned number)
{
	return number < count ? words[number] : "unknown";
}

static PyObject *arg_value(const epp_trace_arg *arg)
{
	switch (arg->type) {
	case EPP_ARG_I64:
		return PyLong_FromLongLong(arg->value.i64);
	case EPP_ARG_U64:
		return PyLong_FromUnsignedLongLong(arg->value.u64);
	case EPP_ARG_F64:
		return PyFloat_FromDouble(arg->value.f64);
	default:
		return python_str(arg->value.text, arg->text_bytes);
	}
}

static PyObject *args_of(const epp_timeline *timeline, const epp_event *event)
{
	PyObject *args = PyDict_New();
	epp_trace_arg arg;
	size_t cursor = 0;

	while (args && epp_event_args(timeline, event, &cursor, &arg)) {
		PyObject *key = python_str(arg.key, arg.key_bytes), *value = key ? arg_value(&arg) : NULL;
		if (!value || PyDict_SetItem(args, key, value) < 0)
			Py_CLEAR(args);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return args;
}

static PyObject *event_tuple(const epp_timeline *timeline, const epp_event *event)
{
	static const char *const kinds[] = { "unknown", "slice", "instant", "counter", "flow", "async" };
	static const char *const categories[] = { "Session", "Node", "Kernel", "Api" };

	return Py_BuildValue("sNsLLIKKIIIsLLINI", word(kinds, 6, event->kind),
	                     python_str(event->name, event->name_bytes), word(categories, 4, event->category),
	                     (long long)event->start_ns, (long long)event->duration_ns, event->track->track,
	                     (unsigned long long)event->id, (unsigned long long)event->parent, event->depth, event->lane,
	                     event->run, epp_placement_name(event->placement), (long long)event->start_error_ns,
	                     (long long)event->end_error_ns, event->flags, args_of(timeline, event), event->weight);
}

static PyObject *events_next(PyObject *self)
{
	struct events *events = (struct events *)self;
	const epp_event *event;

	if (epp_timeline_next(events->timeline, &event))
		return event_tuple(events->timeline, event);
	epp_status *status = epp_timeline_status(events->timeline);
	return status ? python_raise(status) : NULL;
}

static void events_dealloc(PyObject *self)
{
	struct events *events = (struct events *)self;
	PyTypeObject *type = Py_TYPE(self);

	epp_timeline_destroy(events->timeline);
	trace_leave(events->trace);
	Py_DECREF(events->trace);
	PyObject_Free(self);
	Py_DECREF(type);
}

PyObject *trace_events(PyObject *self, PyObject *arguments)
{
	epp_timeline_options options = { .struct_size = sizeof(options) };
	epp_trace *trace = trace_of(self);
	epp_timeline *timeline;
	long long from_ns, to_ns;

	if (!trace || !PyArg_ParseTuple(arguments, "LLI", &from_ns, &to_ns, &options.run))
		return NULL;
	options.from_ns = from_ns;
	options.to_ns = to_ns;
	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (status)
		return python_raise(status);
	struct events *events = PyObject_New(struct events, events_type);
	if (!events) {
		epp_timeline_destroy(timeline);
		return NULL;
	}
	events->timeline = timeline;
	events->trace = (struct trace *)Py_NewRef(self);
	events->trace->users++;
	return (PyObject *)events;
}

static PyType_Slot events_slots[] = {
	{ Py_tp_dealloc, events_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, events_next },
	{ 0, NULL },
};
static PyType_Spec events_spec = { "epprof._trace.Events", sizeof(struct events), 0,
	                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, events_slots };

int trace_events_init(PyObject *module)
{
	events_type = (PyTypeObject *)PyType_FromSpec(&events_spec);
	return events_type ? PyModule_AddObjectRef(module, "Events", (PyObject *)events_type) : -1;
}
