/* Slow paths of begin and end, and storing of records without a stack. */
#include "record/events/event_slow.h"

#include "record/events/args.h"
#include "record/session.h"

uint64_t epp_event_begin_text(epp_session *session, epp_category category, const char *text)
{
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return 0;
	return epp_event_begin(session, category, epp_name_intern(text));
}

void event_end_nowhere(epp_session *handle)
{
	uintptr_t of = handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle);
	struct session *session = session_of(of);
	/* If it records, this thread is in a callback or has no slot: the event is then closed as unended. */
	if (session && LOAD_RELAXED(&session->state) != SESSION_RECORDING)
		session_lose(of, EPP_LOSS_AFTER_END, 1);
}

void event_store(struct recorder *recorder, uint64_t start, uint64_t duration, uint64_t id, uint32_t name,
                 uint16_t bits, uint64_t parent, const epp_arg *args, size_t args_count)
{
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX - (parent != 0));
	size_t bytes = EPF_RECORD_BYTES + args_slots(&size, parent) * sizeof(struct epf_arg);
	struct epf_record *record = recorder_reserve(recorder, bytes);
	if (!record) {
		if (EPF_BITS_KIND(bits) == EPF_ORPHAN_END || EPF_BITS_KIND(bits) == EPF_ASYNC_END)
			COUNT_OWNED(&recorder->slot->lost_idless, 1);
		return;
	}
	record->start_ticks = start;
	record->duration_ticks = duration;
	record->id = id;
	args_publish(recorder, record, name, bits, parent, args, &size);
}

/* Closes the topmost open event as a record marked as unended. */
static void close_unended(struct recorder *recorder, uint64_t now)
{
	const struct epf_open *open = recorder->hot->top - 1;
	event_store(recorder, open->start_ticks, now - open->start_ticks, open->id, open->name,
	            open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED), 0, NULL, 0);
	recorder_pop(recorder->hot, recorder->hot->top - 1);
}

uint32_t event_unwind(struct recorder *recorder, uint64_t id, uint64_t now, uint64_t tail, const epp_arg *args,
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
		COUNT_OWNED(&slot->lost[EPP_LOSS_AFTER_END], 1);
		COUNT_OWNED(&slot->lost_idless, 1);
		return 0;
	}
	uint16_t bits = EPF_BITS(0, EPF_ORPHAN_END, 0, 0);
	uint32_t name = EPF_NAME_ORPHAN_END;
	if (tail) {
		name = EPF_TAIL_NAME(tail);
		bits = EPF_BITS(EPF_BITS_CATEGORY(EPF_TAIL_BITS(tail)), EPF_ORPHAN_END, 0, EPF_FLAG_NAME_AT_END);
	}
	event_store(recorder, now, 0, id, name, bits, 0, args, args_count);
	STORE_RELAXED(&session->orphans[ADD_RELAXED(&session->orphans_at, 1) % SESSION_ORPHANS], id);
	return 0;
}

static bool ended_elsewhere(struct session *session, uint64_t id)
{
	uint32_t count = LOAD_RELAXED(&session->orphans_at);
	for (uint32_t i = 0; i < SESSION_ORPHANS && i < count; i++)
		if (LOAD_RELAXED(&session->orphans[i]) == id)
			return true;
	return false;
}

/* Removes an entry by moving the ones above it down. After a kill, the entry being moved is in one place or in both,
 * and no other entry is affected. */
static void take_out(struct recorder *recorder, uint32_t at)
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

bool event_reclaim(struct recorder *recorder)
{
	struct epf_slot *slot = recorder->slot;
	struct session *session = recorder->session;
	if (LOAD_RELAXED(&session->orphans_at) == 0)
		return false;
	uint64_t now = clock_ticks();
	uint32_t depth = recorder_depth(recorder);
	for (uint32_t i = 0; i < recorder_depth(recorder);) {
		const struct epf_open *open = &slot->open[i];
		if (!ended_elsewhere(session, open->id)) {
			i++;
			continue;
		}
		/* Its record is marked as unended; the reader joins it with the orphan end, which has the end time. */
		event_store(recorder, open->start_ticks, now - open->start_ticks, open->id, open->name,
		            open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED), 0, NULL, 0);
		take_out(recorder, i);
	}
	return recorder_depth(recorder) < depth;
}
