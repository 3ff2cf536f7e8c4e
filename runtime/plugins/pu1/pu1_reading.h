/* From the buffers of a PU1 library to the sessions that profile it.
 *
 * Buffers are read after the fact, by the sizes in their records, each of which is copied and found right before the next
 * one is looked for: from a size that cannot be, the rest of the buffer is left.  All buffers that are full are read twice:
 * first the runtime's records, for the external ids of device records that carry none, then all of them.
 *
 * A record goes to each session whose run holds its start; where one session has several profilers (epp_session_join), to the
 * oldest of them that it suits.  A session that has ended gets what comes late, too: its host counts it as after its end.
 * What no run holds is counted as lost by all sessions that are on.
 *
 * Thread: library->read_lock is held, throughout.
 */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H

#include "plugins/pu1/pu1_library.h"
#include "plugins/pu1/pu1_tokens.h"

#define PU1_CLOCK 0u /* its only one, as EpprofClock.id */

/* A session's interest in a library. */
struct pu1_profiler {
	OrtEpProfilerImpl impl;        /* first: it is what hosts see */
	LIST_ENTRY(pu1_profiler) link; /* of the library's, the newest first */
	struct pu1_library *library;
	_Atomic bool is_on; /* from StartProfiling to the end of EndProfiling */
	struct pu1_owner owner;
	/* With read_lock held. */
	const void *session; /* as of the last look; NULL: none has it */
	uint64_t start_ns;   /* the run in the records' clock; an end of UINT64_MAX: not yet */
	uint64_t end_ns;
	EpprofLedger ledger;
	char fault[PU1_FAULT_BYTES]; /* the first of the run; "": none */
	uint64_t faults_count;
};

struct pu1_reading *pu1_reading_create(void);

/* Reads what is full, and asks the library for what it dropped. */
void pu1_read(struct pu1_library *library);

/* Reads the clock and hands the pair to a profiler, or (NULL) to all that are on. */
void pu1_read_clock(struct pu1_library *library, struct pu1_profiler *profiler);

/* What stands at `*at`, which is moved behind it.  False: nothing further; `*wrong` then says why, if it is not the end. */
bool pu1_record_next(const uint8_t **at, const uint8_t *end, pu1ActivityRecord *record, const char **wrong);

/* ---- pu1_sessions.c ---- */

static inline bool pu1_is_on(const struct pu1_profiler *profiler)
{
	return atomic_load_explicit(&profiler->is_on, memory_order_relaxed);
}

/* Sees which session has each of the library's profilers. */
void pu1_look_up_sessions(struct pu1_library *library);
/* The next older one that the same session has, as of the last look; NULL: none. */
struct pu1_profiler *pu1_next_of_session(const struct pu1_profiler *profiler);

/* Hands the ledger over. */
void pu1_push_ledger(struct pu1_profiler *profiler);
/* Counts events as lost by all sessions that are on: `lost` is the count's offset in EpprofLedger. */
void pu1_lose(struct pu1_library *library, size_t lost, uint64_t count);
#define PU1_LOSE(library, reason, count) pu1_lose(library, offsetof(EpprofLedger, lost_##reason), count)
/* Asks the library for what it dropped, and counts that. */
void pu1_count_dropped(struct pu1_library *library);
/* Something is wrong with the library: told to all that are on. */
__attribute__((format(printf, 2, 3))) void pu1_fault(struct pu1_library *library, const char *format, ...);

#endif
