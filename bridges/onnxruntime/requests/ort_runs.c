/* Implements ort_runs.h. */
#include "ort_runs.h"

static void set_count(struct ort_runs *runs, unsigned count)
{
	__atomic_store_n(&runs->count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&runs->only_id, count == 1 && runs->kept == 1 ? runs->runs[0].id : 0, __ATOMIC_RELEASE);
}

void ort_runs_begin(struct ort_runs *runs, const void *thread, uint64_t id)
{
	pthread_mutex_lock(&runs->lock);
	if (runs->kept < ORT_RUNS_MAX)
		runs->runs[runs->kept++] = (struct ort_run){ thread, id };
	set_count(runs, runs->count + 1);
	pthread_mutex_unlock(&runs->lock);
}

void ort_runs_end(struct ort_runs *runs, const void *thread)
{
	pthread_mutex_lock(&runs->lock);
	unsigned at = runs->kept;
	while (at && runs->runs[at - 1].thread != thread)
		at--;
	if (at || runs->count > runs->kept) {
		for (unsigned i = at; at && i < runs->kept; i++)
			runs->runs[i - 1] = runs->runs[i];
		runs->kept -= at > 0;
		set_count(runs, runs->count - 1);
	}
	pthread_mutex_unlock(&runs->lock);
}
