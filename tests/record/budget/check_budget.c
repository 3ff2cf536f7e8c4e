/* The controller of the budget for overhead, with simulated threads, clocks and costs: what it spends, and that
 * weighted sums are true. */
#include <math.h>
#include <stdlib.h>

#include "record/budget/budget.h"
#include "tests/support/check.h"

#define EVENTS 20u /* of a run */

/* A thread whose events take so long, without what recording adds, alternately for half a period each. */
struct load {
	const char *name;
	double fast_ns, slow_ns, period_ns; /* period 0: always `fast_ns` */
	double idle_ns;                     /* between two runs, in which the thread does not run */
	unsigned slots;                     /* of args, an event */
	double least, most;                 /* the overhead, as a part of what was asked for */
	bool has_devices;
};

struct result {
	double overhead;
	double runs, weights;   /* the number of runs, and the sum of weights */
	double error;           /* of the sum of weights: the largest one */
	double ns, weighted_ns; /* what all runs take, and the weighted sum of what recorded ones take */
	double kept_share;
	double runs_only; /* the number of runs that were recorded without what is in them */
};

struct simulation {
	const struct load *load;
	struct budget_costs costs, later; /* from the middle on */
	double share, cpu_ns;
	uint64_t seed;
	uint32_t one_in;
};

static struct result simulate(const struct simulation *of)
{
	const struct load *load = of->load;
	struct budget_thread thread;
	struct result result = { 0 };
	double wall = 0, cpu = 0, spent_ps = 0, kept = 0;
	struct {
		double weight, ns;
	} kept_runs[2] = { { 0 } }; /* the last two */
	budget_begin(&thread, 0, 0, of->seed, of->one_in);
	thread.has_devices = load->has_devices;
	while (cpu < of->cpu_ns) {
		const struct budget_costs *costs = cpu < of->cpu_ns / 2 ? &of->costs : &of->later;
		bool is_slow = load->period_ns && fmod(cpu, load->period_ns) >= load->period_ns / 2;
		uint64_t now_ns = 0;
		double cost_ps = 0, work_ns = EVENTS * (is_slow ? load->slow_ns : load->fast_ns);
		if (budget_is_due(&thread)) {
			now_ns = (uint64_t)wall + 1;
			if (thread.one_in > 1) {
				thread.counts.clocks++;
				cost_ps += (double)costs->clock_ps;
			}
			bool is_alone;
			uint32_t more = budget_settle(&thread, now_ns, &is_alone);
			double taken = is_alone ? kept_runs[0].weight - 1 : 0;
			result.weights += more - taken;
			result.weighted_ns += more * kept_runs[1].ns - taken * kept_runs[0].ns;
			if (budget_is_over(&thread, of->share, costs, now_ns))
				budget_next_period(&thread, of->share, costs, now_ns, (uint64_t)cpu);
		}
		uint32_t weight = budget_draw(&thread, 0, now_ns);
		if (weight && thread.step == BUDGET_KERNELS) {
			thread.counts.events++;
			thread.counts.slots += load->slots;
			thread.counts.run_slots += load->slots;
			thread.counts.left_out += EVENTS - 1;
			cost_ps += (double)(costs->event_ps + load->slots * costs->slot_ps +
			                    (EVENTS - 1) * costs->left_out_ps);
			result.runs_only++;
		} else if (weight) {
			bool has_args = thread.step != BUDGET_ARGS_OFF;
			uint64_t slots = has_args ? load->slots * EVENTS : 0;
			thread.counts.events += EVENTS;
			thread.counts.inner += EVENTS - 1;
			thread.counts.slots += slots;
			thread.counts.run_slots += has_args ? load->slots : 0;
			cost_ps += (double)(EVENTS * costs->event_ps + slots * costs->slot_ps);
		} else {
			thread.counts.left_out += EVENTS;
			cost_ps += (double)(EVENTS * costs->left_out_ps);
		}
		result.runs++;
		result.weights += weight;
		if (weight) {
			kept_runs[0] = kept_runs[1];
			kept_runs[1].weight = weight;
			kept_runs[1].ns = work_ns;
		}
		kept += weight != 0;
		result.ns += work_ns;
		result.weighted_ns += work_ns * weight;
		/* The last block of each class may be incomplete: at most 1 + 2 + 4 + ... runs. */
		result.error = fmax(result.error, thread.one_in > 1 ? 4.0 * thread.one_in : 0);
		spent_ps += cost_ps;
		cpu += work_ns + cost_ps / 1000;
		wall += work_ns + cost_ps / 1000 + load->idle_ns;
	}
	result.overhead = spent_ps / 1000 / cpu;
	result.kept_share = kept / result.runs;
	return result;
}

static const struct budget_costs usual = { .event_ps = 50000, .slot_ps = 4000, .left_out_ps = 3000, .clock_ps = 15000 };
#define SECOND 1e9

static const struct load loads[] = {
	{ .name = "little", .fast_ns = 10000, .least = 0.49, .most = 0.51 },
	{ .name = "at the limit", .fast_ns = 5000, .least = 0.9, .most = 1.1 },
	{ .name = "5 times too much", .fast_ns = 1000, .least = 0.8, .most = 1.1 },
	{ .name = "12 times too much", .fast_ns = 400, .least = 0.8, .most = 1.1 },
	{ .name = "swings in 50 ms", .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.05 * SECOND, .least = 0.8, .most = 1.1 },
	{ .name = "swings in 200 ms", .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.2 * SECOND, .least = 0.8, .most = 1.1 },
	{ .name = "swings in 500 ms", .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.5 * SECOND, .least = 0.8, .most = 1.1 },
	{ .name = "swings in 2 s", .fast_ns = 400, .slow_ns = 400000, .period_ns = 2 * SECOND, .least = 0.8, .most = 1.1 },
	/* A budget that was not used is not saved for longer than a second. */
	{ .name = "swings in 10 s", .fast_ns = 400, .slow_ns = 400000, .period_ns = 10 * SECOND, .least = 0.5, .most = 0.8 },
	{ .name = "mostly idle", .fast_ns = 1000, .idle_ns = 1e6, .least = 0.8, .most = 1.1 },
	{ .name = "idle for seconds", .fast_ns = 1000, .idle_ns = 3 * SECOND, .least = 0.8, .most = 1.2 },
	{ .name = "args", .fast_ns = 5500, .slots = 2, .least = 0.8, .most = 1.1 },
	{ .name = "args and too much", .fast_ns = 1000, .slots = 4, .least = 0.8, .most = 1.1 },
};
#define LOADS (sizeof(loads) / sizeof(*loads))

/* All loads, with several seeds and beginnings: what is spent, and the number of runs. */
START_TEST(the_budget_is_kept)
{
	static const double shares[] = { 0.01, 0.02 };
	for (unsigned seed = 1; seed <= 5; seed++) {
		const struct load *load = &loads[_i];
		const struct simulation of = {
			load, usual, usual, shares[seed % 2], 10 * SECOND, seed, seed == 3 ? 1000 : 0
		};
		const struct result result = simulate(&of);
		double part = result.overhead / of.share;
		/* A budget that is twice as large lets more loads pass whole. */
		bool is_small = result.kept_share > 0.95;
		ck_assert_msg(part <= load->most, "%s, seed %u: %.3f", load->name, seed, part);
		ck_assert_msg(is_small || seed % 2 == 1 || part >= load->least, "%s, seed %u: %.3f", load->name, seed,
		              part);
		ck_assert_msg(is_small || load->least < 0.8 || part >= load->least, "%s, seed %u: %.3f", load->name,
		              seed, part);
		ck_assert_msg(fabs(result.weights - result.runs) <= result.error, "%s, seed %u: %.0f of %.0f +- %.0f",
		              load->name, seed, result.weights, result.runs, result.error);
	}
}
END_TEST

/* A recording of 3 seconds has the budget, too, where N is a small number that is not whole, and where the load swings. */
START_TEST(a_short_recording)
{
	static const struct load short_loads[] = {
		{ .name = "1.2 times too much", .fast_ns = 4000 },
		{ .name = "1.7 times too much", .fast_ns = 2900 },
		{ .name = "2.8 times too much", .fast_ns = 1750 },
		{ .name = "swings in 100 ms", .fast_ns = 1700, .slow_ns = 1700000, .period_ns = 0.1 * SECOND },
		{ .name = "swings in 200 ms", .fast_ns = 1700, .slow_ns = 1700000, .period_ns = 0.2 * SECOND },
		{ .name = "swings in 500 ms", .fast_ns = 1000, .slow_ns = 1000000, .period_ns = 0.5 * SECOND },
	};
	double sum = 0;
	for (unsigned seed = 1; seed <= 10; seed++) {
		const struct simulation of = { &short_loads[_i], usual, usual, 0.01, 3 * SECOND, seed, 0 };
		double part = simulate(&of).overhead / of.share;
		ck_assert_msg(part > 0.8 && part < 1.1, "%s, seed %u: %.3f", short_loads[_i].name, seed, part);
		sum += part / 10;
	}
	ck_assert_msg(sum > 0.86 && sum < 1.05, "%s: %.3f", short_loads[_i].name, sum);
}
END_TEST

/* With devices, runs alone are recorded where that is within the budget, each with the weight 1; and if that takes too
 * much, too, one in N. */
START_TEST(kernels_only)
{
	static const struct {
		struct load load;
		double least_only; /* the share of runs without what is in them */
		double most_only;
	} cases[] = {
		{ { "5 times too much", .fast_ns = 1000, .most = 1.1, .has_devices = true }, 0.9, 1 },
		{ { "with args", .fast_ns = 1500, .slots = 8, .most = 1.1, .has_devices = true }, 0.9, 1 },
		{ { "swings", .fast_ns = 800, .slow_ns = 400000, .period_ns = 2 * SECOND, .most = 1.1, .has_devices = true },
		  0.8,
		  1 },
		{ { "runs take too much", .fast_ns = 400, .slots = 8, .most = 1.3, .has_devices = true }, 0, 0.2 },
		{ { "within the budget", .fast_ns = 10000, .most = 0.51, .has_devices = true }, 0, 0 },
		{ { "no devices", .fast_ns = 1000, .most = 1.1 }, 0, 0 },
	};
	for (unsigned seed = 1; seed <= 5; seed++) {
		const struct load *load = &cases[_i].load;
		const struct simulation of = { load, usual, usual, 0.01, 10 * SECOND, seed, 0 };
		const struct result result = simulate(&of);
		double only = result.runs_only / result.runs;
		ck_assert_msg(result.overhead / 0.01 <= load->most, "%s: %.3f", load->name, result.overhead / 0.01);
		ck_assert_msg(only >= cases[_i].least_only && only <= cases[_i].most_only, "%s: %.3f", load->name, only);
		ck_assert(fabs(result.weights - result.runs) <= result.error);
	}
}
END_TEST

/* Loads that swing up to 1,000 : 1. */
START_TEST(sums_are_true_within_two_percent)
{
	static const struct {
		struct load load;
		double error; /* of the time */
	} swinging[] = {
		{ { .fast_ns = 1000 }, 0.001 },
		{ { .fast_ns = 400, .slow_ns = 4000, .period_ns = 0.3 * SECOND }, 0.002 },
		{ { .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.05 * SECOND }, 0.01 },
		{ { .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.3 * SECOND }, 0.01 },
		{ { .fast_ns = 400, .slow_ns = 400000, .period_ns = 2 * SECOND }, 0.01 },
		{ { .fast_ns = 100, .slow_ns = 100000, .period_ns = 0.3 * SECOND }, 0.02 },
	};
	double squares = 0;
	for (unsigned seed = 1; seed <= 10; seed++) {
		const struct simulation of = { &swinging[_i].load, usual, usual, 0.01, 20 * SECOND, seed, 0 };
		const struct result result = simulate(&of);
		ck_assert(result.kept_share < 0.3);
		ck_assert_msg(fabs(result.weights / result.runs - 1) < 0.003, "%.4f", result.weights / result.runs);
		squares += pow(result.weighted_ns / result.ns - 1, 2) / 10;
	}
	ck_assert_msg(sqrt(squares) < swinging[_i].error, "%.4f", sqrt(squares));
}
END_TEST

/* Runs of three names in a random order, 100 to 1, whose durations are 1 to 1,000 and vary; and, with `cycle`, runs
 * whose durations have a cycle that N is a multiple of.  What has been recorded of each name is one in N. */
START_TEST(sums_by_name)
{
	static const uint32_t one_in[] = { 10, 100, 1000 };
	enum { NAMES = 3 };
	static const double share[NAMES] = { 1, 0.11, 0.01 }, ns[NAMES] = { 1, 30, 1000 };
	uint32_t n = one_in[_i / 2], cycle = _i % 2 ? 10 : 1;
	struct budget_thread thread;
	double count[NAMES] = { 0 }, weights[NAMES] = { 0 }, sum[NAMES] = { 0 }, weighted[NAMES] = { 0 };
	budget_begin(&thread, 0, 0, 12345, n);
	srand48(1);
	for (uint64_t i = 0; i < UINT64_C(12000) * n; i++) {
		double random = drand48();
		unsigned name = random < share[2] ? 2 : random < share[1] ? 1 : 0;
		double took_ns = ns[name] * (0.9 + 0.2 * drand48()) * (i % cycle ? 0.5 : 1);
		budget_is_due(&thread);
		double weight = budget_draw(&thread, name, 0);
		count[name]++;
		weights[name] += weight;
		sum[name] += took_ns;
		weighted[name] += weight * took_ns;
	}
	for (unsigned i = 0; i < NAMES; i++) {
		ck_assert_msg(fabs(weights[i] - count[i]) <= n, "name %u: %.0f of %.0f", i, weights[i], count[i]);
		ck_assert_msg(fabs(weighted[i] / sum[i] - 1) < (cycle > 1 && i == 2 ? 0.06 : 0.02), "name %u: %.4f", i,
		              weighted[i] / sum[i]);
	}
}
END_TEST

/* Over many short traces, the mean has nearly no bias, also where N changes.  The number of runs has a small one,
 * because a thread that has recorded a run is more likely to leave the class of N before the block ends. */
START_TEST(weights_have_no_bias)
{
	enum { TRACES = 300 };
	const struct load swinging = { .fast_ns = 400, .slow_ns = 400000, .period_ns = 0.1 * SECOND };
	double runs = 0, weights = 0, ns = 0, weighted_ns = 0;
	for (unsigned seed = 0; seed < TRACES; seed++) {
		const struct simulation of = { &swinging, usual, usual, 0.01, 0.5 * SECOND, seed * 77, 50 };
		const struct result result = simulate(&of);
		runs += result.runs;
		weights += result.weights;
		ns += result.ns;
		weighted_ns += result.weighted_ns;
	}
	ck_assert_msg(fabs(weights / runs - 1) < 0.001, "%.5f", weights / runs);
	ck_assert_msg(fabs(weighted_ns / ns - 1) < 0.004, "%.5f", weighted_ns / ns);
}
END_TEST

/* Each of 64 threads keeps its budget, with loads 1,000 to 1; together they do. */
START_TEST(many_threads)
{
	double spent = 0;
	for (unsigned i = 0; i < 64; i++) {
		const struct load load = { .fast_ns = 400 * pow(1000, i / 63.0), .idle_ns = i % 3 * 1e5 };
		const struct simulation of = { &load, usual, usual, 0.01, 4 * SECOND, i, 0 };
		const struct result result = simulate(&of);
		ck_assert_msg(result.overhead <= 0.011, "thread %u: %.4f", i, result.overhead);
		spent += result.overhead / 64;
	}
	ck_assert(spent <= 0.011);
}
END_TEST

/* Recording takes four times as long from the middle on, as it is on a processor that is slower for a while. */
START_TEST(costs_that_change)
{
	const struct budget_costs later = { .event_ps = 200000, .slot_ps = 16000, .left_out_ps = 6000, .clock_ps = 60000 };
	for (unsigned i = 2; i < LOADS - 3; i++) {
		const struct simulation of = { &loads[i], usual, later, 0.01, 10 * SECOND, i, 0 };
		const double part = simulate(&of).overhead / 0.01;
		ck_assert_msg(part <= (later.left_out_ps / loads[i].fast_ns > 9 ? 2 : 1.15), "%s: %.3f", loads[i].name,
		              part);
	}
}
END_TEST

/* Where leaving out alone takes more than the budget, N stays within reason, and sums are true. */
START_TEST(a_budget_that_cannot_be_met)
{
	const struct load load = { .fast_ns = 20 };
	const struct simulation of = { &load, usual, usual, 0.01, 2 * SECOND, 1, 0 };
	const struct result result = simulate(&of);
	ck_assert_msg(result.kept_share > 1e-4, "%g", result.kept_share);
	ck_assert_msg(result.overhead < 3.0 / 23 + 0.02, "%g", result.overhead);
	ck_assert(fabs(result.weights - result.runs) <= result.error);
}
END_TEST

/* A thread whose clock does not move, and one that has run for centuries. */
START_TEST(clocks_at_their_limits)
{
	struct budget_thread thread;
	budget_begin(&thread, 0, 0, 0, 0);
	for (unsigned i = 0; i < 100; i++) {
		thread.counts.events += 1000000;
		budget_next_period(&thread, 0.01, &usual, 0, 0);
		ck_assert_uint_ge(thread.one_in, 1);
		ck_assert_uint_le(thread.one_in, 1u << 20);
		budget_draw(&thread, 0, budget_is_due(&thread));
	}
	budget_begin(&thread, UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX, UINT32_MAX);
	budget_next_period(&thread, 0.5, &usual, UINT64_MAX, UINT64_MAX);
	ck_assert_uint_eq(thread.step, BUDGET_ALL);
	ck_assert_uint_eq(budget_draw(&thread, 0, 0), 1);
	/* Costs that are not known. */
	budget_begin(&thread, 0, 0, 1, 0);
	thread.counts.events = 10;
	budget_next_period(&thread, 0.01, &(struct budget_costs){ 0 }, 1000000, 1000000);
	ck_assert_uint_eq(thread.step, BUDGET_ALL);
}
END_TEST

/* First args, then, with devices, what is in runs, then runs; and back. */
START_TEST(the_steps)
{
	struct budget_thread thread;
	uint64_t now_ns = 0;
	/* Events of a window with two args each; at 36,000 they alone take 1.8 of 2 ms. */
	static const struct {
		uint64_t events;
		enum budget_step step;
	} windows[] = { { 1000, BUDGET_ALL },     { 36000, BUDGET_ARGS_OFF }, { 200000, BUDGET_KERNELS },
		        { 2000000, BUDGET_RUNS }, { 200000, BUDGET_KERNELS }, { 36000, BUDGET_ARGS_OFF },
		        { 1000, BUDGET_ALL } };
	budget_begin(&thread, 0, 0, 1, 0);
	thread.has_devices = _i;
	for (unsigned i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		for (unsigned times = 0; times < 20; times++) {
			uint64_t recorded = windows[i].events;
			recorded /= thread.step == BUDGET_KERNELS ? EVENTS : thread.one_in;
			now_ns += BUDGET_PERIOD_NS;
			thread.counts.events += recorded;
			thread.counts.left_out += windows[i].events - recorded;
			thread.counts.inner += thread.step == BUDGET_KERNELS ? 0 : recorded - recorded / EVENTS;
			thread.counts.slots += thread.step == BUDGET_ARGS_OFF ? 0 : 2 * recorded;
			thread.counts.run_slots += thread.step == BUDGET_ARGS_OFF
			                               ? 0
			                               : 2 * recorded / (thread.step == BUDGET_KERNELS ? 1 : EVENTS);
			thread.debt_ps = 0;
			budget_next_period(&thread, 0.01, &usual, now_ns, now_ns);
		}
		enum budget_step step = windows[i].step;
		step = step == BUDGET_KERNELS && !thread.has_devices ? BUDGET_RUNS : step;
		ck_assert_msg(thread.step == step, "window %u: step %d", i, thread.step);
		ck_assert_int_eq(thread.one_in > 1, thread.step == BUDGET_RUNS);
	}
}
END_TEST

static Suite *budget_suite(void)
{
	Suite *suite = suite_create("budget");
	TCase *tests = tcase_create("budget");
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, the_budget_is_kept, 0, LOADS);
	tcase_add_loop_test(tests, sums_are_true_within_two_percent, 0, 6);
	tcase_add_loop_test(tests, sums_by_name, 0, 6);
	tcase_add_test(tests, weights_have_no_bias);
	tcase_add_test(tests, many_threads);
	tcase_add_test(tests, costs_that_change);
	tcase_add_test(tests, a_budget_that_cannot_be_met);
	tcase_add_test(tests, clocks_at_their_limits);
	tcase_add_loop_test(tests, the_steps, 0, 2);
	tcase_add_loop_test(tests, kernels_only, 0, 6);
	tcase_add_loop_test(tests, a_short_recording, 0, 6);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(budget_suite)
