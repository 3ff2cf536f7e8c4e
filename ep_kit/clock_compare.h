/* Clock pairs: one in StartProfiling, one in EndProfiling, and one about every 100 ms by a thread that emits.
 *
 * The ticks of the events show when a pair is due, so that no clock must be read for this.  A counter may wrap soon or
 * stop, so the host's clock is read, too, once every check_events events; for a counter that wraps within seconds, at
 * every event.  An epprof host receives each pair at once.  For ONNX Runtime they are stored; if the list is full,
 * every second pair is dropped. */
#ifndef EPPROF_EP_KIT_CLOCK_COMPARE_H
#define EPPROF_EP_KIT_CLOCK_COMPARE_H

#include <stdlib.h>

#include "kit.h"
#include "push.h"

#define KIT_PAIRS_MAX 16384u
#define KIT_PAIR_TRIES 3
#define KIT_CHECK_EVENTS 64u
#define KIT_SOON_SECONDS 20u

static void kit_pairs_setup(struct kit *kit)
{
	uint64_t per_second = kit->options.ticks_per_second;
	uint64_t largest = (uint64_t)INT64_MAX >> kit->clock_unused_bits;
	uint64_t interval = per_second / 10 < largest / 4 ? per_second / 10 : largest / 4;
	kit->pair_interval_device = (int64_t)interval;
	kit->pair_interval_host = kit->host_ticks_per_second / 10;
	kit->check_events = largest / KIT_SOON_SECONDS < per_second ? 1 : KIT_CHECK_EVENTS;
}

/* Reads the clocks by options.read_clocks.  Returns the same as kit_pair_read. */
static struct clock_pair kit_clocks_read(struct kit *kit)
{
	struct clock_pair best = { 0, 0, UINT64_MAX };
	uint64_t (*host_ticks)(void) = system_clock_ns;
	if (kit->host_ticks)
		host_ticks = kit->host_ticks;
	while (atomic_exchange_explicit(&kit->reading_clocks, 1, memory_order_acquire))
		system_pause();
	for (int i = 0; i < KIT_PAIR_TRIES; i++) {
		uint64_t read[3] = { 0, 0, 0 };
		int error = kit->options.read_clocks(kit->options.clock, host_ticks, kit->host_ticks_per_second, read);
		struct clock_pair pair = { read[0], read[1], read[2] };
		if (error == 0 && pair.half_width < best.half_width)
			best = pair;
	}
	atomic_store_explicit(&kit->reading_clocks, 0, memory_order_release);
	return best;
}

/* Reads the clocks a few times and returns the pair with the smallest half-width.  The half-width is UINT64_MAX if the
 * clocks could not be read. */
static struct clock_pair kit_pair_read(struct kit *kit)
{
	struct clock_pair best = { 0, 0, UINT64_MAX };
	if (kit->options.read_clocks)
		return kit_clocks_read(kit);
	uint64_t before = kit_host_ticks(kit);
	for (int i = 0; i < KIT_PAIR_TRIES; i++) {
		uint64_t device = kit->options.now_ticks(kit->options.user);
		uint64_t after = kit_host_ticks(kit);
		struct clock_pair pair = clock_pair_of_bracket(device, before, after);
		if (pair.half_width < best.half_width)
			best = pair;
		before = after;
	}
	return best;
}

/* Stores a pair for EndProfiling.  `pairs_busy` must be held. */
static void kit_pair_store(struct kit *kit, const struct clock_pair *pair)
{
	if (kit->pairs_count == kit->pairs_room && kit->pairs_room < KIT_PAIRS_MAX) {
		uint32_t room = kit->pairs_room ? kit->pairs_room * 4 : 64;
		struct clock_pair *pairs = (struct clock_pair *)realloc(kit->pairs, room * sizeof(*pairs));
		if (!pairs)
			return;
		kit->pairs = pairs;
		kit->pairs_room = room;
	}
	if (kit->pairs_count == kit->pairs_room) {
		kit->pairs_count /= 2;
		for (uint32_t i = 1; i < kit->pairs_count; i++)
			kit->pairs[i] = kit->pairs[2 * i];
	}
	kit->pairs[kit->pairs_count++] = *pair;
}

static void kit_pair_add(struct kit *kit, const struct clock_pair *pair)
{
	if (pair->half_width == UINT64_MAX)
		return;
	atomic_store_explicit(&kit->pair_host, pair->host, memory_order_relaxed);
	atomic_store_explicit(&kit->pair_device, pair->device, memory_order_relaxed);
	kit_push_pair(kit, pair);
	if (kit->push)
		return;
	/* If another thread is storing a pair now, this one is dropped, because the two are nearly simultaneous. */
	if (atomic_exchange_explicit(&kit->pairs_busy, 1, memory_order_acquire))
		return;
	kit_pair_store(kit, pair);
	atomic_store_explicit(&kit->pairs_busy, 0, memory_order_release);
}

static KIT_NOINLINE void kit_pair_when_due(struct kit *kit, struct kit_thread *thread)
{
	uint64_t now = kit_host_ticks(kit);
	uint64_t last = atomic_load_explicit(&kit->pair_host, memory_order_relaxed);
	thread->unchecked = 0;
	if ((int64_t)(now - last) < (int64_t)kit->pair_interval_host ||
	    !atomic_compare_exchange_strong(&kit->pair_host, &last, now) ||
	    atomic_load_explicit(&kit->reading_clocks, memory_order_relaxed))
		return;
	struct clock_pair pair = kit_pair_read(kit);
	kit_pair_add(kit, &pair);
}

/* Adds a pair if one is due.  Called after an event that ended at `end_ticks`. */
static inline void kit_pair_check(struct kit *kit, struct kit_thread *thread, uint64_t end_ticks)
{
	if (!kit_reads_clock(kit))
		return;
	uint64_t last = atomic_load_explicit(&kit->pair_device, memory_order_relaxed);
	if (++thread->unchecked >= kit->check_events || kit_clock_since(kit, end_ticks, last) > kit->pair_interval_device)
		kit_pair_when_due(kit, thread);
}

#endif
