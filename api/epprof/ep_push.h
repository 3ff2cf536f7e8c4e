/* epprof: what an epprof host offers an execution provider beyond ONNX Runtime's tables.
 *
 * Found by name through OrtApi::GetExperimentalFunction (slot 422, ONNX Runtime 1.28 and later); real ONNX Runtime
 * answers NULL, and the EP then has CreateProfilingEvent's microseconds only.  The kit (epprof/ep.h) uses these where
 * they are; an EP without the kit may call them itself.  Names follow ONNX Runtime's `<Struct>_<Function>_SinceV<N>`.
 *
 * All functions: Thread: [any-thread], from StartProfiling until EndProfiling returns, on the profiler that the host
 * attached; they never block and never fail loudly: what cannot be kept is counted in the host's ledger.
 */
#ifndef EPPROF_EP_PUSH_H
#define EPPROF_EP_PUSH_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/ort_ep_profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EpprofArg {
	const char *key;
	const char *text; /* EPPROF_ARG_TEXT: the value; else unused */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} number;
	uint32_t type;       /* 0 i64, 1 u64, 2 f64, 3 text: as epp_arg_type */
	uint32_t text_bytes; /* of text */
} EpprofArg;

typedef struct EpprofEvent {
	uint64_t start_ticks; /* of the clock named by `clock` */
	uint64_t end_ticks;
	uint64_t parent; /* the id that StartEvent gave; 0: none */
	const char *name;
	const EpprofArg *args;
	uint32_t args_count;
	uint32_t category; /* OrtProfilingEventCategory; 2 is a kernel; or with one of the flags below */
	int32_t device;    /* -1: not a device */
	uint32_t clock;    /* an EpprofClock's id */
	int64_t stream;
} EpprofEvent;

/* Added to a category: the parent was not told, but found around the event. */
#define EPPROF_PARENT_INFERRED 0x100u
/* Added to a category: `parent` is 0 because several events could be the parent. */
#define EPPROF_PARENT_AMBIGUOUS 0x200u

/* A clock of the EP, described before the first event that uses it. */
typedef struct EpprofClock {
	uint32_t id;   /* the EP's choice, below 64 */
	uint32_t kind; /* 1 device, related by pairs; 2 durations only */
	uint32_t bits; /* where the counter wraps; 0: 64 */
	uint32_t reserved;
	uint64_t ticks_per_second;
} EpprofClock;

typedef struct EpprofClockPair {
	uint64_t device_ticks;
	uint64_t host_ticks;       /* of EpprofApi_HostTicks_SinceV1, the middle of the bracket */
	uint64_t half_width_ticks; /* host ticks: half of the bracket */
	uint32_t clock;
	uint32_t reserved;
} EpprofClockPair;

/* What a stream is called, described before the first event on it; else it is "stream N" of "EP device N". */
typedef struct EpprofTrack {
	const char *name;
	const char *group; /* tracks of one group stand together; NULL: "EP device N" */
	int64_t stream;
	int32_t device;
	uint32_t clock;
} EpprofTrack;

/* A thread waited for the device: what had been launched under `parent` before the wait began had ended when it was over. */
typedef struct EpprofWait {
	uint64_t parent;           /* the id that StartEvent gave to what launched it */
	uint64_t start_host_ticks; /* of EpprofApi_HostTicks_SinceV1; not after the end */
	uint64_t end_host_ticks;
	int64_t thread; /* the operating system's number */
} EpprofWait;

/* What an EP produced and lost since StartProfiling, cumulative. */
typedef struct EpprofLedger {
	uint64_t emitted;          /* events the EP's code emitted, lost ones included */
	uint64_t lost_no_buffer;   /* its buffer was full */
	uint64_t lost_refused;     /* broke a rule */
	uint64_t lost_outside_run; /* emitted before StartProfiling or after EndProfiling */
	uint64_t lost_other;
} EpprofLedger;

/* What a device is, for tools that show it: any args.  The last description of a device counts. */
typedef struct EpprofDevice {
	const char *group; /* of its tracks */
	const EpprofArg *args;
	uint32_t args_count;
	int32_t device;
} EpprofDevice;

typedef struct EpprofBatch {
	size_t struct_size; /* sizeof(EpprofBatch) of the EP, at least up to `ledger` */
	const EpprofEvent *events;
	size_t events_count;
	const EpprofClock *clocks;
	size_t clocks_count;
	const EpprofClockPair *pairs;
	size_t pairs_count;
	const EpprofLedger *ledger; /* NULL: nothing new */
	/* Hosts that do not know the following leave them out; older EPs end here. */
	const EpprofTrack *tracks;
	size_t tracks_count;
	const EpprofWait *waits; /* in no ledger of the EP's: each is one event more */
	size_t waits_count;
	uint64_t gaps_count; /* how often since the last batch the EP was stopped and started again, for others' sake */
	uint64_t gaps_ns;    /* how long it was off then */
	const EpprofDevice *devices; /* each is one event more, `epprof.device`, and in no ledger of the EP's */
	size_t devices_count;
	uint64_t *ids; /* filled in by the host: events_count ids for `parent` of later events; 0: it was not kept.  NULL: not
	                  asked for */
	/* Since the last batch: events that are not handed over for their times.  They are in the ledger's `emitted`, and in none of
	 * its losses. */
	uint64_t early_count;    /* they began before the run */
	uint64_t late_count;     /* they began after it */
	uint64_t negative_count; /* they ended before they began */
} EpprofBatch;

/* "EpprofApi_PushEvents_SinceV1": clocks first, then tracks, devices, pairs, waits, events, then the ledger.
 * Ownership: everything is borrowed for the call. */
typedef void (*EpprofApi_PushEvents_SinceV1_Fn)(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);

/* "EpprofApi_HostTicks_SinceV1": the host's clock, for pairs.  [signal-safe] */
typedef uint64_t (*EpprofApi_HostTicks_SinceV1_Fn)(void);

/* "EpprofApi_HostTicksPerSecond_SinceV1": its nominal rate.  A host that offers its clock alone gets what ONNX Runtime
 * gets; the clock is used then if it counts nanoseconds. */
typedef uint64_t (*EpprofApi_HostTicksPerSecond_SinceV1_Fn)(void);

/* ---- in ONNX Runtime ---- */

/* ONNX Runtime gives a profiler's events to its own profile, at the end.  If the process has the collector
 * (docs/onnxruntime.md), a profiler can hand them to the collector as well, as they happen, with ticks of its own clock.  The
 * kit does so.
 *
 * The collector is a loaded library whose file name begins with EPPROF_COLLECTOR_FILE and which exports
 * EPPROF_COLLECTOR_SYMBOL, an EpprofGetCollector_Fn.  Look for it with dl_iterate_phdr and dlopen(RTLD_NOLOAD), for example in
 * StartProfiling; it is never unloaded.  Without it, or with one that lacks the symbol, ONNX Runtime's container is the only
 * place for events. */
#define EPPROF_COLLECTOR_FILE "libepprof_ort"
#define EPPROF_COLLECTOR_SYMBOL "EpprofGetCollector"

/* If the collector is registered in ONNX Runtime by this name, its host reads ONNX Runtime's profile itself, for the events of
 * providers that do not hand theirs to the collector; by any other, nobody does. */
#define EPPROF_COLLECTOR_NAME_OF_READER "epprof run"

/* An event that was handed to the collector and stands in ONNX Runtime's profile as well has this arg there: its number in
 * EpprofBatch.ids, so that who reads both takes it once; 0: the recording has counted it as lost. */
#define EPPROF_RECORDED_KEY "epprof.id"

/* A profiler's place in the recording of one session of ONNX Runtime. */
typedef struct EpprofRecording EpprofRecording;

typedef struct EpprofCollector {
	size_t struct_size; /* of the collector; a later version may have more entries */

	/* Takes a profiler that ONNX Runtime drives into the recording of its session: that in which the innermost event with
	 * this correlation id on this thread was recorded.  Call it in StartEvent, in StopEvent, or while an event is open, until
	 * it succeeds: whether the collector is told of an event first depends on the order of the providers.
	 * Returns NULL if that event is not recorded, or if the recording has no room for the profiler.
	 * Thread: [any-thread].  Ownership: the recording is the profiler's until Leave; the name is copied. */
	EpprofRecording *(*Join)(OrtEpProfilerImpl *profiler, const char *ep_name, uint64_t correlation_id);

	/* What EpprofEvent.parent and EpprofWait.parent are there: the number of the innermost event with this correlation id
	 * that is open on this thread; 0: there is none.
	 * Thread: [any-thread]. */
	uint64_t (*EventId)(EpprofRecording *recording, uint64_t correlation_id);

	/* As EpprofApi_PushEvents_SinceV1, but for the host's clock: host_ticks, start_host_ticks and end_host_ticks are
	 * nanoseconds of CLOCK_MONOTONIC, which the collector converts; half_width_ticks likewise.
	 * Thread: [any-thread], several at once.  Ownership: everything is borrowed for the call. */
	void (*Push)(EpprofRecording *recording, const EpprofBatch *batch);

	/* Ends it, in EndProfiling or Release, when no other call is under way.
	 * Thread: one at a time. */
	void (*Leave)(EpprofRecording *recording);
} EpprofCollector;

typedef const EpprofCollector *(*EpprofGetCollector_Fn)(void);

#ifdef __cplusplus
}
#endif
#endif
