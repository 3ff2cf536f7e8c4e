/* Tokens on a library's stacks: whose event is found, in whatever order events and runs end. */
#include "pu1_recording.h"

#include "plugins/pu1/pu1_tokens.h"

static struct pu1_library library;
static struct pu1_script *script;
static const struct pu1_owner nobody = { 15, 4711 };

static void setup(void)
{
	void *handle = dlopen(PU1_PLUGIN("scripted_pu1"), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	script = dlsym(handle, "script");
	*(void **)&library.calls.push = dlsym(handle, "pu1PushExternalCorrelationId");
	*(void **)&library.calls.pop = dlsym(handle, "pu1PopExternalCorrelationId");
	library.tokens = pu1_tokens_create();
	ck_assert_ptr_nonnull(library.tokens);
}

static struct pu1_owner begin(void)
{
	struct pu1_owner owner;
	ck_assert(pu1_tokens_begin(library.tokens, &owner));
	return owner;
}

static void push(struct pu1_owner owner, uint64_t id)
{
	ck_assert_int_eq(pu1_tokens_push(&library, owner, id), PU1_SUCCESS);
}

static void pop(struct pu1_owner owner, uint64_t id)
{
	ck_assert_int_eq(pu1_tokens_pop(&library, owner, id), PU1_SUCCESS);
}

/* What the work launched now belongs to. */
static void check_is(struct pu1_owner owner, uint64_t id, bool is_inferred)
{
	bool inferred;
	ck_assert_uint_eq(pu1_tokens_find(library.tokens, script->top(), owner, &inferred), id);
	if (id)
		ck_assert_int_eq(inferred, is_inferred);
}

START_TEST(the_innermost_event_is_found)
{
	struct pu1_owner owner = begin();
	check_is(owner, 0, false);
	push(owner, 100);
	push(owner, 7);
	check_is(owner, 7, false);
	check_is(nobody, 0, false);
	pop(owner, 7);
	check_is(owner, 100, false);
	pop(owner, 100);
	ck_assert_uint_eq(script->depth(), 0);
	pop(owner, 100);
}
END_TEST

START_TEST(another_session_finds_what_is_around)
{
	struct pu1_owner a = begin(), b = begin(), c = begin();
	push(a, 1);
	push(b, 2);
	push(b, 3);
	check_is(b, 3, false);
	check_is(a, 1, true);
	check_is(c, 0, false);
	push(c, 4);
	check_is(c, 4, false);
	check_is(b, 3, true);
	check_is(a, 1, true);
	/* The outermost ends first: what lies above keeps it until it is on top. */
	pop(a, 1);
	ck_assert_uint_eq(script->depth(), 4);
	pop(c, 4);
	pop(b, 2); /* and 3 with it */
	ck_assert_uint_eq(script->depth(), 0);
}
END_TEST

START_TEST(a_run_that_ends_leaves_nothing_for_the_next)
{
	struct pu1_owner a = begin(), b = begin();
	push(a, 1);
	push(b, 2);
	push(a, 3);
	pu1_tokens_end(library.tokens, &a);
	struct pu1_owner next = begin();
	ck_assert_uint_eq(next.place, a.place);
	check_is(next, 0, false);
	push(next, 4);
	check_is(next, 4, false);
	check_is(b, 2, true);
	ck_assert_uint_eq(script->depth(), 3); /* 3 was popped, 1 lies beneath 2 */
	pop(a, 1);
	pop(next, 4);
	pop(b, 2);
	ck_assert_uint_eq(script->depth(), 0);
	pu1_tokens_end(library.tokens, &a); /* long over: not the next one's end */
	push(next, 5);
	check_is(next, 5, false);
	pu1_tokens_forget(library.tokens);
	pop(next, 5);
	ck_assert_uint_eq(script->depth(), 0);
}
END_TEST

START_TEST(as_many_sessions_as_there_can_be)
{
	struct pu1_owner owners[PU1_PROFILERS_MAX], one_more;
	for (size_t i = 0; i < PU1_PROFILERS_MAX; i++) {
		owners[i] = begin();
		push(owners[i], i + 1);
	}
	ck_assert(!pu1_tokens_begin(library.tokens, &one_more));
	for (size_t i = 0; i < PU1_PROFILERS_MAX; i++)
		check_is(owners[i], i + 1, i + 1 < PU1_PROFILERS_MAX);
	for (size_t i = 0; i < PU1_PROFILERS_MAX; i++)
		pop(owners[i], i + 1);
	ck_assert_uint_eq(script->depth(), 0);
	pu1_tokens_end(library.tokens, &owners[5]);
	ck_assert(pu1_tokens_begin(library.tokens, &one_more));
}
END_TEST

START_TEST(what_is_too_deep_counts_for_what_is_around)
{
	struct pu1_owner owner = begin();
	for (uint64_t id = 1; id <= 100; id++)
		push(owner, id);
	ck_assert_uint_eq(script->depth(), PU1_OPEN_MAX);
	check_is(owner, PU1_OPEN_MAX, false);
	for (uint64_t id = 100; id > 0; id--)
		pop(owner, id);
	ck_assert_uint_eq(script->depth(), 0);
}
END_TEST

START_TEST(old_tokens_are_forgotten_and_others_are_not_ours)
{
	struct pu1_owner owner = begin();
	push(owner, 1);
	uint64_t first = script->top();
	ck_assert(pu1_tokens_is_own(first));
	ck_assert(!pu1_tokens_is_own(0) && !pu1_tokens_is_own(42) && !pu1_tokens_is_own(UINT64_MAX));
	for (uint64_t i = 0; i < PU1_TOKENS_COUNT - 1; i++) {
		push(owner, 1000 + i);
		pop(owner, 1000 + i);
	}
	check_is(owner, 1, false);
	push(owner, 2);
	bool inferred;
	ck_assert_uint_eq(pu1_tokens_find(library.tokens, first, owner, &inferred), 0);
	check_is(owner, 2, false);
	ck_assert_uint_eq(pu1_tokens_find(library.tokens, 42, owner, &inferred), 0);
	pop(owner, 2);
	pop(owner, 1);
}
END_TEST

START_TEST(a_library_that_fails_is_told_of)
{
	struct pu1_owner owner = begin();
	script->push_result = PU1_UNKNOWN;
	ck_assert_int_eq(pu1_tokens_push(&library, owner, 1), PU1_UNKNOWN);
	script->push_result = PU1_SUCCESS;
	pop(owner, 1); /* it was never there */
	push(owner, 2);
	script->pop_offset = 1;
	ck_assert_int_eq(pu1_tokens_pop(&library, owner, 2), PU1_INVALID_OPERATION);
	script->pop_offset = 0;
	push(owner, 3);
	script->pop_result = PU1_NOT_IMPLEMENTED;
	ck_assert_int_eq(pu1_tokens_pop(&library, owner, 3), PU1_NOT_IMPLEMENTED);
	pop(owner, 3);
}
END_TEST

static _Atomic uint64_t shown[4];
static atomic_bool stop;

static void *push_and_pop(void *argument)
{
	const struct pu1_owner *owner = argument;
	for (uint64_t id = 1; id <= 50000 / RECORDING_SLOW; id++) {
		push(*owner, id);
		shown[owner->place] = script->top();
		check_is(*owner, id, false);
		pop(*owner, id);
	}
	ck_assert_uint_eq(script->depth(), 0);
	return NULL;
}

static void *look(void *argument)
{
	const struct pu1_owner *owners = argument;
	while (!stop) {
		for (size_t i = 0; i < 4; i++) {
			bool inferred;
			uint64_t id = pu1_tokens_find(library.tokens, shown[i], owners[i], &inferred);
			ck_assert(id <= 50000 && !inferred);
		}
	}
	return NULL;
}

START_TEST(threads_push_while_others_look)
{
	struct pu1_owner owners[4];
	pthread_t threads[4];
	for (size_t i = 0; i < 4; i++)
		owners[i] = begin();
	pthread_t looking = recording_thread(look, owners);
	for (size_t i = 0; i < 4; i++)
		threads[i] = recording_thread(push_and_pop, &owners[i]);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	stop = true;
	pthread_join(looking, NULL);
}
END_TEST

static Suite *pu1_tokens_suite(void)
{
	Suite *suite = suite_create("pu1_tokens");
	TCase *tests = tcase_create("pu1_tokens");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, the_innermost_event_is_found);
	tcase_add_test(tests, another_session_finds_what_is_around);
	tcase_add_test(tests, a_run_that_ends_leaves_nothing_for_the_next);
	tcase_add_test(tests, as_many_sessions_as_there_can_be);
	tcase_add_test(tests, what_is_too_deep_counts_for_what_is_around);
	tcase_add_test(tests, old_tokens_are_forgotten_and_others_are_not_ours);
	tcase_add_test(tests, a_library_that_fails_is_told_of);
	tcase_add_test(tests, threads_push_while_others_look);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_tokens_suite)
