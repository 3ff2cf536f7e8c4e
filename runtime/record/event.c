/* begin and end: the recording path.
 *
 * What the two do together, beside two clock readings: a thread-local compare, a mark, an id, a 24-byte push onto the
 * open stack, a 32-byte record, a pop.  No lock, no allocation, no system call.  Each has two bodies: the fast one meets
 * only what is usual and needs hardly any stack, since a call is the last thing it does: to the profilers, or to where
 * args are stored.  At the first thing that is not usual (another session, a full stack, a run that is over) it leaves and hands
 * over to the full one, which knows every case. */
#include "record/args.h"
#include "record/calls.h"
#include "record/event_slow.h"
#include "record/recorder.h"

#define USUAL(condition) __builtin_expect(!!(condition), 1)
#define NOINLINE __attribute__((noinline))

static inline uint16_t event_bits(epp_category category)
{
	return EPF_BITS((unsigned)category & 3u, EPF_EVENT, 0, 0);
}

/* ---- begin ---- */

/* Entry, then depth: a kill between the two leaves nothing begun. */
static inline void push(struct recorder *recorder, struct epf_slot *slot, uint64_t id, uint64_t tail, uint64_t ticks)
{
	struct epf_open *open = recorder->top;
	open->id = id;
	STORE_RELAXED(&open->tail, tail);
	open->start_ticks = ticks;
	recorder_set_top(recorder, slot, open + 1);
}

static NOINLINE uint64_t begin_full(epp_session *session, uint64_t tail)
{
	struct recorder *recorder = recorder_enter_new(session);
	if (!recorder)
		return 0;
	struct epf_slot *slot = recorder->slot;
	uint64_t id = recorder_take_id(recorder);
	if (slot->depth >= EPF_OPEN_MAX && !event_reclaim(recorder)) {
		recorder_lose(recorder, EPP_LOSS_TOO_DEEP);
		recorder_leave(recorder);
		return 0;
	}
	push(recorder, slot, id, tail, clock_ticks());
	if (recorder->calls)
		return calls_start_event(recorder, id);
	recorder_leave(recorder);
	return id;
}

uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name)
{
	uint64_t tail = EPF_TAIL(name ? name : EPF_NAME_PENDING, event_bits(category), 0);
	if (!USUAL(recorder_cache.handle == (uintptr_t)session))
		return LOAD_RELAXED(&epp_recording_count) ? begin_full(session, tail) : 0;
	struct recorder *recorder = recorder_cache.recorder;
	if (!USUAL(recorder_enter_fast(recorder)))
		return begin_full(session, tail);
	struct epf_slot *slot = recorder->slot;
	uint64_t id = slot->next_id;
	if (!USUAL(recorder->top != slot->open + EPF_OPEN_MAX && id != slot->id_block_end)) {
		recorder_leave(recorder);
		return begin_full(session, tail);
	}
	STORE_RELAXED(&slot->next_id, id + 1);
	push(recorder, slot, id, tail, clock_ticks_fast());
	if (!USUAL(!recorder->calls))
		return calls_start_event(recorder, id);
	recorder_leave(recorder);
	return id;
}

/* ---- end ---- */

static inline void fill(struct epf_record *record, const struct epf_open *open, uint64_t id, uint64_t now)
{
	uint64_t start = open->start_ticks;
	/* One by one: gathering the two in a vector register takes longer than storing them. */
	STORE_RELAXED(&record->start_ticks, start);
	STORE_RELAXED(&record->duration_ticks, now - start);
	record->id = id;
}

/* Ends the topmost open event, whatever goes with it; the mark is set. */
static NOINLINE void end_top(struct recorder *recorder, uint64_t now, uint64_t tail, const epp_arg *args, size_t args_count)
{
	struct epf_open *open = recorder->top - 1;
	if (!tail)
		tail = open->tail;
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX);
	struct epf_record *record = recorder_reserve(recorder, EPF_RECORD_BYTES + size.slots * sizeof(struct epf_arg));
	if (record) {
		fill(record, open, open->id, now);
		args_publish(recorder, record, EPF_TAIL_NAME(tail), EPF_TAIL_BITS(tail), 0, args, &size);
	}
	/* After the record, never before: a kill between the two leaves the event in both places, and readers know that. */
	recorder_set_top(recorder, recorder->slot, open);
	if (recorder->calls)
		calls_stop_event(recorder, open, now, tail, args, args_count);
	else
		recorder_leave(recorder);
}

static NOINLINE void end_full(epp_session *session, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
                              size_t args_count)
{
	if (!clock_is_fast())
		now = clock_ticks_slow();
	struct recorder *recorder = recorder_enter_any(session);
	if (!recorder) {
		event_end_nowhere(session);
		return;
	}
	struct epf_slot *slot = recorder->slot;
	uint32_t depth = slot->depth;
	if (depth == 0 || slot->open[depth - 1].id != id)
		depth = event_unwind(recorder, id, now, tail, args, args_count);
	if (depth == 0)
		recorder_leave(recorder);
	else
		end_top(recorder, now, tail, args, args_count);
}

/* The event without args that was ended last, to the profilers; out of line, for the sake of the fast path's registers. */
static NOINLINE void end_calls(struct recorder *recorder, uint64_t now)
{
	const struct epf_open *open = recorder->top;
	calls_stop_event(recorder, open, now, open->tail, NULL, 0);
}

void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	if (id == 0)
		return;
	uint64_t now = clock_ticks_fast();
	if (!USUAL(recorder_cache.handle == (uintptr_t)session)) {
		end_full(session, id, now, 0, args, args_count);
		return;
	}
	struct recorder *recorder = recorder_cache.recorder;
	if (!USUAL(recorder_enter_fast(recorder))) {
		end_full(session, id, now, 0, args, args_count);
		return;
	}
	struct epf_slot *slot = recorder->slot;
	struct epf_open *open = recorder->top - 1;
	if (!USUAL(open >= slot->open && open->id == id)) {
		recorder_leave(recorder);
		end_full(session, id, now, 0, args, args_count);
		return;
	}
	struct epf_record *record = (struct epf_record *)(void *)recorder->at;
	/* As numbers: without a region both are 0. */
	uintptr_t after = (uintptr_t)record + EPF_RECORD_BYTES;
	if (!USUAL(args_count == 0 && after <= (uintptr_t)recorder->limit)) {
		end_top(recorder, now, 0, args, args_count);
		return;
	}
	fill(record, open, id, now);
	STORE_RELEASE(&record->tail, open->tail);
	recorder->at = (uint8_t *)after;
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
	recorder_set_top(recorder, slot, open);
	if (!USUAL(!recorder->calls))
		end_calls(recorder, now);
	else
		recorder_leave(recorder);
}

void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name, const epp_arg *args,
                         size_t args_count)
{
	if (id == 0)
		return;
	uint64_t now = clock_ticks_fast(), tail = EPF_TAIL(name ? name : EPF_NAME_PENDING, event_bits(category), 0);
	struct recorder *recorder = recorder_cache.recorder;
	if (USUAL(recorder_cache.handle == (uintptr_t)session && recorder_enter_fast(recorder))) {
		const struct epf_slot *slot = recorder->slot;
		if (USUAL(slot->depth != 0 && slot->open[slot->depth - 1].id == id)) {
			end_top(recorder, now, tail, args, args_count);
			return;
		}
		recorder_leave(recorder);
	}
	end_full(session, id, now, tail, args, args_count);
}
