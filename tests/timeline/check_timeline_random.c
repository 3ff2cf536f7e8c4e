/* Random traces against a reference that knows every event from the making of it: threads that begin and end events at
 * random, in ticks so coarse that many things happen at once, cut into blocks anywhere.  Covers block_load.c,
 * merge_runs.c and build_event.c of timeline/. */
#include "tests/support/random_values.h"
#include "tests/support/timeline_events.h"

#define THREADS_MAX 5
#define EVENTS_MAX 3000

struct truth {
	uint32_t track;
	uint64_t start, end, id, parent;
	uint32_t depth;
	unsigned kind; /* epp_event_kind */
};

struct maker {
	struct epp_builder *builder;
	struct truth truths[EVENTS_MAX];
	size_t count;
	struct {
		uint32_t track;
		uint64_t now;
		uint32_t stack[EPF_OPEN_MAX]; /* truths */
		uint32_t depth;
	} threads[THREADS_MAX];
	uint32_t threads_count;
	epp_name name;
};

static struct truth *add(struct maker *maker, uint32_t t, uint64_t id, unsigned kind)
{
	struct truth *truth = &maker->truths[maker->count++];
	uint32_t depth = maker->threads[t].depth;
	MUST(maker->count <= EVENTS_MAX);
	*truth = (struct truth){ .track = maker->threads[t].track,
		                 .start = maker->threads[t].now,
		                 .end = maker->threads[t].now,
		                 .id = id,
		                 .depth = depth,
		                 .kind = kind };
	if (depth)
		truth->parent = maker->truths[maker->threads[t].stack[depth - 1]].id;
	return truth;
}

static void step(struct maker *maker, uint32_t t)
{
	uint32_t track = maker->threads[t].track, depth = maker->threads[t].depth, choice = random_below(100);
	uint64_t now = maker->threads[t].now += random_below(3);
	struct epp_builder *b = maker->builder;

	if (choice < 45 && depth < 8) {
		uint64_t id = builder_begin(b, track, now, EPP_NODE, maker->name);
		add(maker, t, id, EPP_EVENT_SLICE);
		maker->threads[t].stack[maker->threads[t].depth++] = (uint32_t)maker->count - 1;
	} else if (choice < 50) {
		add(maker, t, builder_instant(b, track, now, EPP_API, maker->name, NULL, 0), EPP_EVENT_INSTANT);
	} else if (choice < 53) {
		add(maker, t, builder_counter(b, track, now, maker->name, 7), EPP_EVENT_COUNTER);
	} else if (depth) {
		/* Mostly the innermost; else outer ones with what is open inside. */
		uint32_t down = choice < 97 ? 1 : 1 + random_below(depth);
		builder_end(b, track, maker->truths[maker->threads[t].stack[depth - down]].id, now, NULL, 0);
		for (uint32_t i = 1; i <= down; i++)
			maker->truths[maker->threads[t].stack[depth - i]].end = now;
		maker->threads[t].depth -= down;
	}
}

static int compare(const void *a, const void *b)
{
	const struct truth *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->track != right->track)
		return left->track < right->track ? -1 : 1;
	return left->id < right->id ? -1 : 1;
}

/* One seed makes the same events whatever `flush` is: 1 of so many steps ends a block. */
static void make(struct maker *maker, uint64_t seed, uint32_t flush)
{
	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	maker->count = 0;
	maker->builder = builder_create();
	builder_geometry(maker->builder, 8, 8, EPF_CHUNK_BYTES, 1u << 17, 1u << 18);
	maker->name = builder_name(maker->builder, "work");
	maker->threads_count = 1 + random_below(THREADS_MAX);
	for (uint32_t t = 0; t < maker->threads_count; t++) {
		maker->threads[t].track = builder_thread(maker->builder, "thread", 100 + t);
		maker->threads[t].now = BUILDER_START + random_below(50);
		maker->threads[t].depth = 0;
	}
	uint32_t steps = 20 + random_below(2000);
	uint64_t flush_state = seed + 77;
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t t = random_below(maker->threads_count);
		step(maker, t);
		flush_state = flush_state * 6364136223846793005u + 1442695040888963407u;
		if (flush && (flush_state >> 33) % flush == 0)
			builder_flush(maker->builder, maker->threads[t].track, BUILDER_TO_BLOCK);
	}
	uint64_t last = 0;
	for (uint32_t t = 0; t < maker->threads_count; t++)
		last = maker->threads[t].now > last ? maker->threads[t].now : last;
	for (uint32_t t = 0; t < maker->threads_count; t++)
		while (maker->threads[t].depth) {
			uint32_t top = maker->threads[t].stack[--maker->threads[t].depth];
			builder_end(maker->builder, maker->threads[t].track, maker->truths[top].id, last, NULL, 0);
			maker->truths[top].end = last;
		}
	qsort(maker->truths, maker->count, sizeof(*maker->truths), compare);
}

static void compare_all(const struct maker *maker, const struct seen *seen, uint64_t seed, uint32_t flush)
{
	ck_assert_msg(seen->count == maker->count, "seed %" PRIu64 " flush %u: %zu events, not %zu", seed, flush,
	              seen->count, maker->count);
	for (size_t i = 0; i < maker->count; i++) {
		const struct truth *truth = &maker->truths[i];
		const epp_event *event = &seen->events[i].event;
		bool same = event->id == truth->id && seen->events[i].track == truth->track &&
		            event->kind == truth->kind && event->start_ns == (int64_t)(truth->start - BUILDER_START) &&
		            event->duration_ns == (int64_t)(truth->end - truth->start) &&
		            event->start_ticks == truth->start && event->end_ticks == truth->end &&
		            event->parent == truth->parent && event->depth == truth->depth && event->lane == 0 &&
		            event->run == 1 && event->placement == EPP_PLACED_MEASURED;
		unsigned long long start = truth->start - BUILDER_START;
		ck_assert_msg(same,
		              "seed %" PRIu64 " flush %u event %zu: id %" PRIu64 " track %u [%" PRId64 " +%" PRId64
		              "] parent %" PRIu64 " depth %u lane %u; not id %" PRIu64 " track %u [%llu +%" PRIu64
		              "] parent %" PRIu64 " depth %u",
		              seed, flush, i, event->id, seen->events[i].track, event->start_ns, event->duration_ns,
		              event->parent, event->depth, event->lane, truth->id, truth->track, start,
		              truth->end - truth->start, truth->parent, truth->depth);
	}
}

static struct maker maker;

START_TEST(any_division_into_blocks)
{
	static const uint32_t flushes[] = { 0, 1, 2, 5, 40, 300 };

	for (uint64_t seed = 1; seed <= 120; seed++) {
		uint32_t flush = flushes[seed % 6];
		make(&maker, seed, flush);
		struct seen seen = see_all(maker.builder);
		compare_all(&maker, &seen, seed, flush);
		seen_release(&seen);
	}
}
END_TEST

/* With so little memory that most blocks go through the temporary file. */
START_TEST(through_the_temporary_file)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		make(&maker, seed, 10);
		size_t bytes;
		uint8_t *image = builder_image(maker.builder, EPF_FINISHED, &bytes);
		builder_destroy(maker.builder);
		struct seen seen = see_image(image, bytes, NULL, (struct seen_bounds){ 900, 4000 });
		check_ok(seen.status);
		compare_all(&maker, &seen, seed, 10);
		seen_release(&seen);
	}
}
END_TEST

/* What a killed process leaves: regions in the window, open stacks. */
START_TEST(in_the_window)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		make(&maker, seed, seed % 3 ? 30 : 0);
		struct seen seen = see(maker.builder, EPF_RECORDING, NULL);
		builder_destroy(maker.builder);
		check_ok(seen.status);
		compare_all(&maker, &seen, seed, 0);
		seen_release(&seen);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("timeline_random");
	TCase *tc = tcase_create("timeline_random");
	tcase_add_test(tc, any_division_into_blocks);
	tcase_add_test(tc, through_the_temporary_file);
	tcase_add_test(tc, in_the_window);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
