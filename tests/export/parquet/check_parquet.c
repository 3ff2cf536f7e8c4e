/* Parquet files, read back by a reader of the tests' own: tables value by value, exports event by event.  Covers
 * parquet.c and parquet_file.c. */
#include "export/parquet/parquet_file.h"

#include <math.h>

#include "export/writer.h"

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/parquet_text.h"
#include "tests/support/strict_json.h"

/* Columns of events in their order, as docs/formats.md has them. */
enum { KIND, NAME, CATEGORY, START_NS, DURATION_NS, SOURCE, PID, GROUP_NAME, TID, TRACK, TRACK_NAME, DEVICE };
enum { STREAM = DEVICE + 1, LANE, DEPTH, ID, PARENT, RUN, PLACEMENT, START_ERROR_NS, END_ERROR_NS, FLAGS, ARGS };

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct parquet_table *table;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	parquet_table_free(table);
	table = NULL;
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
	parquet_group_rows = 1u << 20;
}

static void write_and_read(const epp_export_options *options)
{
	if (!trace)
		trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "parquet", options);
	table = parquet_table_read(text.bytes, text.count);
}

static const struct parquet_value *cell(size_t row, const char *column)
{
	return &table->values[parquet_table_column(table, column)][row];
}

static void must_be_number(size_t row, size_t column, bool known, int64_t expected)
{
	const struct parquet_value *value = &table->values[column][row];

	if (value->is_null != !known || (known && value->integer != expected))
		ck_abort_msg("%s of row %zu", table->names[column], row);
}

static void must_be_text(size_t row, size_t column, const char *expected, size_t bytes)
{
	const struct parquet_value *value = &table->values[column][row];

	if (value->is_null || value->bytes != bytes || memcmp(value->text, expected, bytes) != 0)
		ck_abort_msg("%s of row %zu: '%s', not '%s'", table->names[column], row, value->text, expected);
}

/* Names and groups are valid UTF-8 here. */
static void must_be_event(size_t row, const epp_event *event)
{
	const epp_trace_track *track = event->track;
	char flags[EXPORT_FLAGS_BYTES];

	*export_put_flags(flags, event->flags) = '\0';
	must_be_text(row, KIND, export_kind(event->kind), strlen(export_kind(event->kind)));
	must_be_text(row, NAME, event->name, event->name_bytes);
	must_be_text(row, CATEGORY, export_category(event->category), strlen(export_category(event->category)));
	must_be_number(row, START_NS, true, event->start_ns);
	must_be_number(row, DURATION_NS, true, event->duration_ns);
	must_be_number(row, SOURCE, true, track->source);
	must_be_number(row, PID, track->pid, track->pid);
	must_be_text(row, GROUP_NAME, track->group, strlen(track->group));
	must_be_number(row, TID, track->kind == EPP_TRACK_THREAD, track->thread_id);
	must_be_number(row, TRACK, true, track->track);
	must_be_text(row, TRACK_NAME, track->name, strlen(track->name));
	must_be_number(row, DEVICE, track->device >= 0, track->device);
	must_be_number(row, STREAM, track->kind == EPP_TRACK_DEVICE, track->stream);
	must_be_number(row, LANE, true, event->lane);
	must_be_number(row, DEPTH, true, event->depth);
	must_be_number(row, ID, true, (int64_t)event->id);
	must_be_number(row, PARENT, event->parent, (int64_t)event->parent);
	must_be_number(row, RUN, true, event->run);
	must_be_text(row, PLACEMENT, epp_placement_name(event->placement), strlen(epp_placement_name(event->placement)));
	must_be_number(row, START_ERROR_NS, true, event->start_error_ns);
	must_be_number(row, END_ERROR_NS, true, event->end_error_ns);
	must_be_text(row, FLAGS, flags, strlen(flags));
	MUST(table->values[ARGS][row].is_null == !event->args_count);
}

static void rows_are_the_timeline_s(void)
{
	epp_timeline *timeline;
	const epp_event *event;
	size_t row = 0;

	check_ok(epp_timeline_create(trace, NULL, &timeline));
	for (; epp_timeline_next(timeline, &event); row++) {
		MUST(row < table->rows_count);
		must_be_event(row, event);
	}
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(row, table->rows_count);
	epp_timeline_destroy(timeline);
}

static int compare(const struct parquet_value *a, const struct parquet_value *b)
{
	if (!a->text)
		return (a->integer > b->integer) - (a->integer < b->integer);
	int order = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
	return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* What is told of each row group and column is what its rows have. */
static void limits_are_those_of_the_rows(void)
{
	for (size_t column = 0; column < table->columns_count; column++) {
		const struct parquet_value *values = table->values[column];
		for (size_t group = 0; group < table->groups_count; values += table->group_rows[group++]) {
			const struct parquet_value *least = NULL, *largest = NULL;
			for (size_t row = 0; row < table->group_rows[group]; row++) {
				if (values[row].is_null)
					continue;
				least = !least || compare(&values[row], least) < 0 ? &values[row] : least;
				largest = !largest || compare(&values[row], largest) > 0 ? &values[row] : largest;
			}
			bool told = least && column != ARGS && least->bytes <= 64 && largest->bytes <= 64;
			MUST(table->limits[group][column].known == told);
			MUST(!told || compare(least, &table->limits[group][column].least) == 0);
			MUST(!told || compare(largest, &table->limits[group][column].largest) == 0);
		}
	}
}

START_TEST(columns_are_the_fields_of_an_event)
{
	static const char *const names[] = { "kind",         "name",   "category",   "start_ns",  "duration_ns",
		                             "source",       "pid",    "group_name", "tid",       "track",
		                             "track_name",   "device", "stream",     "lane",      "depth",
		                             "id",           "parent", "run",        "placement", "start_error_ns",
		                             "end_error_ns", "flags",  "args" };

	builder_destroy(builder);
	builder = export_sample();
	write_and_read(NULL);
	ck_assert_uint_eq(table->columns_count, sizeof names / sizeof *names);
	for (size_t i = 0; i < table->columns_count; i++)
		ck_assert_str_eq(table->names[i], names[i]);
	ck_assert_uint_eq(table->sorted, START_NS);
	ck_assert_uint_eq(table->groups_count, 1);
	rows_are_the_timeline_s();
	limits_are_those_of_the_rows();
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

/* More pages and row groups than one, more names and places than are kept at hand. */
START_TEST(many_rows_in_several_groups)
{
	enum { EVENTS = 70000, NAMES = 3000, THREADS = 5, STREAMS = 300 };
	uint32_t threads[THREADS], streams[STREAMS];
	epp_name names[NAMES];
	char name[32];

	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "op %u", i * 7);
		names[i] = builder_name(builder, name);
	}
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = builder_thread(builder, i % 2 ? "worker" : "main", 100 + i);
	for (unsigned i = 0; i < STREAMS; i++)
		streams[i] = builder_device(builder, "stream", i % 3 ? "A" : "B", (int)(i % 3) - 1, i,
		                            EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t at = BUILDER_START + i * 100 + i * 7919 % 90, length = i % 11 ? i * 31 % 3000 : 0;
		unsigned one = i < EVENTS / 2 ? i * 2654435761u % NAMES : i % 5;
		if (i % 3)
			builder_complete(builder, streams[i * 13 % STREAMS], at, length, EPP_KERNEL, names[one], 0,
			                 NULL, 0);
		else
			builder_event(builder, threads[i % THREADS], at, 90, i % 4, names[one], NULL, 0);
	}
	parquet_group_rows = 20000;
	write_and_read(NULL);
	ck_assert_uint_eq(table->rows_count, EVENTS);
	ck_assert_uint_eq(table->groups_count, 3);
	ck_assert_uint_eq(table->group_rows[0], 2 * PARQUET_PAGE_ROWS);
	rows_are_the_timeline_s();
	limits_are_those_of_the_rows();
}
END_TEST

START_TEST(texts_are_mended_and_values_exact)
{
	epp_arg args[] = {
		{ .key = builder_name(builder, "most"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = builder_name(builder, "a\"b"), .type = EPP_ARG_F64, .value.f64 = NAN },
		{ .key = builder_name(builder, "a\"b"), .type = EPP_ARG_TEXT, .value.text = "\xff'", .text_bytes = 2 },
	};
	uint32_t thread = builder_thread(builder, "thr\xff", 1);

	builder_event(builder, thread, BUILDER_START, 1, EPP_NODE, builder_name_bytes(builder, "o\0p\xfe", 4), args, 3);
	builder_event(builder, thread, BUILDER_START + 5, 1, EPP_NODE, builder_name(builder, ""), NULL, 0);
	write_and_read(NULL);
	ck_assert_uint_eq(cell(0, "name")->bytes, 6);
	ck_assert_mem_eq(cell(0, "name")->text, "o\0p\xEF\xBF\xBD", 6);
	ck_assert_str_eq(cell(0, "track_name")->text, "thr\xEF\xBF\xBD");
	ck_assert_str_eq(cell(0, "args")->text, "{\"most\":\"18446744073709551615\",\"a\\\"b\":\"NaN\","
	                                        "\"a\\\"b#2\":\"\xEF\xBF\xBD'\"}");
	ck_assert_str_eq(cell(1, "name")->text, "");
	ck_assert(cell(1, "args")->is_null);
	limits_are_those_of_the_rows();
}
END_TEST

/* Names that fill the memory a row group may take end it early, and so do args end a page. */
START_TEST(what_is_held_is_bounded)
{
	enum { NAME_BYTES = 60000, EVENTS = 2500 };
	char *name = malloc(NAME_BYTES);
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name key = builder_name(builder, "key");

	memset(name, 'x', NAME_BYTES);
	for (int i = 0; i < EVENTS; i++) {
		epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = name, .text_bytes = 20000 };
		name[snprintf(name, 16, "%d", i)] = 'x';
		builder_event(builder, thread, BUILDER_START + (uint64_t)i * 10, 9, EPP_NODE,
		              builder_name_bytes(builder, name, NAME_BYTES), &arg, 1);
	}
	write_and_read(NULL);
	ck_assert_uint_ge(table->groups_count, 2);
	ck_assert_uint_eq(table->rows_count, EVENTS);
	rows_are_the_timeline_s();
	limits_are_those_of_the_rows();
	free(name);
}
END_TEST

START_TEST(the_account_travels_along)
{
	uint32_t thread = builder_thread(builder, "main\xff", 12);
	epp_export_options options = { .struct_size = sizeof options, .min_duration_ns = 50 };

	builder_event(builder, thread, BUILDER_START, 10, EPP_NODE, builder_name(builder, "short"), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 20, 60, EPP_NODE, builder_name(builder, "long"), NULL, 0);
	builder_lost(builder, thread, EPP_LOSS_TOO_DEEP, 3, 0);
	write_and_read(&options);
	ck_assert_uint_eq(table->rows_count, 1);
	ck_assert_str_eq(cell(0, "name")->text, "long");
	ck_assert_uint_eq(table->pairs_count, 2);
	ck_assert_str_eq(table->keys[0], "epprof.facts");
	ck_assert_str_eq(table->keys[1], "epprof.ledger");
	struct json *facts = json_expect(table->pairs[0], strlen(table->pairs[0]));
	struct json *ledger = json_expect(table->pairs[1], strlen(table->pairs[1]));
	ck_assert_str_eq(json_text(facts, "epoch_unix_ns"), "1700000000000000000");
	ck_assert_ptr_nonnull(strstr(table->pairs[1], "\"too deep\":3"));
	ck_assert_str_eq(json_text(&ledger->items[ledger->count - 1], "producer"), "filters of this export");
	json_free(facts);
	json_free(ledger);
}
END_TEST

/* ---- tables ---- */

static const struct parquet_field table_fields[] = {
	{ .name = "number", .has_dictionary = true },
	{ .name = "some", .has_dictionary = true, .optional = true },
	{ .name = "none", .has_dictionary = true, .optional = true },
	{ .name = "word", .is_text = true, .has_dictionary = true },
	{ .name = "plain", .optional = true, .sorted = true },
	{ .name = "text", .is_text = true, .optional = true },
};

static int64_t number_of(uint64_t row, uint64_t different)
{
	return (int64_t)(row * 2654435761u % different) - 5;
}

static bool has_some(uint64_t row, uint64_t different)
{
	return row % (different % 5 + 2) == 0;
}

static void write_row(struct parquet_file *file, uint64_t row, uint64_t different)
{
	char word[32];

	snprintf(word, sizeof word, "%lld", (long long)number_of(row, different));
	check_ok(parquet_integer(file, 0, number_of(row, different)));
	if (has_some(row, different)) {
		check_ok(parquet_integer(file, 1, number_of(row, different)));
		check_ok(parquet_integer(file, 4, (int64_t)row));
		check_ok(parquet_text(file, 5, word, strlen(word)));
	}
	check_ok(parquet_keyed_text(file, 3, row * 2654435761u % different, word, strlen(word)));
	check_ok(parquet_end_row(file));
}

static void write_table(uint64_t rows, uint64_t different)
{
	struct sink_memory memory = { 0 };
	struct parquet_file file;
	struct sink sink;

	check_ok(sink_init(&sink, sink_memory_write, &memory));
	check_ok(parquet_file_init(&file, &sink, table_fields, sizeof table_fields / sizeof *table_fields));
	for (uint64_t row = 0; row < rows; row++)
		write_row(&file, row, different);
	check_ok(parquet_file_end(&file, NULL, 0));
	check_ok(sink_flush(&sink));
	table = parquet_table_read(memory.bytes, memory.count);
	parquet_file_deinit(&file);
	sink_deinit(&sink);
	free(memory.bytes);
}

static void must_be_row(uint64_t row, uint64_t different)
{
	bool some = has_some(row, different);
	char word[32];

	snprintf(word, sizeof word, "%lld", (long long)number_of(row, different));
	must_be_number(row, 0, true, number_of(row, different));
	must_be_number(row, 1, some, number_of(row, different));
	must_be_number(row, 2, false, 0);
	must_be_text(row, 3, word, strlen(word));
	must_be_number(row, 4, some, (int64_t)row);
	if (some)
		must_be_text(row, 5, word, strlen(word));
	MUST(table->values[5][row].is_null == !some);
}

/* Numbers in a dictionary of `different` values take as many bits as that needs; a page may end within a group of
 * eight. */
START_TEST(dictionaries_of_every_width)
{
	uint64_t different = (UINT64_C(1) << _i / 3) + (uint64_t)(_i % 3) - 1, rows = different * 2 + 7;

	if (!different)
		return;
	write_table(rows, different);
	ck_assert_uint_eq(table->rows_count, rows);
	for (uint64_t row = 0; row < rows; row++)
		must_be_row(row, different);
	ck_assert_int_eq(table->limits[0][0].least.integer, -5);
	ck_assert_int_eq(table->limits[0][0].largest.integer, (int64_t)different - 6);
	ck_assert_int_eq(table->limits[0][2].nulls_count, (int64_t)rows);
	ck_assert(!table->limits[0][2].known && !table->limits[0][5].known);
}
END_TEST

START_TEST(a_table_without_rows)
{
	write_table(0, 1);
	ck_assert_uint_eq(table->rows_count, 0);
	ck_assert_uint_eq(table->groups_count, 0);
	ck_assert_uint_eq(table->columns_count, 6);
}
END_TEST

static Suite *parquet_suite(void)
{
	Suite *suite = suite_create("parquet");
	TCase *tests = tcase_create("parquet");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, columns_are_the_fields_of_an_event);
	tcase_add_test(tests, many_rows_in_several_groups);
	tcase_add_test(tests, texts_are_mended_and_values_exact);
	tcase_add_test(tests, what_is_held_is_bounded);
	tcase_add_test(tests, the_account_travels_along);
	tcase_add_loop_test(tests, dictionaries_of_every_width, 0, 3 * 16);
	tcase_add_test(tests, a_table_without_rows);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(parquet_suite)
