/* Implements budget.h. */
#include "record/budget/budget.h"

/* The length of the first period.  Each later period is twice as long as the one before, up to BUDGET_PERIOD_NS. */
#define FIRST_PERIOD_NS UINT64_C(5000000)
/* At the end of a period, each rate becomes a weighted mean: the rate measured in the period has this weight, and the
 * rate known before has the rest. */
#define NEW_PART 0.5
/* The smallest budget of a period, as parts of `share`: LEAST_PART after a debt of earlier periods was subtracted,
 * LEAST_PART_OF_RUNS in BUDGET_RUNS, after the cost of leaving out events was subtracted as well. */
#define LEAST_PART 0.25
#define LEAST_PART_OF_RUNS 0.125
/* The part of the budget that clock readings may take.  The clock is read at least once every DUE_EVERY_MAX runs. */
#define CLOCK_PART 0.1
#define DUE_EVERY_MAX 16
/* N is reduced if the runs begin at intervals of at least this many times the mean interval of the last period. */
#define SLOWER 2

/* ---- random numbers: splitmix64 ---- */

static uint64_t next_random(struct budget_thread *thread)
{
	uint64_t z = thread->random += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* Returns a random number from 1 to `limit`. */
static uint32_t random_up_to(struct budget_thread *thread, uint32_t limit)
{
	return 1 + (uint32_t)((unsigned __int128)next_random(thread) * limit >> 64);
}

static double min_f64(double a, double b)
{
	return a < b ? a : b;
}

static double max_f64(double a, double b)
{
	return a > b ? a : b;
}

/* Rounds `value`, which is at least 1, down or up at random, with such probabilities that the mean of 1 / result is 1 /
 * `value`.  The result is at most WEIGHT_MAX.  Always rounding up would leave a part of the budget unused. */
static uint32_t round_at_random(struct budget_thread *thread, double value)
{
	double limited = min_f64(value, WEIGHT_MAX), lower = (double)(uint32_t)limited;
	double random = (double)(next_random(thread) >> 11) * 0x1p-53;
	/* `lower` is drawn with the probability p, for which p / lower + (1 - p) / (lower + 1) = 1 / limited. */
	double lower_probability = lower * (lower + 1) / limited - lower;

	return (uint32_t)lower + (limited > lower && random >= lower_probability);
}

/* Rounds a positive value up to a whole number from 1 to `limit`. */
static uint32_t round_up(double value, uint32_t limit)
{
	uint32_t rounded = (uint32_t)min_f64(max_f64(value, 1), limit);

	return rounded + (rounded < value && rounded < limit);
}

/* ---- periods ---- */

static void begin_period(struct budget_thread *thread, uint64_t now_ns, uint64_t cpu_ns)
{
	thread->begin = thread->counts;
	thread->begin_ns = now_ns;
	thread->begin_cpu_ns = cpu_ns;
	thread->begin_runs = thread->runs;
}

void budget_begin(struct budget_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint64_t seed, uint32_t one_in)
{
	*thread = (struct budget_thread){
		.random = seed, .period_ns = FIRST_PERIOD_NS, .due_every = 1, .until_due = 1, .due_ns = now_ns
	};
	thread->step = one_in > 1 ? BUDGET_RUNS : BUDGET_ALL;
	thread->one_in = one_in < 1 ? 1 : one_in > WEIGHT_MAX ? WEIGHT_MAX : one_in;
	begin_period(thread, now_ns, cpu_ns);
}

static double spent_ps(const struct budget_thread *thread, const struct budget_costs *costs)
{
	const struct budget_counts *now = &thread->counts, *begin = &thread->begin;

	return (double)(now->events - begin->events) * (double)costs->event_ps +
	       (double)(now->slots - begin->slots) * (double)costs->slot_ps +
	       (double)(now->left_out - begin->left_out) * (double)costs->left_out_ps +
	       (double)(now->clocks - begin->clocks) * (double)costs->clock_ps;
}

bool budget_is_over(const struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns)
{
	return now_ns - thread->begin_ns >= thread->period_ns ||
	       spent_ps(thread, costs) >= share * (double)thread->period_ns * 1000;
}

/* Replaces `*rate` by the weighted mean of `*rate` and the rate of the period, which is `cost_ps` / `cpu_ps`.  `part`
 * is the weight of the period's rate; `cpu_ps` is the CPU time of the period. */
static void average_in(double *rate, double cost_ps, double cpu_ps, double part)
{
	*rate += (cost_ps / cpu_ps - *rate) * part;
}

/* Updates the rates of the thread at the end of a period. */
static void measure(struct budget_thread *thread, const struct budget_costs *costs, double cpu_ps)
{
	const struct budget_counts *now = &thread->counts, *begin = &thread->begin;
	double recorded = (double)(now->events - begin->events), left_out = (double)(now->left_out - begin->left_out);
	double all = recorded + left_out;
	/* In BUDGET_KERNELS the outermost event of each run is recorded, so all events that were left out are inside
	 * runs. In the other steps only recorded events are known to be inside a run or not. */
	double known = thread->step == BUDGET_KERNELS ? all : recorded;
	double inner = (double)(now->inner - begin->inner) + (known - recorded);
	/* The cost of args is measured only with recorded events.  If none was recorded, or args are off, the ratio of
	 * this cost to the cost of events stays as it was. */
	double slots_part = thread->events_rate > 0 ? thread->slots_rate / thread->events_rate : 0;
	double run_slots_part = thread->events_rate > 0 ? thread->run_slots_rate / thread->events_rate : 0;
	/* If no rates are known yet, the rates of this period are used alone. */
	double part = thread->events_rate > 0 ? NEW_PART : 1;

	if (recorded > 0)
		thread->inner_part = inner / known;
	if (recorded > 0 && costs->event_ps && thread->step != BUDGET_ARGS_OFF) {
		double slot_part = (double)costs->slot_ps / (known * (double)costs->event_ps);
		run_slots_part = (double)(now->run_slots - begin->run_slots) * slot_part;
		if (thread->step != BUDGET_KERNELS)
			slots_part = (double)(now->slots - begin->slots) * slot_part;
	}
	average_in(&thread->events_rate, all * (double)costs->event_ps, cpu_ps, part);
	average_in(&thread->left_out_rate,
	           all * (double)costs->left_out_ps + (double)(now->clocks - begin->clocks) * (double)costs->clock_ps,
	           cpu_ps, part);
	thread->slots_rate = slots_part * thread->events_rate;
	thread->run_slots_rate = run_slots_part * thread->events_rate;
}

/* Selects the step and N of the next period by the rates.  `target` is the part of CPU time that recording may take. */
static void choose_step(struct budget_thread *thread, double share, double target)
{
	double all = thread->events_rate + thread->slots_rate, kept = target - thread->left_out_rate;
	double kernels = (1 - thread->inner_part) * thread->events_rate + thread->run_slots_rate +
	                 thread->inner_part * thread->left_out_rate;

	thread->one_in = 1;
	if (all <= target) {
		thread->step = BUDGET_ALL;
	} else if (thread->events_rate <= target) {
		thread->step = BUDGET_ARGS_OFF;
	} else if (thread->has_devices && thread->inner_part > 0 && kernels <= target) {
		thread->step = BUDGET_KERNELS;
	} else {
		kept = max_f64(kept, share * LEAST_PART_OF_RUNS);
		thread->one_in = round_at_random(thread, max_f64((all - thread->left_out_rate) / kept, 1));
		thread->step = thread->one_in > 1 ? BUDGET_RUNS : BUDGET_ALL;
	}
}

/* Sets after how many runs the clock is read again, from the mean interval of the runs in the period that has ended. */
static void plan_clock(struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns)
{
	uint64_t runs = thread->runs - thread->begin_runs;
	double interval_ns = (double)(now_ns - thread->begin_ns) / (double)(runs ? runs : 1);
	double every = (double)costs->clock_ps / (CLOCK_PART * share * interval_ns * 1000 + 1);

	thread->kept_every_ns = interval_ns * thread->one_in;
	thread->due_every = thread->one_in > 1 ? round_up(every, DUE_EVERY_MAX) : 1;
}

bool budget_next_period(struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns,
                        uint64_t cpu_ns)
{
	/* A thread that ran has used some time, even if its CPU clock has not advanced. */
	double cpu_ps = cpu_ns > thread->begin_cpu_ns ? (double)(cpu_ns - thread->begin_cpu_ns) * 1000 : 1000;
	double limit_ps = share * (double)BUDGET_CARRIED_NS * 1000;
	enum budget_step step = thread->step;
	uint32_t one_in = thread->one_in;

	measure(thread, costs, cpu_ps);
	thread->debt_ps += spent_ps(thread, costs) - share * cpu_ps;
	thread->debt_ps = min_f64(max_f64(thread->debt_ps, -limit_ps), limit_ps);
	choose_step(thread, share,
	            max_f64(share - thread->debt_ps / ((double)BUDGET_BALANCED_NS * 1000), share * LEAST_PART));
	thread->period_ns = thread->period_ns * 2 < BUDGET_PERIOD_NS ? thread->period_ns * 2 : BUDGET_PERIOD_NS;
	plan_clock(thread, share, costs, now_ns);
	begin_period(thread, now_ns, cpu_ns);
	return thread->step != step || thread->one_in != one_in;
}

/* Returns N for a run at which the clock was read.  N is smaller if the last runs began at longer intervals than those
 * of the last period. */
static uint32_t one_in_at(struct budget_thread *thread, uint64_t now_ns)
{
	double interval_ns = (double)(now_ns - thread->due_ns) / (double)(thread->runs - thread->due_runs);
	bool is_slower = thread->one_in > 1 && thread->kept_every_ns > 0 &&
	                 interval_ns * thread->one_in >= SLOWER * thread->kept_every_ns;

	thread->group_runs = is_slower && !thread->is_slower ? (uint32_t)(thread->runs - thread->due_runs) : 0;
	thread->group_ns = (double)(now_ns - thread->due_ns) - thread->group_runs * thread->kept_every_ns / thread->one_in;
	thread->is_slower = is_slower;
	thread->due_ns = now_ns;
	thread->due_runs = thread->runs;
	thread->until_due = is_slower ? 1 : thread->due_every;
	if (!is_slower)
		return thread->one_in;
	return round_up(thread->kept_every_ns / interval_ns, thread->one_in);
}

static struct budget_block *block_of(struct budget_thread *thread, uint32_t kind, uint32_t one_in)
{
	return &thread->blocks[kind % BUDGET_KINDS][31 - __builtin_clz(one_in)];
}

uint32_t budget_draw(struct budget_thread *thread, uint32_t kind, uint64_t now_ns)
{
	uint32_t one_in = now_ns ? one_in_at(thread, now_ns) : thread->one_in;
	struct budget_block *block = block_of(thread, kind, one_in);

	if (!block->left)
		*block = (struct budget_block){ one_in, one_in, random_up_to(thread, one_in) };
	if (block->left-- != block->kept)
		return 0;
	block->kept = 0;
	thread->before = thread->kept;
	thread->kept = (struct budget_run){ .number = thread->runs, .weight = block->one_in, .kind = kind };
	return block->one_in;
}

uint32_t budget_settle(struct budget_thread *thread, uint64_t now_ns, bool *is_alone)
{
	const struct budget_run *run = &thread->kept, *before = &thread->before;
	double took_ns = (double)(now_ns - thread->due_ns);
	uint64_t group_runs = thread->group_runs;

	*is_alone = false;
	thread->group_runs = 0;
	/* Only the run at which the clock was read last has a known length. If it was not slow, only one run was. */
	if (!group_runs || !run->weight || run->number != thread->due_runs || run->number + 1 != thread->runs ||
	    took_ns * thread->one_in < SLOWER * thread->kept_every_ns)
		return 0;
	/* The slow runs are the last ones of the group. */
	uint32_t slow = (uint32_t)min_f64(thread->group_ns / took_ns + 0.5, (double)group_runs);
	if (before->weight > 1 && before->number + slow >= run->number) {
		struct budget_block *block = block_of(thread, before->kind, before->weight);
		*is_alone = true;
		slow--;
		block->kept = random_up_to(thread, ++block->left);
	}
	struct budget_block *block = block_of(thread, run->kind, thread->one_in);
	if (block->one_in)
		block->left += slow;
	return slow;
}
