/* Computes from what time on a recording with a limit can keep both host events and the kernels that they caused. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "run.h"

static epp_status *add(struct run_limit *limit, int64_t time_us, uint64_t bytes)
{
	if (limit->count == limit->room) {
		size_t room = limit->room ? limit->room * 2 : 1024;
		struct run_kernel_bytes *larger = reallocarray(limit->kernels, room, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		limit->kernels = larger;
		limit->room = room;
	}
	limit->kernels[limit->count++] = (struct run_kernel_bytes){ time_us, bytes };
	return NULL;
}

epp_status *run_limit_add(struct run_limit *limit, int64_t time_us)
{
	return limit->max_bytes ? add(limit, time_us, limit->event_bytes) : NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct run_kernel_bytes *left = a, *right = b;

	return (left->time_us > right->time_us) - (left->time_us < right->time_us);
}

/* Goes back from the newest event as long as events fit; the bytes of the recording are divided among its host events.
 * A part is reserved for definitions, for the segment that is being filled, and because all of this is an estimate. */
void run_limit_settle(struct run_limit *limit, const struct run_causes *causes)
{
	uint64_t file_bytes = epp_trace_get_info(causes->recorded)->file_bytes;
	uint64_t host_bytes = file_bytes < limit->max_bytes ? file_bytes : limit->max_bytes;
	double bytes_per_cause = (double)host_bytes / (double)causes->count, bytes = 0;
	double room = (double)limit->max_bytes * 7 / 8 - (1 << 20);
	size_t i = causes->count, j = limit->count;

	/* For a small ring the quotient is too small, because the window has events, too. */
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

epp_status *run_limit_take_profiles(struct run_limit *limit, const struct run_causes *causes, const char *folder,
                                    struct dirent *const *profiles, int count)
{
	char path[1024];
	struct stat st;

	for (int i = 0; i < count && limit->max_bytes; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, profiles[i]->d_name);
		if (stat(path, &st) == 0)
			TRY(add(limit, st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000, (uint64_t)st.st_size));
	}
	run_limit_settle(limit, causes);
	return NULL;
}
