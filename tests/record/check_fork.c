/* fork: the child has nothing of the parent's sessions, writes nothing into their files, and can record on its own,
 * from whichever thread and in the middle of whatever it was forked: runtime/record/process.c and the fork halves of
 * the others. */
#include <string.h>
#include <sys/wait.h>

#include "tests/support/forking.h"
#include "tests/support/profiler_double.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static epp_name name, theirs;

static void set_up(void)
{
	name = epp_name_intern("parent's");
	theirs = epp_name_intern("child's");
}

/* In the child; exits with the number of what went wrong. */
static void be_a_child(epp_session *of_parent, uint64_t open_id, const char *path)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	if (epp_recording_count || epp_session_default())
		_exit(2);
	/* Nothing of the parent's can be reached. */
	if (epp_event_begin(of_parent, EPP_NODE, theirs))
		_exit(3);
	epp_event_end(of_parent, open_id, NULL, 0);
	epp_instant_record(of_parent, EPP_NODE, theirs, NULL, 0);
	if (epp_session_start(of_parent) == NULL || epp_session_end(of_parent) == NULL)
		_exit(4);
	epp_session_destroy(of_parent);
	if (epp_session_create(&options, &session) || epp_session_start(session))
		_exit(5);
	epp_name fresh = epp_name_intern("known to the child alone");
	uint64_t id = epp_event_begin(session, EPP_NODE, theirs);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, fresh), NULL, 0);
	epp_event_end(session, id, NULL, 0);
	if (!id || epp_session_end(session) || epp_session_wait(session, UINT64_MAX))
		_exit(6);
	struct trace_scan *scan = trace_scan_session(session);
	if (scan_balance(scan) || scan->records_count != 2 || !scan_name_is(scan, fresh, "known to the child alone") ||
	    scan->header.source.pid != (uint32_t)getpid())
		_exit(7);
	trace_scan_free(scan);
	epp_session_destroy(session);
	_exit(0);
}

static void check_child(pid_t child)
{
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "the child's status is %x", status);
}

static void fork_one(epp_session *session, uint64_t open_id, const char *path)
{
	pid_t child = forking_fork(true);
	/* No assert of Check's in the child, whose lock another thread may have held. */
	if (child == 0)
		be_a_child(session, open_id, path);
	check_child(child);
}

START_TEST(a_child_in_the_middle_of_an_event)
{
	char *path = check_path("parent.epp");
	epp_session *file = recording_start(path), *memory = recording_start(NULL);
	uint64_t open_id = epp_event_begin(file, EPP_NODE, name);
	fork_one(file, open_id, check_path("child.epp"));
	fork_one(memory, open_id, NULL);
	/* The parent's goes on as if nothing had been. */
	epp_event_end(file, open_id, NULL, 0);
	epp_event_end(memory, epp_event_begin(memory, EPP_NODE, name), NULL, 0);
	struct trace_scan *scan = recording_finish_file(file, path);
	ck_assert_uint_eq(scan->records_count, 1);
	ck_assert_uint_eq(EPF_BITS_FLAGS(scan->records[0].bits), 0);
	trace_scan_free(scan);
	scan = recording_finish(memory);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_child_has_ids_of_its_own_source)
{
	epp_session *session = recording_start(NULL);
	epp_event_begin(session, EPP_NODE, name);
	recording_end(session);
	epp_session_destroy(session);
	pid_t child = forking_fork(true);
	if (child == 0) {
		pid_t grandchild = fork();
		if (grandchild == 0)
			be_a_child(session, 1, NULL);
		int status;
		waitpid(grandchild, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	check_child(child);
}
END_TEST

/* ---- from among threads that record ---- */

static uint32_t begun, stop;

static void *record_wildly(void *argument)
{
	epp_session *const *sessions = argument;
	forking_may_allocate(true);
	ADD_RELAXED(&begun, 1);
	for (uint64_t i = 0; !LOAD_RELAXED(&stop); i++) {
		for (int s = 0; s < 2; s++)
			epp_event_end(sessions[s], epp_event_begin(sessions[s], EPP_NODE, name), NULL, 0);
		if (i % 50 == 0) {
			char text[32];
			snprintf(text, sizeof(text), "name %llu", (unsigned long long)(i / 50 % 500));
			epp_name_intern(text);
			forking_may_allocate(false);
			nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
			forking_may_allocate(true);
		}
	}
	forking_may_allocate(false);
	return NULL;
}

static void *come_and_go(void *argument)
{
	epp_session *const *sessions = argument;
	ADD_RELAXED(&begun, 1);
	while (!LOAD_RELAXED(&stop)) {
		epp_session *own;
		forking_may_allocate(true);
		/* No assert of Check's: it takes a lock, which a child that is forked meanwhile would find taken for
		 * ever. */
		if (epp_session_create(NULL, &own) || epp_session_start(own))
			abort();
		epp_event_begin(own, EPP_NODE, name);
		epp_event_begin(sessions[0], EPP_NODE, name);
		if (!FORKING_ALLOCATOR_IS_WHOLE && (epp_session_end(own) || epp_session_wait(own, UINT64_MAX)))
			abort();
		epp_session_destroy(own);
		forking_may_allocate(false);
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	return NULL;
}

#define CHILDREN (50 / RECORDING_SLOW)

START_TEST(fifty_children_of_a_process_that_records)
{
	char *path = strdup(check_path("many.epp")), *child_path = strdup(check_path("many-child.epp"));
	epp_session *sessions[2] = { recording_start(path), recording_start(NULL) };
	pthread_t threads[3] = { recording_thread(record_wildly, sessions), recording_thread(record_wildly, sessions),
		                 recording_thread(come_and_go, sessions) };
	/* Beginning, a thread holds a lock of the address sanitizer's. */
	while (LOAD_RELAXED(&begun) < 3)
		recording_sleep_ms(1);
	for (int i = 0; i < CHILDREN; i++) {
		uint64_t open_id = epp_event_begin(sessions[i % 2], EPP_NODE, name);
		fork_one(sessions[i % 2], open_id, i % 4 ? NULL : child_path);
		epp_event_end(sessions[i % 2], open_id, NULL, 0);
	}
	STORE_RELAXED(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	trace_scan_free(recording_finish(sessions[1]));
	struct trace_scan *scan = recording_finish_file(sessions[0], path);
	/* Check's own asserts tell the runner each time, which takes long for so many. */
	for (size_t i = 0; i < scan->records_count; i++)
		if (scan->records[i].name != name)
			ck_abort_msg("record %zu has the name %u", i, scan->records[i].name);
	ck_assert_uint_eq(scan->header.source.pid, (unsigned)getpid());
	trace_scan_free(scan);
	free(path);
	free(child_path);
}
END_TEST

/* ---- from within a callback ---- */

static void fork_here(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)container;
	pid_t child = forking_fork(true);
	*(pid_t *)self->user = child;
	if (child)
		check_child(child);
}

START_TEST(a_callback_that_forks)
{
	struct profiler_double a = double_make('a');
	pid_t child = -1;
	epp_session *session = double_attached(&a, NULL, NULL);
	a.user = &child;
	check_ok(epp_session_start(session));
	uint64_t outer = epp_event_begin(session, EPP_NODE, name);
	a.does[STEP_START_EVENT] = fork_here;
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	if (child == 0)
		be_a_child(session, id, NULL);
	a.does[STEP_START_EVENT] = NULL;
	epp_event_end(session, id, NULL, 0);
	a.id = outer;
	epp_event_end(session, outer, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 2);
	trace_scan_free(scan);
}
END_TEST

static Suite *fork_suite(void)
{
	Suite *suite = suite_create("fork");
	TCase *tcase = tcase_create("fork");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_child_in_the_middle_of_an_event);
	tcase_add_test(tcase, a_child_has_ids_of_its_own_source);
	tcase_add_test(tcase, fifty_children_of_a_process_that_records);
	tcase_add_test(tcase, a_callback_that_forks);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(fork_suite)
