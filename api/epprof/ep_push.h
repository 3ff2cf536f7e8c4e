/* epprof: functions that an epprof host offers execution providers in addition to ONNX Runtime's tables.
 *
 * They are looked up by name through OrtApi::GetExperimentalFunction (slot 422, ONNX Runtime 1.28 and later).  ONNX
 * Runtime itself returns NULL; then the EP can only use CreateProfilingEvent's microseconds.  The kit (epprof/ep.h)
 * uses these functions if they exist; an EP without the kit may call them itself.  Names follow ONNX Runtime's
 * `<Struct>_<Function>_SinceV<N>`.
 *
 * All functions: Thread: [any-thread], on the profiler that the host attached, from StartProfiling until EndProfiling
 * returns, EpprofApi_PushLateEvents_SinceV1 until Release.  They return no errors: events that cannot be kept are counted
 * in the host's ledger.  They never block, except as stated.
 */
#ifndef EPPROF_EP_PUSH_H
#define EPPROF_EP_PUSH_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"

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
	uint64_t start_ticks; /* of the clock `clock` */
	uint64_t end_ticks;
	uint64_t parent; /* the id from StartEvent; 0: none */
	const char *name;
	const EpprofArg *args;
	uint32_t args_count;
	uint32_t category; /* OrtProfilingEventCategory (2 is a kernel), optionally with one of the flags below */
	int32_t device;    /* -1: not a device */
	uint32_t clock;    /* an EpprofClock's id */
	int64_t stream;
} EpprofEvent;

/* Keys of args with a meaning of their own, of type i64 or u64.  An epprof host does not store them as args; one that
 * is older does.
 *   submit      when the host submitted the work, in host ticks
 *   queue       device ticks from the moment at which the work entered the device's queue until it started
 *   flow begin, flow end  a number of the EP's choice, not 0: an arrow leads from the event with this begin to each
 *               event with this end, which may be pushed in any order.  The host keeps the last 4,096 of
 *               these that wait for others; an arrow whose events are further apart is not recorded.  Numbers
 *               start anew with each run */
#define EPPROF_SUBMIT_KEY "epprof.submit"
#define EPPROF_QUEUE_KEY "epprof.queue"
#define EPPROF_FLOW_BEGIN_KEY "epprof.flow_begin"
#define EPPROF_FLOW_END_KEY "epprof.flow_end"

/* Added to a category. */
enum {
	EPPROF_PARENT_INFERRED = 0x100, /* the parent was not recorded, but found by containment */
	EPPROF_PARENT_AMBIGUOUS = 0x200 /* `parent` is 0 because several events could be the parent */
};

/* A clock of the EP; pushed before the first event that uses it. */
typedef struct EpprofClock {
	uint32_t id;   /* the EP's choice, below 64 */
	uint32_t kind; /* 1 device, related by pairs; 2 durations only */
	uint32_t bits; /* the width of the counter; 0: 64 */
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

/* The name of a stream; pushed before the first event on it, or else the stream is "stream N" of its device. */
typedef struct EpprofTrack {
	const char *name;
	const char *group; /* tracks of one group are shown together; NULL: the name of the device */
	int64_t stream;
	int32_t device;
	uint32_t clock;
} EpprofTrack;

/* A thread waited for the device: the work launched under `parent` before the wait began had ended when the wait
 * ended. */
typedef struct EpprofWait {
	uint64_t parent;           /* the id from StartEvent of the event that launched the work */
	uint64_t start_host_ticks; /* of EpprofApi_HostTicks_SinceV1; not after end_host_ticks */
	uint64_t end_host_ticks;
	int64_t thread; /* the operating system's number */
} EpprofWait;

/* The events that an EP emitted and lost since StartProfiling, cumulative. */
typedef struct EpprofLedger {
	uint64_t emitted;          /* events that the EP's code emitted, including lost ones */
	uint64_t lost_no_buffer;   /* its buffer was full */
	uint64_t lost_refused;     /* invalid events */
	uint64_t lost_outside_run; /* emitted before StartProfiling or after EndProfiling */
	uint64_t lost_other;
} EpprofLedger;

/* A device's name, and its description for tools that show it, as args of any kind.  The last description of a device
 * is used. */
typedef struct EpprofDevice {
	const char *group; /* its name: the group of its tracks that are created later; NULL: "EP device N".  If another
	                      device of the EP has this name, " (device N)" is appended */
	const EpprofArg *args;
	uint32_t args_count;
	int32_t device;
} EpprofDevice;

/* The value of a counter of a device (memory in use, power), which holds until the next one. */
typedef struct EpprofCounter {
	const char *name;
	uint64_t host_ticks; /* when it was read; 0: now */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} number;
	uint32_t type; /* 0 i64, 1 u64, 2 f64 */
	int32_t device;
} EpprofCounter;

/* The clock of host ticks that are no EpprofApi_HostTicks_SinceV1: `value` is at `ticks` of that clock plus
 * (value - origin) * ticks_per_unit. */
typedef struct EpprofHostClock {
	uint64_t origin;
	uint64_t ticks;
	double ticks_per_unit;
} EpprofHostClock;

typedef struct EpprofBatch {
	size_t struct_size; /* sizeof(EpprofBatch) of the EP, at least up to `ledger` */
	const EpprofEvent *events;
	size_t events_count;
	const EpprofClock *clocks;
	size_t clocks_count;
	const EpprofClockPair *pairs;
	size_t pairs_count;
	const EpprofLedger *ledger; /* NULL: nothing new */
	/* The following members were added later: older hosts ignore them, and the struct_size of older EPs ends
	 * here. */
	const EpprofTrack *tracks;
	size_t tracks_count;
	const EpprofWait *waits; /* not counted in the EP's ledger; each becomes one additional event */
	size_t waits_count;
	uint64_t gaps_count; /* how often since the last batch the EP was stopped and started again because of other
	                        users */
	uint64_t gaps_ns;    /* the total duration of these gaps */
	const EpprofDevice *devices; /* each with args becomes one additional event, `epprof.device`, that the EP's
	                                ledger does not count */
	size_t devices_count;
	uint64_t *ids; /* set by the host: events_count ids, for use as `parent` of later events; 0: the event was
	                  not kept.  NULL: not needed */
	/* Since the last batch: events that are not pushed because of their times.  They are counted in the ledger's
	 * `emitted`, and in none of its losses. */
	uint64_t early_count;          /* began before the run */
	uint64_t late_count;           /* began after the run */
	uint64_t negative_count;       /* ended before they began */
	const EpprofCounter *counters; /* not counted in the EP's ledger */
	size_t counters_count;
	const EpprofHostClock *host_clock; /* of EPPROF_SUBMIT_KEY and of counters; NULL: EpprofApi_HostTicks_SinceV1.
	                                      The collector sets it for profilers under ONNX Runtime */
} EpprofBatch;

/* "EpprofApi_PushEvents_SinceV1": pushes a batch.  The host processes clocks first, then devices, tracks, pairs, waits,
 * counters, events, then the ledger.
 * Ownership: everything is borrowed for the call. */
typedef void (*EpprofApi_PushEvents_SinceV1_Fn)(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);

/* "EpprofApi_PushLateEvents_SinceV1", an EpprofApi_PushEvents_SinceV1_Fn: pushes events of the last run after the
 * profiler's EndProfiling has returned.  Until the host's session is released or starts another run they are added to
 * that run; after that, and after `epprof ctl stop`, they are counted as lost (EPP_LOSS_AFTER_END).  The host counts them,
 * so they are in none of the profiler's ledgers; `ledger` is ignored.
 * Costs a block of the trace; may wait until the blocks before it are written.  NULL in older hosts and in the
 * collector. */

/* "EpprofApi_GraceNs_SinceV1": how long EndProfiling may wait for work that the device has not finished, in ns.  The
 * time limit of EndProfiling is longer by this time.  NULL in older hosts: 0. */
typedef uint64_t (*EpprofApi_GraceNs_SinceV1_Fn)(OrtEpProfilerImpl *profiler);

/* "EpprofApi_HostTicks_SinceV1": reads the host's clock, for clock pairs.  [signal-safe] */
typedef uint64_t (*EpprofApi_HostTicks_SinceV1_Fn)(void);

/* "EpprofApi_HostTicksPerSecond_SinceV1": the nominal rate of the host's clock.  A host that offers only its clock gets
 * the same events as ONNX Runtime; the kit uses the clock then if it counts nanoseconds. */
typedef uint64_t (*EpprofApi_HostTicksPerSecond_SinceV1_Fn)(void);

/* ---- in ONNX Runtime ---- */

/* ONNX Runtime writes a profiler's events into its own profile, at the end.  If the process has loaded the collector
 * (docs/onnxruntime.md), a profiler can also push its events to the collector, as they happen, in ticks of its own
 * clock.  The kit does so.
 *
 * The collector is a loaded library whose file name begins with EPPROF_COLLECTOR_FILE and which exports
 * EPPROF_COLLECTOR_SYMBOL, an EpprofGetCollector_Fn.  Look for it with dl_iterate_phdr and dlopen(RTLD_NOLOAD), for
 * example in StartProfiling; it is never unloaded.  If there is no such library, or it lacks the symbol, events can
 * only be added to ONNX Runtime's container. */
#define EPPROF_COLLECTOR_FILE "libepprof_ort"
#define EPPROF_COLLECTOR_SYMBOL "EpprofGetCollector"

/* If the collector is registered in ONNX Runtime under this name, its host reads ONNX Runtime's profile itself, to get
 * the events of providers that do not push theirs to the collector.  If it is registered under another name, the
 * collector reads the profile. */
#define EPPROF_COLLECTOR_NAME_OF_READER "epprof run"

/* The key of an arg in ONNX Runtime's profile: an event that was also pushed to the collector has its number from
 * EpprofBatch.ids there, so that a reader of both uses the event once; 0: the recording has counted it as lost. */
#define EPPROF_RECORDED_KEY "epprof.id"

/* A profiler's registration in the recording of one session of ONNX Runtime. */
typedef struct EpprofRecording EpprofRecording;

typedef struct EpprofCollector {
	size_t struct_size; /* of the collector; a later version may have more entries */

	/* Adds a profiler that ONNX Runtime drives to the recording of its session: the recording that has the
	 * innermost event with this correlation id on this thread.  Call it in StartEvent, in StopEvent, or while an
	 * event is open, until it succeeds: the order of the providers determines whether ONNX Runtime reports an event
	 * to the collector before or after this profiler.
	 * Returns NULL if that event is not recorded, or if the recording has no room for the profiler.
	 * Thread: [any-thread].  Ownership: the recording is the profiler's until Leave; the name is copied. */
	EpprofRecording *(*Join)(OrtEpProfilerImpl *profiler, const char *ep_name, uint64_t correlation_id);

	/* Returns the value for EpprofEvent.parent and EpprofWait.parent in Push: the id of the innermost event with
	 * this correlation id that is open on this thread; 0: there is none.
	 * Thread: [any-thread]. */
	uint64_t (*EventId)(EpprofRecording *recording, uint64_t correlation_id);

	/* As EpprofApi_PushEvents_SinceV1, except for the host's clock: all host ticks, EPPROF_SUBMIT_KEY included, are
	 * nanoseconds of CLOCK_MONOTONIC, which the collector converts.
	 * Thread: [any-thread], several at once.  Ownership: everything is borrowed for the call. */
	void (*Push)(EpprofRecording *recording, const EpprofBatch *batch);

	/* Ends the profiler's part of the recording, in EndProfiling or Release, when no other call is running.
	 * Thread: one at a time. */
	void (*Leave)(EpprofRecording *recording);
} EpprofCollector;

typedef const EpprofCollector *(*EpprofGetCollector_Fn)(void);

#ifdef __cplusplus
}
#endif
#endif
