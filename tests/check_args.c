/* Args as they are stored behind a record: runtime/record/args.h.  Their limits: check_recorder.c. */
#include <stdlib.h>
#include <sys/mman.h>

#include "recording.h"

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

static Suite *args_suite(void)
{
	Suite *suite = suite_create("args");
	TCase *tcase = tcase_create("args");
	tcase_add_test(tcase, texts_of_every_length_come_back);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_suite)
