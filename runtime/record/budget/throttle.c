/* Implements throttle.h. */
#include "record/budget/throttle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/weight.h"
#include "format/format.h"

#define SHARE_MAX 0.5
/* A device event whose time is not known counts as one of a run that was left out if it arrives at most this long after
 * the last time at which runs were left out. */
#define LATE_NS UINT64_C(2000000000)

epp_status *throttle_parse(const char *text, double *share)
{
	char *end;

	*share = 0;
	if (!text || !*text)
		return NULL;
	double percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0)
		return epp_status_create(EPP_INVALID_ARGUMENT, "'%s' must be of the form 1%%", text);
	if (!(percent > 0 && percent <= 100 * SHARE_MAX))
		return epp_status_create(EPP_INVALID_ARGUMENT, "'%s' must be above 0 and at most 50%%", text);
	*share = percent / 100;
	return NULL;
}

epp_status *throttle_init(struct throttle *throttle, double share, const char *step, bool *is_given)
{
	*throttle = (struct throttle){ .share = share };
	*is_given = share != 0;
	if (!*is_given)
		return NULL;
	if (!(share > 0 && share <= SHARE_MAX))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: max_overhead must be 0, or above 0 and at most 0.5");
	throttle->step = step && *step ? epp_name_intern(step) : 0;
	throttle->set = epp_name_intern(WEIGHT_SET);
	throttle->event = epp_name_intern(WEIGHT_KEY_EVENT);
	throttle->weight = epp_name_intern(WEIGHT_KEY_WEIGHT);
	throttle->change = epp_name_intern(BUDGET_STEP);
	throttle->change_step = epp_name_intern(BUDGET_KEY_STEP);
	throttle->change_one_in = epp_name_intern(BUDGET_KEY_ONE_IN);
	/* If the table of names is full, every new name is EPF_NAME_LOST. */
	return throttle->change_one_in == EPF_NAME_LOST || throttle->step == EPF_NAME_LOST ? epp_status_no_memory() : NULL;
}

static uint64_t to_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * (1e9 / (double)clock_ticks_per_second()));
}

/* Extends the time range in which runs were left out to `now_ticks`. */
static void note_time(struct throttle *throttle, uint64_t now_ticks)
{
	uint64_t never = 0;

	if (!LOAD_RELAXED(&throttle->from_ticks))
		__atomic_compare_exchange_n(&throttle->from_ticks, &never, now_ticks, false, __ATOMIC_RELAXED,
		                            __ATOMIC_RELAXED);
	STORE_RELAXED(&throttle->until_ticks, now_ticks);
}

static bool end_period(struct throttle *throttle, struct budget_thread *budget, const struct budget_costs *costs,
                       uint64_t now_ticks)
{
	budget->has_devices = LOAD_RELAXED(&throttle->has_devices);
	bool is_changed = budget_next_period(budget, throttle->share, costs, to_ns(now_ticks), (uint64_t)thread_cpu_ns());

	STORE_RELAXED(&throttle->one_in, budget->one_in);
	return is_changed;
}

uint32_t throttle_begin_run(struct throttle *throttle, struct throttle_thread *thread, epp_name name,
                            uint64_t now_ticks, struct throttle_changes *changes)
{
	struct budget_thread *budget = &thread->budget;
	struct budget_costs costs;
	uint64_t now_ns = 0;

	*changes = (struct throttle_changes){ 0 };
	if (!thread->is_begun) {
		budget_begin(budget, to_ns(now_ticks), (uint64_t)thread_cpu_ns(),
		             now_ticks ^ (uint64_t)(uintptr_t)thread, LOAD_RELAXED(&throttle->one_in));
		thread->is_begun = true;
		thread->is_alone = throttle->is_alone;
		thread->visits = &throttle->visits;
		changes->step = budget->one_in > 1;
	}
	if (thread->drawn) {
		uint32_t drawn = thread->drawn;
		thread->drawn = 0;
		return drawn;
	}
	uint32_t visits = LOAD_RELAXED(&throttle->visits);
	if (visits != thread->visits_then)
		budget->until_due = 1;
	if (budget_is_due(budget)) {
		thread->visits_then = visits;
		now_ns = to_ns(now_ticks);
		event_costs(&costs);
		budget->counts.clocks += budget->one_in > 1;
		uint32_t more = budget_settle(budget, now_ns, &changes->before);
		changes->run = more;
		thread->run.weight += more;
		if (changes->before)
			thread->before.weight = 1;
		if (budget_is_over(budget, throttle->share, &costs, now_ns))
			changes->step |= end_period(throttle, budget, &costs, now_ticks);
	}
	if (budget->one_in > 1)
		note_time(throttle, now_ticks);
	return budget_draw(budget, name, now_ns);
}

bool throttle_was_on(const struct throttle *throttle, uint64_t ticks)
{
	uint64_t from = LOAD_RELAXED(&throttle->from_ticks), until = LOAD_RELAXED(&throttle->until_ticks);
	uint64_t late = LATE_NS / 1000000 * (clock_ticks_per_second() / 1000);

	if (!from)
		return false;
	return ticks ? ticks >= from && ticks <= until : clock_ticks() <= until + late;
}

const char *throttle_step_word(enum budget_step step)
{
	static const char *const words[] = { "all", "args off", BUDGET_STEP_KERNELS, "runs" };

	return words[step];
}
