/* One thread's recording into one session: the hot state.
 *
 * A recorder belongs to its thread and is freed by it alone (or by its exit), so that a stale pointer in the thread's
 * cache is never dangling.  The session lists it, closes it at the run's end, and from then on does not touch it but for
 * its mark.  What it points to in the window is safe while `mark` is set and `closed` was seen clear after setting it
 * (base/gate.h).
 *
 * A thread has up to two recorders for a session: one for its own events, and one for what it hands over for devices
 * (complete events, clock pairs), so that host events and device events lie in different blocks.
 */
#ifndef EPPROF_RECORD_RECORDER_H
#define EPPROF_RECORD_RECORDER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "epprof/session.h"
#include "file/format.h"
#include "record/atomics.h"

struct session;
struct profiler_calls;

enum recorder_mark { MARK_OUT = 0, MARK_RECORDING = 1, MARK_IN_CALLBACK = 2 };
enum recorder_use { RECORDER_EVENTS = 0, RECORDER_HANDOVER = 1, RECORDER_USES = 2 };

/* Bits; RECORDER_CLOSED is set by the closer, the others from the start. */
enum recorder_obstacle { RECORDER_CLOSED = 1, RECORDER_SLOW_CLOCK = 2 };

#define RECORDER_NO_CHUNK UINT32_MAX

struct recorder {
	uint32_t mark;      /* enum recorder_mark: the owner stores, the closer reads */
	uint32_t obstacles; /* enum recorder_obstacle: none, and the fast path may be taken */
	struct epf_slot *slot;
	struct epf_open *top;               /* slot->open[slot->depth]: at hand, since each call begins with it */
	uint8_t *at;                        /* the next record */
	uint8_t *limit;                     /* the end of the region */
	const struct profiler_calls *calls; /* NULL: no profiler wants events */
	struct session *session;
	struct epf_region *region;
	uint32_t chunk; /* index of the region, RECORDER_NO_CHUNK: the slot's own */
	uint32_t slot_index;
	uint32_t track_now; /* of the last track switch; 0: the recorder's own */
	uint32_t chunks_taken;
	uint64_t faults;     /* of the thread, when they were last read */
	uint32_t use;        /* enum recorder_use */
	bool may_wait;       /* a worker's: waits for a chunk instead of losing */
	bool owner_gone;     /* the thread has exited: who unlists it frees it; with the session's lock held */
	uint64_t left_ticks; /* when the thread exited */
	uintptr_t session_handle;
	bool listed; /* in the session's list; with the session's lock held */
	LIST_ENTRY(recorder) session_link;
	SLIST_ENTRY(recorder) thread_link; /* the owner's */
};

/* The calling thread's cache.  initial-exec: one instruction to reach, and small enough for a library opened late. */
struct recorder_cache {
	uintptr_t handle; /* as the caller gave it, 0 for the default session; RECORDER_CACHE_EMPTY: nothing is cached */
	struct recorder *recorder;
	bool in_callback; /* a profiler's callback runs on this thread: recording calls are refused until it is left */
};
extern __thread struct recorder_cache recorder_cache __attribute__((tls_model("initial-exec")));

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
	return LOAD_RELAXED(&recorder->obstacles) & RECORDER_CLOSED;
}

static inline void recorder_leave(struct recorder *recorder)
{
	STORE_RELEASE(&recorder->mark, MARK_OUT);
}

/* Around a profiler's callback: the mark is set before and clear afterwards.  Returns what to leave it with. */
static inline uintptr_t recorder_enter_callback(struct recorder *recorder)
{
	uintptr_t handle = recorder_cache.handle;
	recorder_cache.handle = RECORDER_CACHE_EMPTY;
	recorder_cache.in_callback = true;
	STORE_RELEASE(&recorder->mark, MARK_IN_CALLBACK);
	return handle;
}

static inline void recorder_leave_callback(struct recorder *recorder, uintptr_t handle)
{
	recorder_cache.in_callback = false;
	/* Unless the process has forked meanwhile, and this is the child. */
	if (recorder_cache.recorder == recorder)
		recorder_cache.handle = handle;
	recorder_leave(recorder);
}

/* Sets the mark, unless one of `obstacles` is in the way. */
static inline bool recorder_enter_unless(struct recorder *recorder, uint32_t obstacles)
{
	/* Relaxed on purpose: gate_barrier on the closing side makes up for the missing fence. */
	STORE_RELAXED(&recorder->mark, MARK_RECORDING);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect((LOAD_RELAXED(&recorder->obstacles) & obstacles) == 0, 1))
		return true;
	recorder_leave(recorder);
	return false;
}

static inline bool recorder_enter(struct recorder *recorder)
{
	return recorder_enter_unless(recorder, RECORDER_CLOSED);
}

static inline bool recorder_enter_fast(struct recorder *recorder)
{
	return recorder_enter_unless(recorder, UINT32_MAX);
}

/* The calling thread's recorder, entered, whatever it takes to find or make it; NULL: nothing is recorded there. */
struct recorder *recorder_enter_any(epp_session *session);

/* The same for what would be a new event: where a session records and this thread has no slot, that is a loss. */
struct recorder *recorder_enter_new(epp_session *session);

/* How many events are open; after what it counts was stored, never before. */
static inline void recorder_set_top(struct recorder *recorder, struct epf_slot *slot, struct epf_open *top)
{
	recorder->top = top;
	STORE_RELEASE(&slot->depth, (uint32_t)(top - slot->open));
}

static inline uint64_t recorder_take_id(struct recorder *recorder)
{
	struct epf_slot *slot = recorder->slot;
	uint64_t id = slot->next_id;
	if (__builtin_expect(id == slot->id_block_end, 0))
		id = recorder_next_ids(recorder);
	STORE_RELAXED(&slot->next_id, id + 1);
	return id;
}

static inline void recorder_lose(struct recorder *recorder, epp_loss reason)
{
	COUNT_OWNED(&recorder->slot->lost[reason], 1);
}

/* Makes room for a record with its args; NULL: lost (counted). */
static inline struct epf_record *recorder_reserve(struct recorder *recorder, size_t bytes)
{
	if (__builtin_expect((size_t)(recorder->limit - recorder->at) < bytes, 0) &&
	    !recorder_next_region(recorder, bytes)) {
		recorder_lose(recorder, EPP_LOSS_NO_BUFFER);
		return NULL;
	}
	return (struct epf_record *)(void *)recorder->at;
}

/* The helper's core had the lines ahead last, to zero them: asking for them early hides the way they come. */
#define RECORDER_PREFETCH_BYTES 512

/* The last 8 bytes of a record make it one: name, bits and arg slots in a single store. */
static inline void recorder_publish(struct recorder *recorder, struct epf_record *record, uint32_t name, uint16_t bits,
                                    uint16_t arg_slots)
{
	STORE_RELEASE(&record->tail, EPF_TAIL(name, bits, arg_slots));
	recorder->at = (uint8_t *)record + EPF_RECORD_BYTES + (size_t)arg_slots * sizeof(struct epf_arg);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
}

#endif
