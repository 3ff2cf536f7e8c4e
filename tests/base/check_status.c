/* Statuses: runtime/base/status.c. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/status.h"
#include "tests/support/check.h"
#include "tests/support/emulated.h"

START_TEST(null_is_success)
{
	ck_assert_int_eq(epp_status_code(NULL), EPP_OK);
	ck_assert_str_eq(epp_status_message(NULL), "");
	epp_status_destroy(NULL);
	ck_assert_ptr_null(epp_status_prefix(NULL, "context"));
}
END_TEST

START_TEST(a_message_is_formatted_and_prefixed)
{
	epp_status *status = epp_status_create(EPP_BUSY, "%s: %d%%", "lib\"foo\".so", 5);
	ck_assert_int_eq(epp_status_code(status), EPP_BUSY);
	ck_assert_str_eq(epp_status_message(status), "lib\"foo\".so: 5%");
	status = epp_status_prefix(status, "loading %s", "%s");
	ck_assert_str_eq(epp_status_message(status), "loading %s: lib\"foo\".so: 5%");
	ck_assert_int_eq(epp_status_code(status), EPP_BUSY);
	/* The message may be an argument of its own prefix. */
	status = epp_status_prefix(status, "%s", epp_status_message(status));
	ck_assert_str_eq(epp_status_message(status), "loading %s: lib\"foo\".so: 5%: loading %s: lib\"foo\".so: 5%");
	epp_status_destroy(status);
	status = epp_status_create(EPP_IO, "%s", "");
	ck_assert_str_eq(epp_status_message(status), "");
	status = epp_status_prefix(status, "%s", "");
	ck_assert_str_eq(epp_status_message(status), ": ");
	epp_status_destroy(status);
}
END_TEST

START_TEST(long_messages_are_whole)
{
	static char text[100000];
	memset(text, 'x', sizeof(text) - 1);
	epp_status *status = epp_status_prefix(epp_status_create(EPP_IO, "%s", text), "%s", text);
	ck_assert_uint_eq(strlen(epp_status_message(status)), 2 * (sizeof(text) - 1) + 2);
	epp_status_destroy(status);
}
END_TEST

START_TEST(the_system_gives_the_reason)
{
	epp_status *status = epp_status_errno(ENOENT, "%s", "a/b");
	ck_assert_int_eq(epp_status_code(status), EPP_NOT_FOUND);
	ck_assert_str_eq(epp_status_message(status), "a/b: No such file or directory");
	epp_status_destroy(status);
	status = epp_status_errno(ENOSPC, "x");
	ck_assert_int_eq(epp_status_code(status), EPP_IO);
	ck_assert_str_eq(epp_status_message(status), "x: No space left on device");
	epp_status_destroy(status);
	status = epp_status_errno(99999, "x");
	ck_assert_str_eq(epp_status_message(status), "x: Unknown error 99999");
	epp_status_destroy(status);
}
END_TEST

START_TEST(without_memory_there_is_one_all_the_same)
{
	epp_status *status = epp_status_no_memory();
	ck_assert_int_eq(epp_status_code(status), EPP_OUT_OF_MEMORY);
	ck_assert_str_eq(epp_status_message(status), "out of memory");
	ck_assert_ptr_eq(epp_status_prefix(status, "context"), status);
	epp_status_destroy(status);
	epp_status_destroy(status);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* A message that cannot be held becomes that status. */
	if (emulated_without("memory has no limit"))
		return;
	static char text[1 << 24];
	memset(text, 'x', sizeof(text) - 1);
	setrlimit(RLIMIT_AS, &(struct rlimit){ 1, 1 });
	status = epp_status_create(EPP_IO, "%s", text);
	setrlimit(RLIMIT_AS, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	ck_assert_ptr_eq(status, epp_status_no_memory());
#endif
}
END_TEST

static Suite *status_suite(void)
{
	Suite *suite = suite_create("status");
	TCase *tcase = tcase_create("status");
	tcase_add_test(tcase, null_is_success);
	tcase_add_test(tcase, a_message_is_formatted_and_prefixed);
	tcase_add_test(tcase, long_messages_are_whole);
	tcase_add_test(tcase, the_system_gives_the_reason);
	tcase_add_test(tcase, without_memory_there_is_one_all_the_same);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(status_suite)
