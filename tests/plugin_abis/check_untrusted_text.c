/* Text at the end of a mapping, without an end, and nowhere at all. */
#include "tests/support/check.h"
#include "tests/support/emulated.h"

#include <string.h>
#include <sys/mman.h>

#include "plugins/untrusted_text.h"

static char copy[20000];

/* Two pages that can be read, and one that cannot. */
static char *edge(void)
{
	char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + 2 * 4096, 4096, PROT_NONE), 0);
	return pages + 2 * 4096;
}

START_TEST(text_is_copied_up_to_its_end)
{
	char text[12000];
	ck_assert_uint_eq(untrusted_text_copy("gemm", copy, sizeof(copy)), 4);
	ck_assert_str_eq(copy, "gemm");
	ck_assert_uint_eq(untrusted_text_copy("", copy, sizeof(copy)), 0);
	ck_assert_str_eq(copy, "");
	for (size_t bytes = 250; bytes < sizeof(text) - 1; bytes += 7) {
		memset(text, 'x', bytes);
		text[bytes] = '\0';
		ck_assert_uint_eq(untrusted_text_copy(text, copy, sizeof(copy)), bytes);
		ck_assert_str_eq(copy, text);
	}
}
END_TEST

START_TEST(it_is_cut_where_room_ends)
{
	for (size_t room = 1; room < 6; room++) {
		memset(copy, '#', sizeof(copy));
		ck_assert_uint_eq(untrusted_text_copy("abcdefgh", copy, room), room - 1);
		ck_assert_uint_eq(strlen(copy), room - 1);
		ck_assert_int_eq(copy[room], '#');
	}
}
END_TEST

START_TEST(without_an_end_it_ends_where_memory_does)
{
	char *end = edge();
	memset(end - 8192, 'y', 8192);
	for (size_t bytes = 1; bytes <= 8192; bytes += 911) {
		ck_assert_uint_eq(untrusted_text_copy(end - bytes, copy, sizeof(copy)), bytes);
		ck_assert_uint_eq(strlen(copy), bytes);
	}
	end[-1] = '\0';
	ck_assert_uint_eq(untrusted_text_copy(end - 1, copy, sizeof(copy)), 0);
	ck_assert_uint_eq(untrusted_text_copy(end - 5, copy, sizeof(copy)), 4);
}
END_TEST

START_TEST(what_leads_nowhere_is_told)
{
	static const uintptr_t nowhere[] = { 0, 1, 4095, UINTPTR_MAX, UINTPTR_MAX / 2 + 1 };
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		copy[0] = 'x';
		ck_assert_uint_eq(untrusted_text_copy((const char *)nowhere[i], copy, sizeof(copy)),
		                  UNTRUSTED_TEXT_UNREADABLE);
		ck_assert_str_eq(copy, "");
	}
	ck_assert_uint_eq(untrusted_text_copy(edge(), copy, sizeof(copy)), UNTRUSTED_TEXT_UNREADABLE);
}
END_TEST

static Suite *untrusted_text_suite(void)
{
	Suite *suite = suite_create("foreign_text");
	TCase *tests = tcase_create("foreign_text");
	tcase_add_test(tests, text_is_copied_up_to_its_end);
	tcase_add_test(tests, it_is_cut_where_room_ends);
	if (!emulated_without("memory that cannot be read ends the process")) {
		tcase_add_test(tests, without_an_end_it_ends_where_memory_does);
		tcase_add_test(tests, what_leads_nowhere_is_told);
	}
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(untrusted_text_suite)
