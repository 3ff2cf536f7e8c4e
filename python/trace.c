/* The extension module epprof._trace: opened traces, on libepprof-trace.  Results are tuples and lists, to which
 * _reader.py gives names. */
#include "trace.h"

#include <string.h>

#include "epprof/export.h"
#include "epprof/sql.h"
#include "epprof/summary.h"
#include "epprof/trace_writer.h"

epp_trace *trace_of(PyObject *self)
{
	struct trace *trace = (struct trace *)self;

	if (!trace->trace || trace->is_closed) {
		PyErr_SetString(PyExc_ValueError, "the trace is closed");
		return NULL;
	}
	return trace->trace;
}

void trace_leave(struct trace *trace)
{
	trace->users--;
	if (trace->is_closed && !trace->users) {
		epp_trace_close(trace->trace);
		trace->trace = NULL;
	}
}

PyObject *trace_list_add(PyObject *list, PyObject *item)
{
	if (!item || PyList_Append(list, item) < 0)
		Py_CLEAR(list);
	Py_XDECREF(item);
	return list;
}

/* For "N" of Py_BuildValue. */
static PyObject *text(const char *bytes)
{
	return bytes ? python_str(bytes, strlen(bytes)) : Py_NewRef(Py_None);
}

/* ---- description ---- */

static PyObject *trace_info(PyObject *self, PyObject *unused)
{
	static const char *const states[] = { "", "finished", "recording", "cut off" };
	const epp_trace *trace = trace_of(self);

	(void)unused;
	if (!trace)
		return NULL;
	const epp_trace_info *info = epp_trace_get_info(trace);
	return Py_BuildValue("NNNNssIIsKLKKKKIOK", text(info->path), text(info->label), text(info->program),
	                     text(info->hostname), info->file_id, states[info->state & 3], info->pid, info->runs_count,
	                     info->clock, (unsigned long long)info->ticks_per_second, (long long)info->epoch_unix_ns,
	                     (unsigned long long)info->file_bytes, (unsigned long long)info->records_count,
	                     (unsigned long long)info->open_count, (unsigned long long)info->recovered_records_count,
	                     info->damage_count, info->is_truncated ? Py_True : Py_False,
	                     (unsigned long long)info->missing_bytes);
}

static PyObject *trace_tracks(PyObject *self, PyObject *unused)
{
	const epp_trace *trace = trace_of(self);
	PyObject *list = trace ? PyList_New(0) : NULL;
	const epp_trace_track *track;

	(void)unused;
	for (size_t i = 0; list && (track = epp_trace_track_at(trace, i)); i++)
		list = trace_list_add(
		    list, Py_BuildValue("IsNNIIIiLN", track->track, epp_track_kind_name(track->kind), text(track->name),
		                        text(track->group), track->source, track->pid, track->thread_id, track->device,
		                        (long long)track->stream, text(epp_trace_track_plugin(trace, track))));
	return list;
}

static PyObject *lost_by_reason(const epp_trace_ledger_entry *entry)
{
	PyObject *lost = PyDict_New();

	for (unsigned reason = 0; lost && reason < EPP_LOSS_ENTRY_COUNT; reason++) {
		if (!entry->lost[reason])
			continue;
		PyObject *count = PyLong_FromUnsignedLongLong(entry->lost[reason]);
		if (!count || PyDict_SetItemString(lost, epp_loss_name(reason), count) < 0)
			Py_CLEAR(lost);
		Py_XDECREF(count);
	}
	return lost;
}

static PyObject *trace_ledger(PyObject *self, PyObject *unused)
{
	epp_trace *trace = trace_of(self);
	PyObject *list = trace ? PyList_New(0) : NULL;
	size_t count = list ? epp_trace_ledger_count(trace) : 0;

	(void)unused;
	for (size_t i = 0; list && i < count; i++) {
		epp_trace_ledger_entry entry = { .struct_size = sizeof(entry) };
		epp_status *status = epp_trace_ledger_at(trace, i, &entry);
		if (status) {
			Py_DECREF(list);
			return python_raise(status);
		}
		list = trace_list_add(
		    list, Py_BuildValue("NIOKKKKNKOIN", text(entry.producer), entry.track,
		                        entry.is_plugin ? Py_True : Py_False, (unsigned long long)entry.emitted,
		                        (unsigned long long)entry.written, (unsigned long long)entry.open,
		                        (unsigned long long)entry.lost_total, lost_by_reason(&entry),
		                        (unsigned long long)entry.errors, entry.balanced ? Py_True : Py_False,
		                        entry.source, text(entry.note)));
	}
	return list;
}

struct findings {
	PyObject *list; /* NULL after an exception */
};

static void add_finding(void *user, const epp_trace_finding *finding)
{
	static const char *const severities[] = { "note", "warning", "error" };
	struct findings *findings = user;

	if (findings->list)
		findings->list = trace_list_add(findings->list,
		                                Py_BuildValue("sN", severities[finding->severity], text(finding->text)));
}

static PyObject *trace_validate(PyObject *self, PyObject *unused)
{
	epp_trace *trace = trace_of(self);
	struct findings findings = { trace ? PyList_New(0) : NULL };
	uint64_t count;

	(void)unused;
	if (!findings.list)
		return NULL;
	epp_status *status = epp_trace_validate(trace, add_finding, &findings, &count);
	if (!status)
		return findings.list;
	Py_XDECREF(findings.list);
	PyErr_Clear(); /* an exception of add_finding */
	return python_raise(status);
}

/* ---- summary ---- */

static PyObject *summary_line(const epp_summary_line *line)
{
	long long median_ns = epp_histogram_quantile(line->durations, 0.5);
	long long p99_ns = epp_histogram_quantile(line->durations, 0.99);

	return Py_BuildValue("NNKLLLLLLKLNNN", python_str(line->name, line->name_bytes), text(line->group),
	                     (unsigned long long)line->count, (long long)line->total_ns, (long long)line->self_ns,
	                     (long long)line->busy_ns, median_ns, p99_ns, (long long)line->max_ns,
	                     (unsigned long long)line->device_count, (long long)line->device_ns, text(line->op_type),
	                     text(line->provider), text(line->work));
}

static PyObject *summary_lines(const epp_summary *summary, epp_summary_by by)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < epp_summary_lines_count(summary, by); i++)
		list = trace_list_add(list, summary_line(epp_summary_line_at(summary, by, i)));
	return list;
}

static PyObject *trace_summary(PyObject *self, PyObject *unused)
{
	epp_trace *trace = trace_of(self);
	epp_summary *summary;

	(void)unused;
	if (!trace)
		return NULL;
	epp_status *status = epp_summary_create(trace, NULL, &summary);
	if (status)
		return python_raise(status);
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	PyObject *result = Py_BuildValue("LLKKKKKNNNNNN", (long long)totals->first_ns, (long long)totals->last_ns,
	                                 (unsigned long long)totals->host_events,
	                                 (unsigned long long)totals->device_events, (unsigned long long)totals->instants,
	                                 (unsigned long long)totals->counters, (unsigned long long)totals->unended,
	                                 summary_lines(summary, EPP_BY_OP), summary_lines(summary, EPP_BY_KERNEL),
	                                 summary_lines(summary, EPP_BY_STREAM), summary_lines(summary, EPP_BY_THREAD),
	                                 summary_lines(summary, EPP_BY_PHASE), summary_lines(summary, EPP_BY_OP_TYPE));
	epp_summary_destroy(summary);
	return result;
}

/* ---- SQL ---- */

static PyObject *sql_value(const epp_sql_value *value)
{
	switch (value->type) {
	case EPP_SQL_INTEGER:
		return PyLong_FromLongLong(value->integer);
	case EPP_SQL_REAL:
		return PyFloat_FromDouble(value->real);
	case EPP_SQL_TEXT:
		return python_str(value->text, value->text_bytes);
	default:
		return Py_NewRef(Py_None);
	}
}

static PyObject *sql_row(const epp_sql_value *values, size_t count)
{
	PyObject *row = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; row && i < count; i++) {
		PyObject *value = sql_value(&values[i]);
		if (!value || PyTuple_SetItem(row, (Py_ssize_t)i, value) < 0)
			Py_CLEAR(row);
	}
	return row;
}

static PyObject *sql_columns(const epp_sql_rows *rows, size_t count)
{
	PyObject *columns = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; columns && i < count; i++) {
		PyObject *name = text(epp_sql_rows_column_name(rows, i));
		if (!name || PyTuple_SetItem(columns, (Py_ssize_t)i, name) < 0)
			Py_CLEAR(columns);
	}
	return columns;
}

/* Reads all rows: `*result` is a tuple of the columns' names and the list of rows, or NULL with an exception. */
static epp_status *read_rows(epp_sql *sql, const char *statement, PyObject **result)
{
	const epp_sql_value *values = NULL;
	epp_sql_rows *rows;

	*result = NULL;
	epp_status *status = epp_sql_query(sql, statement, NULL, &rows);
	if (status)
		return status;
	if (!rows)
		return epp_status_create(EPP_INVALID_ARGUMENT, "there is no statement");
	size_t count = epp_sql_rows_columns_count(rows);
	PyObject *list = PyList_New(0);
	while (list && !(status = epp_sql_rows_next(rows, &values)) && values)
		list = trace_list_add(list, sql_row(values, count));
	if (!status && list)
		*result = Py_BuildValue("NN", sql_columns(rows, count), list);
	else
		Py_XDECREF(list);
	epp_sql_rows_destroy(rows);
	return status;
}

static PyObject *trace_sql(PyObject *self, PyObject *statement)
{
	epp_trace *trace = trace_of(self);
	const char *bytes = trace ? PyUnicode_AsUTF8AndSize(statement, NULL) : NULL;
	PyObject *result;
	epp_sql *sql;

	if (!bytes)
		return NULL;
	epp_status *status = epp_sql_create(trace, &sql);
	if (status)
		return python_raise(status);
	status = read_rows(sql, bytes, &result);
	epp_sql_destroy(sql);
	return status ? python_raise(status) : result;
}

/* ---- files ---- */

static void add_receipt(void *user, const char *line)
{
	PyObject **list = user;

	if (*list)
		*list = trace_list_add(*list, text(line));
}

static PyObject *trace_export(PyObject *self, PyObject *arguments)
{
	epp_trace *trace = trace_of(self);
	const char *format;
	PyObject *path;
	int overwrite;

	if (!trace || !PyArg_ParseTuple(arguments, "sO&p", &format, PyUnicode_FSConverter, &path, &overwrite))
		return NULL;
	PyObject *receipt = PyList_New(0);
	epp_status *status = receipt ? epp_export_file(trace, format, NULL, PyBytes_AsString(path), overwrite,
	                                               add_receipt, &receipt)
	                             : NULL;
	Py_DECREF(path);
	if (!status)
		return receipt;
	Py_XDECREF(receipt);
	return python_raise(status);
}

static PyObject *snapshot(PyObject *module, PyObject *arguments)
{
	PyObject *address, *path;
	unsigned long long last_ns;
	epp_status *status;
	int overwrite;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO&Kp", &address, PyUnicode_FSConverter, &path, &last_ns, &overwrite))
		return NULL;
	epp_session *session = PyLong_AsVoidPtr(address);
	Py_BEGIN_ALLOW_THREADS status = epp_session_snapshot(session, PyBytes_AsString(path), last_ns, overwrite);
	Py_END_ALLOW_THREADS Py_DECREF(path);
	return status ? python_raise(status) : Py_NewRef(Py_None);
}

/* ---- objects and the module ---- */

static PyTypeObject *trace_type;

static PyObject *make(epp_status *status, epp_trace *opened)
{
	if (status)
		return python_raise(status);
	struct trace *trace = PyObject_New(struct trace, trace_type);
	if (!trace) {
		epp_trace_close(opened);
		return NULL;
	}
	trace->trace = opened;
	trace->users = 0;
	trace->is_closed = false;
	return (PyObject *)trace;
}

static PyObject *trace_open(PyObject *module, PyObject *path)
{
	epp_trace *trace = NULL;
	PyObject *bytes;

	(void)module;
	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	epp_status *status = epp_trace_open(PyBytes_AsString(bytes), &trace);
	Py_DECREF(bytes);
	return make(status, trace);
}

static PyObject *trace_close(PyObject *self, PyObject *unused)
{
	struct trace *trace = (struct trace *)self;

	(void)unused;
	if (!trace->is_closed) {
		trace->is_closed = true;
		trace->users++;
		trace_leave(trace);
	}
	Py_RETURN_NONE;
}

static void trace_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	epp_trace_close(((struct trace *)self)->trace);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMethodDef trace_methods[] = {
	{ "close", trace_close, METH_NOARGS, NULL },
	{ "info", trace_info, METH_NOARGS, NULL },
	{ "tracks", trace_tracks, METH_NOARGS, NULL },
	{ "ledger", trace_ledger, METH_NOARGS, NULL },
	{ "validate", trace_validate, METH_NOARGS, NULL },
	{ "summary", trace_summary, METH_NOARGS, NULL },
	{ "sql", trace_sql, METH_O, NULL },
	{ "export", trace_export, METH_VARARGS, NULL },
	{ "arrow_stream", trace_arrow_stream, METH_NOARGS, NULL },
	{ "events", trace_events, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static PyType_Slot trace_slots[] = {
	{ Py_tp_dealloc, trace_dealloc },
	{ Py_tp_methods, trace_methods },
	{ 0, NULL },
};
static PyType_Spec trace_spec = { "epprof._trace.Trace", sizeof(struct trace), 0,
	                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, trace_slots };

static PyMethodDef functions[] = {
	{ "open", trace_open, METH_O, NULL },
	{ "snapshot", snapshot, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "epprof._trace", NULL, -1, functions, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__trace(void);
PyMODINIT_FUNC PyInit__trace(void)
{
	PyObject *module = PyModule_Create(&definition);

	trace_type = module ? (PyTypeObject *)PyType_FromSpec(&trace_spec) : NULL;
	if (!trace_type || PyModule_AddObjectRef(module, "Trace", (PyObject *)trace_type) < 0 ||
	    trace_events_init(module) < 0)
		Py_CLEAR(module);
	return module;
}
