/* Measures what recording takes with a budget for overhead of 1 %, under a load that swings by 1,000 to 1: the time of
 * all calls of begin and end, less that of as many calls of functions that do nothing, as a share of the thread's CPU
 * time.  Time slices with these two kinds of calls alternate, so that the speed of the machine is the same for both. */
#include "bench.h"

#define SHARE 0.01
#define RUN_NS 3000000000u
#define REPETITIONS 5u
#define SLICE_NS 5000000u
#define PHASE_SLICES 10u /* of each kind in a phase of the load */
#define EVENTS 20u       /* inside a run of the fast phase */
#define WORK 200u
#define SWING 1000u
/* A call that takes longer was interrupted. */
#define INTERRUPTED_NS 20000u

typedef uint64_t begin_function(epp_session *session, epp_category category, epp_name name);
typedef void end_function(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

static __attribute__((noinline)) uint64_t begin_nothing(epp_session *session, epp_category category, epp_name name)
{
	__asm__ volatile("" : : "r"(session), "r"(category), "r"(name));
	return 0;
}

static __attribute__((noinline)) void end_nothing(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	__asm__ volatile("" : : "r"(session), "r"(id), "r"(args), "r"(args_count));
}

struct budgeted {
	epp_session *session;
	epp_name run, node;
	uint64_t interrupted_ticks;
	struct calls {
		begin_function *begin;
		end_function *end;
		uint64_t count, ticks;
	} calls[2]; /* those of the library, and those that do nothing */
};

/* Keeps the processor's units busy.  A chain of dependent instructions would not, and calls would run beside it. */
static __attribute__((noinline)) void work(uint64_t count)
{
	uint64_t a = 1, b = 2, c = 3, d = 4;
	for (uint64_t i = 0; i < count; i++) {
		a = (a ^ a >> 7) + b;
		b = (b ^ b << 3) + c;
		c = (c ^ c >> 5) + d;
		d = (d ^ d << 9) + a;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
}

static void add_call(const struct budgeted *of, struct calls *calls, uint64_t ticks)
{
	if (ticks >= of->interrupted_ticks)
		return;
	calls->count++;
	calls->ticks += ticks;
}

static uint64_t begin(const struct budgeted *of, struct calls *calls, epp_name name)
{
	uint64_t before = epp_host_ticks(), id = calls->begin(of->session, EPP_NODE, name);
	add_call(of, calls, epp_host_ticks() - before);
	return id;
}

static void end(const struct budgeted *of, struct calls *calls, uint64_t id)
{
	uint64_t before = epp_host_ticks();
	calls->end(of->session, id, NULL, 0);
	add_call(of, calls, epp_host_ticks() - before);
}

/* Runs the load for one slice of CPU time. */
static void run_slice(const struct budgeted *of, struct calls *calls, bool is_slow)
{
	uint64_t begin_ns = bench_thread_ns();
	do {
		uint64_t id = begin(of, calls, of->run);
		for (unsigned i = 0; i < EVENTS && !is_slow; i++) {
			uint64_t inner = begin(of, calls, of->node);
			work(WORK);
			end(of, calls, inner);
		}
		if (is_slow)
			work(WORK * SWING);
		end(of, calls, id);
	} while (bench_thread_ns() - begin_ns < SLICE_NS);
}

/* Measures one recording in per cent of the CPU time. */
static epp_status *measure(uint64_t run_ns, double *percent)
{
	struct budgeted of = { .run = epp_name_intern("run"),
		               .node = epp_name_intern("node"),
		               .calls = { { .begin = epp_event_begin, .end = epp_event_end },
		                          { .begin = begin_nothing, .end = end_nothing } } };
	const epp_session_options options = { .struct_size = sizeof(options), .max_overhead = SHARE };
	double ticks_per_ns = (double)epp_host_ticks_per_second() / 1e9;
	of.interrupted_ticks = (uint64_t)(INTERRUPTED_NS * ticks_per_ns);
	epp_status *status = epp_session_create(&options, &of.session);
	if (!status)
		status = epp_session_start(of.session);
	uint64_t begin_ns = bench_thread_ns(), took_ns = 0;
	for (unsigned i = 0; !status && took_ns < run_ns; i++) {
		/* Either kind is first in turn, because the first slice has the effects of the one before. */
		run_slice(&of, &of.calls[i % 2], i / PHASE_SLICES % 2);
		run_slice(&of, &of.calls[(i + 1) % 2], i / PHASE_SLICES % 2);
		took_ns = bench_thread_ns() - begin_ns;
	}
	epp_session_destroy(of.session);
	if (status)
		return status;
	double nothing = (double)of.calls[1].ticks / (double)of.calls[1].count;
	double spent_ticks = (double)of.calls[0].ticks - nothing * (double)of.calls[0].count;
	*percent = spent_ticks / ticks_per_ns / (double)took_ns * 100;
	return NULL;
}

void bench_budget(struct bench *bench)
{
	double percents[REPETITIONS];
	for (unsigned i = 0; i < REPETITIONS; i++) {
		epp_status *status = measure(RUN_NS / bench->divisor, &percents[i]);
		if (status) {
			bench_fail(bench, "a session with a budget", status);
			return;
		}
	}
	struct bench_line line = { .figure = "a budget of 1 %, at most",
		                   .unit = "%",
		                   .value = bench_median(percents, REPETITIONS),
		                   .kind = BENCH_AT_MOST,
		                   .bound = 1.1,
		                   .repetitions = REPETITIONS };
	bench_report(bench, &line);
	line.figure = "a budget of 1 %, at least";
	line.kind = BENCH_AT_LEAST;
	line.bound = 0.8;
	bench_report(bench, &line);
	bench_note(bench, "single recordings: %.2f to %.2f %%", percents[0], percents[REPETITIONS - 1]);
}
