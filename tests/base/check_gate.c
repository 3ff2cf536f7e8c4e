/* The asymmetric barrier: a thread that marks itself without a fence and then looks, and one that closes, passes the
 * barrier and then looks, never both miss the other: runtime/base/gate.c. */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "base/atomics.h"
#include "base/gate.h"
#include "tests/support/recording.h"

#define ROUNDS (20000 / RECORDING_SLOW)
/* On a busy machine it takes longer until the two have met in both ways. */
#define ROUNDS_MOST (50 * ROUNDS)
#define NO_MORE UINT32_MAX

/* On lines of their own, so that the store is long on its way while the load is quick. */
static struct {
	uint32_t value;
	char line[124];
} mark, closed, round_wanted, round_done, inside;

static void *recorder(void *unused)
{
	for (uint32_t i = 1;; i++) {
		uint32_t wanted;
		for (unsigned spins = 0; (wanted = LOAD_ACQUIRE(&round_wanted.value)) != i && wanted != NO_MORE; spins++)
			if (spins > 1000)
				sched_yield();
		if (wanted == NO_MORE)
			return unused;
		STORE_RELAXED(&mark.value, 1);
		atomic_signal_fence(memory_order_seq_cst);
		STORE_RELAXED(&inside.value, LOAD_RELAXED(&closed.value) == 0);
		STORE_RELEASE(&round_done.value, i);
	}
}

START_TEST(one_of_the_two_sees_the_other)
{
	gate_setup();
	if (!gate_barrier()) {
		printf("SKIP: the kernel has no membarrier\n");
		return;
	}
	pthread_t thread = recording_thread(recorder, NULL);
	unsigned in = 0, out = 0;
	for (uint32_t i = 1; i <= ROUNDS || ((!in || !out) && i <= ROUNDS_MOST); i++) {
		STORE_RELAXED(&mark.value, 0);
		STORE_RELAXED(&closed.value, 0);
		STORE_RELEASE(&round_wanted.value, i);
		uint64_t until = recording_now_ns() + i % 4000;
		while (recording_now_ns() < until)
			continue;
		STORE_RELAXED(&closed.value, 1);
		ck_assert(gate_barrier());
		uint32_t seen = LOAD_ACQUIRE(&mark.value);
		for (unsigned spins = 0; LOAD_ACQUIRE(&round_done.value) != i; spins++)
			if (spins > 1000)
				sched_yield();
		uint32_t went_in = LOAD_RELAXED(&inside.value);
		if (went_in && !seen)
			ck_abort_msg("round %u: it went in and was not seen", i);
		in += went_in;
		out += !went_in;
	}
	STORE_RELEASE(&round_wanted.value, NO_MORE);
	pthread_join(thread, NULL);
	/* Else the rounds proved nothing. */
	if (!in || !out)
		printf("SKIP: the threads never met: %u in, %u out\n", in, out);
}
END_TEST

START_TEST(a_child_registers_anew)
{
	gate_setup();
	pid_t child = fork();
	if (child == 0) {
		gate_setup();
		_exit(gate_barrier() ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status != 0, !gate_barrier());
}
END_TEST

static Suite *gate_suite(void)
{
	Suite *suite = suite_create("gate");
	TCase *tcase = tcase_create("gate");
	tcase_add_test(tcase, one_of_the_two_sees_the_other);
	tcase_add_test(tcase, a_child_registers_anew);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(gate_suite)
