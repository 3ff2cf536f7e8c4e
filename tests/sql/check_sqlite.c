/* SQLite databases: sound, and what their tables say when asked.  Covers sqlite.c and clock_samples.c
 * of the timeline. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/sqlite_text.h"

static struct export_text text;
static sqlite3 *db;

static void write_and_open(struct epp_builder *builder)
{
	epp_trace *trace = builder_open(builder, EPF_FINISHED);

	export_text_make(&text, trace, "sqlite", NULL);
	db = sqlite_text_open(text.bytes, text.count);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void teardown(void)
{
	sqlite3_close(db);
	db = NULL;
	export_text_free(&text);
}

#define EXPECT(expected, sql) \
	do { \
		char *answer_ = sqlite_text_query(db, sql); \
		ck_assert_str_eq(answer_, expected); \
		free(answer_); \
	} while (0)

START_TEST(every_event_is_a_row)
{
	write_and_open(export_sample());
	EXPECT("28\n", "SELECT count(*) FROM events");
	EXPECT("28\n", "SELECT count(*) FROM timeline");
	EXPECT("slice|gemm|Kernel|8300|9000|Accelerator 0||stream 1|0|1|measured\n",
	       "SELECT kind, name, category, start_ns, duration_ns, group_name, thread_id, track_name, device, stream, placement"
	       " FROM timeline WHERE name = 'gemm' LIMIT 1");
	EXPECT("rows|4|integer\n", "SELECT key, value, typeof(value) FROM args JOIN timeline USING(event)"
	                           " WHERE name = 'gemm' LIMIT 1");
	EXPECT("stuck\n", "SELECT name FROM timeline WHERE flags & (SELECT flag FROM flag_names WHERE text = 'unended')");
	EXPECT("1\n", "SELECT count(*) FROM start_index");
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

START_TEST(flows_join_launch_and_kernel)
{
	write_and_open(export_sample());
	EXPECT("fc1|bias\nfc1|bias\nfc1|copy in\nfc1|copy in\nfc1|gemm\nfc1|gemm\nrelu|relu\nrelu|relu\nsoftmax|softmax\n"
	       "softmax|softmax\n",
	       "SELECT a.name, b.name FROM flows JOIN timeline a ON a.id = from_id JOIN timeline b ON b.id = to_id"
	       " AND b.parent = from_id WHERE flows.kind = 'launch' ORDER BY 1, 2");
	EXPECT("send|receive\n", "SELECT a.name, b.name FROM flows JOIN timeline a ON a.id = from_id"
	                         " JOIN timeline b ON b.id = to_id AND b.kind = 'slice' WHERE flows.kind = 'drawn'");
}
END_TEST

START_TEST(values_are_exact)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_arg args[] = {
		{ .key = builder_name(b, "most"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = builder_name(b, "least"), .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
		{ .key = builder_name(b, "half"), .type = EPP_ARG_F64, .value.f64 = 0.5 },
		{ .key = builder_name(b, "none"), .type = EPP_ARG_F64, .value.f64 = 0.0 / 0.0 },
		{ .key = builder_name(b, "text"), .type = EPP_ARG_TEXT, .value.text = "a'b\xff", .text_bytes = 4 },
		{ .key = builder_name(b, "text"), .type = EPP_ARG_TEXT, .value.text = "", .text_bytes = 0 },
	};

	builder_event(b, thread, BUILDER_START, 1, EPP_NODE, builder_name(b, "o'p\xfe"), args, 6);
	write_and_open(b);
	EXPECT("o'p\xEF\xBF\xBD\n", "SELECT name FROM timeline");
	EXPECT("most|18446744073709551615|text\nleast|-9223372036854775808|integer\nhalf|0.5|real\nnone|NaN|text\n"
	       "text|a'b\xEF\xBF\xBD|text\ntext||text\n",
	       "SELECT key, value, typeof(value) FROM args ORDER BY number");
}
END_TEST

START_TEST(clock_pairs_are_the_host_s_and_the_devices)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	uint32_t stream = builder_device(b, "s", "d", 0, 1, EPF_TRACK_CLOCK_DEVICE);

	builder_host_pair(b, BUILDER_START + 500, 20, 0);
	builder_event(b, thread, BUILDER_START, 3000000, EPP_NODE, builder_name(b, "op"), NULL, 0);
	builder_device_pair(b, stream, 5000, BUILDER_START + 1000, 10);
	builder_device_pair(b, stream, 200005000, BUILDER_START + 200001000, 30);
	builder_complete(b, stream, 6000, 10, EPP_KERNEL, builder_name(b, "k"), 0, NULL, 0);
	write_and_open(b);
	EXPECT("500|21|1700000000000000500\n", "SELECT time_ns, half_width_ns, realtime_ns FROM clock_pairs"
	                                       " WHERE device_clock IS NULL AND time_ns = 500");
	EXPECT("5000|1000|11\n200005000|200001000|31\n",
	       "SELECT ticks, time_ns, half_width_ns FROM clock_pairs WHERE device_clock IS NOT NULL ORDER BY ticks");
	EXPECT("fitted\n", "SELECT placement FROM timeline WHERE name = 'k'");
}
END_TEST

/* A flow that the program drew from no event: 0 is the id of none. */
START_TEST(a_flow_without_a_beginning_is_a_row)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	uint64_t id = builder_event(b, thread, BUILDER_START, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);

	builder_flow(b, thread, BUILDER_START + 5, 0, id);
	write_and_open(b);
	EXPECT("1|drawn|0|1\n", "SELECT flow, flows.kind, from_id, to_id = id FROM flows, timeline WHERE name = 'op'");
}
END_TEST

START_TEST(the_ledger_is_a_table)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 12);

	builder_lost(b, thread, EPP_LOSS_TOO_DEEP, 3, 0);
	write_and_open(b);
	EXPECT("thread main (12)|too deep|3\n", "SELECT producer, reason, events FROM ledger WHERE entry = 'lost'");
	EXPECT("1700000000000000000\n", "SELECT value FROM facts WHERE key = 'epoch_unix_ns'");
}
END_TEST

START_TEST(many_rows_stand_in_order)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 12);

	for (unsigned i = 0; i < 5000; i++)
		builder_event(b, thread, BUILDER_START + i * 10, 9, EPP_NODE, builder_name(b, "op"), NULL, 0);
	write_and_open(b);
	EXPECT("5000|1|5000|1\n", "SELECT count(*), min(event), max(event), min(start_ns = (event - 1) * 10) FROM events");
	EXPECT("0|1\n10240|1025\n20480|2049\n30720|3073\n40960|4097\n", "SELECT * FROM start_index");
}
END_TEST

/* The temporary file cannot be written: an error, and nothing is left behind. */
START_TEST(a_full_disk_is_an_error)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 12);

	for (unsigned i = 0; i < 200000; i++)
		builder_event(b, thread, BUILDER_START + i * 10, 9, EPP_NODE, builder_name(b, "op"), NULL, 0);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	setenv("TMPDIR", check_path("no such directory"), 1);
	check_fails(EPP_NOT_FOUND, epp_export_file(trace, "sqlite", NULL, check_path("out.sqlite"), 0, NULL, NULL));
	setenv("TMPDIR", check_path("."), 1);
	struct rlimit limit = { 1 << 20, 1 << 20 };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	check_fails(EPP_IO, epp_export_file(trace, "sqlite", NULL, check_path("out.sqlite"), 0, NULL, NULL));
	ck_assert_int_ne(access(check_path("out.sqlite"), F_OK), 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* Events are numbered among those that are exported, and what refers to them uses those numbers. */
START_TEST(filters_and_a_window_apply)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 12);
	epp_name names[] = { builder_name(b, "even"), builder_name(b, "odd") };
	epp_arg arg = { .key = builder_name(b, "n"), .type = EPP_ARG_I64 };

	for (unsigned i = 0; i < 100; i++) {
		arg.value.i64 = i;
		builder_event(b, thread, BUILDER_START + i * 10, 9, EPP_NODE, names[i % 2], &arg, 1);
	}
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	const epp_timeline_options window = { .struct_size = sizeof window, .from_ns = 500, .to_ns = 1000 };
	const epp_export_options options = { .struct_size = sizeof options, .timeline = &window, .name = "odd" };
	export_text_make(&text, trace, "sqlite", &options);
	db = sqlite_text_open(text.bytes, text.count);
	EXPECT("25|1|25|510|990\n", "SELECT count(*), min(event), max(event), min(start_ns), max(start_ns) FROM events");
	EXPECT("25|51|99\n", "SELECT count(*), min(value), max(value) FROM args JOIN events USING(event)"
	                     " WHERE value * 10 = start_ns");
	EXPECT("odd\n", "SELECT text FROM names");
	EXPECT("lost|filter|25\n", "SELECT entry, reason, events FROM ledger WHERE source IS NULL AND entry = 'lost'");
	EXPECT("events|50\nfrom_ns|500\nto_ns|1000\n",
	       "SELECT key, value FROM facts WHERE key IN ('events', 'from_ns', 'to_ns') ORDER BY 1");
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_cancelled_export_leaves_nothing)
{
	struct epp_builder *b = export_sample();
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	const volatile int cancel = 1;
	const epp_export_options options = { .struct_size = sizeof options, .cancel = &cancel };

	check_fails(EPP_CANCELLED, epp_export_file(trace, "sqlite", &options, check_path("out.sqlite"), 0, NULL, NULL));
	ck_assert_int_ne(access(check_path("out.sqlite"), F_OK), 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *sqlite_suite(void)
{
	Suite *suite = suite_create("sqlite");
	TCase *tests = tcase_create("sqlite");

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, every_event_is_a_row);
	tcase_add_test(tests, flows_join_launch_and_kernel);
	tcase_add_test(tests, values_are_exact);
	tcase_add_test(tests, clock_pairs_are_the_host_s_and_the_devices);
	tcase_add_test(tests, a_flow_without_a_beginning_is_a_row);
	tcase_add_test(tests, the_ledger_is_a_table);
	tcase_add_test(tests, many_rows_stand_in_order);
	tcase_add_test(tests, a_full_disk_is_an_error);
	tcase_add_test(tests, filters_and_a_window_apply);
	tcase_add_test(tests, a_cancelled_export_leaves_nothing);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(sqlite_suite)
