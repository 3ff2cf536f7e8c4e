/* Args that many events have in common: epp_args_intern, and what becomes of them in a trace. */
#include <stdlib.h>

#include "tests/support/profiler_double.h"
#include "tests/support/recording.h"

#define MANY 5000u
#define SETS 2000
#define THREADS 4

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
	epp_instant_record(session, EPP_NODE, name, args, 3);
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

/* ---- profilers ---- */

static const char *const keys[] = { "own", "signed", "unsigned", "real", "text", "empty", "own too", "absent", "(args)" };
static char values[9][24];

static void ask(const OrtProfilingEvent *event)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = ort_event_arg((OrtProfilingEvent *)(uintptr_t)event, keys[i]);
		snprintf(values[i], sizeof(values[i]), "%s", value ? value : "NULL");
	}
}

static OrtStatus *ask_at_stop(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	(void)impl, (void)id;
	ask(event);
	return NULL;
}

START_TEST(a_profiler_is_told_each)
{
	static const char *const expected[] = {
		"1", "-7", "18446744073709551615", "0.5", "two slots, filled", "", "2", "NULL", "NULL"
	};
	struct profiler_double profiler = double_make('a');
	profiler.impl.StopEvent = ask_at_stop;
	epp_session *session = double_attached(&profiler, NULL, "asks");
	check_ok(epp_session_start(session));
	/* Texts are before others, which are found behind their slots; one looks as if it were an arg of its own. */
	const struct epf_arg forged = { .key = epp_name_intern("absent"), .type_and_bytes = EPP_ARG_I64, .value = 99 };
	const epp_arg common[] = { text(key_b, (const char *)&forged, sizeof(forged)),
		                   text(epp_name_intern("text"), "two slots, filled", 17),
		                   number(epp_name_intern("signed"), -7),
		                   { .key = epp_name_intern("unsigned"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		                   text(epp_name_intern("empty"), "", 0),
		                   { .key = epp_name_intern("real"), .type = EPP_ARG_F64, .value.f64 = 0.5 } };
	const epp_arg args[] = { number(epp_name_intern("own"), 1), EPP_ARGS_OF(epp_args_intern(common, 6)),
		                 number(epp_name_intern("own too"), 2) };
	epp_event_end(session, epp_event_begin(session, EPP_NODE, key_a), args, 3);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		ck_assert_str_eq(values[i], expected[i]);
	/* A name is no such number, nor is one that nobody was given. */
	const epp_arg wrong[] = { EPP_ARGS_OF(key_a), EPP_ARGS_OF(UINT32_MAX) };
	for (size_t i = 0; i < 2; i++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, key_a), &wrong[i], 1);
		ck_assert_str_eq(values[0], "NULL");
	}
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* ---- threads ---- */

struct interning {
	unsigned thread;
	epp_name sets[SETS];
};

static pthread_barrier_t barrier;

/* All the same ones; half of the threads from the last on. */
static void *intern_all(void *argument)
{
	struct interning *own = argument;
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < SETS; i++) {
		unsigned set = own->thread % 2 ? SETS - 1 - i : i;
		const epp_arg common[] = { number(key_a, set), text(key_b, "a text of their own", 1 + set % 19) };
		own->sets[set] = epp_args_intern(common, 2);
	}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	const epp_name *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Beside a session that has them written. */
START_TEST(threads_get_the_same_numbers)
{
	static struct interning of[THREADS];
	pthread_t threads[THREADS];
	epp_session *session = recording_start(NULL);
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		of[i].thread = i;
		threads[i] = recording_thread(intern_all, &of[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 1; i < THREADS; i++)
		ck_assert_mem_eq(of[i].sets, of[0].sets, sizeof(of[0].sets));
	for (unsigned i = 0; i < SETS; i++)
		epp_instant_record(session, EPP_NODE, key_c, &EPP_ARGS_OF(of[0].sets[i]), 1);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, SETS);
	for (unsigned i = 0; i < SETS; i++) {
		ck_assert_uint_eq(scan->records[i].args_count, 2);
		check_number(&scan->records[i].args[0], key_a, i);
		ck_assert_uint_eq(scan->records[i].args[1].text_bytes, 1 + i % 19);
	}
	trace_scan_free(scan);
	qsort(of[0].sets, SETS, sizeof(epp_name), by_name);
	ck_assert_uint_ne(of[0].sets[0], 0);
	for (unsigned i = 1; i < SETS; i++)
		ck_assert_uint_ne(of[0].sets[i], of[0].sets[i - 1]);
	pthread_barrier_destroy(&barrier);
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
	tcase_add_test(tcase, a_profiler_is_told_each);
	tcase_add_test(tcase, threads_get_the_same_numbers);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(args_interned_suite)
