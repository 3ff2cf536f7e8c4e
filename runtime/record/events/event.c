/* epp_event_begin and epp_event_end: the recording path.
 *
 * One pair costs, in addition to two clock readings: a mark, a thread-local compare, an id, a 24-byte push onto the
 * stack of open events, a 32-byte record, a pop. It takes no lock, allocates nothing and makes no system call. Each
 * function has a fast path for the common case. It uses only the thread's own memory and needs no stack frame, because
 * all its calls are tail calls. Any uncommon condition (another session, a full stack, a run that has ended, args, a
 * profiler that wants events) falls back to a slow path. */
#include "record/events/args.h"
#include "record/events/event_slow.h"
#include "record/profilers/profiler_calls.h"
#include "record/recorder.h"

#define USUAL(condition) __builtin_expect(!!(condition), 1)
#define NOINLINE __attribute__((noinline))

static inline uint64_t event_tail(epp_category category, epp_name name)
{
	return EPF_TAIL(name, EPF_BITS((unsigned)category & 3u, EPF_EVENT, 0, 0), 0);
}

/* ---- begin ---- */

/* The last 8 bytes (the tail) make the entry valid: a kill before that store leaves no open event. */
static inline void push(struct recorder_hot *hot, struct epf_open *open, uint64_t id, uint64_t tail, uint64_t ticks)
{
	STORE_RELAXED(&open->id, id);
	STORE_RELAXED(&open->start_ticks, ticks);
	hot->top = open + 1;
	STORE_RELEASE(&open->tail, tail);
}

/* Slow path of begin. The resident recorder's mark is set. */
static NOINLINE uint64_t begin_here(uint64_t tail)
{
	struct recorder *recorder = recorder_cache.resident;
	struct recorder_hot *hot = &recorder_hot;
	uint64_t id = recorder_take_id(recorder, hot);
	if (recorder_is_full(hot) && !event_reclaim(recorder)) {
		recorder_lose(recorder, EPP_LOSS_TOO_DEEP);
		recorder_leave_hot(hot);
		return 0;
	}
	struct epf_open *open = hot->top;
	push(hot, open, id, tail, clock_ticks());
	if (hot->calls)
		return calls_start_event(recorder, id);
	recorder_leave_hot(hot);
	return id;
}

/* Fast path of begin when profilers want StartEvent and no other condition is uncommon. */
static NOINLINE uint64_t begin_told(uint64_t tail, uint64_t now)
{
	struct epf_open *open = recorder_hot.top;
	uint64_t id = recorder_hot.next_id;
	if (!USUAL(recorder_hot.calls && !recorder_is_full(&recorder_hot) && id != recorder_hot.id_end))
		return begin_here(tail);
	recorder_hot.next_id = id + 1;
	STORE_RELAXED(&recorder_hot.slot->next_id, id + 1);
	push(&recorder_hot, open, id, tail, now);
	return calls_start_event(recorder_cache.resident, id);
}

/* Begin in a session that is not the resident recorder's, or in no session. */
static NOINLINE uint64_t begin_elsewhere(epp_session *session, uint64_t tail)
{
	return LOAD_RELAXED(&epp_recording_count) && recorder_enter_new(session) ? begin_here(tail) : 0;
}

uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name)
{
	uint64_t tail = event_tail(category, name);
	if (!USUAL(recorder_enter_fast((uintptr_t)session)))
		return begin_elsewhere(session, tail);
	/* Before the loads, because the clock reading would wait for them. */
	uint64_t now = clock_ticks_fast();
	struct epf_open *open = recorder_hot.top;
	uint64_t id = recorder_hot.next_id;
	if (!USUAL(open < recorder_hot.top_end && id != recorder_hot.id_end))
		return begin_told(tail, now);
	recorder_hot.next_id = id + 1;
	STORE_RELAXED(&recorder_hot.slot->next_id, id + 1);
	push(&recorder_hot, open, id, tail, now);
	recorder_leave_hot(&recorder_hot);
	return id;
}

/* ---- end ---- */

static inline void fill(struct epf_record *record, const struct epf_open *open, uint64_t id, uint64_t now)
{
	uint64_t start = open->start_ticks;
	/* Two separate stores: combining the values in a vector register takes longer than storing them. */
	STORE_RELAXED(&record->start_ticks, start);
	STORE_RELAXED(&record->duration_ticks, now - start);
	record->id = id;
}

/* The end of a record without args, as a number: without a region there is no object, and both its address and the
 * limit are 0. */
static inline uintptr_t end_of(const struct epf_record *record)
{
	return (uintptr_t)record + sizeof(*record);
}

/* Stores the record with its args in two passes: it may need another region, and args may be cut. */
static NOINLINE void put_measured(struct epf_open *open, uint64_t now, uint64_t tail, const epp_arg *args, size_t args_count)
{
	struct recorder *recorder = recorder_cache.resident;
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX);
	struct epf_record *record = recorder_reserve(recorder, EPF_RECORD_BYTES + size.slots * sizeof(struct epf_arg));
	if (record) {
		fill(record, open, open->id, now);
		args_publish(recorder, record, EPF_TAIL_NAME(tail), EPF_TAIL_BITS(tail), 0, args, &size);
	}
}

/* Ends the topmost open event of the resident recorder, in all cases. The mark is set. */
static NOINLINE void end_top(uint64_t now, uint64_t tail, const epp_arg *args, size_t args_count)
{
	struct epf_open *open = recorder_hot.top - 1;
	struct epf_record *record = (struct epf_record *)(void *)recorder_hot.at;
	struct epf_arg *slots = (struct epf_arg *)end_of(record);
	const struct epf_arg *limit = (const struct epf_arg *)(void *)recorder_hot.limit, *end;
	if (!tail)
		tail = open->tail;
	if (USUAL((uintptr_t)slots <= (uintptr_t)limit &&
	          ((end = args_fill_fitting(slots, limit, args, args_count)) != slots || !args_count))) {
		fill(record, open, open->id, now);
		STORE_RELEASE(&record->tail, tail | EPF_TAIL(0, 0, (uint64_t)(end - slots)));
		recorder_hot.at = (uint8_t *)end;
		/* The next record is usually as long as this one. */
		for (uint8_t *at = (uint8_t *)record; at < recorder_hot.at; at += RECORDER_LINE_BYTES)
			PREFETCH_TO_WRITE(at + RECORDER_PREFETCH_BYTES);
	} else {
		put_measured(open, now, tail, args, args_count);
	}
	/* After the record, never before: a kill in between leaves the event in both places, which readers handle. */
	recorder_pop(&recorder_hot, open);
	if (recorder_hot.calls)
		calls_stop_event(recorder_cache.resident, open, now, tail, args, args_count);
	else
		recorder_leave_hot(&recorder_hot);
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
	uint32_t depth = recorder_depth(recorder);
	if (depth == 0 || recorder->slot->open[depth - 1].id != id)
		depth = event_unwind(recorder, id, now, tail, args, args_count);
	if (depth == 0)
		recorder_leave(recorder);
	else
		end_top(now, tail, args, args_count);
}

/* As end_top, for args without text. One pass suffices, because the number of slots is known in advance. */
static NOINLINE void end_numbers(uint64_t now, const epp_arg *args, size_t args_count)
{
	struct epf_open *open = recorder_hot.top - 1;
	struct epf_record *record = (struct epf_record *)(void *)recorder_hot.at;
	struct epf_arg *slots = (struct epf_arg *)end_of(record);
	bool fits = args_count <= EPF_ARG_SLOTS_MAX &&
	            (uintptr_t)slots + args_count * sizeof(*slots) <= (uintptr_t)recorder_hot.limit;
	size_t count = USUAL(fits) ? args_fill_numbers(slots, args, args_count) : 0;
	if (!USUAL(fits && count == args_count)) {
		/* The bytes behind the last record must be zero. */
		for (size_t i = 0; i < count; i++)
			slots[i] = (struct epf_arg){ .key = 0 };
		end_top(now, 0, args, args_count);
		return;
	}
	fill(record, open, open->id, now);
	STORE_RELEASE(&record->tail, open->tail | EPF_TAIL(0, 0, count));
	recorder_hot.at = (uint8_t *)(slots + count);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
	recorder_pop(&recorder_hot, open);
	if (recorder_hot.calls)
		calls_stop_event(recorder_cache.resident, open, now, record->tail, args, args_count);
	else
		recorder_leave_hot(&recorder_hot);
}

/* Stores the record of an event that ends without args, and pops it. */
static inline uint64_t end_plain(struct epf_record *record, struct epf_open *open, uint64_t id, uint64_t now)
{
	uint64_t tail = open->tail;
	fill(record, open, id, now);
	STORE_RELEASE(&record->tail, tail);
	recorder_hot.at = (uint8_t *)(record + 1);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
	recorder_pop(&recorder_hot, open);
	return tail;
}

/* Decides between the two common reasons for leaving the fast path: args, or profilers that want StopEvent. */
static NOINLINE void end_told(uint64_t now, const epp_arg *args, size_t args_count)
{
	struct epf_open *open = recorder_hot.top - 1;
	struct epf_record *record = (struct epf_record *)(void *)recorder_hot.at;
	if (!USUAL(args_count == 0 && recorder_hot.calls && end_of(record) <= (uintptr_t)recorder_hot.limit)) {
		end_numbers(now, args, args_count);
		return;
	}
	uint64_t tail = end_plain(record, open, open->id, now);
	calls_stop_event(recorder_cache.resident, open, now, tail, NULL, 0);
}

void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	if (id == 0)
		return;
	uint64_t now = clock_ticks_fast();
	if (!USUAL(recorder_enter_fast((uintptr_t)session))) {
		end_full(session, id, now, 0, args, args_count);
		return;
	}
	/* The entry below the lowest is not an event and has no id, so reading it is safe with an empty stack. */
	struct epf_open *open = recorder_hot.top - 1;
	if (!USUAL(open->id == id)) {
		recorder_leave_hot(&recorder_hot);
		end_full(session, id, now, 0, args, args_count);
		return;
	}
	struct epf_record *record = (struct epf_record *)(void *)recorder_hot.at;
	if (!USUAL(args_count == 0 && end_of(record) <= (uintptr_t)recorder_hot.fast_limit)) {
		end_told(now, args, args_count);
		return;
	}
	end_plain(record, open, id, now);
	recorder_leave_hot(&recorder_hot);
}

void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name, const epp_arg *args,
                         size_t args_count)
{
	if (id == 0)
		return;
	uint64_t now = clock_ticks_fast(), tail = event_tail(category, name);
	if (USUAL(recorder_enter_fast((uintptr_t)session))) {
		if (USUAL(recorder_hot.top[-1].id == id)) {
			end_top(now, tail, args, args_count);
			return;
		}
		recorder_leave_hot(&recorder_hot);
	}
	end_full(session, id, now, tail, args, args_count);
}
