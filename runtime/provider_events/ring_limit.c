/* Computes the time from which on a recording with a limit has room for both the host events and the kernels that they
 * caused. */
#include <stdlib.h>
#include <sys/stat.h>

#include "containers/array.h"
#include "provider_events/provider_events.h"

static epp_status *add(struct ring_limit *limit, int64_t time_us, uint64_t bytes)
{
	if (!array_reserve(&limit->kernels, &limit->room, limit->count + 1, sizeof *limit->kernels))
		return epp_status_no_memory();
	limit->kernels[limit->count++] = (struct ring_limit_kernels){ time_us, bytes };
	return NULL;
}

epp_status *ring_limit_add(struct ring_limit *limit, int64_t time_us)
{
	return limit->max_bytes ? add(limit, time_us, limit->event_bytes) : NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct ring_limit_kernels *left = a, *right = b;

	return (left->time_us > right->time_us) - (left->time_us < right->time_us);
}

/* Adds up sizes from the newest event backwards until the limit is reached.  The size of a host event is the size of
 * the recording divided by the number of host events.  A part of the limit is reserved for definitions, for the segment
 * that is being filled, and for errors of this estimate. */
void ring_limit_settle(struct ring_limit *limit, const struct causes *causes)
{
	uint64_t file_bytes = epp_trace_get_info(causes->recorded)->file_bytes;
	uint64_t host_bytes = file_bytes < limit->max_bytes ? file_bytes : limit->max_bytes;
	double bytes_per_cause = (double)host_bytes / (double)causes->count, bytes = 0;
	double room = (double)limit->max_bytes * 7 / 8 - (1 << 20);
	size_t i = causes->count, j = limit->count;

	/* In a small ring some events are still in the window and not in the file, so the quotient is too small. */
	if (bytes_per_cause < (double)limit->event_bytes)
		bytes_per_cause = (double)limit->event_bytes;
	if (!limit->max_bytes)
		return;
	if (j)
		qsort(limit->kernels, j, sizeof *limit->kernels, by_time);
	while (i || j) {
		bool is_cause = !j || (i && causes->causes[i - 1].start_us > limit->kernels[j - 1].time_us);
		bytes += is_cause ? bytes_per_cause : (double)limit->kernels[j - 1].bytes;
		if (bytes > room)
			break;
		limit->from_us = is_cause ? causes->causes[--i].start_us : limit->kernels[--j].time_us;
	}
	if (!i && !j)
		limit->from_us = INT64_MIN;
}

epp_status *ring_limit_take_profiles(struct ring_limit *limit, const struct causes *causes, const char *const *paths,
                                     size_t count)
{
	struct stat st;

	for (size_t i = 0; i < count && limit->max_bytes; i++) {
		if (stat(paths[i], &st) == 0)
			EPP_TRY(add(limit, st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000, (uint64_t)st.st_size));
	}
	ring_limit_settle(limit, causes);
	return NULL;
}
