/* Whether a clock can be right although nothing names the causes of its events: threads run a model at once, so that
 * each time is inside some run, and the last run takes so long that no event is after all runs. */
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/random_values.h"
#include "timeline/clock/run_coverage.h"

#define US 1000ll
#define MS 1000000ll
#define THREADS 8u
#define RUNS_OF_THREAD 500u
#define RUNS ((size_t)THREADS * RUNS_OF_THREAD)
#define MODEL 7u /* the name of the runs */
#define SAMPLE_ERROR_NS (10 * US)
#define LAST_RUN_NS (20 * MS)

enum amounts { EQUAL, ONE_RUN_WITHOUT, RANDOM, TWO_PHASES };

struct program {
	double ppm;
	enum amounts amounts;
	bool contradicts;
};

static const struct program programs[] = {
	{ 0, EQUAL, false },
	{ 400, EQUAL, false },
	{ -400, EQUAL, false },
	{ 5000, EQUAL, true },
	{ -5000, EQUAL, true },
	{ 0, ONE_RUN_WITHOUT, false },
	{ 5000, ONE_RUN_WITHOUT, true },
	/* Amounts that vary say nothing of a clock's rate. */
	{ 0, RANDOM, false },
	{ 0, TWO_PHASES, false },
};

static unsigned events_of(const struct program *program, size_t run)
{
	switch (program->amounts) {
	case ONE_RUN_WITHOUT:
		return run == RUNS / 5 ? 0 : 3;
	case RANDOM:
		return 2 + (unsigned)random_below(3);
	case TWO_PHASES:
		return run < RUNS / 2 ? 2 : 4;
	default:
		return 3;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct host_run *left = a, *right = b;

	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int64_t shown(const struct program *program, int64_t true_ns)
{
	return true_ns + (int64_t)((double)true_ns * program->ppm / 1e6);
}

/* Adds the events of a run; their bound is what a clock compared once has. */
static void add_events(struct run_coverage *coverage, const struct program *program, const struct host_run *run,
                       size_t number)
{
	int64_t at_ns = run->start_ns;

	for (unsigned i = events_of(program, number); i > 0; i--) {
		int64_t start_ns = at_ns + US + (int64_t)random_below(8 * US), end_ns = start_ns + 5 * US;
		run_coverage_add(coverage, &(struct run_coverage_event){
					       .start_ns = shown(program, start_ns),
					       .start_error_ns = SAMPLE_ERROR_NS + start_ns / 2000,
					       .end_ns = shown(program, end_ns),
					       .end_error_ns = SAMPLE_ERROR_NS + end_ns / 2000,
					   });
		at_ns = end_ns;
	}
}

START_TEST(a_drift_is_found_where_runs_overlap)
{
	const struct program *program = &programs[_i];
	const struct causal_point sample = { .low_ns = -SAMPLE_ERROR_NS, .high_ns = SAMPLE_ERROR_NS };
	struct host_run *all = calloc(RUNS, sizeof(*all));
	struct host_runs runs = { 0 };
	struct run_coverage coverage;
	bool contradicts;

	for (size_t thread = 0; thread < THREADS; thread++) {
		int64_t at_ns = MS + (int64_t)thread * 40 * US;
		for (size_t i = 0; i < RUNS_OF_THREAD; i++) {
			struct host_run *run = &all[thread * RUNS_OF_THREAD + i];
			run->start_ns = at_ns + (int64_t)random_below(5 * US);
			run->end_ns = run->start_ns + 320 * US;
			run->name = MODEL;
			at_ns = run->end_ns;
		}
	}
	all[RUNS - 1].end_ns += LAST_RUN_NS;
	qsort(all, RUNS, sizeof(*all), by_start);
	for (size_t i = 0; i < RUNS; i++)
		check_ok(host_runs_add(&runs, all[i].start_ns, all[i].end_ns, all[i].name));
	host_runs_settle(&runs);
	check_ok(run_coverage_init(&coverage, &runs, 0, INT64_MAX / 4));
	for (size_t i = 0; i < RUNS; i++)
		add_events(&coverage, program, &all[i], i);
	check_ok(run_coverage_contradicts(&coverage, &runs, &sample, &contradicts));
	ck_assert_msg(contradicts == program->contradicts, "%g ppm, amounts %d: %d", program->ppm, program->amounts,
	              contradicts);
	run_coverage_deinit(&coverage);
	host_runs_deinit(&runs);
	free(all);
}
END_TEST

/* Sessions of several models in turns: none of them is the one to which all events belong. */
START_TEST(without_a_frequent_name_no_run_is_kept)
{
	struct host_runs runs = { 0 };

	for (uint32_t i = 0; i < 300; i++)
		check_ok(host_runs_add(&runs, i * 100, i * 100 + 50, i % 3));
	host_runs_settle(&runs);
	ck_assert_uint_eq(runs.count, 0);
	host_runs_deinit(&runs);

	for (uint32_t i = 0; i < 300; i++)
		check_ok(host_runs_add(&runs, i * 100, i * 100 + 50, i % 5 < 2 ? 1 : 2));
	host_runs_settle(&runs);
	ck_assert_uint_eq(runs.count, 180);
	ck_assert_uint_eq(runs.runs[0].name, 2);
	host_runs_deinit(&runs);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("run_coverage");
	TCase *tests = tcase_create("run_coverage");

	tcase_add_loop_test(tests, a_drift_is_found_where_runs_overlap, 0, (int)(sizeof(programs) / sizeof(*programs)));
	tcase_add_test(tests, without_a_frequent_name_no_run_is_kept);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(suite)
