/* storage/window/chunk_pool.c itself, compiled here with atomic operations that are steps of a model: several threads
 * take, fill, drain and add chunks in all interleavings of their steps.  No chunk may have two owners or get lost, and
 * the drain must find a thread's full chunks in the order in which they became full, without a gap.
 *
 * Then the code is changed: the tag of the list's head is ignored, a store is delayed beyond the thread's next writes,
 * a scan is not repeated.  Each change must be found, unless it is listed as harmless.
 *
 * Steps are sequentially consistent: the memory orders are not part of the model.
 *
 * A thread's local state is a function of the results of its steps, so the thread is continued by calling its program
 * again: steps of the past return what they returned, the next one is made, and the one after that leaves by longjmp.
 * Threads in the same place with the same past, and the same memory, are one state, which is explored once. */
#include <setjmp.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check.h"

#define CHUNKS 3
#define THREADS 3
#define STEPS_MOST 64
#define FILLS_MOST 4 /* of one thread */

/* ---- the operations of chunk_pool.c ---- */

static uint64_t step_load(const void *at, size_t bytes);
static void step_store(void *at, size_t bytes, uint64_t value, const char *function);
static uint64_t step_add(void *at, uint64_t value);
static bool step_exchange(void *at, void *expected, size_t bytes, uint64_t value);
static uint64_t step_ticks(void);

#define __atomic_load_n(at, order) ((__typeof__(*(at)))step_load((at), sizeof(*(at))))
#define __atomic_store_n(at, value, order) step_store((at), sizeof(*(at)), (value), __func__)
#define __atomic_fetch_add(at, value, order) step_add((at), (value))
#define __atomic_sub_fetch(at, value, order) ((uint32_t)step_add((at), -(uint64_t)(value)) - (value))
#define __atomic_compare_exchange_n(at, expected, value, weak, success, failure) \
	step_exchange((at), (expected), sizeof(*(at)), (value))
#define clock_ticks step_ticks
#define helper_wake model_wake
#define window_prepare model_prepare
#define window_grow model_grow

#include "storage/window/chunk_pool.c"

/* ---- what the threads share ---- */

enum owner { POOL, FULL, THREAD }; /* THREAD + n: thread n */

/* A store that a change delays. */
struct delayed {
	uint8_t *at;
	size_t bytes;
	uint64_t value;
	unsigned writes_left; /* before it is made */
};

struct thread {
	unsigned steps_count;
	bool is_done;
	uint64_t results[STEPS_MOST], past; /* past: a hash of them */
	struct delayed delayed;
};

static struct world {
	/* Memory. */
	struct chunk_pool pool;
	struct window window;
	uint32_t next[CHUNKS];
	uint8_t state[CHUNKS];
	uint64_t full_ticks[CHUNKS];
	uint64_t now;
	/* What is true of it. */
	uint8_t owner[CHUNKS];
	struct {
		uint32_t chunks[FILLS_MOST];
		unsigned count, drained;
	} fills[THREADS];
	struct thread threads[THREADS];
} world;

static const char *wrong; /* what was found */

static struct thread *self;
static unsigned self_number, step_number;
static bool is_new; /* the step is made: what follows was not executed before */
static jmp_buf at_next_step;

static struct change {
	const char *function; /* whose stores into `array` are delayed by `writes` writes */
	const char *array;
	unsigned writes;
	bool ignores_tag, scans_once;
	bool is_harmless;
} change;

static void expect(bool condition, const char *text)
{
	if (is_new && !condition && !wrong)
		wrong = text;
}

/* ---- steps ---- */

/* True if the step is to be made now; else its result is that of the past. */
static bool is_due(uint64_t *result)
{
	if (step_number < self->steps_count) {
		*result = self->results[step_number++];
		return false;
	}
	if (is_new)
		longjmp(at_next_step, 1);
	MUST(step_number < STEPS_MOST);
	is_new = true;
	return true;
}

static uint64_t made(uint64_t result)
{
	self->past = (self->past ^ result) * 0x9E3779B97F4A7C15u + step_number;
	self->past ^= self->past >> 29;
	self->results[step_number++] = result;
	self->steps_count = step_number;
	return result;
}

static uint64_t value_at(const void *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

/* A delayed store is made before the step that follows its last write. */
static void make_delayed(void)
{
	struct delayed *delayed = &self->delayed;

	if (delayed->at && delayed->writes_left == 0) {
		memcpy(delayed->at, &delayed->value, delayed->bytes);
		delayed->at = NULL;
	}
}

static void write_now(void *at, size_t bytes, uint64_t value)
{
	memcpy(at, &value, bytes);
	if (self->delayed.at)
		self->delayed.writes_left--;
}

/* What has no influence on the rest: the number of free chunks, which decides when the helper is woken, and times of
 * growth.  They are no steps of their own. */
static bool is_counter(const void *at)
{
	return at == &world.pool.free || at == &world.pool.free_at_visit || at == &world.pool.grow_due_ticks;
}

static uint64_t step_load(const void *at, size_t bytes)
{
	uint64_t result;

	if (is_counter(at))
		return 0;
	if (!is_due(&result))
		return result;
	make_delayed();
	return made(value_at(at, bytes));
}

static bool is_in(const void *at, const void *array, size_t bytes)
{
	return (uintptr_t)at - (uintptr_t)array < bytes;
}

static bool is_delayed(const void *at, const char *function)
{
	if (!change.function || strcmp(function, change.function) != 0)
		return false;
	return (strcmp(change.array, "next") == 0 && is_in(at, world.next, sizeof world.next)) ||
	       (strcmp(change.array, "state") == 0 && is_in(at, world.state, sizeof world.state)) ||
	       (strcmp(change.array, "full_ticks") == 0 && is_in(at, world.full_ticks, sizeof world.full_ticks));
}

static void step_store(void *at, size_t bytes, uint64_t value, const char *function)
{
	uint64_t result;

	if (is_counter(at) || !is_due(&result))
		return;
	make_delayed();
	if (is_delayed(at, function) && !self->delayed.at)
		self->delayed = (struct delayed){ at, bytes, value, change.writes };
	else
		write_now(at, bytes, value);
	made(0);
}

static uint64_t step_add(void *at, uint64_t value)
{
	MUST(is_counter(at));
	/* Made together with the step before it. */
	if (is_new)
		*(uint32_t *)at += (uint32_t)value;
	return 0;
}

static bool step_exchange(void *at, void *expected, size_t bytes, uint64_t value)
{
	uint64_t found, wanted = value_at(expected, bytes), mask = change.ignores_tag ? UINT32_MAX : UINT64_MAX;

	if (is_due(&found)) {
		make_delayed();
		found = made(value_at(at, bytes));
		if (((found ^ wanted) & mask) == 0)
			write_now(at, bytes, value);
	}
	memcpy(expected, &found, bytes);
	return ((found ^ wanted) & mask) == 0;
}

static uint64_t step_ticks(void)
{
	uint64_t result;

	if (!is_due(&result))
		return result;
	make_delayed();
	return made(++world.now);
}

/* ---- the window: of CHUNKS chunks, some of which are usable; window_prepare without the disk ---- */

void model_wake(void)
{
}

int model_prepare(struct window *window, uint32_t most, struct chunk_range *added)
{
	uint32_t first = window_chunks_count(window), count;

	do {
		uint32_t room = first < window->chunks_first ? window->chunks_first - first : 0;
		count = room < most ? room : most;
	} while (count && !__atomic_compare_exchange_n(&window->chunks_count, &first, first + count, false, 0, 0));
	*added = (struct chunk_range){ first, count };
	return 0;
}

int model_grow(struct window *window, struct chunk_range *added)
{
	return model_prepare(window, 1, added);
}

/* ---- the threads ---- */

static uint32_t take(void)
{
	uint32_t chunk = chunks_take(&world.pool);

	if (is_new && chunk != CHUNK_NONE) {
		expect(chunk < CHUNKS && world.owner[chunk] == POOL, "a chunk with two owners");
		world.owner[chunk % CHUNKS] = (uint8_t)(THREAD + self_number);
	}
	return chunk;
}

static void fill(uint32_t chunk)
{
	if (chunk == CHUNK_NONE)
		return;
	if (is_new) {
		world.owner[chunk] = FULL;
		world.fills[self_number].chunks[world.fills[self_number].count++ % FILLS_MOST] = chunk;
	}
	chunks_fill(&world.pool, chunk);
}

static void record_one(void)
{
	fill(take());
}

/* Chunks one after the other. */
static void record(void)
{
	fill(take());
	fill(take());
}

/* Several chunks at once, as the threads of a session have. */
static void record_at_once(void)
{
	uint32_t first = take(), second = take();

	fill(first);
	fill(second);
}

/* Of thread `number`: what was found is the oldest part of what is full, oldest first. */
static void expect_in_order(unsigned number, const struct full_chunk *full, size_t count)
{
	unsigned at = world.fills[number].drained;

	for (size_t i = 0; i < count; i++) {
		bool is_own = false;
		for (unsigned f = world.fills[number].drained; f < world.fills[number].count; f++)
			is_own |= world.fills[number].chunks[f] == full[i].chunk;
		if (!is_own)
			continue;
		expect(world.fills[number].chunks[at] == full[i].chunk, "full chunks out of order, or one is missing");
		at++;
	}
	world.fills[number].drained = at;
}

static size_t collect_full(struct full_chunk *full)
{
	struct full_chunk oldest;
	size_t count;

	if (!change.scans_once)
		return chunks_collect_full(&world.pool, full);
	count = scan(&world.pool, full, &oldest);
	qsort(full, count, sizeof *full, by_ticks);
	return count;
}

static void drain(void)
{
	struct full_chunk full[CHUNKS];

	size_t count = collect_full(full);
	for (unsigned i = 0; is_new && i < THREADS; i++)
		expect_in_order(i, full, count);
	for (size_t i = 0; i < count; i++) {
		if (is_new) {
			expect(world.owner[full[i].chunk] == FULL, "a chunk that is not full was found");
			world.owner[full[i].chunk] = POOL;
		}
		chunks_put_back(&world.pool, full[i].chunk);
	}
}

static void drain_twice(void)
{
	drain();
	drain();
}

static void grow_and_drain(void)
{
	chunks_grow(&world.pool);
	drain();
}

/* One more step, in which a store that a change delays is made. */
static void end(void)
{
	if (is_new)
		self->delayed.writes_left = 0;
	step_load(&world.now, sizeof world.now);
}

static const struct scenario {
	void (*programs[THREADS])(void); /* NULL: none */
	uint32_t usable;                 /* chunks at the beginning; the others are prepared */
	uint32_t chunks;
} scenarios[] = {
	{ { record, record_at_once, drain }, 2, 2 },
	{ { record, record_one, drain }, 3, 3 },
	{ { record_at_once, drain_twice }, 2, 2 },
	{ { record, drain_twice }, 2, 2 },
	{ { record_one, record_one, grow_and_drain }, 1, 3 },
	{ { record, record_at_once }, 0, 3 },
};
#define SCENARIOS_COUNT (sizeof scenarios / sizeof *scenarios)

/* ---- all interleavings ---- */

static struct {
	uint64_t *keys; /* 0: free */
	size_t room, count;
} visited;

static bool is_first_visit(uint64_t key)
{
	size_t at = (size_t)key & (visited.room - 1);

	MUST(visited.count < visited.room / 2);
	for (; visited.keys[at]; at = (at + 1) & (visited.room - 1)) {
		if (visited.keys[at] == key)
			return false;
	}
	visited.keys[at] = key;
	visited.count++;
	return true;
}

static uint64_t hash_of(uint64_t key, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		key = (key ^ at[i]) * 0x100000001B3u;
	return key ^ key >> 31;
}

static uint64_t key_of_world(void)
{
	uint64_t key = hash_of(UINT64_C(0xCBF29CE484222325), &world.pool.head, sizeof world.pool.head);

	key = hash_of(key, &world.window.chunks_count, sizeof world.window.chunks_count);
	key = hash_of(key, world.next, sizeof world.next);
	key = hash_of(key, world.state, sizeof world.state);
	key = hash_of(key, world.full_ticks, sizeof world.full_ticks);
	key = hash_of(key, &world.now, sizeof world.now);
	for (unsigned i = 0; i < THREADS; i++) {
		key = hash_of(key, &world.threads[i].past, sizeof world.threads[i].past);
		key = hash_of(key, &world.threads[i].steps_count, sizeof world.threads[i].steps_count);
	}
	return key ? key : 1;
}

/* All threads have ended. */
static void check_end(void)
{
	uint32_t free_count = 0, full_count = 0, index = (uint32_t)world.pool.head;
	bool is_in_list[CHUNKS] = { false };

	is_new = true;
	for (; index && !wrong; index = world.next[index - 1], free_count++) {
		expect(index <= CHUNKS && !is_in_list[index - 1], "the free list has a chunk twice");
		if (!wrong)
			is_in_list[index - 1] = true;
	}
	for (uint32_t i = 0; i < world.window.chunks_count; i++) {
		full_count += world.state[i] == REGION_FULL;
		expect(is_in_list[i] || world.state[i] == REGION_FULL, "a chunk is lost");
		expect(!is_in_list[i] || world.owner[i] == POOL, "a chunk in the free list has an owner");
	}
	expect(free_count + full_count == world.window.chunks_count, "a chunk is lost");
	expect(free_count == world.pool.free, "another number of free chunks");
}

static void advance(unsigned number, const struct scenario *scenario)
{
	self = &world.threads[number];
	self_number = number;
	step_number = 0;
	is_new = false;
	if (setjmp(at_next_step) != 0)
		return;
	scenario->programs[number]();
	end();
	self->is_done = true;
}

static unsigned ends_count;

static void explore(const struct scenario *scenario)
{
	bool is_end = true;

	for (unsigned i = 0; i < THREADS && !wrong; i++) {
		if (world.threads[i].is_done)
			continue;
		struct world before = world;
		is_end = false;
		advance(i, scenario);
		if (!wrong && is_first_visit(key_of_world()))
			explore(scenario);
		world = before;
	}
	if (is_end && !wrong) {
		ends_count++;
		check_end();
	}
}

/* Returns what is wrong in any interleaving, or NULL. */
static const char *explore_all(const struct scenario *scenario)
{
	memset(&world, 0, sizeof world);
	world.window = (struct window){ .chunks_first = scenario->chunks, .chunks_limit = CHUNKS };
	world.window.chunks_count = scenario->usable;
	world.pool = (struct chunk_pool){ .window = &world.window,
		                          .head = scenario->usable > 0,
		                          .free = scenario->usable,
		                          .free_at_visit = scenario->usable,
		                          .next = world.next,
		                          .state = world.state,
		                          .full_ticks = world.full_ticks };
	for (uint32_t i = 0; i < scenario->usable; i++)
		world.next[i] = i + 1 < scenario->usable ? i + 2 : 0;
	for (unsigned i = 0; i < THREADS; i++)
		world.threads[i].is_done = !scenario->programs[i];
	wrong = NULL;
	ends_count = 0;
	visited.count = 0;
	if (!visited.keys) {
		visited.room = (size_t)1 << 22;
		MUST((visited.keys = malloc(visited.room * sizeof *visited.keys)));
	}
	memset(visited.keys, 0, visited.room * sizeof *visited.keys);
	explore(scenario);
	return wrong;
}

START_TEST(no_chunk_has_two_owners_or_is_lost)
{
	const char *found = explore_all(&scenarios[_i]);

	printf("scenario %d: %zu states, %u ends\n", _i, visited.count, ends_count);
	ck_assert_msg(!found, "%s", found);
	ck_assert_uint_gt(ends_count, 0);
}
END_TEST

static const struct change changes[] = {
	{ .ignores_tag = true },
	{ .scans_once = true },
	{ .function = "chunks_fill", .array = "full_ticks", .writes = 1 },
	/* The drain finds the chunk a moment later. */
	{ .function = "chunks_fill", .array = "state", .writes = 1, .is_harmless = true },
	/* Only REGION_FULL is read; the store must only come before that one. */
	{ .function = "chunks_take", .array = "state", .writes = 1, .is_harmless = true },
	{ .function = "chunks_take", .array = "state", .writes = 3 },
	{ .function = "prepare_one", .array = "state", .writes = 2 },
	/* Both come before the exchange that makes the chunk free. */
	{ .function = "add_free", .array = "state", .writes = 1, .is_harmless = true },
	{ .function = "add_free", .array = "state", .writes = 2 },
	{ .function = "add_free", .array = "next", .writes = 1 },
};

START_TEST(changed_code_is_found)
{
	const char *found = NULL;

	change = changes[_i];
	for (size_t i = 0; i < SCENARIOS_COUNT && !found; i++)
		found = explore_all(&scenarios[i]);
	ck_assert_msg(!found == change.is_harmless, "%s", found ? found : "not found");
}
END_TEST

static Suite *pool_model_suite(void)
{
	Suite *suite = suite_create("pool_model");
	TCase *tcase = tcase_create("model");

	tcase_add_loop_test(tcase, no_chunk_has_two_owners_or_is_lost, 0, SCENARIOS_COUNT);
	tcase_add_loop_test(tcase, changed_code_is_found, 0, sizeof changes / sizeof *changes);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(pool_model_suite)
