/* For tests that merge traces: merges files, and returns the merged events as a list. */
#ifndef EPPROF_TESTS_SUPPORT_MERGING_H
#define EPPROF_TESTS_SUPPORT_MERGING_H

#include <inttypes.h>
#include <string.h>

#include "epprof/merge.h"
#include "epprof/timeline.h"
#include "tests/support/check.h"
#include "tests/support/valid_trace.h"

#define MERGING_INLINE __attribute__((unused)) static inline
#define MERGING_TRACES_MAX 64u

static char merging_receipt[8192]; /* the receipt of the last merge */

MERGING_INLINE void merging_keep(void *user, const char *text)
{
	size_t used = strlen(merging_receipt);
	(void)user;
	snprintf(merging_receipt + used, sizeof merging_receipt - used, "%s\n", text);
}

/* Merges the files at `paths`; options may be NULL. */
MERGING_INLINE epp_status *merging_try(const char *output, const epp_merge_options *given, epp_merge_counts *counts,
                                       const char *const *paths, size_t count)
{
	epp_merge_options options = { .struct_size = sizeof options };
	epp_trace *traces[MERGING_TRACES_MAX];

	ck_assert_uint_le(count, MERGING_TRACES_MAX);
	if (given)
		options = *given;
	options.overwrite = 1;
	merging_receipt[0] = 0;
	for (size_t i = 0; i < count; i++)
		check_ok(epp_trace_open(paths[i], &traces[i]));
	epp_status *status = epp_trace_merge(traces, count, output, &options, merging_keep, NULL, counts);
	for (size_t i = 0; i < count; i++)
		epp_trace_close(traces[i]);
	return status;
}

#define merging(output, options, ...) \
	merging_ok(output, options, (const char *const[]){ __VA_ARGS__ }, \
	           sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* Merges, and asserts that the result is valid. */
MERGING_INLINE epp_trace *merging_ok(const char *output, const epp_merge_options *options, const char *const *paths,
                                     size_t count)
{
	check_ok(merging_try(output, options, NULL, paths, count));
	return open_valid(output);
}

struct merged_event {
	epp_event event; /* name and tracks belong to the trace */
	char args[64];
};

struct merged_events {
	struct merged_event *list;
	size_t count;
};

MERGING_INLINE struct merged_events merged_events(epp_trace *trace)
{
	struct merged_events events = { 0 };
	size_t room = 0;
	epp_timeline *timeline;
	const epp_event *event;

	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		epp_trace_arg arg;
		size_t cursor = 0, used = 0;
		if (events.count == room) {
			room = room ? room * 2 : 64;
			events.list = realloc(events.list, room * sizeof(*events.list));
		}
		struct merged_event *to = &events.list[events.count++];
		*to = (struct merged_event){ .event = *event };
		while (epp_event_args(timeline, event, &cursor, &arg) && used < sizeof to->args)
			used += (size_t)(arg.type == EPP_ARG_TEXT
			                     ? snprintf(to->args + used, sizeof to->args - used, "%s=%.*s ", arg.key,
			                                (int)arg.text_bytes, arg.value.text)
			                     : snprintf(to->args + used, sizeof to->args - used, "%s=%" PRIu64 " ",
			                                arg.key, arg.value.u64));
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	return events;
}

/* Finds the event with a name in a source, and asserts that there is one. */
MERGING_INLINE const epp_event *merged_find(const struct merged_events *events, uint32_t source, const char *name)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].event.track->source == source && !strcmp(events->list[i].event.name, name))
			return &events->list[i].event;
	ck_abort_msg("no event %s in source %u", name, source);
	return NULL;
}

#endif
