/* What is in a trace, all at once and by id, for tests of whole recordings. */
#ifndef EPPROF_TESTS_EP_SAMPLE_TRACE_CONTENT_H
#define EPPROF_TESTS_EP_SAMPLE_TRACE_CONTENT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/timeline.h"
#include "tests/support/check.h"
#include "tests/support/valid_trace.h"

struct slice {
	uint64_t id;
	uint64_t parent;
	int64_t start_ns;
	int64_t end_ns;
	int64_t start_error_ns;
	int64_t end_error_ns;
	uint8_t placement;
	uint8_t flags;
	bool on_device;
	char name[24];
};

struct content {
	struct slice *slices;
	size_t slices_count;
	size_t device_count;
	size_t flows_count;
	size_t counters_count;
	uint32_t state;
	uint64_t lost;
};

static inline int compare_ids(const void *a, const void *b)
{
	const struct slice *x = a;
	const struct slice *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static inline const struct slice *slice_find(const struct content *content, uint64_t id)
{
	struct slice key = { .id = id };
	return id ? bsearch(&key, content->slices, content->slices_count, sizeof(key), compare_ids) : NULL;
}

static inline size_t count_named(const struct content *content, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < content->slices_count; i++)
		count += strcmp(content->slices[i].name, name) == 0;
	return count;
}

static inline void slice_add(struct content *content, const epp_event *event)
{
	if ((content->slices_count & (content->slices_count - 1)) == 0) {
		size_t capacity = content->slices_count ? content->slices_count * 2 : 1;
		content->slices = realloc(content->slices, capacity * sizeof(*content->slices));
		ck_assert_ptr_nonnull(content->slices);
	}
	struct slice *slice = &content->slices[content->slices_count++];
	*slice = (struct slice){
		.id = event->id,
		.parent = event->parent,
		.start_ns = event->start_ns,
		.end_ns = event->start_ns + event->duration_ns,
		.start_error_ns = event->start_error_ns,
		.end_error_ns = event->end_error_ns,
		.placement = event->placement,
		.flags = event->flags,
		.on_device = event->track->kind == EPP_TRACK_DEVICE,
	};
	snprintf(slice->name, sizeof(slice->name), "%s", event->name);
	content->device_count += slice->on_device;
}

/* Reads all of it; the trace must be valid and its ledger in balance. */
static inline struct content content_of(epp_trace *trace)
{
	struct content content = { .state = epp_trace_get_info(trace)->state };
	check_valid(trace);
	size_t plugins_count = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		ck_assert_msg(account.balanced && account.emitted == account.written + account.lost_total + account.open,
		              "%s", account.producer);
		ck_assert_uint_eq(account.errors, 0);
		content.lost += account.lost_total;
		plugins_count += account.is_plugin;
	}
	ck_assert_uint_eq(plugins_count, 1);

	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->kind == EPP_EVENT_SLICE)
			slice_add(&content, event);
		content.flows_count += event->kind == EPP_EVENT_FLOW;
		content.counters_count += event->kind == EPP_EVENT_COUNTER;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	if (content.slices)
		qsort(content.slices, content.slices_count, sizeof(*content.slices), compare_ids);
	return content;
}

/* The event starts no earlier than the host event `outer` and ends within it, as far as its error bounds tell. */
static inline bool lies_within(const struct slice *slice, const struct slice *outer)
{
	return slice->start_ns + slice->start_error_ns >= outer->start_ns &&
	       slice->end_ns - slice->end_error_ns <= outer->end_ns;
}

#endif
