/* The budget for overhead of one thread.  It selects the runs that are recorded, so that the cost of recording stays
 * within a share of the thread's CPU time.  A run is an event that is in no other event, together with all events
 * inside it.
 *
 * Time is divided into periods of 200 ms; the first ones are shorter.  If the budget of a period is spent earlier, the
 * period ends at the next run for which the clock is read.  At the end of each period, the numbers of recorded and
 * left-out events give the cost of recording everything.  This cost selects one of four steps for the next period:
 *
 *   BUDGET_ALL       everything is recorded
 *   BUDGET_ARGS_OFF  events are recorded without args
 *   BUDGET_KERNELS   of each run the outermost event is recorded, with its args, and not the events inside it.  Device
 *                    events, whose parent is then the outermost event, are recorded.  This step is selected only if
 *                    there are device events
 *   BUDGET_RUNS      one run in N is recorded, with all its events: of each block of N runs one, drawn at random.
 *                    Sums are unbiased if the recorded run has the weight N, and the number of runs is exact, except
 *                    for the last block.  A period of the program's runs that divides N does no harm
 *
 * If the load drops within a period, runs begin at longer intervals than in the last period.  They then have a smaller
 * N, so that recorded runs are as frequent in time as before.  The clock is then read for each run.
 *
 * A block has runs of one kind (of one name), and runs whose N is about the same.  If N changes, the block is not cut
 * off: it is continued when N is about the same again.  So the number of runs is exact for each kind, and a short run
 * that was recorded never stands for long ones.
 *
 * When runs become slower, the runs since the clock was read before were drawn before it was known that they are slow.
 * Any of them that was recorded would count N slow runs, and the others would be counted as fast ones.  So, as soon as
 * the next run has shown how long slow runs take, the slow ones among those runs are taken out of the blocks of the
 * fast ones: the next run stands for them, too, and if the run that was recorded before is one of them, it stands for
 * itself alone.  The last runs before the reading count as the slow ones.
 *
 * If more or less than the budget was spent, the difference is carried over, at most the budget of one second.  It is
 * compensated in the next half second of CPU time, if the load is the same.
 *
 * These functions read no clock and have no state other than their arguments. */
#ifndef EPPROF_RUNTIME_RECORD_BUDGET_BUDGET_H
#define EPPROF_RUNTIME_RECORD_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/weight.h"

#define BUDGET_PERIOD_NS UINT64_C(200000000)
#define BUDGET_CARRIED_NS UINT64_C(1000000000)
#define BUDGET_BALANCED_NS UINT64_C(500000000)

enum budget_step { BUDGET_ALL, BUDGET_ARGS_OFF, BUDGET_KERNELS, BUDGET_RUNS };

/* The costs of the parts of recording, in picoseconds. */
struct budget_costs {
	uint64_t event_ps;    /* recording an event without args */
	uint64_t slot_ps;     /* recording 16 bytes of args */
	uint64_t left_out_ps; /* leaving out an event */
	uint64_t clock_ps;    /* reading the clock for a run that may be left out */
};

/* Counts of a thread since its beginning. */
struct budget_counts {
	uint64_t events;           /* recorded events */
	uint64_t inner;            /* the recorded events that are inside a run and not its outermost event */
	uint64_t slots;            /* the args of recorded events, in slots of 16 bytes */
	uint64_t run_slots;        /* the part of `slots` that belongs to the outermost events of runs */
	uint64_t left_out, clocks; /* events that were left out; clock readings for runs that may be left out */
};

/* A block of `one_in` runs.  `left` of them have not begun yet; the run that begins when `left` is `kept` is recorded.
 * `kept` is then 0.  If `left` is 0, the next run begins a new block. */
struct budget_block {
	uint32_t one_in, left, kept;
};
/* The number of kinds of runs that have their own blocks; more kinds share them. */
#define BUDGET_KINDS 16
/* The N of a block's runs are from a power of two to below the next one; the largest is WEIGHT_MAX. */
#define BUDGET_CLASSES 21
_Static_assert(WEIGHT_MAX >> (BUDGET_CLASSES - 1) == 1, "WEIGHT_MAX has the last class");

/* A run that is recorded; its weight is 0 if that was not possible. */
struct budget_run {
	uint64_t number; /* the value of `runs` when it began */
	uint32_t weight, kind;
};

struct budget_thread {
	struct budget_counts counts;
	enum budget_step step;
	uint32_t one_in;  /* N, which varies at random between two whole numbers; 1 in the steps before BUDGET_RUNS */
	bool has_devices; /* set by the caller: BUDGET_KERNELS may be selected */
	/* The members below are used by budget.c only. */
	struct budget_counts begin; /* the counts at the begin of the period */
	uint64_t begin_ns, begin_cpu_ns;
	uint64_t period_ns; /* the maximum length of the period; the first periods are short */
	uint64_t runs, begin_runs;
	uint32_t due_every, until_due; /* the clock is read for one run in `due_every`; if `until_due` is 1, for the
	                                  next run */
	uint64_t due_ns, due_runs;     /* the time of the last such reading, and the value of `runs` then */
	double kept_every_ns;          /* the mean time between two recorded runs, if runs begin at the rate of the last
	                                  period */
	double debt_ps;                /* the cost above the budget that is carried over; negative: unspent budget */
	/* Costs per picosecond of CPU time: of recording all events, of recording all args, and of leaving out all
	 * events. */
	double events_rate, slots_rate, left_out_rate;
	double run_slots_rate; /* the part of slots_rate that belongs to the outermost events of runs */
	double inner_part;     /* the part of all events that is inside runs */
	bool is_slower;        /* at the last such reading, N was smaller because runs were slower */
	uint32_t group_runs;   /* if they have just become slower: the number of runs before that reading, since the
	                                  one before; else 0 */
	double group_ns;       /* how much longer these runs took than such runs did in the last period */
	struct budget_run kept, before; /* the run that was recorded last, and the one before */
	uint64_t random;
	struct budget_block blocks[BUDGET_KINDS][BUDGET_CLASSES];
};

/* Begins the first period.  `seed`: any number that differs between threads.  `one_in`: the N with which the thread
 * begins, from another thread of the session; 0 or 1: none. */
void budget_begin(struct budget_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint64_t seed, uint32_t one_in);

/* Returns true if the period is over, because its time has passed at `now_ns`, or because its part of the budget
 * `share` is spent. */
bool budget_is_over(const struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns);

/* Ends the period, and selects the step and N of the next one.  `cpu_ns`: the CPU time of the thread.  Returns true if
 * the step or N has changed. */
bool budget_next_period(struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns,
                        uint64_t cpu_ns);

/* Counts a run that begins; called before budget_draw.  Returns true if the clock must be read for this run: the caller
 * then also ends the period if it is over.  Whether the clock is read must not depend on the result of budget_draw. */
static inline bool budget_is_due(struct budget_thread *thread)
{
	thread->runs++;
	return --thread->until_due == 0;
}

/* Returns the weight of a run that begins, or 0 if the run is left out.  `kind`: the number of the run's name.
 * `now_ns` is 0 if budget_is_due returned false. */
uint32_t budget_draw(struct budget_thread *thread, uint32_t kind, uint64_t now_ns);

/* Called if the run that was drawn last is not recorded. */
static inline void budget_lose_run(struct budget_thread *thread)
{
	thread->kept.weight = 0;
}

/* Called for a run at which the clock is read, before budget_is_over.  Returns how much the weight of the run that was
 * recorded last increases, because it stands for runs before it that were as slow.  If `*is_alone` is true, the weight
 * of the run that was recorded before it becomes 1. */
uint32_t budget_settle(struct budget_thread *thread, uint64_t now_ns, bool *is_alone);

#endif
