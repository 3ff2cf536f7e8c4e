/* Every command with an allocation that fails, and with all that follow failing too: the message is about memory. */
#include "tests/support/faults.h"

START_TEST(a_failed_allocation_ends_a_command)
{
	faults_sweep(&fault_commands[_i], 1, "memory");
}
END_TEST

static Suite *alloc_failures_suite(void)
{
	Suite *suite = suite_create("alloc_failures");
	TCase *sweep = tcase_create("sweep");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP("allocations are the sanitizer's");
#endif
	failing_library = CHECK_BUILD "/tests/plugins/failing_malloc.so";
	tcase_add_unchecked_fixture(sweep, faults_setup, NULL);
	if (getenv("CHECK_FAULTS_ALL"))
		tcase_set_timeout(sweep, 3600);
	tcase_add_loop_test(sweep, a_failed_allocation_ends_a_command, 0, FAULT_COMMANDS_COUNT);
	suite_add_tcase(suite, sweep);
	return suite;
}

CHECK_MAIN(alloc_failures_suite)
