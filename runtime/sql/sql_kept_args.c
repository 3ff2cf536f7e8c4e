/* Keeps all args in memory, for joins that read the args of many events in any order.  Keys stay in the trace; texts
 * are copied one after the other. */
#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "sql/sql.h"

void sql_kept_args_deinit(struct sql_kept_args *args)
{
	free(args->args);
	free(args->first_of);
	free(args->texts.bytes);
	*args = (struct sql_kept_args){ 0 };
}

static bool keep_arg(struct sql_kept_args *args, const epp_trace_arg *arg)
{
	if (args->count >= UINT32_MAX || !array_reserve(&args->args, &args->room, args->count + 1, sizeof *args->args))
		return false;
	epp_trace_arg *kept = &args->args[args->count++];
	*kept = *arg;
	if (arg->type != EPP_ARG_TEXT)
		return true;
	kept->value.u64 = args->texts.count;
	return !arg->text_bytes || sink_memory_write(arg->value.text, arg->text_bytes, &args->texts) == arg->text_bytes;
}

/* Keeps the args of the scan's current event.  Events must be added in order of their numbers, without gaps. */
static bool keep_event(struct sql_kept_args *args, const struct sql_scan *scan)
{
	size_t cursor = 0;
	epp_trace_arg arg;

	if (!array_reserve(&args->first_of, &args->first_room, args->events_count + 2, sizeof *args->first_of))
		return false;
	args->first_of[args->events_count++] = (uint32_t)args->count;
	while (epp_event_args(scan->timeline, scan->event, &cursor, &arg)) {
		if (!keep_arg(args, &arg))
			return false;
	}
	args->first_of[args->events_count] = (uint32_t)args->count;
	return true;
}

epp_status *sql_kept_args_fill(struct epp_sql *sql)
{
	struct sql_kept_args *args = &sql->args;
	struct sql_scan scan = { 0 };
	epp_status *status;

	if (args->complete)
		return NULL;
	status = sql_scan_start(sql, &scan, INT64_MIN, INT64_MAX, true);
	while (!status && scan.event)
		status = keep_event(args, &scan) ? sql_scan_next(&scan) : epp_status_no_memory();
	sql_scan_end(&scan);
	if (status) {
		sql_kept_args_deinit(args);
		return status;
	}
	for (size_t i = 0; i < args->count; i++) {
		if (args->args[i].type == EPP_ARG_TEXT)
			args->args[i].value.text = args->texts.bytes + args->args[i].value.u64;
	}
	args->complete = true;
	return NULL;
}

const epp_trace_arg *sql_kept_args_of(const struct sql_kept_args *args, int64_t number, size_t *count)
{
	*count = 0;
	if (number < 1 || (uint64_t)number > args->events_count)
		return NULL;
	*count = args->first_of[number] - args->first_of[number - 1];
	return args->args + args->first_of[number - 1];
}
