/* Args as they are stored behind a record: runtime/record/events/args.h.  Their limits: check_recorder.c. */
#include <stdlib.h>
#include <sys/mman.h>

#include "record/events/args.h"
#include "tests/support/recording.h"

#define PAGE 4096u
#define LENGTHS 70u

/* A page between two that must not be touched: nothing before a text is read, and nothing behind it. */
static char *lonely_page(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	for (unsigned i = 0; i < PAGE; i++)
		pages[PAGE + i] = (char)(i * 7 + i / 251);
	return pages + PAGE;
}

static void check_texts(const struct scan_record *record, const char *page, size_t bytes)
{
	const char *const wanted[] = { page, page + PAGE - bytes };
	ck_assert_uint_eq(record->args_count, 4);
	for (unsigned i = 0; i < 4; i += 2) {
		ck_assert_uint_eq(record->args[i].type, EPP_ARG_TEXT);
		ck_assert_uint_eq(record->args[i].text_bytes, bytes);
		ck_assert_mem_eq(record->args[i].text, wanted[i / 2], bytes);
		ck_assert_uint_eq(record->args[i + 1].type, EPP_ARG_U64);
		ck_assert_uint_eq(record->args[i + 1].value, bytes + i);
	}
}

START_TEST(texts_of_every_length_come_back)
{
	epp_session *session = recording_start(NULL);
	epp_name key = epp_name_intern("key"), name = epp_name_intern("event");
	char *page = lonely_page();
	for (size_t bytes = 0; bytes < LENGTHS; bytes++) {
		const epp_arg args[] = {
			{ .key = key, .type = EPP_ARG_TEXT, .value.text = page, .text_bytes = bytes },
			{ .key = key, .type = EPP_ARG_U64, .value.u64 = bytes },
			{ .key = key, .type = EPP_ARG_TEXT, .value.text = page + PAGE - bytes, .text_bytes = bytes },
			{ .key = key, .type = EPP_ARG_U64, .value.u64 = bytes + 2 },
		};
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, 4);
		epp_event_end_named(session, epp_event_begin(session, EPP_NODE, 0), EPP_NODE, name, args, 4);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 2 * LENGTHS);
	for (size_t i = 0; i < scan->records_count; i++) {
		ck_assert_uint_eq(scan->records[i].name, name);
		check_texts(&scan->records[i], page, i / 2);
	}
	trace_scan_free(scan);
	munmap(page - PAGE, 3 * PAGE);
}
END_TEST

/* In one walk all of them are stored, as the two walks store them, or nothing is left of the attempt. */
static void check_one_walk(const epp_arg *args, size_t count, size_t room)
{
	static struct epf_arg one[4096], two[4096];
	const struct args_size size = args_measure(args, count, EPF_ARG_SLOTS_MAX);
	bool fits = !size.cut && size.slots <= room;
	memset(one, 0, sizeof(one));
	memset(two, 0, sizeof(two));
	memset(one + room, 0x5A, sizeof(*one));
	two[room] = one[room];
	if (fits)
		args_fill(two, args, &size);
	ck_assert_ptr_eq(args_fill_fitting(one, one + room, args, count), fits ? one + size.slots : one);
	ck_assert_mem_eq(one, two, sizeof(one));
}

START_TEST(args_that_do_not_fit_leave_nothing_behind)
{
	static const char text[EPF_ARG_TEXT_MAX + 1] = "a text";
	epp_arg args[EPF_ARG_SLOTS_MAX + 1];
	for (size_t texts = 0; texts < 4; texts++) {
		for (size_t i = 0; i < 6; i++)
			args[i] = i % 2 < texts / 2 || i + texts > 5
			              ? (epp_arg){ .key = 20, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = i * 9 }
			              : (epp_arg){ .key = 21, .type = EPP_ARG_F64, .value.f64 = 0.5 };
		for (size_t room = 0; room < 24; room++)
			for (size_t count = 0; count <= 6; count++)
				check_one_walk(args, count, room);
	}
	args[4].type = EPP_ARG_TEXT;
	args[4].value.text = text;
	for (size_t over = 0; over < 2; over++) {
		args[4].text_bytes = EPF_ARG_TEXT_MAX - 10 + over;
		args[5] = (epp_arg){ .key = 20, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = 10 };
		check_one_walk(args + 4, 2, 4000);
	}
	args[4].text_bytes = SIZE_MAX;
	check_one_walk(args, 6, 4000);
	for (size_t i = 0; i <= EPF_ARG_SLOTS_MAX; i++)
		args[i] = (epp_arg){ .key = 21, .type = EPP_ARG_I64, .value.i64 = -1 };
	for (size_t count = EPF_ARG_SLOTS_MAX - 1; count <= EPF_ARG_SLOTS_MAX + 1; count++)
		check_one_walk(args, count, 4000);
}
END_TEST

static Suite *args_suite(void)
{
	Suite *suite = suite_create("args");
	TCase *tcase = tcase_create("args");
	tcase_add_test(tcase, texts_of_every_length_come_back);
	tcase_add_test(tcase, args_that_do_not_fit_leave_nothing_behind);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_suite)
