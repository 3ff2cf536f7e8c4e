/* Stores submitted records: a track switch if needed, then the record, both in one region. */
#ifndef EPPROF_RUNTIME_RECORD_EVENTS_SUBMIT_STORE_H
#define EPPROF_RUNTIME_RECORD_EVENTS_SUBMIT_STORE_H

#include "record/events/args.h"
#include "record/recorder.h"

struct handed {
	uint32_t track;
	uint32_t category;
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t parent;
	epp_name name;
	bool cut;                     /* it had more args than a record can hold */
	enum epf_placement placement; /* how its parent was found; 0: it was given */
};

/* Switches the region to `track`. The region must have room for one record more than the caller needs. */
static inline void submission_switch(struct recorder *recorder, uint32_t track)
{
	if (recorder->track_now == track)
		return;
	struct epf_record *change = (struct epf_record *)(void *)recorder->hot->at;
	change->id = track;
	recorder_publish(recorder, change, EPF_NAME_TRACK_SWITCH, EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0), 0);
	recorder->track_now = track;
}

/* Stores one complete record behind its track switch, in one region. Returns its id. 0: no room; no id was taken, and
 * the caller counts the loss. */
static inline uint64_t submission_store(struct recorder *recorder, const struct handed *event, const epp_arg *args,
                                        size_t args_count)
{
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX - (event->parent != 0));
	size_t bytes = 2 * EPF_RECORD_BYTES + args_slots(&size, event->parent) * sizeof(struct epf_arg);
	if ((size_t)(recorder->hot->limit - recorder->hot->at) < bytes && !recorder_next_region(recorder, bytes))
		return 0;
	submission_switch(recorder, event->track);
	struct epf_record *record = (struct epf_record *)(void *)recorder->hot->at;
	record->start_ticks = event->start_ticks;
	record->duration_ticks = event->end_ticks - event->start_ticks;
	uint64_t id = record->id = recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, record, event->name,
	             EPF_BITS(event->category, EPF_COMPLETE, event->placement, event->cut ? EPF_FLAG_CUT : 0),
	             event->parent, args, &size);
	return id;
}

static inline void submission_store_pair(struct recorder *recorder, uint32_t track, uint64_t device, uint64_t host,
                                         uint64_t half_width)
{
	size_t bytes = 2 * EPF_RECORD_BYTES;
	/* A clock sample is not an event: without room it is dropped and not counted, and the fit uses the others. */
	if ((size_t)(recorder->hot->limit - recorder->hot->at) < bytes && !recorder_next_region(recorder, bytes))
		return;
	submission_switch(recorder, track);
	struct epf_record *record = (struct epf_record *)(void *)recorder->hot->at;
	record->start_ticks = device;
	record->duration_ticks = host;
	record->id = half_width;
	recorder_publish(recorder, record, EPF_NAME_CLOCK_PAIR, EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0), 0);
}

/* As submission_store for a wait, plus a flow to it from the event that launched the work it waited for. */
static inline bool submission_store_wait(struct recorder *recorder, const struct handed *wait, uint64_t from_id)
{
	struct args_size none = args_measure(NULL, 0, EPF_ARG_SLOTS_MAX - 1);
	size_t bytes = 4 * EPF_RECORD_BYTES + args_slots(&none, from_id) * sizeof(struct epf_arg);
	if ((size_t)(recorder->hot->limit - recorder->hot->at) < bytes && !recorder_next_region(recorder, bytes))
		return false;
	uint64_t wait_id = submission_store(recorder, wait, NULL, 0);
	if (!wait_id)
		return false;
	submission_switch(recorder, 0);
	struct epf_record *flow = (struct epf_record *)(void *)recorder->hot->at;
	flow->start_ticks = wait->end_ticks;
	flow->id = wait_id;
	recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, flow, EPF_NAME_FLOW, EPF_BITS(EPP_NODE, EPF_FLOW, 0, 0), from_id, NULL, &none);
	return true;
}

/* Stores the parent of an event that was recorded without one, as a flow whose placement is `inferred`. */
static inline bool submission_store_parent(struct recorder *recorder, uint64_t id, uint64_t parent)
{
	struct args_size none = args_measure(NULL, 0, EPF_ARG_SLOTS_MAX - 1);
	size_t bytes = 2 * EPF_RECORD_BYTES + args_slots(&none, parent) * sizeof(struct epf_arg);
	if ((size_t)(recorder->hot->limit - recorder->hot->at) < bytes && !recorder_next_region(recorder, bytes))
		return false;
	submission_switch(recorder, 0);
	struct epf_record *flow = (struct epf_record *)(void *)recorder->hot->at;
	flow->start_ticks = clock_ticks();
	flow->id = id;
	recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, flow, EPF_NAME_FLOW, EPF_BITS(EPP_NODE, EPF_FLOW, EPF_PLACED_INFERRED, 0), parent, NULL,
	             &none);
	return true;
}

/* Returns the calling thread's recorder with its mark set; NULL: the run is over, or the thread has no slot. */
static inline struct recorder *submission_enter(uintptr_t handle)
{
	struct recorder *recorder = recorder_find(handle, RECORDER_HANDOVER);
	if (recorder && recorder_enter(recorder))
		return recorder;
	/* Closed between finding and entering: the run is over. */
	return NULL;
}

#endif
