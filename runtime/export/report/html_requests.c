/* Writes the table of requests: for each, its begin, the time until the first event that was given to it, the number of
 * these events, the maximum number of requests that one of them was given to, and the number and time of its device
 * events. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "export/report/html.h"
#include "timeline/timeline.h"

/* The maximum number of requests in the page.  Those that take longest are kept. */
#define LINES_MAX 5000u

epp_status *html_requests_add(struct html_requests *requests, const epp_timeline *timeline, const epp_event *event)
{
	bool is_device = event->track->kind == EPP_TRACK_DEVICE, is_own = event->flags & EPP_FLAG_OWN_REQUEST;
	size_t count;

	if (!event->requests || (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC) ||
	    (!is_device && !is_own))
		return NULL;
	const uint32_t *numbers = requests_numbers(timeline->requests, event, &count);
	if (!array_reserve_zeroed(&requests->lines, &requests->room, timeline->requests->requests_count,
	                          sizeof *requests->lines))
		return epp_status_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct html_request *line = &requests->lines[numbers[i]];
		int64_t end_ns = event->start_ns + event->duration_ns;
		line->start_ns = line->any && line->start_ns < event->start_ns ? line->start_ns : event->start_ns;
		line->end_ns = line->any && line->end_ns > end_ns ? line->end_ns : end_ns;
		line->any = true;
		line->kernels += is_device;
		if (is_device && __builtin_add_overflow(line->device_ns, event->duration_ns, &line->device_ns))
			line->device_ns = INT64_MAX;
		line->batch = !is_device && count > line->batch ? (uint32_t)count : line->batch;
	}
	return NULL;
}

static int longest_first(const void *a, const void *b, void *of)
{
	const struct html_request *lines = of, *left = &lines[*(const uint32_t *)a], *right = &lines[*(const uint32_t *)b];
	int64_t left_ns = left->end_ns - left->start_ns, right_ns = right->end_ns - right->start_ns;

	return left_ns != right_ns
	           ? (left_ns < right_ns ? 1 : -1)
	           : (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

epp_status *html_requests_put(struct html_requests *requests, const epp_timeline *timeline, struct sink *sink)
{
	size_t all = timeline->requests && requests->lines ? timeline->requests->requests_count : 0, count = 0;
	uint32_t *order = calloc(all + 1, sizeof *order);

	if (!order)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < all; i++) {
		if (requests->lines[i].any)
			order[count++] = i;
	}
	qsort_r(order, count, sizeof *order, longest_first, requests->lines);
	sink_format(sink, ",\"requests\":{\"all\":%zu,\"lines\":[", count);
	for (size_t i = 0; i < count && i < LINES_MAX; i++) {
		const struct html_request *line = &requests->lines[order[i]];
		epp_request request = { .struct_size = sizeof request };
		requests_fill(timeline->requests, order[i], &request);
		sink_format(sink, "%s{\"name\":\"%s\",\"total\":%" PRId64 ",\"steps\":%u,\"batch\":%u", i ? "," : "",
		            request.trace_id, line->end_ns - line->start_ns, request.events_count, line->batch);
		sink_format(sink, ",\"kernels\":%" PRIu64 ",\"device\":%" PRId64, line->kernels, line->device_ns);
		if (request.id && request.first_ns != INT64_MAX)
			sink_format(sink, ",\"queue\":%" PRId64, request.first_ns - request.begin_ns);
		sink_text(sink, "}");
	}
	sink_text(sink, "]}");
	free(order);
	return NULL;
}
