/* The budget for overhead of one thread: which of its runs are recorded, so that what recording costs stays within a share
 * of the thread's CPU time.  A run is an event that is in no other event, with all that is inside it.
 *
 * Time is divided into windows of 200 ms; a window whose budget is spent ends at once.  At the end of each, what was
 * recorded and left out in it gives the cost of recording everything, and that decides about the next one:
 *
 *   BUDGET_ALL       everything is recorded
 *   BUDGET_ARGS_OFF  events are recorded without args
 *   BUDGET_RUNS      one run in N is recorded, whole.  Each is recorded with the probability 1 / N, whatever the others
 *                    are, so that N is the weight that makes sums true; the number of those between two has a geometric
 *                    distribution
 *
 * Runs that begin at longer intervals than those of the last window, because the load has dropped within this one, have a
 * smaller N: as many as recorded runs have begun in that time.  It depends on earlier runs only, so that sums stay true.
 *
 * What was spent beyond the budget, or not spent, is carried: it is made up for within the next second of CPU time, a
 * second's budget at most.
 *
 * These functions read no clock and have no state besides their arguments. */
#ifndef EPPROF_RUNTIME_RECORD_BUDGET_BUDGET_H
#define EPPROF_RUNTIME_RECORD_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOW_NS UINT64_C(200000000)
#define BUDGET_CARRIED_NS UINT64_C(1000000000)

enum budget_step { BUDGET_ALL, BUDGET_ARGS_OFF, BUDGET_RUNS };

/* What the parts of recording cost, in picoseconds. */
struct budget_costs {
	uint64_t event_ps;    /* an event that is recorded, without args */
	uint64_t slot_ps;     /* 16 bytes of args */
	uint64_t left_out_ps; /* an event that is left out */
	uint64_t clock_ps;    /* reading the clock for a run that may be left out */
};

/* Counts of a thread since its beginning. */
struct budget_counts {
	uint64_t events, slots, left_out, clocks;
};

struct budget_thread {
	struct budget_counts counts;
	enum budget_step step;
	uint32_t one_in; /* N; 1 before BUDGET_RUNS */
	/* The rest is for this part alone. */
	struct budget_counts begin; /* at the begin of the window */
	uint64_t begin_ns, begin_cpu_ns;
	uint64_t window_ns; /* how long the window may be; the first ones are short */
	uint64_t runs, begin_runs;
	uint32_t due_every, until_due; /* every so many runs, the clock is read */
	uint64_t due_ns;               /* when it was read last */
	double kept_every_ns;          /* the time between two runs that are recorded, of the last window */
	double debt_ps;
	/* Costs in a picosecond of CPU time: of recording all events, all args, and of leaving everything out. */
	double events_rate, slots_rate, left_out_rate;
	uint64_t random;
};

/* Begins the first window.  `seed`: any number that differs between threads.  `one_in`: N of threads like this one; 0 or
 * 1: not known. */
void budget_begin(struct budget_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint64_t seed, uint32_t one_in);

/* Returns true if the window is over: at `now_ns`, or because its part of the budget `share` is spent. */
bool budget_is_over(const struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns);

/* Ends the window and decides about the next one.  `cpu_ns`: the CPU time of the thread.  Returns true if the step or N
 * has changed. */
bool budget_next_window(struct budget_thread *thread, double share, const struct budget_costs *costs, uint64_t now_ns,
                        uint64_t cpu_ns);

/* Counts a run that begins, before budget_draw.  Returns true if that needs the time: the caller then ends a window that is
 * over.  This must not depend on the draw. */
static inline bool budget_is_due(struct budget_thread *thread)
{
	thread->runs++;
	return --thread->until_due == 0;
}

/* Returns the weight of a run that begins; 0: it is left out.  `now_ns` 0: it is not due. */
uint32_t budget_draw(struct budget_thread *thread, uint64_t now_ns);

#endif
