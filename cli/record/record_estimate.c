/* Estimates how much a recording will write, from its first second.  The numbers come from the request of
 * `epprof ctl status`, which each process of the program answers at the beginning and at the end of this second. */
#include "record_estimate.h"

#include <bsd/string.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/ctl.h"
#include "record.h"

/* First pause between two searches for a session that records.  The pause is doubled each time, up to LOOK_MAX_NS. */
#define LOOK_NS INT64_C(50000000)
#define LOOK_MAX_NS INT64_C(2000000000)
#define SECOND_NS INT64_C(1000000000)
#define ANSWER_TIMEOUT_S 1
#define SESSIONS_MAX 256

/* Files grow by whole blocks, so small growths are inaccurate.  If a trace has grown by less than this, its growth is
 * computed from the number of new events, with RECORD_BYTES for each, the size of a record without args. */
#define BYTES_LEAST (UINT64_C(256) << 10)
#define RECORD_BYTES 32

struct record_estimate {
	char folder[PATH_MAX]; /* absolute path of the folder of the recording's traces, with a slash at the end */
	uint64_t ring_bytes;
	pthread_t thread;
	bool is_started;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool is_ending; /* the thread must end; accessed with the lock held */
};

/* The numbers of one session at one time, from the answer to the request "status". */
struct sampled {
	long long pid;
	uint64_t session, events, bytes, event_cost_ps, write_cpu_ns;
};

struct sample {
	struct sampled sessions[SESSIONS_MAX];
	size_t count;
	int64_t ns; /* time of the sample, of CLOCK_MONOTONIC */
};

/* ---- samples ---- */

static void add_sessions(const struct record_estimate *estimate, const struct ctl_socket *socket, struct sample *sample)
{
	struct ctl_answer answer;
	epp_status *status = ctl_request(socket, "status", ANSWER_TIMEOUT_S, &answer);

	for (size_t i = 1; !status && i < answer.count && sample->count < SESSIONS_MAX; i++) {
		const struct ctl_line *line = &answer.lines[i];
		if (strncmp(ctl_field(line, "output"), estimate->folder, strlen(estimate->folder)) != 0 ||
		    strcmp(ctl_field(line, "state"), "recording") != 0)
			continue;
		sample->sessions[sample->count++] = (struct sampled){ .pid = socket->pid,
			                                              .session = ctl_number(line, "session"),
			                                              .events = ctl_kept_events(line),
			                                              .bytes = ctl_number(line, "bytes"),
			                                              .event_cost_ps = ctl_number(line, "event_cost_ps"),
			                                              .write_cpu_ns = ctl_number(line, "write_cpu_ns") };
	}
	/* A process that does not answer or has ended is left out of the estimate. */
	epp_status_destroy(status);
	ctl_answer_deinit(&answer);
}

/* Gets the numbers of all sessions that write into the folder and are recording now. */
static void take_sample(const struct record_estimate *estimate, struct sample *sample)
{
	struct ctl_sockets sockets;
	epp_status *status = ctl_sockets_find(&sockets, false);

	sample->count = 0;
	sample->ns = record_now_ns();
	for (size_t i = 0; !status && i < sockets.count; i++)
		add_sessions(estimate, &sockets.items[i], sample);
	epp_status_destroy(status);
	ctl_sockets_deinit(&sockets);
}

static const struct sampled *find(const struct sample *sample, const struct sampled *session)
{
	for (size_t i = 0; i < sample->count; i++)
		if (sample->sessions[i].pid == session->pid && sample->sessions[i].session == session->session)
			return &sample->sessions[i];
	return NULL;
}

/* ---- the line ---- */

/* Prints the estimate, from the growth between two samples.  If a session is only in the second sample, it began after
 * the first one, so all its events count. */
static void print_line(const struct record_estimate *estimate, const struct sample *first, const struct sample *second)
{
	char events_text[CLI_COUNTED_BYTES], bytes_text[CLI_NUMBER_BYTES], ring[CLI_NUMBER_BYTES], held[CLI_NUMBER_BYTES];
	double seconds = (double)(second->ns - first->ns) / 1e9, events = 0, bytes = 0, cost_ns = 0;

	for (size_t i = 0; i < second->count; i++) {
		const struct sampled *now = &second->sessions[i], *before = find(first, now);
		double more = (double)now->events - (before ? (double)before->events : 0);
		uint64_t grown = now->bytes - (before && before->bytes <= now->bytes ? before->bytes : 0);
		events += more > 0 ? more : 0;
		if (now->write_cpu_ns && (!before || before->write_cpu_ns <= now->write_cpu_ns))
			cost_ns += more * (double)now->event_cost_ps / 1000 +
			           (double)(now->write_cpu_ns - (before ? before->write_cpu_ns : 0));
		bytes += grown >= BYTES_LEAST ? (double)grown : more * RECORD_BYTES;
	}
	cli_counted((uint64_t)(events / seconds), "event", events_text);
	fprintf(stderr, "epprof: %s a second, about %s an hour", events_text,
	        cli_bytes((uint64_t)(bytes / seconds * 3600), bytes_text));
	if (cost_ns > 0)
		fprintf(stderr, " and %.2g %% of a processor", cost_ns / (seconds * 1e7));
	if (estimate->ring_bytes && bytes > 0)
		fprintf(
		    stderr, "; the ring of %s a process holds about the last %s", cli_bytes(estimate->ring_bytes, ring),
		    cli_duration((double)estimate->ring_bytes * (double)second->count / (bytes / seconds) * 1e9, held));
	fprintf(stderr, "\n");
}

/* ---- the thread ---- */

/* Waits for `ns`.  Returns false if the thread must end. */
static bool wait_ns(struct record_estimate *estimate, int64_t ns)
{
	int64_t until_ns = record_now_ns() + ns;
	const struct timespec until = { until_ns / SECOND_NS, until_ns % SECOND_NS };

	pthread_mutex_lock(&estimate->lock);
	while (!estimate->is_ending && record_now_ns() < until_ns)
		pthread_cond_timedwait(&estimate->ends, &estimate->lock, &until);
	bool goes_on = !estimate->is_ending;
	pthread_mutex_unlock(&estimate->lock);
	return goes_on;
}

static void *run(void *argument)
{
	struct record_estimate *estimate = argument;
	struct sample *samples = calloc(2, sizeof *samples);

	for (int64_t look_ns = LOOK_NS; samples && wait_ns(estimate, look_ns);) {
		look_ns = look_ns < LOOK_MAX_NS ? 2 * look_ns : look_ns;
		take_sample(estimate, &samples[0]);
		if (!samples[0].count)
			continue;
		if (!wait_ns(estimate, SECOND_NS))
			break;
		take_sample(estimate, &samples[1]);
		/* If there are no sessions in the second sample, those of the first have ended, and nothing is
		 * printed. */
		if (samples[1].count) {
			print_line(estimate, &samples[0], &samples[1]);
			break;
		}
	}
	free(samples);
	return NULL;
}

struct record_estimate *record_estimate_create(const char *folder, uint64_t ring_bytes)
{
	struct record_estimate *estimate = calloc(1, sizeof *estimate);
	pthread_condattr_t attributes;

	if (!estimate)
		return NULL;
	estimate->ring_bytes = ring_bytes;
	pthread_mutex_init(&estimate->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&estimate->ends, &attributes);
	pthread_condattr_destroy(&attributes);
	if (realpath(folder, estimate->folder) &&
	    strlcat(estimate->folder, "/", sizeof estimate->folder) < sizeof estimate->folder)
		return estimate;
	record_estimate_destroy(estimate);
	return NULL;
}

void record_estimate_start(struct record_estimate *estimate)
{
	sigset_t all, before;

	if (!estimate)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	estimate->is_started = pthread_create(&estimate->thread, NULL, run, estimate) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void record_estimate_destroy(struct record_estimate *estimate)
{
	if (!estimate)
		return;
	pthread_mutex_lock(&estimate->lock);
	estimate->is_ending = true;
	pthread_cond_signal(&estimate->ends);
	pthread_mutex_unlock(&estimate->lock);
	if (estimate->is_started)
		pthread_join(estimate->thread, NULL);
	pthread_mutex_destroy(&estimate->lock);
	pthread_cond_destroy(&estimate->ends);
	free(estimate);
}
