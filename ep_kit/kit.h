/* The kit's state: the structs of a profiler, a thread and a buffer, and the rules for access to them.
 *
 * A kit is one profiler.  `run` counts its runs; its lowest bit is set while a run is on.  Code that works for a run
 * compares `run` with its value at the beginning.  A kit_thread belongs to one thread: only that thread uses its stack.
 * The data that EndProfiling collects (chunks, tokens) is accessed only while the thread's `busy` is held, and only
 * EndProfiling waits for `busy`.  If a thread holds `busy` and then sees that its run is on, it may add data.
 * EndProfiling ends the run, then takes each `busy` once, and then has exclusive access to all data. */
#ifndef EPPROF_EP_KIT_KIT_H
#define EPPROF_EP_KIT_KIT_H

#include "system.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "clock_fit.h"
#include "epprof/ep.h"

#define KIT_OPEN_MAX 64u
#define KIT_CHUNK_BYTES 65536u
#define KIT_CHUNK_FIRST_BYTES 4096u
#define KIT_CHUNK_EVENTS_MAX 512u
#define KIT_BUFFER_BYTES (64u << 20)
#define KIT_STRING_BYTES_MAX 65536u
#define KIT_ARGS_MAX 256u
#define KIT_SPECIAL_ARGS_MAX 8u /* the maximum number of args that the kit creates from other members of an event */
#define KIT_NAMES_MAX 1024u
#define KIT_COPIES_BITS 6
#define KIT_TOKEN_BLOCKS 20u /* the blocks have 256, 512, 1,024, ... tokens */
#define KIT_TOKEN_BLOCK_FIRST 256u
/* kit.charged has two counts: the number of blocks of tokens in the upper bits, in steps of this value, and bytes in
 * the bits below. */
#define KIT_CHARGED_BLOCK ((uint64_t)1 << 56)

/* A chunk; its events are behind this struct (kit_chunk_events).  Events are added from the front, args and strings
 * from the end, so that an epprof host can get the events as one array.  A repeated string is stored once, so that the
 * host can recognise it by its address. */
struct kit_chunk {
	struct kit_chunk *next; /* the chunk that was filled before this one */
	uint32_t bytes;         /* the size of the chunk, including this header */
	uint32_t events_count;
	uint32_t text_bytes; /* the number of used bytes at the end */
	/* The number of events that were submitted to the collector; token_find.h describes their changed fields. */
	uint32_t pushed_count;
	bool is_collectors; /* only the collector gets the events of this chunk, which is emptied when it is full; it
	                       contains no contexts */
};

static_assert(sizeof(struct kit_chunk) % 8 == 0, "the events behind a chunk are aligned");

static inline EpprofEvent *kit_chunk_events(struct kit_chunk *chunk)
{
	return (EpprofEvent *)(void *)(chunk + 1);
}

/* The data of the host event for which a token was taken, from StopEvent.  Unknown strings are NULL. */
struct kit_context {
	int64_t start_us;
	const char *name;
	const char *op_name;
	const char *node_index;
};

struct kit_token {
	uint64_t correlation_id;
	uint64_t recorded_id;              /* the id of the event in the collector's recording; 0: none */
	uint32_t thread_id;                /* the thread that took the token, on which the event is open */
	uint64_t taken_ns;                 /* if the device clock cannot be compared with the host's: host time when the
	                                      token was taken */
	const struct kit_context *context; /* in a chunk; NULL: the event has not stopped yet, or there was no room */
};

/* A string that was copied to a chunk.  Copies are found by the string's address, because EPs use the same names and
 * keys at the same addresses for many events. */
struct kit_copy {
	const char *source;
	const char *copy; /* NULL: none */
};

/* An open host event. */
struct kit_open {
	uint64_t id;
	uint64_t token; /* 0: no token was taken */
};

struct kit_thread {
	struct kit_thread *next;    /* the link of the list kit.threads; set once */
	void *memory;               /* the allocation that contains this struct, which is to be freed */
	KIT_ATOMIC(uint64_t) owner; /* the owning thread: its serial << 32 | its system id; 0: none */

	/* The members below are used only by the owner. */
	uint32_t run;                        /* the run to which the stack belongs */
	KIT_ATOMIC(uint32_t) overflow_count; /* the number of open events for which the stack had no room; relaxed */
	KIT_ATOMIC(uint32_t) depth;          /* stored last, with release; kit_thread_claim loads it first */

	KIT_ATOMIC(uint32_t) busy;
	/* The members below are used only with `busy` held. */
	uint32_t chunk_bytes; /* the size of the next chunk */
	uint32_t unchecked;   /* the number of events since the host's clock was read last */
	struct kit_chunk *chunk;
	KIT_ATOMIC(uint64_t)
	in_hand; /* number of events in the thread's chunks that were not submitted yet; any thread
	                                 reads it */
	struct kit_copy copies[1u << KIT_COPIES_BITS]; /* valid as long as the chunks that contain the copies */

	struct kit_open open[KIT_OPEN_MAX];
};

/* The name of a device or a stream.  Entries are only appended; the last one of a device or stream is valid. */
struct kit_name {
	KIT_ATOMIC(struct kit_name *) next;
	int64_t stream;
	int32_t device;
	bool is_stream;
	char *text; /* in the memory behind this struct */
};

enum kit_loss { KIT_NO_BUFFER, KIT_REFUSED, KIT_OUTSIDE_RUN, KIT_OTHER, KIT_LOSS_COUNT };

/* Counts of events since the kit was created.  A run's ledger is the difference between the counts at its end and at
 * its begin. */
struct kit_sums {
	uint64_t delivered;
	uint64_t lost[KIT_LOSS_COUNT];
};

struct kit {
	uint64_t generation;      /* different for each kit in this copy of the code; never reused */
	KIT_ATOMIC(uint32_t) run; /* the number of the run << 1 | whether a run is on */
	uint32_t clock_unused_bits;
	EpprofApi_PushEvents_SinceV1_Fn push;      /* NULL: the host is ONNX Runtime */
	EpprofApi_PushEvents_SinceV1_Fn push_late; /* NULL: late events are only counted */
	EpprofApi_GraceNs_SinceV1_Fn grace_ns;     /* NULL: EndProfiling does not wait for work */
	EpprofApi_HostTicks_SinceV1_Fn host_ticks;
	KIT_ATOMIC(struct kit_thread *) threads; /* entries are only added; freed in Release */
	KIT_ATOMIC(size_t) threads_count;
	KIT_ATOMIC(size_t) sweep_count; /* when there are this many threads, the kit searches for dead ones */

	epp_ep_profiler *profiler;
	epp_ep_options options;
	char *ep_name; /* a copy of options.ep_name, freed in Release */
	uint64_t host_ticks_per_second;
	const OrtApi *ort_api;
	const OrtEpApi *ep_api;
	uint64_t process_id;
	bool on_heap;
	bool host_escapes; /* the host escapes strings in its JSON itself */

	KIT_ATOMIC(uint64_t) delivered;
	KIT_ATOMIC(uint64_t) lost[KIT_LOSS_COUNT];
	KIT_ATOMIC(int64_t) pending; /* pieces of work that were launched and not yet emitted */
	/* Number of pieces of work that were pending when EndProfiling counted them as lost, and whose events were not
	 * emitted since. */
	KIT_ATOMIC(uint64_t) unfinished;
	KIT_ATOMIC(uint64_t) late;   /* events submitted after EndProfiling, which no ledger for the host counts */
	uint64_t late_before;        /* the value of `late` when this run began */
	struct kit_sums sums_before; /* the counts when the previous run ended; this run's ledger begins with them */
	struct kit_sums sums_end;    /* the counts when the last run ended */
	/* The bytes of all chunks and blocks of tokens, and the number of blocks of tokens (KIT_CHARGED_BLOCK).  Both
	 * are in one atomic number, so that a block that several threads need at once is counted once. */
	KIT_ATOMIC(uint64_t) charged;
	KIT_ATOMIC(struct kit_name *) names; /* freed in Release */
	KIT_ATOMIC(uint32_t) names_count;

	/* The last clock pair, and the intervals after which the next one is due. */
	uint64_t pair_interval_host;
	int64_t pair_interval_device;
	uint32_t check_events; /* the number of events after which the host's clock is read */
	KIT_ATOMIC(uint64_t) pair_host;
	KIT_ATOMIC(uint64_t) pair_device;
	KIT_ATOMIC(uint32_t) reading_clocks; /* a thread is in options.read_clocks now */

	/* The members below are used only with ONNX Runtime. */
	int64_t offset_ns;              /* the argument of StartProfiling */
	uint64_t start_ns;              /* the host time of StartProfiling */
	int64_t to_correlation_ns;      /* the clock of correlation ids minus the host's clock, read in
	                                   StartProfiling */
	KIT_ATOMIC(int64_t) profile_us; /* begin of the profile on the clock of correlation ids; 0: unknown */
	uint32_t token_serial;
	KIT_ATOMIC(uint32_t) tokens_count;
	KIT_ATOMIC(struct kit_token *) tokens[KIT_TOKEN_BLOCKS];
	KIT_ATOMIC(uint64_t) contexts_lost; /* the number of tokens and contexts for which there was no room */
	KIT_ATOMIC(uint64_t) cut_count;     /* the number of strings and args that were cut */
	KIT_ATOMIC(uint32_t) pairs_busy;
	uint32_t pairs_count;
	uint32_t pairs_room;
	struct clock_pair *pairs;
	struct clock_pair pair_first; /* the pair of StartProfiling, which is used if there is no memory for others;
	                                 half_width UINT64_MAX: none */

	/* The collector, a library in ONNX Runtime's process. */
	const EpprofCollector *collector;        /* NULL: there is no collector */
	KIT_ATOMIC(EpprofRecording *) recording; /* NULL: not joined; otherwise valid until EndProfiling or Release */
	KIT_ATOMIC(bool) may_join;
	KIT_ATOMIC(uint32_t) joining;
	uint32_t join_tries;                 /* the number of remaining tries to join; used only with `joining` held */
	KIT_ATOMIC(uint64_t) batch_no_room;  /* events that only the collector got: the batch had no room */
	KIT_ATOMIC(uint64_t) batch_failures; /* events that only the collector got: ONNX Runtime refused them */
};

static inline struct kit *kit_of(const OrtEpProfilerImpl *impl)
{
	return (struct kit *)((const epp_ep_profiler *)impl)->state;
}

static inline uint64_t kit_host_ticks(const struct kit *kit)
{
	return kit->host_ticks ? kit->host_ticks() : system_clock_ns();
}

/* Returns whether the kit reads the clocks itself to create clock pairs. */
static inline bool kit_reads_clock(const struct kit *kit)
{
	return kit->options.now_ticks || kit->options.read_clocks;
}

static inline bool kit_has_clock(const struct kit *kit)
{
	return kit_reads_clock(kit) || kit->options.own_clock_pairs;
}

/* Returns the device ticks from `from` to `to`; negative if `to` is earlier. */
static inline int64_t kit_clock_since(const struct kit *kit, uint64_t to, uint64_t from)
{
	return (int64_t)((to - from) << kit->clock_unused_bits) >> kit->clock_unused_bits;
}

static inline void kit_count_lost(struct kit *kit, enum kit_loss reason, uint64_t count)
{
	atomic_fetch_add_explicit(&kit->lost[reason], count, memory_order_relaxed);
}

/* Returns the memory in use for events, which never exceeds buffer_bytes. */
static inline size_t kit_bytes_used(const struct kit *kit)
{
	return (size_t)(atomic_load_explicit(&kit->charged, memory_order_relaxed) % KIT_CHARGED_BLOCK);
}

/* Reserves memory for events.  Returns false if buffer_bytes would be exceeded.  A failed call changes nothing, not
 * even for a moment, so that another thread still finds the room that is left. */
static inline bool kit_bytes_reserve(struct kit *kit, size_t bytes)
{
	uint64_t before = atomic_load_explicit(&kit->charged, memory_order_relaxed);
	do {
		if (bytes > kit->options.buffer_bytes - before % KIT_CHARGED_BLOCK)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&kit->charged, &before, before + bytes, memory_order_relaxed,
	                                                memory_order_relaxed));
	return true;
}

static inline void kit_bytes_release(struct kit *kit, size_t bytes)
{
	atomic_fetch_sub_explicit(&kit->charged, bytes, memory_order_relaxed);
}

static inline struct kit_sums kit_sums_read(const struct kit *kit)
{
	struct kit_sums sums;
	sums.delivered = atomic_load_explicit(&kit->delivered, memory_order_relaxed);
	for (int i = 0; i < KIT_LOSS_COUNT; i++)
		sums.lost[i] = atomic_load_explicit(&kit->lost[i], memory_order_relaxed);
	return sums;
}

/* Returns the ledger of this run as of `sums`.  Events that are still in chunks are not counted, so that the ledger
 * agrees with the events that the host received. */
static inline EpprofLedger kit_ledger(const struct kit *kit, const struct kit_sums *sums)
{
	const struct kit_sums *before = &kit->sums_before;
	EpprofLedger ledger;
	ledger.lost_no_buffer = sums->lost[KIT_NO_BUFFER] - before->lost[KIT_NO_BUFFER];
	ledger.lost_refused = sums->lost[KIT_REFUSED] - before->lost[KIT_REFUSED];
	ledger.lost_outside_run = sums->lost[KIT_OUTSIDE_RUN] - before->lost[KIT_OUTSIDE_RUN];
	ledger.lost_other = sums->lost[KIT_OTHER] - before->lost[KIT_OTHER];
	ledger.emitted = sums->delivered - before->delivered;
	ledger.emitted += ledger.lost_no_buffer + ledger.lost_refused + ledger.lost_outside_run + ledger.lost_other;
	return ledger;
}

/* Returns the number of bytes of a string that are stored. */
static inline uint32_t kit_string_bytes(const char *string)
{
	const char *end = (const char *)memchr(string, '\0', KIT_STRING_BYTES_MAX);
	return end ? (uint32_t)(end - string) : KIT_STRING_BYTES_MAX;
}

static inline void kit_status_ignore(const struct kit *kit, OrtStatus *status)
{
	if (status)
		kit->ort_api->ReleaseStatus(status);
}

#endif
