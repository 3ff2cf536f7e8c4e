/* What the collector keeps of an event's name and args: bridges/onnxruntime/ort_event_record.c, in a host of the test's
 * own. */
#include <sys/mman.h>
#include <unistd.h>

#include "ort_bridge_host.h"

/* ---- values ---- */

static const struct {
	const char *text;
	bool is_number;
	int64_t number;
} values[] = {
	{ "0", true, 0 },
	{ "7", true, 7 },
	{ "-7", true, -7 },
	{ "1048576", true, 1048576 },
	{ "123456", true, 123456 },
	{ "1234567", true, 1234567 },
	{ "12345678", true, 12345678 },
	{ "-123456", true, -123456 },
	{ "-1234567", true, -1234567 },
	{ "999999999999999999", true, 999999999999999999 },
	{ "-999999999999999999", true, -999999999999999999 },
	{ "1000000000000000000", false, 0 },
	{ "18446744073709551616", false, 0 },
	{ "184467440737095516160000000000000000000001", false, 0 },
	{ "", false, 0 },
	{ "-", false, 0 },
	{ "-0", false, 0 },
	{ "00", false, 0 },
	{ "007", false, 0 },
	{ "-07", false, 0 },
	{ "--7", false, 0 },
	{ "+7", false, 0 },
	{ " 7", false, 0 },
	{ "7 ", false, 0 },
	{ "7.5", false, 0 },
	{ "0x7", false, 0 },
	{ "12/", false, 0 },
	{ "12:", false, 0 },
	{ "12\xb2", false, 0 },
	{ "Neg", false, 0 },
	{ "Negate", false, 0 },
	{ "Softmax", false, 0 },
	{ "Softmax1", false, 0 },
	{ "\xff\xff\xff\xff\xff\xff\xff", false, 0 },
	{ "\x01", false, 0 },
	{ "CPUExecutionProvider", false, 0 },
	{ "[{\"float\":[4]}]", false, 0 },
};
#define VALUES (sizeof(values) / sizeof(values[0]))

static void record_values(void)
{
	static const char *const keys[] = { "op_name" };
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < VALUES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "value %u", i);
		begin(profiler, 5000 + i);
		end_with(profiler, 5000 + i, name, keys, &values[i].text, 1);
	}
	ended(profiler);
	host_close(&host);
}

#define KEYS_ASKED_FOR 16u

/* As a number where it is one. */
static void check_text(const struct scan_arg *arg, const char *text)
{
	char number[24];
	if (arg->type == EPP_ARG_I64) {
		snprintf(number, sizeof(number), "%lld", (long long)arg->value);
		ck_assert_str_eq(number, text);
	} else {
		ck_assert_uint_eq(arg->text_bytes, strlen(text));
		ck_assert_mem_eq(arg->text, text, arg->text_bytes);
	}
}

static void check_value(const struct trace_scan *scan, const struct scan_record *record, unsigned i)
{
	const struct scan_arg *arg = &record->args[record->args_count - 1];
	ck_assert_msg(scan_name_is(scan, arg->key, "op_name"), "\"%s\" has no value", values[i].text);
	if (values[i].is_number) {
		ck_assert_msg(arg->type == EPP_ARG_I64, "\"%s\" is a text", values[i].text);
		ck_assert_int_eq((int64_t)arg->value, values[i].number);
	} else {
		ck_assert_msg(arg->type == EPP_ARG_TEXT, "\"%s\" is a number", values[i].text);
		ck_assert_uint_eq(arg->text_bytes, strlen(values[i].text));
		ck_assert_mem_eq(arg->text, values[i].text, arg->text_bytes);
	}
}

START_TEST(whole_numbers_are_numbers_and_come_out_as_they_were)
{
	struct trace_scan *scan = recorded(record_values, NULL);
	for (unsigned i = 0; i < VALUES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "value %u", i);
		check_value(scan, named(scan, name), i);
	}
	trace_scan_free(scan);
}
END_TEST

/* Each after each, and after itself. */
static unsigned value_at(unsigned event)
{
	unsigned first = event / 3 / VALUES, second = event / 3 % VALUES;
	return event % 3 == 0 ? first : second;
}

static void record_values_after_values(void)
{
	static const char *const keys[] = { "op_name" };
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < 3 * VALUES * VALUES; i++) {
		begin(profiler, 5000 + i);
		end_with(profiler, 5000 + i, "node", keys, &values[value_at(i)].text, 1);
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(a_value_is_its_own_whatever_came_before)
{
	struct trace_scan *scan = recorded(record_values_after_values, NULL);
	ck_assert_uint_eq(scan->records_count, 3 * VALUES * VALUES);
	for (unsigned i = 0; i < 3 * VALUES * VALUES; i++)
		check_value(scan, &scan->records[i], value_at(i));
	trace_scan_free(scan);
}
END_TEST

/* ---- texts at the end of what can be read ---- */

static char *page_end; /* where the unmapped page begins */

static const char *const texts_at_the_end[] = {
	"", "7", "77", "123456789", "Neg", "[{\"float\":[4]}]", "a text of more than sixteen bytes"
};
#define TEXTS_AT_THE_END (sizeof(texts_at_the_end) / sizeof(texts_at_the_end[0]))

static const char *text_at_the_end;

/* Directly in front of the unmapped page. */
static const char *put_at_the_end(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(page_end - bytes, text, bytes);
}

static const char *value_at_the_end(const char *key)
{
	(void)key;
	return put_at_the_end(text_at_the_end);
}

static OrtStatus *name_at_the_end(const OrtProfilingEvent *event, const char **name)
{
	(void)event;
	*name = put_at_the_end(text_at_the_end);
	return NULL;
}

/* Each text three times, so that its args are interned, too. */
static void record_texts_at_the_end(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	page_end = pages + page_bytes;
	ck_assert_int_eq(munmap(page_end, page_bytes), 0);
	version_text = "1.32.0";
	own_arg_value = value_at_the_end;
	own_name = name_at_the_end;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < 3 * TEXTS_AT_THE_END; i++) {
		text_at_the_end = texts_at_the_end[i / 3];
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, "");
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(nothing_is_read_behind_the_end_of_a_text)
{
	struct trace_scan *scan = recorded(record_texts_at_the_end, NULL);
	ck_assert_uint_eq(scan->records_count, 3 * TEXTS_AT_THE_END);
	for (unsigned i = 0; i < 3 * TEXTS_AT_THE_END; i++) {
		const struct scan_record *record = &scan->records[i];
		const char *text = texts_at_the_end[i / 3];
		ck_assert(scan_name_is(scan, record->name, text));
		ck_assert_uint_eq(record->args_count, 3 + (i == 0) + KEYS_ASKED_FOR);
		for (unsigned j = 3 + (i == 0); j < record->args_count; j++)
			check_text(&record->args[j], text);
	}
	trace_scan_free(scan);
}
END_TEST

/* ---- names ---- */

#define NAMES 5000u
#define EVENTS 30000u

/* In order at first, as a model runs its nodes; then some are left out; then any. */
static unsigned name_at(unsigned event)
{
	if (event < 2 * NAMES)
		return event % NAMES;
	if (event < 3 * NAMES)
		return event % NAMES / 3 * 3;
	return (unsigned)(event * UINT64_C(2654435761) % 4294967291u % NAMES);
}

/* Alike in their first 70 bytes, and some the beginning of others. */
static const char *text_of(unsigned number)
{
	static char text[160];
	snprintf(text, sizeof(text), "%s%.*s", "a layer of a model with a path that is long/and alike in all of them/node",
	         (int)(number % 2 ? 5 : 10), "0000000000");
	snprintf(text + strlen(text), 16, "%u", number / 2);
	return text;
}

static void record_names(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < EVENTS; i++) {
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, text_of(name_at(i)));
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(names_in_any_order)
{
	struct trace_scan *scan = recorded(record_names, NULL);
	ck_assert_uint_eq(scan->records_count, EVENTS);
	for (unsigned i = 0; i < EVENTS; i++)
		ck_assert_msg(scan_name_is(scan, scan->records[i].name, text_of(name_at(i))),
		              "event %u is not called %s", i, text_of(name_at(i)));
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_event_args_suite(void)
{
	Suite *suite = suite_create("ort_event_args");
	TCase *tcase = tcase_create("ort_event_args");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, whole_numbers_are_numbers_and_come_out_as_they_were);
	tcase_add_test(tcase, a_value_is_its_own_whatever_came_before);
	tcase_add_test(tcase, nothing_is_read_behind_the_end_of_a_text);
	tcase_add_test(tcase, names_in_any_order);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_event_args_suite)
