/* epprof run, with the library of tests/fake_ort: what is lost of providers' events is in the ledger, whether ONNX
 * Runtime wrote what cannot be read, a provider failed or lost them itself, or the run was killed.
 * tests/interop/check_run_losses.py does the same with ONNX Runtime itself. */
#include <signal.h>

#include "epprof/trace_reader.h"
#include "tests/cli/run/fake_run.h"
#include "tests/support/check.h"
#include "tests/support/live_trace.h"

/* The providers' account; `note` is the caller's. */
static epp_trace_ledger_entry account_of(const char *path, const char *label, char note[80])
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) }, found = { .struct_size = sizeof(found) };
	epp_trace *trace;

	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		ck_assert_msg(account.balanced, "%s", account.producer);
		if (strcmp(account.producer, label) == 0) {
			found = account;
			snprintf(note, 80, "%s", account.note);
		}
	}
	ck_assert_msg(found.is_plugin, "no account '%s'", label);
	epp_trace_close(trace);
	return found;
}

/* Whether what the command prints has this text. */
static void expect_told(const char *command, const char *path, const char *text)
{
	struct command run = command_run(NULL, command, path, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_msg(strstr(run.out, text) != NULL, "no '%s' in: %s", text, run.out);
	command_free(&run);
}

START_TEST(what_is_read_back_is_repaired_and_what_is_lost_is_counted)
{
	char note[80];

	setenv("FAKE_ORT", "kernels=broken", 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "30");
	epp_trace_ledger_entry account = account_of("model.epp", "SampleEP", note);
	ck_assert_uint_eq(account.written, 31);
	/* One with impossible times, and one of which only the collector shows that it is no event of ONNX
	 * Runtime's. */
	ck_assert_uint_eq(account.lost[EPP_LOSS_REFUSED], 2);
	ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], 30);
	ck_assert_uint_eq(account.lost_total, 32);
	ck_assert_str_eq(note, "SampleEP: lost_no_buffer 28 lost_refused 2 texts_cut 7");
	expect_told("summary", "model.epp", "lost    32 events: 2 refused, 30 plugin");
	expect_told("summary", "model.epp", "SampleEP: lost_no_buffer 28");
	struct command run = command_run(NULL, "convert", "-t", "ndjson", "-o", "-", "model.epp", NULL);
	ck_assert_ptr_null(strstr(run.out, "\"name\":\"epprof.lost\""));
	ck_assert_ptr_nonnull(strstr(run.out, "\"a\\\"b\":\"two\\nlines\",\"shape\":\"{not json\""));
	command_free(&run);
}
END_TEST

START_TEST(what_is_marked_as_recorded_is_left_out_only_if_it_is)
{
	char note[80];

	setenv("FAKE_ORT", "kernels=marked", 1);
	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--runs", "30");
	epp_trace_ledger_entry account = account_of("model.epp", "SampleEP", note);
	ck_assert_uint_eq(account.written, 31 + 1);
	ck_assert_uint_eq(account.lost_total, 0);
	struct command run = command_run(NULL, "convert", "-t", "ndjson", "-o", "-", "model.epp", NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "\"name\":\"never recorded\""));
	ck_assert_ptr_null(strstr(run.out, "counted as lost"));
	command_free(&run);
}
END_TEST

START_TEST(a_provider_that_fails_has_an_account_that_says_so)
{
	char note[80];

	setenv("FAKE_ORT", "end_fails", 1);
	EXPECT(0, "EndProfiling() for SampleEP", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4");
	epp_trace_ledger_entry account = account_of("model.epp", "SampleEP", note);
	ck_assert_uint_eq(account.errors, 1);
	ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], 1);
	ck_assert_str_eq(note, "its events are lost: EndProfiling: it fails for a test");
	expect_told("summary", "model.epp", "lost    1 event: 1 plugin");
	/* Of each run another. */
	EXPECT(0, "EndProfiling() for SampleEP", "--force", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4", "--run-level",
	       "--runs", "20", "--warmup", "0");
	account = account_of("model.epp", "SampleEP", note);
	ck_assert_uint_eq(account.errors, 20);
	ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], 20);
}
END_TEST

START_TEST(nothing_is_missing_where_nothing_is_lost)
{
	char note[80];

	EXPECT(0, "", MODEL, "--ep", SAMPLE_EP, "--shape", "x=3,4");
	epp_trace_ledger_entry account = account_of("model.epp", "SampleEP", note);
	ck_assert_uint_eq(account.lost_total, 0);
	ck_assert_uint_eq(account.written, 11);
	ck_assert_str_eq(note, "");
	expect_told("summary", "model.epp", "lost    none");
}
END_TEST

START_TEST(a_killed_run_says_what_is_missing)
{
	char note[80];

	setenv("FAKE_ORT", "run_ms=5", 1);
	pid_t pid = command_start("out", "err", "run", MODEL, "--ep", SAMPLE_EP, "--runs", "100000", "--shape", "x=3,4",
	                          NULL);
	for (int i = 0; i < 3000 && !live_trace_has("model.epp", "model_run"); i++)
		usleep(10000);
	kill(pid, SIGKILL);
	ck_assert_int_eq(command_wait(pid), -SIGKILL);
	struct command run = command_run(NULL, "recover", "-o", "recovered.epp", "model.epp", NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	for (unsigned i = 0; i < 2; i++) {
		const char *path = i ? "recovered.epp" : "model.epp";
		epp_trace_ledger_entry account = account_of(path, "SampleEP", note);
		ck_assert_uint_eq(account.lost[EPP_LOSS_KILLED], 1);
		ck_assert_uint_eq(account.lost_total, 1);
		ck_assert_str_eq(note, "missing: its events would have come at the end of the run");
		expect_told("summary", path, "SampleEP: missing: its events would have come");
	}
}
END_TEST

static Suite *cli_run_losses_suite(void)
{
	Suite *suite = suite_create("cli_run_losses");
	TCase *tests = tcase_create("losses");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, what_is_read_back_is_repaired_and_what_is_lost_is_counted);
	tcase_add_test(tests, what_is_marked_as_recorded_is_left_out_only_if_it_is);
	tcase_add_test(tests, a_provider_that_fails_has_an_account_that_says_so);
	tcase_add_test(tests, nothing_is_missing_where_nothing_is_lost);
	tcase_add_test(tests, a_killed_run_says_what_is_missing);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_run_losses_suite)
