/* Clocks that were compared with the host's once, by the timeline: an execution provider without clock pairs in a host
 * that links epprof (ONNX Runtime's microseconds), and a track with one pair.  The truth is known: bounds must hold,
 * and where host events are executed synchronously the events must be placed inside them.  Covers
 * measure_clocks.c too. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/random_values.h"
#include "tests/support/timeline_events.h"

#define US 1000ll
#define MS 1000000ll
#define AT(ns) (BUILDER_START + (uint64_t)(ns))

struct device {
	double ppm;
	int64_t jump_ns; /* there and back, in turns */
	int64_t jump_every_ns;
};

static int64_t shown(const struct device *device, int64_t true_ns)
{
	double ns = (double)true_ns * (1 + device->ppm / 1e6);

	if (device->jump_every_ns && true_ns / device->jump_every_ns % 2)
		ns += (double)device->jump_ns;
	return llrint(ns);
}

struct program {
	const char *name;
	struct device device;
	unsigned runs;
	bool is_async;       /* a run launches its events and returns */
	bool one_pair;       /* a clock of nanoseconds with one pair, instead of microseconds since the start */
	bool has_no_session; /* its runs are events of another category, which need not end after their kernels */
	bool is_chaotic;     /* each event's times are anything within 50 ms */
	bool has_no_ids;     /* nothing names the causes of its events */
	unsigned threads;    /* that run at once; 0: one */
};

struct truth {
	uint64_t id, parent;
	int64_t start_ns, end_ns, parent_start_ns, parent_end_ns;
};

struct playing {
	const struct program *program;
	struct epp_builder *builder;
	uint32_t thread, stream;
	epp_name name;
	int64_t now_ns, free_ns;
	struct truth *truths;
	size_t count;
};

/* What the device's clock says, since StartProfiling; of the latter the host knows to 20 us when it was. */
static int64_t claimed_ns(const struct playing *playing, int64_t true_ns)
{
	return shown(&playing->program->device, true_ns) - 7 * US;
}

static void add_kernel(struct playing *playing, uint64_t node, int64_t node_start_ns)
{
	struct truth *truth = &playing->truths[playing->count++];
	int64_t start_ns = playing->now_ns + US + random_below(15 * US);

	start_ns = start_ns < playing->free_ns ? playing->free_ns : start_ns;
	int64_t end_ns = playing->free_ns = start_ns + 5 * US + random_below(30 * US) +
	                                    (playing->program->is_async ? 100 * US : 0);
	int64_t from_ns = claimed_ns(playing, start_ns), to_ns = claimed_ns(playing, end_ns);
	if (playing->program->is_chaotic) {
		int64_t off_ns = (int64_t)random_below(100 * MS) - 50 * MS;
		from_ns += off_ns;
		to_ns += off_ns;
	}
	to_ns = to_ns < from_ns ? from_ns : to_ns;
	bool pair = playing->program->one_pair;
	int64_t start = pair ? from_ns + 50 * MS : from_ns / US - (from_ns % US < 0);
	int64_t duration = pair ? to_ns - from_ns : to_ns / US - from_ns / US;
	*truth = (struct truth){ .parent = playing->program->has_no_ids ? 0 : node,
		                 .start_ns = start_ns,
		                 .end_ns = end_ns,
		                 .parent_start_ns = node_start_ns };
	truth->id = builder_complete(playing->builder, playing->stream, (uint64_t)start, (uint64_t)duration, EPP_KERNEL,
	                             playing->name, playing->program->has_no_ids ? 0 : node, NULL, 0);
	if (!playing->program->is_async)
		playing->now_ns = end_ns + random_below(8 * US);
	else
		playing->now_ns += 3 * US;
	truth->parent_end_ns = playing->now_ns;
}

static void play_run(struct playing *playing)
{
	struct epp_builder *b = playing->builder;
	uint64_t run = builder_begin(b, playing->thread, AT(playing->now_ns),
	                             playing->program->has_no_session ? EPP_NODE : EPP_SESSION, playing->name);

	for (unsigned i = 0; i < 2; i++) {
		playing->now_ns += US;
		int64_t start_ns = playing->now_ns;
		uint64_t node = builder_begin(b, playing->thread, AT(start_ns), EPP_NODE, playing->name);
		add_kernel(playing, node, start_ns);
		builder_end(b, playing->thread, node, AT(playing->now_ns), NULL, 0);
	}
	playing->now_ns += 2 * US + random_below(10 * US);
	builder_end(b, playing->thread, run, AT(playing->now_ns), NULL, 0);
	playing->now_ns += 150 * US;
	if (playing->program->is_async && playing->free_ns > playing->now_ns)
		playing->now_ns = playing->free_ns;
}

static struct playing play(const struct program *program)
{
	struct playing playing = { .program = program, .builder = builder_create(), .now_ns = MS };
	struct epp_builder *b = playing.builder;
	const struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                              .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                              .producer = -1,
		                              .run = 1,
		                              .bracket_ticks = 20 * US };

	playing.name = builder_name(b, "n");
	if (program->one_pair) {
		playing.stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
		builder_device_pair(b, playing.stream, (uint64_t)(50 * MS), AT(10 * US), (uint64_t)(10 * US));
	} else {
		playing.stream = builder_track(b, &definition, "stream", "gpu");
	}
	unsigned threads = program->threads ? program->threads : 1;
	int64_t end_ns = 0;
	playing.truths = calloc((size_t)program->runs * 2 * threads, sizeof(*playing.truths));
	for (unsigned thread = 0; thread < threads; thread++) {
		playing.thread = builder_thread(b, "host", 10 + thread);
		playing.now_ns = MS + thread * 37 * US;
		playing.free_ns = 0;
		for (unsigned i = 0; i < program->runs; i++)
			play_run(&playing);
		end_ns = playing.now_ns > end_ns ? playing.now_ns : end_ns;
	}
	builder_run_end(b, AT(end_ns + MS));
	return playing;
}

static bool is_within(int64_t at_ns, int64_t true_ns, int64_t error_ns)
{
	return llabs(at_ns - true_ns) <= error_ns;
}

struct outcome {
	size_t outside;   /* of its bound */
	size_t elsewhere; /* not inside its host event, as far as microseconds tell */
	double mean_error_ns;
	int64_t most_error_ns;
};

static int by_id(const void *a, const void *b)
{
	uint64_t left = ((const struct truth *)a)->id, right = ((const struct truth *)b)->id;
	return (left > right) - (left < right);
}

static struct outcome compare(const struct playing *playing, const struct seen *seen)
{
	struct outcome outcome = { 0 };
	int64_t slack_ns = playing->program->one_pair ? 0 : 2 * US;

	qsort(playing->truths, playing->count, sizeof(*playing->truths), by_id);
	size_t found = 0;
	for (size_t i = 0; i < seen->count; i++) {
		const epp_event *event = &seen->events[i].event;
		const struct truth key = { .id = event->id };
		const struct truth *truth = event->category == EPP_KERNEL
		                                ? bsearch(&key, playing->truths, playing->count, sizeof(key), by_id)
		                                : NULL;
		if (!truth)
			continue;
		int64_t end_ns = event->start_ns + event->duration_ns;
		found++;
		MUST(event->parent == truth->parent && event->placement == EPP_PLACED_FORMULA);
		outcome.outside += !is_within(event->start_ns, truth->start_ns, event->start_error_ns) ||
		                   !is_within(end_ns, truth->end_ns, event->end_error_ns);
		if (event->start_error_ns > outcome.most_error_ns)
			outcome.most_error_ns = event->start_error_ns;
		outcome.elsewhere += event->start_ns < truth->parent_start_ns - slack_ns ||
		                     end_ns > truth->parent_end_ns + slack_ns;
		outcome.mean_error_ns += (double)event->start_error_ns / (double)playing->count;
	}
	ck_assert_uint_eq(found, playing->count);
	return outcome;
}

static struct outcome outcome_of(const struct program *program, epp_timeline_counts *counts,
                                 const epp_timeline_options *options)
{
	struct playing playing = play(program);
	struct seen seen = see(playing.builder, EPF_FINISHED, options);

	builder_destroy(playing.builder);
	check_ok(seen.status);
	struct outcome outcome = compare(&playing, &seen);
	*counts = seen.counts;
	free(playing.truths);
	seen_release(&seen);
	return outcome;
}

static const struct program programs[] = {
	{ "right", { .ppm = 0 }, .runs = 3000 },
	{ "20 ppm", { .ppm = 20 }, .runs = 10000 },
	{ "200 ppm", { .ppm = 200 }, .runs = 3000 },
	{ "-200 ppm", { .ppm = -200 }, .runs = 3000 },
	{ "5,000 ppm", { .ppm = 5000 }, .runs = 3000 },
	{ "-5,000 ppm", { .ppm = -5000 }, .runs = 3000 },
	{ "jumps ahead", { .ppm = 20, .jump_ns = 50 * MS, .jump_every_ns = 100 * MS }, .runs = 3000 },
	{ "jumps back", { .jump_ns = -50 * MS, .jump_every_ns = 100 * MS }, .runs = 3000 },
	{ "one pair, 200 ppm", { .ppm = 200 }, .runs = 3000, .one_pair = true },
	{ "one pair, 5,000 ppm", { .ppm = 5000 }, .runs = 3000, .one_pair = true },
	{ "one pair, jumps", { .jump_ns = -50 * MS, .jump_every_ns = 100 * MS }, .runs = 3000, .one_pair = true },
};

START_TEST(bounds_hold_and_events_are_in_their_host_event)
{
	const struct program *program = &programs[_i];
	epp_timeline_counts counts;
	struct outcome outcome = outcome_of(program, &counts, NULL);
	size_t most = (size_t)program->runs * 2 / 1000;

	ck_assert_msg(outcome.outside <= most && outcome.elsewhere <= most && outcome.mean_error_ns < 40e3,
	              "%s: %zu outside, %zu elsewhere, mean error %g us", program->name, outcome.outside,
	              outcome.elsewhere, outcome.mean_error_ns / 1e3);
	ck_assert_uint_eq(counts.jumped_clocks, program->device.jump_ns != 0);
	ck_assert_uint_eq(counts.contradicted_clocks, 0);
	ck_assert_uint_eq(counts.correlated, (size_t)program->runs * 2);
	ck_assert_uint_le(counts.outside_parent, most);
}
END_TEST

/* Without sessions nothing certain limits when events ended but the run itself.  A clock that has jumped ahead could be
 * right if the host left work running, so its events stay, with a bound that covers both. */
START_TEST(jumps_without_sessions)
{
	static const int64_t jumps_ns[] = { 50 * MS, -50 * MS };
	const struct program program = {
		"no sessions", { .jump_ns = jumps_ns[_i], .jump_every_ns = 100 * MS }, .runs = 3000, .has_no_session = true
	};
	epp_timeline_counts counts;
	struct outcome outcome = outcome_of(&program, &counts, NULL);

	ck_assert_msg(outcome.outside <= 6 && (_i == 0 || outcome.elsewhere <= 6), "%zu outside, %zu elsewhere",
	              outcome.outside, outcome.elsewhere);
	ck_assert_int_le(outcome.most_error_ns, 2000 * MS);
}
END_TEST

static const struct program without_ids[] = {
	{ "right", { .ppm = 0 }, .runs = 3000 },
	{ "20 ppm", { .ppm = 20 }, .runs = 3000 },
	{ "-20 ppm", { .ppm = -20 }, .runs = 3000 },
	{ "200 ppm", { .ppm = 200 }, .runs = 3000 },
	{ "-200 ppm", { .ppm = -200 }, .runs = 3000 },
	{ "5,000 ppm", { .ppm = 5000 }, .runs = 3000 },
	{ "-5,000 ppm", { .ppm = -5000 }, .runs = 3000 },
	{ "jumps ahead", { .ppm = 20, .jump_ns = 50 * MS, .jump_every_ns = 100 * MS }, .runs = 3000 },
	{ "jumps back", { .jump_ns = -50 * MS, .jump_every_ns = 100 * MS }, .runs = 3000 },
	{ "jumps once, late", { .jump_ns = 50 * MS, .jump_every_ns = 400 * MS }, .runs = 3000 },
};
#define WITHOUT_IDS_COUNT ((int)(sizeof(without_ids) / sizeof(*without_ids)))

/* Nothing names the cause of an event: a clock that can be right keeps its 500 ppm, and of one that cannot nothing is
 * known. */
START_TEST(bounds_hold_without_ids)
{
	struct program program = without_ids[_i % WITHOUT_IDS_COUNT];
	unsigned shape = (unsigned)_i / WITHOUT_IDS_COUNT;
	bool is_right = !program.device.jump_ns && fabs(program.device.ppm) < 500;
	epp_timeline_counts counts;

	program.has_no_ids = true;
	program.threads = shape ? 8 : 1;
	program.one_pair = shape == 2;
	struct outcome outcome = outcome_of(&program, &counts, NULL);
	ck_assert_msg(outcome.outside <= (size_t)program.runs * program.threads * 2 / 1000, "%s: %zu outside",
	              program.name, outcome.outside);
	ck_assert_uint_eq(counts.adrift_clocks, !is_right);
	ck_assert_int_le(outcome.most_error_ns, is_right ? MS : 2000 * MS);
}
END_TEST

/* By its one comparison alone: what it was before causes were asked. */
START_TEST(on_request_nothing_is_moved)
{
	const epp_timeline_options options = { .struct_size = sizeof(options), .as_claimed = 1 };
	const struct program program = { "5,000 ppm", { .ppm = 5000 }, .runs = 3000 };
	epp_timeline_counts counts;
	struct outcome outcome = outcome_of(&program, &counts, &options);

	ck_assert_uint_gt(outcome.outside, 5000);
}
END_TEST

/* Work that goes on after the run has ended: ends of host events are no limits. */
START_TEST(what_the_host_leaves_running)
{
	static const double rates[] = { 0, 20, 200, -200 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		const struct program program = { "async", { .ppm = rates[i] }, .runs = 2000, .is_async = true };
		epp_timeline_counts counts;
		struct outcome outcome = outcome_of(&program, &counts, NULL);
		ck_assert_msg(outcome.outside <= 4, "%g ppm: %zu outside", rates[i], outcome.outside);
		ck_assert_uint_eq(counts.contradicted_clocks, 0);
	}
}
END_TEST

/* Times that no clock shows: the bound is all that any cause allows. */
START_TEST(what_contradicts_itself)
{
	const struct program program = { "chaos", { .ppm = 0 }, .runs = 2000, .is_chaotic = true };
	epp_timeline_counts counts;
	struct outcome outcome = outcome_of(&program, &counts, NULL);

	ck_assert_uint_eq(counts.contradicted_clocks, 1);
	ck_assert_uint_le(outcome.outside, 4);
	ck_assert_double_ge(outcome.mean_error_ns, 40e6);
}
END_TEST

/* Times at the ends of their ranges. */
START_TEST(extremes)
{
	static const int64_t values[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	struct epp_builder *b = builder_create();
	const struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                              .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                              .producer = -1,
		                              .run = 1,
		                              .bracket_ticks = UINT64_MAX };
	uint32_t thread = builder_thread(b, "host", 10), stream = builder_track(b, &definition, "stream", "gpu");
	uint32_t other = builder_device(b, "other", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");
	uint64_t node = builder_event(b, thread, AT(1000), 1000, EPP_NODE, name, NULL, 0);

	builder_device_pair(b, other, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	for (unsigned i = 0; i < 49; i++) {
		builder_complete(b, stream, (uint64_t)values[i % 7], (uint64_t)values[i / 7], EPP_KERNEL, name, node,
		                 NULL, 0);
		builder_complete(b, other, (uint64_t)values[i % 7], (uint64_t)values[i / 7], EPP_KERNEL, name, node,
		                 NULL, 0);
	}
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 99);
	for (size_t i = 0; i < seen.count; i++)
		MUST(seen.events[i].event.start_error_ns >= 0 && seen.events[i].event.end_error_ns >= 0);
	seen_release(&seen);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("causal_clock");
	TCase *tests = tcase_create("causal_clock");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, bounds_hold_and_events_are_in_their_host_event, 0,
	                    (int)(sizeof(programs) / sizeof(*programs)));
	tcase_add_loop_test(tests, jumps_without_sessions, 0, 2);
	tcase_add_loop_test(tests, bounds_hold_without_ids, 0, 3 * WITHOUT_IDS_COUNT);
	tcase_add_test(tests, on_request_nothing_is_moved);
	tcase_add_test(tests, what_the_host_leaves_running);
	tcase_add_test(tests, what_contradicts_itself);
	tcase_add_test(tests, extremes);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(suite)
