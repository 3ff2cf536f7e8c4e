/* epprof: the kit for execution providers (EPs): a profiler that an EP compiles in.
 *
 * One C file and one header (build/kit/, generated from ep_kit/ and this header) or libepprof_ep.a implement an EP's
 * profiler.  The kit implements OrtEpProfilerImpl, keeps a stack of host events per thread, buffers the EP's events
 * without blocking, relates the EP's clock to the host's, counts every loss, and delivers the events.  An epprof host
 * gets raw ticks as buffers fill; ONNX Runtime gets microseconds in EndProfiling.  If the process has loaded the
 * collector (epprof/ep_push.h), the collector gets raw ticks, too.  libepprof is not needed.
 *
 *   struct my_ep_profiler { struct epp_ep_profiler profiler; ... };
 *   epp_ep_options options = { .struct_size = sizeof(options), .ort_api_base = base, .ep_name = "MyEP",
 *       .now_ticks = my_clock, .ticks_per_second = 1000000000, .user = device };
 *   status = epp_ep_profiler_init(&mine->profiler, &options);
 *   ...
 *   uint64_t token = epp_ep_current(&mine->profiler);           where work is launched, on the launching thread
 *   epp_ep_event event = { .parent = token, .name = "gemm", .start_ticks = s, .end_ticks = e, .device = 0, .stream = 1 };
 *   epp_ep_emit(&mine->profiler, &event);                       when the device reports that it is done, on any thread
 *   epp_ep_waited(&mine->profiler, token, since);               after a host thread waited for it, if it did
 *
 * The data that arrives in epprof, if its library is in the process (an epprof host, or the collector under ONNX
 * Runtime), and in ONNX Runtime's own profile:
 *
 *                        | epprof                              | ONNX Runtime
 *   device, stream names | names of tracks, in every tool      | args `device_name`, `stream_name`
 *   args                 | with their types                    | as text
 *   copy, bytes          | args `kind`, `bytes`                | the same
 *   submit, queue        | times of launch and queue           | args `launch_us`, `queue_us`: from the submission, and
 *                        |                                     | from the device's queue, to the start
 *   flow_begin, flow_end | arrows                              | args of the same names
 *   counters, waits      | counter tracks; events with arrows  | not at all
 *
 * Events in ONNX Runtime's profile: the process is the device (-1 for device 0, -2 for device 1, ...) and the thread is
 * the stream, so that each stream has its own row.  The args are the EP's own, those of the table above, `device`,
 * `stream`, and, if they are known, the parent's `ort_correlation_id`, `ort_thread_id`, `ort_event_name`,
 * `ort_op_name`, `ort_node_index`.  If the EP uses one of these keys itself, the EP's value is kept.  The correlation
 * id alone does not identify the parent: it is a time in microseconds, and several threads may begin an event in the
 * same microsecond.
 * ONNX Runtime before 1.31 writes strings into its JSON unescaped, so the kit escapes them; from 1.31 on ONNX Runtime
 * escapes them itself.  From 1.31 on an arg's text that begins with `{` or `[` becomes a JSON value; if the text is not
 * JSON, the kit puts a space in front.
 * If there is no common clock, an event has its parent's start and the arg `epprof.placement`.  Losses are reported in
 * one event `epprof.lost`, with the counts as args. */
#ifndef EPPROF_EP_H
#define EPPROF_EP_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/ep_push.h"

/* The kit is compiled into the EP's library and exports nothing, so two libraries in one process may contain different
 * versions.  Only the definitions in ep_kit.c are hidden, not the declarations here, because bindgen leaves out
 * functions that a header declares as hidden. */
#ifndef EPP_EP_API
#define EPP_EP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_ep_profiler epp_ep_profiler;

typedef struct epp_ep_options {
	size_t struct_size;                /* the EP sets it to sizeof(epp_ep_options); a non-zero unknown tail is an
	                                      error */
	const OrtApiBase *ort_api_base;    /* the argument that CreateEpFactories got; required */
	const char *ep_name;               /* copied; NULL: "ep" */
	uint64_t (*now_ticks)(void *user); /* reads the device's clock, on any thread; NULL: see read_clocks and
	                                      own_clock_pairs */
	uint64_t ticks_per_second;         /* the nominal rate of the clock; required */
	uint32_t clock_bits;      /* the width of the device's counter, 8 to 64; 0: 64.  The number of wraps is taken
	                             from the event's parent, or else from the previous event, which must be less than
	                             half a wrap away */
	uint32_t own_clock_pairs; /* 1: the EP calls epp_ep_clock_pair; now_ticks and read_clocks are NULL.  0 and both
	                             NULL: there is no common clock, and only durations are used */
	size_t buffer_bytes;      /* the maximum size of the buffered events; 0: 64 MiB */
	void (*end_profiling)(void *user); /* the first call in EndProfiling, in which the EP emits the events that the
	                                      device still holds; may be NULL */
	void (*release)(epp_ep_profiler *self, void *user); /* epp_ep_profiler_init only: the last call in Release,
	                                                       which frees the EP's object */
	void *user;
	/* Used instead of now_ticks if the device's clock can be read only together with the host's, or only by a
	 * command.  Reads both clocks and returns 0 and the pair { device ticks, host ticks, half width in host ticks
	 * }, as epp_ep_clock_pair takes it.  Any other result means that the clocks cannot be compared now.
	 * `host_ticks` reads the host's clock. ep_kit/clocks/ has such functions for OpenCL, Vulkan, CUDA, HIP, Level
	 * Zero, Direct3D 12 and Metal.
	 * Called in StartProfiling, in EndProfiling, and at most every 100 ms by a thread that emits an event, even
	 * after EndProfiling.  Calls for one profiler never overlap; calls for two profilers that share a clock may. */
	int (*read_clocks)(void *clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second, uint64_t pair[3]);
	void *clock;
	uint64_t grace_ns; /* how long EndProfiling waits for pending work (epp_ep_pending_add) in a host that does not
	                      define it, which ONNX Runtime is; 0: it does not wait there */
} epp_ep_options;

/* Embedded as the first member of the EP's own profiler object.  The EP may access `impl` only. */
struct epp_ep_profiler {
	OrtEpProfilerImpl impl;
	void *state; /* private to the kit */
};

typedef enum epp_ep_arg_type { EPP_EP_I64 = 0, EPP_EP_U64 = 1, EPP_EP_F64 = 2 } epp_ep_arg_type;

typedef struct epp_ep_arg {
	const char *key;
	const char *text; /* the value; if it is NULL, the value is the number of type `type` */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	};
	uint32_t type; /* epp_ep_arg_type */
} epp_ep_arg;

typedef enum epp_ep_copy {
	EPP_EP_NO_COPY = 0,
	EPP_EP_HOST_TO_DEVICE = 1,
	EPP_EP_DEVICE_TO_HOST = 2,
	EPP_EP_DEVICE_TO_DEVICE = 3, /* on one device or between two */
	EPP_EP_FILL = 4
} epp_ep_copy;

/* Strings are copied; a string of more than 64 KiB is cut and "..." appended; args after the first 256 are dropped.  An
 * invalid event is refused and counted.  It has a NULL name or key, an unknown category or copy, an end before its
 * start, or a start before queue_ticks. */
typedef struct epp_ep_event {
	uint64_t parent; /* a token of epp_ep_current, or 0 */
	const char *name;
	uint64_t start_ticks;
	uint64_t end_ticks; /* less than half a wrap of clock_bits after start_ticks */
	int32_t device;
	int32_t category; /* OrtProfilingEventCategory + 1, or 0 for a kernel */
	int64_t stream;
	const epp_ep_arg *args;
	size_t args_count;
	uint32_t copy;              /* epp_ep_copy: the kind of copy */
	uint64_t bytes;             /* the number of bytes copied or filled; 0: not known */
	uint64_t submit_host_ticks; /* when the host submitted the work, in ticks of epp_ep_host_ticks; 0: not known */
	uint64_t queue_ticks;       /* when the work entered the device's queue, in ticks of the device's clock; 0: not
	                               known */
	/* Arrows between events, for example of different queues.  An arrow leads from the event with a number as its
	 * flow_begin to each event with the same number as its flow_end.  The two may be emitted in any order.  The EP
	 * chooses the numbers; a number is not 0 and is unique in the run.  0: no arrow. */
	uint64_t flow_begin;
	uint64_t flow_end;
	/* For work of a replayed graph: the number of the graph, not 0, and the number of this piece of work in the
	 * graph.  They become the args `graph` and `graph_node`. */
	uint64_t graph;
	uint64_t graph_node;
} epp_ep_event;

/* A piece of work of a captured graph.  Each replay uses the same array of these. */
typedef struct epp_ep_graph_node {
	const char *name;
	int32_t device;
	int32_t category; /* as epp_ep_event.category */
	int64_t stream;
} epp_ep_graph_node;

/* One replay of a captured graph: nodes[i] ran from ticks[i][0] to ticks[i][1]. */
typedef struct epp_ep_replay {
	uint64_t parent; /* a token that epp_ep_current returned where this replay was launched, or 0 */
	uint64_t graph;  /* the number of the graph, chosen by the EP; 0: the events have no args `graph` and
	                   `graph_node` */
	const epp_ep_graph_node *nodes;
	const uint64_t (*ticks)[2];
	size_t nodes_count; /* the number of elements of `nodes` and of `ticks` */
} epp_ep_replay;

/* A value of a device's counter.  It holds until the next value of the counter with this name. */
typedef struct epp_ep_counter {
	const char *name;
	int32_t device;
	uint32_t type; /* epp_ep_arg_type */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	};
	uint64_t host_ticks; /* when the value was read, in ticks of epp_ep_host_ticks; 0: now */
} epp_ep_counter;

/* Creates a profiler in the EP's own storage (init) or on the heap (create).  CreateProfiler returns &profiler->impl.
 * init: Release calls options.release, which frees the storage.  create: Release frees it.
 * Allocates little memory, because ONNX Runtime creates profilers that it never starts.
 * Thread: [any-thread].  Ownership: options and strings are copied; the EP owns `user`.
 * Errors: an OrtStatus of the host, if an option is missing, ONNX Runtime has an API version below 25, or there is no
 * memory; then `impl` is zeroed and `*profiler` is NULL.  If ort_api_base is NULL, no status can be created: the return
 * value is NULL, and impl.Release is NULL, too. */
EPP_EP_API OrtStatus *epp_ep_profiler_init(epp_ep_profiler *profiler, const epp_ep_options *options);
EPP_EP_API OrtStatus *epp_ep_profiler_create(const epp_ep_options *options, epp_ep_profiler **profiler);

/* Returns a token for the calling thread's innermost host event, to be used as `parent`; 0 if the thread has no open
 * host event or no run is being profiled.  A token is unique, unlike ONNX Runtime's correlation ids, and valid until
 * EndProfiling.  Pass it to the code that runs the work.
 * Thread: [any-thread]; costs a few ns. */
EPP_EP_API uint64_t epp_ep_current(epp_ep_profiler *profiler);

/* Adds to the number of pieces of work that were launched and whose events were not yet emitted.  Add n when n pieces
 * are launched, and -n after their events were emitted.  While the number is positive, EndProfiling, after
 * options.end_profiling, waits for these events, at most for the grace time of the host (epp_session_options.grace_ns),
 * in ONNX Runtime at most for options.grace_ns.  Pieces that are pending when EndProfiling returns are counted as lost; in
 * an epprof host each is counted until a late event comes, so add one for each event.
 * Thread: [any-thread]. */
EPP_EP_API void epp_ep_pending_add(epp_ep_profiler *profiler, int64_t count);

/* Emits a device event.  Never blocks; if there is no room, the event is counted as lost.
 * An event outside StartProfiling to EndProfiling is counted as lost and dropped.  There is one exception: in an epprof
 * host, an event with a token that is emitted after EndProfiling is a late event.  It is added to the run of the token
 * until the host's session is released or starts another run; after that it is lost, or belongs to the current run.  A
 * late event costs a block of the trace, and the call may wait until the blocks before it are written.
 * Thread: [any-thread]; EndProfiling may run at the same time, Release may not.  Ownership: everything is copied. */
EPP_EP_API void epp_ep_emit(epp_ep_profiler *profiler, const epp_ep_event *event);

/* Emits an event for each node of a replay.  All have the replay's parent, so that the work of a graph belongs to the
 * host event that launched this replay, not to the one that captured the graph.  Each event is treated as by
 * epp_ep_emit.  Keep the nodes' names at the same addresses for all replays: a string that the kit has copied is not
 * copied again.
 * If a device reports the work of its graphs piece by piece, set `graph` and `graph_node` of epp_ep_emit's events instead.
 * NULL for `replay`, `nodes` or `ticks` counts as one invalid event.
 * Thread: [any-thread], as epp_ep_emit.  Ownership: everything is copied. */
EPP_EP_API void epp_ep_replay_emit(epp_ep_profiler *profiler, const epp_ep_replay *replay);

/* Sets the name of a device, which is the group of its streams, or the name of a stream.  A stream gets the names that
 * are set when its first event in this trace is emitted.  If no name is set, the stream is called "stream N" and the
 * device "EP device N".
 * Names are kept until Release; after 1,024 changes further ones are ignored.
 * Thread: [any-thread], also before a run; allocates memory.  Ownership: the name is copied. */
EPP_EP_API void epp_ep_device_name_set(epp_ep_profiler *profiler, int32_t device, const char *name);
EPP_EP_API void epp_ep_stream_name_set(epp_ep_profiler *profiler, int32_t device, int64_t stream, const char *name);

/* Records the value of a counter, such as memory in use or power.  Outside StartProfiling to EndProfiling, and in ONNX
 * Runtime without the collector, the call does nothing.  An invalid counter value (no name, a time before the run or in
 * the future) is counted as lost by the host.
 * Thread: [any-thread], as epp_ep_emit.  Ownership: everything is copied. */
EPP_EP_API void epp_ep_counter_record(epp_ep_profiler *profiler, const epp_ep_counter *counter);

/* Adds a clock pair that the EP measured: at host time `host_ticks` +- half_width_ticks the device's counter was
 * device_ticks.  The host's clock is epp_ep_host_ticks, with the nominal rate epp_ep_host_ticks_per_second.  Use this
 * function for a device whose clock now_ticks cannot read.  Outside StartProfiling to EndProfiling the call is
 * ignored.
 * Thread: [any-thread], as epp_ep_emit. */
EPP_EP_API void epp_ep_clock_pair(epp_ep_profiler *profiler, uint64_t device_ticks, uint64_t host_ticks,
                                  uint64_t half_width_ticks);
EPP_EP_API uint64_t epp_ep_host_ticks(epp_ep_profiler *profiler);
EPP_EP_API uint64_t epp_ep_host_ticks_per_second(epp_ep_profiler *profiler);

/* Reports that the calling thread has finished a wait for the device: the work that was launched under `parent`, a
 * token, before the wait began has ended.  May be called several times for one token: work that is launched after a
 * wait is covered by the next wait.
 * `start_host_ticks`: when the wait began, in ticks of epp_ep_host_ticks; 0: not known.  An epprof host records the
 * wait as an event of category API with a flow to it, and narrows the error bounds of the work, which cannot end after
 * the wait.  In ONNX Runtime, and outside StartProfiling to EndProfiling, the call does nothing.
 * Thread: [any-thread], as epp_ep_emit; the call delivers the buffered events. */
EPP_EP_API void epp_ep_waited(epp_ep_profiler *profiler, uint64_t parent, uint64_t start_host_ticks);

/* Gets the number of events that were emitted and lost in the current or last run, and outside of runs since the end of
 * the run before it.  emitted = delivered + buffered + lost.
 * Thread: [any-thread]. */
EPP_EP_API void epp_ep_ledger(const epp_ep_profiler *profiler, EpprofLedger *ledger);

#ifdef __cplusplus
}
#endif
#endif
