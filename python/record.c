/* The extension module epprof._record: sessions, and the functions that record, on libepprof alone.
 *
 * Events go to the session that was entered last and is still open, or to the default session of EPPROF_OUTPUT.  While
 * nothing records, event() returns one object that does nothing, and the other functions return at once. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "epprof/epprof.h"

static epp_session *current; /* NULL: the default session */
static PyTypeObject *event_type;
static PyObject *no_event;

/* ---- arguments ---- */

/* Reads `name` and, if there is one more, `category`. */
static int read_name(PyObject *const *arguments, Py_ssize_t count, epp_name *name, epp_category *category)
{
	*category = EPP_NODE;
	if (count < 1 || count > 2) {
		PyErr_SetString(PyExc_TypeError, "the arguments are a name, a category and, by keyword, args of the event");
		return -1;
	}
	if (count == 2) {
		long number = PyLong_AsLong(arguments[1]);
		if (number == -1 && PyErr_Occurred())
			return -1;
		if (number < EPP_SESSION || number > EPP_API) {
			PyErr_Format(PyExc_ValueError, "%ld is not a category", number);
			return -1;
		}
		*category = (epp_category)number;
	}
	*name = args_name(arguments[0]);
	return *name ? 0 : -1;
}

static int read_id(PyObject *number, uint64_t *id)
{
	*id = PyLong_AsUnsignedLongLong(number);
	return *id == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

/* ---- event objects ---- */

struct event {
	PyObject_HEAD epp_session *session; /* in which it was begun */
	uint64_t id;
	epp_name name;
	uint8_t category;
	bool is_async;
	struct args args;
};

static PyObject *event_create(PyObject *const *arguments, Py_ssize_t count, PyObject *names, bool is_async)
{
	epp_category category;
	epp_name name;

	if (!EPPROF_ENABLED())
		return Py_NewRef(no_event);
	if (read_name(arguments, count, &name, &category) < 0)
		return NULL;
	struct event *event = PyObject_New(struct event, event_type);
	if (!event)
		return NULL;
	event->session = NULL;
	event->id = 0;
	event->name = name;
	event->category = (uint8_t)category;
	event->is_async = is_async;
	args_init(&event->args);
	if (names && args_add(&event->args, names, arguments + count) < 0) {
		Py_DECREF(event);
		return NULL;
	}
	return (PyObject *)event;
}

static void event_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	args_deinit(&((struct event *)self)->args);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *event_enter(PyObject *self, PyObject *unused)
{
	struct event *event = (struct event *)self;

	(void)unused;
	event->session = current;
	if (event->name && !event->id)
		event->id = (event->is_async ? epp_async_begin : epp_event_begin)(event->session, event->category,
		                                                                  event->name);
	return Py_NewRef(self);
}

static PyObject *event_exit(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
	struct event *event = (struct event *)self;

	(void)arguments;
	(void)count;
	if (event->id)
		(event->is_async ? epp_async_end : epp_event_end)(event->session, event->id, event->args.args,
		                                                  event->args.count);
	event->id = 0;
	Py_RETURN_NONE;
}

static PyObject *event_add(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	struct event *event = (struct event *)self;

	if (count) {
		PyErr_SetString(PyExc_TypeError, "args of an event have names: add(rows=8)");
		return NULL;
	}
	if (event->name && args_add(&event->args, names, arguments) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *event_id(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((struct event *)self)->id);
}

static PyMethodDef event_methods[] = {
	{ "__enter__", event_enter, METH_NOARGS, NULL },
	{ "__exit__", PYTHON_FUNCTION(event_exit), METH_FASTCALL, NULL },
	{ "add", PYTHON_FUNCTION(event_add), METH_FASTCALL | METH_KEYWORDS,
	  "add(**args)\n--\n\nAdds args that are known only after the event began." },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef event_members[] = {
	{ "id", event_id, NULL, "The event's id while it is open, for flow_record(); else 0.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static char event_doc[] = "An event; `with` begins and ends it.";
static PyType_Slot event_slots[] = {
	{ Py_tp_doc, event_doc },
	{ Py_tp_dealloc, event_dealloc },
	{ Py_tp_methods, event_methods },
	{ Py_tp_getset, event_members },
	{ 0, NULL },
};
static PyType_Spec event_spec = { "epprof.Event", sizeof(struct event), 0,
	                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, event_slots };

/* ---- functions that record ---- */

static PyObject *event(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	(void)module;
	return event_create(arguments, count, names, false);
}

static PyObject *async_event(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	(void)module;
	return event_create(arguments, count, names, true);
}

static PyObject *begin(PyObject *const *arguments, Py_ssize_t count,
                       uint64_t (*function)(epp_session *, epp_category, epp_name))
{
	epp_category category;
	epp_name name;
	uint64_t id = 0;

	if (EPPROF_ENABLED()) {
		if (read_name(arguments, count, &name, &category) < 0)
			return NULL;
		id = function(current, category, name);
	}
	return PyLong_FromUnsignedLongLong(id);
}

static PyObject *end(PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                     void (*function)(epp_session *, uint64_t, const epp_arg *, size_t))
{
	struct args args;
	uint64_t id;

	if (count != 1) {
		PyErr_SetString(PyExc_TypeError, "the arguments are an id and, by keyword, args of the event");
		return NULL;
	}
	if (read_id(arguments[0], &id) < 0)
		return NULL;
	args_init(&args);
	int result = args_add(&args, names, arguments + count);
	function(current, id, args.args, args.count);
	args_deinit(&args);
	return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *event_begin(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	(void)module;
	return begin(arguments, count, epp_event_begin);
}

static PyObject *async_begin(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	(void)module;
	return begin(arguments, count, epp_async_begin);
}

static PyObject *event_end(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	(void)module;
	return end(arguments, count, names, epp_event_end);
}

static PyObject *async_end(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	(void)module;
	return end(arguments, count, names, epp_async_end);
}

static PyObject *instant_record(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
	epp_category category;
	struct args args;
	epp_name name;

	(void)module;
	if (!EPPROF_ENABLED())
		Py_RETURN_NONE;
	if (read_name(arguments, count, &name, &category) < 0)
		return NULL;
	args_init(&args);
	int result = args_add(&args, names, arguments + count);
	if (result == 0)
		epp_instant_record(current, category, name, args.args, args.count);
	args_deinit(&args);
	return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *counter_record(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	(void)module;
	if (count != 2) {
		PyErr_SetString(PyExc_TypeError, "the arguments are a name and a value");
		return NULL;
	}
	if (!EPPROF_ENABLED())
		Py_RETURN_NONE;
	epp_name name = args_name(arguments[0]);
	if (!name)
		return NULL;
	int overflow = 1;
	long long integer = PyLong_Check(arguments[1]) ? PyLong_AsLongLongAndOverflow(arguments[1], &overflow) : 0;
	if (!overflow) {
		epp_counter_record_i64(current, name, integer);
		Py_RETURN_NONE;
	}
	double real = PyFloat_AsDouble(arguments[1]);
	if (real == -1 && PyErr_Occurred())
		return NULL;
	epp_counter_record_f64(current, name, real);
	Py_RETURN_NONE;
}

static PyObject *flow_record(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	uint64_t from, to;

	(void)module;
	if (count != 2) {
		PyErr_SetString(PyExc_TypeError, "the arguments are the ids of two events");
		return NULL;
	}
	if (read_id(arguments[0], &from) < 0 || read_id(arguments[1], &to) < 0)
		return NULL;
	if (from && to)
		epp_flow_record(current, from, to);
	Py_RETURN_NONE;
}

/* Reads a traceparent and, if there is one more that is not None, a tracestate. */
static int read_parent(PyObject *const *arguments, Py_ssize_t count, const char *texts[2])
{
	texts[1] = NULL;
	if (count < 1 || count > 2) {
		PyErr_SetString(PyExc_TypeError, "the arguments are a traceparent and a tracestate");
		return -1;
	}
	texts[0] = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
	if (texts[0] && count == 2 && arguments[1] != Py_None)
		texts[1] = PyUnicode_AsUTF8AndSize(arguments[1], NULL);
	return PyErr_Occurred() ? -1 : 0;
}

/* Without an open event, which a filter may have left out, it does nothing. */
static PyObject *finish_context(epp_status *status)
{
	if (!status || epp_status_code(status) == EPP_WRONG_STATE) {
		epp_status_destroy(status);
		Py_RETURN_NONE;
	}
	return python_raise(status);
}

static PyObject *context_set(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	const char *texts[2];

	(void)module;
	return read_parent(arguments, count, texts) < 0 ? NULL
	                                                : finish_context(epp_context_set(current, texts[0], texts[1]));
}

static PyObject *context_begin(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	const char *texts[2];
	uint64_t context;

	(void)module;
	if (read_parent(arguments, count, texts) < 0)
		return NULL;
	epp_status *status = epp_context_begin(current, texts[0], texts[1], &context);
	return status ? python_raise(status) : PyLong_FromUnsignedLongLong(context);
}

static PyObject *context_attach(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
	uint64_t contexts[64];
	epp_status *status = NULL;

	(void)module;
	for (Py_ssize_t i = 0; i < count && !status;) {
		size_t read = 0;
		for (; i < count && read < sizeof contexts / sizeof *contexts; i++) {
			if (read_id(arguments[i], &contexts[read++]) < 0)
				return NULL;
		}
		status = epp_context_attach(current, contexts, read);
	}
	return finish_context(status);
}

static PyObject *is_recording(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(EPPROF_ENABLED());
}

/* ---- sessions ---- */

/* The first problem that is the system's fault, such as a full disk: close() raises it.  It is never freed, because a
 * bridge may share the session and keep it open. */
struct problem {
	atomic_int state; /* 0: none; 1: being written; 2: `text` is complete */
	char text[512];
};

struct session {
	PyObject_HEAD epp_session *session; /* NULL: closed */
	epp_session *outer;                 /* what was current before */
	struct problem *problem;
};

static void keep_problem(void *user, epp_blame blame, const char *text)
{
	struct problem *problem = user;
	int none = 0;

	if (blame != EPP_BLAME_SYSTEM || !atomic_compare_exchange_strong(&problem->state, &none, 1))
		return;
	snprintf(problem->text, sizeof problem->text, "%s", text);
	atomic_store(&problem->state, 2);
}

static PyObject *session_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	PyObject *path, *bytes = NULL;
	unsigned long long memory_bytes = 0, max_bytes = 0, buffer_bytes = 0;
	unsigned int policy = 0, sync_ms = 0;
	int overwrite = 1, lossless = 0;
	double max_overhead = 0;
	const char *label = NULL, *include = NULL, *exclude = NULL, *schedule = NULL, *step = NULL;

	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "OzKKIpIpKzzzzd", &path, &label, &memory_bytes, &max_bytes, &policy, &overwrite,
	                      &sync_ms, &lossless, &buffer_bytes, &include, &exclude, &schedule, &step, &max_overhead))
		return NULL;
	if (path != Py_None && !PyUnicode_FSConverter(path, &bytes))
		return NULL;
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct session *session = (struct session *)allocate(type, 0);
	struct problem *problem = session ? calloc(1, sizeof(*problem)) : NULL;
	if (!problem) {
		Py_XDECREF(session);
		Py_XDECREF(bytes);
		return PyErr_NoMemory();
	}
	session->problem = problem;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .label = label,
		                        .memory_bytes = memory_bytes,
		                        .max_bytes = max_bytes,
		                        .policy = policy,
		                        .overwrite = (uint32_t)overwrite,
		                        .sync_ms = sync_ms,
		                        .lossless = (uint32_t)lossless,
		                        .buffer_bytes = buffer_bytes,
		                        .include = include,
		                        .exclude = exclude,
		                        .schedule = schedule,
		                        .step = step,
		                        .max_overhead = max_overhead,
		                        .log = keep_problem,
		                        .log_user = problem };
	epp_status *status;
	options.path = bytes ? PyBytes_AsString(bytes) : NULL;
	Py_BEGIN_ALLOW_THREADS if (options.path) status = epp_session_share(&options, &session->session);
	else status = epp_session_create(&options, &session->session);
	if (!status && !options.path)
		status = epp_session_start(session->session);
	Py_END_ALLOW_THREADS Py_XDECREF(bytes);
	if (status) {
		Py_DECREF(session);
		return python_raise(status);
	}
	session->outer = current;
	current = session->session;
	return (PyObject *)session;
}

static void close_session(struct session *session)
{
	epp_session *open = session->session;

	if (!open)
		return;
	session->session = NULL;
	if (current == open)
		current = session->outer;
	Py_BEGIN_ALLOW_THREADS epp_session_destroy(open);
	Py_END_ALLOW_THREADS
}

static PyObject *session_close(PyObject *self, PyObject *unused)
{
	struct session *session = (struct session *)self;

	(void)unused;
	close_session(session);
	if (atomic_load(&session->problem->state) == 2) {
		atomic_store(&session->problem->state, 1); /* raised once */
		return python_raise(epp_status_create(EPP_IO, "%s", session->problem->text));
	}
	Py_RETURN_NONE;
}

static void session_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	close_session((struct session *)self);
	release(self);
	Py_DECREF(type);
}

static PyObject *session_lost(PyObject *self, PyObject *unused)
{
	struct session *session = (struct session *)self;
	uint64_t lost = 0;

	(void)unused;
	for (int reason = 0; session->session && reason < EPP_LOSS_ENTRY_COUNT; reason++)
		lost += reason == EPP_LOSS_TOO_LARGE ? 0 : epp_session_lost(session->session, (epp_loss)reason);
	return PyLong_FromUnsignedLongLong(lost);
}

static PyObject *session_address(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromVoidPtr(((struct session *)self)->session);
}

static PyObject *current_session(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromVoidPtr(current ? current : epp_session_default());
}

/* Bridges are built and installed beside libepprof. */
static PyObject *library_folder(PyObject *module, PyObject *unused)
{
	const char *(*version)(void) = epp_version;
	Dl_info where;

	(void)module;
	(void)unused;
	if (!dladdr(*(void **)&version, &where) || !where.dli_fname) {
		PyErr_SetString(PyExc_OSError, "the folder of libepprof.so is unknown");
		return NULL;
	}
	const char *slash = strrchr(where.dli_fname, '/');
	return PyUnicode_DecodeFSDefaultAndSize(where.dli_fname, slash ? slash - where.dli_fname : 0);
}

static PyMethodDef session_methods[] = {
	{ "close", session_close, METH_NOARGS, NULL },
	{ "lost", session_lost, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef session_members[] = {
	{ "address", session_address, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot session_slots[] = {
	{ Py_tp_new, session_new },
	{ Py_tp_dealloc, session_dealloc },
	{ Py_tp_methods, session_methods },
	{ Py_tp_getset, session_members },
	{ 0, NULL },
};
static PyType_Spec session_spec = { "epprof._record.Session", sizeof(struct session), 0, Py_TPFLAGS_DEFAULT,
	                            session_slots };

/* ---- the module ---- */

#define KEYWORDS (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef functions[] = {
	{ "event", PYTHON_FUNCTION(event), KEYWORDS,
	  "event(name, category=Category.NODE, /, **args)\n--\n\n"
	  "Returns an event; `with` begins it on the calling thread and ends it." },
	{ "async_event", PYTHON_FUNCTION(async_event), KEYWORDS,
	  "async_event(name, category=Category.NODE, /, **args)\n--\n\n"
	  "As event(), for work that need not nest in other events: a request, or code with `await`." },
	{ "event_begin", PYTHON_FUNCTION(event_begin), METH_FASTCALL,
	  "event_begin(name, category=Category.NODE, /)\n--\n\nBegins an event and returns its id; 0 if nothing records." },
	{ "event_end", PYTHON_FUNCTION(event_end), KEYWORDS,
	  "event_end(id, /, **args)\n--\n\nEnds an event of event_begin(), and the events that were begun inside it." },
	{ "async_begin", PYTHON_FUNCTION(async_begin), METH_FASTCALL,
	  "async_begin(name, category=Category.NODE, /)\n--\n\n"
	  "Begins an event that need not nest and may end on any thread; returns its id, 0 if nothing records." },
	{ "async_end", PYTHON_FUNCTION(async_end), KEYWORDS,
	  "async_end(id, /, **args)\n--\n\nEnds an event of async_begin()." },
	{ "instant_record", PYTHON_FUNCTION(instant_record), KEYWORDS,
	  "instant_record(name, category=Category.NODE, /, **args)\n--\n\nRecords an event without duration." },
	{ "counter_record", PYTHON_FUNCTION(counter_record), METH_FASTCALL,
	  "counter_record(name, value, /)\n--\n\nRecords the present value of a counter of the process." },
	{ "flow_record", PYTHON_FUNCTION(flow_record), METH_FASTCALL,
	  "flow_record(from_id, to_id, /)\n--\n\nRecords a link between two events; an id of 0 does nothing." },
	{ "context_set", PYTHON_FUNCTION(context_set), METH_FASTCALL,
	  "context_set(traceparent, tracestate=None, /)\n--\n\n"
	  "Gives the innermost open event of this thread to the request of a W3C traceparent." },
	{ "context_begin", PYTHON_FUNCTION(context_begin), METH_FASTCALL,
	  "context_begin(traceparent, tracestate=None, /)\n--\n\n"
	  "Begins a request that async_end() ends; returns its id for context_attach(), 0 if nothing records." },
	{ "context_attach", PYTHON_FUNCTION(context_attach), METH_FASTCALL,
	  "context_attach(*ids)\n--\n\n"
	  "Gives the innermost open event of this thread to requests of context_begin(): several for a batch." },
	{ "is_recording", is_recording, METH_NOARGS,
	  "is_recording()\n--\n\nTrue while any session of the process records." },
	{ "current_session", current_session, METH_NOARGS, NULL },
	{ "library_folder", library_folder, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "epprof._record", NULL, -1, functions, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__record(void);
PyMODINIT_FUNC PyInit__record(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *session_type = module ? PyType_FromSpec(&session_spec) : NULL;

	event_type = session_type ? (PyTypeObject *)PyType_FromSpec(&event_spec) : NULL;
	if (!event_type || PyModule_AddObjectRef(module, "Session", session_type) < 0 ||
	    PyModule_AddObjectRef(module, "Event", (PyObject *)event_type) < 0)
		goto fail;
	struct event *nothing = PyObject_New(struct event, event_type);
	if (!nothing)
		goto fail;
	nothing->session = NULL;
	nothing->id = 0;
	nothing->name = 0;
	nothing->category = 0;
	nothing->is_async = false;
	args_init(&nothing->args);
	no_event = (PyObject *)nothing;
	Py_DECREF(session_type);
	return module;
fail:
	Py_XDECREF(session_type);
	Py_XDECREF(module);
	return NULL;
}
