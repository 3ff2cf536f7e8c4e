/* If epprof's collector records in the same ONNX Runtime process, the kit pushes events to it while they happen.  ONNX
 * Runtime gets the events, too, in the batch at the end (batch.h).
 *
 * StartProfiling searches for the collector's library.  The kit joins the collector's recording at one of the first
 * events.  Whether the kit or the collector gets an event first depends on the order of the providers.  Each
 * StartEvent, StopEvent and token therefore tries to join, a limited number of times.  After that, full chunks are
 * submitted as to an epprof host, but are kept for ONNX Runtime.  An event's parent is a token in the kit, and is
 * converted to the recording's id when it is submitted.
 *
 * If all memory for chunks is in use, each thread's last chunk is used for the collector only.  It is emptied when it
 * is full.  Its events are then missing in ONNX Runtime's profile, which is counted. */
#ifndef EPPROF_EP_KIT_COLLECTOR_H
#define EPPROF_EP_KIT_COLLECTOR_H

#include "kit.h"
#include "names.h"
#include "push.h"

#define KIT_JOIN_TRIES 256u

/* Returns the collector, or NULL if its library is not loaded. */
static const EpprofCollector *kit_collector_find(void)
{
	EpprofGetCollector_Fn get = (EpprofGetCollector_Fn)system_library_function(EPPROF_COLLECTOR_FILE,
	                                                                           EPPROF_COLLECTOR_SYMBOL);
	const EpprofCollector *collector = get ? get() : NULL;
	return collector && collector->struct_size >= sizeof(*collector) ? collector : NULL;
}

static inline EpprofRecording *kit_recording(const struct kit *kit)
{
	return atomic_load_explicit(&kit->recording, memory_order_acquire);
}

static inline bool kit_join_enter(struct kit *kit)
{
	return atomic_exchange_explicit(&kit->joining, 1, memory_order_acquire) == 0;
}

/* Submits the clock pairs that were stored so far. */
static void kit_push_stored_pairs(struct kit *kit)
{
	if (atomic_exchange_explicit(&kit->pairs_busy, 1, memory_order_acquire))
		return;
	for (uint32_t i = 0; i < kit->pairs_count; i++)
		kit_push_pair(kit, &kit->pairs[i]);
	atomic_store_explicit(&kit->pairs_busy, 0, memory_order_release);
}

/* Tries to join the collector's recording, while the event `ort_id` of ONNX Runtime is open.  Returns false only if
 * another thread is trying now. */
static KIT_NOINLINE bool kit_join(struct kit *kit, uint64_t ort_id)
{
	if (!kit_join_enter(kit))
		return false;
	if (atomic_load_explicit(&kit->may_join, memory_order_relaxed)) {
		EpprofRecording *made = kit->collector->Join(&kit->profiler->impl, kit->options.ep_name, ort_id);
		if (made) {
			kit_push_clock_to(kit, made);
			kit_names_push(kit, made);
		}
		atomic_store_explicit(&kit->recording, made, memory_order_release);
		atomic_store_explicit(&kit->may_join, !made && --kit->join_tries > 0, memory_order_relaxed);
		if (made)
			kit_push_stored_pairs(kit);
	}
	atomic_store_explicit(&kit->joining, 0, memory_order_release);
	return true;
}

static inline void kit_join_if_due(struct kit *kit, uint64_t ort_id)
{
	if (atomic_load_explicit(&kit->may_join, memory_order_relaxed))
		kit_join(kit, ort_id);
}

/* Joins the recording when a token is taken.  At this time both the kit and the collector have got the event, so if
 * joining fails now, it would fail later, too.  In that case no event of the run is submitted to the collector, because
 * the events would have no causes there. */
static inline EpprofRecording *kit_join_for_token(struct kit *kit, uint64_t ort_id)
{
	while (atomic_load_explicit(&kit->may_join, memory_order_relaxed)) {
		if (!kit_join(kit, ort_id))
			system_yield();
		else if (!kit_recording(kit))
			atomic_store_explicit(&kit->may_join, false, memory_order_relaxed);
	}
	return kit_recording(kit);
}

static void kit_recording_leave(struct kit *kit)
{
	while (!kit_join_enter(kit))
		system_pause();
	EpprofRecording *recording = kit_recording(kit);
	atomic_store_explicit(&kit->may_join, false, memory_order_relaxed);
	atomic_store_explicit(&kit->recording, NULL, memory_order_release);
	atomic_store_explicit(&kit->joining, 0, memory_order_release);
	if (recording)
		kit->collector->Leave(recording);
}

#endif
