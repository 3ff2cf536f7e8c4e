/* The kit under several threads and several profilers: emits beside each other and beside EndProfiling, threads that
 * come and go, die in the middle of an emit, fork, or outlive the kit's library.  Meant for ThreadSanitizer above
 * all. */
#include "ep_kit_host.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <sys/wait.h>

#include "tests/support/forking.h"

#define EMITTERS 6

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define HAS_ADDRESS_SANITIZER 0
#endif

static struct {
	epp_ep_profiler *profiler;
	atomic_bool stop;
	_Atomic uint64_t emitted;
} shared;

static void setup(void)
{
	memset(&shared, 0, sizeof(shared));
	host_setup("1.29.0");
}

static void setup_ort(void)
{
	memset(&shared, 0, sizeof(shared));
	host_setup("1.26.0");
	host.add_drops = true;
}

static void *emit_until_stopped(void *user)
{
	(void)user;
	uint64_t count = 0;
	do {
		const epp_ep_arg args[] = { { .key = "i", .i64 = (int64_t)count }, { .key = "text", .text = "\"x\"" } };
		uint64_t now = real_ns();
		epp_ep_event event = {
			.parent = epp_ep_current(shared.profiler),
			.name = "busy",
			.start_ticks = now - 50,
			.end_ticks = now,
			.args = args,
			.args_count = count % 3,
		};
		forking_may_allocate(true);
		epp_ep_emit(shared.profiler, &event);
		forking_may_allocate(false);
		count++;
	} while (!atomic_load(&shared.stop));
	atomic_fetch_add(&shared.emitted, count);
	return NULL;
}

static void add_ledger(EpprofLedger *sum, const EpprofLedger *ledger)
{
	sum->emitted += ledger->emitted;
	sum->lost_no_buffer += ledger->lost_no_buffer;
	sum->lost_refused += ledger->lost_refused;
	sum->lost_outside_run += ledger->lost_outside_run;
	sum->lost_other += ledger->lost_other;
}

/* Runs begin and end while all emit: each event is delivered or counted once, in one run's ledger.  Between two runs
 * events are emitted too: they are in the next one's, and in that of a last run, when all have stopped. */
START_TEST(emits_beside_runs)
{
	const uint64_t runs_count = 20;
	epp_ep_options options = ep_options();
	options.buffer_bytes = 1u << 20;
	host.push_drops = true;
	shared.profiler = ep_create(&options);
	pthread_t threads[EMITTERS];
	for (size_t i = 0; i < EMITTERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_until_stopped, NULL), 0);
	EpprofLedger sum = { 0 };
	for (uint64_t run = 0; run <= runs_count; run++) {
		if (run == runs_count) {
			atomic_store(&shared.stop, true);
			for (size_t i = 0; i < EMITTERS; i++)
				pthread_join(threads[i], NULL);
		}
		ep_start(shared.profiler);
		usleep(2000);
		ep_end(shared.profiler);
		add_ledger(&sum, &host.ledger);
	}
	ck_assert_uint_gt(host.pushed_count, 100);
	ck_assert_uint_eq(sum.emitted, atomic_load(&shared.emitted));
	ck_assert_uint_eq(sum.emitted, host.pushed_count + host_ledger_lost(&sum));
	ck_assert_uint_eq(sum.lost_other, 0);
	ck_assert_uint_eq(sum.lost_no_buffer, 0);
	ck_assert_uint_eq(sum.lost_refused, 0);
	ep_release(shared.profiler);
}
END_TEST

START_TEST(emits_beside_the_end_in_ort)
{
	epp_ep_options options = ep_options();
	options.buffer_bytes = 1u << 20;
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	pthread_t threads[EMITTERS];
	for (size_t i = 0; i < EMITTERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_until_stopped, NULL), 0);
	EpprofLedger ledger;
	do {
		usleep(1000);
		epp_ep_ledger(shared.profiler, &ledger);
	} while (ledger.lost_no_buffer == 0);
	ep_end(shared.profiler);
	atomic_store(&shared.stop, true);
	for (size_t i = 0; i < EMITTERS; i++)
		pthread_join(threads[i], NULL);
	/* One more event tells of the loss. */
	ledger = ep_balance(shared.profiler, atomic_load(&shared.emitted), host.added_count - 1);
	ck_assert_uint_gt(host.added_count, 100);
	ck_assert_uint_eq(ledger.lost_other + ledger.lost_refused, 0);
	ep_release(shared.profiler);
}
END_TEST

static void *use_own_stack(void *user)
{
	uint64_t base = (uint64_t)(uintptr_t)user * 1000;
	for (int round = 0; round < 500; round++) {
		uint64_t tokens[3];
		for (uint64_t i = 0; i < 3; i++) {
			ep_begin_event(shared.profiler, base);
			tokens[i] = epp_ep_current(shared.profiler);
			ck_assert_uint_ne(tokens[i], 0);
			ck_assert_uint_eq(epp_ep_current(shared.profiler), tokens[i]);
			ck_assert(!host.added_count || i == 0 || tokens[i] != tokens[i - 1]);
		}
		for (uint64_t i = 3; i-- > 0;) {
			ck_assert_uint_eq(epp_ep_current(shared.profiler), tokens[i]);
			ep_emit(shared.profiler, tokens[i], "child");
			ep_stop_event(shared.profiler, base, NULL);
		}
		ck_assert_uint_eq(epp_ep_current(shared.profiler), 0);
	}
	return NULL;
}

START_TEST(a_stack_for_each_thread)
{
	epp_ep_options options = ep_options();
	host.push_drops = true;
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	pthread_t threads[EMITTERS];
	for (uintptr_t i = 0; i < EMITTERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_own_stack, (void *)(i + 1)), 0);
	for (size_t i = 0; i < EMITTERS; i++)
		pthread_join(threads[i], NULL);
	ep_end(shared.profiler);
	uint64_t arrived = host.pushed_count ? host.pushed_count : host.added_count;
	ck_assert_uint_eq(host_ledger_lost(&host.ledger), 0);
	ep_balance(shared.profiler, EMITTERS * 500 * 3, arrived);
	ep_release(shared.profiler);
}
END_TEST

#define TAKERS 8
#define TAKEN 60

static struct taker {
	pthread_t thread;
	uint64_t tokens[TAKEN];
} takers[TAKERS];
static pthread_barrier_t takers_ready;

static void *take_tokens(void *user)
{
	struct taker *taker = user;
	OrtEpProfilerImpl *impl = &shared.profiler->impl;
	pthread_barrier_wait(&takers_ready);
	for (uint64_t i = 0; i < TAKEN; i++) {
		MUST(!impl->StartEvent(impl, i + 1));
		taker->tokens[i] = epp_ep_current(shared.profiler);
	}
	return NULL;
}

static int by_token(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* The memory has room for the table's first two blocks, and not for a block that several threads make at once twice:
 * each thread still gets all its tokens, none is given twice, and what is left of the table is given later. */
START_TEST(tokens_without_room_are_not_given_twice)
{
	enum { ROOM = 256 + 512 };
	epp_ep_options options = ep_options();
	options.buffer_bytes = ROOM * sizeof(struct kit_token);
	for (int round = 0; round < 100; round++) {
		static uint64_t all[ROOM];
		size_t count = 0;
		shared.profiler = ep_create(&options);
		ep_start(shared.profiler);
		pthread_barrier_init(&takers_ready, NULL, TAKERS);
		for (size_t i = 0; i < TAKERS; i++)
			MUST(!pthread_create(&takers[i].thread, NULL, take_tokens, &takers[i]));
		for (size_t i = 0; i < TAKERS; i++) {
			pthread_join(takers[i].thread, NULL);
			for (size_t j = 0; j < TAKEN; j++) {
				MUST(takers[i].tokens[j]);
				all[count++] = takers[i].tokens[j];
			}
		}
		pthread_barrier_destroy(&takers_ready);
		uint64_t id = 0, token;
		while (ep_begin_event(shared.profiler, ++id), token = epp_ep_current(shared.profiler)) {
			MUST(count < ROOM);
			all[count++] = token;
			ep_stop_event(shared.profiler, id, NULL);
		}
		MUST(count == ROOM);
		ep_end(shared.profiler);
		ep_release(shared.profiler);
		qsort(all, count, sizeof(all[0]), by_token);
		for (size_t i = 1; i < count; i++)
			MUST(all[i - 1] != all[i]);
	}
}
END_TEST

static void *come_and_go(void *user)
{
	(void)user;
	ck_assert_uint_eq(epp_ep_current(shared.profiler), 0);
	ep_begin_event(shared.profiler, 7); /* and never stopped */
	ck_assert_uint_ne(epp_ep_current(shared.profiler), 0);
	ep_emit(shared.profiler, epp_ep_current(shared.profiler), "short");
	return NULL;
}

START_TEST(threads_that_come_and_go)
{
	enum { ROUNDS = 150, AT_ONCE = 10 };
	epp_ep_options options = ep_options();
	host.push_drops = true;
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t threads[AT_ONCE];
		for (size_t i = 0; i < AT_ONCE; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
		for (size_t i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	const struct kit *kit = shared.profiler->state;
	ck_assert_uint_le(atomic_load(&kit->threads_count), 128);
	ep_end(shared.profiler);
	ep_balance(shared.profiler, ROUNDS * AT_ONCE, ROUNDS * AT_ONCE);
	ep_release(shared.profiler);
}
END_TEST

/* Start(A) Start(B) ... Stop(A) Stop(B), and more profilers than a thread remembers. */
START_TEST(several_profilers)
{
	enum { COUNT = 11 };
	epp_ep_profiler *profilers[COUNT];
	epp_ep_options options = ep_options();
	for (size_t i = 0; i < COUNT; i++) {
		profilers[i] = ep_create(&options);
		ep_start(profilers[i]);
	}
	for (uint64_t depth = 1; depth <= 3; depth++) {
		for (size_t i = 0; i < COUNT; i++)
			ep_begin_event(profilers[i], 100 * (i + 1) + depth);
	}
	for (uint64_t depth = 3; depth >= 1; depth--) {
		for (size_t i = 0; i < COUNT; i++) {
			ck_assert_uint_eq(epp_ep_current(profilers[i]), 100 * (i + 1) + depth);
			ep_stop_event(profilers[i], 100 * (i + 1) + depth, NULL);
		}
	}
	for (size_t i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(epp_ep_current(profilers[i]), 0);
		ep_end(profilers[i]);
		ep_release(profilers[i]);
	}
	/* A new one at the place of an old one is not taken for it. */
	epp_ep_profiler *again = ep_create(&options);
	ep_start(again);
	ck_assert_uint_eq(epp_ep_current(again), 0);
	ep_release(again);
}
END_TEST

/* ---- what must not happen, and does ---- */

static atomic_int die_after = -1;

static uint64_t deadly_clock(void *user)
{
	(void)user;
	if (atomic_fetch_sub(&die_after, 1) == 0)
		pthread_exit(NULL);
	return real_ns();
}

static void *emit_and_die(void *user)
{
	(void)user;
	epp_ep_event event = { .name = "last words", .start_ticks = 1, .end_ticks = real_ns() + 1000000000 };
	atomic_fetch_add(&host.ticks, HOST_PER_SECOND);
	atomic_store(&die_after, 0);
	epp_ep_emit(shared.profiler, &event);
	ck_abort_msg("it lives");
	return NULL;
}

START_TEST(a_thread_dies_in_an_emit)
{
	epp_ep_options options = ep_options();
	options.now_ticks = deadly_clock;
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, emit_and_die, NULL), 0);
	pthread_join(thread, NULL);
	atomic_store(&die_after, -1);
	ep_end(shared.profiler);
	ep_balance(shared.profiler, 1, 1);
	ep_release(shared.profiler);
}
END_TEST

static void emit_again(void)
{
	host.in_push = NULL;
	ep_emit(shared.profiler, 0, "from within");
}

START_TEST(an_emit_within_an_emit)
{
	epp_ep_options options = ep_options();
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	host.in_push = emit_again;
	uint64_t count = 0;
	while (host.in_push && ++count < 1000)
		ep_emit(shared.profiler, 0, "outer");
	ep_end(shared.profiler);
	EpprofLedger ledger = ep_balance(shared.profiler, count + 1, host.pushed_count);
	ck_assert_uint_eq(ledger.lost_other, 1);
	ep_release(shared.profiler);
}
END_TEST

/* A child has one thread, and what the others held at the fork is held for ever. */
START_TEST(a_fork)
{
	epp_ep_options options = ep_options();
	host.push_drops = true;
	shared.profiler = ep_create(&options);
	ep_start(shared.profiler);
	pthread_t threads[EMITTERS];
	for (size_t i = 0; i < EMITTERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, emit_until_stopped, NULL), 0);
	for (int i = 0; i < 10; i++) {
		usleep(1000);
		/* malloc's locks are renewed at a fork, the test's own is not. */
		forking_begin(false);
		pthread_mutex_lock(&host.lock);
		pid_t child = fork();
		pthread_mutex_unlock(&host.lock);
		forking_end();
		ck_assert_int_ge(child, 0);
		if (child == 0) {
			alarm(20);
			ep_begin_event(shared.profiler, 3);
			for (int e = 0; e < 1000; e++)
				ep_emit(shared.profiler, epp_ep_current(shared.profiler), "in the child");
			ep_end(shared.profiler);
			ep_release(shared.profiler);
			_exit(0);
		}
		int status;
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %#x", (unsigned)status);
	}
	atomic_store(&shared.stop, true);
	for (size_t i = 0; i < EMITTERS; i++)
		pthread_join(threads[i], NULL);
	ep_end(shared.profiler);
	ep_balance(shared.profiler, atomic_load(&shared.emitted), host.pushed_count);
	ep_release(shared.profiler);
}
END_TEST

/* ONNX Runtime unloads EP libraries; threads that used them go on, and must end well. */
static struct {
	OrtEpProfilerImpl *profiler;
	sem_t used;
	sem_t unloaded;
} unloading;

static void *outlive_the_library(void *user)
{
	(void)user;
	host_ok(unloading.profiler->StartEvent(unloading.profiler, 1));
	host_ok(unloading.profiler->StopEvent(unloading.profiler, 1, NULL));
	sem_post(&unloading.used);
	sem_wait(&unloading.unloaded);
	return NULL;
}

START_TEST(a_library_is_unloaded)
{
	static const char path[] = CHECK_BUILD "/libsample_ort_ep.so";
	sem_init(&unloading.used, 0, 0);
	sem_init(&unloading.unloaded, 0, 0);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	CreateEpApiFactoriesFn create;
	ReleaseEpApiFactoryFn release;
	*(void **)&create = dlsym(library, "CreateEpFactories");
	*(void **)&release = dlsym(library, "ReleaseEpFactory");
	OrtEpFactory *factory;
	OrtEp *ep;
	size_t count;
	host.version_was_read = true;
	host_ok(create("sample", &host_base, NULL, &factory, 1, &count));
	host_ok(factory->CreateEp(factory, NULL, NULL, 0, NULL, NULL, &ep));
	host_ok(ep->CreateProfiler(ep, &unloading.profiler));
	host_ok(unloading.profiler->StartProfiling(unloading.profiler, 0));
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, outlive_the_library, NULL), 0);
	sem_wait(&unloading.used);
	host_ok(unloading.profiler->EndProfiling(unloading.profiler, HOST_CONTAINER));
	unloading.profiler->Release(unloading.profiler);
	factory->ReleaseEp(factory, ep);
	host_ok(release(factory));
	dlclose(library);
	ck_assert_ptr_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
	sem_post(&unloading.unloaded);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static Suite *ep_kit_threads_suite(void)
{
	Suite *suite = suite_create("ep_kit_threads");
	TCase *tests = tcase_create("epprof host");
	tcase_add_checked_fixture(tests, setup, host_teardown);
	tcase_add_test(tests, emits_beside_runs);
	tcase_add_test(tests, a_stack_for_each_thread);
	tcase_add_test(tests, threads_that_come_and_go);
	tcase_add_test(tests, several_profilers);
	tcase_add_test(tests, a_library_is_unloaded);
	tcase_add_test(tests, a_thread_dies_in_an_emit);
	tcase_add_test(tests, an_emit_within_an_emit);
	/* AddressSanitizer's malloc does not renew its locks in a forked child. */
	if (!HAS_ADDRESS_SANITIZER)
		tcase_add_test(tests, a_fork);
	suite_add_tcase(suite, tests);
	TCase *ort = tcase_create("ONNX Runtime");
	tcase_add_checked_fixture(ort, setup_ort, host_teardown);
	tcase_add_test(ort, emits_beside_the_end_in_ort);
	tcase_add_test(ort, tokens_without_room_are_not_given_twice);
	tcase_add_test(ort, a_stack_for_each_thread);
	tcase_add_test(ort, threads_that_come_and_go);
	suite_add_tcase(suite, ort);
	return suite;
}

CHECK_MAIN(ep_kit_threads_suite)
