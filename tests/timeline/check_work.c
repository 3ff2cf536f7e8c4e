/* What a device event or call is told to be, by its profiler or its name, wherever that shows: tables, SQL, flame
 * graph, Kineto's categories. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static struct command run;
static struct json *json;
static char path[512];

static void setup(void)
{
	builder = builder_create();
	snprintf(path, sizeof path, "%s", check_path("trace.epp"));
}

static void teardown(void)
{
	json_free(json);
	json = NULL;
	command_free(&run);
	builder_destroy(builder);
	unlink(path);
}

/* An event with a text under `key` and, unless they are 0, `bytes` and a `correlation`. */
static void add(uint32_t track, uint64_t start, const char *name, const char *key, const char *kind, uint64_t bytes,
                uint64_t correlation)
{
	epp_arg args[3] = { { .key = builder_name(builder, key), .type = EPP_ARG_TEXT, .value.text = kind } };
	uint32_t count = 1;

	args[0].text_bytes = (uint32_t)strlen(kind);
	if (bytes)
		args[count++] = (epp_arg){ .key = builder_name(builder, "bytes"), .type = EPP_ARG_U64, .value.u64 = bytes };
	if (correlation)
		args[count++] = (epp_arg){ .key = builder_name(builder, "correlation"),
			                   .type = EPP_ARG_U64,
			                   .value.u64 = correlation };
	builder_complete(builder, track, BUILDER_START + start, 1000, EPP_KERNEL, builder_name(builder, name), 0, args,
	                 count);
}

static void add_all(void)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	struct epf_track calls = { .kind = EPF_TRACK_DEVICE, .device = -1, .stream = 1, .producer = 0 };
	const epp_arg driver = {
		.key = builder_name(builder, "kind"), .type = EPP_ARG_TEXT, .value.text = "driver", .text_bytes = 6
	};

	builder_producer(builder, 0, "vendor");
	builder_event(builder, thread, BUILDER_START, 20000, EPP_NODE, builder_name(builder, "copy nodes"), NULL, 0);
	add(stream, 0, "dma 7", "kind", "memcpy", 1000, 11);
	add(stream, 2000, "dma: DtoH", "kind", "memcpy", 3000, 12);
	add(stream, 4000, "dma: DtoH", "kind", "memcpy", 0, 0);
	add(stream, 6000, "clear", "cat", "gpu_memset", 500, 0);
	add(stream, 8000, "block move", "cat", "gpu_memcpy", 0, 0);
	add(stream, 10000, "direct_copy_kernel", "kind", "kernel", 700, 0);
	add(stream, 12000, "Memset", "kind", "driver", 0, 0); /* a device's event is none */
	add(stream, 14000, "upload", "grid", "8", 0, 0);
	builder_complete(builder, builder_track(builder, &calls, "thread", "vendor"), BUILDER_START + 500, 10, EPP_API,
	                 builder_name(builder, "copyAsync"), 0, &driver, 1);
	builder_event(builder, thread, BUILDER_START + 21000, 10, EPP_API, builder_name(builder, "launch"), NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
}

/* The line of a table with a name. */
static const struct json *line_of(const char *table, const char *name)
{
	const struct json *lines = json_get(json, table);

	for (size_t i = 0; i < lines->count; i++) {
		if (strcmp(json_text(&lines->items[i], "name"), name) == 0)
			return &lines->items[i];
	}
	ck_abort_msg("no '%s' in %s", name, table);
	return NULL;
}

static int64_t number(const char *phase, const char *key)
{
	return json_thousandths(line_of("phases", phase), key) / 1000;
}

START_TEST(the_summary_adds_up_copies_by_kind)
{
	add_all();
	run = command_run(NULL, "summary", "--format", "json", path, NULL);
	json = json_expect(run.out, run.out_bytes);
	ck_assert_int_eq(number("copy out", "count"), 2);
	ck_assert_int_eq(number("copy out", "bytes"), 3000);
	ck_assert_int_eq(number("copy out", "bytes_count"), 1);
	ck_assert_int_eq(number("copy out", "bytes_ns"), 1000);
	ck_assert_int_eq(number("copy", "count"), 2);
	ck_assert_int_eq(number("copy", "bytes"), 1000);
	ck_assert_int_eq(number("copy in", "count"), 1);
	ck_assert_int_eq(number("fill", "count"), 2);
	ck_assert_int_eq(number("compute", "count"), 1);
	ck_assert_ptr_null(json_get(line_of("phases", "compute"), "bytes"));
	ck_assert_ptr_null(json_get(line_of("phases", "copy in"), "bytes"));
	ck_assert_str_eq(json_text(line_of("kernels", "direct_copy_kernel"), "work"), "kernel");
	ck_assert_str_eq(json_text(line_of("kernels", "dma: DtoH"), "work"), "copy out");
	ck_assert_str_eq(json_text(line_of("kernels", "block move"), "work"), "copy");
	ck_assert_ptr_null(json_get(line_of("ops", "copy nodes"), "work"));
}
END_TEST

START_TEST(the_summary_prints_copies_by_kind)
{
	add_all();
	run = command_run(NULL, "summary", path, NULL);
	const char *table = strstr(run.out, "\nCopies and fills, by kind\n");
	ck_assert_ptr_nonnull(table);
	ck_assert_ptr_nonnull(strstr(table, "  2.9 KiB  2.8 GiB/s  copy out\n"));
	ck_assert_ptr_nonnull(strstr(table, "  -  copy in\n"));
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "phase", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "\nCopies and fills, by kind\n"));
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "op", path, NULL);
	ck_assert_ptr_null(strstr(run.out, "Copies"));
}
END_TEST

START_TEST(every_row_of_the_csv_has_all_columns)
{
	unsigned columns = 0, cells = 1, rows = 0;

	add_all();
	run = command_run(NULL, "summary", "--format", "csv", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, ",work,bytes,bytes_count,bytes_ns,launch_p99_ns,launch_max_ns\n"));
	ck_assert_ptr_nonnull(strstr(run.out, ",,3000,1,1000,,\n"));
	ck_assert_ptr_nonnull(strstr(run.out, ",copy out,,,,,\n"));
	for (const char *at = run.out; *at; at++) {
		cells += *at == ',';
		if (*at != '\n')
			continue;
		columns = columns ? columns : cells;
		ck_assert_uint_eq(cells, columns);
		cells = 1;
		rows++;
	}
	ck_assert_uint_gt(rows, 20);
}
END_TEST

START_TEST(sql_has_kind_and_correlation_as_columns)
{
	static const char by_name[] = "SELECT name, work, correlation FROM timeline WHERE work IS NOT NULL"
				      " ORDER BY start_ns";

	add_all();
	run = command_run(NULL, "sql", "--format", "csv", path, by_name, NULL);
	ck_assert_str_eq(run.err, "");
	ck_assert_str_eq(
	    run.out,
	    "\"name\",\"work\",\"correlation\"\n\"dma 7\",\"copy\",11\n\"copyAsync\",\"driver\",\n\"dma: DtoH\",\"copy out\",12\n"
	    "\"dma: DtoH\",\"copy out\",\n\"clear\",\"fill\",\n\"block move\",\"copy\",\n\"direct_copy_kernel\",\"kernel\",\n"
	    "\"Memset\",\"fill\",\n\"upload\",\"copy in\",\n\"launch\",\"runtime\",\n");
	command_free(&run);
	/* From memory, and by the table of words. */
	run = command_run(NULL, "sql", "--format", "csv", path,
	                  "SELECT works.text, count(*), count(b.correlation) FROM events a JOIN events b"
	                  " ON b.event = a.event JOIN works ON works.work = b.work GROUP BY 1 ORDER BY 1",
	                  NULL);
	ck_assert_str_eq(run.err, "");
	ck_assert_ptr_nonnull(
	    strstr(run.out, "\n\"copy\",2,1\n\"copy in\",1,0\n\"copy out\",2,1\n\"driver\",1,0\n\"fill\",2,0\n"));
}
END_TEST

START_TEST(the_flame_graph_stripes_copies)
{
	add_all();
	run = command_run(NULL, "convert", "-t", "flame", "-o", "-", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, " (striped: copies and fills)"));
	const char *kernel = strstr(run.out, "<title>direct_copy_kernel\n"), *copy = strstr(run.out, "<title>dma: DtoH\n");
	ck_assert(kernel && copy);
	ck_assert(strncmp(strstr(strstr(copy, "each\n") + 5, "<"), "</title>", 8) == 0);
	ck_assert_ptr_nonnull(strstr(copy, "\ncopy out</title>"));
	const char *end = strstr(kernel, "</svg>"), *stripes = strstr(kernel, "url(#stripes)");
	ck_assert(!stripes || stripes > end);
	ck_assert(strstr(copy, "url(#stripes)") < strstr(copy, "</svg>"));
}
END_TEST

START_TEST(without_copies_nothing_is_striped)
{
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);

	add(stream, 0, "gemm", "kind", "kernel", 0, 0);
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "convert", "-t", "flame", "-o", "-", path, NULL);
	ck_assert_ptr_null(strstr(run.out, "stripe"));
	command_free(&run);
	run = command_run(NULL, "summary", path, NULL);
	ck_assert_ptr_null(strstr(run.out, "Copies"));
}
END_TEST

/* Of the events of one name. */
static const char *category_of(const char *name)
{
	const struct json *events = json_get(json, "traceEvents");

	for (size_t i = 0; i < events->count; i++) {
		if (strcmp(json_text(&events->items[i], "name"), name) == 0)
			return json_text(&events->items[i], "cat");
	}
	ck_abort_msg("no '%s'", name);
	return NULL;
}

START_TEST(kineto_has_the_same_kinds)
{
	add_all();
	run = command_run(NULL, "convert", "-t", "kineto", "-o", "-", path, NULL);
	json = json_expect(run.out, run.out_bytes);
	ck_assert_str_eq(category_of("dma 7"), "gpu_memcpy");
	ck_assert_str_eq(category_of("clear"), "gpu_memset");
	ck_assert_str_eq(category_of("block move"), "gpu_memcpy");
	ck_assert_str_eq(category_of("direct_copy_kernel"), "kernel");
	ck_assert_str_eq(category_of("copyAsync"), "privateuse1_driver");
	ck_assert_str_eq(category_of("launch"), "privateuse1_runtime");
	ck_assert_str_eq(category_of("copy nodes"), "cpu_op");
}
END_TEST

/* PyTorch's categories are kept on the way through epprof, whatever the names are. */
START_TEST(an_imported_copy_stays_a_copy)
{
	static const char trace[] =
	    "{\"traceEvents\": ["
	    "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuMove\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":5}},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"dma 3\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":2,\"args\":{\"correlation\":5,\"bytes\":64}},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"clear\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void copy_kernel<4>\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2}]}";
	char from[600];

	snprintf(from, sizeof from, "%s.json", path);
	FILE *file = fopen(from, "w");
	ck_assert(file && fputs(trace, file) >= 0 && fclose(file) == 0);
	run = command_run(NULL, "import", "-o", path, from, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	run = command_run(NULL, "sql", "--format", "csv", path,
	                  "SELECT name, work, correlation FROM timeline WHERE work IS NOT NULL ORDER BY start_ns", NULL);
	ck_assert_str_eq(run.out,
	                 "\"name\",\"work\",\"correlation\"\n\"cuMove\",\"driver\",5\n\"dma 3\",\"copy\",5\n\"clear\",\"fill\",\n"
	                 "\"void copy_kernel<4>\",\"kernel\",\n");
	command_free(&run);
	run = command_run(NULL, "convert", "-t", "kineto", "-o", "-", path, NULL);
	json = json_expect(run.out, run.out_bytes);
	ck_assert_str_eq(category_of("dma 3"), "gpu_memcpy");
	ck_assert_str_eq(category_of("clear"), "gpu_memset");
	ck_assert_str_eq(category_of("void copy_kernel<4>"), "kernel");
	ck_assert_str_eq(category_of("cuMove"), "privateuse1_driver");
	unlink(from);
}
END_TEST

static Suite *work_suite(void)
{
	Suite *suite = suite_create("work");
	TCase *tests = tcase_create("work");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_summary_adds_up_copies_by_kind);
	tcase_add_test(tests, the_summary_prints_copies_by_kind);
	tcase_add_test(tests, every_row_of_the_csv_has_all_columns);
	tcase_add_test(tests, sql_has_kind_and_correlation_as_columns);
	tcase_add_test(tests, the_flame_graph_stripes_copies);
	tcase_add_test(tests, without_copies_nothing_is_striped);
	tcase_add_test(tests, kineto_has_the_same_kinds);
	tcase_add_test(tests, an_imported_copy_stays_a_copy);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(work_suite)
