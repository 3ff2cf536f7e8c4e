/* Submits events to the collector under ONNX Runtime while they happen, in addition to the batch at the end
 * (batch.h).
 *
 * StartProfiling looks for the collector's library.  The first events join its recording.  If the kit or the
 * collector learns of an event first depends on the order of the providers, so each StartEvent, StopEvent and token
 * tries to join, a limited number of times.  From then on full chunks are submitted as to an epprof host, but are
 * kept for ONNX Runtime.  An event's parent is a token in the kit, and is converted to the recording's id when it is
 * submitted.
 *
 * When all memory for chunks is in use, each thread's last chunk is used for the collector only: it is emptied when
 * it is full, and ONNX Runtime's profile lacks its events, which are counted.
 */
#ifndef EPPROF_KIT_COLLECTOR_H
#define EPPROF_KIT_COLLECTOR_H

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <string.h>

#include "handover.h"
#include "kit.h"

#define KIT_JOIN_TRIES 256u
#define KIT_PATH_BYTES 4096u

static int kit_collector_look(struct dl_phdr_info *info, size_t bytes, void *path)
{
	const char *name = info->dlpi_name, *slash = name ? strrchr(name, '/') : NULL;
	const char *file = slash ? slash + 1 : name;
	size_t length = name ? strlen(name) : 0;
	(void)bytes;
	if (!file || strncmp(file, EPPROF_COLLECTOR_FILE, strlen(EPPROF_COLLECTOR_FILE)) != 0 || length >= KIT_PATH_BYTES)
		return 0;
	memcpy(path, name, length + 1);
	return 1;
}

/* Returns the collector, or NULL if its library is not loaded. */
static const EpprofCollector *kit_collector_find(void)
{
	char path[KIT_PATH_BYTES] = "";
	EpprofGetCollector_Fn get = NULL;
	dl_iterate_phdr(kit_collector_look, path);
	void *library = path[0] ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (!library)
		return NULL;
	*(void **)&get = dlsym(library, EPPROF_COLLECTOR_SYMBOL);
	const EpprofCollector *collector = get ? get() : NULL;
	dlclose(library);
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

/* Submits the pairs stored so far. */
static void kit_push_kept_pairs(struct kit *kit)
{
	if (atomic_exchange_explicit(&kit->pairs_busy, 1, memory_order_acquire))
		return;
	for (uint32_t i = 0; i < kit->pairs_count; i++)
		kit_push_pair(kit, &kit->pairs[i]);
	atomic_store_explicit(&kit->pairs_busy, 0, memory_order_release);
}

/* Tries to join, during an event of ONNX Runtime.  False: another thread is trying now. */
static __attribute__((noinline)) bool kit_join(struct kit *kit, uint64_t ort_id)
{
	if (!kit_join_enter(kit))
		return false;
	if (atomic_load_explicit(&kit->may_join, memory_order_relaxed)) {
		EpprofRecording *made = kit->collector->Join(&kit->profiler->impl, kit->options.ep_name, ort_id);
		if (made)
			kit_push_clock_to(kit, made);
		atomic_store_explicit(&kit->recording, made, memory_order_release);
		atomic_store_explicit(&kit->may_join, !made && --kit->join_tries > 0, memory_order_relaxed);
		if (made)
			kit_push_kept_pairs(kit);
	}
	atomic_store_explicit(&kit->joining, 0, memory_order_release);
	return true;
}

static inline void kit_join_if_due(struct kit *kit, uint64_t ort_id)
{
	if (atomic_load_explicit(&kit->may_join, memory_order_relaxed))
		kit_join(kit, ort_id);
}

/* Joins for a token: both sides know the event, so if this does not join, nothing will.  In that case no event of
 * the run is submitted, instead of some without their causes. */
static inline EpprofRecording *kit_join_for_token(struct kit *kit, uint64_t ort_id)
{
	while (atomic_load_explicit(&kit->may_join, memory_order_relaxed)) {
		if (!kit_join(kit, ort_id))
			sched_yield();
		else if (!kit_recording(kit))
			atomic_store_explicit(&kit->may_join, false, memory_order_relaxed);
	}
	return kit_recording(kit);
}

static void kit_recording_leave(struct kit *kit)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	while (!kit_join_enter(kit))
		nanosleep(&pause, NULL);
	EpprofRecording *recording = kit_recording(kit);
	atomic_store_explicit(&kit->may_join, false, memory_order_relaxed);
	atomic_store_explicit(&kit->recording, NULL, memory_order_release);
	atomic_store_explicit(&kit->joining, 0, memory_order_release);
	if (recording)
		kit->collector->Leave(recording);
}

#endif
