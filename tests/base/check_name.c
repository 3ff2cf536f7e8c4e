/* Names: runtime/base/name.c. */
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/name.h"
#include "tests/support/recording.h"

static epp_name numbered(unsigned number)
{
	char text[32];
	snprintf(text, sizeof(text), "name \"%u\"", number);
	return epp_name_intern(text);
}

/* A run that ends before there is any name must not leave its file behind number 1. */
START_TEST(before_the_first_name_the_end_is_one)
{
	epp_session *session = recording_start(NULL);
	recording_end(session);
	ck_assert_uint_ge(name_end(), 1);
	ck_assert_uint_ge(recording_storage(session)->definitions.names_written, 1);
	check_ok(epp_session_start(session));
	numbered(1);
	recording_end(session);
	trace_scan_free(recording_look(session));
	epp_session_destroy(session);
}
END_TEST

START_TEST(the_same_bytes_are_the_same_number)
{
	char copy[] = "mat\"mul";
	epp_name name = epp_name_intern("mat\"mul");
	ck_assert_uint_ge(name, EPF_NAME_FIRST_FREE);
	ck_assert_uint_eq(epp_name_intern(copy), name);
	ck_assert_uint_eq(epp_name_intern_bytes("mat\"mul and more", 7), name);
	ck_assert_uint_ne(epp_name_intern_bytes("mat\"mul", 6), name);
	ck_assert_ptr_ne(epp_name_text(name), copy);
	ck_assert_str_eq(epp_name_text(name), copy);
	ck_assert_uint_eq(name_get(name).bytes, 7);
}
END_TEST

START_TEST(any_bytes_are_a_name)
{
	epp_name a = epp_name_intern_bytes("a\0b", 3), b = epp_name_intern_bytes("a\0c", 3), c = epp_name_intern("a");
	ck_assert_uint_ne(a, b);
	ck_assert_uint_ne(a, c);
	ck_assert_mem_eq(name_get(b).text, "a\0c", 4);
	ck_assert_uint_eq(epp_name_intern(""), EPF_NAME_NONE);
	ck_assert_uint_eq(epp_name_intern(NULL), EPF_NAME_NONE);
	ck_assert_uint_eq(epp_name_intern_bytes(NULL, 0), EPF_NAME_NONE);
	ck_assert_uint_eq(epp_name_intern_bytes(NULL, 5), EPF_NAME_NONE);
	ck_assert_uint_ne(epp_name_intern_bytes("\0", 1), EPF_NAME_NONE);
}
END_TEST

START_TEST(reserved_numbers_are_not_found_by_their_text)
{
	epp_name first = numbered(0);
	ck_assert_uint_ge(epp_name_intern("parent"), EPF_NAME_FIRST_FREE);
	ck_assert_uint_ge(epp_name_intern("(pending)"), EPF_NAME_FIRST_FREE);
	epp_name odd = epp_name_intern("(reserved)");
	ck_assert_uint_ge(odd, EPF_NAME_FIRST_FREE);
	/* Not after the table has grown, either. */
	for (unsigned i = 0; i < 3000; i++)
		numbered(i);
	ck_assert_uint_eq(epp_name_intern("(reserved)"), odd);
	ck_assert_uint_ge(epp_name_intern("flow"), EPF_NAME_FIRST_FREE);
	ck_assert_uint_eq(epp_name_intern(""), EPF_NAME_NONE);
	ck_assert_uint_eq(numbered(0), first);
	ck_assert_str_eq(epp_name_text(EPF_NAME_PARENT), "parent");
	ck_assert_str_eq(epp_name_text(EPF_NAME_LOST), "(name lost)");
}
END_TEST

START_TEST(numbers_that_name_nothing)
{
	ck_assert_str_eq(epp_name_text(0), "(unknown)");
	ck_assert_str_eq(epp_name_text(name_end()), "(unknown)");
	ck_assert_str_eq(epp_name_text(UINT32_MAX), "(unknown)");
}
END_TEST

START_TEST(long_names_are_cut_and_marked)
{
	size_t bytes = 1 << 20;
	char *text = malloc(bytes);
	memset(text, 'z', bytes);
	epp_name whole = epp_name_intern_bytes(text, EPF_NAME_BYTES_MAX), cut = epp_name_intern_bytes(text, bytes);
	ck_assert_uint_eq(name_get(whole).bytes, EPF_NAME_BYTES_MAX);
	ck_assert_uint_eq(name_get(whole).text[EPF_NAME_BYTES_MAX - 1], 'z');
	ck_assert_uint_eq(name_get(cut).bytes, EPF_NAME_BYTES_MAX);
	ck_assert_str_eq(name_get(cut).text + EPF_NAME_BYTES_MAX - 4, "z...");
	ck_assert_uint_eq(epp_name_intern_bytes(text, EPF_NAME_BYTES_MAX + 1), cut);
	/* Never within a character. */
	for (size_t i = 0; i < 3; i++) {
		for (size_t at = i; at + 3 <= bytes; at += 3)
			memcpy(text + at, "\xE4\xB8\xAD", 3);
		struct name_text got = name_get(epp_name_intern_bytes(text, bytes));
		ck_assert_uint_le(got.bytes, EPF_NAME_BYTES_MAX);
		ck_assert_uint_ge(got.bytes, EPF_NAME_BYTES_MAX - 2);
		ck_assert_str_eq(got.text + got.bytes - 6, "\xE4\xB8\xAD...");
	}
	free(text);
}
END_TEST

/* Short texts share memory, long ones have their own. */
START_TEST(texts_of_all_lengths_stay_where_they_are)
{
	enum { TEXTS = 700 };
	static epp_name names[TEXTS];
	static const char *places[TEXTS];
	static char text[TEXTS * 13];
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < TEXTS; i++) {
			size_t bytes = i * 13;
			memset(text, 'a' + i % 26, bytes + 1);
			text[bytes / 2] = 'A';
			epp_name name = epp_name_intern_bytes(text, bytes + 1);
			ck_assert_uint_eq(name_get(name).bytes, bytes + 1);
			ck_assert_mem_eq(name_get(name).text, text, bytes + 1);
			ck_assert_int_eq(name_get(name).text[bytes + 1], 0);
			ck_assert(round == 0 || (names[i] == name && places[i] == name_get(name).text));
			names[i] = name;
			places[i] = name_get(name).text;
		}
	}
}
END_TEST

START_TEST(names_have_an_end)
{
	/* 256 MiB of text is 4,096 of the longest. */
	char *text = malloc(EPF_NAME_BYTES_MAX);
	memset(text, 'f', EPF_NAME_BYTES_MAX);
	epp_name last = 0;
	unsigned count = 0;
	for (; count < 5000; count++) {
		memcpy(text, &count, sizeof(count));
		epp_name name = epp_name_intern_bytes(text, EPF_NAME_BYTES_MAX);
		if (name == EPF_NAME_LOST)
			break;
		last = name;
	}
	ck_assert_uint_ge(count, 4090);
	ck_assert_uint_le(count, 4096);
	/* What is there stays there. */
	count--;
	memcpy(text, &count, sizeof(count));
	ck_assert_uint_eq(epp_name_intern_bytes(text, EPF_NAME_BYTES_MAX), last);
	free(text);
}
END_TEST

START_TEST(the_table_has_an_end)
{
	epp_name last = 0;
	unsigned i = 0;
	for (; i <= 1u << 20; i++) {
		epp_name name = numbered(i);
		if (name == EPF_NAME_LOST)
			break;
		last = name;
	}
	ck_assert_uint_gt(i, (1u << 20) - 100);
	ck_assert_uint_lt(i, 1u << 20);
	ck_assert_uint_eq(numbered(i - 1), last);
	ck_assert_uint_eq(numbered(i + 7), EPF_NAME_LOST);
}
END_TEST

/* ---- listeners ---- */

struct counter {
	struct name_listener listener;
	unsigned count;
	epp_name last;
};

static void count_added(struct name_listener *self, epp_name name, struct name_text text)
{
	struct counter *counter = (struct counter *)self;
	ck_assert_ptr_eq(text.text, name_get(name).text);
	counter->count++;
	counter->last = name;
}

START_TEST(listeners_miss_no_name)
{
	struct counter first = { .listener.added = count_added }, second = first;
	numbered(100000);
	name_listener_add(&first.listener);
	ck_assert_uint_eq(first.count, name_end() - 1);
	numbered(100000);
	ck_assert_uint_eq(first.count, name_end() - 1);
	epp_name fresh = numbered(100001);
	ck_assert_uint_eq(first.last, fresh);
	name_listener_add(&second.listener);
	name_listener_remove(&first.listener);
	numbered(100002);
	ck_assert_uint_eq(first.last, fresh);
	ck_assert_uint_eq(second.count, name_end() - 1);
	name_listener_remove(&second.listener);
}
END_TEST

/* ---- threads ---- */

#define NAMES (20000 / RECORDING_SLOW)

static void *intern_all(void *argument)
{
	static char another[] = "another text";
	epp_name *names = argument;
	for (unsigned i = 0; i < NAMES; i++) {
		names[i] = numbered(i);
		char text[32];
		snprintf(text, sizeof(text), "name \"%u\"", i);
		if (strcmp(epp_name_text(names[i]), text) != 0)
			return another;
	}
	return NULL;
}

START_TEST(threads_agree)
{
	static epp_name names[4][NAMES];
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		threads[i] = recording_thread(intern_all, names[i]);
	for (int i = 0; i < 4; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
		ck_assert_mem_eq(names[i], names[0], sizeof(names[0]));
	}
}
END_TEST

/* Texts that are looked for at the same place of a table of any size, in pairs, each thread's at the same time: who
 * finds the place free must not take what the other one puts there. */
#define TRIED (1u << 18)
#define PLACE(text) (name_hash(text, strlen(text)) & ((1u << 21) - 1))

struct pair {
	char texts[2][16];
};

static struct pairs {
	struct pair *pairs;
	unsigned count;
	unsigned arrived; /* counts up, two for each pair */
} pairs;

static struct pair *find_pairs(unsigned *count)
{
	uint32_t *first = calloc(1u << 21, sizeof(*first));
	struct pair *found = calloc(TRIED / 2, sizeof(*found));
	*count = 0;
	for (uint32_t i = 1; i < TRIED; i++) {
		struct pair *pair = &found[*count];
		snprintf(pair->texts[0], sizeof(pair->texts[0]), "pair %u", i);
		uint32_t *seen = &first[PLACE(pair->texts[0])];
		if (*seen) {
			snprintf(pair->texts[1], sizeof(pair->texts[1]), "pair %u", *seen);
			*seen = 0;
			++*count;
		} else {
			*seen = i;
		}
	}
	free(first);
	return found;
}

static void *intern_pairs(void *which)
{
	static char another[] = "another text";
	void *wrong = NULL;
	for (unsigned i = 0; i < pairs.count; i++) {
		const char *text = pairs.pairs[i].texts[(uintptr_t)which];
		__atomic_add_fetch(&pairs.arrived, 1, __ATOMIC_ACQ_REL);
		for (unsigned spins = 1; __atomic_load_n(&pairs.arrived, __ATOMIC_ACQUIRE) < 2 * (i + 1); spins++)
			if (spins % 512 == 0)
				sched_yield();
		/* One of them a little earlier, by another moment each time. */
		for (volatile unsigned wait = (uintptr_t)which ? i % 128 : 0; wait; wait--)
			;
		if (strcmp(epp_name_text(epp_name_intern(text)), text) != 0)
			wrong = another;
	}
	return wrong;
}

START_TEST(a_place_that_another_text_takes_meanwhile)
{
	pairs.pairs = find_pairs(&pairs.count);
	ck_assert_uint_gt(pairs.count, 10000);
	pairs.count /= RECORDING_SLOW;
	pthread_t first = recording_thread(intern_pairs, (void *)0), second = recording_thread(intern_pairs, (void *)1);
	void *wrong[2];
	pthread_join(first, &wrong[0]);
	pthread_join(second, &wrong[1]);
	ck_assert_ptr_null(wrong[0]);
	ck_assert_ptr_null(wrong[1]);
	free(pairs.pairs);
}
END_TEST

static Suite *name_suite(void)
{
	Suite *suite = suite_create("name");
	TCase *tcase = tcase_create("name");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, before_the_first_name_the_end_is_one);
	tcase_add_test(tcase, the_same_bytes_are_the_same_number);
	tcase_add_test(tcase, any_bytes_are_a_name);
	tcase_add_test(tcase, reserved_numbers_are_not_found_by_their_text);
	tcase_add_test(tcase, numbers_that_name_nothing);
	tcase_add_test(tcase, long_names_are_cut_and_marked);
	tcase_add_test(tcase, texts_of_all_lengths_stay_where_they_are);
	tcase_add_test(tcase, names_have_an_end);
	tcase_add_test(tcase, the_table_has_an_end);
	tcase_add_test(tcase, listeners_miss_no_name);
	tcase_add_test(tcase, threads_agree);
	tcase_add_test(tcase, a_place_that_another_text_takes_meanwhile);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(name_suite)
