/* One thread's recording into one session.
 *
 * A recorder belongs to its thread and is freed by it alone (or by its exit), so that a stale pointer in the thread's
 * cache is never dangling.  The session lists it, closes it at the run's end, and from then on does not touch it but for
 * its mark.  What it points to in the window is safe while `mark` is set and it was seen, after setting it, that nobody
 * has closed the recorder (base/gate.h).
 *
 * What begin and end need of the recorder that a thread uses lies in the thread's own memory, one load from the register
 * that every thread has: some processors read their clock only after the loads before it, so each pointer that is followed
 * there costs its whole latency.  The others' lies in the recorder.
 *
 * A thread has up to two recorders for a session: one for its own events, and one for what it hands over for devices
 * (complete events, clock pairs), so that host events and device events lie in different blocks.
 */
#ifndef EPPROF_RUNTIME_RECORD_RECORDER_H
#define EPPROF_RUNTIME_RECORD_RECORDER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "epprof/session.h"
#include "format/format.h"
#include "record/atomics.h"

struct session;
struct profiler_calls;

enum recorder_mark { MARK_OUT = 0, MARK_RECORDING = 1 };
enum recorder_use { RECORDER_EVENTS = 0, RECORDER_HANDOVER = 1, RECORDER_USES = 2 };

#define RECORDER_NO_CHUNK UINT32_MAX

/* What the recording path reads and writes. */
struct recorder_hot {
	uintptr_t handle; /* as the caller gives it, 0 for the default session: the fast path may be taken; the closer empties it */
	uint32_t mark;        /* enum recorder_mark: the owner stores, the closer reads */
	struct epf_open *top; /* where the next open event goes */
	struct epf_open *top_end; /* the fast path ends there: the stack is full, or profilers want events (then it is NULL) */
	uint64_t next_id;         /* the slot has the same */
	uint64_t id_end;
	struct epf_slot *slot;
	uint8_t *at;                        /* the next record */
	uint8_t *limit;                     /* the end of the region */
	uint8_t *fast_limit;                /* the same, or NULL where profilers want events */
	const struct profiler_calls *calls; /* theirs, or NULL */
};

struct recorder {
	struct recorder_hot *hot; /* `kept`, or the thread's own; the owner stores, who closes reads */
	uint32_t closed;
	uint32_t in_callback; /* 0, or recorder_callback of the profiler that is called */
	uint64_t callbacks;   /* how many have begun */
	uint64_t watched,
	    watched_ticks; /* the one that was running when somebody looked, and since when; with the session's lock
	                                    held */
	struct epf_slot *slot;
	struct session *session;
	struct epf_region *region;
	uint32_t chunk; /* index of the region, RECORDER_NO_CHUNK: the slot's own */
	uint32_t slot_index;
	uint32_t track_now;  /* of the last track switch; 0: the recorder's own */
	uint64_t faults;     /* of the thread, when they were last read; with the session's lock held */
	bool faults_counted; /* it has had its first chunk */
	uint32_t use;        /* enum recorder_use */
	bool may_wait;       /* a worker's: waits for a chunk instead of losing */
	bool owner_gone;     /* the thread has exited: who unlists it frees it; with the session's lock held */
	uint64_t left_ticks; /* when the thread exited */
	uintptr_t session_handle;
	bool listed; /* in the session's list; with the session's lock held */
	LIST_ENTRY(recorder) session_link;
	SLIST_ENTRY(recorder) thread_link; /* the owner's */
	struct recorder_hot kept;
};

/* The calling thread's cache.  initial-exec: one instruction to reach, and small enough for a library opened late. */
struct recorder_cache {
	uintptr_t handle; /* the resident's, as the caller gave it, 0 for the default session; or RECORDER_CACHE_EMPTY */
	struct recorder *resident; /* whose `hot` is recorder_hot; NULL: nobody's */
	bool in_callback; /* a profiler's callback runs on this thread: recording calls are refused until it is left */
};
extern __thread struct recorder_cache recorder_cache __attribute__((tls_model("initial-exec")));
extern __thread struct recorder_hot recorder_hot __attribute__((tls_model("initial-exec")));

#define RECORDER_CACHE_EMPTY ((uintptr_t)1)

/* The default session's handle, 0 if there is none. */
extern uintptr_t session_default_handle;

/* The calling thread's recorder for a session, made if need be.  NULL: the session does not record, this thread is in a
 * callback, or there is no slot or no memory (that loss is the caller's to count). */
struct recorder *recorder_find(uintptr_t handle, enum recorder_use use);

/* Begins a region with room for `bytes`; false: none to be had.  The mark is set. */
bool recorder_next_region(struct recorder *recorder, size_t bytes);

/* Gives the thread's recorder a new block of ids and returns the first. */
uint64_t recorder_next_ids(struct recorder *recorder);

/* Takes a closed or left recorder out of its session's list, whose lock is held; frees it if its thread is gone. */
void recorder_unlist(struct recorder *recorder);

/* Process-wide: the next block of ids; reseeded in a forked child. */
#define RECORDER_ID_BLOCK 65536u
uint64_t recorder_id_block(void);
void recorder_setup(void);
void recorder_fork_child(void);

static inline bool recorder_is_closed(const struct recorder *recorder)
{
	return LOAD_RELAXED(&recorder->closed);
}

static inline void recorder_leave_hot(struct recorder_hot *hot)
{
	STORE_RELEASE(&hot->mark, MARK_OUT);
}

static inline void recorder_leave(struct recorder *recorder)
{
	recorder_leave_hot(recorder->hot);
}

/* Relaxed on purpose: gate_barrier on the closing side makes up for the missing fence. */
static inline void recorder_mark(struct recorder_hot *hot)
{
	STORE_RELAXED(&hot->mark, MARK_RECORDING);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline bool recorder_enter(struct recorder *recorder)
{
	recorder_mark(recorder->hot);
	if (__builtin_expect(!recorder_is_closed(recorder), 1))
		return true;
	recorder_leave(recorder);
	return false;
}

/* The thread's own is entered if it is of this session, and nothing else is in the way.  False: its mark is clear. */
static inline bool recorder_enter_fast(uintptr_t handle)
{
	recorder_mark(&recorder_hot);
	if (__builtin_expect(LOAD_AS_OPERAND(&recorder_hot.handle) == handle, 1))
		return true;
	recorder_leave_hot(&recorder_hot);
	return false;
}

/* Which callback runs: a profiler's by its producer, or none yet. */
#define RECORDER_CALLBACK_NONE 1u
static inline uint32_t recorder_callback(uint32_t producer, bool is_stop)
{
	return 2 + 2 * producer + is_stop;
}

/* Says which callback begins, between recorder_enter_callback and recorder_leave_callback; what the one before used is used no
 * more.  The profiler is looked up afterwards: gate_barrier on the other side makes up for the missing fence. */
static inline void recorder_begin_callback(struct recorder *recorder, uint32_t callback)
{
	STORE_RELAXED(&recorder->callbacks, recorder->callbacks + 1);
	STORE_RELEASE(&recorder->in_callback, callback);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Around a profiler's callback, by the resident: the mark is set before and clear in it and afterwards.  Returns what to
 * leave it with. */
static inline uintptr_t recorder_enter_callback(struct recorder *recorder)
{
	uintptr_t handle = LOAD_RELAXED(&recorder_hot.handle);
	recorder_cache.in_callback = true;
	STORE_RELAXED(&recorder_hot.handle, RECORDER_CACHE_EMPTY);
	STORE_RELAXED(&recorder->in_callback, RECORDER_CALLBACK_NONE);
	recorder_leave_hot(&recorder_hot);
	return handle;
}

static inline void recorder_leave_callback(struct recorder *recorder, uintptr_t handle)
{
	recorder_cache.in_callback = false;
	/* Unless the process has forked meanwhile, and this is the child. */
	if (recorder_cache.resident != recorder)
		return;
	recorder_mark(&recorder_hot);
	if (!recorder_is_closed(recorder))
		STORE_RELAXED(&recorder_hot.handle, handle);
	recorder_leave_hot(&recorder_hot);
	STORE_RELEASE(&recorder->in_callback, 0);
}

/* The calling thread's recorder, entered and made resident, whatever it takes to find or make it; NULL: nothing is recorded
 * there. */
struct recorder *recorder_enter_any(epp_session *session);

/* The same for what would be a new event: where a session records and this thread has no slot, that is a loss. */
struct recorder *recorder_enter_new(epp_session *session);

static inline bool recorder_is_full(const struct recorder_hot *hot)
{
	return hot->top == hot->slot->open + EPF_OPEN_MAX;
}

/* How many events are open. */
static inline uint32_t recorder_depth(const struct recorder *recorder)
{
	return (uint32_t)(recorder->hot->top - recorder->slot->open);
}

/* The topmost is no longer open; after its record was stored, never before. */
static inline void recorder_pop(struct recorder_hot *hot, struct epf_open *topmost)
{
	hot->top = topmost;
	STORE_RELEASE(&topmost->tail, 0);
}

/* `hot` is the recorder's, told apart for the sake of those who know where it lies. */
static inline uint64_t recorder_take_id(struct recorder *recorder, struct recorder_hot *hot)
{
	uint64_t id = hot->next_id;
	if (__builtin_expect(id == hot->id_end, 0))
		id = recorder_next_ids(recorder);
	hot->next_id = id + 1;
	STORE_RELAXED(&hot->slot->next_id, id + 1);
	return id;
}

static inline void recorder_lose(struct recorder *recorder, epp_loss reason)
{
	COUNT_OWNED(&recorder->slot->lost[reason], 1);
}

/* Makes room for a record with its args; NULL: lost (counted). */
static inline struct epf_record *recorder_reserve(struct recorder *recorder, size_t bytes)
{
	struct recorder_hot *hot = recorder->hot;
	if (__builtin_expect((size_t)(hot->limit - hot->at) < bytes, 0) && !recorder_next_region(recorder, bytes)) {
		recorder_lose(recorder, EPP_LOSS_NO_BUFFER);
		return NULL;
	}
	return (struct epf_record *)(void *)hot->at;
}

/* The helper's core had the lines ahead last, to zero them: asking for them early hides the way they come. */
#define RECORDER_PREFETCH_BYTES 512
#define RECORDER_LINE_BYTES 64

/* The last 8 bytes of a record make it one: name, bits and arg slots in a single store. */
static inline void recorder_publish(struct recorder *recorder, struct epf_record *record, uint32_t name, uint16_t bits,
                                    uint16_t arg_slots)
{
	STORE_RELEASE(&record->tail, EPF_TAIL(name, bits, arg_slots));
	recorder->hot->at = (uint8_t *)record + EPF_RECORD_BYTES + (size_t)arg_slots * sizeof(struct epf_arg);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
}

#endif
