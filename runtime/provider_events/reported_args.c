/* Reads the args of an execution provider's event in ONNX Runtime's profile: the args that identify its cause, and all
 * args in the form in which they are pushed into the recording. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "provider_events/provider_events.h"

/* Reads an arg as a number.  The importer stores a value that it cannot read as a number as a text, for example an id
 * in quotes. */
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

void reported_args_read(const epp_timeline *timeline, const epp_event *event, struct reported_args *reported)
{
	epp_trace_arg arg;
	size_t cursor = 0;

	reported->count = 0;
	reported->is_hosted = reported->is_correlated = false;
	reported->correlation = 0;
	reported->recorded = -1;
	reported->thread = -1;
	reported->cause_name.key = NULL;
	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (strcmp(arg.key, "hosted_by") == 0)
			reported->is_hosted = true;
		if (strcmp(arg.key, EPPROF_RECORDED_KEY) == 0 && !arg_number(&arg, &reported->recorded))
			reported->recorded = -1;
		if (strcmp(arg.key, "ort_correlation_id") == 0)
			reported->is_correlated = arg_number(&arg, &reported->correlation);
		if (strcmp(arg.key, "ort_thread_id") == 0 && !arg_number(&arg, &reported->thread))
			reported->thread = -1;
		if (strcmp(arg.key, "ort_event_name") == 0 && arg.type == EPP_ARG_TEXT)
			reported->cause_name = arg;
		if (reported->count == REPORTED_ARGS_MAX)
			continue;
		/* The key is valid as long as the trace is open, but a text only as long as the event, so texts are
		 * copied. */
		EpprofArg *taken = &reported->args[reported->count++];
		*taken = (EpprofArg){ .key = arg.key, .type = arg.type };
		if (arg.type == EPP_ARG_TEXT) {
			taken->text = arg.value.text;
			taken->text_bytes = arg.text_bytes;
		} else {
			taken->number.u64 = arg.value.u64;
		}
	}
}
