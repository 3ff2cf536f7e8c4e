/* More new names than the log has room for: the helper empties it, and if the process is killed before that, the events
 * are all there, some of them under "(name lost)": runtime/trace/reader.c, runtime/storage/definitions.c. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "epprof/trace_reader.h"
#include "epprof/trace_writer.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define NAMES 3200
#define NAME_BYTES 4000 /* of all of them the log has room for two thirds */

static epp_name nth_name(unsigned number)
{
	char text[NAME_BYTES + 1];
	memset(text, 'n', NAME_BYTES);
	text[NAME_BYTES] = 0;
	text[snprintf(text, sizeof(text), "%u", number)] = ' ';
	return epp_name_intern(text);
}

static void record(const char *path, bool helped)
{
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	/* A thread's first event, and its track, before the log is full. */
	uint64_t outer = epp_event_begin(session, EPP_NODE, epp_name_intern("outer"));
	if (!helped)
		pthread_mutex_lock(&inside->drain_lock);
	for (unsigned i = 0; i < NAMES; i++) {
		epp_arg arg = { .key = nth_name(i), .type = EPP_ARG_U64, .value.u64 = i };
		epp_event_end(session, epp_event_begin(session, EPP_NODE, arg.key), &arg, 1);
		for (int ms = 0;
		     helped && EPF_LOG_USED(LOAD_RELAXED(&inside->window.live->log_used)) > EPF_LOG_BYTES / 2 && ms < 5000;
		     ms++)
			recording_sleep_ms(1);
	}
	epp_event_begin(session, EPP_NODE, nth_name(NAMES));
	(void)outer;
	raise(SIGKILL);
}

static unsigned check_names(epp_trace *trace)
{
	struct reader *reader = trace->reader;
	struct reader_decoded decoded = { 0 };
	unsigned lost = 0, events = 0;

	check_valid(trace);
	for (size_t b = 0; b < reader->blocks_count; b++) {
		check_ok(reader_block_decode(reader, &reader->blocks[b], &decoded));
		for (uint32_t r = 0; r < decoded.count; r++) {
			size_t bytes;
			const char *text = epp_trace_name(trace, decoded.records[r].name, &bytes);
			if (!strcmp(text, "outer"))
				continue;
			bool is_lost = !strcmp(text, "(name lost)");
			ck_assert(is_lost || bytes == NAME_BYTES);
			lost += is_lost;
			events++;
		}
	}
	reader_decoded_deinit(&decoded);
	ck_assert_uint_ge(events, NAMES);
	return lost;
}

static void check_killed(bool helped)
{
	char *path = strdup(check_path("names.epp")), *recovered = strdup(check_path("recovered.epp"));
	epp_trace *trace;
	int status;
	pid_t child = fork();
	if (child == 0)
		record(path, helped);
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->open_count, 2);
	unsigned lost = check_names(trace);
	if (helped)
		ck_assert_uint_eq(lost, 0);
	else
		ck_assert(lost > NAMES / 4 && lost < NAMES / 2);
	/* What is made of it says the same, of the open ones too. */
	check_ok(epp_trace_recover(trace, recovered, 1));
	epp_trace_close(trace);
	check_ok(epp_trace_open(recovered, &trace));
	ck_assert_uint_eq(check_names(trace), lost + !helped);
	epp_trace_close(trace);
	free(path);
	free(recovered);
}

START_TEST(before_the_helper_came)
{
	check_killed(false);
}
END_TEST

START_TEST(after_the_helper_came)
{
	check_killed(true);
}
END_TEST

/* Nothing is lost but by a kill: the tables have the names. */
START_TEST(without_a_kill)
{
	char *path = check_path("whole.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	pthread_mutex_lock(&inside->drain_lock);
	for (unsigned i = 0; i < NAMES; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, nth_name(i)), NULL, 0);
	ck_assert(LOAD_RELAXED(&inside->window.live->flags) & EPF_LIVE_LOG_FULL);
	pthread_mutex_unlock(&inside->drain_lock);
	recording_end(session);
	ck_assert(!(LOAD_RELAXED(&inside->window.live->flags) & EPF_LIVE_LOG_FULL));
	epp_session_destroy(session);
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(check_names(trace), 0);
	epp_trace_close(trace);
}
END_TEST

static Suite *names_lost_suite(void)
{
	Suite *suite = suite_create("reader_names_lost");
	TCase *tcase = tcase_create("names");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, before_the_helper_came);
	tcase_add_test(tcase, after_the_helper_came);
	tcase_add_test(tcase, without_a_kill);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(names_lost_suite)
