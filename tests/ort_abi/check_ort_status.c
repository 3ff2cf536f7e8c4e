/* OrtStatus: codes, messages, and statuses that are not ours. */
#include "tests/support/check.h"

#include <string.h>

#include "ort_abi/ort_status.h"

START_TEST(a_status_keeps_code_and_message)
{
	char message[] = "no device";
	OrtStatus *status = ort_status_create(ORT_EP_FAIL, message);
	message[0] = 'X';
	ck_assert_int_eq(ort_status_code(status), ORT_EP_FAIL);
	ck_assert_str_eq(ort_status_message(status), "no device");
	ort_status_release(status);
}
END_TEST

START_TEST(a_status_is_an_error)
{
	OrtStatus *status = ort_status_create(ORT_OK, NULL);
	ck_assert_int_eq(ort_status_code(status), ORT_FAIL);
	ck_assert_str_eq(ort_status_message(status), "");
	ort_status_release(status);
}
END_TEST

START_TEST(null_is_success)
{
	ck_assert_int_eq(ort_status_code(NULL), ORT_OK);
	ck_assert_str_eq(ort_status_message(NULL), "");
	ort_status_release(NULL);
}
END_TEST

START_TEST(a_foreign_status_is_an_error_and_is_left_alone)
{
	char foreign[64] = "not a status at all";
	char before[sizeof(foreign)];
	OrtStatus *status = (OrtStatus *)(void *)foreign;
	memcpy(before, foreign, sizeof(foreign));
	ck_assert_int_eq(ort_status_code(status), ORT_FAIL);
	ck_assert_ptr_nonnull(strstr(ort_status_message(status), "did not create"));
	ort_status_release(status);
	ck_assert_mem_eq(before, foreign, sizeof(foreign));
}
END_TEST

START_TEST(a_long_message_is_whole)
{
	static char message[1 << 20];
	memset(message, 'm', sizeof(message) - 1);
	OrtStatus *status = ort_status_create(ORT_FAIL, message);
	ck_assert_str_eq(ort_status_message(status), message);
	ort_status_release(status);
}
END_TEST

static Suite *ort_status_suite(void)
{
	Suite *suite = suite_create("ort_status");
	TCase *tests = tcase_create("ort_status");
	tcase_add_test(tests, a_status_keeps_code_and_message);
	tcase_add_test(tests, a_status_is_an_error);
	tcase_add_test(tests, null_is_success);
	tcase_add_test(tests, a_foreign_status_is_an_error_and_is_left_alone);
	tcase_add_test(tests, a_long_message_is_whole);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_status_suite)
