/* Records device events that a profiler or the host application submits, with times of their own clocks.
 *
 * The calling thread records them as it records host events, but into separate regions: a track switch, then complete
 * records and clock samples in the ticks of that track's clock. When the call returns, the events are in the mapped
 * file, so that a kill loses only events that the profiler has not submitted yet. */
#ifndef EPPROF_RUNTIME_RECORD_SUBMIT_H
#define EPPROF_RUNTIME_RECORD_SUBMIT_H

#include "record/session.h"

#define SUBMIT_TRACKS_MAX 256u
#define SUBMIT_CLOCKS_MAX 64u
#define SUBMIT_DEVICES_MAX 64u
#define SUBMIT_DEVICE_NAME_BYTES 128u

/* Tracks of streams. Entries are only added, and `count` is stored after the entry, so that threads find entries
 * without a lock. */
struct submission_tracks {
	struct {
		uint32_t clock; /* the number of the EP's clock; SUBMIT_OFFSET_US: ONNX Runtime's microseconds */
		int32_t device;
		int64_t stream;
		bool is_calls;
		uint32_t track;
	} all[SUBMIT_TRACKS_MAX];
	uint32_t count;
};

/* A profiler's tracks, clocks and counts. */
struct submission {
	struct submission_tracks pushed;
	/* Tracks for AddEvents. They are valid only in the run `added_run`, because the microseconds of AddEvents count
	 * from the run's start. Protected by the session's lock. */
	struct submission_tracks added;
	uint32_t added_run;
	struct {
		uint32_t number; /* the number of the clock in the session; 0: the clock was not described yet */
		uint32_t track;  /* the track of the clock's samples */
		EpprofClock description;
		EpprofClockPair pair; /* the last pair, which a schedule needs; host_ticks 0: none; protected by the
		                         session's lock */
	} clocks[SUBMIT_CLOCKS_MAX];
	/* Names of devices. Protected by the session's lock. */
	struct {
		int32_t device;
		char name[SUBMIT_DEVICE_NAME_BYTES];
	} devices[SUBMIT_DEVICES_MAX];
	uint32_t devices_count;
	struct flow_ends *flows; /* NULL: no event had a flow */
	EpprofLedger last;       /* the last ledger of this run that the profiler pushed */
	bool has_ledger;         /* the profiler reports its own counts */
	uint64_t gaps_ns;        /* the total time in this run in which the plugin was stopped, in ns */
	uint64_t counted;        /* events of this run that were counted as emitted when they arrived; subtracted from
	                            the counts of the first ledger, which include them */
	uint64_t arrived;        /* events of this run that were pushed */
	uint64_t unfinished;     /* the number of pieces of work of this run that are counted as lost until their events
	                            arrive */
	uint64_t late;           /* late events that came before their work was reported as unfinished */
};
#define SUBMIT_OFFSET_US UINT32_MAX
#define SUBMIT_HOST_CLOCK \
	(UINT32_MAX - 1) /* no device clock: tracks of waits and of device properties, with times of the host's clock */

void submission_free(struct submission *submission);

/* Resets the profiler's counts at the start of a run. */
void submission_begin_run(struct session_profiler *of);

/* Stores the times before and after StartProfiling, and the offset that was passed to it. The origin of the offset may
 * differ from the run's start. Times of AddEvents are shifted by the difference; its rest below 1 us widens the bracket
 * (the time between the two readings). */
void submission_bracket(struct session_profiler *of, uint64_t before_ticks, uint64_t after_ticks, int64_t offset_ns);
/* Moves the begin of the bracket back, because StartProfiling began earlier than assumed. */
void submission_bracket_began(struct session_profiler *of, uint64_t earlier_ns);

/* The registry's callback for PushEvents. */
void submission_push(void *session_profiler, const EpprofBatch *batch);

/* Records one event of AddEvents. `run_us` is the time since the run's start. */
void submission_add(struct session_profiler *of, const OrtProfilingEvent *event, uint64_t run_us);

/* Counts a loss of a profiler. */
void submission_lose(struct session_profiler *of, epp_loss reason, uint64_t count);

/* Counts work that the device has not finished at the end of the run (run.c) as emitted and lost, so that the counts
 * are right if its events never arrive. */
void submission_add_unfinished(struct session_profiler *of, uint64_t count);

/* Gives a profiler up because a call has not returned in time: the events that its last ledger counts but that it did
 * not submit are counted as lost, at least one event, and so are all events that it submits from now on. `why` is the
 * note in its ledger. */
void submission_abandon(struct session_profiler *of, const char *why);

#endif
