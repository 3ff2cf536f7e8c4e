/* The thread that visits sessions: runtime/base/helper.c. */
#include <pthread.h>
#include <time.h>

#include "base/atomics.h"
#include "base/helper.h"
#include "tests/support/check.h"

struct counted {
	struct helper_client client; /* first */
	uint32_t visits;
	uint32_t is_held; /* 1: a visit does not return */
	bool removes_itself;
};

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int64_t visit(struct helper_client *client)
{
	struct counted *of = (struct counted *)client;
	ADD_RELAXED(&of->visits, 1);
	while (LOAD_ACQUIRE(&of->is_held))
		sleep_ms(1);
	if (of->removes_itself)
		helper_remove(client);
	return -1;
}

/* Waits until it was visited more often than `before`. */
static void await_visit(const struct counted *of, uint32_t before)
{
	for (int i = 0; i < 5000 && LOAD_RELAXED(&of->visits) == before; i++)
		sleep_ms(1);
	ck_assert_uint_gt(LOAD_RELAXED(&of->visits), before);
}

START_TEST(a_client_is_visited_when_woken)
{
	struct counted a = { .client.visit = visit }, b = { .client.visit = visit };
	check_ok(helper_add(&a.client));
	check_ok(helper_add(&b.client));
	check_ok(helper_add(&b.client)); /* a second time does nothing */
	for (unsigned i = 0; i < 3; i++) {
		uint32_t of_a = LOAD_RELAXED(&a.visits), of_b = LOAD_RELAXED(&b.visits);
		helper_wake();
		await_visit(&a, of_a);
		await_visit(&b, of_b);
	}
	helper_remove(&a.client);
	uint32_t before = LOAD_RELAXED(&a.visits), of_b = LOAD_RELAXED(&b.visits);
	helper_wake();
	await_visit(&b, of_b);
	ck_assert_uint_eq(LOAD_RELAXED(&a.visits), before);
	helper_remove(&b.client);
	helper_remove(&b.client);
}
END_TEST

static void *let_go_later(void *of)
{
	sleep_ms(50);
	STORE_RELEASE(&((struct counted *)of)->is_held, 0);
	return NULL;
}

START_TEST(remove_waits_for_a_visit)
{
	struct counted a = { .client.visit = visit, .is_held = 1 };
	pthread_t thread;
	check_ok(helper_add(&a.client));
	helper_wake();
	await_visit(&a, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, let_go_later, &a), 0);
	helper_remove(&a.client);
	ck_assert_uint_eq(LOAD_ACQUIRE(&a.is_held), 0);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_visit_may_remove_its_client)
{
	struct counted a = { .client.visit = visit, .removes_itself = true }, b = { .client.visit = visit };
	check_ok(helper_add(&b.client));
	check_ok(helper_add(&a.client));
	helper_wake();
	await_visit(&a, 0);
	await_visit(&b, 0);
	uint32_t before = LOAD_RELAXED(&b.visits);
	helper_wake();
	await_visit(&b, before);
	helper_remove(&b.client);
	ck_assert_uint_eq(a.visits, 1);
	ck_assert(!a.client.added);
}
END_TEST

static Suite *helper_suite(void)
{
	Suite *suite = suite_create("helper");
	TCase *tcase = tcase_create("helper");
	tcase_add_test(tcase, a_client_is_visited_when_woken);
	tcase_add_test(tcase, remove_waits_for_a_visit);
	tcase_add_test(tcase, a_visit_may_remove_its_client);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(helper_suite)
