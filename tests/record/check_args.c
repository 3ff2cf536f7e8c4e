/* Args as they are stored behind a record: runtime/record/args.h.  Their limits: check_recorder.c. */
#include <stdlib.h>
#include <sys/mman.h>

#include "record/args.h"
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

/* Args take the slots that were measured: they end there, and what is behind them is not touched. */
static void check_slots(const epp_arg *args, size_t count)
{
	static struct epf_arg slots[4097], behind;
	const struct args_size size = args_measure(args, count, EPF_ARG_SLOTS_MAX);
	size_t stored = 0, at = 0;
	ck_assert_uint_lt(size.slots, 4097);
	memset(slots, 0, sizeof(slots));
	memset(&behind, 0x5A, sizeof(behind));
	slots[size.slots] = behind;
	args_fill(slots, args, &size);
	ck_assert_mem_eq(&slots[size.slots], &behind, sizeof(behind));
	for (; at < size.slots; stored++)
		at += 1 + (slots[at].type_and_bytes / 256 + 15) / 16;
	ck_assert_uint_eq(at, size.slots);
	ck_assert_uint_eq(stored, size.count);
}

START_TEST(args_take_the_slots_that_were_measured)
{
	static const char text[EPF_ARG_TEXT_MAX + 1] = "a text";
	epp_arg args[EPF_ARG_SLOTS_MAX + 1];
	for (size_t texts = 0; texts < 4; texts++) {
		for (size_t i = 0; i < 6; i++)
			args[i] = i % 2 < texts / 2 || i + texts > 5
			              ? (epp_arg){ .key = 20, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = i * 9 }
			              : (epp_arg){ .key = 21, .type = EPP_ARG_F64, .value.f64 = 0.5 };
		for (size_t count = 0; count <= 6; count++)
			check_slots(args, count);
	}
	args[4].type = EPP_ARG_TEXT;
	args[4].value.text = text;
	for (size_t over = 0; over < 2; over++) {
		args[4].text_bytes = EPF_ARG_TEXT_MAX - 10 + over;
		args[5] = (epp_arg){ .key = 20, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = 10 };
		check_slots(args + 4, 2);
	}
	args[4].text_bytes = SIZE_MAX;
	check_slots(args, 6);
	for (size_t i = 0; i <= EPF_ARG_SLOTS_MAX; i++)
		args[i] = (epp_arg){ .key = 21, .type = EPP_ARG_I64, .value.i64 = -1 };
	for (size_t count = EPF_ARG_SLOTS_MAX - 1; count <= EPF_ARG_SLOTS_MAX + 1; count++)
		check_slots(args, count);
}
END_TEST

static Suite *args_suite(void)
{
	Suite *suite = suite_create("args");
	TCase *tcase = tcase_create("args");
	tcase_add_test(tcase, texts_of_every_length_come_back);
	tcase_add_test(tcase, args_take_the_slots_that_were_measured);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_suite)
