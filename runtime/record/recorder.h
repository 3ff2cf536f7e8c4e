/* The state of one thread that records into one session.
 *
 * A recorder belongs to its thread, and only that thread (or its exit) frees it, so that a pointer in the thread's
 * cache never dangles. The session has a list of its recorders, closes them at the end of the run, and after that
 * accesses only their marks. The drain does not use recorders, but their slots (storage/window/slots.h). A thread may
 * use the window memory of its recorder if it has set `mark` and has then seen that the recorder is not closed
 * (base/gate.h).
 *
 * The fields that begin and end need (struct recorder_hot) are in thread-local memory for the thread's resident
 * recorder, the one that it used last. They are one load away from the thread register. This matters because some
 * processors read their clock only after earlier loads have ended, so each pointer that is followed costs its full
 * latency. For other recorders these fields are in the recorder itself.
 *
 * A thread has up to two recorders for a session: one for its own events, and one for what it submits for devices
 * (complete events, clock samples), so that host events and device events are in different blocks. */
#ifndef EPPROF_RUNTIME_RECORD_RECORDER_H
#define EPPROF_RUNTIME_RECORD_RECORDER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "epprof/session.h"
#include "record/budget/throttle.h"
#include "record/filter/schedule.h"
#include "storage/storage.h"

struct name_filter;
struct session;
struct profiler_calls;

enum recorder_mark { MARK_OUT = 0, MARK_RECORDING = 1 };
enum recorder_use { RECORDER_EVENTS = 0, RECORDER_SUBMISSIONS = 1, RECORDER_USES = 2 };

/* State that the recording path reads and writes. */
struct recorder_hot {
	uintptr_t handle;         /* the session's handle as the caller passed it; 0: the default session. The thread
	                             that closes the recorder clears it */
	uint32_t mark;            /* enum recorder_mark: stored by the recorder's thread, read by the thread that closes
	                             the recorder */
	struct epf_open *top;     /* the position of the next open event */
	struct epf_open *top_end; /* the limit for the fast path of begin: the end of the stack or, in a session with a
	                             filter, its start, so that begin always takes the slow path */
	uint64_t next_id;         /* the id of the next event; the slot has a copy */
	uint64_t id_end;
	struct epf_slot *slot;
	uint8_t *at;                        /* the position of the next record */
	uint8_t *limit;                     /* the end of the region; NULL: there is no region, and `at` is NULL, too */
	const struct profiler_calls *calls; /* the profilers that have StartEvent or StopEvent, or NULL */
	const struct name_filter *filter;   /* the session's filter, or NULL */
};

struct recorder {
	struct recorder_hot *hot; /* `kept` or, for the resident recorder, the thread-local struct; stored by the
	                             recorder's thread, read by the thread that closes the recorder */
	uint32_t closed;
	uint32_t in_callback; /* 0, or recorder_callback of the callback that is running */
	uint64_t callbacks;   /* the number of callbacks that have begun */
	uint64_t watched,
	    watched_ticks; /* the callback that was running at the last check, and the time at which it was first seen;
	                      under the session's lock */
	struct epf_slot *slot;
	struct session *session;
	uint32_t slot_index;
	uint32_t track_now;              /* the track of the last track switch; 0: the recorder's own track */
	uint32_t use;                    /* enum recorder_use */
	struct schedule_step step;       /* the step in which the thread is, if the session has a schedule */
	struct throttle_thread throttle; /* the thread's budget, if the session has a throttle */
	bool may_wait;                   /* waits for a chunk instead of losing events; set on threads of workers */
	uintptr_t session_handle;
	bool is_listed; /* the recorder is in the session's list; under the session's lock */
	LIST_ENTRY(recorder) session_link;
	SLIST_ENTRY(recorder) thread_link; /* link in the list of the recorder's thread */
	struct recorder_hot kept;
};

/* The calling thread's cache. With the TLS model initial-exec an access takes one instruction. The struct is small
 * enough for this model in a library that is loaded with dlopen. */
struct recorder_cache {
	uintptr_t handle; /* the session's handle of the resident recorder, as the caller passed it (0: the default
	                     session); or RECORDER_CACHE_EMPTY */
	struct recorder *resident; /* the recorder whose `hot` is recorder_hot; NULL: none */
	bool in_callback; /* a profiler's callback is running on this thread: calls that record are refused until it
	                     returns */
};
extern __thread struct recorder_cache recorder_cache __attribute__((tls_model("initial-exec")));
extern __thread struct recorder_hot recorder_hot __attribute__((tls_model("initial-exec")));

#define RECORDER_CACHE_EMPTY ((uintptr_t)1)

/* The handle of the default session; 0: there is none. */
extern uintptr_t session_default_handle;

/* Returns the calling thread's recorder for a session, and creates it if needed. Returns NULL if the session does not
 * record, if this thread is in a callback, or if there is no slot or no memory; the caller counts the loss. */
struct recorder *recorder_find(uintptr_t handle, enum recorder_use use);

/* Allows the calling thread to wait for chunks instead of losing events. */
void recorder_allow_waiting(struct session *session);

/* Starts a region with room for `bytes`. Returns false if there is no free region. The recorder's mark is set. */
bool recorder_next_region(struct recorder *recorder, size_t bytes);

/* Gives the recorder a new block of ids, and returns the first id. */
uint64_t recorder_next_ids(struct recorder *recorder);

/* Returns the process's next block of ids. A forked child begins with other blocks than its parent. */
#define RECORDER_ID_BLOCK 65536u
uint64_t recorder_id_block(void);
void recorder_setup(void);
void recorder_fork_child(void);

/* Returns the time that begin and end of an event without args take on this machine, in picoseconds; 0 if it cannot be
 * measured. The first call in a process measures the time, which takes some 50 us.
 * Thread: one that records no events, such as the helper. */
uint64_t event_cost_ps(void);

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

/* Sets the mark. The store is relaxed on purpose: gate_barrier on the closing side replaces the missing fence. */
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

/* Enters the thread-local recorder, that is, sets its mark, if its handle matches and nothing prevents the fast path.
 * If it returns false, the mark is clear. */
static inline bool recorder_enter_fast(uintptr_t handle)
{
	recorder_mark(&recorder_hot);
	if (__builtin_expect(LOAD_AS_OPERAND(&recorder_hot.handle) == handle, 1))
		return true;
	recorder_leave_hot(&recorder_hot);
	return false;
}

/* Returns a number that identifies the running callback: the profiler's producer, and StartEvent or StopEvent.
 * RECORDER_CALLBACK_NONE: no callback was called yet. */
#define RECORDER_CALLBACK_NONE 1u
static inline uint32_t recorder_callback(uint32_t producer, bool is_stop)
{
	return 2 + 2 * producer + is_stop;
}

/* Announces the next callback. Called between recorder_enter_callback and recorder_leave_callback. The profiler of the
 * previous callback is not used any more. The caller reads the next profiler after this call; there is no fence in
 * between, because gate_barrier on the other side replaces it. */
static inline void recorder_begin_callback(struct recorder *recorder, uint32_t callback)
{
	STORE_RELAXED(&recorder->callbacks, recorder->callbacks + 1);
	STORE_RELEASE(&recorder->in_callback, callback);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Called before the callbacks of profilers, by the resident recorder. The recorder's mark is set before the call, and
 * clear during and after the callbacks. Returns the argument for recorder_leave_callback. */
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
	/* The cache is not changed if the process forked during the callback and this is the child. */
	if (recorder_cache.resident != recorder)
		return;
	recorder_mark(&recorder_hot);
	if (!recorder_is_closed(recorder))
		STORE_RELAXED(&recorder_hot.handle, handle);
	recorder_leave_hot(&recorder_hot);
	STORE_RELEASE(&recorder->in_callback, 0);
}

/* Returns the calling thread's recorder, entered and resident. Finds or creates it if needed. Returns NULL if nothing
 * is recorded. */
struct recorder *recorder_enter_any(epp_session *session);

/* As recorder_enter_any, for a new event: if the session records, but this thread has no slot, counts a loss. */
struct recorder *recorder_enter_new(epp_session *session);

static inline bool recorder_is_full(const struct recorder_hot *hot)
{
	return hot->top == hot->slot->open + EPF_OPEN_MAX;
}

/* Returns the number of open events. */
static inline uint32_t recorder_depth(const struct recorder *recorder)
{
	return (uint32_t)(recorder->hot->top - recorder->slot->open);
}

/* Pops the topmost open event. Called after the event's record was stored, never before. */
static inline void recorder_pop(struct recorder_hot *hot, struct epf_open *topmost)
{
	hot->top = topmost;
	STORE_RELEASE(&topmost->tail, 0);
}

/* Takes the next id. `hot` is the recorder's hot state; it is a parameter so that callers can pass a known address. */
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

/* As recorder_lose, for an event that takes no id. The first store counts it as emitted, the second as lost. After a
 * kill between the two stores, one emitted event is neither recorded nor lost. The same happens after a kill between
 * the taking of an id and the store of its record. Readers handle both. */
static inline void recorder_lose_idless(struct recorder *recorder, epp_loss reason)
{
	struct epf_slot *slot = recorder->slot;
	COUNT_OWNED(&slot->lost_idless, 1);
	STORE_RELEASE(&slot->lost[reason], slot->lost[reason] + 1);
}

/* Returns the position for the next record if there is room for `bytes`, in a new region if necessary. Returns NULL if
 * there is no room. */
static inline struct epf_record *recorder_room(struct recorder *recorder, size_t bytes)
{
	struct recorder_hot *hot = recorder->hot;
	if (__builtin_expect((size_t)(hot->limit - hot->at) < bytes, 0) && !recorder_next_region(recorder, bytes))
		return NULL;
	return (struct epf_record *)(void *)hot->at;
}

/* As recorder_room, for an event that has an id already. If it returns NULL, the event is counted as lost. */
static inline struct epf_record *recorder_reserve(struct recorder *recorder, size_t bytes)
{
	struct epf_record *record = recorder_room(recorder, bytes);
	if (!record)
		recorder_lose(recorder, EPP_LOSS_NO_BUFFER);
	return record;
}

/* The helper's core wrote the next cache lines last, when it zeroed them. Prefetching hides the transfer to this
 * core. */
#define RECORDER_PREFETCH_BYTES 512
#define RECORDER_LINE_BYTES 64

/* Publishes a record. Its last 8 bytes (name, bits and arg slots) make it valid, and are stored by a single store. */
static inline void recorder_publish(struct recorder *recorder, struct epf_record *record, uint32_t name, uint16_t bits,
                                    uint16_t arg_slots)
{
	STORE_RELEASE(&record->tail, EPF_TAIL(name, bits, arg_slots));
	recorder->hot->at = (uint8_t *)record + EPF_RECORD_BYTES + (size_t)arg_slots * sizeof(struct epf_arg);
	PREFETCH_TO_WRITE((uint8_t *)record + RECORDER_PREFETCH_BYTES);
}

/* Reads the name of the main thread. Threads that were never named have the same name. Called before threads record, so
 * that the first event of a thread need not wait for a file. */
void recorder_read_main_name(void);

/* The kernel's 15 bytes of a thread's name, '/', and the thread's number. */
#define RECORDER_LABEL_BYTES 32

/* Writes the label of a thread of this process. Returns false if the thread has ended. */
bool recorder_label_thread(uint32_t thread_id, char label[RECORDER_LABEL_BYTES]);

#endif
