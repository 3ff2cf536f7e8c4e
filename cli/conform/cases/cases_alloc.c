/* Level 5: allocations of the plugin that fail.  For each allocation of a phase a process runs with this one failing.  An
 * error of the plugin is allowed; a crash and a hang are not. */
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

/* In memory that the case and the process of an attempt share. */
struct attempt {
	enum phase phase;
	uint64_t failing; /* the allocation of this number; 0: none */
	uint64_t count;   /* of allocations in the phase */
	bool is_over;
	bool is_run_over; /* with its failures */
	char reason[256]; /* a run without failures did not work; "": it did */
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

/* Events with work inside, which may fail. */
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

/* Returns a status without failing allocations only, that is, of a step that has to work. */
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

/* Runs an attempt in a process.  Returns its wait status, or -1. */
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
	/* Other cases find this. */
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
	/* Evenly distributed, if there are too many. */
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
