/* epprof tail: prints the last events of a trace, and with -f events as they complete.
 *
 * First it prints the last events: it reads a time range before the end of the trace, and then longer ranges, until a
 * range has enough events.  With -f it then polls: it opens the growing trace again and reads new events.  The ids of
 * all events that were read are kept in a set, so that each event is counted once.  While the trace is small, each poll
 * reads all events from the time at which the first range began.  Later, a poll reads only the last seconds.  When the
 * recording has ended, all events from that time on are read once more, so that late device events are not missed.  If
 * a poll finds too many events to print, one line with their sums is printed instead. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "id_set.h"

static const char
    help[] = "usage: epprof tail [OPTION]... TRACE\n"
	     "\n"
	     "Prints the last events of a trace in the order in which they ended: start (seconds since the beginning of the\n"
	     "trace), duration, thread or stream, name.  With -f it continues while a program records, until the program\n"
	     "ends or Ctrl-C; more than 10,000 new events at once are printed as one line with the counts by name.\n"
	     "\n"
	     "Options:\n"
	     "  -n, --lines N  number of events to print first; the default is 10\n"
	     "  -f, --follow   continue with new events\n"
	     "  --trace-id ID  only events of requests with this W3C trace id; -f waits for one\n"
	     "  --help         print this text\n";

/* Traces with at most this many records are read completely at each poll. */
#define SMALL_RECORDS 1000000u
/* Length of the first time range that is read before the end of the trace, and the factor by which each next range is
 * longer. */
#define PART_NS INT64_C(100000000)
#define PART_GROWTH 8
/* A poll also reads the events that ended up to LOOK_BACK_NS before the last event of the previous poll, because some
 * events, of devices for example, come late.  This time is shorter if it would have more than LOOK_BACK_EVENTS
 * events. */
#define LOOK_BACK_NS INT64_C(10000000000)
#define LOOK_BACK_EVENTS 500000u
#define POLL_NS INT64_C(200000000)
#define PAUSE_MAX_NS INT64_C(1000000000)
/* The maximum number of events that a poll prints; if there are more, it prints one line with their sums. */
#define LINES_AT_ONCE 10000u
/* Number of names in such a line. */
#define NAMES_SHOWN 3u
#define FAILURES_MAX 5u

/* An event that will be printed.  Valid while the trace is open, to which the name and the track belong. */
struct line {
	int64_t end_ns, duration_ns;
	const epp_trace_track *track;
	epp_name name;
	uint8_t kind;
	bool unended;        /* no end was recorded: it was closed with its parent or its run */
	epp_trace_arg value; /* value of a counter */
};

/* Number and total duration of the new events with one name in a poll. */
struct name_sum {
	epp_name name;
	uint64_t count;
	int64_t total_ns;
};

struct tail {
	const char *path, *trace_id; /* trace_id: only events of requests with this trace id are printed; NULL: all */
	bool follows;                /* -f: polls until the recording ends */
	struct cli_id_set printed;   /* ids of all events that were read, also of those that were not printed */
	struct line *lines;          /* room for 2 * limit + 1 lines */
	size_t lines_count, limit;   /* limit: most events that are printed at a time */
	int64_t least_end_ns;        /* an event that ended before this time is not among the last `limit` ones */
	int64_t began_ns;      /* time from which the first poll has read; INT64_MIN: the beginning of the trace */
	int64_t last_end_ns;   /* the latest end of an event that was read so far */
	int64_t look_back_ns;  /* time before last_end_ns from which the next poll reads */
	uint64_t count;        /* number of new events in this poll */
	struct name_sum *sums; /* the sums of this poll; the index is the number of the name */
	size_t sums_room;
	char file_id[33];
};

static int by_end(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

/* Keeps the `limit` lines that ended last, sorted by end. */
static void keep_last(struct tail *tail)
{
	size_t too_many = tail->lines_count > tail->limit ? tail->lines_count - tail->limit : 0;

	if (tail->lines_count > 1 && mergesort(tail->lines, tail->lines_count, sizeof *tail->lines, by_end) < 0)
		cli_no_memory();
	memmove(tail->lines, tail->lines + too_many, (tail->lines_count - too_many) * sizeof *tail->lines);
	tail->lines_count -= too_many;
	if (too_many && tail->lines_count)
		tail->least_end_ns = tail->lines[0].end_ns;
}

static void add_line(struct tail *tail, const epp_timeline *timeline, const epp_event *event)
{
	struct line *line = &tail->lines[tail->lines_count++];
	size_t cursor = 0;

	*line = (struct line){ .end_ns = event->start_ns + event->duration_ns,
		               .duration_ns = event->duration_ns,
		               .track = event->track,
		               .name = event->name_number,
		               .kind = event->kind,
		               .unended = event->flags & EPP_FLAG_UNENDED };
	if (event->kind == EPP_EVENT_COUNTER)
		epp_event_args(timeline, event, &cursor, &line->value);
	if (tail->lines_count > 2 * tail->limit)
		keep_last(tail);
}

static void add_sum(struct tail *tail, const epp_event *event)
{
	if (event->name_number >= tail->sums_room) {
		size_t room = event->name_number * (size_t)2 + 64;
		struct name_sum *larger = reallocarray(tail->sums, room, sizeof *larger);
		if (!larger) {
			cli_no_memory();
			return;
		}
		memset(larger + tail->sums_room, 0, (room - tail->sums_room) * sizeof *larger);
		tail->sums = larger;
		tail->sums_room = room;
	}
	struct name_sum *sum = &tail->sums[event->name_number];
	sum->name = event->name_number;
	sum->count++;
	sum->total_ns += event->duration_ns;
}

/* Reads the events from `from_ns` on.  Those that are complete and were not read before are counted, and stored as
 * lines and sums. */
static epp_status *read_events(struct tail *tail, epp_trace *trace, int64_t from_ns)
{
	const epp_timeline_options options = { .struct_size = sizeof options,
		                               .from_ns = from_ns,
		                               .to_ns = INT64_MAX,
		                               .trace_id = tail->trace_id,
		                               .unweighted = 1 };
	epp_timeline *timeline;
	const epp_event *event;

	tail->least_end_ns = INT64_MIN;
	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (status && tail->follows && epp_status_code(status) == EPP_NOT_FOUND) {
		epp_status_destroy(status); /* the trace has no such request yet, but it may come later */
		return NULL;
	}
	if (status)
		return status;
	while (epp_timeline_next(timeline, &event)) {
		if (event->flags & EPP_FLAG_OPEN || event->kind == EPP_EVENT_FLOW ||
		    cli_id_set_test_and_add(&tail->printed, event->id))
			continue;
		int64_t end_ns = event->start_ns + event->duration_ns;
		tail->last_end_ns = end_ns > tail->last_end_ns ? end_ns : tail->last_end_ns;
		tail->count++;
		add_sum(tail, event);
		if (end_ns >= tail->least_end_ns)
			add_line(tail, timeline, event);
	}
	status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

static void forget_poll(struct tail *tail)
{
	if (tail->sums)
		memset(tail->sums, 0, tail->sums_room * sizeof *tail->sums);
	tail->lines_count = 0;
	tail->count = 0;
}

/* ---- the end of the trace ---- */

/* Estimates the end of the trace, in ns since its beginning: the latest end of a run.  If a run has not ended, it is
 * the present time, or, if no process records the trace any more, the time at which the file was last written.  The
 * estimate may be later than the last event. */
static int64_t end_estimate(const struct tail *tail, const epp_trace *trace)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	int64_t end_ns = 0;
	struct timespec now;
	epp_trace_run run = { .struct_size = sizeof run };
	bool ended = true;
	struct stat st;

	for (size_t i = 0; epp_trace_run_at(trace, i, &run); i++) {
		ended = ended && run.ended;
		end_ns = run.end_ns > end_ns ? run.end_ns : end_ns;
	}
	if (ended)
		return end_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	if (info->state != EPP_TRACE_RECORDING && stat(tail->path, &st) == 0)
		now = st.st_mtim;
	/* In a damaged file the epoch may be any number, so the difference may overflow. */
	if (__builtin_sub_overflow((int64_t)now.tv_sec * 1000000000 + now.tv_nsec, info->epoch_unix_ns, &end_ns))
		end_ns = 0;
	return end_ns;
}

/* Reads time ranges before the end of the trace, each longer than the one before, until one has at least `limit` events
 * or is the whole trace.  Sets tail->began_ns to its beginning. */
static epp_status *read_end(struct tail *tail, epp_trace *trace)
{
	int64_t end_ns = end_estimate(tail, trace), part_ns = PART_NS;

	/* part_ns does not overflow, because the whole trace is read before. */
	for (;; part_ns *= PART_GROWTH) {
		bool all = part_ns > end_ns / PART_GROWTH || epp_trace_get_info(trace)->records_count <= tail->limit;
		tail->began_ns = all ? INT64_MIN : end_ns - part_ns;
		tail->last_end_ns = 0;
		epp_status *status = read_events(tail, trace, tail->began_ns);
		if (status || all || tail->count >= tail->limit)
			return status;
		cli_id_set_deinit(&tail->printed);
		forget_poll(tail);
	}
}

/* ---- printing ---- */

static void print_line(const epp_trace *trace, const struct line *line)
{
	char length[CLI_NUMBER_BYTES];
	size_t bytes;
	const char *name = epp_trace_name(trace, line->name, &bytes);
	char *track = cli_clean(line->track->name, strlen(line->track->name));

	if (line->kind == EPP_EVENT_INSTANT)
		snprintf(length, sizeof length, "instant");
	else if (line->kind != EPP_EVENT_COUNTER || !line->value.key)
		cli_duration_aligned((double)line->duration_ns, length);
	else if (line->value.type == EPP_ARG_F64)
		snprintf(length, sizeof length, "= %g", line->value.value.f64);
	else
		snprintf(length, sizeof length, "= %" PRId64, line->value.value.i64);
	printf("%14.6f  %9s  %-16s ", (double)line->end_ns / 1e9, length, track ? track : "");
	cli_print_clean(stdout, name, bytes);
	puts(line->unended ? "  (never ended)" : "");
	free(track);
}

static int by_count(const void *a, const void *b)
{
	const struct name_sum *left = a, *right = b;

	return left->count == right->count ? (left->name > right->name) - (left->name < right->name)
	                                   : (left->count < right->count) - (left->count > right->count);
}

/* Prints one line with the sums of this poll, for the names with the most events.  Changes the order of `sums`. */
static void print_sum(struct tail *tail, const epp_trace *trace)
{
	char number[CLI_NUMBER_BYTES], events[CLI_COUNTED_BYTES];
	size_t names = 0, bytes;

	qsort(tail->sums, tail->sums_room, sizeof *tail->sums, by_count);
	while (names < tail->sums_room && tail->sums[names].count)
		names++;
	printf("%14.6f  %s:", (double)tail->last_end_ns / 1e9, cli_counted(tail->count, "event", events));
	for (size_t i = 0; i < names && i < NAMES_SHOWN; i++) {
		const char *name = epp_trace_name(trace, tail->sums[i].name, &bytes);
		fputs(i ? ", " : " ", stdout);
		cli_print_clean(stdout, name, bytes);
		printf(" %s", cli_count(tail->sums[i].count, number));
		printf(" (%s)", cli_duration((double)tail->sums[i].total_ns, number));
	}
	if (names > NAMES_SHOWN)
		printf(", %s", cli_counted(names - NAMES_SHOWN, "more name", events));
	putchar('\n');
}

static void print_poll(struct tail *tail, const epp_trace *trace, bool first)
{
	if (tail->count > tail->limit && !first) {
		print_sum(tail, trace);
	} else {
		keep_last(tail);
		for (size_t i = 0; i < tail->lines_count; i++)
			print_line(trace, &tail->lines[i]);
	}
	cli_flush();
}

/* If the file now has another recording, forgets the events of the old one, so that the poll begins with the first
 * event of the new one. */
static void forget_if_replaced(struct tail *tail, const epp_trace_info *info)
{
	if (tail->file_id[0] && strcmp(tail->file_id, info->file_id) != 0) {
		fprintf(stderr, "epprof: %s was replaced by a new recording\n", tail->path);
		cli_id_set_deinit(&tail->printed);
		tail->last_end_ns = 0;
		tail->began_ns = INT64_MIN;
	}
	memcpy(tail->file_id, info->file_id, sizeof tail->file_id);
}

/* Sets look_back_ns: LOOK_BACK_NS, or less if this time would have more than LOOK_BACK_EVENTS events.  The number of
 * events in it is estimated from this poll, whose events cover `time_ns`. */
static void set_look_back(struct tail *tail, int64_t time_ns)
{
	tail->look_back_ns = LOOK_BACK_NS;
	if (time_ns > 0 && (double)tail->count / (double)time_ns * (double)LOOK_BACK_NS > LOOK_BACK_EVENTS)
		tail->look_back_ns = (int64_t)(LOOK_BACK_EVENTS * (double)time_ns / (double)tail->count);
}

/* Polls the trace: prints new events and sets *state to the state of the trace. */
static epp_status *poll_trace(struct tail *tail, bool first, uint32_t *state)
{
	char events[CLI_COUNTED_BYTES];
	epp_trace *trace;
	epp_status *status = epp_trace_open(tail->path, &trace);

	if (status)
		return status;
	const epp_trace_info *info = epp_trace_get_info(trace);
	forget_if_replaced(tail, info);
	*state = info->state;
	bool all = info->state != EPP_TRACE_RECORDING || info->records_count <= SMALL_RECORDS;
	int64_t before_ns = tail->last_end_ns;
	if (first)
		status = read_end(tail, trace);
	else
		status = read_events(tail, trace, all ? tail->began_ns : before_ns - tail->look_back_ns);
	print_poll(tail, trace, first);
	if (!first)
		set_look_back(tail, tail->last_end_ns - before_ns);
	forget_poll(tail);
	if (info->is_truncated && !status)
		fprintf(stderr, "epprof: the file is truncated\n");
	else if (info->state == EPP_TRACE_CUT_OFF && !status)
		fprintf(stderr, "epprof: the recording process has ended; %s %s open\n",
		        cli_counted(info->open_count, "event", events), info->open_count == 1 ? "was" : "were");
	epp_trace_close(trace);
	return status;
}

/* Returns the processor time that this process has used. */
static int64_t taken_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static epp_status *follow(struct tail *tail)
{
	uint32_t state = EPP_TRACE_FINISHED;
	unsigned failures = 0;

	for (bool first = true;; first = false) {
		int64_t began_ns = taken_ns();
		epp_status *status = poll_trace(tail, first, &state);
		/* A file that changes while it is read may seem damaged, so only an error of the first poll, or of
		 * FAILURES_MAX polls in a row, is reported. */
		failures = status ? failures + 1 : 0;
		if (status && (first || failures == FAILURES_MAX))
			return status;
		epp_status_destroy(status);
		if (!tail->follows || (!status && state != EPP_TRACE_RECORDING) || ferror(stdout))
			return NULL;
		if (first) {
			struct line *more = reallocarray(tail->lines, 2 * LINES_AT_ONCE + 1, sizeof *more);
			if (!more)
				return epp_status_no_memory();
			tail->lines = more;
			tail->limit = LINES_AT_ONCE;
		}
		/* Polling takes at most a fifth of a processor, except when that needs a pause above PAUSE_MAX_NS. */
		int64_t pause_ns = 4 * (taken_ns() - began_ns);
		pause_ns = pause_ns < POLL_NS ? POLL_NS : pause_ns > PAUSE_MAX_NS ? PAUSE_MAX_NS : pause_ns;
		nanosleep(&(struct timespec){ pause_ns / 1000000000, pause_ns % 1000000000 }, NULL);
	}
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "lines", required_argument, NULL, 'n' },
		                                      { "follow", no_argument, NULL, 'f' },
		                                      { "trace-id", required_argument, NULL, 'Q' },
		                                      { 0 } };
	struct cli_options options = { &cli_tail, argc, argv, "n:f", long_options, CLI_OK };
	struct tail tail = { .look_back_ns = LOOK_BACK_NS };
	long long lines = 10;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'n' && !cli_number(&cli_tail, "--lines", 0, 10000000, &lines))
			return CLI_USAGE;
		tail.follows = tail.follows || option == 'f';
		if (option == 'Q')
			tail.trace_id = optarg;
	}
	tail.path = cli_options_trace(&options);
	if (!tail.path)
		return options.exit;
	tail.limit = (size_t)lines;
	tail.lines = calloc(2 * tail.limit + 1, sizeof *tail.lines);
	if (!tail.lines)
		return cli_failure(epp_status_no_memory());
	epp_status *status = follow(&tail);
	free(tail.lines);
	free(tail.sums);
	cli_id_set_deinit(&tail.printed);
	return status ? cli_unreadable(status) : CLI_OK;
}

const struct cli_command cli_tail = {
	.name = "tail",
	.summary = "prints the last events; -f follows a recording",
	.help = help,
	.run = run,
};
