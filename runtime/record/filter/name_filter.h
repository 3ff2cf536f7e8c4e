/* The filter of a session, which selects events by their names. It also holds the session's schedule of steps and its
 * budget for overhead. Each name is compared with the patterns once, when it is interned, and the result is stored as a
 * bit. Recording threads read the bit and never compare texts. */
#ifndef EPPROF_RUNTIME_RECORD_FILTER_NAME_FILTER_H
#define EPPROF_RUNTIME_RECORD_FILTER_NAME_FILTER_H

#include <stdbool.h>

#include "base/atomics.h"
#include "base/name.h"
#include "epprof/session.h"
#include "record/budget/throttle.h"
#include "record/filter/schedule.h"

#define NAME_FILTER_NAMES (1u << 20) /* the maximum number of names that base/name.c interns */
#define NAME_FILTER_WORD_BITS 64u
#define OWN_PREFIX "epprof." /* the names of the library's own events begin with it */

struct name_filter {
	struct name_listener listener;
	const char *include, *exclude; /* patterns one after the other, each with a NUL, the last one empty; in the same
	                                  allocation */
	struct schedule *schedule;     /* in the same allocation; NULL: none */
	struct throttle *throttle;     /* in the same allocation; NULL: none */
	uint64_t left_out[NAME_FILTER_NAMES / NAME_FILTER_WORD_BITS]; /* one bit a name: 1: events with this name are
	                                                                 left out; atomic */
};

/* Creates a filter. It records events whose name matches a pattern of `include` (or all events if `include` has no
 * pattern), except those whose name matches a pattern of `exclude`.  Both are fnmatch(3) patterns separated by
 * semicolons; NULL: none.  Names that begin with "epprof." are the library's own and are always recorded, as are events
 * without a name.
 * `schedule` and `step`: as schedule_parse; `max_overhead`: the share of throttle_init, with the same `step`.
 * `*filter` is NULL if there are neither patterns nor a schedule nor a share.
 * Errors: EPP_INVALID_ARGUMENT (the schedule, the share, both at once), EPP_OUT_OF_MEMORY.  Ownership:
 * name_filter_destroy; texts are copied. */
epp_status *name_filter_create(const char *include, const char *exclude, const char *schedule, const char *step,
                               double max_overhead, struct name_filter **filter) EPP_MUST_CHECK;

/* Destroys a filter that no thread uses any more. NULL does nothing. */
void name_filter_destroy(struct name_filter *filter);

/* As name_filter_destroy, in the child of a fork. There the filter is no listener of names any more, so it is not
 * removed from the list. */
void name_filter_fork_child(struct name_filter *filter);

/* Returns true if events with this name are left out, independent of the schedule. If `filter` is NULL, no event is
 * left out.
 * Thread: any, without a lock, as long as the filter exists. */
static inline bool name_filter_leaves_out(const struct name_filter *filter, epp_name name)
{
	return filter && name < NAME_FILTER_NAMES &&
	       (LOAD_RELAXED(&filter->left_out[name / NAME_FILTER_WORD_BITS]) >> name % NAME_FILTER_WORD_BITS & 1);
}

/* Called for each submitted event.  If a device did the work (`is_of_device`), sets has_devices of the session's
 * throttle. */
static inline void name_filter_note(const struct name_filter *filter, bool is_of_device)
{
	if (is_of_device && filter && filter->throttle && !LOAD_RELAXED(&filter->throttle->has_devices))
		STORE_RELAXED(&filter->throttle->has_devices, true);
}

/* Returns the reason for which a submitted event is left out by name, schedule or throttle; EPP_LOSS_ENTRY_COUNT if it
 * is recorded. An event without a parent belongs to the step that ran at `host_ticks` or, if that is 0, to the present
 * step. */
epp_loss name_filter_loss(const struct name_filter *filter, epp_name name, uint64_t parent, uint64_t host_ticks);

#endif
