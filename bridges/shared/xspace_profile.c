/* Exports a part of a trace as an XSpace of limited size.  The size of an export is known only after it was written.
 * Bytes beyond the limit are therefore counted but not stored, and the next attempt exports only the first events, as
 * many as should fit. */
#include "xspace_profile.h"

#include <stdlib.h>
#include <string.h>

#include "epprof/export.h"

struct growing {
	uint8_t *bytes;
	size_t count; /* number of bytes written, including those that were not stored */
	size_t room;
	size_t bytes_max;
	bool gpu_planes;
};

static size_t append_bytes(const void *bytes, size_t count, void *user)
{
	struct growing *to = user;
	size_t needed = to->count + count;
	if (needed > to->room && needed <= to->bytes_max) {
		size_t room = needed > to->bytes_max / 2 ? to->bytes_max : 2 * needed;
		uint8_t *larger = realloc(to->bytes, room);
		if (!larger)
			return 0;
		to->bytes = larger;
		to->room = room;
	}
	if (needed <= to->bytes_max)
		memcpy(to->bytes + to->count, bytes, count);
	to->count = needed;
	return count;
}

/* Counts the events of the window, but not more than `most`, and returns the start of the last one counted. */
static epp_status *count_events(epp_trace *trace, const epp_timeline_options *window, uint64_t most, uint64_t *count,
                                int64_t *last_ns)
{
	epp_timeline *timeline;
	const epp_event *event;
	*count = 0;
	EPP_TRY(epp_timeline_create(trace, window, &timeline));
	while (*count < most && epp_timeline_next(timeline, &event)) {
		(*count)++;
		*last_ns = event->start_ns;
	}
	epp_status *status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

static epp_status *write_window(epp_trace *trace, const epp_timeline_options *window, struct growing *to)
{
	const epp_export_options options = {
		.struct_size = sizeof(options), .timeline = window, .unix_times = 1, .gpu_planes = to->gpu_planes
	};
	to->count = 0;
	return epp_export(trace, "xspace", &options, append_bytes, to, NULL, NULL);
}

/* Returns how many events should fit.  The estimate is reduced by a sixteenth, because events differ in size. */
static uint64_t estimate_fitting(uint64_t count, size_t bytes, size_t bytes_max)
{
	double fits = (double)count * (double)bytes_max / (double)bytes;
	return (uint64_t)(fits * 15 / 16);
}

static epp_status *make(epp_trace *trace, epp_timeline_options *window, struct growing *to, struct xspace_profile *profile)
{
	int64_t last_ns;
	uint64_t count;
	EPP_TRY(count_events(trace, window, 1, &count, &last_ns));
	if (!count)
		return NULL;
	EPP_TRY(write_window(trace, window, to));
	if (to->count <= to->bytes_max)
		return NULL;
	EPP_TRY(count_events(trace, window, UINT64_MAX, &count, &last_ns));
	profile->events_count = count;
	while (count && to->count > to->bytes_max) {
		/* The window ends at the first event that is expected not to fit. */
		EPP_TRY(count_events(trace, window, estimate_fitting(count, to->count, to->bytes_max) + 1, &count,
		                     &window->to_ns));
		EPP_TRY(count_events(trace, window, UINT64_MAX, &count, &last_ns));
		if (count)
			EPP_TRY(write_window(trace, window, to));
		else
			to->count = 0;
	}
	profile->left_out_count = profile->events_count - count;
	return NULL;
}

epp_status *xspace_profile_make(epp_trace *trace, int64_t from_ns, size_t bytes_max, bool gpu_planes,
                                struct xspace_profile *profile)
{
	epp_timeline_options window = { .struct_size = sizeof(window), .from_ns = from_ns, .to_ns = INT64_MAX };
	struct growing to = { .bytes_max = bytes_max, .gpu_planes = gpu_planes };
	*profile = (struct xspace_profile){ 0 };
	epp_status *status = make(trace, &window, &to, profile);
	if (status || !to.count) {
		free(to.bytes);
		return status;
	}
	profile->bytes = to.bytes;
	profile->count = to.count;
	return NULL;
}
