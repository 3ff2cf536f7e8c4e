/* From when on a recording with a limit can keep both host events and the kernels that they caused. */
#include <stdio.h>
#include <sys/stat.h>

#include "run.h"

static uint64_t bytes_of_profiles(const char *folder, struct dirent *const *profiles, int count)
{
	char path[1024];
	uint64_t bytes = 0;
	struct stat st;

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, profiles[i]->d_name);
		bytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	return bytes;
}

/* The bytes of the recording are divided among its host events, those of the profiles over the time of the run: a kernel
 * takes about as much in the trace as in a profile. */
int64_t run_limit_from_us(const struct run_causes *causes, const char *folder, struct dirent *const *profiles,
                          int count, uint64_t max_bytes)
{
	const epp_trace_info *info = epp_trace_get_info(causes->recorded);
	uint64_t profiles_bytes = bytes_of_profiles(folder, profiles, count);
	uint64_t host_bytes = info->file_bytes < max_bytes ? info->file_bytes : max_bytes;
	int64_t end_us = causes->causes[causes->count - 1].start_us, run_us = end_us - info->epoch_unix_ns / 1000;
	double bytes_per_us = (double)profiles_bytes / (double)(run_us > 0 ? run_us : 1);
	double bytes_per_cause = (double)host_bytes / (double)causes->count;
	int64_t from_us = end_us;

	if (!max_bytes || info->file_bytes + profiles_bytes <= max_bytes)
		return INT64_MIN;
	for (size_t i = causes->count; i-- > 0;) {
		int64_t start_us = causes->causes[i].start_us;
		double bytes = bytes_per_cause * (double)(causes->count - i) + bytes_per_us * (double)(end_us - start_us);
		if (bytes > (double)max_bytes)
			break;
		from_us = start_us;
	}
	return from_us;
}
