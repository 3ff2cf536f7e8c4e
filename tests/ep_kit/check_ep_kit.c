/* The kit in an epprof host, and what is the same in every host: versions, options, stacks, threads, runs, the ledger.
 * check_ep_kit_threads has what several threads do to it, check_ep_kit_ort ONNX Runtime's side. */
#include "ep_kit_host.h"

static void setup(void)
{
	host_setup("1.29.0");
}

/* ---- making one ---- */

START_TEST(host_versions)
{
	const struct {
		const char *text;
		uint32_t supported; /* 0: refused */
		bool pushes;
	} versions[] = {
		{ "1.24.1", 0, false }, { "1.25.0", 25, false }, { "1.26.0", 26, false }, { "1.27.3", 27, false },
		{ "1.28.0", 28, true }, { "1.29.0", 29, true },  { "1.31.1", 29, true },
	};
	host_setup(versions[_i].text);
	epp_ep_options options = ep_options();
	epp_ep_profiler profiler;
	if (versions[_i].supported == 0) {
		host_fails(ORT_NOT_IMPLEMENTED, epp_ep_profiler_init(&profiler, &options));
		ck_assert(!profiler.impl.Release);
	} else {
		host_ok(epp_ep_profiler_init(&profiler, &options));
		ck_assert_uint_eq(profiler.impl.ort_version_supported, versions[_i].supported);
		ep_start(&profiler);
		ep_emit(&profiler, 0, "e");
		ep_end(&profiler);
		ck_assert_uint_eq(host.pushed_count, versions[_i].pushes ? 1 : 0);
		ck_assert_uint_eq(host.added_count, versions[_i].pushes ? 0 : 1);
		ep_release(&profiler);
	}
	host_teardown();
}
END_TEST

/* No status can be made: nothing is. */
START_TEST(not_a_version)
{
	const char *versions[] = { "1.", "1", "", "what", "0.29.0" };
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		epp_ep_options options = ep_options();
		epp_ep_profiler profiler;
		host_setup(versions[i]);
		host_ok(epp_ep_profiler_init(&profiler, &options));
		ck_assert(!profiler.impl.Release);
	}
}
END_TEST

START_TEST(options_that_are_wrong)
{
	struct {
		epp_ep_options options;
		uint64_t tail;
	} longer = { ep_options(), 0 };
	epp_ep_profiler *made;
	epp_ep_profiler profiler;

	host_ok(epp_ep_profiler_create(NULL, &made));
	ck_assert_ptr_null(made);
	epp_ep_options options = ep_options();
	options.ort_api_base = NULL;
	host_ok(epp_ep_profiler_init(&profiler, &options));
	ck_assert(!profiler.impl.Release);

	options = ep_options();
	options.ticks_per_second = 0;
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_create(&options, &made));
	ck_assert_ptr_null(made);
	const uint32_t bits[] = { 7, 65, UINT32_MAX };
	for (size_t i = 0; i < 3; i++) {
		options = ep_options();
		options.clock_bits = bits[i];
		host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_init(&profiler, &options));
	}
	options = ep_options();
	options.struct_size = sizeof(options.struct_size) - 1;
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_init(&profiler, &options));
	/* An older caller's struct ends before `buffer_bytes`, whose bytes are something else. */
	options.struct_size = offsetof(epp_ep_options, buffer_bytes);
	options.buffer_bytes = SIZE_MAX;
	ep_release(ep_create(&options));
	options = ep_options();
	options.own_clock_pairs = 1;
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_init(&profiler, &options));

	longer.options.struct_size = sizeof(longer);
	ep_release(ep_create(&longer.options));
	longer.tail = 1;
	host_fails(ORT_INVALID_ARGUMENT, epp_ep_profiler_create(&longer.options, &made));
}
END_TEST

static epp_ep_profiler *released;

static void release_called(epp_ep_profiler *self, void *user)
{
	ck_assert_ptr_eq(user, &released);
	released = self;
}

START_TEST(releases)
{
	epp_ep_options options = ep_options();
	options.release = release_called;
	options.user = &released;
	epp_ep_profiler profiler;
	host_ok(epp_ep_profiler_init(&profiler, &options));
	ep_release(&profiler); /* never started, as ONNX Runtime does */
	ck_assert_ptr_eq(released, &profiler);

	host_ok(epp_ep_profiler_init(&profiler, &options));
	ep_start(&profiler);
	ep_emit(&profiler, 0, "still in hand");
	ep_release(&profiler);

	epp_ep_emit(NULL, NULL);
	epp_ep_clock_pair(NULL, 1, 2, 3);
	ck_assert_uint_eq(epp_ep_current(NULL), 0);
	EpprofLedger ledger;
	epp_ep_ledger(NULL, &ledger);
	ck_assert_uint_eq(ledger.emitted, 0);
}
END_TEST

/* ---- stacks ---- */

START_TEST(stack_of_one_thread)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_begin_event(profiler, 5); /* nothing is profiled */
	ep_start(profiler);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_stop_event(profiler, 5, NULL);

	ep_begin_event(profiler, 10);
	ck_assert_uint_eq(epp_ep_current(profiler), 10);
	ep_begin_event(profiler, 11);
	ep_begin_event(profiler, 12);
	ck_assert_uint_eq(epp_ep_current(profiler), 12);
	ep_stop_event(profiler, 99, NULL); /* unknown: nothing happens */
	ck_assert_uint_eq(epp_ep_current(profiler), 12);
	ep_stop_event(profiler, 11, NULL); /* closes 12 too */
	ck_assert_uint_eq(epp_ep_current(profiler), 10);
	ep_stop_event(profiler, 10, NULL);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);

	for (uint64_t id = 1; id <= 200; id++)
		ep_begin_event(profiler, id);
	ck_assert_uint_eq(epp_ep_current(profiler), KIT_OPEN_MAX);
	for (uint64_t id = 200; id > 3; id--)
		ep_stop_event(profiler, id, NULL);
	ck_assert_uint_eq(epp_ep_current(profiler), 3);

	/* The run ends with three open: the next one begins with none. */
	ep_end(profiler);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_start(profiler);
	ck_assert_uint_eq(epp_ep_current(profiler), 0);
	ep_stop_event(profiler, 3, NULL);
	ep_begin_event(profiler, 20);
	ep_stop_event(profiler, 2, NULL);
	ck_assert_uint_eq(epp_ep_current(profiler), 20);
	ep_end(profiler);
	ep_release(profiler);
}
END_TEST

/* ---- events ---- */

static char *text_of(char character, size_t bytes)
{
	char *text = malloc(bytes + 1);
	memset(text, character, bytes);
	text[bytes] = '\0';
	return text;
}

START_TEST(everything_arrives)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	char *fits = text_of('n', 65536);
	char *longer = text_of('k', 65537);
	char *accents = text_of('a', 65600);
	for (size_t i = 2; i + 1 < 65600; i += 2)
		memcpy(accents + i, "\xc3\xa9", 2);
	const epp_ep_arg args[] = {
		{ .key = "count", .i64 = INT64_MIN },
		{ .key = "\"quoted\"", .text = "a \"quote\", a \\ and a \n" },
		{ .key = longer, .text = "" },
		{ .key = "accents", .text = accents },
	};
	epp_ep_event event = {
		.parent = 77,
		.name = fits,
		.start_ticks = 1000,
		.end_ticks = 1000,
		.device = -1,
		.category = OrtProfilingEventCategory_API + 1,
		.stream = INT64_MIN,
		.args = args,
		.args_count = 4,
	};
	ep_start(profiler);
	epp_ep_emit(profiler, &event);
	memset(fits, 'x', 5); /* copied */
	event = (epp_ep_event){ .name = "", .start_ticks = 5, .end_ticks = 6 };
	epp_ep_emit(profiler, &event);
	ep_end(profiler);

	ck_assert_uint_eq(host.pushed_count, 2);
	const struct host_pushed *pushed = host.pushed[0];
	memset(fits, 'n', 5);
	ck_assert_str_eq(pushed->name, fits);
	ck_assert_uint_eq(pushed->event.parent, 77);
	ck_assert_uint_eq(pushed->event.start_ticks, 1000);
	ck_assert_uint_eq(pushed->event.end_ticks, 1000);
	ck_assert_int_eq(pushed->event.device, -1);
	ck_assert_uint_eq(pushed->event.category, OrtProfilingEventCategory_API);
	ck_assert_int_eq(pushed->event.stream, INT64_MIN);
	ck_assert_uint_eq(pushed->event.args_count, 4);
	ck_assert_str_eq(pushed->keys[0], "count");
	ck_assert_int_eq(pushed->args[0].type, 0);
	ck_assert_int_eq(pushed->args[0].number.i64, INT64_MIN);
	ck_assert_str_eq(pushed->keys[1], "\"quoted\"");
	ck_assert_str_eq(pushed->texts[1], "a \"quote\", a \\ and a \n");
	ck_assert_uint_eq(strlen(pushed->keys[2]), 65536);
	ck_assert_str_eq(pushed->keys[2] + 65533, "...");
	ck_assert_str_eq(pushed->texts[2], "");
	/* Cut between characters. */
	ck_assert_uint_eq(strlen(pushed->texts[3]), pushed->args[3].text_bytes);
	ck_assert_str_eq(pushed->texts[3] + pushed->args[3].text_bytes - 5, "\xc3\xa9...");
	ck_assert_str_eq(host.pushed[1]->name, "");
	ck_assert_uint_eq(host.pushed[1]->event.category, OrtProfilingEventCategory_KERNEL);
	ep_balance(profiler, 2, 2);
	ep_release(profiler);
	free(fits);
	free(longer);
	free(accents);
}
END_TEST

START_TEST(refused)
{
	epp_ep_options options = ep_options();
	options.clock_bits = 32;
	epp_ep_profiler *profiler = ep_create(&options);
	const epp_ep_arg no_key = { .text = "x" };
	epp_ep_arg many[300];
	for (size_t i = 0; i < 300; i++)
		many[i] = (epp_ep_arg){ .key = "k", .i64 = 1 };
	epp_ep_event events[] = {
		{ .name = NULL, .start_ticks = 1, .end_ticks = 2 },
		{ .name = "end before start", .start_ticks = 2, .end_ticks = 1 },
		{ .name = "category", .category = 5 },
		{ .name = "category", .category = -1 },
		{ .name = "args", .args_count = 1 },
		{ .name = "key", .args = &no_key, .args_count = 1 },
		{ .name = "kept: wraps", .start_ticks = UINT32_MAX - 5, .end_ticks = 5 },
		{ .name = "kept: 256 args", .args = many, .args_count = 300 },
	};
	ep_start(profiler);
	epp_ep_emit(profiler, NULL);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		epp_ep_emit(profiler, &events[i]);
	ep_end(profiler);
	ck_assert_uint_eq(host.pushed_count, 2);
	ck_assert_str_eq(host.pushed[0]->name, "kept: wraps");
	ck_assert_uint_eq(host.pushed[0]->event.start_ticks, UINT32_MAX - 5);
	ck_assert_uint_eq(host.pushed[0]->event.end_ticks, (uint64_t)UINT32_MAX + 6);
	ck_assert_uint_eq(host.pushed[1]->event.args_count, 256);
	EpprofLedger ledger = ep_balance(profiler, 9, 2);
	ck_assert_uint_eq(ledger.lost_refused, 7);
	ck_assert_uint_eq(host.ledger.emitted, 9);
	ck_assert_uint_eq(host.ledger.lost_refused, 7);
	ep_release(profiler);
}
END_TEST

START_TEST(buffers_are_handed_over_as_they_fill)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	ep_start(profiler);
	char name[32];
	size_t most_in_hand = 0;
	for (size_t i = 0; i < 4000; i++) {
		snprintf(name, sizeof(name), "event %zu", i);
		ep_emit(profiler, i, name);
		size_t in_hand = i + 1 - host.pushed_count;
		most_in_hand = in_hand > most_in_hand ? in_hand : most_in_hand;
		ck_assert_uint_eq(host.pushed_count, host.ledger.emitted);
	}
	ck_assert_uint_gt(host.pushed_count, 3000);
	ck_assert_uint_le(most_in_hand, KIT_CHUNK_EVENTS_MAX);
	EpprofLedger ledger;
	epp_ep_ledger(profiler, &ledger);
	ck_assert_uint_eq(ledger.emitted, 4000);
	ep_end(profiler);
	ck_assert_uint_eq(host.pushed_count, 4000);
	for (size_t i = 0; i < 4000; i++) {
		snprintf(name, sizeof(name), "event %zu", i);
		ck_assert_str_eq(host.pushed[i]->name, name);
	}
	ep_balance(profiler, 4000, 4000);
	ep_release(profiler);
}
END_TEST

/* A host can then tell equal names by their place. */
START_TEST(equal_strings_lie_once)
{
	epp_ep_options options = ep_options();
	epp_ep_profiler *profiler = ep_create(&options);
	/* The kit remembers by address, in a table where one may push the other out: not so 4 bytes from each other. */
	char texts[8] = "one\0key", *name = texts, *key = texts + 4;
	const epp_ep_arg args[] = { { .key = key, .i64 = 1 }, { .key = name, .i64 = 2 } };
	epp_ep_event event = { .name = name, .args = args, .args_count = 2 };
	ep_start(profiler);
	epp_ep_emit(profiler, &event);
	epp_ep_emit(profiler, &event);
	name[0] = 'O'; /* the same place, another name */
	epp_ep_emit(profiler, &event);
	ep_end(profiler);
	ck_assert_ptr_eq(host.pushed[0]->event.name, host.pushed[1]->event.name);
	ck_assert_ptr_eq(host.pushed[0]->args[0].key, host.pushed[2]->args[0].key);
	ck_assert_str_eq(host.pushed[1]->name, "one");
	ck_assert_str_eq(host.pushed[1]->keys[1], "one");
	ck_assert_str_eq(host.pushed[2]->name, "One");
	ck_assert_str_eq(host.pushed[2]->keys[1], "One");
	ep_release(profiler);
}
END_TEST

START_TEST(a_buffer_too_small)
{
	epp_ep_options options = ep_options();
	options.buffer_bytes = 5000;
	epp_ep_profiler *profiler = ep_create(&options);
	char *large = text_of('l', 8000);
	ep_start(profiler);
	ep_emit(profiler, 0, large);
	for (int i = 0; i < 500; i++)
		ep_emit(profiler, 0, i % 50 == 49 ? large : "small");
	ep_end(profiler);
	EpprofLedger ledger = ep_balance(profiler, 501, host.pushed_count);
	ck_assert_uint_eq(ledger.lost_no_buffer, 11);
	ep_release(profiler);
	free(large);
}
END_TEST

static epp_ep_profiler *emitting;

static void emit_the_rest(void *user)
{
	(void)user;
	ep_emit(emitting, 0, "the rest");
}

START_TEST(runs)
{
	epp_ep_options options = ep_options();
	options.end_profiling = emit_the_rest;
	epp_ep_profiler *profiler = emitting = ep_create(&options);
	host_ok(profiler->impl.EndProfiling(&profiler->impl, HOST_CONTAINER));
	ep_emit(profiler, 0, "before");
	for (int run = 0; run < 3; run++) {
		ep_start(profiler);
		host_fails(ORT_FAIL, profiler->impl.StartProfiling(&profiler->impl, 0));
		ep_emit(profiler, 0, "in it");
		ep_end(profiler);
		host_ok(profiler->impl.EndProfiling(&profiler->impl, HOST_CONTAINER));
		ck_assert_uint_eq(host.pushed_count, 2);
		ck_assert_str_eq(host.pushed[1]->name, "the rest");
		/* What was emitted between two runs is in the second's account. */
		ck_assert_uint_eq(host.ledger.emitted, 3);
		ck_assert_uint_eq(host.ledger.lost_outside_run, 1);
		ep_emit(profiler, 0, "after");
		EpprofLedger ledger = ep_balance(profiler, 4, 2);
		ck_assert_uint_eq(ledger.lost_outside_run, 2);
		host_clear();
	}
	ep_release(profiler);
}
END_TEST

/* Only events with a token are of a run that has ended. */
START_TEST(late_events)
{
	epp_ep_options options = ep_options();
	uint64_t late = 0;
	host.takes_late = true;
	epp_ep_profiler *profiler = ep_create(&options);
	ep_emit(profiler, 0, "before");
	ep_start(profiler);
	ep_begin_event(profiler, 7);
	uint64_t token = epp_ep_current(profiler);
	ep_stop_event(profiler, 7, NULL);
	ep_emit(profiler, token, "in it");
	ep_end(profiler);
	ck_assert_uint_eq(host.late_count, 0);
	ep_emit(profiler, token, "late");
	ep_emit(profiler, token, "later");
	ck_assert_uint_eq(host.late_count, 2);
	ck_assert_str_eq(host.pushed[2]->name, "later");
	ck_assert_uint_eq(host.pushed[2]->event.parent, token);
	/* They end behind the last clock pair of the run: no further one at once, but one 100 ms after it. */
	size_t pairs_count = host.pairs_count;
	for (int i = 0; i < 1000 && host.pairs_count == pairs_count; i++) {
		atomic_fetch_add(&host.ticks, HOST_PER_SECOND / 1000);
		ep_emit(profiler, token, "much later");
		late++;
	}
	ck_assert_uint_eq(host.pairs_count, pairs_count + 1);
	ep_emit(profiler, 0, "of no run");
	epp_ep_emit(profiler, &(epp_ep_event){ .parent = token });
	epp_ep_emit(profiler, NULL);
	EpprofLedger ledger = ep_balance(profiler, 7 + late, host.pushed_count);
	ck_assert_uint_eq(ledger.lost_outside_run, 3);
	ck_assert_uint_eq(ledger.lost_refused, 1);
	/* The host has counted them: the next run's ledger has none of them. */
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.ledger.emitted, 3);
	ep_balance(profiler, 3, 0);
	ep_release(profiler);
}
END_TEST

static void finish_work(void)
{
	epp_ep_pending_add(emitting, -2);
}

START_TEST(the_end_waits_for_pending_work)
{
	epp_ep_options options = ep_options();
	host.takes_late = true;
	epp_ep_profiler *profiler = emitting = ep_create(&options);
	epp_ep_pending_add(NULL, 1);
	/* Without a grace time it does not wait, and reports what is unfinished; with one, until there is no work. */
	epp_ep_pending_add(profiler, 2);
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.unfinished_count, 2);
	/* Its events were in the run: it is not pending any more, and none of them came late. */
	epp_ep_pending_add(profiler, -1);
	ck_assert_uint_eq(host.unfinished_count, 2 + 1);
	epp_ep_pending_add(profiler, 1);
	host.unfinished_count = 0;
	host.grace_ns = UINT64_MAX;
	host.in_grace = finish_work;
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.unfinished_count, 0);
	/* It ends with the grace time. */
	host.grace_ns = 1000000;
	host.in_grace = NULL;
	epp_ep_pending_add(profiler, 1);
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.unfinished_count, 1);
	ep_release(profiler);
}
END_TEST

static epp_ep_profiler *ending;

static void *emit_late(void *unused)
{
	ep_emit(ending, 7, "late");
	epp_ep_pending_add(ending, -1);
	return unused;
}

static void emit_late_once(void)
{
	pthread_t thread;
	host.in_push = NULL;
	ck_assert_int_eq(pthread_create(&thread, NULL, emit_late, NULL), 0);
	pthread_join(thread, NULL);
}

/* The host takes late events from what it is told, so the number has those that came before it. */
START_TEST(an_event_while_the_end_collects_is_in_the_count)
{
	epp_ep_options options = ep_options();
	/* Without a clock the first push of the end has the events. */
	options.now_ticks = NULL;
	host.takes_late = true;
	ending = ep_create(&options);
	epp_ep_pending_add(ending, 2);
	ep_start(ending);
	ep_emit(ending, 7, "in the run");
	host.in_push = emit_late_once;
	ep_end(ending);
	ck_assert_ptr_null(host.in_push);
	ck_assert_uint_eq(host.late_count, 1);
	ck_assert_uint_eq(host.unfinished_count, 2);
	ep_release(ending);
}
END_TEST

static void *finish_late(void *profiler)
{
	epp_ep_pending_add(profiler, -1);
	return NULL;
}

/* A host that defines no grace time and takes no late events. */
START_TEST(the_end_waits_as_the_ep_says)
{
	epp_ep_options options = ep_options();
	pthread_t thread;
	options.grace_ns = UINT64_MAX;
	epp_ep_profiler *profiler = ep_create(&options);
	epp_ep_pending_add(profiler, 1);
	ep_start(profiler);
	ck_assert_int_eq(pthread_create(&thread, NULL, finish_late, profiler), 0);
	ep_end(profiler);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(host.ledger.emitted, 0);
	ep_release(profiler);

	/* What is pending then is counted once, also if it comes. */
	options.grace_ns = 1000;
	profiler = ep_create(&options);
	epp_ep_pending_add(profiler, 2);
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.unfinished_count, 0);
	ck_assert_uint_eq(host.ledger.lost_outside_run, 2);
	for (int i = 0; i < 3; i++)
		ep_emit(profiler, 7, "late");
	epp_ep_pending_add(profiler, -3);
	EpprofLedger ledger = ep_balance(profiler, 3, 0);
	ck_assert_uint_eq(ledger.lost_outside_run, 3);
	ep_start(profiler);
	ep_end(profiler);
	ck_assert_uint_eq(host.ledger.lost_outside_run, 1);
	ep_release(profiler);
}
END_TEST

/* ---- clocks ---- */

static uint64_t host_driven(void *user)
{
	(void)user;
	/* 1 tick a host tick, as far as reading it does not take time. */
	return atomic_load(&host.ticks) + 77;
}

START_TEST(clock_pairs)
{
	epp_ep_options options = ep_options();
	options.now_ticks = host_driven;
	options.ticks_per_second = HOST_PER_SECOND;
	options.clock_bits = 48;
	epp_ep_profiler *profiler = ep_create(&options);
	ck_assert_uint_eq(epp_ep_host_ticks_per_second(profiler), HOST_PER_SECOND);
	ep_start(profiler);
	ck_assert_uint_eq(host.clock.kind, 1);
	ck_assert_uint_eq(host.clock.bits, 48);
	ck_assert_uint_eq(host.clock.ticks_per_second, HOST_PER_SECOND);
	ck_assert_uint_eq(host.pairs_count, 1);
	for (int ms = 0; ms < 1000; ms++) {
		atomic_fetch_add(&host.ticks, HOST_PER_SECOND / 1000);
		uint64_t now = host_driven(NULL);
		epp_ep_event event = { .name = "e", .start_ticks = now - 10, .end_ticks = now };
		epp_ep_emit(profiler, &event);
	}
	ck_assert_uint_ge(host.pairs_count, 10);
	ck_assert_uint_le(host.pairs_count, 11);
	ep_end(profiler);
	ck_assert_uint_le(host.pairs_count, 12);
	for (size_t i = 0; i < host.pairs_count; i++) {
		const EpprofClockPair *pair = &host.pairs[i];
		int64_t off = (int64_t)(pair->device_ticks - 77 - pair->host_ticks);
		ck_assert_uint_le((uint64_t)llabs(off), pair->half_width_ticks);
		ck_assert_uint_le(pair->half_width_ticks, 2);
	}
	/* Events whose ticks tell nothing: the host's clock is asked now and then. */
	ep_start(profiler);
	host.pairs_count = 0;
	for (int ms = 0; ms < 1000; ms++) {
		atomic_fetch_add(&host.ticks, HOST_PER_SECOND / 1000);
		epp_ep_event event = { .name = "e", .start_ticks = 3, .end_ticks = 3 };
		epp_ep_emit(profiler, &event);
	}
	ck_assert_uint_ge(host.pairs_count, 7);
	ck_assert_uint_le(host.pairs_count, 10);
	ep_end(profiler);
	ep_release(profiler);
}
END_TEST

START_TEST(clock_pairs_of_the_ep)
{
	epp_ep_options options = ep_options();
	options.now_ticks = NULL;
	epp_ep_profiler *profiler = ep_create(&options);
	ep_start(profiler);
	ck_assert_uint_eq(host.clock.kind, 2);
	epp_ep_clock_pair(profiler, 1, 2, 3); /* a clock that was said to have none */
	ep_end(profiler);
	ck_assert_uint_eq(host.pairs_count, 0);
	ep_release(profiler);

	options.own_clock_pairs = 1;
	profiler = ep_create(&options);
	epp_ep_clock_pair(profiler, 1, 2, 3); /* outside */
	ep_start(profiler);
	ck_assert_uint_eq(host.clock.kind, 1);
	epp_ep_clock_pair(profiler, 10, epp_ep_host_ticks(profiler), 30);
	ep_end(profiler);
	ck_assert_uint_eq(host.pairs_count, 1);
	ck_assert_uint_eq(host.pairs[0].device_ticks, 10);
	ck_assert_uint_eq(host.pairs[0].half_width_ticks, 30);
	ep_release(profiler);
}
END_TEST

static Suite *ep_kit_suite(void)
{
	Suite *suite = suite_create("ep_kit");
	TCase *making = tcase_create("making");
	tcase_add_loop_test(making, host_versions, 0, 7);
	tcase_add_test(making, not_a_version);
	suite_add_tcase(suite, making);
	TCase *tests = tcase_create("epprof host");
	tcase_add_checked_fixture(tests, setup, host_teardown);
	tcase_add_test(tests, options_that_are_wrong);
	tcase_add_test(tests, releases);
	tcase_add_test(tests, stack_of_one_thread);
	tcase_add_test(tests, everything_arrives);
	tcase_add_test(tests, refused);
	tcase_add_test(tests, buffers_are_handed_over_as_they_fill);
	tcase_add_test(tests, equal_strings_lie_once);
	tcase_add_test(tests, a_buffer_too_small);
	tcase_add_test(tests, runs);
	tcase_add_test(tests, late_events);
	tcase_add_test(tests, the_end_waits_for_pending_work);
	tcase_add_test(tests, an_event_while_the_end_collects_is_in_the_count);
	tcase_add_test(tests, the_end_waits_as_the_ep_says);
	tcase_add_test(tests, clock_pairs);
	tcase_add_test(tests, clock_pairs_of_the_ep);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ep_kit_suite)
