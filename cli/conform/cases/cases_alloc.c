/* Level 5: allocations of the plugin that fail.  The allocations of a phase are counted in one process.  Then, for each
 * of them, another process runs the same phase, and this allocation fails.  The plugin may return an error, but must
 * not crash or hang. */
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_faults.h"
#include "cases.h"
#include "epprof/profiler.h"
#include "epprof/session.h"

enum phase { PHASE_LOAD, PHASE_RECORD, PHASE_END, PHASE_AFTER };

/* One attempt: a phase with at most one failing allocation, in a process of its own.  The struct is in memory that this
 * process shares with the case. */
struct attempt {
	enum phase phase;
	uint64_t failing; /* number of the allocation that fails, from 1; 0: none fails */
	uint64_t count;   /* number of allocations in the phase so far */
	bool is_over;     /* the attempt has reached its end */
	bool is_run_over; /* the session's run has ended that may have a failing allocation */
	char reason[256]; /* the error of a step in which no allocation failed; "": there was none */
};

static void note(struct attempt *attempt, epp_status *status)
{
	snprintf(attempt->reason, sizeof(attempt->reason), "%s", epp_status_message(status));
	epp_status_destroy(status);
}

static void begin_if(struct attempt *attempt, bool is_phase)
{
	if (is_phase)
		alloc_faults_begin(&attempt->count, attempt->failing);
}

/* Records two host events and gives the device work in each.  If the work fails, this is ignored. */
static void record(epp_session *session, int (*work)(int))
{
	epp_name name = epp_name_intern("node");

	for (int i = 0; i < 2; i++) {
		uint64_t node = epp_event_begin(session, EPP_NODE, name);
		if (work)
			work(4);
		epp_event_end(session, node, NULL, 0);
	}
}

static epp_status *end(epp_session *session)
{
	epp_status *status = epp_session_end(session);

	return status ? status : epp_session_wait(session, UINT64_MAX);
}

static epp_status *run_session(struct attempt *attempt, epp_session *session, int (*work)(int))
{
	begin_if(attempt, attempt->phase == PHASE_RECORD || attempt->phase == PHASE_AFTER);
	epp_status *status = epp_session_start(session);
	if (!status)
		record(session, work);
	if (attempt->phase != PHASE_AFTER)
		alloc_faults_end();
	begin_if(attempt, attempt->phase == PHASE_END);
	if (!status)
		status = end(session);
	alloc_faults_end();
	return status;
}

/* Loads the plugin and records with it; the allocation fails in the phase of the attempt.  The error of a step in which
 * an allocation may fail is ignored.  Returns the error of any other step. */
static epp_status *run_attempt(const struct conform *conform, struct attempt *attempt, void *library)
{
	const epp_session_options options = { .struct_size = sizeof(options), .lossless = 1, .buffer_bytes = 2 << 20 };
	OrtEpProfilerImpl *profiler = NULL;
	epp_session *session = NULL;
	epp_plugin *plugin = NULL;
	int (*work)(int) = NULL;

	if (conform->work_name)
		*(void **)&work = dlsym(library, conform->work_name);
	begin_if(attempt, attempt->phase == PHASE_LOAD);
	epp_status *status = epp_plugin_load(conform->library, &plugin);
	if (!status)
		status = epp_plugin_profiler_create(plugin, &profiler);
	alloc_faults_end();
	if (attempt->phase == PHASE_LOAD && attempt->failing) {
		epp_status_destroy(status);
		return NULL;
	}
	if (!status)
		status = epp_session_create(&options, &session);
	if (!status)
		status = epp_session_attach(session, profiler, NULL);
	if (status)
		return status;
	status = run_session(attempt, session, work);
	attempt->is_run_over = true;
	if (attempt->failing) {
		epp_status_destroy(status);
		status = NULL;
	}
	if (!status && attempt->phase == PHASE_AFTER) {
		status = epp_session_start(session);
		if (!status) {
			record(session, work);
			status = end(session);
		}
	}
	return status;
}

/* Runs an attempt in a process.  Returns the process's wait status, or -1 if there was no process. */
static int run_process(const struct conform *conform, struct attempt *attempt)
{
	int status = -1;

	attempt->count = 0;
	attempt->is_over = attempt->is_run_over = false;
	attempt->reason[0] = '\0';
	pid_t pid = fork();
	if (pid == 0) {
		void *library = dlopen(conform->library, RTLD_NOW | RTLD_LOCAL);
		if (!library || !alloc_faults_install(library))
			_exit(1);
		epp_status *failure = run_attempt(conform, attempt, library);
		if (failure)
			note(attempt, failure);
		attempt->is_over = true;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static void check_attempt(const struct conform *conform, const struct attempt *attempt, uint64_t count, int status)
{
	/* A crash before the end of the run with the failing allocation is found by 5.alloc.record and 5.alloc.end. */
	if (attempt->phase == PHASE_AFTER && !attempt->is_run_over)
		return;
	if (WIFSIGNALED(status))
		conform_fail(conform,
		             "allocation %" PRIu64 " of %" PRIu64 " failed: the process was killed by signal %d (%s)",
		             attempt->failing, count, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!attempt->is_over)
		conform_fail(conform, "allocation %" PRIu64 " of %" PRIu64 " failed: the process ended with status %d",
		             attempt->failing, count, WEXITSTATUS(status));
	if (attempt->reason[0])
		conform_fail(conform, "allocation %" PRIu64 " of %" PRIu64 " failed, and the next run, too: %s",
		             attempt->failing, count, attempt->reason);
}

static void run_phase(const struct conform *conform, enum phase phase)
{
	struct attempt *attempt = mmap(NULL, sizeof(*attempt), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t most = conform->is_quick ? 16 : 500, until_ns = conform_now_ns() + conform->limit_ns / 3;

	if (attempt == MAP_FAILED)
		conform_skip(conform, "no memory");
	attempt->phase = phase;
	int status = run_process(conform, attempt);
	if (status == -1 || !attempt->is_over)
		conform_skip(conform, "the plugin cannot be used, or the relocations of this machine are not known");
	if (attempt->reason[0])
		conform_skip(conform, "the plugin cannot be used: %s", attempt->reason);
	uint64_t count = attempt->count;
	if (!count)
		conform_skip(conform, "the plugin allocates no memory then");
	/* If there are more than `most` allocations, `most` of them fail, evenly distributed. */
	for (uint64_t i = 0; i < (count < most ? count : most) && conform_now_ns() < until_ns; i++) {
		attempt->failing = count < most ? i + 1 : i * count / most + 1;
		status = run_process(conform, attempt);
		if (status == -1)
			conform_skip(conform, "no process");
		check_attempt(conform, attempt, count, status);
	}
}

void case_alloc_load(const struct conform *conform)
{
	run_phase(conform, PHASE_LOAD);
}

void case_alloc_record(const struct conform *conform)
{
	run_phase(conform, PHASE_RECORD);
}

void case_alloc_end(const struct conform *conform)
{
	run_phase(conform, PHASE_END);
}

void case_alloc_after(const struct conform *conform)
{
	run_phase(conform, PHASE_AFTER);
}
