/* epprof: the kit for execution providers.
 *
 * One C file and one header (build/kit/, made of ep_kit/ and this) or libepprof_ep.a make an EP's profiler: it embeds
 * OrtEpProfilerImpl, keeps a stack of host events per thread, buffers the EP's events without blocking, relates the EP's
 * clock to the host's, counts every loss, and hands everything over: raw ticks to an epprof host as buffers fill,
 * microseconds to ONNX Runtime in EndProfiling, and raw ticks to the collector if that is in the process (epprof/ep_push.h).
 * libepprof is not needed.
 *
 *   struct my_ep_profiler { struct epp_ep_profiler profiler; ... };
 *   epp_ep_options options = { .struct_size = sizeof(options), .ort_api_base = base, .ep_name = "MyEP",
 *       .now_ticks = my_clock, .ticks_per_second = 1000000000, .user = device };
 *   status = epp_ep_profiler_init(&mine->profiler, &options);
 *   ...
 *   uint64_t token = epp_ep_current(&mine->profiler);           where work is launched, on the launching thread
 *   epp_ep_event event = { .parent = token, .name = "gemm", .start_ticks = s, .end_ticks = e, .device = 0, .stream = 1 };
 *   epp_ep_emit(&mine->profiler, &event);                       when the device says it is done, on any thread
 *   epp_ep_waited(&mine->profiler, token, since);               where a host thread waited for it, if it did
 *
 * What ONNX Runtime gets: an event has its device as process (-1 for device 0, -2 for device 1, ...) and its stream as
 * thread, so that streams keep rows of their own; its args are the EP's, `device`, `stream`, and of its parent
 * `ort_correlation_id`, `ort_thread_id`, `ort_event_name`, `ort_op_name`, `ort_node_index` where they are known (a key that
 * the EP used itself stays the EP's): the id is a microsecond, in which several threads may begin an event each.  For ONNX
 * Runtime before 1.31, which writes strings into its JSON as they are, strings are escaped; from 1.31 on it escapes them itself.
 * An arg's text that begins with `{` or `[` becomes a JSON value from 1.31 on, with a space in front if it is not JSON.
 * Without a common clock an event stands at its parent's start and has the arg `epprof.placement`.  What was lost stands in one event
 * `epprof.lost` with the counts as args.
 */
#ifndef EPPROF_EP_H
#define EPPROF_EP_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/ep_push.h"
#include "epprof/ort_ep_profiler.h"

/* The kit is compiled into the EP's library and stays inside it: two libraries may carry two versions. */
#ifndef EPP_EP_API
#if defined(__GNUC__)
#define EPP_EP_API __attribute__((visibility("hidden")))
#else
#define EPP_EP_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_ep_profiler epp_ep_profiler;

typedef struct epp_ep_options {
	size_t struct_size;                /* sizeof(epp_ep_options) of the EP; a non-zero unknown tail is an error */
	const OrtApiBase *ort_api_base;    /* what CreateEpFactories was given; required */
	const char *ep_name;               /* copied; NULL: "ep" */
	uint64_t (*now_ticks)(void *user); /* the device's clock as of now, [any-thread]; NULL: it cannot be read */
	uint64_t ticks_per_second;         /* nominal; required */
	uint32_t clock_bits;      /* where the counter wraps, 8 to 64; 0: 64.  How often it did is told by the event's
	                                      parent, or else by the event before: half a wrap away at most */
	uint32_t own_clock_pairs; /* 1: now_ticks is NULL and the EP calls epp_ep_clock_pair instead; 0 and no
	                                      now_ticks: no common clock, only durations count */
	size_t buffer_bytes;      /* the most that events in hand may take; 0: 64 MiB */
	void (*end_profiling)(void *user); /* called first in EndProfiling: emit what the device still holds; may be NULL */
	void (*release)(epp_ep_profiler *self, void *user); /* init form: called last in Release, frees the EP's object */
	void *user;
} epp_ep_options;

/* Embedded as the first member of the EP's own profiler object.  Only `impl` may be looked at. */
struct epp_ep_profiler {
	OrtEpProfilerImpl impl;
	void *state; /* the kit's */
};

typedef struct epp_ep_arg {
	const char *key;
	const char *text; /* the value if not NULL; else `i64` */
	int64_t i64;
} epp_ep_arg;

/* Strings are copied; one of more than 64 KiB is cut and ends with "..." then, and of args the first 256 are kept.
 * What breaks a rule is refused and counted: a NULL name or key, an unknown category, an end before the start. */
typedef struct epp_ep_event {
	uint64_t parent; /* a token, or 0 */
	const char *name;
	uint64_t start_ticks;
	uint64_t end_ticks; /* less than half a wrap of clock_bits after start_ticks */
	int32_t device;
	int32_t category; /* OrtProfilingEventCategory + 1, or 0 for a kernel */
	int64_t stream;
	const epp_ep_arg *args;
	size_t args_count;
} epp_ep_event;

/* Makes a profiler in the EP's own storage (init) or on the heap (create); hand out &profiler->impl from CreateProfiler.
 * init: Release calls options.release, which frees the storage.  create: Release frees it.
 * Allocates little: ONNX Runtime makes profilers that it never starts.
 * Thread: [any-thread].  Ownership: options and strings are copied; `user` is the EP's.
 * Errors: an OrtStatus of the host's, for a missing option, an ONNX Runtime below API version 25, or no memory; `impl` is
 * zero then, `*profiler` NULL.  Without ort_api_base nobody can make a status: NULL is returned, look at impl.Release. */
EPP_EP_API OrtStatus *epp_ep_profiler_init(epp_ep_profiler *profiler, const epp_ep_options *options);
EPP_EP_API OrtStatus *epp_ep_profiler_create(const epp_ep_options *options, epp_ep_profiler **profiler);

/* A token for this thread's innermost host event, for `parent`; 0 if there is none or nothing is profiled.  Unique, unlike
 * ONNX Runtime's correlation ids; valid until EndProfiling.  Tell it to whatever runs the work.
 * Thread: [any-thread]; costs a few ns. */
EPP_EP_API uint64_t epp_ep_current(epp_ep_profiler *profiler);

/* Emits an event of the device.  Never blocks; without room the event is counted as lost.
 * Outside StartProfiling to EndProfiling it is counted and dropped.
 * Thread: [any-thread], EndProfiling may run meanwhile, Release may not.  Ownership: everything is copied. */
EPP_EP_API void epp_ep_emit(epp_ep_profiler *profiler, const epp_ep_event *event);

/* Adds a pair of the EP's own making: at host time `host_ticks` +- half_width_ticks the device's counter stood at
 * device_ticks.  The host's clock is epp_ep_host_ticks, with nominally epp_ep_host_ticks_per_second.  For devices whose
 * clock now_ticks cannot read.  Outside StartProfiling to EndProfiling it is ignored.
 * Thread: [any-thread], as epp_ep_emit. */
EPP_EP_API void epp_ep_clock_pair(epp_ep_profiler *profiler, uint64_t device_ticks, uint64_t host_ticks,
                                  uint64_t half_width_ticks);
EPP_EP_API uint64_t epp_ep_host_ticks(epp_ep_profiler *profiler);
EPP_EP_API uint64_t epp_ep_host_ticks_per_second(epp_ep_profiler *profiler);

/* Reports that this thread has waited for the device and goes on now: what was launched under `parent`, a token, before the
 * wait began has ended.  May be called often for one token: work that is launched after a wait belongs to the next one.
 * `start_host_ticks`: when the wait began, of epp_ep_host_ticks; 0: not known.  In an epprof host the wait is an event of
 * category API then, with an arrow to it, and the bounds of what it waited for are narrowed: they cannot end behind it.  In
 * ONNX Runtime it does nothing, as outside StartProfiling to EndProfiling.
 * Thread: [any-thread], as epp_ep_emit; costs a hand-over. */
EPP_EP_API void epp_ep_waited(epp_ep_profiler *profiler, uint64_t parent, uint64_t start_host_ticks);

/* What was emitted and lost in the run that is on or was the last, and outside of runs since the end of the one before:
 * emitted = handed over + in hand + lost.
 * Thread: [any-thread]. */
EPP_EP_API void epp_ep_ledger(const epp_ep_profiler *profiler, EpprofLedger *ledger);

#ifdef __cplusplus
}
#endif
#endif
