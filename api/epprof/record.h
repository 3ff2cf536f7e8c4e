/* epprof: records events on the threads of the host program.
 *
 *   static epp_name step;
 *   step = epp_name_intern("step");                             once
 *   uint64_t id = epp_event_begin(NULL, EPP_NODE, step);        in the session of EPPROF_OUTPUT; or in a session of
 *   ...                                                         epp_session_create
 *   epp_event_end(NULL, id, NULL, 0);
 *
 * A library that records its own work needs no other header: the program, or EPPROF_OUTPUT, creates the sessions.
 * Without a session that records, each call costs one load and a branch. */
#ifndef EPPROF_RECORD_H
#define EPPROF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A session of session.h.  For functions that record, NULL means the process's default session.  They also accept a
 * destroyed session, for which they do nothing. */
typedef struct epp_session epp_session;

/* ---- names ---- */

/* The number of an interned string.  Valid for the life of the process; 0 is never a name. */
typedef uint32_t epp_name;

/* Interns a name, a category or an arg key.  The same bytes give the same number for the life of the process.
 * At most 65,536 bytes are kept (longer text is cut and "..." appended).  If the table is full (1 Mi names, 256 MiB of
 * text) or there is no memory, the result is the reserved name "(name lost)".  A new text costs a lock; if more than 8
 * MiB of new texts are not yet written to the file, the call waits for the write, at most a tenth of a second.  Intern
 * a text once, not once per event.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern(const char *text);

/* As epp_name_intern, for `bytes` bytes with any values, including zeros.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern_bytes(const char *text, size_t bytes);

/* Returns the text of a name; "(unknown)" if the number is not a name.
 * Thread: [any-thread].  Ownership: valid until the process ends. */
EPP_EXPORT const char *epp_name_text(epp_name name);

/* ---- args ---- */

typedef enum epp_arg_type { EPP_ARG_I64 = 0, EPP_ARG_U64 = 1, EPP_ARG_F64 = 2, EPP_ARG_TEXT = 3 } epp_arg_type;

/* A key and a value.  A record keeps at most 255 arg slots and 32 KiB of text; args beyond these limits are cut, and
 * the cut is counted (EPP_LOSS_TOO_LARGE). */
typedef struct epp_arg {
	epp_name key;
	uint32_t type; /* epp_arg_type */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
		const char *text; /* any bytes; borrowed for the call, stored inline in the record, never interned */
	} value;
	size_t text_bytes; /* the size of `text`; for EPP_ARG_TEXT only */
} epp_arg;

/* Interns a list of args that many events have in common, and returns its number; the same args in the same order give
 * the same number.  An event that is recorded with the arg EPP_ARGS_OF(number) has all args of the list in its place;
 * its record needs only 16 bytes for them.  This saves most of the recording cost of events with many args that seldom
 * change.  An event can have at most two such args.  Readers see the single args.
 * Returns 0 if an arg's text is NULL, if the args with their texts take more than 384 bytes in 16-byte slots, if
 * EPP_ARGS_OF is among them, or if there is no more room for names: then pass the args individually.
 * Interned args are kept for the life of the process, and in each trace, so intern only args that recur.  Locks and
 * waits as epp_name_intern does.
 * Thread: [any-thread].  Ownership: the args are copied. */
EPP_EXPORT epp_name epp_args_intern(const epp_arg *args, size_t args_count);

/* The key of an arg that refers to interned args.  `number`, from epp_args_intern, must not be 0. */
enum { EPP_ARGS_KEY = 10 };
#ifdef __cplusplus
#define EPP_ARGS_OF(number) (epp_arg{ EPP_ARGS_KEY, EPP_ARG_U64, { static_cast<int64_t>(number) }, 0 })
#else
#define EPP_ARGS_OF(number) ((epp_arg){ EPP_ARGS_KEY, EPP_ARG_U64, { (int64_t)(number) }, 0 })
#endif

/* ---- events ---- */

/* The category of an event.  ONNX Runtime has the same four. */
typedef enum epp_category { EPP_SESSION = 0, EPP_NODE = 1, EPP_KERNEL = 2, EPP_API = 3 } epp_category;

/* The number of sessions that are recording now.  Read it through EPPROF_ENABLED(). */
EPP_EXPORT extern uint32_t epp_recording_count;

/* True while any session of the process records.  Costs one load and a branch.  Use it to skip the preparation of names
 * and args if nothing records. */
#if defined(__GNUC__)
#define EPPROF_ENABLED() (__builtin_expect(__atomic_load_n(&epp_recording_count, __ATOMIC_RELAXED) != 0, 0))
#else
#define EPPROF_ENABLED() (epp_recording_count != 0)
#endif

/* The id of each step that the session's schedule leaves out (options.schedule), and of each run that its budget leaves
 * out (options.max_overhead).  End it like any other event, but on the thread on which it began, because the call ends
 * the step or run in which this thread is.  An event with this id as its parent is left out, too.  A flow from or to
 * this id is ignored. */
enum { EPP_LEFT_OUT_ID = 1 };

/* Begins an event on the calling thread: reads the clock, then calls StartEvent of each profiler.
 * Returns the event's id, unique in the process.  Returns 0 if nothing records, or if the event is lost: it is left out
 * by a filter, or 64 events are open on this thread; both are counted.
 * Unless options.lossless is set, it never blocks or locks, and allocates only at a thread's first event.  It makes
 * system calls (some 10 us) only if it finds no room in the first milliseconds of a session in a file without
 * buffer_bytes.
 * Thread: [event-thread]; not from a signal handler.  From a profiler's callback it returns 0. */
EPP_EXPORT uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name);

/* As epp_event_begin, but slower: interns `text` at each call.
 * Thread: as epp_event_begin.  Ownership: the text is copied. */
EPP_EXPORT uint64_t epp_event_begin_text(epp_session *session, epp_category category, const char *text);

/* Ends an event: reads the clock, stores the record, then calls StopEvent of each profiler.  Once the record is stored,
 * a kill of the process does not lose it.  Ending an outer event also ends the events inside it, and marks these as
 * `unended`.  If an event began on another thread, the reader of the trace joins its end with its begin.  The id 0 does
 * nothing; an id of an earlier run is counted as EPP_LOSS_AFTER_END.
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* As epp_event_end, for an event whose name and category are known only at its end (ONNX Runtime's StartEvent has no
 * name).
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name,
                                    const epp_arg *args, size_t args_count);

/* Records an instant on the calling thread.
 * Thread: [any-thread], here and below as epp_event_begin.  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_instant_record(epp_session *session, epp_category category, epp_name name, const epp_arg *args,
                                   size_t args_count);

/* Records the current value of a counter of the process.  The name identifies the counter: values from all threads
 * belong to the same counter, which viewers show as one row.  For a counter per thread, use a name per thread.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_counter_record_i64(epp_session *session, epp_name name, int64_t value);
EPP_EXPORT void epp_counter_record_f64(epp_session *session, epp_name name, double value);

/* Records a flow, a link from one event to another by their ids, at the current time.  A flow from an event that
 * launched device work to an event of category EPP_API means that the API event waited for the work: the work that was
 * launched before the API event began had ended when the API event ended.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_flow_record(epp_session *session, uint64_t from_id, uint64_t to_id);

/* Begins and ends an event that need not nest in other events and may end on any thread (a request, a transfer).
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_async_begin(epp_session *session, epp_category category, epp_name name);
EPP_EXPORT void epp_async_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* ---- requests ----
 *
 * A request is known by its W3C traceparent ("00-" trace id "-" parent id "-" flags).  A request is assigned to one
 * event.  All events inside that event, and all device events that they launch, belong to the request, too: the reader
 * derives this from the parents, so recording these events costs nothing more.  An inner event to which other requests
 * are assigned belongs to those only.
 *
 *   uint64_t id = epp_event_begin(NULL, EPP_SESSION, step);     a request that one thread serves
 *   epp_context_set(NULL, traceparent, NULL);
 *   ...
 *   epp_event_end(NULL, id, NULL, 0);
 *
 *   epp_context_begin(NULL, traceparent, NULL, &context);       a request that waits, and is served in batches, on
 *   ...                                                         other threads
 *   uint64_t id = epp_event_begin(NULL, EPP_SESSION, step);
 *   epp_context_attach(NULL, contexts, count);
 *   ...
 *   epp_event_end(NULL, id, NULL, 0);
 *   ...
 *   epp_async_end(NULL, context, NULL, 0);
 *
 *   uint64_t part = epp_event_begin(NULL, EPP_NODE, name);      work of an event on another thread
 *   epp_context_inherit(NULL, id);
 *   ...
 *   epp_event_end(NULL, part, NULL, 0); */

/* Assigns the request of a traceparent to the innermost open event of the calling thread.  `tracestate` may be NULL; if
 * it has more than 512 bytes, it is left out.  Costs one record; a second call adds a second request to the event.
 * Errors: EPP_INVALID_ARGUMENT (the traceparent does not follow the grammar; the message has the reason),
 * EPP_WRONG_STATE (the session records, and no event is open on this thread).  Without a session that records, only the
 * traceparent is checked.
 * Thread: [event-thread].  Ownership: the texts are copied. */
EPP_EXPORT epp_status *epp_context_set(epp_session *session, const char *traceparent, const char *tracestate)
    EPP_MUST_CHECK;

/* Begins a request that is an event itself: an asynchronous event with the name `request`, which epp_async_end ends on
 * any thread.  `*context` is the id of this event, for epp_context_attach on any thread; 0 if nothing records.
 * Errors: EPP_INVALID_ARGUMENT as epp_context_set, or `context` is NULL; `*context` is 0 then.
 * Thread: [any-thread].  Ownership: the texts are copied. */
EPP_EXPORT epp_status *epp_context_begin(epp_session *session, const char *traceparent, const char *tracestate,
                                         uint64_t *context) EPP_MUST_CHECK;

/* Assigns requests that epp_context_begin began to the innermost open event of the calling thread; a batch has several.
 * Zeros in `contexts` are ignored.  Costs one record for each 128 requests, of 48 bytes and 16 bytes a request.  A
 * second call adds further requests to the event.
 * Errors: EPP_WRONG_STATE as epp_context_set; EPP_INVALID_ARGUMENT (`contexts` is NULL, and the count is not 0).
 * Thread: [event-thread].  Ownership: `contexts` is borrowed for the call. */
EPP_EXPORT epp_status *epp_context_attach(epp_session *session, const uint64_t *contexts, size_t contexts_count)
    EPP_MUST_CHECK;

/* Assigns the requests of the event `id` to the innermost open event of the calling thread.  The event `id` is open,
 * usually on another thread; the calling thread does a part of its work.  The id 0 does nothing.  Costs one record of
 * 48 bytes, or nothing if the process has had no request so far.  Call it right after the begin of the innermost event:
 * inner events that begin before the call, and device events that these launch, may not get the requests.
 * Errors: EPP_WRONG_STATE as epp_context_set.
 * Thread: [event-thread]. */
EPP_EXPORT epp_status *epp_context_inherit(epp_session *session, uint64_t id) EPP_MUST_CHECK;

/* ---- the host's clock ---- */

/* Reads the host clock that gives the times of events (TSC if it is reliable, else CLOCK_MONOTONIC).
 * Units: ticks.  epp_host_ticks_per_second() returns the nominal rate; traces contain clock pairs, which give the exact
 * rate.
 * Thread: [any-thread], [signal-safe]. */
EPP_EXPORT uint64_t epp_host_ticks(void);
EPP_EXPORT uint64_t epp_host_ticks_per_second(void);

#ifdef __cplusplus
}
#endif
#endif
