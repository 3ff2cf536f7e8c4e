/* Submits to an epprof host or to the collector: events in place, clocks and pairs, each with the ledger.
 *
 * A ledger counts the events submitted with it or before, and those lost so far.  So a trace that is cut off at any
 * moment balances, except for events that were still in the EP's buffers.
 */
#ifndef EPPROF_KIT_HANDOVER_H
#define EPPROF_KIT_HANDOVER_H

#include <sys/syscall.h>
#include <unistd.h>

#include "kit.h"

#define KIT_ARG_TEXT 3u /* EpprofArg.type */

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
	kit_push(kit, &(EpprofBatch){ .events = events, .events_count = count });
}

/* The kit has a single clock, number 0. */
static EpprofClock kit_clock(const struct kit *kit)
{
	return (EpprofClock){
		.kind = kit_has_clock(kit) ? 1 : 2,
		.bits = kit->options.clock_bits,
		.ticks_per_second = kit->options.ticks_per_second,
	};
}

static void kit_push_clock(const struct kit *kit)
{
	const EpprofClock clock = kit_clock(kit);
	kit_push(kit, &(EpprofBatch){ .clocks = &clock, .clocks_count = 1 });
}

/* Pushes the clock to a recording that other threads cannot see yet. */
static void kit_push_clock_to(const struct kit *kit, EpprofRecording *recording)
{
	const EpprofClock clock = kit_clock(kit);
	kit->collector->Push(recording,
	                     &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .clocks = &clock, .clocks_count = 1 });
}

static void kit_push_pair(const struct kit *kit, const struct clock_pair *pair)
{
	const EpprofClockPair pushed = {
		.device_ticks = pair->device,
		.host_ticks = pair->host,
		.half_width_ticks = pair->half_width,
	};
	kit_push(kit, &(EpprofBatch){ .pairs = &pushed, .pairs_count = 1 });
}

/* Submits a wait that ends now. */
static void kit_push_wait(const struct kit *kit, uint64_t parent, uint64_t start_host_ticks)
{
	uint64_t now = kit_host_ticks(kit);
	const EpprofWait wait = {
		.parent = parent,
		.start_host_ticks = start_host_ticks && start_host_ticks < now ? start_host_ticks : now,
		.end_host_ticks = now,
		.thread = (int64_t)syscall(SYS_gettid),
	};
	kit_push(kit, &(EpprofBatch){ .waits = &wait, .waits_count = 1 });
}

#endif
