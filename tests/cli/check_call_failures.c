/* Every command with a system call that fails, and with all that follow failing too; and with reads and writes that
 * transfer only a part.  Covers plugins/failing_calls. */
#include "tests/support/faults.h"

START_TEST(a_failed_system_call_ends_a_command)
{
	faults_sweep(&fault_commands[_i], 5, "");
}
END_TEST

START_TEST(transfers_are_completed)
{
	faults_short_transfers(&fault_commands[_i]);
}
END_TEST

static Suite *call_failures_suite(void)
{
	Suite *suite = suite_create("call_failures");
	TCase *failed = tcase_create("failed"), *cut = tcase_create("short");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP("a sanitizer's own calls would fail");
#endif
	failing_library = CHECK_BUILD "/tests/plugins/failing_calls.so";
	if (getenv("CHECK_FAULTS_ALL"))
		tcase_set_timeout(failed, 3600);
	tcase_add_unchecked_fixture(failed, faults_setup, NULL);
	tcase_add_loop_test(failed, a_failed_system_call_ends_a_command, 0, FAULT_COMMANDS_COUNT);
	suite_add_tcase(suite, failed);
	tcase_add_unchecked_fixture(cut, faults_setup, NULL);
	tcase_add_loop_test(cut, transfers_are_completed, 0, FAULT_COMMANDS_COUNT);
	suite_add_tcase(suite, cut);
	return suite;
}

CHECK_MAIN(call_failures_suite)
