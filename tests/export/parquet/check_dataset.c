/* A run as a folder of Parquet files: which file holds what, small tables beside them, names of hosts that are no names
 * of folders, and nothing left behind where something fails.  Covers dataset.c and the command's part. */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "epprof/trace_writer.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"
#include "tests/support/parquet_text.h"

#define UNIX_NS 1700000000000000000ll

/* Each process: two events named after it, one lost. */
static void write_trace(const char *path, const char *const *hosts, uint32_t processes)
{
	epp_trace_writer *writer;
	char name[32];

	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){
		.struct_size = sizeof(epp_trace_writer_options), .path = path, .label = "made", .overwrite = 1 },
	    &writer));
	for (uint32_t i = 0; i < processes; i++) {
		uint32_t source = 0, track;
		if (i)
			check_ok(epp_trace_writer_add_source(writer, &source));
		epp_trace_writer_describe_source(writer, source, 1000 + i, "program", hosts[i]);
		check_ok(epp_trace_writer_add_track(writer,
		                                    &(epp_trace_track){ .kind = EPP_TRACK_THREAD,
		                                                        .source = source,
		                                                        .thread_id = 7,
		                                                        .device = -1,
		                                                        .producer = -1,
		                                                        .name = "bad \xff name" },
		                                    &track));
		epp_name number = epp_trace_writer_intern_name(writer, name,
		                                               (size_t)snprintf(name, sizeof name, "of %u", i));
		for (uint64_t k = 0; k < 2; k++)
			check_ok(epp_trace_writer_add_record(writer, &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
			                                                                  .track = track,
			                                                                  .id = k + 1,
			                                                                  .name = number,
			                                                                  .category = EPP_NODE,
			                                                                  .start_ticks = 1000 + k * 500 - i,
			                                                                  .duration_ticks = 10 }));
		epp_trace_writer_count_lost(writer, track, EPP_LOSS_FILTER, i);
	}
	check_ok(epp_trace_writer_finish(writer, &(epp_trace_pair){ 500, 0, 500, UNIX_NS },
	                                 &(epp_trace_pair){ 5000, 0, 5000, UNIX_NS + 4500 }));
	epp_trace_writer_destroy(writer);
}

static struct parquet_table *read_table(const char *format, ...) __attribute__((format(printf, 1, 2)));
static struct parquet_table *read_table(const char *format, ...)
{
	char path[1024];
	size_t count;
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof path, format, args);
	va_end(args);
	char *bytes = command_file(path, &count);
	ck_assert_msg(count > 0, "%s is not there", path);
	struct parquet_table *table = parquet_table_read(bytes, count);
	free(bytes);
	return table;
}

static int64_t integer_of(const struct parquet_table *table, const char *column, size_t row)
{
	return table->values[parquet_table_column(table, column)][row].integer;
}

static const char *text_of(const struct parquet_table *table, const char *column, size_t row)
{
	return table->values[parquet_table_column(table, column)][row].text;
}

static void export_run(const char *trace_path, const char *folder, const char *run)
{
	epp_trace *trace;

	check_ok(epp_trace_open(trace_path, &trace));
	check_ok(epp_export_dataset(trace, folder, run, NULL, 0, NULL, NULL));
	epp_trace_close(trace);
}

static size_t entries_of(const char *folder)
{
	DIR *directory = opendir(folder);
	size_t count = 0;

	if (!directory)
		return 0;
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

START_TEST(a_file_for_the_processes_of_a_host)
{
	const char *hosts[150];
	char *trace = check_path("t.epp"), *folder = check_path("set");
	size_t rows = 0;

	/* 130 of one host, 19 of another, whose name is none of a folder; one that says nothing. */
	for (uint32_t i = 0; i < 150; i++)
		hosts[i] = i == 149 ? "" : i % 8 == 3 ? "b/c=d" : "alpha";
	write_trace(trace, hosts, 150);
	export_run(trace, folder, "r-1");
	ck_assert_uint_eq(entries_of(folder), 1);
	for (int part = 0; part < 3; part++) {
		struct parquet_table *table = read_table("%s/run=r-1/host=alpha/part-%d.parquet", folder, part);
		size_t most = part < 2 ? 128 : 4;
		ck_assert_uint_eq(table->rows_count, most);
		for (size_t i = 0; i < table->rows_count; i++) {
			char name[32];
			int64_t source = integer_of(table, "source", i);
			snprintf(name, sizeof name, "of %d", (int)source);
			ck_assert_str_eq(text_of(table, "name", i), name);
			ck_assert_str_eq(hosts[source], "alpha");
			ck_assert(!i || integer_of(table, "start_ns", i) >= integer_of(table, "start_ns", i - 1));
		}
		ck_assert_int_eq(integer_of(table, "session", 0), 1);
		rows += table->rows_count;
		parquet_table_free(table);
	}
	struct parquet_table *table = read_table("%s/run=r-1/host=b_c_d/part-0.parquet", folder);
	rows += table->rows_count;
	parquet_table_free(table);
	table = read_table("%s/run=r-1/host=unknown/part-0.parquet", folder);
	rows += table->rows_count;
	parquet_table_free(table);
	ck_assert_uint_eq(rows, 300);

	table = read_table("%s/run=r-1/processes.parquet", folder);
	ck_assert_uint_eq(table->rows_count, 150);
	ck_assert_str_eq(text_of(table, "host", 3), "b_c_d");
	ck_assert_str_eq(text_of(table, "hostname", 3), "b/c=d");
	ck_assert_int_eq(integer_of(table, "pid", 149), 1149);
	ck_assert_int_eq(integer_of(table, "epoch_unix_ns", 9), UNIX_NS);
	parquet_table_free(table);
	table = read_table("%s/run=r-1/tracks.parquet", folder);
	ck_assert_uint_eq(table->rows_count, 150);
	ck_assert_str_eq(text_of(table, "name", 4), "bad \xef\xbf\xbd name");
	ck_assert_int_eq(integer_of(table, "source", 4), 4);
	ck_assert(table->values[parquet_table_column(table, "device")][4].is_null);
	parquet_table_free(table);
	table = read_table("%s/run=r-1/names.parquet", folder);
	bool found = false;
	for (size_t i = 0; i < table->rows_count; i++)
		found = found || !strcmp(text_of(table, "name", i), "of 149");
	ck_assert(found);
	parquet_table_free(table);
	table = read_table("%s/run=r-1/ledger.parquet", folder);
	int64_t lost = 0;
	for (size_t i = 0; i < table->rows_count; i++)
		if (!strcmp(text_of(table, "entry", i), "lost")) {
			ck_assert_str_eq(text_of(table, "reason", i), "filter");
			ck_assert_int_eq(integer_of(table, "events", i), integer_of(table, "source", i));
			lost += integer_of(table, "events", i);
		}
	ck_assert_int_eq(lost, 149 * 150 / 2);
	parquet_table_free(table);
}
END_TEST

static int64_t entry_of(const struct parquet_table *table, const char *producer, const char *entry, const char *reason)
{
	int64_t events = -1;

	for (size_t i = 0; i < table->rows_count; i++) {
		size_t column = parquet_table_column(table, "reason");
		const char *why = table->values[column][i].is_null ? "" : table->values[column][i].text;
		if (strcmp(text_of(table, "producer", i), producer) != 0 ||
		    strcmp(text_of(table, "entry", i), entry) != 0 || strcmp(why, reason) != 0)
			continue;
		ck_assert_int_eq(events, -1);
		events = integer_of(table, "events", i);
	}
	return events;
}

START_TEST(the_ledger_is_whole)
{
	epp_export_options options = { .struct_size = sizeof options, .min_duration_ns = 50 };
	struct epp_builder *b = builder_create();
	char *folder = check_path("ledger");
	uint32_t thread = builder_thread(b, "main", 12);
	epp_name name = builder_name(b, "op");

	for (unsigned i = 0; i < 10; i++)
		builder_event(b, thread, BUILDER_START + i * 100, i < 7 ? 40 : 60, EPP_NODE, name, NULL, 0);
	builder_lost(b, thread, EPP_LOSS_TOO_DEEP, 3, 0);
	builder_lost(b, thread, EPP_LOSS_TOO_LARGE, 2, 0); /* which took ids of events that are not there: unbalanced */
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	check_ok(epp_export_dataset(trace, folder, "r", &options, 0, NULL, NULL));
	struct parquet_table *table = read_table("%s/run=r/ledger.parquet", folder);
	const char *main_thread = "thread main (12)", *filters = "filters of this export";
	ck_assert_int_eq(entry_of(table, main_thread, "emitted", ""), 15);
	ck_assert_int_eq(entry_of(table, main_thread, "written", ""), 10);
	ck_assert_int_eq(entry_of(table, main_thread, "open", ""), 0);
	ck_assert_int_eq(entry_of(table, main_thread, "lost", "too deep"), 3);
	ck_assert_int_eq(entry_of(table, main_thread, "lost", "too large"), 2);
	ck_assert_int_eq(entry_of(table, main_thread, "errors", ""), 0);
	ck_assert_int_eq(entry_of(table, main_thread, "balanced", ""), 0);
	ck_assert_int_eq(entry_of(table, filters, "emitted", ""), 7);
	ck_assert_int_eq(entry_of(table, filters, "lost", "filter"), 7);
	ck_assert_int_eq(entry_of(table, filters, "written", ""), 0);
	ck_assert_int_eq(entry_of(table, filters, "balanced", ""), 1);
	size_t source = parquet_table_column(table, "source");
	ck_assert(table->values[source][table->rows_count - 1].is_null);
	ck_assert(!table->values[source][0].is_null);
	parquet_table_free(table);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(runs_stand_beside_each_other)
{
	const char *host = "alpha";
	char *trace_path = check_path("t.epp"), *folder = check_path("runs");
	epp_trace *trace;

	write_trace(trace_path, &host, 1);
	export_run(trace_path, folder, "1");
	export_run(trace_path, folder, "2");
	ck_assert_uint_eq(entries_of(folder), 2);
	check_ok(epp_trace_open(trace_path, &trace));
	check_fails(EPP_EXISTS, epp_export_dataset(trace, folder, "2", NULL, 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_dataset(trace, folder, "a/b", NULL, 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_dataset(trace, folder, "..", NULL, 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_dataset(trace, folder, "", NULL, 0, NULL, NULL));
	/* What a run had before is not mixed with what it has now. */
	char stale[1024];
	snprintf(stale, sizeof stale, "%s/run=2/host=alpha/part-7.parquet", folder);
	FILE *file = fopen(stale, "w");
	ck_assert(file && fclose(file) == 0);
	check_ok(epp_export_dataset(trace, folder, "2", NULL, 1, NULL, NULL));
	ck_assert_int_ne(access(stale, F_OK), 0);
	ck_assert_uint_eq(entries_of(folder), 2);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_full_disk_leaves_no_run)
{
	const char *hosts[3] = { "a", "b", "c" };
	char *trace_path = check_path("t.epp"), *folder = check_path("full");
	struct rlimit whole, small;
	unsigned failed = 0;
	epp_trace *trace;

	signal(SIGXFSZ, SIG_IGN);
	write_trace(trace_path, hosts, 3);
	check_ok(epp_trace_open(trace_path, &trace));
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
	for (rlim_t limit = 0;; limit += 200) {
		small = whole;
		small.rlim_cur = limit;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
		epp_status *status = epp_export_dataset(trace, folder, "r", NULL, 0, NULL, NULL);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
		if (!status)
			break;
		ck_assert_int_eq(epp_status_code(status), EPP_IO);
		epp_status_destroy(status);
		ck_assert_uint_eq(entries_of(folder), 0);
		failed++;
	}
	ck_assert_uint_gt(failed, 5);
	ck_assert_uint_eq(entries_of(folder), 1);
	epp_trace_close(trace);
}
END_TEST

START_TEST(the_command)
{
	const char *alpha = "alpha", *beta = "beta";
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *folder = check_path("command");

	write_trace(a, &alpha, 1);
	write_trace(b, &beta, 1);
	struct command run = command_run(NULL, "convert", "-t", "parquet", "--run", "x", "-o", folder, a, b, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	ck_assert_uint_eq(entries_of(folder), 1);
	parquet_table_free(read_table("%s/run=x/host=alpha/part-0.parquet", folder));
	parquet_table_free(read_table("%s/run=x/host=beta/part-0.parquet", folder));
	run = command_run(NULL, "convert", "--run", "x", "-o", folder, a, b, NULL);
	ck_assert(run.code == 1 && strstr(run.err, "--force"));
	command_free(&run);
	ck_assert_uint_eq(entries_of(folder), 1);
	run = command_run(NULL, "convert", "--run", "x", "-t", "csv", "-o", folder, a, NULL);
	ck_assert_int_eq(run.code, 2);
	command_free(&run);
}
END_TEST

START_TEST(losses_show_if_asked_for)
{
	struct epp_builder *b = builder_create();
	char *path = check_path("lossy.epp"), *folder = check_path("strict");

	builder_lost(b, builder_thread(b, "main", 12), EPP_LOSS_TOO_DEEP, 3, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	struct command run = command_run(NULL, "convert", "--run", "x", "-o", folder, path, NULL);
	ck_assert_int_eq(run.code, 0);
	command_free(&run);
	run = command_run(NULL, "convert", "--strict", "--force", "--run", "x", "-o", folder, path, NULL);
	ck_assert_int_eq(run.code, 3);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dataset");
	TCase *tc = tcase_create("dataset");

	tcase_add_test(tc, a_file_for_the_processes_of_a_host);
	tcase_add_test(tc, the_ledger_is_whole);
	tcase_add_test(tc, runs_stand_beside_each_other);
	tcase_add_test(tc, a_full_disk_leaves_no_run);
	tcase_add_test(tc, the_command);
	tcase_add_test(tc, losses_show_if_asked_for);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
