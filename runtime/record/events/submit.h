/* Events that were timed elsewhere: by a device, handed over by a profiler or by the host application.
 *
 * They are recorded like host events, by the thread that brings them, into regions of their own: a track switch, then
 * complete records in the ticks of that track's clock, clock pairs among them.  So they are in the mapped file when the
 * call returns, and a kill loses only what a profiler still holds. */
#ifndef EPPROF_RUNTIME_RECORD_EVENTS_SUBMIT_H
#define EPPROF_RUNTIME_RECORD_EVENTS_SUBMIT_H

#include "record/session.h"

#define HANDOVER_TRACKS_MAX 256u
#define HANDOVER_CLOCKS_MAX 64u

/* Tracks of streams; only ever added (count is stored last), so that they are found without a lock. */
struct submission_tracks {
	struct {
		uint32_t clock; /* the EP's number; HANDOVER_OFFSET_US: ONNX Runtime's microseconds */
		int32_t device;
		int64_t stream;
		bool is_calls;
		uint32_t track;
	} all[HANDOVER_TRACKS_MAX];
	uint32_t count;
};

/* What a profiler's events are recorded under. */
struct submission {
	struct submission_tracks pushed;
	/* Those of AddEvents, of `added_run` alone, since its microseconds count from the run's start: with the session's lock
	 * held. */
	struct submission_tracks added;
	uint32_t added_run;
	struct {
		uint32_t number; /* the session's; 0: not described */
		uint32_t track;  /* where its pairs go */
		EpprofClock description;
	} clocks[HANDOVER_CLOCKS_MAX];
	/* With the session's lock held. */
	EpprofLedger last; /* of this run, as pushed */
	bool has_ledger;   /* it counts for itself */
	uint64_t gaps_ns;  /* how long it was off, so far */
	uint64_t counted;  /* what we counted as emitted in this run, until it said that it counts */
	uint64_t arrived;  /* events of this run that were pushed */
};
#define HANDOVER_OFFSET_US UINT32_MAX
#define HANDOVER_HOST (UINT32_MAX - 1) /* the host's clock: of waits, and of descriptions of devices */

/* A run begins: the profiler's own counts start from zero again. */
void submission_begin_run(struct session_profiler *of);

/* Its StartProfiling took from one time to the other and was told an offset that counts from somewhere else than the run's
 * start: what it adds is moved, and the rest below a microsecond goes into the bracket. */
void submission_bracket(struct session_profiler *of, uint64_t before_ticks, uint64_t after_ticks, int64_t offset_ns);
/* It began that much earlier than was known. */
void submission_bracket_began(struct session_profiler *of, uint64_t earlier_ns);

/* What the registry calls for PushEvents. */
void submission_push(void *session_profiler, const EpprofBatch *batch);

/* What AddEvents leads to; `recorder` is the calling thread's. */
void submission_add(struct session_profiler *of, const OrtProfilingEvent *event, uint64_t run_us);

/* A loss of a profiler's. */
void submission_lose(struct session_profiler *of, epp_loss reason, uint64_t count);

/* A call of the profiler has not returned in time: what it had announced and not handed over is lost, and all that it hands
 * over from now on.  `why` is the note beside its account. */
void submission_give_up(struct session_profiler *of, const char *why);

/* The calling thread may wait for chunks instead of losing events. */
void submission_allow_waiting(struct session *session);

#endif
