/* Sessions whose system calls or allocations fail: one of them, or one and all after it, at every place of a session's
 * life.  Each function returns, with a status or without; what is lost is counted; the file can be read; nothing else is left.
 *
 * The session is recorded by this program itself, started again with plugins/failing_calls or
 * plugins/failing_malloc preloaded. */
#include "tests/support/failing_process.h"
#include "tests/support/lives.h"

#define EVENTS 1200u
#define RECORD "SESSION_FAULTS" /* an environment variable: the name of the variant to record */
#define CALLS_MOST 150u

static const struct variant {
	const char *name;
	bool has_file;
	bool has_external_window; /* in win/ */
	epp_session_options options;
} variants[] = {
	{ "plain", true, false, { .overwrite = 0 } },
	{ "ring", true, false, { .policy = EPP_POLICY_RING, .max_bytes = 4u << 20 } },
	{ "sync", true, false, { .sync_ms = 2 } },
	{ "lossless", true, false, { .lossless = 1, .buffer_bytes = 2u << 20 } },
	{ "external window", true, true, { .overwrite = 0 } },
	{ "memory", false, false, { .memory_bytes = 4u << 20 } },
};
#define VARIANTS_COUNT (sizeof variants / sizeof *variants)

/* ---- recording, in a process of its own ---- */

static epp_session *session;
static epp_name name;
static _Atomic unsigned emitted, logged_count;

static void *emit(void *unused)
{
	static const char text[200];
	epp_arg arg = { .key = name, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof text };

	for (unsigned i = 0; i < EVENTS; i++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
		emitted++;
		if (i % 400 == 399)
			recording_sleep_ms(3);
	}
	return unused;
}

static epp_status *record_events(void)
{
	pthread_t thread;
	bool is_joined = pthread_create(&thread, NULL, emit, NULL) == 0;

	emit(NULL);
	if (is_joined)
		pthread_join(thread, NULL);
	epp_status *status = epp_session_end(session), *waited = epp_session_wait(session, 20000000000u);
	if (!status)
		return waited;
	epp_status_destroy(waited);
	return status;
}

static void count_logged(void *user, epp_blame blame, const char *text)
{
	(void)user, (void)blame, (void)text;
	logged_count++;
}

/* Prints how many events it recorded, and how many problems were logged; returns 1 if a function returned a status. */
static int record(const struct variant *variant)
{
	epp_session_options options = variant->options;

	options.struct_size = sizeof options;
	options.path = variant->has_file ? "out/x.epp" : NULL;
	options.log = count_logged;
	name = epp_name_intern("name");
	epp_status *status = epp_session_create(&options, &session);
	const char *step = status ? "not created" : "created";
	if (!status)
		status = epp_session_start(session);
	if (!status)
		status = record_events();
	epp_session_destroy(session);
	printf("%s %u %u\n", step, emitted, logged_count);
	if (status)
		fprintf(stderr, "%s\n", epp_status_message(status));
	return status ? 1 : 0;
}

/* ---- one run ---- */

static int run(const struct variant *variant, uint64_t first, uint64_t last, bool observe, bool is_short)
{
	char *argv[] = { (char *)"/proc/self/exe", NULL };

	nftw("out", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	nftw("win", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	MUST(mkdir("out", 0700) == 0 && mkdir("win", 0700) == 0);
	setenv(RECORD, variant->name, 1);
	if (variant->has_external_window)
		setenv("EPPROF_WINDOW_DIR", check_path("win"), 1);
	failing->observe = observe;
	failing->is_short = is_short;
	return failing_run(argv, first, last);
}

static void add_finding(void *user, const epp_trace_finding *finding)
{
	if (finding->severity == EPP_ERROR)
		snprintf(user, 200, "%s", finding->text);
}

/* Returns what is wrong with the file, or NULL.  Its ledger must have `events` events; it may be unfinished, and have a
 * window, only if a problem was reported. */
static const char *judge_file(bool is_reported, unsigned events, bool has_window)
{
	static char text[200];
	epp_trace_ledger_entry entry = { .struct_size = sizeof entry };
	uint64_t found, sum = 0;
	epp_trace *trace;
	epp_status *status = epp_trace_open("out/x.epp", &trace);

	if (status) {
		snprintf(text, sizeof text, "%s", epp_status_message(status));
		epp_status_destroy(status);
		return text;
	}
	text[0] = '\0';
	check_ok(epp_trace_validate(trace, add_finding, text, &found));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &entry));
		sum += entry.emitted;
	}
	bool is_finished = epp_trace_get_info(trace)->state == EPP_TRACE_FINISHED;
	epp_trace_close(trace);
	if (text[0])
		return text;
	if (sum != events) {
		snprintf(text, sizeof text, "%u events emitted, %llu in the ledger", events, (unsigned long long)sum);
		return text;
	}
	if (is_finished && has_window)
		return "a window was left";
	return !is_finished && !is_reported ? "not finished, and nothing was reported" : NULL;
}

/* Returns what is wrong with a run, or NULL. */
static const char *judge(const struct variant *variant, int code)
{
	char step[16] = "";
	unsigned events = 0, logged = 0;
	FILE *out = fopen("stdout", "r");

	if (code != 0 && code != 1)
		return "crashed, or hung";
	MUST(out && fscanf(out, "%15[a-z ]%u %u", step, &events, &logged) == 3);
	fclose(out);
	bool is_there = access("out/x.epp", F_OK) == 0;
	size_t files = lives_count_in("out") - 2;
	if (files != is_there)
		return "another file was left";
	bool has_window = lives_count_in("win") > 2;
	if (strncmp(step, "not", 3) == 0)
		return is_there || has_window ? "a file of a session that was not created" : NULL;
	if (!variant->has_file)
		return is_there ? "a file of a session in memory" : NULL;
	return is_there ? judge_file(code != 0 || logged, events, has_window) : "no file";
}

/* Returns the number of failures. */
static unsigned fail_once_and_for_good(const struct variant *variant, uint64_t number)
{
	unsigned failures = 0;

	for (int all_after = 0; all_after < 2; all_after++) {
		int code = run(variant, number, all_after ? UINT64_MAX : number, false, false);
		const char *wrong = judge(variant, code);
		if (wrong && failures++ < 10)
			printf("%s (%d): FAILING %llu%s: %s\n", wrong, code, (unsigned long long)number,
			       all_after ? " and all after" : "", variant->name);
	}
	return failures;
}

/* At most CALLS_MOST, because the same call at another time may be another fault. */
START_TEST(failed_system_calls)
{
	const struct variant *variant = &variants[_i];
	unsigned failures = 0;

	failing_library = CHECK_BUILD "/tests/plugins/failing_calls.so";
	ck_assert_int_eq(run(variant, 0, 0, false, false), 0);
	uint64_t count = failing->count;
	const char *wrong = judge(variant, 0);
	ck_assert_msg(!wrong, "without faults: %s", wrong);
	ck_assert_uint_ge(count, 10);
	for (uint64_t i = 1; i <= count; i += 1 + count / CALLS_MOST)
		failures += fail_once_and_for_good(variant, i);
	ck_assert_msg(!failures, "%u failures", failures);
	ck_assert_int_eq(run(variant, 0, 0, false, true), 0);
	wrong = judge(variant, 0);
	ck_assert_msg(!wrong, "with short writes: %s", wrong);
}
END_TEST

START_TEST(failed_allocations)
{
	const struct variant *variant = &variants[_i];
	unsigned failures = 0;

	failing_library = CHECK_BUILD "/tests/plugins/failing_malloc.so";
	ck_assert_int_eq(run(variant, 0, 0, true, false), 0);
	ck_assert_uint_ge(failing->count, 3);
	uint64_t count = failing->count;
	bool *chosen = failing_choose(2);
	for (uint64_t i = 1; i <= count; i++)
		failures += chosen[i] ? fail_once_and_for_good(variant, i) : 0;
	free(chosen);
	ck_assert_msg(!failures, "%u failures", failures);
}
END_TEST

static void set_up(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert_ptr_nonnull((failing = failing_map(O_CREAT)));
}

static Suite *session_faults_suite(void)
{
	Suite *suite = suite_create("session_faults");
	TCase *calls = tcase_create("calls");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP("a sanitizer's own calls would fail");
#endif
	tcase_add_checked_fixture(calls, set_up, NULL);
	tcase_add_loop_test(calls, failed_system_calls, 0, VARIANTS_COUNT);
	tcase_add_loop_test(calls, failed_allocations, 0, VARIANTS_COUNT);
	suite_add_tcase(suite, calls);
	return suite;
}

int main(void)
{
	const char *wanted = getenv(RECORD);

	for (size_t i = 0; wanted && i < VARIANTS_COUNT; i++) {
		if (strcmp(variants[i].name, wanted) == 0)
			return record(&variants[i]);
	}
	setenv("CK_DEFAULT_TIMEOUT", "300", 0);
	return check_main(session_faults_suite);
}
