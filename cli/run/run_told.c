/* Reads the args of an execution provider's event in ONNX Runtime's profile: those that identify its cause, and all of
 * them in the form in which they are pushed into the recording. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

/* Reads an arg as a number.  The importer keeps values that it cannot read as numbers as texts; a quoted id is such a
 * text. */
static bool arg_number(const epp_trace_arg *arg, int64_t *number)
{
	char text[24];
	const char *problem;

	if (arg->type == EPP_ARG_I64 || arg->type == EPP_ARG_U64) {
		*number = arg->value.i64;
		return true;
	}
	if (arg->type != EPP_ARG_TEXT || arg->text_bytes >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)arg->text_bytes, arg->value.text);
	*number = strtonum(text, INT64_MIN, INT64_MAX, &problem);
	return !problem;
}

void run_told_read(const epp_timeline *timeline, const epp_event *event, struct run_told *told)
{
	epp_trace_arg arg;
	size_t cursor = 0;

	told->count = 0;
	told->is_carried = told->is_correlated = false;
	told->correlation = 0;
	told->recorded = -1;
	told->thread = -1;
	told->cause_name.key = NULL;
	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (strcmp(arg.key, "carried_by") == 0)
			told->is_carried = true;
		if (strcmp(arg.key, EPPROF_RECORDED_KEY) == 0 && !arg_number(&arg, &told->recorded))
			told->recorded = -1;
		if (strcmp(arg.key, "ort_correlation_id") == 0)
			told->is_correlated = arg_number(&arg, &told->correlation);
		if (strcmp(arg.key, "ort_thread_id") == 0 && !arg_number(&arg, &told->thread))
			told->thread = -1;
		if (strcmp(arg.key, "ort_event_name") == 0 && arg.type == EPP_ARG_TEXT)
			told->cause_name = arg;
		if (told->count == RUN_ARGS_MAX)
			continue;
		/* A key is valid as long as the trace, a text only as long as the event. */
		EpprofArg *taken = &told->args[told->count++];
		*taken = (EpprofArg){ .key = arg.key, .type = arg.type };
		if (arg.type == EPP_ARG_TEXT) {
			taken->text = arg.value.text;
			taken->text_bytes = arg.text_bytes;
		} else {
			taken->number.u64 = arg.value.u64;
		}
	}
}
