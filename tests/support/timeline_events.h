/* For the tests of the timeline: reads a builder's trace into a list of copied events. */
#ifndef EPPROF_TESTS_SUPPORT_TIMELINE_EVENTS_H
#define EPPROF_TESTS_SUPPORT_TIMELINE_EVENTS_H

#include <inttypes.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"
#include "timeline/timeline.h"

struct seen_event {
	epp_event event;
	uint32_t track;        /* the track's number */
	uint32_t parent_track; /* the parent track's number, 0: NULL */
	char name[32];
	char args[96]; /* "key=value key=value", numbers in decimal */
};

struct seen {
	struct seen_event *events;
	size_t count;
	epp_timeline_counts counts;
	uint32_t active_most; /* the maximum of runs merged at once */
	uint64_t spilled_bytes;
	epp_status *status;
	uint8_t *image;
	struct reader *reader;
};

struct seen_bounds {
	size_t active_bytes_most, spill_bytes_most;
};
#define SEEN_BOUNDS \
	{ \
		(size_t)64 << 20, (size_t)64 << 20 \
	}

static inline void seen_copy_args(struct seen_event *to, const epp_timeline *timeline, const epp_event *event)
{
	size_t cursor = 0, at = 0;
	epp_trace_arg arg;
	uint32_t count = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		at += (size_t)snprintf(to->args + at, sizeof(to->args) - at, "%s%s=", at ? " " : "", arg.key);
		MUST(strlen(arg.key) == arg.key_bytes && at < sizeof(to->args));
		if (arg.type == EPP_ARG_TEXT)
			at += (size_t)snprintf(to->args + at, sizeof(to->args) - at, "%.*s", (int)arg.text_bytes,
			                       arg.value.text);
		else
			at += (size_t)snprintf(to->args + at, sizeof(to->args) - at, "%" PRId64, arg.value.i64);
		MUST(at < sizeof(to->args));
		count++;
	}
	MUST(count == event->args_count);
}

/* Reads all events of an image; takes ownership of the image, from malloc. */
static inline struct seen see_image(uint8_t *image, size_t bytes, const epp_timeline_options *options,
                                    struct seen_bounds bounds)
{
	struct seen seen = { .image = image };
	struct reader_source source = builder_source(image, bytes);
	size_t room = 0;
	epp_timeline *timeline;
	const epp_event *event;

	check_ok(reader_open(&source, "image", &seen.reader));
	seen.status = timeline_create(seen.reader, options, bounds.active_bytes_most, bounds.spill_bytes_most, &timeline);
	if (seen.status)
		return seen;
	while (epp_timeline_next(timeline, &event)) {
		if (seen.count == room) {
			room = room ? room * 2 : 64;
			seen.events = realloc(seen.events, room * sizeof(*seen.events));
			MUST(seen.events);
		}
		struct seen_event *to = &seen.events[seen.count++];
		*to = (struct seen_event){ .event = *event,
			                   .track = event->track->track,
			                   .parent_track = event->parent_track ? event->parent_track->track : 0 };
		snprintf(to->name, sizeof(to->name), "%s", event->name);
		MUST(strlen(event->name) == event->name_bytes);
		seen_copy_args(to, timeline, event);
		MUST(seen.count < 2 || seen.events[seen.count - 2].event.start_ns <= event->start_ns);
	}
	seen.status = epp_timeline_status(timeline);
	MUST(!epp_timeline_next(timeline, &event) && !event);
	seen.counts = *epp_timeline_get_counts(timeline);
	seen.active_most = timeline->merge.active_most;
	seen.spilled_bytes = timeline->spill.file_bytes;
	epp_timeline_destroy(timeline);
	return seen;
}

static inline struct seen see(struct epp_builder *builder, enum epf_state state, const epp_timeline_options *options)
{
	size_t bytes;
	uint8_t *image = builder_image(builder, state, &bytes);
	struct seen_bounds bounds = SEEN_BOUNDS;
	return see_image(image, bytes, options, bounds);
}

/* As see_image for a builder, which is destroyed; asserts that the status is NULL. */
static inline struct seen see_all(struct epp_builder *builder)
{
	struct seen seen = see(builder, EPF_FINISHED, NULL);
	builder_destroy(builder);
	check_ok(seen.status);
	return seen;
}

static inline void seen_release(struct seen *seen)
{
	free(seen->events);
	reader_close(seen->reader);
	free(seen->image);
	epp_status_destroy(seen->status);
	*seen = (struct seen){ 0 };
}

static inline const epp_event *seen_find(const struct seen *seen, uint64_t id)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->events[i].event.id == id && seen->events[i].event.kind != EPP_EVENT_FLOW)
			return &seen->events[i].event;
	return NULL;
}

#endif
