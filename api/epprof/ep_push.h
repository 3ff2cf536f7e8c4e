/* epprof: functions that an epprof host offers execution providers in addition to ONNX Runtime's tables.
 *
 * An EP gets them by name from OrtApi::GetExperimentalFunction (slot 422, ONNX Runtime 1.28 and later).  ONNX Runtime
 * itself returns NULL for these names; the EP then has only CreateProfilingEvent, with microseconds.  The kit
 * (epprof/ep.h) uses these functions if they exist; an EP without the kit may call them itself.  Names follow ONNX
 * Runtime's `<Struct>_<Function>_SinceV<N>`.
 *
 * Thread: all functions [any-thread].  They may be called with a profiler that the host attached, from StartProfiling
 * until EndProfiling returns; EpprofApi_PushLateEvents_SinceV1 until Release.  They return no errors: events that
 * cannot be kept are counted in the host's ledger.  A function that may block has a comment that states it; the others
 * never block. */
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
	const char *text; /* the value, for type EPPROF_ARG_TEXT; not used for other types */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} number;
	uint32_t type;       /* 0 i64, 1 u64, 2 f64, 3 text: as epp_arg_type */
	uint32_t text_bytes; /* the size of `text` */
} EpprofArg;

typedef struct EpprofEvent {
	uint64_t start_ticks; /* in ticks of the clock with the id `clock` */
	uint64_t end_ticks;
	uint64_t parent; /* the id that StartEvent got; 0: no parent */
	const char *name;
	const EpprofArg *args;
	uint32_t args_count;
	uint32_t category; /* OrtProfilingEventCategory (2 is a kernel), optionally with one of the flags below */
	int32_t device;    /* -1: the event is not a device's */
	uint32_t clock;    /* the EpprofClock.id of the event's clock */
	int64_t stream;
} EpprofEvent;

/* Reserved keys of args, with values of type i64 or u64.  An epprof host uses these args and does not store them; a
 * host that is older than a key stores the arg like any other.
 *   submit      when the host submitted the work, in host ticks
 *   queue       the time from the entry of the work into the device's queue to its start, in device ticks
 *   flow begin, flow end  a number that the EP chooses, not 0.  An arrow leads from the event with this begin to each
 *                         event with this end; they may be pushed in any order.  The host keeps the last 4,096 numbers
 *                         whose other event was not pushed yet; an arrow whose events are further apart is not
 *                         recorded.  A number of one run has no relation to the same number of another run */
#define EPPROF_SUBMIT_KEY "epprof.submit"
#define EPPROF_QUEUE_KEY "epprof.queue"
#define EPPROF_FLOW_BEGIN_KEY "epprof.flow_begin"
#define EPPROF_FLOW_END_KEY "epprof.flow_end"

/* Flags of EpprofEvent.category. */
enum {
	EPPROF_PARENT_INFERRED = 0x100, /* the parent was found because its time contains the event's; it was not
	                                   recorded */
	EPPROF_PARENT_AMBIGUOUS = 0x200 /* `parent` is 0, because several events could be the parent */
};

/* A clock of the EP.  It is pushed before the first event that uses it. */
typedef struct EpprofClock {
	uint32_t id;   /* chosen by the EP; below 64 */
	uint32_t kind; /* 1: a device's clock, which clock pairs relate to the host's; 2: gives durations only */
	uint32_t bits; /* the width of the clock's counter; 0: 64 */
	uint32_t reserved;
	uint64_t ticks_per_second;
} EpprofClock;

typedef struct EpprofClockPair {
	uint64_t device_ticks;
	uint64_t host_ticks;       /* in ticks of EpprofApi_HostTicks_SinceV1: the middle between the host's readings
	                              before and after the device's */
	uint64_t half_width_ticks; /* in host ticks: half of the time between the two readings of the host's clock */
	uint32_t clock;
	uint32_t reserved;
} EpprofClockPair;

/* The name of a stream.  It is pushed before the first event on the stream; a stream without a name is called "stream
 * N" of its device. */
typedef struct EpprofTrack {
	const char *name;
	const char *group; /* tracks with the same group are shown together; NULL: the name of the device */
	int64_t stream;
	int32_t device;
	uint32_t clock;
} EpprofTrack;

/* A wait of a thread for the device.  The work that was launched under `parent` before the wait began had ended when
 * the wait ended. */
typedef struct EpprofWait {
	uint64_t parent;           /* the id that StartEvent got for the event that launched the work */
	uint64_t start_host_ticks; /* in ticks of EpprofApi_HostTicks_SinceV1; not larger than end_host_ticks */
	uint64_t end_host_ticks;
	int64_t thread; /* the operating system's id of the thread */
} EpprofWait;

/* The numbers of events that an EP emitted and lost since StartProfiling. */
typedef struct EpprofLedger {
	uint64_t emitted;          /* events that the EP's code emitted, including the lost ones */
	uint64_t lost_no_buffer;   /* lost because the EP's buffer was full */
	uint64_t lost_refused;     /* lost because they were invalid */
	uint64_t lost_outside_run; /* lost because they were emitted before StartProfiling or after EndProfiling */
	uint64_t lost_other;
} EpprofLedger;

/* The name and the description of a device.  The description is a list of args, which tools show.  The last description
 * of a device is used. */
typedef struct EpprofDevice {
	const char *group; /* the name of the device, which is the group of all its tracks that are created later; NULL:
	                      "EP device N".  If another device of the EP has this name, " (device N)" is appended */
	const EpprofArg *args;
	uint32_t args_count;
	int32_t device;
} EpprofDevice;

/* A value of a device's counter (memory in use, power).  It holds until the next value of this counter. */
typedef struct EpprofCounter {
	const char *name;
	uint64_t host_ticks; /* when the value was read; 0: now */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} number;
	uint32_t type; /* 0 i64, 1 u64, 2 f64 */
	int32_t device;
} EpprofCounter;

/* A clock of host ticks other than EpprofApi_HostTicks_SinceV1.  A reading `value` of this clock corresponds to `ticks`
 * + (value - origin) * ticks_per_unit of EpprofApi_HostTicks_SinceV1. */
typedef struct EpprofHostClock {
	uint64_t origin;
	uint64_t ticks;
	double ticks_per_unit;
} EpprofHostClock;

typedef struct EpprofBatch {
	size_t struct_size; /* the EP sets it to sizeof(EpprofBatch); at least up to `ledger` */
	const EpprofEvent *events;
	size_t events_count;
	const EpprofClock *clocks;
	size_t clocks_count;
	const EpprofClockPair *pairs;
	size_t pairs_count;
	const EpprofLedger *ledger; /* NULL: the numbers did not change */
	/* The following members were added later.  Older hosts ignore them.  The struct_size of older EPs does not
	 * include them. */
	const EpprofTrack *tracks;
	size_t tracks_count;
	const EpprofWait *waits; /* not counted in the EP's ledger; each wait becomes one additional event */
	size_t waits_count;
	uint64_t gaps_count; /* since the last batch: how often the EP was stopped and started again because of its
	                        other users */
	uint64_t gaps_ns;    /* the total duration of these gaps */
	const EpprofDevice *devices; /* each device with args becomes one additional event, `epprof.device`, which is
	                                not counted in the EP's ledger */
	size_t devices_count;
	uint64_t *ids; /* room for events_count ids, which the host sets; an id may be the `parent` of later events, and
	                  is 0 if the event was not kept.  NULL: the ids are not needed */
	/* The number of events since the last batch that were not pushed, because their times are invalid.  They are
	 * part of the ledger's `emitted`, and of none of its losses. */
	uint64_t early_count;          /* events that began before the run */
	uint64_t late_count;           /* events that began after the run */
	uint64_t negative_count;       /* events that ended before they began */
	const EpprofCounter *counters; /* values that are not counted in the EP's ledger */
	size_t counters_count;
	const EpprofHostClock *host_clock; /* the clock of EPPROF_SUBMIT_KEY and of counters; NULL:
	                                      EpprofApi_HostTicks_SinceV1.  The collector sets it for profilers under
	                                      ONNX Runtime */
	/* In EndProfiling: pieces of work that the device has not finished.  They are counted as emitted and lost
	 * (EPP_LOSS_AFTER_END), each until a late event comes (EpprofApi_PushLateEvents_SinceV1).  Work that is
	 * unfinished at the end of several runs is counted in each of them.  In a late push: so
	 * many of them are not waited for any more, because their events came before. */
	uint64_t unfinished_count;
} EpprofBatch;

/* "EpprofApi_PushEvents_SinceV1": pushes a batch.  The host processes the parts of a batch in this order: clocks,
 * devices, tracks, pairs, waits, counters, events, ledger.
 * Ownership: everything is borrowed for the call. */
typedef void (*EpprofApi_PushEvents_SinceV1_Fn)(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);

/* "EpprofApi_PushLateEvents_SinceV1", an EpprofApi_PushEvents_SinceV1_Fn: pushes events of the last run after the
 * profiler's EndProfiling has returned.  Until the host's session is released or starts another run they are added to
 * that run; after that, and after `epprof ctl stop`, they are counted as lost (EPP_LOSS_AFTER_END).  The host counts
 * these events itself, and ignores `ledger`.  A call costs a block of the trace, and may wait until the blocks before
 * it are written.  NULL in older hosts and in the collector. */

/* "EpprofApi_GraceNs_SinceV1": how long EndProfiling may wait for work that the device has not finished, in ns.  The
 * host extends the time limit of EndProfiling by this time.  NULL in older hosts; the time is then 0. */
typedef uint64_t (*EpprofApi_GraceNs_SinceV1_Fn)(OrtEpProfilerImpl *profiler);

/* "EpprofApi_HostTicks_SinceV1": reads the host's clock, for clock pairs.  [signal-safe] */
typedef uint64_t (*EpprofApi_HostTicks_SinceV1_Fn)(void);

/* "EpprofApi_HostTicksPerSecond_SinceV1": returns the nominal rate of the host's clock.  A host may have only the two
 * functions for its clock, and not PushEvents.  Such a host gets the same events as ONNX Runtime, and the kit uses the
 * host's clock if it counts nanoseconds. */
typedef uint64_t (*EpprofApi_HostTicksPerSecond_SinceV1_Fn)(void);

/* ---- in ONNX Runtime ---- */

/* ONNX Runtime writes a profiler's events into its own profile, at the end.  If the process has loaded the collector
 * (docs/onnxruntime.md), a profiler can also push its events to the collector, as they happen, in ticks of its own
 * clock.  The kit does so.
 *
 * The collector is a loaded library whose file name begins with EPPROF_COLLECTOR_FILE and which exports
 * EPPROF_COLLECTOR_SYMBOL, an EpprofGetCollector_Fn.  Look for it with dl_iterate_phdr and dlopen(RTLD_NOLOAD), on
 * Windows with GetModuleHandle, for example in StartProfiling; it is never unloaded.  If there is no such library, or if it has no such symbol, a
 * profiler can only add its events to ONNX Runtime's container. */
#define EPPROF_COLLECTOR_FILE "libepprof_ort"
#define EPPROF_COLLECTOR_SYMBOL "EpprofGetCollector"

/* ONNX Runtime's profile has the events of providers that do not push their events to the collector.  If the collector
 * is registered in ONNX Runtime under this name, its host reads the profile; if it is registered under another name,
 * the collector reads the profile. */
#define EPPROF_COLLECTOR_NAME_OF_READER "epprof run"

/* The key of an arg in ONNX Runtime's profile.  An event that was also pushed to the collector has this arg.  Its value
 * is the event's id from EpprofBatch.ids, so that a reader of both profiles uses the event once; 0: the recording has
 * counted the event as lost. */
#define EPPROF_RECORDED_KEY "epprof.id"

/* The registration of a profiler in the recording of one session of ONNX Runtime. */
typedef struct EpprofRecording EpprofRecording;

typedef struct EpprofCollector {
	size_t struct_size; /* set by the collector; a later version may have more entries */

	/* Adds a profiler that ONNX Runtime drives to the recording of its session.  This is the recording whose
	 * innermost open event on this thread has this correlation id.  Call Join in StartEvent, in StopEvent, or while
	 * an event is open, and repeat it until it succeeds: the order of the providers determines whether ONNX Runtime
	 * reports an event to the collector before or after it reports the event to this profiler.
	 * Returns NULL if that event is not recorded, or if the recording has no room for the profiler.
	 * Thread: [any-thread].  Ownership: the recording is valid until Leave; the name is copied. */
	EpprofRecording *(*Join)(OrtEpProfilerImpl *profiler, const char *ep_name, uint64_t correlation_id);

	/* Returns the value for EpprofEvent.parent and EpprofWait.parent in Push: the id of the innermost event with
	 * this correlation id that is open on this thread; 0: there is none.
	 * Thread: [any-thread]. */
	uint64_t (*EventId)(EpprofRecording *recording, uint64_t correlation_id);

	/* As EpprofApi_PushEvents_SinceV1, except that all host ticks, including those of EPPROF_SUBMIT_KEY, are
	 * nanoseconds of CLOCK_MONOTONIC.  The collector converts them.
	 * Thread: [any-thread], several at once.  Ownership: everything is borrowed for the call. */
	void (*Push)(EpprofRecording *recording, const EpprofBatch *batch);

	/* Removes the profiler from the recording.  Call it in EndProfiling or Release, when no other call is
	 * running.
	 * Thread: one at a time. */
	void (*Leave)(EpprofRecording *recording);
} EpprofCollector;

typedef const EpprofCollector *(*EpprofGetCollector_Fn)(void);

#ifdef __cplusplus
}
#endif
#endif
