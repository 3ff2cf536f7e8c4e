/* Records and publishes events of host threads: begin, end, and events that need one call. The store of the last 8
 * bytes, `tail`, publishes a record or an entry of the stack of open events.
 *
 * A pair of epp_event_begin and epp_event_end costs two clock readings, a push of 24 bytes onto the stack of open
 * events, a record of 32 bytes, a pop and, in both calls, a store of the recorder's mark (record/recorder.h) and a
 * comparison of thread-local data. It takes no lock, allocates nothing and makes no system call. Both have a fast path
 * for the common case, which uses only the thread's own memory and needs no stack frame, because all its calls are tail
 * calls. Any uncommon condition (another session, a full stack, a run that has ended, args) falls back to the slow
 * path. */
#include <string.h>

#include "record/args.h"
#include "record/filter/name_filter.h"
#include "record/profiler_calls.h"
#include "record/session.h"

#define USUAL(condition) __builtin_expect(!!(condition), 1)
#define NOINLINE __attribute__((noinline))

static inline uint64_t event_tail(epp_category category, epp_name name)
{
	return EPF_TAIL(name, EPF_BITS((unsigned)category & 3u, EPF_EVENT, 0, 0), 0);
}

/* ---- records ---- */

/* Stores one record of an event that is not on the stack. `parent` 0: none. The recorder's mark is set. */
static void store(struct recorder *recorder, uint64_t start, uint64_t duration, uint64_t id, uint32_t name,
                  uint16_t bits, uint64_t parent, const epp_arg *args, size_t args_count)
{
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX - (parent != 0));
	size_t bytes = EPF_RECORD_BYTES + args_slots(&size, parent) * sizeof(struct epf_arg);
	struct epf_record *record = recorder_room(recorder, bytes);
	recorder->throttle.budget.counts.slots += size.slots;
	if (!record) {
		bool takes_id = EPF_BITS_KIND(bits) != EPF_ORPHAN_END && EPF_BITS_KIND(bits) != EPF_ASYNC_END;
		if (takes_id)
			recorder_lose(recorder, EPP_LOSS_NO_BUFFER);
		else
			recorder_lose_idless(recorder, EPP_LOSS_NO_BUFFER);
		return;
	}
	record->start_ticks = start;
	record->duration_ticks = duration;
	record->id = id;
	args_publish(recorder, record, name, bits, parent, args, &size);
}

/* Stores the topmost open event as a record that is marked as unended, and pops it. */
static void close_unended(struct recorder *recorder, uint64_t now)
{
	const struct epf_open *open = recorder->hot->top - 1;
	store(recorder, open->start_ticks, now - open->start_ticks, open->id, open->name,
	      open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED), 0, NULL, 0);
	recorder_pop(recorder->hot, recorder->hot->top - 1);
}

/* Handles an end whose `id` is not on top of the stack. If the event is in the stack, closes the events above it as
 * unended, and returns the number of open events, including this one. Else records an orphan end, or counts the end as
 * EPP_LOSS_AFTER_END if the event is of an earlier run, and returns 0. `tail` is EPF_TAIL of the name and bits given at
 * the end; 0: those given at begin are used. */
static uint32_t unwind(struct recorder *recorder, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
                       size_t args_count)
{
	struct epf_slot *slot = recorder->slot;
	struct session *session = recorder->session;
	for (uint32_t depth = recorder_depth(recorder); depth > 0; depth--) {
		if (slot->open[depth - 1].id != id)
			continue;
		while (recorder_depth(recorder) > depth)
			close_unended(recorder, now);
		return depth;
	}
	if (id < LOAD_RELAXED(&session->run_first_id)) {
		recorder_lose_idless(recorder, EPP_LOSS_AFTER_END);
		return 0;
	}
	uint16_t bits = EPF_BITS(0, EPF_ORPHAN_END, 0, 0);
	uint32_t name = EPF_NAME_ORPHAN_END;
	if (tail) {
		name = EPF_TAIL_NAME(tail);
		bits = EPF_BITS(EPF_BITS_CATEGORY(EPF_TAIL_BITS(tail)), EPF_ORPHAN_END, 0, EPF_FLAG_NAME_AT_END);
	}
	store(recorder, now, 0, id, name, bits, 0, args, args_count);
	STORE_RELAXED(&session->orphans[ADD_RELAXED(&session->orphans_at, 1) % SESSION_ORPHANS], id);
	return 0;
}

static bool ended_on_other_thread(struct session *session, uint64_t id)
{
	uint32_t count = LOAD_RELAXED(&session->orphans_at);
	for (uint32_t i = 0; i < SESSION_ORPHANS && i < count; i++)
		if (LOAD_RELAXED(&session->orphans[i]) == id)
			return true;
	return false;
}

/* Removes an entry from the stack by moving down the entries above it. After a kill, an entry that was being moved is
 * in one place or in both; no other entry is affected. */
static void remove_open(struct recorder *recorder, uint32_t at)
{
	struct epf_slot *slot = recorder->slot;
	for (; at + 1 < recorder_depth(recorder); at++) {
		const struct epf_open *from = &slot->open[at + 1];
		struct epf_open *to = &slot->open[at];
		STORE_RELAXED(&to->tail, 0);
		STORE_RELEASE(&to->start_ticks, from->start_ticks);
		STORE_RELEASE(&to->id, from->id);
		STORE_RELEASE(&to->tail, from->tail);
	}
	recorder_pop(recorder->hot, recorder->hot->top - 1);
}

/* Called when the stack is full. Removes the events that ended on other threads. Returns true if there is room now. */
static bool remove_ended(struct recorder *recorder)
{
	struct epf_slot *slot = recorder->slot;
	struct session *session = recorder->session;
	if (LOAD_RELAXED(&session->orphans_at) == 0)
		return false;
	uint64_t now = clock_ticks();
	uint32_t depth = recorder_depth(recorder);
	for (uint32_t i = 0; i < recorder_depth(recorder);) {
		const struct epf_open *open = &slot->open[i];
		if (!ended_on_other_thread(session, open->id)) {
			i++;
			continue;
		}
		/* The record is marked as unended. The reader joins it with the orphan end, which has the end time. */
		store(recorder, open->start_ticks, now - open->start_ticks, open->id, open->name,
		      open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED), 0, NULL, 0);
		remove_open(recorder, i);
	}
	return recorder_depth(recorder) < depth;
}

/* ---- begin ---- */

/* Pushes an open event. The store of the last 8 bytes (the tail) makes the entry valid: after a kill before that store
 * there is no open event. */
static inline void push(struct recorder_hot *hot, struct epf_open *open, uint64_t id, uint64_t tail, uint64_t ticks)
{
	STORE_RELAXED(&open->id, id);
	STORE_RELAXED(&open->start_ticks, ticks);
	hot->top = open + 1;
	STORE_RELEASE(&open->tail, tail);
}

/* Returns true if the thread is in a step. The recorder's mark is set, and the session has a schedule. */
static bool is_in_step(struct recorder *recorder)
{
	struct schedule_step *step = &recorder->step;
	if (step->id <= EPP_LEFT_OUT_ID)
		return step->id != 0;
	for (const struct epf_open *open = recorder->slot->open; open < recorder->hot->top; open++)
		if (open->id == step->id)
			return true;
	/* The event of the step is not open any more: it ended on the fast path, which does not change `step`. */
	step->id = 0;
	return false;
}

/* Returns true if an event with this name begins a step, and then assigns the next number to the step. An event without
 * a name may get the name of steps at its end, so it also begins one. The recorder's mark is set. */
static bool begins_step(struct recorder *recorder, epp_name name, uint64_t now)
{
	const struct name_filter *filter = recorder->hot->filter;
	if (!filter || !filter->schedule || (name && name != filter->schedule->step))
		return false;
	if (is_in_step(recorder) && !(name && recorder->step.is_unnamed))
		return false;
	schedule_begin_step(filter->schedule, &recorder->step, name, now);
	return true;
}

/* Returns true if the session's filter leaves out the event, and counts it. The recorder's mark is set. */
static bool is_left_out(struct recorder *recorder, epp_name name)
{
	const struct name_filter *filter = recorder->hot->filter;
	if (!filter)
		return false;
	if (!name_filter_leaves_out(filter, name) &&
	    (!filter->schedule || (is_in_step(recorder) ? recorder->step.is_active : schedule_is_on(filter->schedule))))
		return false;
	recorder_lose_idless(recorder, EPP_LOSS_FILTER);
	return true;
}

/* ---- the budget for overhead ---- */

static const struct throttle *throttle_of(const struct recorder *recorder)
{
	return recorder->hot->filter ? recorder->hot->filter->throttle : NULL;
}

/* Returns true if the thread is inside a run that is recorded. The recorder's mark is set, and the session has a
 * throttle. */
static bool is_in_run(const struct recorder *recorder)
{
	if (!throttle_of(recorder)->step)
		return recorder_depth(recorder) > 0;
	for (const struct epf_open *open = recorder->slot->open; open < recorder->hot->top; open++)
		if (open->id == recorder->throttle.run.id)
			return true;
	return false;
}

/* Returns true if an event with this name begins a run. `is_inner`: the result of is_in_run. The session has a
 * throttle. */
static bool begins_run(const struct recorder *recorder, epp_name name, bool is_inner)
{
	epp_name step = throttle_of(recorder)->step;
	return !is_inner && (!step || name == step);
}

/* Counts an event that is recorded. */
static void count_recorded(struct recorder *recorder, bool is_inner)
{
	recorder->throttle.budget.counts.events++;
	recorder->throttle.budget.counts.inner += is_inner;
}

/* Records an instant with the thread's new step and N. */
static void store_throttle_change(struct recorder *recorder, const struct throttle *throttle, uint64_t now)
{
	const struct budget_thread *budget = &recorder->throttle.budget;
	const char *word = throttle_step_word(budget->step);
	const epp_arg args[] = {
		{ .key = throttle->change_step, .type = EPP_ARG_TEXT, .value.text = word, .text_bytes = strlen(word) },
		{ .key = throttle->change_one_in, .type = EPP_ARG_U64, .value.u64 = budget->one_in },
	};
	store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), throttle->change,
	      EPF_BITS(EPP_SESSION, EPF_INSTANT, 0, 0), 0, args, 2);
}

/* Stores the weight of a run. The last weight of a run counts. */
static void store_weight(struct recorder *recorder, const struct throttle_run *run, uint64_t now)
{
	const struct throttle *throttle = recorder->hot->filter->throttle;
	const epp_arg args[] = {
		{ .key = throttle->event, .type = EPP_ARG_U64, .value.u64 = run->id },
		{ .key = throttle->weight, .type = EPP_ARG_U64, .value.u64 = run->weight },
	};
	store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), throttle->set,
	      EPF_BITS(EPP_SESSION, EPF_INSTANT, 0, 0), 0, args, 2);
}

/* Begins a run with this name. Returns false if the run is left out, else true and its weight. The recorder's mark is
 * set. */
static bool enter_run(struct recorder *recorder, epp_session *session, epp_name name, uint64_t now, uint32_t *weight)
{
	struct throttle *throttle = recorder->hot->filter->throttle;
	struct throttle_thread *thread = &recorder->throttle;
	struct throttle_changes changes;
	*weight = throttle_begin_run(throttle, thread, name, now, &changes);
	if (changes.before)
		store_weight(recorder, &thread->before, now);
	if (changes.run)
		store_weight(recorder, &thread->run, now);
	if (changes.step)
		store_throttle_change(recorder, throttle, now);
	/* A run is recorded only if there is room for its weight, too. Without the weight, readers would count it as
	 * one run, and not as `weight` runs. */
	size_t bytes = EPF_RECORD_BYTES + 2 * sizeof(struct epf_arg);
	bool has_room = *weight <= 1 || recorder_room(recorder, bytes);
	bool is_recorded = *weight && has_room;
	if (!has_room)
		budget_lose_run(&thread->budget);
	thread->skip = !is_recorded ? SKIP_RUN : thread->budget.step == BUDGET_KERNELS ? SKIP_INNER : SKIP_NONE;
	bool is_fast = thread->skip == SKIP_NONE && clock_is_fast();
	uintptr_t handle = is_fast ? (uintptr_t)session : RECORDER_CACHE_EMPTY;
	STORE_RELAXED(&recorder_hot.handle, handle);
	if (is_recorded)
		return true;
	recorder_lose_idless(recorder, has_room ? EPP_LOSS_THROTTLED : EPP_LOSS_NO_BUFFER);
	thread->budget.counts.left_out++;
	return false;
}

/* Counts an event that is left out. The recorder's mark is set. */
static void lose_throttled(struct recorder *recorder)
{
	recorder_lose_idless(recorder, EPP_LOSS_THROTTLED);
	recorder->throttle.budget.counts.left_out++;
}

/* The path of begin while events are left out. It does not read the clock. Returns true if the event was left out, with
 * the result of begin in `*id`. Returns false if begin must take the slow path. */
static bool is_skipped(epp_session *session, epp_name name, uint64_t *id)
{
	struct recorder *recorder = recorder_cache.resident;
	if (!recorder || !recorder->throttle.skip || recorder_cache.handle != (uintptr_t)session ||
	    recorder_cache.in_callback || !recorder_enter(recorder))
		return false;
	*id = 0;
	bool is_skipped = throttle_skips_inside(&recorder->throttle);
	if (!is_skipped && throttle_skips_next(&recorder->throttle, name)) {
		is_skipped = true;
		recorder->throttle.skip = SKIP_RUN;
		*id = EPP_LEFT_OUT_ID;
	}
	if (is_skipped)
		lose_throttled(recorder);
	recorder_leave(recorder);
	return is_skipped;
}

/* Ends a run that is left out. */
static void leave_run(struct recorder *recorder)
{
	/* If runs have a name, or the session has a name filter, the next event may be outside of runs and must be
	 * recorded. */
	recorder->throttle.skip = recorder->throttle.is_alone ? SKIP_NEXT : SKIP_NONE;
}

/* Returns true if the name is one of the library's own, which begin with OWN_PREFIX. */
static bool is_own_name(epp_name name)
{
	struct name_text text = name_get(name);
	return text.bytes >= strlen(OWN_PREFIX) && memcmp(text.text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

/* As recorder_enter_new, for an event with this name. Also returns NULL if the filter or the throttle leaves out the
 * event. `is_nested`: the event belongs to the run in which the thread is. */
static struct recorder *enter_for_name(epp_session *session, epp_name name, bool is_nested)
{
	struct recorder *recorder = recorder_enter_new(session);
	if (!recorder)
		return NULL;
	/* The instants that assign requests to events have such names. They are recorded even if only the outermost
	 * event of the run is, because that event then has the requests of all events inside it. */
	bool is_inner = throttle_of(recorder) && is_nested && is_in_run(recorder) && !is_own_name(name);
	enum throttle_skip skip = (enum throttle_skip)recorder->throttle.skip;
	if (skip == SKIP_RUN || (skip == SKIP_INNER && is_inner))
		lose_throttled(recorder);
	else if (!is_left_out(recorder, name)) {
		count_recorded(recorder, is_inner);
		return recorder;
	}
	recorder_leave(recorder);
	return NULL;
}

/* The slow path of begin, and the only path in a session with a filter. `now` is 0 if the resident recorder is not the
 * session's, or if its mark is not set. A step that is left out gets the id EPP_LEFT_OUT_ID, not 0, because its end
 * must be noticed. */
static NOINLINE uint64_t begin_slow(epp_session *session, uint64_t tail, uint64_t now)
{
	uint32_t weight = 1;
	if (!now) {
		uint64_t skipped;
		if (!LOAD_RELAXED(&epp_recording_count))
			return 0;
		if (is_skipped(session, EPF_TAIL_NAME(tail), &skipped))
			return skipped;
		if (!recorder_enter_new(session))
			return 0;
		now = clock_ticks();
	}
	struct recorder *recorder = recorder_cache.resident;
	/* A session has two handles (NULL and its own). is_skipped does not recognise the recorder if the thread used
	 * the other one before. */
	if (throttle_skips_inside(&recorder->throttle)) {
		lose_throttled(recorder);
		recorder_leave_hot(&recorder_hot);
		return 0;
	}
	bool is_step = begins_step(recorder, EPF_TAIL_NAME(tail), now);
	if (is_left_out(recorder, EPF_TAIL_NAME(tail))) {
		recorder_leave_hot(&recorder_hot);
		return is_step ? EPP_LEFT_OUT_ID : 0;
	}
	bool is_inner = throttle_of(recorder) && is_in_run(recorder);
	bool is_run = throttle_of(recorder) && begins_run(recorder, EPF_TAIL_NAME(tail), is_inner);
	if (is_run && !enter_run(recorder, session, EPF_TAIL_NAME(tail), now, &weight)) {
		recorder_leave_hot(&recorder_hot);
		return EPP_LEFT_OUT_ID;
	}
	uint64_t id = recorder_take_id(recorder, &recorder_hot);
	if (recorder_is_full(&recorder_hot) && !remove_ended(recorder)) {
		recorder_lose(recorder, EPP_LOSS_TOO_DEEP);
		recorder->throttle.skip = SKIP_NONE;
		budget_lose_run(&recorder->throttle.budget);
		recorder_leave_hot(&recorder_hot);
		return is_step ? EPP_LEFT_OUT_ID : 0;
	}
	if (is_step)
		recorder->step.id = id;
	push(&recorder_hot, recorder_hot.top, id, tail, now);
	count_recorded(recorder, is_inner);
	if (is_run) {
		recorder->throttle.before = recorder->throttle.run;
		recorder->throttle.run = (struct throttle_run){ id, weight };
	}
	if (weight > 1)
		store_weight(recorder, &recorder->throttle.run, now);
	if (recorder_hot.calls)
		return calls_start_event(recorder, id);
	recorder_leave_hot(&recorder_hot);
	return id;
}

uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name)
{
	uint64_t tail = event_tail(category, name);
	if (!USUAL(recorder_enter_fast((uintptr_t)session)))
		return begin_slow(session, tail, 0);
	/* The clock is read before the loads, because the reading would wait for them. */
	uint64_t now = clock_ticks_fast();
	struct epf_open *open = recorder_hot.top;
	uint64_t id = recorder_hot.next_id;
	if (!USUAL(open < recorder_hot.top_end && id != recorder_hot.id_end))
		return begin_slow(session, tail, now);
	recorder_hot.next_id = id + 1;
	STORE_RELAXED(&recorder_hot.slot->next_id, id + 1);
	push(&recorder_hot, open, id, tail, now);
	if (!USUAL(!recorder_hot.calls))
		return calls_start_event(recorder_cache.resident, id);
	recorder_leave_hot(&recorder_hot);
	return id;
}

uint64_t epp_event_begin_text(epp_session *session, epp_category category, const char *text)
{
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return 0;
	return epp_event_begin(session, category, epp_name_intern(text));
}

/* ---- end ---- */

/* Sets the mark of the thread's cached recorder. If the recorder is the session's, and the event `id` is on top of its
 * stack, returns true; else clears the mark and returns false. */
static inline bool enter_on_top(epp_session *session, uint64_t id)
{
	if (!USUAL(recorder_enter_fast((uintptr_t)session)))
		return false;
	/* Reading the id is safe with an empty stack: the entry below the lowest one is no event, and its id never
	 * matches. */
	if (USUAL(recorder_hot.top[-1].id == id))
		return true;
	recorder_leave_hot(&recorder_hot);
	return false;
}

static inline void fill_record(struct epf_record *record, const struct epf_open *open, uint64_t now)
{
	uint64_t start = open->start_ticks;
	/* Two separate stores, because combining the values in a vector register takes longer than storing them. */
	STORE_RELAXED(&record->start_ticks, start);
	STORE_RELAXED(&record->duration_ticks, now - start);
	record->id = open->id;
}

/* Called at the end of an event that gets its name there. If the event began a step, ends the step. Returns true if the
 * filter leaves out events with this name. */
static bool is_left_out_at_end(struct recorder *recorder, uint64_t id, epp_name name, uint64_t now)
{
	const struct name_filter *filter = recorder->hot->filter;
	if (recorder->step.id == id)
		schedule_end_step(filter->schedule, &recorder->step, name, now);
	return name_filter_leaves_out(filter, name);
}

/* Adds the args of the event `id`, in slots of 16 bytes, to the counts of the thread's budget. */
static void count_slots(struct recorder *recorder, uint64_t id, uint32_t slots)
{
	struct budget_counts *counts = &recorder->throttle.budget.counts;
	counts->slots += slots;
	counts->run_slots += id == recorder->throttle.run.id ? slots : 0;
}

/* Ends the topmost open event of the resident recorder. Also handles the uncommon conditions that the fast path does
 * not. The recorder's mark is set. `tail` as for unwind. */
static NOINLINE void end_top(uint64_t now, uint64_t tail, const epp_arg *args, size_t args_count)
{
	struct recorder *recorder = recorder_cache.resident;
	struct epf_open *open = recorder_hot.top - 1;
	if (recorder_hot.filter && recorder->throttle.budget.step == BUDGET_ARGS_OFF)
		args_count = 0;
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX);
	struct epf_record *record = NULL;
	if (recorder_hot.filter)
		count_slots(recorder, open->id, size.slots);
	if (tail && recorder_hot.filter && is_left_out_at_end(recorder, open->id, EPF_TAIL_NAME(tail), now))
		recorder_lose(recorder, EPP_LOSS_FILTER);
	else
		record = recorder_reserve(recorder, EPF_RECORD_BYTES + size.slots * sizeof(struct epf_arg));
	if (!tail)
		tail = open->tail;
	if (record) {
		fill_record(record, open, now);
		args_publish(recorder, record, EPF_TAIL_NAME(tail), EPF_TAIL_BITS(tail), 0, args, &size);
	}
	/* The entry is popped after the record was stored, never before: after a kill in between the event is in both
	 * places, which readers handle. */
	recorder_pop(&recorder_hot, open);
	if (recorder_hot.calls)
		calls_stop_event(recorder, open, now, tail, args, args_count);
	else
		recorder_leave_hot(&recorder_hot);
}

/* Handles an end for a session that does not record: if the session exists, counts it as EPP_LOSS_AFTER_END. */
static void count_unrecorded_end(epp_session *handle)
{
	uintptr_t of = handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle);
	struct session *session = session_of(of);
	/* If the session records, this thread is in a callback or has no slot. The event is closed as unended later, so
	 * no loss is counted. */
	if (session && LOAD_RELAXED(&session->state) != SESSION_RECORDING)
		session_lose(of, EPP_LOSS_AFTER_END, 1);
}

static NOINLINE void end_slow(epp_session *session, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
                              size_t args_count)
{
	if (!clock_is_fast())
		now = clock_ticks_slow();
	struct recorder *recorder = recorder_enter_any(session);
	if (!recorder) {
		if (id != EPP_LEFT_OUT_ID)
			count_unrecorded_end(session);
		return;
	}
	if (id == EPP_LEFT_OUT_ID && recorder->hot->filter &&
	    (recorder->hot->filter->schedule || recorder->hot->filter->throttle)) {
		if (recorder->throttle.skip == SKIP_RUN)
			leave_run(recorder);
		else if (recorder->step.id == id)
			schedule_end_step(recorder->hot->filter->schedule, &recorder->step,
			                  tail ? EPF_TAIL_NAME(tail) : 0, now);
		recorder_leave(recorder);
		return;
	}
	uint32_t depth = recorder_depth(recorder);
	if (depth == 0 || recorder->slot->open[depth - 1].id != id)
		depth = unwind(recorder, id, now, tail, args, args_count);
	/* No event inside the run is open: the event that ends is the run itself, or is around a run that is left out,
	 * which then ends, too. */
	if (depth && throttle_skips_inside(&recorder->throttle))
		recorder->throttle.skip = SKIP_NONE;
	if (depth == 0)
		recorder_leave(recorder);
	else
		end_top(now, tail, args, args_count);
}

/* Ends an event that is left out: a run (without reading the clock), or a step. */
static NOINLINE void end_left_out(epp_session *session, uint64_t id, uint64_t tail)
{
	struct recorder *recorder = recorder_cache.resident;
	if (id == 0)
		return;
	if (recorder && recorder->throttle.skip == SKIP_RUN && recorder_cache.handle == (uintptr_t)session &&
	    !recorder_cache.in_callback)
		leave_run(recorder);
	else
		end_slow(session, id, clock_ticks(), tail, NULL, 0);
}

void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	if (!USUAL(id > EPP_LEFT_OUT_ID)) {
		end_left_out(session, id, 0);
		return;
	}
	uint64_t now = clock_ticks_fast();
	if (!USUAL(enter_on_top(session, id))) {
		end_slow(session, id, now, 0, args, args_count);
		return;
	}
	struct epf_open *open = recorder_hot.top - 1;
	struct epf_record *record = (struct epf_record *)(void *)recorder_hot.at;
	/* The positions are compared as numbers: without a region there is no object to point to, and both `at` and the
	 * limit are 0. */
	uintptr_t end = (uintptr_t)record + sizeof(*record);
	if (!USUAL(args_count == 0 && end <= (uintptr_t)recorder_hot.limit)) {
		end_top(now, 0, args, args_count);
		return;
	}
	uint64_t tail = open->tail;
	fill_record(record, open, now);
	STORE_RELEASE(&record->tail, tail);
	recorder_hot.at = (uint8_t *)(record + 1);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
	recorder_pop(&recorder_hot, open);
	if (!USUAL(!recorder_hot.calls))
		calls_stop_event(recorder_cache.resident, open, now, tail, NULL, 0);
	else
		recorder_leave_hot(&recorder_hot);
}

void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name, const epp_arg *args,
                         size_t args_count)
{
	if (!USUAL(id > EPP_LEFT_OUT_ID)) {
		end_left_out(session, id, event_tail(category, name));
		return;
	}
	uint64_t now = clock_ticks_fast(), tail = event_tail(category, name);
	if (USUAL(enter_on_top(session, id)))
		end_top(now, tail, args, args_count);
	else
		end_slow(session, id, now, tail, args, args_count);
}

/* ---- records that need one call: instants, counters, flows, asynchronous begin and end ---- */

void epp_instant_record(epp_session *session, epp_category category, epp_name name, const epp_arg *args, size_t args_count)
{
	uint64_t now = clock_ticks();
	struct recorder *recorder = enter_for_name(session, name, true);
	if (!recorder)
		return;
	store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), name ? name : EPF_NAME_NONE,
	      EPF_BITS(category & 3u, EPF_INSTANT, 0, 0), 0, args, args_count);
	recorder_leave(recorder);
}

static void counter(epp_session *session, epp_name name, const epp_arg *value)
{
	uint64_t now = clock_ticks();
	struct recorder *recorder = enter_for_name(session, name, true);
	if (!recorder)
		return;
	store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), name ? name : EPF_NAME_NONE,
	      EPF_BITS(EPP_NODE, EPF_COUNTER, 0, 0), 0, value, 1);
	recorder_leave(recorder);
}

void epp_counter_record_i64(epp_session *session, epp_name name, int64_t value)
{
	counter(session, name, &(epp_arg){ .key = name, .type = EPP_ARG_I64, .value.i64 = value });
}

void epp_counter_record_f64(epp_session *session, epp_name name, double value)
{
	counter(session, name, &(epp_arg){ .key = name, .type = EPP_ARG_F64, .value.f64 = value });
}

void epp_flow_record(epp_session *session, uint64_t from_id, uint64_t to_id)
{
	uint64_t now = clock_ticks();
	bool has_events = from_id > EPP_LEFT_OUT_ID && to_id > EPP_LEFT_OUT_ID;
	struct recorder *recorder = has_events ? recorder_enter_new(session) : NULL;
	if (!recorder)
		return;
	recorder_take_id(recorder, recorder->hot);
	store(recorder, now, 0, to_id, EPF_NAME_FLOW, EPF_BITS(EPP_NODE, EPF_FLOW, 0, 0), from_id, NULL, 0);
	recorder_leave(recorder);
}

uint64_t epp_async_begin(epp_session *session, epp_category category, epp_name name)
{
	struct recorder *recorder = enter_for_name(session, name, false);
	if (!recorder)
		return 0;
	uint64_t id = recorder_take_id(recorder, recorder->hot);
	store(recorder, clock_ticks(), 0, id, name, EPF_BITS(category & 3u, EPF_ASYNC_BEGIN, 0, 0), 0, NULL, 0);
	recorder_leave(recorder);
	return id;
}

void epp_async_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	uint64_t now = clock_ticks();
	if (!id)
		return;
	struct recorder *recorder = recorder_enter_any(session);
	if (!recorder) {
		count_unrecorded_end(session);
		return;
	}
	store(recorder, now, 0, id, EPF_NAME_ORPHAN_END, EPF_BITS(0, EPF_ASYNC_END, 0, 0), 0, args, args_count);
	recorder_leave(recorder);
}
