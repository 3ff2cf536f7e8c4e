/* The kit's state: what a profiler, a thread and a buffer hold, and who may touch it.
 *
 * A kit is one profiler.  `run` counts its runs and says in its lowest bit whether one is on; whoever works for a run
 * compares with it.  A kit_thread belongs to one thread: its stack is that thread's alone; everything that EndProfiling
 * collects (chunks, tokens) is touched only with the thread's `busy` held, which nobody waits for but EndProfiling.  So:
 * a thread that holds `busy` and then sees its run on may add; EndProfiling ends the run, then takes every `busy` once,
 * and from there on has everything to itself.
 */
#ifndef EPPROF_KIT_H
#define EPPROF_KIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "clock_fit.h"
#include "epprof/ep.h"

#define KIT_OPEN_MAX 64u
#define KIT_CHUNK_BYTES 65536u
#define KIT_CHUNK_FIRST_BYTES 4096u
#define KIT_CHUNK_EVENTS_MAX 512u
#define KIT_BUFFER_BYTES (64u << 20)
#define KIT_STRING_BYTES_MAX 65536u
#define KIT_ARGS_MAX 256u
#define KIT_COPIES_BITS 6
#define KIT_TOKEN_BLOCKS 20u /* of 256, 512, 1,024, ... tokens */
#define KIT_TOKEN_BLOCK_FIRST 256u

#define kit_likely(condition) __builtin_expect(!!(condition), 1)

/* Events from the front, args and strings from the end: an event is handed to an epprof host as it lies here.  A string
 * that comes again lies once, so that its place tells the host what it is. */
struct kit_chunk {
	struct kit_chunk *next; /* the one filled before it */
	uint32_t bytes;         /* of all, this header too */
	uint32_t events_count;
	uint32_t text_bytes;   /* used, from the end */
	uint32_t pushed_count; /* events that the collector was given: token_find.h says how they lie from then on */
	bool is_collectors;    /* emptied when it is full: nothing but events may be in it */
	EpprofEvent events[];
};

/* A host event whose token was taken, as StopEvent saw it; strings that are not known are NULL. */
struct kit_context {
	int64_t start_us;
	const char *name;
	const char *op_name;
	const char *node_index;
};

struct kit_token {
	uint64_t correlation_id;
	uint64_t recorded_id;              /* the event's in the collector's recording; 0: none */
	uint32_t thread_id;                /* of who took it, which is who the event is open for */
	uint64_t taken_ns;                 /* durations only: when, on the host's clock */
	const struct kit_context *context; /* in a chunk; NULL: the event did not end, or there was no room */
};

/* A string that lies in a chunk already: EPs emit the same names and keys from the same places again and again. */
struct kit_copy {
	const char *source;
	const char *copy; /* NULL: none */
};

/* An open host event. */
struct kit_open {
	uint64_t id;
	uint64_t token; /* 0: not taken */
};

struct kit_thread {
	struct kit_thread *next; /* in kit.threads; set once */
	_Atomic uint64_t owner;  /* the thread that has it: its serial << 22 | its tid; 0: nobody */

	/* The owner's. */
	uint32_t run;            /* that the stack belongs to */
	_Atomic uint32_t beyond; /* open events above the stack's end; relaxed */
	_Atomic uint32_t depth;  /* always stored last, with release: the next owner begins by loading it */

	_Atomic uint32_t busy;
	/* Of whoever holds `busy`. */
	uint32_t chunk_bytes; /* of the chunk to make next */
	uint32_t unchecked;   /* events since the host's clock was last looked at */
	struct kit_chunk *chunk;
	_Atomic uint64_t in_hand;                      /* events in chunks; read by anyone */
	struct kit_copy copies[1u << KIT_COPIES_BITS]; /* as long as the chunks that they are in */

	struct kit_open open[KIT_OPEN_MAX];
};

enum kit_loss { KIT_NO_BUFFER, KIT_REFUSED, KIT_OUTSIDE_RUN, KIT_OTHER, KIT_LOSS_COUNT };

/* Sums over the kit's life; a ledger is the difference of two. */
struct kit_sums {
	uint64_t delivered;
	uint64_t lost[KIT_LOSS_COUNT];
};

struct kit {
	uint64_t generation;  /* unique in this copy of the kit, never reused */
	_Atomic uint32_t run; /* number << 1 | on */
	uint32_t clock_unused_bits;
	EpprofApi_PushEvents_SinceV1_Fn push; /* NULL: the host is ONNX Runtime */
	EpprofApi_HostTicks_SinceV1_Fn host_ticks;
	_Atomic(struct kit_thread *) threads; /* grows; freed in Release */
	_Atomic size_t threads_count;
	_Atomic size_t sweep_count; /* at how many threads the dead are looked for */

	epp_ep_profiler *profiler;
	epp_ep_options options;
	uint64_t host_ticks_per_second;
	const OrtApi *ort_api;
	const OrtEpApi *ep_api;
	pid_t pid;
	bool on_heap;
	bool host_escapes; /* strings that it writes into its JSON */

	_Atomic uint64_t delivered;
	_Atomic uint64_t lost[KIT_LOSS_COUNT];
	struct kit_sums sums_before; /* where this run's ledger begins */
	struct kit_sums sums_end;    /* where the last one ended */
	_Atomic size_t bytes_in_hand;

	/* The clock: when a pair is due. */
	uint64_t pair_interval_host;
	int64_t pair_interval_device;
	uint32_t check_events; /* after so many events the host's clock is looked at */
	_Atomic uint64_t pair_host;
	_Atomic uint64_t pair_device;

	/* ONNX Runtime alone. */
	int64_t offset_ns;          /* StartProfiling's */
	uint64_t start_ns;          /* of the host's clock, in StartProfiling */
	int64_t to_unix_ns;         /* what the time of day was beyond the host's clock, in StartProfiling */
	_Atomic int64_t profile_us; /* time of day at which the profile began; 0: not known */
	uint32_t token_serial;
	_Atomic uint32_t tokens_count;
	_Atomic(struct kit_token *) tokens[KIT_TOKEN_BLOCKS];
	_Atomic uint64_t contexts_lost; /* tokens and contexts without room */
	_Atomic uint64_t cut_count;     /* strings and args cut */
	_Atomic uint32_t pairs_busy;
	uint32_t pairs_count;
	uint32_t pairs_room;
	struct clock_pair *pairs;
	struct clock_pair pair_first; /* StartProfiling's, should there be no memory */

	/* The collector in ONNX Runtime. */
	const EpprofCollector *collector;     /* NULL: there is none */
	_Atomic(EpprofRecording *) recording; /* NULL: not joined; else until EndProfiling or Release */
	_Atomic bool may_join;
	_Atomic uint32_t joining;
	uint32_t join_tries;             /* left; with `joining` held */
	_Atomic uint64_t batch_no_room;  /* events that the collector has and ONNX Runtime gets not: no room, */
	_Atomic uint64_t batch_failures; /* and refused by it */
};

static inline struct kit *kit_of(const OrtEpProfilerImpl *impl)
{
	return ((const epp_ep_profiler *)impl)->state;
}

static inline uint64_t kit_host_ticks(const struct kit *kit)
{
	if (kit->host_ticks)
		return kit->host_ticks();
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline bool kit_has_clock(const struct kit *kit)
{
	return kit->options.now_ticks || kit->options.own_clock_pairs;
}

/* How far `to` lies after `from` on the device's clock, negative if before. */
static inline int64_t kit_clock_since(const struct kit *kit, uint64_t to, uint64_t from)
{
	return (int64_t)((to - from) << kit->clock_unused_bits) >> kit->clock_unused_bits;
}

static inline void kit_count_lost(struct kit *kit, enum kit_loss reason, uint64_t count)
{
	atomic_fetch_add_explicit(&kit->lost[reason], count, memory_order_relaxed);
}

/* Accounts for memory that events in hand take; false: it would be too much. */
static inline bool kit_bytes_take(struct kit *kit, size_t bytes)
{
	size_t before = atomic_fetch_add_explicit(&kit->bytes_in_hand, bytes, memory_order_relaxed);
	if (bytes <= kit->options.buffer_bytes && before <= kit->options.buffer_bytes - bytes)
		return true;
	atomic_fetch_sub_explicit(&kit->bytes_in_hand, bytes, memory_order_relaxed);
	return false;
}

static inline void kit_bytes_give(struct kit *kit, size_t bytes)
{
	atomic_fetch_sub_explicit(&kit->bytes_in_hand, bytes, memory_order_relaxed);
}

static inline struct kit_sums kit_sums_read(const struct kit *kit)
{
	struct kit_sums sums = { .delivered = atomic_load_explicit(&kit->delivered, memory_order_relaxed) };
	for (int i = 0; i < KIT_LOSS_COUNT; i++)
		sums.lost[i] = atomic_load_explicit(&kit->lost[i], memory_order_relaxed);
	return sums;
}

/* The ledger of this run as of `sums`: without what is in hand, so that it balances with what the host has. */
static inline EpprofLedger kit_ledger(const struct kit *kit, const struct kit_sums *sums)
{
	const struct kit_sums *before = &kit->sums_before;
	EpprofLedger ledger = {
		.emitted = sums->delivered - before->delivered,
		.lost_no_buffer = sums->lost[KIT_NO_BUFFER] - before->lost[KIT_NO_BUFFER],
		.lost_refused = sums->lost[KIT_REFUSED] - before->lost[KIT_REFUSED],
		.lost_outside_run = sums->lost[KIT_OUTSIDE_RUN] - before->lost[KIT_OUTSIDE_RUN],
		.lost_other = sums->lost[KIT_OTHER] - before->lost[KIT_OTHER],
	};
	ledger.emitted += ledger.lost_no_buffer + ledger.lost_refused + ledger.lost_outside_run + ledger.lost_other;
	return ledger;
}

static inline void kit_status_ignore(const struct kit *kit, OrtStatus *status)
{
	if (status)
		kit->ort_api->ReleaseStatus(status);
}

#endif
