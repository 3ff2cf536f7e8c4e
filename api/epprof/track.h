/* epprof: tracks, for events whose times the caller has measured itself, such as a device's work or another profiler's
 * events.
 * A track is a row of the timeline with its own clock.  Each of its events is recorded by one call, with start and end
 * in ticks of that clock.  Clock pairs relate a device's clock to the host's.
 *
 * Thread, unless a function says otherwise: [any-thread]. */
#ifndef EPPROF_TRACK_H
#define EPPROF_TRACK_H

#include "epprof/record.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of a track of a session.  0 is no track. */
typedef uint32_t epp_track;

typedef enum epp_clock_kind {
	EPP_CLOCK_HOST = 0,         /* ticks of epp_host_ticks() */
	EPP_CLOCK_DEVICE = 1,       /* ticks of a device, related to the host by epp_clock_pair_add */
	EPP_CLOCK_DURATION_ONLY = 2 /* there is no common clock: events are moved inside their parent and marked */
} epp_clock_kind;

typedef struct epp_track_options {
	size_t struct_size;        /* set by epp_track_options_init */
	const char *name;          /* for example "stream 1"; NULL: an empty name */
	const char *group;         /* tracks with the same group are shown together, for example "Accelerator 0"; NULL:
	                              none */
	uint64_t ticks_per_second; /* the rate of the track's clock; not used for EPP_CLOCK_HOST */
	uint32_t clock_kind;       /* epp_clock_kind */
	uint32_t clock_bits;       /* the width of the device's counter; 0: 64 */
	int32_t device;            /* the device's number; -1: none */
	uint32_t clock_of;         /* 0: the track has its own clock; else the number of the track whose clock it
	                              shares */
	int64_t stream;            /* the stream's number on its device; -1: none */
} epp_track_options;

/* Sets struct_size and the defaults: the host's clock, no device, no stream, no name, no group.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_track_options_init(epp_track_options *options);

/* Creates a track.  If it has a device's number, or another clock than the host's, it is a stream of a device: tools
 * list its events as device work.  Any other track is the host application's own.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY (4,096 tracks a session).
 * Thread: [any-thread].  Ownership: strings are copied; a track lives as long as its session. */
EPP_EXPORT epp_status *epp_track_create(epp_session *session, const epp_track_options *options, epp_track *track)
    EPP_MUST_CHECK;

/* Creates a track for events that another profiler measured on a thread of this process, in ticks of epp_host_ticks().
 * The events nest by time.  If two events begin at the same tick, the one that is recorded first is the outer one.
 * `thread_id` is the operating system's number, 0 if it is not known; tracks with the same number and name are shown as
 * one row.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY.  Thread: [any-thread].  Ownership: as epp_track_create. */
EPP_EXPORT epp_status *epp_track_create_thread(epp_session *session, uint32_t thread_id, const char *name,
                                               epp_track *track) EPP_MUST_CHECK;

/* Records an event with given times, in ticks of the track's clock.  `parent` is the id of the host event that caused
 * it, or 0.  If end_ticks is below start_ticks, the event is refused and counted.  Returns the event's id, or 0 if it
 * was not kept.
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_event_record(epp_session *session, epp_track track, epp_category category, epp_name name,
                                     uint64_t start_ticks, uint64_t end_ticks, uint64_t parent, const epp_arg *args,
                                     size_t args_count);

/* Sets the parent of an event that epp_event_record recorded without a parent.  `id` is the id of the event; the event
 * and its parent may be recorded in any order.  If the event already has a parent, the call has no effect.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_event_set_parent(epp_session *session, uint64_t id, uint64_t parent);

/* From now on the calling thread waits for room, instead of losing events, when it records by the functions above.  It
 * does not wait if the trace cannot be written at all.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_thread_set_waiting(epp_session *session);

/* Adds a clock pair, which relates the clock of a track to the host's: when the host's clock was `host_ticks` +-
 * `half_width_ticks`, the device's counter was `device_ticks`.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_clock_pair_add(epp_session *session, epp_track track, uint64_t device_ticks, uint64_t host_ticks,
                                   uint64_t half_width_ticks);

#ifdef __cplusplus
}
#endif
#endif
