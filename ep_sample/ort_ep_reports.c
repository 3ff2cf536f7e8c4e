/* Keeps the commands that have ended in a queue until they are due.  The delay is the same for all, so they are
 * reported in the order in which they ended. */
#include "ort_ep_reports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

struct report {
	STAILQ_ENTRY(report) next;
	uint64_t due_ns;
	accelerator_completion completion;
};

static struct {
	bool has_thread;
	pthread_t thread;
	uint64_t late_ns;
	void (*report)(const accelerator_completion *completion);
	atomic_bool ends;
	pthread_mutex_t reporting; /* held while a command is reported */
	pthread_mutex_t lock;      /* guards the queue */
	pthread_cond_t added;
	STAILQ_HEAD(, report) queue;
} reports = { .reporting = PTHREAD_MUTEX_INITIALIZER,
	      .lock = PTHREAD_MUTEX_INITIALIZER,
	      .added = PTHREAD_COND_INITIALIZER,
	      .queue = STAILQ_HEAD_INITIALIZER(reports.queue) };

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits for the first of the queue; NULL: there is none, and there will be none. */
static struct report *take_first(void)
{
	pthread_mutex_lock(&reports.lock);
	while (STAILQ_EMPTY(&reports.queue) && !reports.ends)
		pthread_cond_wait(&reports.added, &reports.lock);
	struct report *first = STAILQ_FIRST(&reports.queue);
	if (first)
		STAILQ_REMOVE_HEAD(&reports.queue, next);
	pthread_mutex_unlock(&reports.lock);
	return first;
}

static void *report_all(void *unused)
{
	struct report *first;
	while ((first = take_first())) {
		while (now_ns() < first->due_ns && !reports.ends)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		sample_reports_hold();
		reports.report(&first->completion);
		sample_reports_resume();
		free(first);
	}
	return unused;
}

bool sample_reports_start(uint64_t late_ns, void (*report)(const accelerator_completion *completion))
{
	reports.late_ns = late_ns;
	reports.report = report;
	reports.ends = false;
	reports.has_thread = pthread_create(&reports.thread, NULL, report_all, NULL) == 0;
	return reports.has_thread;
}

void sample_reports_end(void)
{
	if (!reports.has_thread)
		return;
	pthread_mutex_lock(&reports.lock);
	reports.ends = true;
	pthread_cond_signal(&reports.added);
	pthread_mutex_unlock(&reports.lock);
	pthread_join(reports.thread, NULL);
	reports.has_thread = false;
}

bool sample_report_later(const accelerator_completion *completion)
{
	struct report *added = malloc(sizeof(*added));
	if (!added)
		return false;
	added->due_ns = now_ns() + reports.late_ns;
	added->completion = *completion;
	pthread_mutex_lock(&reports.lock);
	STAILQ_INSERT_TAIL(&reports.queue, added, next);
	pthread_cond_signal(&reports.added);
	pthread_mutex_unlock(&reports.lock);
	return true;
}

void sample_reports_hold(void)
{
	pthread_mutex_lock(&reports.reporting);
}

void sample_reports_resume(void)
{
	pthread_mutex_unlock(&reports.reporting);
}
