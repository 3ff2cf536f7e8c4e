/* epprof diff of sets of traces: traces of known truth, with noise between runs and inside each of them, and all that can
 * be wrong with a set. */
#include <math.h>

#include "tests/support/command_expect.h"
#include "tests/support/epp_builder.h"
#include "tests/support/strict_json.h"

#define SETS_TRACES 5u
#define MODEL_RUNS 60u

/* How a trace differs from the others. */
struct recipe {
	double slowdown;                   /* of everything */
	double kernel_slowdown;            /* of the kernel alone */
	bool without_runs;                 /* no model_run */
	const char *device, *host, *extra; /* extra: a name that only this trace has */
	uint64_t ticks_per_second;
};

static double normal(unsigned short *random)
{
	return sqrt(-2 * log(1 - erand48(random))) * cos(2 * M_PI * erand48(random));
}

static uint64_t noisy(double ns, unsigned short *random)
{
	return (uint64_t)(ns * exp(0.05 * normal(random)));
}

/* A run of the program: its times have an offset of their own of about 1 %, and each event varies by 5 %. */
static void write_trace(const char *path, unsigned seed, const struct recipe *recipe)
{
	static const char *const nodes[] = { "conv \"a\"", "mat|mul_1", "soft\\max <b>@user", "relu" };
	struct epp_builder *b = builder_create();
	unsigned short random[3] = { (unsigned short)seed, 5, 7 };
	double scale = exp(0.01 * normal(random)) * (1 + recipe->slowdown);
	uint32_t thread = builder_thread(b, "main", 1);
	uint32_t stream = builder_device(b, "stream", recipe->device ? recipe->device : "Accelerator", 0, 1,
	                                 EPF_TRACK_CLOCK_HOST);
	uint64_t at = BUILDER_START;

	for (unsigned i = 0; i < 8; i++)
		builder_header(b)->file_id[i] = (uint8_t)(seed >> (i % 4 * 8));
	if (recipe->host)
		snprintf(builder_header(b)->source.hostname, sizeof builder_header(b)->source.hostname, "%s", recipe->host);
	if (recipe->ticks_per_second)
		builder_header(b)->source.ticks_per_second = recipe->ticks_per_second;
	for (unsigned run = 0; run < MODEL_RUNS; run++) {
		uint64_t id = recipe->without_runs
		                  ? 0
		                  : builder_begin(b, thread, at, EPP_SESSION, builder_name(b, "model_run"));
		for (unsigned node = 0; node < sizeof nodes / sizeof *nodes; node++) {
			uint64_t ns = noisy(100000 * scale * (node + 1), random);
			uint64_t launch = builder_event(b, thread, at, ns, EPP_NODE, builder_name(b, nodes[node]), NULL, 0);
			builder_complete(b, stream, at + 10, noisy(50000 * scale * (1 + recipe->kernel_slowdown), random),
			                 EPP_KERNEL, builder_name(b, "gemm"), launch, NULL, 0);
			at += ns;
		}
		if (id)
			builder_end(b, thread, id, at, NULL, 0);
		at += 1000;
	}
	if (recipe->extra)
		builder_event(b, thread, at, 1000, EPP_NODE, builder_name(b, recipe->extra), NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
}

/* The paths of two sets of traces. */
static char paths[2][SETS_TRACES][512];

static void write_sets(unsigned seed, const struct recipe *before, const struct recipe *after)
{
	for (unsigned set = 0; set < 2; set++) {
		for (unsigned i = 0; i < SETS_TRACES; i++) {
			snprintf(paths[set][i], sizeof paths[set][i], "%s",
			         check_path("%s-%u.epp", set ? "after" : "before", i));
			write_trace(paths[set][i], 100 * seed + 10 * set + i + 1, set ? after : before);
		}
	}
}

#define BEFORE "--before", paths[0][0], paths[0][1], paths[0][2], paths[0][3], paths[0][4]
#define AFTER "--after", paths[1][0], paths[1][1], paths[1][2], paths[1][3], paths[1][4]

static const struct recipe plain;

static struct json *json_of(struct command *run, int code)
{
	ck_assert_msg(run->code == code, "status %d: %s", run->code, run->err);
	return json_expect(run->out, run->out_bytes);
}

static const struct json *name_of(const struct json *report, const char *kind, const char *name)
{
	const struct json *names = json_get(report, "names");

	for (size_t i = 0; i < names->count; i++)
		if (strcmp(json_text(&names->items[i], "kind"), kind) == 0 &&
		    strcmp(json_text(&names->items[i], "name"), name) == 0)
			return &names->items[i];
	ck_abort_msg("no %s '%s'", kind, name);
	return NULL;
}

/* ---- truth ---- */

#define COMPARISONS 10u

START_TEST(equal_programs_and_a_slower_one)
{
	unsigned alarms = 0, found = 0, beyond = 0;

	for (unsigned i = 0; i < 2 * COMPARISONS; i++) {
		bool slower = i % 2;
		write_sets(i, &plain, slower ? &(struct recipe){ .slowdown = 0.03 } : &plain);
		struct command run = command_run(NULL, "diff", "--format", "json", "--limit", "0", BEFORE, AFTER, NULL);
		struct json *report = json_of(&run, run.code == 3 ? 3 : 0);
		bool any = strcmp(json_text(json_get(report, "run"), "verdict"), "none") != 0 ||
		           json_thousandths(report, "slower") || json_thousandths(report, "faster");
		alarms += !slower && any;
		found += slower && strcmp(json_text(json_get(report, "run"), "verdict"), "slower") == 0;
		beyond += slower && run.code == 3;
		ck_assert_str_eq(json_text(json_get(report, "run"), "name"), "model_run");
		ck_assert_uint_eq(json_get(json_get(report, "run"), "before_ns")->count, SETS_TRACES);
		json_free(report);
		command_free(&run);
	}
	ck_assert_uint_le(alarms, 1);
	ck_assert_uint_ge(found, COMPARISONS - 1);
	ck_assert_uint_ge(beyond, COMPARISONS - 1);
}
END_TEST

/* The kernel is slower, but the runs are not. */
START_TEST(one_name_is_slower)
{
	write_sets(1, &plain, &(struct recipe){ .kernel_slowdown = 0.5 });
	struct command run = command_run(NULL, "diff", "--format", "json", BEFORE, AFTER, NULL);
	struct json *report = json_of(&run, 0);

	ck_assert_int_eq(json_thousandths(report, "slower"), 1000);
	ck_assert_str_eq(json_text(json_get(report, "run"), "verdict"), "none");
	const struct json *first = json_get(report, "names")->items;
	ck_assert_str_eq(json_text(first, "name"), "gemm");
	ck_assert_str_eq(json_text(first, "verdict"), "slower");
	ck_assert_str_eq(json_text(name_of(report, "op", "soft\\max <b>@user"), "verdict"), "none");
	ck_assert_str_eq(json_text(name_of(report, "op", "conv \"a\""), "category"), "Node");
	json_free(report);
	command_free(&run);
	/* Exit status 3 beyond a limit. */
	EXPECT(3, "slower by more than 20 %", "diff", "--limit", "20", BEFORE, AFTER);
	EXPECT(0, "", "diff", "--limit", "90", BEFORE, AFTER);
}
END_TEST

/* ---- the formats ---- */

START_TEST(text_has_the_worst_first)
{
	write_sets(1, &plain, &(struct recipe){ .slowdown = 0.2, .extra = "only after" });
	struct command run = command_run(NULL, "diff", BEFORE, "--limit", "5", AFTER, NULL);

	ck_assert_int_eq(run.code, 3);
	ck_assert_ptr_nonnull(strstr(run.out, "Slower: the time of a run changed by +"));
	ck_assert_ptr_nonnull(strstr(run.out, "5 traces before, 5 traces after; median of model_run\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "The limit of 5 % is exceeded."));
	ck_assert_ptr_nonnull(strstr(run.out, " verdict  kind"));
	ck_assert_ptr_null(strchr(run.out, '?'));
	const char *relu = strstr(run.out, "  relu"), *conv = strstr(run.out, "  conv \"a\""),
		   *extra = strstr(run.out, "only after");
	ck_assert(relu && conv && extra && relu < conv && conv < extra);
	ck_assert_ptr_nonnull(strstr(run.out, "  new "));
	command_free(&run);
	run = command_run(NULL, "diff", AFTER, BEFORE, "--top", "1", NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "Slower"));
	ck_assert_ptr_nonnull(strstr(run.out, "  ... and 5 more\n"));
	ck_assert_ptr_null(strstr(run.out, "conv"));
	command_free(&run);
}
END_TEST

START_TEST(markdown_names_are_data)
{
	write_sets(1, &plain, &(struct recipe){ .slowdown = 0.2, .extra = "a`b`\nwww.example.org" });
	struct command run = command_run(NULL, "diff", "--format", "markdown", BEFORE, AFTER, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_int_eq(strncmp(run.out, "**Slower: the time of a run changed by +", 40), 0);
	ck_assert_ptr_nonnull(
	    strstr(run.out, "\n| change | 95 % interval | before | after | verdict | kind | of | name |\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "| <code>soft&#92;max &#60;b&#62;&#64;user</code> |"));
	ck_assert_ptr_nonnull(strstr(run.out, "| <code>mat&#124;mul&#95;1</code> |"));
	ck_assert_ptr_nonnull(strstr(run.out, "<code>conv &#34;a&#34;</code>"));
	ck_assert_ptr_nonnull(strstr(run.out, "<code>a&#96;b&#96;"));
	ck_assert_ptr_nonnull(strstr(run.out, "www&#46;example.org</code>"));
	/* Every row of the table has its nine bars. */
	for (const char *line = strstr(run.out, "\n|"); line; line = strstr(line + 1, "\n|")) {
		unsigned bars = 0;
		for (const char *at = line + 1; *at && *at != '\n'; at++)
			bars += *at == '|';
		ck_assert_uint_eq(bars, 9);
	}
	command_free(&run);
}
END_TEST

/* ---- runs ---- */

START_TEST(runs_have_another_name_or_none)
{
	const struct recipe without = { .without_runs = true };

	write_sets(1, &without, &(struct recipe){ .without_runs = true, .slowdown = 0.2 });
	struct command run = command_run(NULL, "diff", BEFORE, AFTER, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "Slower: "));
	ck_assert_ptr_nonnull(strstr(run.out, "; from the first to the last event of each trace\n"));
	command_free(&run);
	run = command_run(NULL, "diff", "--run", "relu", "--format", "json", BEFORE, AFTER, NULL);
	struct json *report = json_of(&run, 0);
	ck_assert_str_eq(json_text(json_get(report, "run"), "name"), "relu");
	ck_assert_str_eq(json_text(json_get(report, "run"), "verdict"), "slower");
	json_free(report);
	command_free(&run);
	EXPECT(1, "none such: no event has this name in every trace", "diff", "--run", "none such", BEFORE, AFTER);
}
END_TEST

/* ---- sets ---- */

START_TEST(a_set_with_one_trace)
{
	write_sets(1, &plain, &(struct recipe){ .slowdown = 0.2 });
	struct command run = command_run(NULL, "diff", "--format", "json", BEFORE, "--after", paths[1][0], NULL);
	struct json *report = json_of(&run, 0);

	ck_assert_str_eq(json_text(json_get(report, "run"), "verdict"), "slower");
	ck_assert_uint_eq(json_get(report, "after")->count, 1);
	json_free(report);
	command_free(&run);
	/* One trace on both sides: the comparison of two traces. */
	struct command sets = command_run(NULL, "diff", "--before", paths[0][0], "--after", paths[1][0], NULL);
	run = command_run(NULL, "diff", paths[0][0], paths[1][0], NULL);
	ck_assert_int_eq(sets.code, 0);
	ck_assert_str_eq(sets.out, run.out);
	ck_assert_ptr_nonnull(strstr(run.out, "By op, medians"));
	command_free(&run);
	command_free(&sets);
}
END_TEST

START_TEST(a_trace_that_cannot_be_read_is_named)
{
	write_sets(1, &plain, &plain);
	EXPECT(5, "missing.epp", "diff", "--before", paths[0][0], check_path("missing.epp"), AFTER);
	FILE *file = fopen(paths[1][3], "w");
	fputs("no trace", file);
	fclose(file);
	EXPECT(5, "after-3.epp", "diff", BEFORE, AFTER);
	struct epp_builder *empty = builder_create();
	builder_write(empty, EPF_FINISHED, paths[1][3]);
	builder_destroy(empty);
	EXPECT(1, "after-3.epp: it has no events to compare", "diff", BEFORE, AFTER);
}
END_TEST

START_TEST(doubts_are_noted)
{
	write_sets(1, &plain, &plain);
	EXPECT(0, "", "diff", BEFORE, AFTER);
	EXPECT(0, "after-0.epp is the same trace as", "diff", BEFORE, "--after", paths[1][0], paths[1][1], paths[1][0]);
	EXPECT(0, "which is in the other set", "diff", BEFORE, "--after", paths[0][0], paths[1][1]);
	/* A copy is the same trace. */
	char *copy = check_path("copy.epp"), *command;
	ck_assert_int_gt(asprintf(&command, "cp %s %s", paths[0][1], copy), 0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	EXPECT(0, "copy.epp is the same trace as", "diff", BEFORE, "--after", paths[1][0], copy);
	write_trace(paths[1][2], 900, &(struct recipe){ .device = "Other \"device\"", .host = "elsewhere" });
	EXPECT(0, "after-2.epp: Other \"device\"", "diff", BEFORE, AFTER);
	EXPECT(0, "the traces are from different machines", "diff", BEFORE, AFTER);
	struct command run = command_run(NULL, "diff", "--format", "markdown", BEFORE, AFTER, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "\n- <code>the traces have different devices&#58; "));
	command_free(&run);
	run = command_run(NULL, "diff", "--format", "json", BEFORE, AFTER, NULL);
	struct json *report = json_of(&run, 0);
	ck_assert_uint_eq(json_get(report, "notes")->count, 2);
	json_free(report);
	command_free(&run);
	write_trace(paths[1][2], 901, &(struct recipe){ .ticks_per_second = 1000000 });
	EXPECT(0, "the clocks have different resolutions", "diff", BEFORE, AFTER);
}
END_TEST

START_TEST(mistakes)
{
	write_sets(1, &plain, &plain);
	EXPECT(2, "--after has no trace", "diff", BEFORE);
	EXPECT(2, "--before has no trace", "diff", AFTER);
	EXPECT(2, "needs a value", "diff", BEFORE, "--after");
	EXPECT(2, "is in no set", "diff", paths[0][0], BEFORE, AFTER);
	EXPECT(2, "csv", "diff", "--format", "csv", BEFORE, AFTER);
	EXPECT(2, "markdown", "diff", "--format", "markdown", paths[0][0], paths[1][0]);
	EXPECT(2, "--run is for sets", "diff", "--run", "x", paths[0][0], paths[1][0]);
	EXPECT(2, "two traces are needed", "diff", paths[0][0]);
	EXPECT(2, "two traces are needed", "diff", paths[0][0], paths[0][1], paths[0][2]);
	/* After "--", an argument is a trace. */
	EXPECT(5, "--after", "diff", BEFORE, "--after", paths[1][0], "--", "--after");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("diff_sets");
	TCase *tc = tcase_create("diff_sets");

	tcase_add_test(tc, equal_programs_and_a_slower_one);
	tcase_add_test(tc, one_name_is_slower);
	tcase_add_test(tc, text_has_the_worst_first);
	tcase_add_test(tc, markdown_names_are_data);
	tcase_add_test(tc, runs_have_another_name_or_none);
	tcase_add_test(tc, a_set_with_one_trace);
	tcase_add_test(tc, a_trace_that_cannot_be_read_is_named);
	tcase_add_test(tc, doubts_are_noted);
	tcase_add_test(tc, mistakes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
