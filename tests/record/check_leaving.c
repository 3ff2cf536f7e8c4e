/* Leaving in the middle: exit while threads record, two threads that release one session at once while a third records
 * into it, and a dlclose of the library while a thread is inside it. */
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>

#include "epprof/trace_reader.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

static epp_name name;
static uint32_t stop, begun;

static void set_up(void)
{
	name = epp_name_intern("leaving");
}

static void *record(void *session)
{
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	ADD_RELAXED(&begun, 1);
	while (!LOAD_ACQUIRE(&stop))
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	return NULL;
}

/* Returns the records. */
static uint64_t check_file(const char *path)
{
	epp_trace *trace = open_valid(path);
	uint64_t records = epp_trace_get_info(trace)->records_count;
	epp_trace_close(trace);
	return records;
}

START_TEST(an_exit_while_threads_record)
{
	char *path = check_path("exit.epp");
	int status;
	for (unsigned i = 0; i < 5; i++) {
		pid_t child = fork();
		if (child == 0) {
			epp_session *session = recording_start(path);
			for (int t = 0; t < 2; t++)
				recording_thread(record, session);
			while (LOAD_RELAXED(&begun) < 2)
				recording_sleep_ms(1);
			recording_sleep_ms(5 + 7 * (long)i);
			exit(7);
		}
		waitpid(child, &status, 0);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", status);
		ck_assert_uint_gt(check_file(path), 0);
	}
}
END_TEST

static pthread_barrier_t at_once;

static void *release(void *session)
{
	pthread_barrier_wait(&at_once);
	epp_session_destroy(session);
	return NULL;
}

START_TEST(two_threads_in_release)
{
	char *path = _i ? check_path("released.epp") : NULL;
	pthread_barrier_init(&at_once, NULL, 2);
	for (unsigned i = 0; i < 60 / RECORDING_SLOW; i++) {
		epp_session *session = recording_start(path);
		STORE_RELEASE(&stop, 0);
		pthread_t recorder = recording_thread(record, session), other = recording_thread(release, session);
		release(session);
		pthread_join(other, NULL);
		/* Nothing is recorded there any more, whoever came first. */
		ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
		STORE_RELEASE(&stop, 1);
		pthread_join(recorder, NULL);
		if (path)
			check_file(path);
	}
	pthread_barrier_destroy(&at_once);
}
END_TEST

/* ---- the library closed under a thread ---- */

static struct {
	epp_status *(*create)(const epp_session_options *options, epp_session **session);
	epp_status *(*start)(epp_session *session);
	epp_name (*intern)(const char *text);
	uint64_t (*begin)(epp_session *session, epp_category category, epp_name name);
	void (*end)(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);
	void (*release)(epp_session *session);
} library;

static void *record_there(void *session)
{
	epp_name there = library.intern("there");
	while (!LOAD_ACQUIRE(&stop)) {
		library.end(session, library.begin(session, EPP_NODE, there), NULL, 0);
		ADD_RELAXED(&begun, 1);
	}
	return NULL;
}

static void find(void *from, const char *symbol, void *function)
{
	*(void **)function = dlsym(from, symbol);
	ck_assert_msg(*(void **)function, "%s", symbol);
}

START_TEST(a_library_that_is_closed)
{
	char *path = check_path("closed.epp");
	void *opened = dlopen(CHECK_BUILD "/libepprof.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(opened, "%s", dlerror());
	find(opened, "epp_session_create", &library.create);
	find(opened, "epp_session_start", &library.start);
	find(opened, "epp_name_intern", &library.intern);
	find(opened, "epp_event_begin", &library.begin);
	find(opened, "epp_event_end", &library.end);
	find(opened, "epp_session_destroy", &library.release);
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path };
	ck_assert_ptr_null(library.create(&options, &session));
	ck_assert_ptr_null(library.start(session));
	STORE_RELEASE(&stop, 0);
	pthread_t thread = recording_thread(record_there, session);
	while (!LOAD_RELAXED(&begun))
		recording_sleep_ms(1);
	ck_assert_int_eq(dlclose(opened), 0);
	for (uint32_t before = LOAD_RELAXED(&begun); LOAD_RELAXED(&begun) - before < 100;)
		recording_sleep_ms(1);
	STORE_RELEASE(&stop, 1);
	pthread_join(thread, NULL);
	library.release(session);
	ck_assert_uint_gt(check_file(path), 0);
}
END_TEST

static Suite *leaving_suite(void)
{
	Suite *suite = suite_create("leaving");
	TCase *tcase = tcase_create("leaving");
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, an_exit_while_threads_record);
	tcase_add_loop_test(tcase, two_threads_in_release, 0, 2);
	tcase_add_test(tcase, a_library_that_is_closed);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(leaving_suite)
