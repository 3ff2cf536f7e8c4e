/* Args that many events have in common: epp_args_intern, and what becomes of them in a trace. */
#include <stdlib.h>

#include "recording.h"

#define MANY 5000u

static epp_name key_a, key_b, key_c;

static epp_arg number(epp_name key, int64_t value)
{
	return (epp_arg){ .key = key, .type = EPP_ARG_I64, .value.i64 = value };
}

static epp_arg text(epp_name key, const char *value, size_t bytes)
{
	return (epp_arg){ .key = key, .type = EPP_ARG_TEXT, .value.text = value, .text_bytes = bytes };
}

static void set_up(void)
{
	key_a = epp_name_intern("a");
	key_b = epp_name_intern("b");
	key_c = epp_name_intern("c");
}

START_TEST(the_same_args_have_one_number)
{
	const epp_arg one[] = { number(key_a, 1), text(key_b, "x\0y", 3) }, other[] = { one[1], one[0] };
	epp_name first = epp_args_intern(one, 2);
	ck_assert_uint_ne(first, 0);
	ck_assert_uint_eq(epp_args_intern(one, 2), first);
	ck_assert_uint_ne(epp_args_intern(other, 2), first);
	ck_assert_uint_ne(epp_args_intern(one, 1), first);
	ck_assert_str_eq(epp_name_text(first), "(args)");
	/* A name of the same bytes is another thing. */
	const uint64_t bytes[2] = { key_c, 7 };
	const epp_arg plain[] = { number(key_c, 7) };
	epp_name name = epp_name_intern_bytes((const char *)bytes, sizeof(bytes));
	ck_assert_uint_ne(epp_args_intern(plain, 1), name);
	ck_assert_uint_eq(epp_name_intern_bytes((const char *)bytes, sizeof(bytes)), name);
}
END_TEST

START_TEST(what_cannot_be_kept_is_refused)
{
	static const char long_text[1024] = "";
	const epp_arg plain = number(key_a, 1);
	epp_arg many[25];
	for (size_t i = 0; i < 25; i++)
		many[i] = number(key_a, (int64_t)i);
	const epp_arg nested = EPP_ARGS_OF(epp_args_intern(&plain, 1)), none = text(key_a, NULL, 0),
		      most = text(key_a, long_text, 23 * 16), too_long = text(key_a, long_text, 23 * 16 + 1);
	ck_assert_uint_eq(epp_args_intern(NULL, 0), 0);
	ck_assert_uint_eq(epp_args_intern(&nested, 1), 0);
	ck_assert_uint_eq(epp_args_intern(&none, 1), 0);
	ck_assert_uint_ne(epp_args_intern(many, 24), 0);
	ck_assert_uint_eq(epp_args_intern(many, 25), 0);
	ck_assert_uint_ne(epp_args_intern(&most, 1), 0);
	ck_assert_uint_eq(epp_args_intern(&too_long, 1), 0);
}
END_TEST

static void check_number(const struct scan_arg *arg, epp_name key, uint64_t value)
{
	ck_assert_uint_eq(arg->key, key);
	ck_assert_uint_eq(arg->type, EPP_ARG_I64);
	ck_assert_uint_eq(arg->value, value);
}

START_TEST(an_event_has_them_in_their_place)
{
	const epp_arg common[] = { number(key_b, -5), text(key_c, "shape", 5) };
	epp_session *session = recording_start(NULL);
	epp_name set = epp_args_intern(common, 2), name = epp_name_intern("event");
	const epp_arg args[] = { number(key_a, 1), EPP_ARGS_OF(set), number(key_a, 2) };
	const epp_arg thrice[] = { EPP_ARGS_OF(set), EPP_ARGS_OF(set), EPP_ARGS_OF(set) };
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, 3);
	epp_event_end_named(session, epp_event_begin(session, EPP_NODE, 0), EPP_NODE, name, args, 3);
	epp_instant(session, EPP_NODE, name, args, 3);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), thrice, 3);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 4);
	for (size_t i = 0; i < 3; i++) {
		const struct scan_record *record = &scan->records[i];
		ck_assert_uint_eq(record->args_count, 4);
		check_number(&record->args[0], key_a, 1);
		check_number(&record->args[1], key_b, (uint64_t)-5);
		ck_assert_uint_eq(record->args[2].text_bytes, 5);
		ck_assert_mem_eq(record->args[2].text, "shape", 5);
		check_number(&record->args[3], key_a, 2);
		ck_assert_uint_eq(EPF_BITS_FLAGS(record->bits) & EPF_FLAG_CUT, 0);
	}
	ck_assert_uint_eq(scan->records[3].args_count, 4);
	ck_assert_uint_ne(EPF_BITS_FLAGS(scan->records[3].bits) & EPF_FLAG_CUT, 0);
	trace_scan_free(scan);
}
END_TEST

/* As few bytes in the region as can be, as many in its block. */
START_TEST(a_region_full_of_them_fits_into_a_block)
{
	char letters[23 * 16];
	memset(letters, 'x', sizeof(letters));
	epp_session *session = recording_start(NULL);
	const epp_arg common = text(key_a, letters, sizeof(letters));
	const epp_name set = epp_args_intern(&common, 1);
	const epp_arg args[] = { EPP_ARGS_OF(set), EPP_ARGS_OF(set) };
	epp_name name = epp_name_intern("event");
	for (unsigned i = 0; i < MANY; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, 1 + i / (MANY / 2));
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, MANY);
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_uint_eq(scan->records[i].args_count, 1 + i / (MANY / 2));
		for (unsigned arg = 0; arg < scan->records[i].args_count; arg++)
			ck_assert_uint_eq(scan->records[i].args[arg].text_bytes, sizeof(letters));
	}
	trace_scan_free(scan);
}
END_TEST

static Suite *args_interned_suite(void)
{
	Suite *suite = suite_create("args_interned");
	TCase *tcase = tcase_create("args_interned");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, the_same_args_have_one_number);
	tcase_add_test(tcase, what_cannot_be_kept_is_refused);
	tcase_add_test(tcase, an_event_has_them_in_their_place);
	tcase_add_test(tcase, a_region_full_of_them_fits_into_a_block);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_interned_suite)
