/* epprof tail: prints events as they complete.
 *
 * A growing trace is opened again at each poll; the ids of printed events are kept, so that each event is printed once.
 * While the trace is small, each poll reads all of it, later only its last seconds; when its writer has finished, all
 * of it is read once more, so that late device events are not missed. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "seen.h"

static const char help[] = "usage: epprof tail [OPTION]... TRACE\n"
			   "\n"
			   "Prints the last events of a trace, in the order in which they ended: when (in seconds since the trace's\n"
			   "beginning), how long, on which thread or stream, what.  With -f it goes on as a program records more,\n"
			   "until that ends or Ctrl-C.\n"
			   "\n"
			   "Options:\n"
			   "  -n, --lines N  how many events there are at first; 10 if not given\n"
			   "  -f, --follow   goes on\n"
			   "  --help         this text\n";

/* Traces with at most this many records are read completely at each poll. */
#define SMALL_RECORDS 1000000u
#define LOOK_BACK_NS 10000000000
#define POLL_NS 200000000
/* The maximum number of lines printed at a time. */
#define LINES_AT_ONCE 10000u
#define FAILURES_MAX 5u

struct line {
	int64_t end_ns;
	char *text;
};

struct tail {
	const char *path;
	struct seen seen;
	struct line *lines; /* room for twice `limit` and one */
	size_t lines_count, limit;
	int64_t least_end_ns; /* events that ended before this are not among the last */
	uint64_t left_out;
	int64_t last_end_ns;
	char file_id[33];
};

static int by_end(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

/* Keeps the `limit` lines that ended last, in order. */
static void keep_last(struct tail *tail)
{
	size_t too_many = tail->lines_count > tail->limit ? tail->lines_count - tail->limit : 0;

	if (tail->lines_count > 1 && mergesort(tail->lines, tail->lines_count, sizeof *tail->lines, by_end) < 0)
		cli_no_memory();
	for (size_t i = 0; i < too_many; i++)
		free(tail->lines[i].text);
	memmove(tail->lines, tail->lines + too_many, (tail->lines_count - too_many) * sizeof *tail->lines);
	tail->lines_count -= too_many;
	tail->left_out += too_many;
	if (too_many && tail->lines_count)
		tail->least_end_ns = tail->lines[0].end_ns;
}

static char *line_text(const epp_timeline *timeline, const epp_event *event)
{
	char length[CLI_NUMBER_BYTES], *text = NULL;
	char *name = cli_clean(event->name, event->name_bytes);
	char *track = cli_clean(event->track->name, strlen(event->track->name));
	const char *behind = event->flags & EPP_FLAG_UNENDED ? "  (never ended)" : "";
	epp_trace_arg arg;
	size_t cursor = 0;

	if (event->kind == EPP_EVENT_INSTANT) {
		snprintf(length, sizeof length, "instant");
	} else if (event->kind == EPP_EVENT_COUNTER && epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type == EPP_ARG_F64)
			snprintf(length, sizeof length, "= %g", arg.value.f64);
		else
			snprintf(length, sizeof length, "= %" PRId64, arg.value.i64);
	} else {
		cli_duration_aligned((double)event->duration_ns, length);
	}
	if (name && track &&
	    asprintf(&text, "%14.6f  %9s  %-16s %s%s", (double)(event->start_ns + event->duration_ns) / 1e9, length,
	             track, name, behind) < 0) {
		cli_no_memory();
		text = NULL;
	}
	free(name);
	free(track);
	return text;
}

/* Takes the events that are complete and new. */
static epp_status *take_events(struct tail *tail, epp_trace *trace, bool all)
{
	epp_timeline_options options = { .struct_size = sizeof options };
	epp_timeline *timeline;
	const epp_event *event;
	int64_t last_end_ns = tail->last_end_ns;

	tail->least_end_ns = INT64_MIN;
	if (!all) {
		options.from_ns = tail->last_end_ns - LOOK_BACK_NS;
		options.to_ns = INT64_MAX;
	}
	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (status)
		return status;
	while (epp_timeline_next(timeline, &event)) {
		if (event->flags & EPP_FLAG_OPEN || event->kind == EPP_EVENT_FLOW || seen_before(&tail->seen, event->id))
			continue;
		int64_t end_ns = event->start_ns + event->duration_ns;
		if (end_ns > last_end_ns)
			last_end_ns = end_ns;
		if (end_ns < tail->least_end_ns) {
			tail->left_out++;
			continue;
		}
		tail->lines[tail->lines_count++] = (struct line){ end_ns, line_text(timeline, event) };
		if (tail->lines_count > 2 * tail->limit)
			keep_last(tail);
	}
	tail->last_end_ns = last_end_ns;
	status = epp_timeline_status(timeline);
	epp_timeline_release(timeline);
	return status;
}

static void print_lines(struct tail *tail)
{
	for (size_t i = 0; i < tail->lines_count; i++) {
		puts(tail->lines[i].text ? tail->lines[i].text : "(no memory)");
		free(tail->lines[i].text);
	}
	tail->lines_count = 0;
	cli_flush();
}

/* Starts again if another recording has replaced the file. */
static void forget_if_replaced(struct tail *tail, const epp_trace_info *info)
{
	if (tail->file_id[0] && strcmp(tail->file_id, info->file_id) != 0) {
		fprintf(stderr, "epprof: %s was replaced by a new recording\n", tail->path);
		seen_deinit(&tail->seen);
		tail->last_end_ns = 0;
	}
	memcpy(tail->file_id, info->file_id, sizeof tail->file_id);
}

/* One poll of the trace: prints new events and returns its state in `*state`. */
static epp_status *look(struct tail *tail, bool first, uint32_t *state)
{
	char events[CLI_COUNTED_BYTES];
	epp_trace *trace;
	epp_status *status = epp_trace_open(tail->path, &trace);

	if (status)
		return status;
	const epp_trace_info *info = epp_trace_get_info(trace);
	forget_if_replaced(tail, info);
	*state = info->state;
	bool all = first || info->state != EPP_TRACE_RECORDING || info->records_count <= SMALL_RECORDS;
	status = take_events(tail, trace, all);
	keep_last(tail);
	if (tail->left_out && !first)
		fprintf(stderr, "epprof: %" PRIu64 " more event%s, too many to print\n", tail->left_out,
		        tail->left_out == 1 ? "" : "s");
	tail->left_out = 0;
	print_lines(tail);
	if (info->is_truncated && !status)
		fprintf(stderr, "epprof: the file is cut off\n");
	else if (info->state == EPP_TRACE_CUT_OFF && !status)
		fprintf(stderr, "epprof: the recording process is gone; %s %s open\n",
		        cli_counted(info->open_count, "event", events), info->open_count == 1 ? "was" : "were");
	epp_trace_close(trace);
	return status;
}

/* The processor time used so far, which does not include the time that other processes run. */
static int64_t taken_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static epp_status *follow(struct tail *tail, bool goes_on)
{
	uint32_t state = EPP_TRACE_FINISHED;
	unsigned failures = 0;

	for (bool first = true;; first = false) {
		int64_t began_ns = taken_ns();
		epp_status *status = look(tail, first, &state);
		/* A file that changes during reading may appear damaged once. */
		failures = status ? failures + 1 : 0;
		if (status && (first || failures == FAILURES_MAX))
			return status;
		epp_status_release(status);
		if (!goes_on || (!status && state != EPP_TRACE_RECORDING) || ferror(stdout))
			return NULL;
		if (first) {
			struct line *more = reallocarray(tail->lines, 2 * LINES_AT_ONCE + 1, sizeof *more);
			if (!more)
				return epp_status_no_memory();
			tail->lines = more;
			tail->limit = LINES_AT_ONCE;
		}
		/* Polling must not take more than a fifth of a processor. */
		int64_t pause_ns = 4 * (taken_ns() - began_ns);
		pause_ns = pause_ns > POLL_NS ? pause_ns : POLL_NS;
		nanosleep(&(struct timespec){ pause_ns / 1000000000, pause_ns % 1000000000 }, NULL);
	}
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { { "lines", required_argument, NULL, 'n' },
		                               { "follow", no_argument, NULL, 'f' },
		                               { 0 } };
	struct cli_options options = { &cli_tail, argc, argv, "n:f", longs, CLI_OK };
	struct tail tail = { .last_end_ns = 0 };
	long long lines = 10;
	bool goes_on = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'n' && !cli_number(&cli_tail, "--lines", 0, 10000000, &lines))
			return CLI_USAGE;
		goes_on = goes_on || option == 'f';
	}
	tail.path = cli_options_trace(&options);
	if (!tail.path)
		return options.exit;
	tail.limit = (size_t)lines;
	tail.lines = calloc(2 * tail.limit + 1, sizeof *tail.lines);
	if (!tail.lines)
		return cli_failure(epp_status_no_memory());
	epp_status *status = follow(&tail, goes_on);
	free(tail.lines);
	seen_deinit(&tail.seen);
	return status ? cli_unreadable(status) : CLI_OK;
}

const struct cli_command cli_tail = {
	.name = "tail",
	.summary = "prints the last events, and with -f those that follow",
	.help = help,
	.run = run,
};
