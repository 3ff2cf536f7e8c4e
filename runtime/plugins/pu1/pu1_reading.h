/* Delivers the buffers of a PU1 library to the sessions that profile it.
 *
 * Buffers are read after they were filled, by the sizes in their records.  Each record is copied and checked right
 * before the reader moves to the next one; at an impossible size, the rest of the buffer is skipped.  All full buffers
 * are read twice: first the runtime's records, for the external ids of device records without one, then all records.
 * A record goes to each session whose run contains its start; if a session has several profilers
 * (epp_hosted_profiler_create), to the oldest one whose run does.  A session that has ended also gets late records: its
 * host counts them as after its end.  A record that no run contains is counted as lost by all active sessions.
 *
 * Thread: library->read_lock is held, throughout. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H

#include "plugins/pu1/pu1_library.h"
#include "plugins/pu1/pu1_tokens.h"

#define PU1_CLOCK 0u /* the only clock, as EpprofClock.id */

/* A session's profiler of a library. */
struct pu1_profiler {
	OrtEpProfilerImpl impl;        /* must be first: hosts see this */
	LIST_ENTRY(pu1_profiler) link; /* in the library's list, the newest first */
	struct pu1_library *library;
	_Atomic bool is_on; /* from StartProfiling to the end of EndProfiling */
	struct pu1_owner owner;
	/* With read_lock held. */
	const void *session; /* set by pu1_look_up_sessions; NULL: none */
	uint64_t start_ns;   /* the run in the records' clock; an end of UINT64_MAX: still active */
	uint64_t end_ns;
	EpprofLedger ledger;
	char fault[PU1_FAULT_BYTES]; /* the first fault of the run; "": none */
	uint64_t faults_count;
};

struct pu1_reading *pu1_reading_create(void);

/* Reads all full buffers, and asks the library how many records it dropped. */
void pu1_read(struct pu1_library *library);

/* Reads the clock and pushes the pair to a profiler, or (NULL) to all active ones. */
void pu1_read_clock(struct pu1_library *library, struct pu1_profiler *profiler);

/* Copies the record at `*at`, and moves `*at` after it.  False: there are no more records; `*wrong` is the reason
 * unless it is the end. */
bool pu1_record_next(const uint8_t **at, const uint8_t *end, pu1ActivityRecord *record, const char **wrong);

/* ---- pu1_sessions.c ---- */

static inline bool pu1_is_on(const struct pu1_profiler *profiler)
{
	return atomic_load_explicit(&profiler->is_on, memory_order_relaxed);
}

/* Finds the session of each of the library's profilers. */
void pu1_look_up_sessions(struct pu1_library *library);
/* Returns the next older profiler of the same session, as of the last look-up; NULL: none. */
struct pu1_profiler *pu1_next_of_session(const struct pu1_profiler *profiler);

/* Pushes the ledger. */
void pu1_push_ledger(struct pu1_profiler *profiler);
/* Counts events as lost by all active sessions: `lost` is the count's offset in EpprofLedger. */
void pu1_lose(struct pu1_library *library, size_t lost, uint64_t count);
#define PU1_LOSE(library, reason, count) pu1_lose(library, offsetof(EpprofLedger, lost_##reason), count)
/* Asks the library how many records it dropped, and counts them. */
void pu1_count_dropped(struct pu1_library *library);
/* Reports a fault of the library to all active profilers. */
__attribute__((format(printf, 2, 3))) void pu1_fault(struct pu1_library *library, const char *format, ...);

#endif
