/* Plugins with faults beside good ones in one session.  Each fault of tests/hostile/ runs in a process of its own, with
 * the samples of all ABIs as the good plugins: the host's calls return in time, the events of the good plugins are
 * complete, the log names the faulty plugin, and the ledger balances.  If the fault kills the process, all of this holds
 * for what the trace has until then.  Covers the calls in runtime/record/profiler_calls.c and in plugins/. */
#include <ctype.h>
#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "tests/support/command.h"
#include "tests/support/recording.h"

/* The labels begin with the number of the plugin. */
#define GUILTY_LABEL "4 guilty"
/* Some faults begin with the eleventh run. */
#define RUNS 12
#define THREADS 2
/* Each has an event inside another one. */
#define NODES 2
#define HOST_EVENTS_A_RUN (THREADS * NODES * 2)
/* Inside of events, and once outside. */
#define WORKS_A_RUN (THREADS * NODES + 1)
/* A host's call waits for a plugin at most 2 s, by default; a call that has several steps, a few times as long. */
#define LIMIT_NS 20000000000

static const char *const good_paths[] = {
	CHECK_BUILD "/libsample_ort_ep.so",
	CHECK_BUILD "/libsample_tf_ep.so",
	CHECK_BUILD "/libsample_pu1_ep.so",
	CHECK_BUILD "/libsample_pjrt_ep.so",
};
enum { GOOD_COUNT = sizeof(good_paths) / sizeof(*good_paths), PLUGINS_COUNT = GOOD_COUNT + 1 };

/* ---- the faults ---- */

#define FAULTS_MAX 512

static struct fault {
	char path[512];
	char name[64];
} faults[FAULTS_MAX];
static size_t faults_count;

/* "4.clock.units": a plugin's texts have the names of its faults. */
static bool is_fault(const char *text)
{
	size_t words = 0;

	if (!isdigit(text[0]) || text[1] != '.')
		return false;
	for (text++; *text == '.' && islower(text[1]); words++)
		text += 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
	return words == 2 && !*text;
}

static void add_faults(const char *path)
{
	size_t bytes;
	char *library = command_file(path, &bytes);

	for (size_t at = 0; at < bytes; at += strlen(library + at) + 1) {
		if (!is_fault(library + at))
			continue;
		ck_assert_uint_lt(faults_count, FAULTS_MAX);
		struct fault *fault = &faults[faults_count++];
		snprintf(fault->path, sizeof(fault->path), "%s", path);
		snprintf(fault->name, sizeof(fault->name), "%s", library + at);
	}
	free(library);
}

static void find_faults(void)
{
	glob_t found;

	ck_assert_int_eq(glob(CHECK_BUILD "/tests/hostile/hostile_*.so", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_faults(found.gl_pathv[i]);
	globfree(&found);
	ck_assert_uint_gt(faults_count, 40);
}

/* ---- the host, in a process of its own ---- */

/* How far a host has come; its parent reads it, also after a crash. */
struct progress {
	atomic_uint host_events; /* that ended */
	atomic_uint runs;        /* that ended, with all their events in the file */
};

struct plugin {
	epp_plugin *plugin;
	OrtEpProfilerImpl *profiler;
	int (*work)(int);
};

static struct host {
	epp_session *session;
	struct plugin plugins[PLUGINS_COUNT];
	struct progress *progress;
	FILE *log;
} host;

/* A line of the log. */
static void note(const char *step, epp_status *status)
{
	if (!status)
		return;
	fprintf(host.log, "%s: %s\n", step, epp_status_message(status));
	fflush(host.log);
	epp_status_destroy(status);
}

static void take_log(void *user, epp_blame blame, const char *text)
{
	(void)user;
	fprintf(host.log, "log %d: %s\n", (int)blame, text);
	fflush(host.log);
}

static void load(struct plugin *plugin, const char *path, const char *label)
{
	epp_status *status = epp_plugin_load(path, &plugin->plugin);

	if (!status) {
		void *symbol = epp_plugin_symbol(plugin->plugin, "epp_sample_work");
		memcpy(&plugin->work, &symbol, sizeof(symbol));
		status = epp_plugin_profiler_create(plugin->plugin, &plugin->profiler);
	}
	if (!status)
		status = epp_session_attach(host.session, plugin->profiler, label);
	note("load", status);
}

static void give_work(void)
{
	for (int i = 0; i < PLUGINS_COUNT; i++) {
		if (host.plugins[i].work && host.plugins[i].work(1) != 0)
			note("work", epp_status_create(EPP_PLUGIN, "it failed"));
	}
}

static void *record_thread(void *session)
{
	epp_name outer = epp_name_intern("outer"), inner = epp_name_intern("inner");

	for (int i = 0; i < NODES; i++) {
		uint64_t outer_id = epp_event_begin(session, EPP_SESSION, outer);
		uint64_t inner_id = epp_event_begin(session, EPP_NODE, inner);
		give_work();
		epp_event_end(session, inner_id, NULL, 0);
		atomic_fetch_add(&host.progress->host_events, 1);
		epp_event_end(session, outer_id, NULL, 0);
		atomic_fetch_add(&host.progress->host_events, 1);
	}
	return NULL;
}

static void record_run(void)
{
	note("start", epp_session_start(host.session));
	pthread_t threads[THREADS - 1];
	for (int i = 0; i < THREADS - 1; i++)
		threads[i] = recording_thread(record_thread, host.session);
	record_thread(host.session);
	for (int i = 0; i < THREADS - 1; i++)
		pthread_join(threads[i], NULL);
	give_work();
	note("end", epp_session_end(host.session));
	note("wait", epp_session_wait(host.session, UINT64_MAX));
	atomic_fetch_add(&host.progress->runs, 1);
}

static void host_run(const struct fault *fault, const char *trace_path, bool exits_early)
{
	const epp_session_options options = { .struct_size = sizeof(options), .path = trace_path, .log = take_log };

	setenv("HOSTILE", fault->name, 1);
	note("TensorFlow's functions", epp_tf_shim_load(CHECK_BUILD "/libepprof_tf_shim.so"));
	note("session", epp_session_create(&options, &host.session));
	/* In the middle of the others. */
	for (int i = 0; i < GOOD_COUNT; i++) {
		char label[24];
		if (i == GOOD_COUNT / 2)
			load(&host.plugins[GOOD_COUNT], fault->path, GUILTY_LABEL);
		snprintf(label, sizeof(label), "%d good", i);
		load(&host.plugins[i], good_paths[i], label);
	}
	for (int i = 0; i < RUNS; i++)
		record_run();
	if (exits_early) {
		note("start", epp_session_start(host.session));
		record_thread(host.session);
		exit(0);
	}
	epp_session_destroy(host.session);
	for (int i = 0; i < PLUGINS_COUNT; i++)
		note("unload", epp_plugin_unload(host.plugins[i].plugin));
	_exit(0);
}

/* ---- what a trace has ---- */

struct counts {
	unsigned host_events, works[PLUGINS_COUNT]; /* by the label's number */
	epp_trace_ledger_entry accounts[PLUGINS_COUNT];
	bool is_balanced;
};

static void count_events(epp_trace *trace, struct counts *counts)
{
	epp_timeline *timeline;
	const epp_event *event;

	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		const char *plugin = epp_trace_track_plugin(trace, event->track);
		if (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC)
			continue;
		if (event->track->kind == EPP_TRACK_THREAD)
			counts->host_events += !strcmp(event->name, "outer") || !strcmp(event->name, "inner");
		else if (event->track->kind == EPP_TRACK_DEVICE && plugin && isdigit(*plugin))
			counts->works[*plugin - '0'] += !strcmp(event->name, "relu");
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
}

static struct counts count_trace(const char *path)
{
	struct counts counts = { .is_balanced = true };
	epp_trace *trace;

	check_ok(epp_trace_open(path, &trace));
	count_events(trace, &counts);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		counts.is_balanced &= account.balanced != 0;
		if (account.is_plugin && isdigit(*account.producer))
			counts.accounts[*account.producer - '0'] = account;
	}
	for (int i = 0; i < PLUGINS_COUNT; i++)
		counts.accounts[i].note = counts.accounts[i].producer = NULL; /* they end with the trace */
	epp_trace_close(trace);
	return counts;
}

/* ---- the hosts, several at once ---- */

static unsigned named_count, killed_count;

#define AT_ONCE 8

static struct process {
	const struct fault *fault;
	bool exits_early;
	pid_t pid;
	char trace[512], log[512];
	struct progress *progress;
	uint64_t begin_ns;
} processes[AT_ONCE];

static void process_start(struct process *process, const struct fault *fault, int number, bool exits_early)
{
	process->fault = fault;
	process->exits_early = exits_early;
	snprintf(process->trace, sizeof(process->trace), "%s", check_path("%d.epp", number));
	snprintf(process->log, sizeof(process->log), "%s", check_path("%d.log", number));
	unlink(process->trace);
	atomic_store(&process->progress->host_events, 0);
	atomic_store(&process->progress->runs, 0);
	process->begin_ns = recording_now_ns();
	process->pid = fork();
	ck_assert_int_ge(process->pid, 0);
	if (process->pid == 0) {
		host.log = fopen(process->log, "we");
		host.progress = process->progress;
		host_run(fault, process->trace, exits_early);
	}
}

static int process_wait(const struct process *process)
{
	int status = 0;
	pid_t pid;

	while ((pid = waitpid(process->pid, &status, WNOHANG)) == 0 && recording_now_ns() - process->begin_ns < LIMIT_NS)
		recording_sleep_ms(2);
	if (pid == 0) {
		kill(process->pid, SIGKILL);
		waitpid(process->pid, &status, 0);
	}
	ck_assert_msg(pid != 0, "%s: the host hangs", process->fault->name);
	return status;
}

/* The process is gone: its trace has all that was recorded. */
static void check_killed(const struct process *process)
{
	const char *name = process->fault->name, *recovered = check_path("recovered.epp");
	struct command recover = command_run(NULL, "recover", "--force", "-o", recovered, process->trace, NULL);
	ck_assert_msg(recover.code == 0, "%s: %s", name, recover.err);
	command_free(&recover);

	struct counts counts = count_trace(recovered);
	unsigned runs = atomic_load(&process->progress->runs);
	unsigned host_events = atomic_load(&process->progress->host_events);
	ck_assert_msg(counts.host_events >= host_events, "%s: %u of %u host events", name, counts.host_events, host_events);
	for (int i = 0; i < GOOD_COUNT; i++)
		ck_assert_msg(counts.works[i] >= runs * WORKS_A_RUN, "%s: %u of %u events of %s", name, counts.works[i],
		              runs * WORKS_A_RUN, good_paths[i]);
}

static void check_survivor(const struct process *process, const char *log)
{
	const char *name = process->fault->name;
	struct counts counts = count_trace(process->trace);
	unsigned host_events = RUNS * HOST_EVENTS_A_RUN + process->exits_early * HOST_EVENTS_A_RUN / THREADS;

	ck_assert_uint_eq(atomic_load(&process->progress->runs), RUNS);
	ck_assert_msg(counts.host_events == host_events, "%s: %u host events", name, counts.host_events);
	ck_assert_msg(counts.is_balanced, "%s: the ledger does not balance", name);
	for (int i = 0; i < GOOD_COUNT; i++) {
		const epp_trace_ledger_entry *account = &counts.accounts[i];
		ck_assert_msg(counts.works[i] == RUNS * WORKS_A_RUN, "%s: %u events of %s", name, counts.works[i],
		              good_paths[i]);
		ck_assert_msg(!account->lost_total && !account->errors, "%s: a loss or an error of %s", name,
		              good_paths[i]);
	}
	const epp_trace_ledger_entry *guilty = &counts.accounts[GOOD_COUNT];
	bool is_known = guilty->errors || guilty->lost_total;
	ck_assert_msg(!is_known || strstr(log, GUILTY_LABEL ": "), "%s: the log does not name it:\n%s", name, log);
	/* Nothing is said of the others. */
	for (const char *line = log; *line; line = strchr(line, '\n') + 1)
		ck_assert_msg(strstr(line, "hostile_") || strstr(line, GUILTY_LABEL ": "), "%s: %s", name, line);
	named_count += is_known || *log;
}

static void process_check(const struct process *process)
{
	int status = process_wait(process);
	size_t bytes;
	char *log = command_file(process->log, &bytes);

	if (status == 0)
		check_survivor(process, log);
	else
		check_killed(process);
	killed_count += status != 0;
	free(log);
}

/* Tests the faults whose names begin with one of these characters. */
static void run_all(const char *levels, bool exits_early)
{
	struct progress *progress = mmap(NULL, AT_ONCE * sizeof(*progress), PROT_READ | PROT_WRITE,
	                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t next = 0, count;

	ck_assert_ptr_ne(progress, MAP_FAILED);
	find_faults();
	do {
		for (count = 0; count < AT_ONCE && next < faults_count; next++) {
			if (!strchr(levels, faults[next].name[0]))
				continue;
			processes[count].progress = &progress[count];
			process_start(&processes[count], &faults[next], (int)count, exits_early);
			count++;
		}
		for (size_t i = 0; i < count; i++)
			process_check(&processes[i]);
	} while (count > 0);
	munmap(progress, AT_ONCE * sizeof(*progress));
}

START_TEST(good_plugins_are_complete)
{
	run_all("12345", false);
	/* Those whose fault a session can see: an error, no profiler, an event that is refused. */
	ck_assert_uint_ge(named_count, 6);
}
END_TEST

START_TEST(a_trace_survives_its_process)
{
	run_all("0", false);
	ck_assert_uint_ge(killed_count, 2);
}
END_TEST

START_TEST(a_process_exits_while_it_records)
{
	run_all("05", true);
	ck_assert_uint_ge(killed_count, 3);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("hostile");
	TCase *tc = tcase_create("hostile");

#ifdef __SANITIZE_THREAD__
	CHECK_SKIP("the plugins have races, which would end their processes");
#endif
	tcase_add_test(tc, good_plugins_are_complete);
	tcase_add_test(tc, a_trace_survives_its_process);
	tcase_add_test(tc, a_process_exits_while_it_records);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
