/* The runs of one session of ONNX Runtime that are active.
 *
 * With ORT_PARALLEL, nodes run on threads of ONNX Runtime's pool, and nothing that a profiler gets names their run. A run
 * begins before its first node and ends after its last one: if exactly one run is active when a node begins, the node
 * belongs to it. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_REQUESTS_ORT_RUNS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_REQUESTS_ORT_RUNS_H

#include <pthread.h>
#include <stdint.h>

/* Runs beyond these are only counted. */
#define ORT_RUNS_MAX 64u

struct ort_runs {
	pthread_mutex_t lock;
	struct ort_run {
		const void *thread;
		uint64_t id; /* of its event; 0: it is not recorded */
	} runs[ORT_RUNS_MAX];
	unsigned kept;
	unsigned count;   /* atomic; of all */
	uint64_t only_id; /* atomic; 0: none or several runs are active */
};

static inline void ort_runs_init(struct ort_runs *runs)
{
	*runs = (struct ort_runs){ .lock = PTHREAD_MUTEX_INITIALIZER };
}
static inline void ort_runs_deinit(struct ort_runs *runs)
{
	pthread_mutex_destroy(&runs->lock);
}

/* A run begins on a thread, which is identified by an address that no other thread uses; id 0: its event is not recorded. */
void ort_runs_begin(struct ort_runs *runs, const void *thread, uint64_t id);
/* The latest run of the thread ends. */
void ort_runs_end(struct ort_runs *runs, const void *thread);

/* The event of the run that a node belongs to which begins now; 0: not certain. */
static inline uint64_t ort_runs_only(const struct ort_runs *runs)
{
	return __atomic_load_n(&runs->only_id, __ATOMIC_ACQUIRE);
}
static inline unsigned ort_runs_count(const struct ort_runs *runs)
{
	return __atomic_load_n(&runs->count, __ATOMIC_RELAXED);
}

#endif
