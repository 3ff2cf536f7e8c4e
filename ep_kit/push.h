/* Pushes events, clocks and clock pairs of the kit to libepprof in the same process: to an epprof host, or to epprof's
 * collector under ONNX Runtime.  Each push contains the ledger.
 *
 * A ledger counts the events that were submitted with it or before, and the events that were lost so far.  A trace that
 * is cut off at any moment therefore balances, except for events that were still in the EP's buffers. */
#ifndef EPPROF_EP_KIT_PUSH_H
#define EPPROF_EP_KIT_PUSH_H

#include "kit.h"

static void kit_push_with(const struct kit *kit, const struct kit_sums *sums, EpprofBatch *batch)
{
	EpprofLedger ledger = kit_ledger(kit, sums);
	EpprofRecording *recording = atomic_load_explicit(&kit->recording, memory_order_acquire);
	batch->struct_size = sizeof(*batch);
	batch->ledger = &ledger;
	if (kit->push)
		kit->push(&kit->profiler->impl, batch);
	else if (recording)
		kit->collector->Push(recording, batch);
	batch->ledger = NULL;
}

static void kit_push(const struct kit *kit, EpprofBatch *batch)
{
	struct kit_sums sums = kit_sums_read(kit);
	kit_push_with(kit, &sums, batch);
}

static void kit_push_events(const struct kit *kit, const EpprofEvent *events, size_t count)
{
	EpprofBatch batch = KIT_ZERO;
	batch.events = events;
	batch.events_count = count;
	kit_push(kit, &batch);
}

/* Returns the description of the kit's only clock, which has the number 0. */
static EpprofClock kit_clock(const struct kit *kit)
{
	EpprofClock clock = KIT_ZERO;
	clock.kind = kit_has_clock(kit) ? 1 : 2;
	clock.bits = kit->options.clock_bits;
	clock.ticks_per_second = kit->options.ticks_per_second;
	return clock;
}

/* Pushes a batch to `recording`, even if it is not in kit->recording yet.  If `recording` is NULL, calls kit_push. */
static void kit_push_to(const struct kit *kit, EpprofRecording *recording, EpprofBatch *batch)
{
	if (!recording) {
		kit_push(kit, batch);
		return;
	}
	batch->struct_size = sizeof(*batch);
	kit->collector->Push(recording, batch);
}

static void kit_push_clock_to(const struct kit *kit, EpprofRecording *recording)
{
	const EpprofClock clock = kit_clock(kit);
	EpprofBatch batch = KIT_ZERO;
	batch.clocks = &clock;
	batch.clocks_count = 1;
	kit_push_to(kit, recording, &batch);
}

static void kit_push_counter(const struct kit *kit, const epp_ep_counter *counter)
{
	EpprofCounter pushed = KIT_ZERO;
	pushed.name = counter->name;
	pushed.host_ticks = counter->host_ticks;
	pushed.number.u64 = counter->u64;
	pushed.type = counter->type;
	pushed.device = counter->device;
	EpprofBatch batch = KIT_ZERO;
	batch.counters = &pushed;
	batch.counters_count = 1;
	kit_push(kit, &batch);
}

static void kit_push_pair(const struct kit *kit, const struct clock_pair *pair)
{
	EpprofClockPair pushed = KIT_ZERO;
	pushed.device_ticks = pair->device;
	pushed.host_ticks = pair->host;
	pushed.half_width_ticks = pair->half_width;
	EpprofBatch batch = KIT_ZERO;
	batch.pairs = &pushed;
	batch.pairs_count = 1;
	kit_push(kit, &batch);
}

/* Submits a wait of the calling thread for the device: from `start_host_ticks` (0: unknown) until now. */
static void kit_push_wait(const struct kit *kit, uint64_t parent, uint64_t start_host_ticks)
{
	uint64_t now = kit_host_ticks(kit);
	EpprofWait wait = KIT_ZERO;
	wait.parent = parent;
	wait.start_host_ticks = start_host_ticks && start_host_ticks < now ? start_host_ticks : now;
	wait.end_host_ticks = now;
	wait.thread = (int64_t)system_thread_id();
	EpprofBatch batch = KIT_ZERO;
	batch.waits = &wait;
	batch.waits_count = 1;
	kit_push(kit, &batch);
}

#endif
