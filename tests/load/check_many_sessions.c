/* Sessions one after another leave resident memory, descriptors and threads where they were.
 *
 * CHECK_SESSIONS=10000 build/tests/check_many_sessions: so many of each kind instead of 100. */
#include "tests/support/lives.h"

/* The sessions before the first measurement; the allocator and tables of the library grow at first. */
#define FIRST 20u

static bool in_memory;
static epp_name name;

static void *record(void *session)
{
	epp_arg arg = { .key = name, .type = EPP_ARG_U64 };

	for (arg.value.u64 = 0; arg.value.u64 < 100; arg.value.u64++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
	return NULL;
}

static void one_session(void)
{
	epp_session_options options = { .struct_size = sizeof options,
		                        .path = in_memory ? NULL : check_path("session.epp"),
		                        .overwrite = 1,
		                        .buffer_bytes = 2u << 20 };
	epp_session *session;
	pthread_t thread;

	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	MUST(pthread_create(&thread, NULL, record, session) == 0);
	record(session);
	pthread_join(thread, NULL);
	recording_end(session);
	epp_session_destroy(session);
}

static size_t resident_bytes(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	MUST(file && fscanf(file, "%*u%zu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(sessions_leave_nothing)
{
	const char *wanted = getenv("CHECK_SESSIONS");
	unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 100 / RECORDING_SLOW;

	in_memory = _i;
	name = epp_name_intern("event");
	lives_lead(one_session, FIRST);
	size_t before = resident_bytes(), files = lives_count_in("/proc/self/fd"),
	       threads = lives_count_in("/proc/self/task");
	lives_lead(one_session, count);
	size_t after = resident_bytes(), grown = after > before ? after - before : 0;
	printf("%u sessions %s: %zu KiB resident, then %zu KiB\n", count, in_memory ? "in memory" : "in a file",
	       before >> 10, after >> 10);
	/* A session's own memory is 7 MiB. */
	if (LIVES_MAY_GROW != SIZE_MAX)
		ck_assert_uint_le(grown, 1u << 20);
	ck_assert_uint_le(lives_count_in("/proc/self/fd"), files);
	ck_assert_uint_le(lives_count_in("/proc/self/task"), threads);
}
END_TEST

static Suite *many_sessions_suite(void)
{
	Suite *suite = suite_create("many_sessions");
	TCase *tcase = tcase_create("many_sessions");

	tcase_add_loop_test(tcase, sessions_leave_nothing, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(many_sessions_suite)
