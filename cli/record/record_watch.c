/* Watches the traces of a program while it runs, and takes snapshots of them: when an event was long, that is, lasted
 * longer than the limit of a trigger, or when the user sends SIGUSR2.
 *
 * The watch polls the files that the processes of the program write; the processes are not involved.  A poll reads the
 * events that have ended since the previous poll.  An event is in the file only shortly after its end, so a poll also
 * reads the events of the LOOK_BACK_NS before the latest end that the previous poll has read; long events that the
 * previous poll has found are not counted again.  The last poll is after the end of the program.  So no event is
 * missed, unless a ring was overwritten between two polls. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/id_set.h"
#include "epprof/trace_writer.h"
#include "record.h"

#define LOOK_BACK_NS INT64_C(1000000000)
/* Shortest and longest pause between two polls.  In between, the pause is 9 times the processor time of the last poll,
 * so that polls take a tenth of a processor.  If PAUSE_MAX_NS is shorter than that, they take more. */
#define PAUSE_NS INT64_C(100000000)
#define PAUSE_MAX_NS INT64_C(1000000000)

/* State of a trace in the folder. */
struct record_watched {
	char *name;
	/* id of the trace that was read last; if the file has another id, the process has replaced the trace */
	char file_id[33];
	bool has_ended;                /* the process had already ended at the last poll */
	struct stat file;              /* result of stat for the file at the last poll */
	int64_t until_ns;              /* the latest end of an event that was read; INT64_MIN: nothing was read */
	struct cli_id_set long_events; /* long events that the previous poll found */
};

/* The first long event that a poll found. */
struct long_event {
	char *name;
	uint64_t id;
	int64_t duration_ns;
};

/* ---- triggers ---- */

bool record_watch_add(struct record_watch *watch, char *text)
{
	char *sign = strrchr(text, '>'), *begin = text + strspn(text, " "), *end = sign;
	struct record_trigger *trigger = &watch->triggers[watch->triggers_count];

	while (end && end > begin && end[-1] == ' ')
		end--;
	if (watch->triggers_count == RECORD_TRIGGERS_MAX) {
		cli_misuse(&cli_record, "--snapshot-when: at most %d", RECORD_TRIGGERS_MAX);
		return false;
	}
	if (!sign || end == begin || !cli_parse_time(sign + 1 + strspn(sign + 1, " "), &trigger->limit_ns) ||
	    trigger->limit_ns < 0) {
		cli_misuse(&cli_record, "--snapshot-when '%s': must be NAME > TIME, for example 'model_run > 50ms'", text);
		return false;
	}
	*end = '\0';
	trigger->pattern = begin;
	watch->triggers_count++;
	return true;
}

static bool is_long(const struct record_watch *watch, const epp_event *event)
{
	if ((event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC) || event->track->kind != EPP_TRACK_THREAD)
		return false;
	for (size_t i = 0; i < watch->triggers_count; i++) {
		const struct record_trigger *trigger = &watch->triggers[i];
		if (event->duration_ns > trigger->limit_ns &&
		    (strcmp(trigger->pattern, event->name) == 0 || fnmatch(trigger->pattern, event->name, 0) == 0))
			return true;
	}
	return false;
}

/* ---- snapshots ---- */

/* Returns the name of a snapshot: "run.snapshot-1.epp" for "run.epp".  NULL: no memory. */
static char *snapshot_path(const char *output, unsigned number)
{
	size_t bytes = strlen(output);
	char *path;

	if (bytes > 4 && strcmp(output + bytes - 4, ".epp") == 0)
		bytes -= 4;
	return asprintf(&path, "%.*s.snapshot-%u.epp", (int)bytes, output, number) < 0 ? NULL : path;
}

/* Writes a snapshot of a trace.  If its process has already ended, the snapshot is a copy of the whole trace. */
static epp_status *write_snapshot(epp_trace *trace, const char *path)
{
	if (epp_trace_get_info(trace)->state == EPP_TRACE_RECORDING)
		return epp_trace_snapshot(trace, path, UINT64_MAX, 0);
	return epp_trace_recover(trace, path, 0);
}

/* Returns true if a trace has the event `id`.  Returns false also if the trace cannot be read. */
static bool has_event(const char *path, uint64_t id)
{
	epp_trace *trace;
	uint64_t offset = UINT64_MAX;
	epp_status *status = epp_trace_open(path, &trace);

	if (!status)
		status = epp_trace_find_record(trace, 0, id, &offset);
	epp_trace_close(trace);
	epp_status_destroy(status);
	return offset != UINT64_MAX;
}

static void print_snapshot(const char *path, const epp_trace *trace, const struct long_event *event)
{
	char duration[CLI_NUMBER_BYTES], *text;
	unsigned pid = epp_trace_get_info(trace)->pid;
	int made = event ? asprintf(&text, "%s: '%s' took %s in process %u", path, event->name,
	                            cli_duration((double)event->duration_ns, duration), pid)
	                 : asprintf(&text, "%s: process %u", path, pid);

	if (made < 0)
		return;
	cli_message(text, "\n");
	free(text);
}

/* Writes a snapshot of a trace under the next number for which no file exists.  *path is set to its name, which the
 * caller frees; NULL: no memory. */
static epp_status *write_next(struct record_watch *watch, epp_trace *trace, char **path)
{
	for (;;) {
		*path = snapshot_path(watch->output, ++watch->number);
		if (!*path)
			return epp_status_no_memory();
		/* Checked first, because otherwise the whole snapshot would be written before the name is found to be
		 * in use. */
		epp_status *status = access(*path, F_OK) == 0 ? epp_status_create(EPP_EXISTS, "%s", *path)
		                                              : write_snapshot(trace, *path);
		if (epp_status_code(status) != EPP_EXISTS)
			return status;
		epp_status_destroy(status);
		free(*path);
	}
}

/* Takes a snapshot.  `event` is the event that triggered it; NULL: the user asked for the snapshot. */
static void take_snapshot(struct record_watch *watch, epp_trace *trace, const struct long_event *event)
{
	char *path;
	epp_status *status = write_next(watch, trace, &path);

	if (status) {
		watch->any_failed = true;
		cli_failure(status);
	} else if (event && !has_event(path, event->id)) {
		watch->any_failed = true;
		cli_message(path, ": the event that was too long is missing: the ring was overwritten too soon");
	} else if (!cli_quiet) {
		print_snapshot(path, trace, event);
	}
	free(path);
}

/* ---- polls ---- */

/* Finds or adds the state of a trace.  NULL: no memory. */
static struct record_watched *find_watched(struct record_watch *watch, const char *name)
{
	for (size_t i = 0; i < watch->traces_count; i++)
		if (strcmp(watch->traces[i].name, name) == 0)
			return &watch->traces[i];
	struct record_watched *traces = reallocarray(watch->traces, watch->traces_count + 1, sizeof *traces);
	if (!traces)
		return NULL;
	watch->traces = traces;
	traces[watch->traces_count] = (struct record_watched){ .name = strdup(name), .until_ns = INT64_MIN };
	return traces[watch->traces_count].name ? &traces[watch->traces_count++] : NULL;
}

/* Returns true if the last poll has read a trace after its process had ended, and the file has not changed since. */
static bool is_done(const struct record_watched *watched, const struct stat *st)
{
	const struct stat *before = &watched->file;

	return watched->has_ended && st->st_ino == before->st_ino && st->st_size == before->st_size &&
	       st->st_mtim.tv_sec == before->st_mtim.tv_sec && st->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Finds the long events that the previous poll did not find.  *count is set to their number, and *first to a copy of
 * the first one.  If this fails, the next poll finds them. */
static epp_status *find_long_events(struct record_watch *watch, struct record_watched *watched, epp_trace *trace,
                                    struct long_event *first, uint64_t *count)
{
	const int64_t before_ns = watched->until_ns;
	const bool is_first = before_ns == INT64_MIN;
	const epp_timeline_options options = { .struct_size = sizeof options,
		                               .from_ns = is_first ? INT64_MIN : before_ns - LOOK_BACK_NS,
		                               .to_ns = INT64_MAX,
		                               .unweighted = 1 };
	struct cli_id_set found = { 0 };
	epp_timeline *timeline;
	const epp_event *event;
	int64_t until_ns = before_ns;
	/* true if the trace still has an event that the previous poll has read; then no unread event was overwritten */
	bool has_known = is_first;
	epp_status *status = epp_timeline_create(trace, &options, &timeline);

	if (status)
		return status;
	while (epp_timeline_next(timeline, &event)) {
		int64_t end_ns = event->start_ns + event->duration_ns;
		if (event->flags & EPP_FLAG_OPEN)
			continue;
		has_known |= end_ns <= before_ns;
		until_ns = end_ns > until_ns ? end_ns : until_ns;
		if (!is_long(watch, event) || cli_id_set_test_and_add(&found, event->id) ||
		    cli_id_set_has(&watched->long_events, event->id) || (*count)++)
			continue;
		*first = (struct long_event){ strdup(event->name), event->id, event->duration_ns };
	}
	status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	if (status) {
		cli_id_set_deinit(&found);
		*count = 0;
		return status;
	}
	cli_id_set_deinit(&watched->long_events);
	watched->long_events = found;
	watched->until_ns = until_ns;
	watch->any_missed |= !has_known;
	return NULL;
}

static void handle_long_events(struct record_watch *watch, epp_trace *trace, const struct long_event *first, uint64_t count)
{
	int64_t now_ns = record_now_ns();

	if (count && (!watch->last_ns || now_ns - watch->last_ns >= watch->every_ns)) {
		watch->last_ns = now_ns;
		count--;
		take_snapshot(watch, trace, first);
	}
	watch->more += count;
}

/* Reads the new events of one trace. */
static epp_status *read_new_events(struct record_watch *watch, struct record_watched *watched, const char *path)
{
	struct long_event first = { 0 };
	uint64_t count = 0;
	struct stat st;
	epp_trace *trace;

	if (stat(path, &st) != 0 || is_done(watched, &st))
		return NULL;
	epp_status *status = epp_trace_open(path, &trace);
	if (status)
		return status;
	const epp_trace_info *info = epp_trace_get_info(trace);
	if (strcmp(watched->file_id, info->file_id) != 0) {
		cli_id_set_deinit(&watched->long_events);
		watched->until_ns = INT64_MIN;
		memcpy(watched->file_id, info->file_id, sizeof watched->file_id);
	}
	status = find_long_events(watch, watched, trace, &first, &count);
	watched->has_ended = !status && info->state != EPP_TRACE_RECORDING;
	watched->file = st;
	handle_long_events(watch, trace, &first, count);
	free(first.name);
	epp_trace_close(trace);
	return status;
}

/* Calls `act` for each trace in the folder, and ignores its errors: a file that changes while it is read may seem
 * damaged.  The next poll reads it again.  If it is really damaged, record_join_traces reports this. */
static void for_each_trace(struct record_watch *watch,
                           epp_status *(*act)(struct record_watch *watch, struct record_watched *watched, const char *path))
{
	struct dirent **entries = NULL;
	int count = scandir(watch->folder, &entries, record_is_trace, alphasort);

	for (int i = 0; i < count; i++) {
		struct record_watched *watched = find_watched(watch, entries[i]->d_name);
		char *path;
		if (watched && asprintf(&path, "%s/%s", watch->folder, watched->name) >= 0) {
			epp_status_destroy(act(watch, watched, path));
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
}

/* ---- snapshots on request ---- */

static epp_status *snapshot_running(struct record_watch *watch, struct record_watched *watched, const char *path)
{
	epp_trace *trace;
	epp_status *status = epp_trace_open(path, &trace);

	(void)watched;
	if (status)
		return status;
	if (epp_trace_get_info(trace)->state == EPP_TRACE_RECORDING)
		take_snapshot(watch, trace, NULL);
	epp_trace_close(trace);
	return NULL;
}

static void snapshot_all(struct record_watch *watch)
{
	unsigned before = watch->number;

	for_each_trace(watch, snapshot_running);
	if (watch->number == before)
		fprintf(stderr, "epprof: no snapshot: no process records\n");
}

/* ---- the watch ---- */

void record_watch_begin(struct record_watch *watch, const char *folder, const char *output)
{
	watch->folder = folder;
	watch->output = output;
	sigemptyset(&watch->signals);
	sigaddset(&watch->signals, SIGCHLD);
	if (watch->on_signal)
		sigaddset(&watch->signals, SIGUSR2);
}

static bool has_ended(pid_t pid)
{
	siginfo_t about = { 0 };

	return waitid(P_PID, (id_t)pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == pid;
}

/* Returns the processor time that this process has used. */
static int64_t taken_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits until one of watch->signals arrives or is already pending, for at most `timeout_ns`.  After SIGUSR2, takes
 * snapshots. */
static void wait_for_signal(struct record_watch *watch, int64_t timeout_ns)
{
	const struct timespec timeout = { timeout_ns / 1000000000, timeout_ns % 1000000000 };

	if (sigtimedwait(&watch->signals, NULL, &timeout) == SIGUSR2)
		snapshot_all(watch);
}

void record_watch_until_end(struct record_watch *watch, pid_t pid)
{
	while (!has_ended(pid)) {
		int64_t began_ns = taken_ns();
		if (watch->triggers_count)
			for_each_trace(watch, read_new_events);
		int64_t pause_ns = 9 * (taken_ns() - began_ns);
		pause_ns = pause_ns < PAUSE_NS ? PAUSE_NS : pause_ns > PAUSE_MAX_NS ? PAUSE_MAX_NS : pause_ns;
		wait_for_signal(watch, pause_ns);
	}
	wait_for_signal(watch, 0);
	if (watch->triggers_count)
		for_each_trace(watch, read_new_events);
}

void record_watch_finish(struct record_watch *watch)
{
	char events[CLI_COUNTED_BYTES], every[CLI_NUMBER_BYTES];

	/* A SIGUSR2 that arrives from now on is too late for a snapshot.  It must not end this command. */
	if (watch->on_signal)
		signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &watch->signals, NULL);
	if (watch->any_missed)
		fprintf(stderr, "epprof: long events may have been missed: a ring was overwritten between two polls\n");
	if (watch->more && !cli_quiet)
		fprintf(stderr, "epprof: %s without a snapshot of its own: less than %s after the last one\n",
		        cli_counted(watch->more, "long event", events), cli_duration((double)watch->every_ns, every));
	for (size_t i = 0; i < watch->traces_count; i++) {
		cli_id_set_deinit(&watch->traces[i].long_events);
		free(watch->traces[i].name);
	}
	free(watch->traces);
}
