/* The runs of one session of ONNX Runtime that are active.
 *
 * With ORT_PARALLEL, nodes run on threads of ONNX Runtime's pool, and ONNX Runtime does not pass their run to
 * profilers.  A run begins before its first node and ends after its last one.  So if exactly one run is active when a
 * node begins, the node belongs to this run. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_REQUESTS_ORT_RUNS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_REQUESTS_ORT_RUNS_H

#include <pthread.h>
#include <stdint.h>

/* Size of `runs`.  If more runs are active, further ones are only counted, in `count`. */
#define ORT_RUNS_MAX 64u

struct ort_runs {
	pthread_mutex_t lock;
	struct ort_run {
		const void *thread;
		uint64_t id; /* id of the run's event; 0: it is not recorded */
	} runs[ORT_RUNS_MAX];
	unsigned kept;
	unsigned count;   /* atomic; number of all active runs */
	uint64_t only_id; /* atomic; the event of the only active run; 0: no run or several runs are active */
};

static inline void ort_runs_init(struct ort_runs *runs)
{
	*runs = (struct ort_runs){ .lock = PTHREAD_MUTEX_INITIALIZER };
}
static inline void ort_runs_deinit(struct ort_runs *runs)
{
	pthread_mutex_destroy(&runs->lock);
}

/* Begins a run on a thread.  `thread` is an address that identifies the thread.  `id` is 0 if the run's event is not
 * recorded. */
void ort_runs_begin(struct ort_runs *runs, const void *thread, uint64_t id);
/* Ends the run that began last on this thread. */
void ort_runs_end(struct ort_runs *runs, const void *thread);

/* Returns the id of the event of the only active run, to which a node that begins now belongs; 0: no run or several
 * runs are active, or the run is not recorded. */
static inline uint64_t ort_runs_only(const struct ort_runs *runs)
{
	return __atomic_load_n(&runs->only_id, __ATOMIC_ACQUIRE);
}
static inline unsigned ort_runs_count(const struct ort_runs *runs)
{
	return __atomic_load_n(&runs->count, __ATOMIC_RELAXED);
}

#endif
