/* Delivers the buffers of a PU1 library to the sessions that profile it.
 *
 * Buffers are read after they were filled, by the sizes in their records.  Each record is copied and checked right
 * before the reader moves to the next one.  If a size is impossible, the rest of the buffer is skipped.  All full
 * buffers are read twice: first the runtime's records, for the external ids of device records without one, then all
 * records.  A record goes to each session whose run contains its start; if a session has several profilers
 * (epp_hosted_profiler_create), the record goes to the oldest one whose run contains the start.  A session that has
 * ended also gets late records, which it adds to its last run until it is released.  A record that no run contains is
 * counted as lost by all active sessions.
 *
 * Thread: the caller of each function holds library->read_lock. */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_READING_H

#include "plugins/pu1/pu1_library.h"
#include "plugins/pu1/pu1_tokens.h"

#define PU1_CLOCK 0u /* the id of the records' clock in EpprofClock; there is only one clock */

/* A profiler of a library, for one session. */
struct pu1_profiler {
	OrtEpProfilerImpl impl;        /* must be first, because hosts get a pointer to it */
	LIST_ENTRY(pu1_profiler) link; /* link in the library's list, the newest first */
	struct pu1_library *library;
	_Atomic bool is_on; /* true from StartProfiling to the end of EndProfiling */
	struct pu1_owner owner;
	/* read_lock guards the following members. */
	const void *session; /* the profiler's session, set by pu1_look_up_sessions; NULL: none */
	uint64_t start_ns;   /* the run, by the clock of the records; an end of UINT64_MAX: the run is active */
	uint64_t end_ns;
	EpprofLedger ledger;
	char fault[PU1_FAULT_BYTES]; /* the first fault of the run; "": none */
	uint64_t faults_count;
};

struct pu1_reading *pu1_reading_create(void);

/* Reads all full buffers, and asks the library how many records it dropped. */
void pu1_read(struct pu1_library *library);

/* Reads the clock and pushes a clock pair to a profiler; NULL: to all active profilers. */
void pu1_read_clock(struct pu1_library *library, struct pu1_profiler *profiler);

/* Copies the record at `*at`, and moves `*at` after it.  Returns false if there are no more records.  *wrong is then
 * NULL at the end of the buffer, otherwise the text of the error. */
bool pu1_record_next(const uint8_t **at, const uint8_t *end, pu1ActivityRecord *record, const char **wrong);

/* ---- pu1_sessions.c ---- */

static inline bool pu1_is_on(const struct pu1_profiler *profiler)
{
	return atomic_load_explicit(&profiler->is_on, memory_order_relaxed);
}

/* Sets the session of each of the library's profilers. */
void pu1_look_up_sessions(struct pu1_library *library);
/* Returns the next older profiler of the same session, by the sessions that pu1_look_up_sessions has set; NULL:
 * none. */
struct pu1_profiler *pu1_next_of_session(const struct pu1_profiler *profiler);

/* Pushes the profiler's ledger to its session. */
void pu1_push_ledger(struct pu1_profiler *profiler);
/* Counts `count` events as lost in the ledgers of all active sessions.  `lost` is the offset of the count in
 * EpprofLedger. */
void pu1_count_lost(struct pu1_library *library, size_t lost, uint64_t count);
#define PU1_LOSE(library, reason, count) pu1_count_lost(library, offsetof(EpprofLedger, lost_##reason), count)
/* Asks the library how many records it dropped, and counts these records as lost. */
void pu1_count_dropped(struct pu1_library *library);
/* Reports a fault of the library to all active profilers. */
__attribute__((format(printf, 2, 3))) void pu1_fault(struct pu1_library *library, const char *format, ...);

#endif
