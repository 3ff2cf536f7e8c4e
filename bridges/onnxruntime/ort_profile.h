/* Finds the profile that ONNX Runtime writes of the collector's session.
 *
 * ONNX Runtime does not pass the name of the profile to a profiler.  But the file is open while EndProfiling is called,
 * so the open files of the process are candidates.  Each candidate is opened for reading, so that it can be read even
 * if it is renamed or removed.  When ONNX Runtime has written the profile, it is identified by the times of its first
 * events, which the collector has recorded. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILE_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ORT_PROFILE_TIMES 16u      /* number of event times that identify a profile */
#define ORT_PROFILE_CANDIDATES 64u /* maximum number of candidates; further ones are not examined */
#define ORT_PROFILE_PATH_BYTES 32u

struct ort_profile {
	uint32_t times_count; /* number of times that are known, up to ORT_PROFILE_TIMES */
	struct ort_profile_times {
		int64_t start_us, duration_us; /* times of the first events, since the start of the profile */
	} times[ORT_PROFILE_TIMES];
	int64_t unix_us; /* Unix time of the profile's start; 0: there was no event yet */
	pid_t pid;       /* process that has opened the candidates */
	size_t fds_count;
	int fds[ORT_PROFILE_CANDIDATES];
};

/* Must be called before the profile starts. */
void ort_profile_init(struct ort_profile *profile);
/* Stores the times of an event that has ended.  `unix_us` is the start of the profile.  Thread: [any-thread]. */
void ort_profile_take(struct ort_profile *profile, int64_t start_us, int64_t duration_us, int64_t unix_us);
/* Opens the candidates.  Must be called in EndProfiling. */
void ort_profile_open(struct ort_profile *profile);
/* Finds the profile among the candidates, when ONNX Runtime has written it.  `path` is set to a path by which this
 * process can open it.  *is_whole is set if the file is complete.  Returns false if no candidate is the profile, or if
 * another process has opened the candidates. */
bool ort_profile_find(const struct ort_profile *profile, char path[ORT_PROFILE_PATH_BYTES], bool *is_whole);
/* If the profile is among the candidates, closes all other candidates. */
void ort_profile_settle(struct ort_profile *profile);
/* Returns true if the profile has device events that the collector did not get: events of an EP that did not submit
 * them to it.  ONNX Runtime writes the events of EPs after its own, so only the end of the profile is read. */
bool ort_profile_has_kernels(const char *path);
void ort_profile_close(struct ort_profile *profile);

#endif
