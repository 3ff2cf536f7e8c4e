/* Key-value pairs and session options. */
#include "tests/support/check.h"

#include <string.h>

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

#define check_done(expression) \
	do { \
		OrtStatus *ort_status_ = (expression); \
		ck_assert_msg(!ort_status_, "%s", ort_status_message(ort_status_)); \
	} while (0)

static size_t count_of(const OrtKeyValuePairs *pairs)
{
	const char *const *keys;
	const char *const *values;
	size_t count = 99;
	ort_api_GetKeyValuePairs(pairs, &keys, &values, &count);
	return count;
}

START_TEST(pairs_are_added_replaced_and_removed)
{
	OrtKeyValuePairs *pairs = NULL;
	char key[32];
	char value[32];
	ort_api_CreateKeyValuePairs(&pairs);
	ck_assert_uint_eq(count_of(pairs), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		snprintf(value, sizeof(value), "value %d", i);
		ort_api_AddKeyValuePair(pairs, key, value);
	}
	ort_api_AddKeyValuePair(pairs, "key 50", "");
	ort_api_RemoveKeyValuePair(pairs, "key 0");
	ort_api_RemoveKeyValuePair(pairs, "key 99");
	ort_api_RemoveKeyValuePair(pairs, "key 99");
	ck_assert_uint_eq(count_of(pairs), 98);
	ck_assert_ptr_null(ort_api_GetKeyValue(pairs, "key 0"));
	ck_assert_str_eq(ort_api_GetKeyValue(pairs, "key 50"), "");
	const char *const *keys;
	const char *const *values;
	size_t count;
	ort_api_GetKeyValuePairs(pairs, &keys, &values, &count);
	for (size_t i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "key %zu", i + 1);
		ck_assert_str_eq(keys[i], key);
		ck_assert_str_eq(ort_api_GetKeyValue(pairs, key), values[i]);
	}
	ort_api_ReleaseKeyValuePairs(pairs);
}
END_TEST

START_TEST(nulls_do_nothing)
{
	OrtKeyValuePairs *pairs = NULL;
	ort_api_CreateKeyValuePairs(&pairs);
	ort_api_AddKeyValuePair(pairs, NULL, "v");
	ort_api_AddKeyValuePair(pairs, "k", NULL);
	ort_api_AddKeyValuePair(NULL, "k", "v");
	ort_api_RemoveKeyValuePair(pairs, NULL);
	ort_api_RemoveKeyValuePair(NULL, "k");
	ck_assert_uint_eq(count_of(pairs), 0);
	ck_assert_uint_eq(count_of(NULL), 0);
	ort_api_GetKeyValuePairs(pairs, NULL, NULL, NULL);
	ck_assert_ptr_null(ort_api_GetKeyValue(NULL, "k"));
	ck_assert_ptr_null(ort_api_GetKeyValue(pairs, NULL));
	ort_api_CreateKeyValuePairs(NULL);
	ort_api_ReleaseKeyValuePairs(NULL);
	ort_api_ReleaseKeyValuePairs(pairs);
}
END_TEST

START_TEST(a_copy_stands_for_itself)
{
	OrtKeyValuePairs *pairs = NULL;
	ort_api_CreateKeyValuePairs(&pairs);
	ort_api_AddKeyValuePair(pairs, "k", "v");
	OrtKeyValuePairs *copy = ort_key_values_copy(pairs);
	ort_api_AddKeyValuePair(pairs, "k", "w");
	ck_assert_str_eq(ort_api_GetKeyValue(copy, "k"), "v");
	ort_api_ReleaseKeyValuePairs(pairs);
	ort_api_ReleaseKeyValuePairs(copy);
	copy = ort_key_values_copy(NULL);
	ck_assert_uint_eq(count_of(copy), 0);
	ort_api_ReleaseKeyValuePairs(copy);
	ck_assert_uint_eq(count_of(ort_key_values_empty()), 0);
}
END_TEST

START_TEST(session_options_hold_config_entries)
{
	OrtSessionOptions *options = NULL;
	char value[8] = "before";
	int has = -1;
	size_t bytes = 99;
	check_done(ort_api_CreateSessionOptions(&options));
	check_done(ort_api_HasSessionConfigEntry(options, "k", &has));
	ck_assert_int_eq(has, 0);
	OrtStatus *status = ort_api_GetSessionConfigEntry(options, "k", NULL, &bytes);
	ck_assert_ptr_nonnull(status);
	ort_status_release(status);
	check_done(ort_api_AddSessionConfigEntry(options, "k", "four"));
	check_done(ort_api_HasSessionConfigEntry(options, "k", &has));
	ck_assert_int_eq(has, 1);
	check_done(ort_api_GetSessionConfigEntry(options, "k", NULL, &bytes));
	ck_assert_uint_eq(bytes, 5);
	/* One byte short: told, and nothing written. */
	bytes = 4;
	status = ort_api_GetSessionConfigEntry(options, "k", value, &bytes);
	ck_assert_int_eq(ort_status_code(status), ORT_INVALID_ARGUMENT);
	ort_status_release(status);
	ck_assert_uint_eq(bytes, 5);
	ck_assert_str_eq(value, "before");
	check_done(ort_api_GetSessionConfigEntry(options, "k", value, &bytes));
	ck_assert_str_eq(value, "four");
	const void *model = value;
	check_done(ort_ep_api_SessionOptionsGetWeightlessSourceModelBuffer(options, &model, &bytes));
	ck_assert_ptr_null(model);
	ck_assert_uint_eq(bytes, 0);
	OrtKeyValuePairs *entries = NULL;
	check_done(ort_api_GetSessionOptionsConfigEntries(options, &entries));
	ort_api_ReleaseSessionOptions(options);
	ck_assert_str_eq(ort_api_GetKeyValue(entries, "k"), "four");
	ort_api_ReleaseKeyValuePairs(entries);
	check_done(ort_ep_api_GetEnvConfigEntries(&entries));
	ck_assert_uint_eq(count_of(entries), 0);
	ort_api_ReleaseKeyValuePairs(entries);
	ort_api_ReleaseSessionOptions(NULL);
}
END_TEST

static Suite *ort_key_values_suite(void)
{
	Suite *suite = suite_create("ort_key_values");
	TCase *tests = tcase_create("ort_key_values");
	tcase_add_test(tests, pairs_are_added_replaced_and_removed);
	tcase_add_test(tests, nulls_do_nothing);
	tcase_add_test(tests, a_copy_stands_for_itself);
	tcase_add_test(tests, session_options_hold_config_entries);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_key_values_suite)
