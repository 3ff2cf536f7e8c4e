/* Workers: one thread for all calls of a plugin, calls that do not return, and what becomes of them later:
 * runtime/base/worker.c. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/thread.h"
#include "base/worker.h"
#include "tests/support/recording.h"

static atomic_int discarded, discarded_unran, let_go;
static char order[64];
static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;

struct call {
	struct worker_call call; /* first */
	char letter;
	bool hangs;
	uint32_t thread;
	sigset_t blocked;
};

static void run(struct worker_call *of)
{
	struct call *call = (struct call *)of;
	call->thread = (uint32_t)syscall(SYS_gettid);
	pthread_sigmask(SIG_SETMASK, NULL, &call->blocked);
	pthread_mutex_lock(&order_lock);
	order[strlen(order)] = call->letter;
	pthread_mutex_unlock(&order_lock);
	while (call->hangs && !let_go)
		recording_sleep_ms(1);
}

static void discard(struct worker_call *of, bool ran)
{
	discarded++;
	discarded_unran += !ran;
	free(of);
}

static struct call *make(char letter, bool hangs)
{
	struct call *call = calloc(1, sizeof(*call));
	*call = (struct call){ .call = { .run = run, .discard = discard }, .letter = letter, .hangs = hangs };
	return call;
}

static struct timespec soon(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_nsec += 50000000;
	now.tv_sec += now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
	return now;
}

static enum worker_result call_until(struct worker *worker, struct call *call, struct timespec deadline)
{
	worker_submit(worker, &call->call);
	return worker_await(&call->call, &deadline);
}

/* Returns the thread it ran on. */
static uint32_t call_done(struct worker *worker, char letter)
{
	struct call *call = make(letter, false);
	ck_assert_int_eq(call_until(worker, call, worker_deadline()), WORKER_DONE);
	uint32_t thread = call->thread;
	free(call);
	return thread;
}

static void wait_until(const atomic_int *count, int reached)
{
	for (int i = 0; i < 5000 && *count < reached; i++)
		recording_sleep_ms(1);
	ck_assert_int_eq(*count, reached);
}

START_TEST(all_calls_of_a_plugin_see_one_thread)
{
	static int library, other;
	struct worker *worker = worker_for(&library), *same = worker_for(&library), *another = worker_for(&other);
	struct worker *own = worker_for(NULL), *own_too = worker_for(NULL);
	ck_assert_ptr_eq(worker, same);
	ck_assert_ptr_ne(worker, another);
	ck_assert_ptr_ne(own, own_too);
	uint32_t thread = call_done(worker, 'a');
	ck_assert_uint_ne(thread, (uint32_t)syscall(SYS_gettid));
	ck_assert_uint_ne(call_done(another, 'b'), thread);
	worker_release(worker);
	ck_assert_uint_eq(call_done(same, 'c'), thread);
	worker_release(same);
	worker_release(another);
	worker_release(own);
	worker_release(own_too);
	worker_release(NULL);
	ck_assert_str_eq(order, "abc");
}
END_TEST

START_TEST(no_signal_is_handled_there)
{
	struct worker *worker = worker_for(NULL);
	struct call *call = make('a', false);
	ck_assert_int_eq(call_until(worker, call, worker_deadline()), WORKER_DONE);
	ck_assert(sigismember(&call->blocked, SIGINT) && sigismember(&call->blocked, SIGPROF));
	free(call);
	worker_release(worker);
}
END_TEST

START_TEST(a_call_that_does_not_return_holds_nobody)
{
	struct worker *worker = worker_for(NULL), *other = worker_for(NULL);
	uint64_t before = recording_now_ns();
	ck_assert_int_eq(call_until(worker, make('a', true), soon()), WORKER_HUNG);
	ck_assert_uint_ge(recording_now_ns() - before, 40000000);
	/* The next one fails at once and never begins; other plugins are not concerned. */
	before = recording_now_ns();
	ck_assert_int_eq(call_until(worker, make('b', false), worker_deadline()), WORKER_BUSY);
	ck_assert_uint_lt(recording_now_ns() - before, 1000000000);
	ck_assert_int_eq(discarded, 1);
	ck_assert_int_eq(discarded_unran, 1);
	call_done(other, 'c');
	/* One that nobody waits for comes afterwards, and so does the last one of a profiler. */
	struct call *last = make('d', false);
	worker_submit(worker, &last->call);
	worker_abandon(&last->call);
	last = make('l', false);
	last->call.is_last = true;
	ck_assert_int_eq(call_until(worker, last, worker_deadline()), WORKER_BUSY);
	ck_assert_str_eq(order, "ac");
	let_go = 1;
	wait_until(&discarded, 4);
	ck_assert_int_eq(discarded_unran, 1);
	ck_assert_str_eq(order, "acdl");
	/* And it can be called again. */
	recording_sleep_ms(20);
	call_done(worker, 'e');
	worker_release(worker);
	worker_release(other);
}
END_TEST

START_TEST(who_waits_behind_a_slow_call_learns_that_it_hangs)
{
	struct worker *worker = worker_for(NULL);
	struct call *slow = make('a', true), *behind = make('b', false);
	struct timespec deadline = soon();
	worker_submit(worker, &slow->call);
	worker_submit(worker, &behind->call);
	ck_assert_int_eq(worker_await(&behind->call, &deadline), WORKER_BUSY);
	let_go = 1;
	deadline = worker_deadline();
	ck_assert_int_eq(worker_await(&slow->call, &deadline), WORKER_DONE);
	ck_assert_str_eq(order, "a");
	free(slow);
	worker_release(worker);
}
END_TEST

START_TEST(one_that_is_released_while_it_hangs)
{
	struct worker *worker = worker_for(NULL);
	ck_assert_int_eq(call_until(worker, make('a', true), soon()), WORKER_HUNG);
	struct call *last = make('b', false);
	worker_submit(worker, &last->call);
	worker_abandon(&last->call);
	worker_release(worker);
	let_go = 1;
	wait_until(&discarded, 2);
	ck_assert_str_eq(order, "ab");
}
END_TEST

/* A call that has returned already is discarded on the caller's thread. */
START_TEST(given_up_after_it_returned)
{
	struct worker *worker = worker_for(NULL);
	struct call *call = make('a', false);
	worker_submit(worker, &call->call);
	recording_sleep_ms(50);
	worker_abandon(&call->call);
	wait_until(&discarded, 1);
	ck_assert_int_eq(discarded_unran, 0);
	worker_release(worker);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* it refuses threads in the child */
START_TEST(a_forked_child_has_threads_of_its_own)
{
	struct worker *idle = worker_for(NULL), *hung = worker_for(NULL);
	uint32_t thread = call_done(idle, 'a');
	ck_assert_int_eq(call_until(hung, make('b', true), soon()), WORKER_HUNG);
	pid_t child = fork();
	if (!child) {
		bool fine = call_done(idle, 'c') != thread;
		fine &= call_until(hung, make('d', false), soon()) == WORKER_BUSY;
		_exit(fine ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(call_done(idle, 'e'), thread);
	let_go = 1;
	wait_until(&discarded, 1);
	worker_release(idle);
	worker_release(hung);
}
END_TEST
#endif

static const struct {
	const char *text;
	uint64_t ms;
} limits[] = { { NULL, 2000 },
	       { "", 2000 },
	       { "300", 300 },
	       { "0", 2000 },
	       { "-5", 2000 },
	       { "3 s", 2000 },
	       { "99999999999999999999", 86400000 } };

START_TEST(the_limit_is_the_environment_s)
{
	if (limits[_i].text)
		setenv("EPPROF_PLUGIN_TIMEOUT_MS", limits[_i].text, 1);
	else
		unsetenv("EPPROF_PLUGIN_TIMEOUT_MS");
	ck_assert_uint_eq(worker_timeout_ns(), limits[_i].ms * 1000000);
}
END_TEST

/* ---- budgets ---- */

#define MINUTE_NS 60000000000

static int64_t ns_of(struct timespec time)
{
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Asserts that the worker has as much of a minute as a new one, less at least `spent_ms`. */
static void assert_spent(struct worker *worker, int64_t spent_ms)
{
	int64_t before_ns = ns_of(thread_deadline(0));
	int64_t left_ns = ns_of(worker_deadline_of(worker, MINUTE_NS)) - before_ns;
	int64_t took_ns = ns_of(thread_deadline(0)) - before_ns;
	ck_assert_int_le(left_ns, MINUTE_NS + took_ns - spent_ms * 1000000);
	if (!spent_ms)
		ck_assert_int_ge(left_ns, MINUTE_NS);
}

static void run_for_20_ms(struct worker_call *of)
{
	(void)of;
	recording_sleep_ms(20);
}

static void call_for_20_ms(struct worker *worker)
{
	struct call *call = make('a', false);
	call->call.run = run_for_20_ms;
	ck_assert_int_eq(call_until(worker, call, worker_deadline()), WORKER_DONE);
	free(call);
}

/* A worker's calls share its time; another worker has all of it. */
START_TEST(a_budget_is_for_all_calls_of_one_worker)
{
	struct worker *worker = worker_for(NULL), *other = worker_for(NULL);
	call_for_20_ms(worker);
	uint64_t budget = worker_budget_enter(0);
	ck_assert_uint_ne(budget, 0);
	assert_spent(worker, 0);
	call_for_20_ms(worker);
	call_for_20_ms(worker);
	assert_spent(worker, 40);
	assert_spent(other, 0);
	worker_budget_leave();
	assert_spent(worker, 0);
	call_for_20_ms(worker);
	ck_assert_uint_eq(worker_budget_enter(budget), budget);
	assert_spent(worker, 40);
	ck_assert_int_ge(ns_of(worker_deadline_of(worker, 1000000)), 0);
	ck_assert_int_le(ns_of(worker_deadline_of(worker, 1000000)), ns_of(thread_deadline(0)));
	ck_assert_uint_ne(worker_budget_enter(0), budget);
	assert_spent(worker, 0);
	worker_budget_leave();
	worker_release(worker);
	worker_release(other);
}
END_TEST

START_TEST(a_hang_after_earlier_calls_of_the_budget)
{
	struct worker *worker = worker_for(NULL);
	worker_budget_enter(0);
	call_for_20_ms(worker);
	ck_assert_int_eq(call_until(worker, make('a', true), soon()), WORKER_SPENT);
	worker_budget_leave();
	let_go = 1;
	wait_until(&discarded, 1);
	ck_assert_int_eq(discarded, 1);
	worker_release(worker);
}
END_TEST

START_TEST(what_it_is_called)
{
	static const char *const texts[] = { NULL, "stop: it has not returned after 2000 ms",
		                             "stop: it has not returned after 2000 ms, earlier calls included",
		                             "stop: not called, because an earlier call has not returned",
		                             "stop: cannot start a thread: out of memory, or too many threads" };
	unsetenv("EPPROF_PLUGIN_TIMEOUT_MS");
	worker_timeout_ns();
	ck_assert_ptr_null(worker_status(WORKER_DONE, "stop"));
	for (int result = WORKER_HUNG; result <= WORKER_NO_THREAD; result++) {
		epp_status *status = worker_status((enum worker_result)result, "stop");
		ck_assert_str_eq(epp_status_message(status), texts[result]);
		epp_status_destroy(status);
	}
}
END_TEST

static Suite *worker_suite(void)
{
	Suite *suite = suite_create("worker");
	TCase *tcase = tcase_create("worker");
	tcase_add_test(tcase, all_calls_of_a_plugin_see_one_thread);
	tcase_add_test(tcase, no_signal_is_handled_there);
	tcase_add_test(tcase, a_call_that_does_not_return_holds_nobody);
	tcase_add_test(tcase, who_waits_behind_a_slow_call_learns_that_it_hangs);
	tcase_add_test(tcase, one_that_is_released_while_it_hangs);
	tcase_add_test(tcase, given_up_after_it_returned);
#ifndef __SANITIZE_THREAD__ /* it refuses threads in the child */
	tcase_add_test(tcase, a_forked_child_has_threads_of_its_own);
#endif
	tcase_add_loop_test(tcase, the_limit_is_the_environment_s, 0, sizeof(limits) / sizeof(limits[0]));
	tcase_add_test(tcase, a_budget_is_for_all_calls_of_one_worker);
	tcase_add_test(tcase, a_hang_after_earlier_calls_of_the_budget);
	tcase_add_test(tcase, what_it_is_called);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(worker_suite)
