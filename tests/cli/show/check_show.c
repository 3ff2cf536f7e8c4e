/* epprof show: one event, the events that enclose or caused it, and those that it encloses or caused.  Covers show.c,
 * show_tree.c and show_text.c. */
#include <inttypes.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"

static struct command run;
static char path[512], id_text[32];

/* A run with 30 nodes; node 3 launches a kernel that starts behind the run, while another thread works. */
struct ids {
	uint64_t run, node, launch, kernel;
};

static struct ids write_trace(void)
{
	static const char quote[] = "it's \"x\"\x1b";
	struct epp_builder *b = builder_create();
	uint32_t worker = builder_thread(b, "worker", 4711), other = builder_thread(b, "other", 4712);
	uint32_t stream = builder_device(b, "stream 7", "Accelerator 0", 0, 7, EPF_TRACK_CLOCK_HOST);
	const epp_arg args[] = {
		{ .key = builder_name(b, "shape"), .type = EPP_ARG_TEXT, .value.text = quote, .text_bytes = strlen(quote) },
		{ .key = builder_name(b, "number"), .type = EPP_ARG_I64, .value.i64 = -5 }
	};
	struct ids ids = { 0 };

	ids.run = builder_begin(b, worker, BUILDER_START + 1000, EPP_SESSION, builder_name(b, "model_run"));
	for (unsigned i = 0; i < 30; i++) {
		uint64_t at = BUILDER_START + 2000 + i * 1000;
		uint64_t node = builder_begin(b, worker, at, EPP_NODE, builder_name(b, i == 3 ? "o'p \"gemm\"" : "node"));
		uint64_t launch = builder_begin(b, worker, at + 100, EPP_API, builder_name(b, "launch"));
		builder_end(b, worker, launch, at + 150, NULL, 0);
		builder_end(b, worker, node, at + 500 + i, i == 3 ? args : NULL, i == 3 ? 2 : 0);
		if (i == 3) {
			ids.node = node;
			ids.launch = launch;
		}
	}
	builder_end(b, worker, ids.run, BUILDER_START + 40000, NULL, 0);
	builder_event(b, other, BUILDER_START + 3000, 60000, EPP_NODE, builder_name(b, "elsewhere"), NULL, 0);
	ids.kernel = builder_complete(b, stream, BUILDER_START + 50100, 2000, EPP_KERNEL,
	                              builder_name(b, "gemm_kernel"), ids.launch, NULL, 0);
	snprintf(path, sizeof path, "%s", check_path("show.epp"));
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return ids;
}

static void teardown(void)
{
	command_free(&run);
	if (*path)
		unlink(path);
}

static void show_id(uint64_t id)
{
	command_free(&run);
	snprintf(id_text, sizeof id_text, "%" PRIu64, id);
	run = command_run(NULL, "show", "--id", id_text, path, NULL);
	ck_assert_msg(run.code == 0, "exit status %d: %s", run.code, run.err);
}

static void show_where(const char *expression)
{
	command_free(&run);
	run = command_run(NULL, "show", "--where", expression, path, NULL);
}

static void has(const char *text)
{
	ck_assert_msg(strstr(run.out, text) != NULL, "no '%s' in\n%s%s", text, run.out, run.err);
}

static void has_not(const char *text)
{
	ck_assert_msg(strstr(run.out, text) == NULL, "'%s' in\n%s", text, run.out);
}

START_TEST(a_host_event_has_ancestors_children_and_kernels)
{
	struct ids ids = write_trace();

	show_id(ids.node);
	ck_assert_msg(strncmp(run.out, "o'p \"gemm\"\n", 11) == 0, "%s", run.out);
	has("  kind      slice, category Node\n  thread    worker (4711)\n");
	has("  start     0.000005000 s\n  duration  503 ns\n");
	/* A control character of an arg does not reach the terminal. */
	has("  args      shape = it's \"x\"\xEF\xBF\xBD\n            number = -5\n");
	has("        start  duration   queued  on        event\n"
	    "  0.000001000   39.0 us           worker      model_run\n"
	    "  0.000005000    503 ns           worker      > o'p \"gemm\"\n"
	    "  0.000005100     50 ns           worker          launch\n"
	    "  0.000050100   2.00 us  45.0 us  stream 7          gemm_kernel\n");
	has("  on devices  1 event, 2.00 us in all\n");
	has_not("elsewhere");
	has_not("            503 ns");
	has_not("more event");
}
END_TEST

START_TEST(a_kernel_has_its_cause_and_its_launch)
{
	struct ids ids = write_trace();
	char launched[96];

	show_id(ids.kernel);
	has("  duration  2.00 us\n            2000 ns\n");
	has("  stream    stream 7 of Accelerator 0, device 0, stream 7\n");
	snprintf(launched, sizeof launched, "  launched  0.000005100 s by launch (%" PRIu64 ")\n  queued    45.0 us\n",
	         ids.launch);
	has(launched);
	has("worker      model_run\n");
	has("stream 7        > gemm_kernel\n");
	has_not("on devices");
}
END_TEST

START_TEST(children_and_levels_are_limited)
{
	struct ids ids = write_trace();

	show_id(ids.run);
	has("  10 more events\n");
	has("1 event, 2.00 us in all");
	run = (command_free(&run), command_run(NULL, "show", "--top", "2", "--depth", "1", "--id", id_text, path, NULL));
	ck_assert_int_eq(run.code, 0);
	has("  28 more events\n");
	has("  1 event\n");
	has_not("launch\n");
	run = (command_free(&run), command_run(NULL, "show", "--depth", "0", "--id", id_text, path, NULL));
	has("  30 events\n");
	has_not("node");
	run = (command_free(&run), command_run(NULL, "show", "--top", "0", "--id", id_text, path, NULL));
	has_not("more event");
	/* A kernel counts although its launch is not printed. */
	has("on devices  1 event, 2.00 us in all");
}
END_TEST

START_TEST(the_longest_match_is_shown)
{
	write_trace();
	show_where("name = 'node' AND category = 'Node' -- a comment");
	ck_assert_msg(run.code == 0, "%s", run.err);
	has("duration  529 ns");
	ck_assert_str_eq(run.err, "epprof: the longest of 29 events\n");
	show_where("name = 'o''p \"gemm\"'");
	has("duration  503 ns");
	ck_assert_str_eq(run.err, "");
	show_where("name = 'none'");
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "no event where name = 'none'\n"));
}
END_TEST

START_TEST(an_arg_is_a_column)
{
	write_trace();
	show_where("number = -5");
	ck_assert_msg(run.code == 0, "%s", run.err);
	has("o'p \"gemm\"\n");
	ck_assert_str_eq(run.err, "");
	show_where("name != 'node' AND shape LIKE 'it''s%' AND number < 0");
	ck_assert_msg(run.code == 0, "%s", run.err);
	has("duration  503 ns");
	/* Events without the arg have no value. */
	show_where("number IS NULL AND name = 'node'");
	ck_assert_str_eq(run.err, "epprof: the longest of 29 events\n");
	show_where("number = 6");
	ck_assert_ptr_nonnull(strstr(run.err, "no event where number = 6\n"));
	show_where("numbr = 6");
	ck_assert_ptr_nonnull(strstr(run.err, "no such column: numbr"));
	show_where("[number' OR 1] = 6");
	ck_assert_ptr_nonnull(strstr(run.err, "no such column: number' OR 1"));
}
END_TEST

START_TEST(mistakes_are_explained)
{
	write_trace();
	show_where("nme = 'node'");
	ck_assert_int_eq(run.code, 1);
	ck_assert_msg(strncmp(run.err, "epprof: --where: no such column: nme", 36) == 0, "%s", run.err);
	show_where("1); SELECT (1");
	ck_assert_int_eq(run.code, 1);
	show_where("");
	ck_assert_int_eq(run.code, 1);
	run = (command_free(&run), command_run(NULL, "show", path, NULL));
	ck_assert_int_eq(run.code, 2);
	run = (command_free(&run), command_run(NULL, "show", "--id", "5", "--where", "1", path, NULL));
	ck_assert_int_eq(run.code, 2);
	run = (command_free(&run), command_run(NULL, "show", "--id", "-5", path, NULL));
	ck_assert_int_eq(run.code, 2);
	ck_assert_ptr_nonnull(strstr(run.err, "--id '-5': an id is a number"));
	run = (command_free(&run), command_run(NULL, "show", "--id", "5", path, NULL));
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "no event with id = 5\n"));
	run = (command_free(&run), command_run(NULL, "show", "--id", "5", check_path("none.epp"), NULL));
	ck_assert_int_eq(run.code, 5);
}
END_TEST

START_TEST(a_failed_write_is_reported)
{
	struct ids ids = write_trace();

	snprintf(id_text, sizeof id_text, "%" PRIu64, ids.node);
	run = command_run("/dev/full", "show", "--id", id_text, path, NULL);
	ck_assert_int_eq(run.code, 1);
}
END_TEST

/* In a file that was cut, what remains is shown, or its absence is an error. */
START_TEST(a_cut_file_does_no_harm)
{
	struct ids ids = write_trace();
	size_t bytes;
	char *image = command_file(path, &bytes);

	free(image);
	snprintf(id_text, sizeof id_text, "%" PRIu64, ids.kernel);
	for (size_t cut = bytes; cut > 5000; cut -= cut / 5) {
		ck_assert_int_eq(truncate(path, (off_t)cut), 0);
		command_free(&run);
		run = command_run(NULL, "show", "--id", id_text, path, NULL);
		ck_assert_msg(run.code == 0 || run.code == 1 || run.code == 5, "%zu: %d %s", cut, run.code, run.err);
	}
}
END_TEST

START_TEST(parents_in_a_circle_end)
{
	struct epp_builder *b = builder_create();
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint64_t first = builder_complete(b, stream, BUILDER_START, 10, EPP_KERNEL, builder_name(b, "one"), 0, NULL, 0);
	uint64_t own = builder_complete(b, stream, BUILDER_START + 20, 10, EPP_KERNEL, builder_name(b, "own"),
	                                first + 1, NULL, 0);

	ck_assert_uint_eq(own, first + 1);
	snprintf(path, sizeof path, "%s", check_path("circle.epp"));
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	show_id(own);
	has("own");
}
END_TEST

/* A node that launched a kernel; names end with the file's letter, ids are the same in each file. */
static uint64_t write_process(char file)
{
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;
	char name[32];

	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
	snprintf(source->program, sizeof source->program, "program %c", file);
	uint32_t worker = builder_thread(b, "worker", 4711);
	uint32_t stream = builder_device(b, "stream 7", "Accelerator 0", 0, 7, EPF_TRACK_CLOCK_HOST);
	snprintf(name, sizeof name, "node %c", file);
	uint64_t node = builder_event(b, worker, BUILDER_START + 1000, 9000, EPP_NODE, builder_name(b, name), NULL, 0);
	snprintf(name, sizeof name, "kernel %c", file);
	builder_complete(b, stream, BUILDER_START + 2000, 3000, EPP_KERNEL, builder_name(b, name), node, NULL, 0);
	builder_write(b, EPF_FINISHED, check_path("%c.epp", file));
	builder_destroy(b);
	return node;
}

/* Ids are unique within a process: each event has its own process's kernels. */
START_TEST(processes_of_a_merged_trace_stay_apart)
{
	char where[64];
	uint64_t id = write_process('a');

	ck_assert_uint_eq(write_process('b'), id);
	snprintf(path, sizeof path, "%s", check_path("m.epp"));
	epp_trace_close(merging(path, NULL, check_path("a.epp"), check_path("b.epp")));
	show_id(id);
	ck_assert_msg(strstr(run.err, "1 more event with this id, in other processes") != NULL, "%s", run.err);
	for (int source = 0; source < 2; source++) {
		snprintf(where, sizeof where, "id = %" PRIu64 " AND source = %d", id, source);
		show_where(where);
		ck_assert_msg(run.code == 0, "%s", run.err);
		has(source ? "> node b\n" : "> node a\n");
		has(source ? "kernel b\n" : "kernel a\n");
		has(source ? "program b (" : "program a (");
		has_not(source ? "kernel a" : "kernel b");
		has("  on devices  1 event, 3.00 us in all\n");
		ck_assert_str_eq(run.err, "");
	}
}
END_TEST

static Suite *show_suite(void)
{
	Suite *suite = suite_create("show");
	TCase *tests = tcase_create("show");

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, a_host_event_has_ancestors_children_and_kernels);
	tcase_add_test(tests, a_kernel_has_its_cause_and_its_launch);
	tcase_add_test(tests, children_and_levels_are_limited);
	tcase_add_test(tests, the_longest_match_is_shown);
	tcase_add_test(tests, mistakes_are_explained);
	tcase_add_test(tests, an_arg_is_a_column);
	tcase_add_test(tests, a_failed_write_is_reported);
	tcase_add_test(tests, a_cut_file_does_no_harm);
	tcase_add_test(tests, parents_in_a_circle_end);
	tcase_add_test(tests, processes_of_a_merged_trace_stay_apart);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(show_suite)
