/* Finds the profile that ONNX Runtime writes of the collector's session.
 *
 * ONNX Runtime does not pass the name of that file to a profiler. But the file is open while EndProfiling is called, so
 * the open files of the process are candidates; each is opened for reading, which keeps it readable if it is renamed or
 * removed. When ONNX Runtime has written it, the profile is recognised by the times of its first events, which the
 * collector has seen. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILE_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ORT_PROFILE_TIMES 16u      /* more are not needed to recognise a profile */
#define ORT_PROFILE_CANDIDATES 64u /* as many profiles can be open at once */
#define ORT_PROFILE_PATH_BYTES 32u

struct ort_profile {
	uint32_t times_count; /* events seen, up to ORT_PROFILE_TIMES */
	struct ort_profile_times {
		int64_t start_us, duration_us; /* since the start of the profile */
	} times[ORT_PROFILE_TIMES];
	int64_t unix_us; /* start of the profile; 0: no event yet */
	pid_t pid;       /* process that opened the candidates */
	size_t fds_count;
	int fds[ORT_PROFILE_CANDIDATES];
};

/* Before the profile starts. */
void ort_profile_init(struct ort_profile *profile);
/* Takes the times of an event, after its end; `unix_us` is the start of the profile. Thread: [any-thread]. */
void ort_profile_take(struct ort_profile *profile, int64_t start_us, int64_t duration_us, int64_t unix_us);
/* Opens the candidates; call it in EndProfiling. */
void ort_profile_open(struct ort_profile *profile);
/* Finds the profile among the candidates, when ONNX Runtime has written it. `path`: a path of this process for it.
 * `*is_whole`: its end is there. False: it is not among the candidates, or this process has not opened them. */
bool ort_profile_find(const struct ort_profile *profile, char path[ORT_PROFILE_PATH_BYTES], bool *is_whole);
/* If the profile is among the candidates, closes all others. */
void ort_profile_settle(struct ort_profile *profile);
/* True if the profile has events of an EP that did not submit them to the collector. ONNX Runtime writes the events of
 * EPs after its own, so only the end of the profile is read. */
bool ort_profile_has_kernels(const char *path);
void ort_profile_close(struct ort_profile *profile);

#endif
