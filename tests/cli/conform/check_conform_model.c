/* epprof conform with a model: its cases find what a provider does wrong in ONNX Runtime, whose place the library of
 * tests/fake_ort takes.  tests/interop/check_conform_model.py has ONNX Runtime itself. */
#include "tests/cli/run/fake_run.h"

/* The verdicts of the four cases. */
static void expect_verdicts(const char *model, const char *library, const char *const verdicts[4], const char *seen)
{
	static const char *const names[] = { "2.model.session", "2.model.restart", "2.model.run_level", "3.model.threads" };
	struct command run = command_run(NULL, "conform", "--case", "model", "--model", model, "--ort", library, "-o",
	                                 check_path("model.json"), SAMPLE_EP, NULL);
	char wanted[128];
	int failures_count = 0;

	for (size_t i = 0; i < 4; i++) {
		snprintf(wanted, sizeof wanted, "%-8s %s", verdicts[i], names[i]);
		ck_assert_msg(strstr(run.out, wanted) != NULL, "not '%s': %s%s", wanted, run.out, run.err);
		failures_count += strcmp(verdicts[i], "fail") == 0;
	}
	ck_assert_msg(strstr(run.out, seen) != NULL, "not '%s': %s", seen, run.out);
	ck_assert_int_eq(run.code, failures_count > 0);
	command_free(&run);
	/* No folder of profiles is left behind. */
	ck_assert_int_eq(rmdir(check_path("temporary")), 0);
	mkdir(check_path("temporary"), 0700);
}

static const char *const all_pass[] = { "pass", "pass", "pass", "pass" }, *const all_skip[] = { "skip", "skip", "skip",
	                                                                                        "skip" };

START_TEST(a_good_provider_passes)
{
	begin();
	expect_verdicts(MODEL, FAKE, all_pass, "4 cases: 4 pass");
}
END_TEST

START_TEST(an_end_that_fails)
{
	static const char *const verdicts[] = { "fail", "fail", "fail", "fail" };

	begin();
	setenv("FAKE_ORT", "end_fails", 1);
	expect_verdicts(MODEL, FAKE, verdicts, "seen      in ONNX Runtime, EndProfiling: it fails for a test");
}
END_TEST

START_TEST(profiles_that_lack_events)
{
	static const char *const verdicts[] = { "pass", "fail", "fail", "fail" };

	begin();
	setenv("FAKE_ORT", "kernels=some", 1);
	expect_verdicts(MODEL, FAKE, verdicts, "events in the first session, 0 in session 5");
}
END_TEST

START_TEST(what_cannot_be_checked)
{
	begin();
	write_model("cpu.onnx", "input x 1 N,4\nnode softmax CPUExecutionProvider\n");
	expect_verdicts("cpu.onnx", FAKE, all_skip, "the provider claims no node of the model");
	setenv("FAKE_ORT", "fail=Run", 1);
	expect_verdicts(MODEL, FAKE, all_skip, "the model does not run: model.onnx: ");
	unsetenv("FAKE_ORT");
	expect_verdicts(MODEL, "/dev/null", all_skip, "ONNX Runtime cannot be used: ");
	struct command run = command_run(NULL, "conform", "--case", "model.session", "-o", check_path("model.json"),
	                                 SAMPLE_EP, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_msg(strstr(run.out, "no model: --model MODEL.onnx names one") != NULL, "%s", run.out);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conform_model");
	TCase *tc = tcase_create("conform_model");

	tcase_set_timeout(tc, 200);
	tcase_add_test(tc, a_good_provider_passes);
	tcase_add_test(tc, an_end_that_fails);
	tcase_add_test(tc, profiles_that_lack_events);
	tcase_add_test(tc, what_cannot_be_checked);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
