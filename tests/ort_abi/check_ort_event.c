/* OrtProfilingEvent: owned copies, and borrowed events whose texts are made on demand. */
#include "tests/support/check.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "ort_abi/ort_event.h"

static uint64_t no_ticks(void)
{
	return 0;
}

static void use_nanoseconds(void)
{
	clock_inject(no_ticks, 1000000000, NULL);
}

/* ---- owned ---- */

START_TEST(an_owned_event_is_a_copy)
{
	char name[] = "gemm";
	char key[] = "stream";
	char value[] = "1";
	const char *const keys[] = { key, "op" };
	const char *const values[] = { value, "MatMul" };
	OrtProfilingEvent *event = ort_event_create(2, -1, 7, name, -5, 9, keys, values, 2);
	ck_assert_ptr_nonnull(event);
	name[0] = key[0] = value[0] = 'X';
	ck_assert_int_eq(event->category, 2);
	ck_assert_int_eq(event->process_id, -1);
	ck_assert_int_eq(event->thread_id, 7);
	ck_assert_str_eq(event->name, "gemm");
	ck_assert_int_eq(ort_event_timestamp_us(event), -5);
	ck_assert_int_eq(ort_event_duration_us(event), 9);
	ck_assert_str_eq(ort_event_arg(event, "stream"), "1");
	ck_assert_str_eq(ort_event_arg(event, "op"), "MatMul");
	ck_assert_ptr_null(ort_event_arg(event, "Stream"));
	ck_assert_ptr_null(ort_event_arg(event, ""));
	ort_event_destroy(event);
	ort_event_destroy(NULL);
}
END_TEST

START_TEST(of_two_args_with_one_key_the_first_counts)
{
	const char *const keys[] = { "k", "k" };
	const char *const values[] = { "first", "second" };
	OrtProfilingEvent *event = ort_event_create(0, -1, -1, "", 0, 0, keys, values, 2);
	ck_assert_str_eq(ort_event_arg(event, "k"), "first");
	ort_event_destroy(event);
}
END_TEST

START_TEST(nulls_stay_null)
{
	const char *const keys[] = { NULL, "k" };
	const char *const values[] = { "v", NULL };
	OrtProfilingEvent *event = ort_event_create(0, -1, -1, NULL, 0, 0, keys, values, 2);
	ck_assert_ptr_null(event->name);
	ck_assert_ptr_null(ort_event_arg(event, "k"));
	ck_assert_ptr_null(event->keys[0]);
	ck_assert_str_eq(event->values[0], "v");
	ort_event_destroy(event);
	event = ort_event_create(0, -1, -1, "n", 0, 0, NULL, NULL, 0);
	ck_assert_ptr_null(ort_event_arg(event, "k"));
	ort_event_destroy(event);
}
END_TEST

START_TEST(an_event_of_too_many_args_is_refused)
{
	ck_assert_ptr_null(ort_event_create(0, -1, -1, "n", 0, 0, NULL, NULL, (size_t)UINT32_MAX + 1));
}
END_TEST

/* ---- borrowed ---- */

static OrtProfilingEvent borrowed(const epp_arg *args, uint32_t count)
{
	OrtProfilingEvent event;
	/* The recorder does not initialise scratch. */
	memset(&event, 0xAA, sizeof(event));
	event.category = 1;
	event.args_count = count;
	event.name = NULL;
	event.name_number = epp_name_intern("node");
	event.keys = NULL;
	event.values = NULL;
	event.host_args = args;
	event.start_ticks = event.end_ticks = event.base_ticks = 0;
	event.borrowed = 1;
	return event;
}

START_TEST(times_are_rounded_down)
{
	OrtProfilingEvent event = borrowed(NULL, 0);
	event.base_ticks = 1000000;
	event.start_ticks = 1001999;
	event.end_ticks = 1003998;
	ck_assert_int_eq(ort_event_timestamp_us(&event), 1);
	ck_assert_int_eq(ort_event_duration_us(&event), 1);
	/* An event may have begun before its run: floor, not truncation. */
	event.start_ticks = 999999;
	ck_assert_int_eq(ort_event_timestamp_us(&event), -1);
	event.start_ticks = 999000;
	ck_assert_int_eq(ort_event_timestamp_us(&event), -1);
	event.start_ticks = 998999;
	ck_assert_int_eq(ort_event_timestamp_us(&event), -2);
	/* Ticks that pass the end of the counter. */
	event.base_ticks = UINT64_MAX - 1000;
	event.start_ticks = 1999;
	ck_assert_int_eq(ort_event_timestamp_us(&event), 3);
}
END_TEST

START_TEST(values_of_all_types_are_told_as_text)
{
	const epp_arg args[] = {
		{ .key = epp_name_intern("i"), .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
		{ .key = epp_name_intern("u"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = epp_name_intern("f"), .type = EPP_ARG_F64, .value.f64 = 0.1 },
		{ .key = epp_name_intern("t"), .type = EPP_ARG_TEXT, .value.text = "textual", .text_bytes = 4 },
		{ .key = epp_name_intern("none"), .type = EPP_ARG_TEXT, .value.text = NULL, .text_bytes = 4 },
		{ .key = epp_name_intern("odd"), .type = 9 },
	};
	OrtProfilingEvent event = borrowed(args, 6);
	/* All are asked for before any is looked at. */
	const char *i = ort_event_arg(&event, "i");
	const char *u = ort_event_arg(&event, "u");
	const char *f = ort_event_arg(&event, "f");
	const char *t = ort_event_arg(&event, "t");
	const char *none = ort_event_arg(&event, "none");
	ck_assert_str_eq(i, "-9223372036854775808");
	ck_assert_str_eq(u, "18446744073709551615");
	ck_assert_str_eq(f, "0.1");
	ck_assert_str_eq(t, "text");
	ck_assert_str_eq(none, "");
	ck_assert_ptr_null(ort_event_arg(&event, "odd"));
	ck_assert_ptr_null(ort_event_arg(&event, "missing"));
	ort_event_destroy(&event);
}
END_TEST

START_TEST(a_number_reads_back_as_the_same_number)
{
	static const double numbers[] = { 0, -0.5, 1.0 / 3, 1e300, 5e-324, 123456789.123456789, INFINITY };
	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		epp_arg arg = { .key = epp_name_intern("f"), .type = EPP_ARG_F64, .value.f64 = numbers[n] };
		OrtProfilingEvent event = borrowed(&arg, 1);
		ck_assert(strtod(ort_event_arg(&event, "f"), NULL) == numbers[n]);
	}
}
END_TEST

START_TEST(the_locale_does_not_show)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
		return;
	epp_arg arg = { .key = epp_name_intern("f"), .type = EPP_ARG_F64, .value.f64 = 2.5 };
	OrtProfilingEvent event = borrowed(&arg, 1);
	ck_assert_str_eq(ort_event_arg(&event, "f"), "2.5");
	ck_assert_int_eq(localeconv()->decimal_point[0], ',');
}
END_TEST

/* 255 texts of 0 to 254 bytes, then one of 100 KB: none moves, none is cut. */
#define TEXTS 255
static char text[100001];

static void *ask_for_many(void *unused)
{
	epp_arg args[TEXTS + 1];
	const char *values[TEXTS + 1];
	char key[16];
	(void)unused;
	for (int i = 0; i <= TEXTS; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		args[i] = (epp_arg){ .key = epp_name_intern(key),
			             .type = EPP_ARG_TEXT,
			             .value.text = text,
			             .text_bytes = i < TEXTS ? (size_t)i : 100000 };
	}
	for (int round = 0; round < 3; round++) {
		OrtProfilingEvent event = borrowed(args, TEXTS + 1);
		for (int i = 0; i <= TEXTS; i++) {
			snprintf(key, sizeof(key), "key %d", i);
			values[i] = ort_event_arg(&event, key);
		}
		for (int i = 0; i <= TEXTS; i++) {
			ck_assert_ptr_nonnull(values[i]);
			ck_assert_uint_eq(strlen(values[i]), i < TEXTS ? (size_t)i : 100000);
			ck_assert_uint_eq(strspn(values[i], "x"), strlen(values[i]));
		}
	}
	return NULL;
}

START_TEST(every_text_lives_as_long_as_the_event)
{
	pthread_t threads[3];
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_for_many, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

static Suite *ort_event_suite(void)
{
	Suite *suite = suite_create("ort_event");
	TCase *owned = tcase_create("owned");
	tcase_add_test(owned, an_owned_event_is_a_copy);
	tcase_add_test(owned, of_two_args_with_one_key_the_first_counts);
	tcase_add_test(owned, nulls_stay_null);
	tcase_add_test(owned, an_event_of_too_many_args_is_refused);
	suite_add_tcase(suite, owned);
	TCase *on_loan = tcase_create("borrowed");
	tcase_add_checked_fixture(on_loan, use_nanoseconds, NULL);
	tcase_add_test(on_loan, times_are_rounded_down);
	tcase_add_test(on_loan, values_of_all_types_are_told_as_text);
	tcase_add_test(on_loan, a_number_reads_back_as_the_same_number);
	tcase_add_test(on_loan, the_locale_does_not_show);
	tcase_add_test(on_loan, every_text_lives_as_long_as_the_event);
	suite_add_tcase(suite, on_loan);
	return suite;
}

CHECK_MAIN(ort_event_suite)
