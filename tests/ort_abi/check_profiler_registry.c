/* The registry of profilers: where pushes go, and who waits for whom. */
#include "tests/support/check.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "ort_abi/profiler_registry.h"

static atomic_int released;

static void profiler_free(OrtEpProfilerImpl *profiler)
{
	(void)profiler;
	atomic_fetch_add(&released, 1);
}

static OrtEpProfilerImpl profilers[1000];
static const EpprofBatch batch = { .struct_size = sizeof(batch) };

static void set_up(void)
{
	for (size_t i = 0; i < 1000; i++)
		profilers[i] = (OrtEpProfilerImpl){ .ort_version_supported = 25, .Release = profiler_free };
	atomic_store(&released, 0);
}

static void count(void *user, const EpprofBatch *pushed)
{
	/* No assert of Check's: it takes a lock, which a child that is forked meanwhile would find taken for ever. */
	if (pushed->struct_size != sizeof(EpprofBatch))
		abort();
	atomic_fetch_add((atomic_int *)user, 1);
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

START_TEST(pushes_go_to_the_session_that_has_the_profiler)
{
	atomic_int first = 0;
	atomic_int second = 0;
	profiler_registry_push(&profilers[0], &batch);
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, count, &first));
	ck_assert(profiler_registry_attach(&profilers[1], &profilers, count, &second));
	profiler_registry_push(&profilers[0], &batch);
	profiler_registry_push(&profilers[0], &batch);
	profiler_registry_push(&profilers[1], &batch);
	profiler_registry_push(NULL, &batch);
	ck_assert_int_eq(first, 2);
	ck_assert_int_eq(second, 1);
	profiler_registry_detach(&profilers[0]);
	profiler_registry_push(&profilers[0], &batch);
	ck_assert_int_eq(first, 2);
	profiler_registry_detach(&profilers[0]);
	profiler_registry_detach(&profilers[1]);
}
END_TEST

START_TEST(a_profiler_belongs_to_one_session)
{
	atomic_int calls = 0;
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, count, &calls));
	ck_assert(!profiler_registry_attach(&profilers[0], &profilers, count, &calls));
	profiler_registry_detach(&profilers[0]);
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, count, &calls));
	profiler_registry_detach(&profilers[0]);
}
END_TEST

START_TEST(profilers_of_one_session_are_known_as_such)
{
	static const char session, other;
	atomic_int calls = 0;
	ck_assert_ptr_null(profiler_registry_session(&profilers[0]));
	ck_assert(profiler_registry_attach(&profilers[0], &session, count, &calls));
	ck_assert(profiler_registry_attach(&profilers[1], &session, count, &calls));
	ck_assert(profiler_registry_attach(&profilers[2], &other, count, &calls));
	ck_assert_ptr_eq(profiler_registry_session(&profilers[0]), &session);
	ck_assert_ptr_eq(profiler_registry_session(&profilers[1]), &session);
	ck_assert_ptr_eq(profiler_registry_session(&profilers[2]), &other);
	for (size_t i = 0; i < 3; i++) {
		profiler_registry_detach(&profilers[i]);
		ck_assert_ptr_null(profiler_registry_session(&profilers[i]));
	}
}
END_TEST

START_TEST(a_thousand_profilers_are_told_apart)
{
	static atomic_int calls[1000];
	for (size_t i = 0; i < 1000; i++)
		ck_assert(profiler_registry_attach(&profilers[i], &profilers, count, &calls[i]));
	for (size_t i = 0; i < 1000; i += 3)
		profiler_registry_detach(&profilers[i]);
	for (size_t i = 0; i < 1000; i++)
		profiler_registry_push(&profilers[i], &batch);
	for (size_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(calls[i], i % 3 ? 1 : 0);
		profiler_registry_detach(&profilers[i]);
	}
}
END_TEST

/* ---- waiting ---- */

static sem_t entered;
static sem_t may_leave;
static atomic_int left;
static atomic_uint pushes;

/* The first one stays until it may leave. */
static void linger(void *user, const EpprofBatch *pushed)
{
	(void)user, (void)pushed;
	if (atomic_fetch_add(&pushes, 1))
		return;
	sem_post(&entered);
	sem_wait(&may_leave);
	atomic_store(&left, 1);
}

static void *push_once(void *profiler)
{
	profiler_registry_push(profiler, &batch);
	return NULL;
}

static atomic_int gone;

static void *detach_once(void *profiler)
{
	profiler_registry_detach(profiler);
	ck_assert_int_eq(atomic_load(&left), 1);
	atomic_fetch_add(&gone, 1);
	return NULL;
}

static void *release_once(void *profiler)
{
	profiler_release(profiler);
	ck_assert_int_eq(atomic_load(&left), 1);
	atomic_fetch_add(&gone, 1);
	return NULL;
}

static void wait_for_pushes(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t pusher, one, other;
	unsigned before;
	sem_init(&entered, 0, 0);
	sem_init(&may_leave, 0, 0);
	atomic_store(&left, 0);
	atomic_store(&gone, 0);
	atomic_store(&pushes, 0);
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, linger, NULL));
	pthread_create(&pusher, NULL, push_once, &profilers[0]);
	sem_wait(&entered);
	pthread_create(&one, NULL, first, &profilers[0]);
	pthread_create(&other, NULL, second, &profilers[0]);
	/* Once one of them waits, nobody gets in any more, and no session may take the profiler. */
	do {
		pause_briefly();
		before = atomic_load(&pushes);
		profiler_registry_push(&profilers[0], &batch);
	} while (atomic_load(&pushes) != before);
	ck_assert_int_eq(atomic_load(&gone), 0);
	ck_assert(!profiler_registry_attach(&profilers[0], &profilers, linger, NULL));
	sem_post(&may_leave);
	pthread_join(pusher, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	ck_assert_int_eq(atomic_load(&gone), 2);
}

START_TEST(detach_waits_for_a_push_inside)
{
	wait_for_pushes(detach_once, detach_once);
	ck_assert_int_eq(released, 0);
}
END_TEST

static bool own(OrtEpProfilerImpl *profiler, atomic_int *live)
{
	struct worker *worker = worker_for(NULL);
	bool owned = profiler_registry_own(profiler, live, worker, "its plugin");
	worker_release(worker);
	return owned;
}

/* The worker calls Release. */
static void wait_for(const atomic_int *number, int wanted)
{
	for (int i = 0; i < 5000 && *number != wanted; i++)
		usleep(1000);
	ck_assert_int_eq(*number, wanted);
}

START_TEST(release_waits_for_a_push_inside)
{
	atomic_int live = 1;
	ck_assert(own(&profilers[0], &live));
	wait_for_pushes(release_once, detach_once);
	wait_for(&live, 0);
	ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(a_push_to_one_does_not_hold_up_another)
{
	pthread_t pusher;
	atomic_int calls = 0;
	sem_init(&entered, 0, 0);
	sem_init(&may_leave, 0, 0);
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, linger, NULL));
	ck_assert(profiler_registry_attach(&profilers[1], &profilers, count, &calls));
	pthread_create(&pusher, NULL, push_once, &profilers[0]);
	sem_wait(&entered);
	profiler_registry_push(&profilers[1], &batch);
	profiler_registry_detach(&profilers[1]);
	ck_assert_int_eq(calls, 1);
	sem_post(&may_leave);
	pthread_join(pusher, NULL);
	profiler_registry_detach(&profilers[0]);
}
END_TEST

/* ---- plugins ---- */

START_TEST(release_counts_its_plugin_down)
{
	atomic_int live = 2;
	ck_assert(own(&profilers[0], &live));
	ck_assert(!own(&profilers[0], &live));
	ck_assert(own(&profilers[1], &live));
	profiler_release(&profilers[0]);
	wait_for(&live, 1);
	ck_assert_int_eq(released, 1);
	/* One that no plugin made. */
	profiler_release(&profilers[2]);
	ck_assert_int_eq(live, 1);
	ck_assert_int_eq(released, 2);
	profiler_release(NULL);
	profiler_release(&profilers[1]);
	wait_for(&live, 0);
	/* The same address, a new object. */
	atomic_store(&live, 1);
	ck_assert(own(&profilers[0], &live));
	profiler_release(&profilers[0]);
	wait_for(&live, 0);
}
END_TEST

START_TEST(release_takes_the_profiler_from_its_session)
{
	atomic_int calls = 0;
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, count, &calls));
	profiler_release(&profilers[0]);
	profiler_registry_push(&profilers[0], &batch);
	ck_assert_int_eq(calls, 0);
	profiler_registry_detach(&profilers[0]);
}
END_TEST

/* ---- threads and forks ---- */

static atomic_int stop;

static void *push_on(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		for (size_t i = 0; i < 4; i++)
			profiler_registry_push(&profilers[i], &batch);
	}
	return NULL;
}

/* `inside` tells whether the session is there: a push that arrives after detach would find it 0. */
static void only_while_attached(void *user, const EpprofBatch *pushed)
{
	(void)pushed;
	ck_assert_int_eq(atomic_load((atomic_int *)user), 1);
}

START_TEST(no_push_arrives_after_detach)
{
	static atomic_int attached[4];
	pthread_t pushers[2];
	atomic_store(&stop, 0);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&pushers[i], NULL, push_on, NULL);
	for (int round = 0; round < 3000; round++) {
		size_t i = (size_t)round % 4;
		atomic_store(&attached[i], 1);
		ck_assert(profiler_registry_attach(&profilers[i], &profilers, only_while_attached, &attached[i]));
		profiler_registry_detach(&profilers[i]);
		atomic_store(&attached[i], 0);
	}
	atomic_store(&stop, 1);
	for (size_t i = 0; i < 2; i++)
		pthread_join(pushers[i], NULL);
}
END_TEST

START_TEST(a_forked_child_starts_without_sessions)
{
	pthread_t pusher;
	atomic_int calls = 0;
	atomic_store(&stop, 0);
	ck_assert(profiler_registry_attach(&profilers[0], &profilers, count, &calls));
	pthread_create(&pusher, NULL, push_on, NULL);
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		if (!child) {
			int before = atomic_load(&calls);
			alarm(20);
			/* The lock is usable, nobody is inside, and nothing reaches the parent's session. */
			profiler_registry_push(&profilers[0], &batch);
			bool fine = atomic_load(&calls) == before;
			fine = fine && profiler_registry_attach(&profilers[0], &profilers, count, &calls);
			profiler_registry_push(&profilers[0], &batch);
			fine = fine && atomic_load(&calls) == before + 1;
			profiler_registry_detach(&profilers[0]);
			_exit(fine ? 0 : 1);
		}
		int status;
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
	}
	atomic_store(&stop, 1);
	pthread_join(pusher, NULL);
	ck_assert_int_gt(calls, 0);
	profiler_registry_detach(&profilers[0]);
}
END_TEST

static Suite *profiler_registry_suite(void)
{
	Suite *suite = suite_create("profiler_registry");
	TCase *tests = tcase_create("profiler_registry");
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, pushes_go_to_the_session_that_has_the_profiler);
	tcase_add_test(tests, a_profiler_belongs_to_one_session);
	tcase_add_test(tests, profilers_of_one_session_are_known_as_such);
	tcase_add_test(tests, a_thousand_profilers_are_told_apart);
	tcase_add_test(tests, detach_waits_for_a_push_inside);
	tcase_add_test(tests, release_waits_for_a_push_inside);
	tcase_add_test(tests, a_push_to_one_does_not_hold_up_another);
	tcase_add_test(tests, release_counts_its_plugin_down);
	tcase_add_test(tests, release_takes_the_profiler_from_its_session);
	tcase_add_test(tests, no_push_arrives_after_detach);
	tcase_add_test(tests, a_forked_child_starts_without_sessions);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(profiler_registry_suite)
