/* The filter of a session: which events it leaves out, by their names, and the schedule of its steps, if it has one. Each
 * name is compared with the patterns once, when it is interned, and has a bit from then on: recording threads read the
 * bit, and never compare texts. */
#ifndef EPPROF_RUNTIME_RECORD_FILTER_NAME_FILTER_H
#define EPPROF_RUNTIME_RECORD_FILTER_NAME_FILTER_H

#include <stdbool.h>

#include "base/atomics.h"
#include "base/name.h"
#include "epprof/session.h"
#include "record/budget/throttle.h"
#include "record/filter/schedule.h"

#define NAME_FILTER_NAMES (1u << 20) /* base/name.c interns no more */
#define NAME_FILTER_WORD_BITS 64u

struct name_filter {
	struct name_listener listener;
	const char *include, *exclude; /* patterns one after the other, up to an empty one; in the same allocation */
	struct schedule *schedule;     /* in the same allocation; NULL: none */
	struct throttle *throttle;     /* likewise */
	uint64_t left_out[NAME_FILTER_NAMES / NAME_FILTER_WORD_BITS]; /* one bit a name; atomic */
};

/* Creates a filter that records the names that match a pattern of `include`, or all names if it has none, except those
 * that match a pattern of `exclude`.  Both are fnmatch(3) patterns separated by semicolons; NULL: none.  Names that begin
 * with "epprof." are the library's own and are always recorded, as are events without a name.
 * `schedule` and `step`: as schedule_parse; `max_overhead`: the share of throttle_init, with the same `step`.
 * `*filter` is NULL if there are neither patterns nor a schedule nor a share.
 * Errors: EPP_INVALID_ARGUMENT (the schedule, the share, both at once), EPP_OUT_OF_MEMORY.  Ownership:
 * name_filter_destroy; texts are copied. */
epp_status *name_filter_create(const char *include, const char *exclude, const char *schedule, const char *step,
                               double max_overhead, struct name_filter **filter) EPP_MUST_CHECK;

/* No thread uses the filter any more. NULL does nothing. */
void name_filter_destroy(struct name_filter *filter);

/* As name_filter_destroy, in the child of a fork, where names have no listeners. */
void name_filter_fork_child(struct name_filter *filter);

/* Returns true if events with this name are left out, whatever the schedule. `filter` NULL: none are.
 * Thread: any, without a lock, as long as the filter exists. */
static inline bool name_filter_leaves_out(const struct name_filter *filter, epp_name name)
{
	return filter && name < NAME_FILTER_NAMES &&
	       (LOAD_RELAXED(&filter->left_out[name / NAME_FILTER_WORD_BITS]) >> name % NAME_FILTER_WORD_BITS & 1);
}

/* Returns why an event that is submitted is left out, with the schedule and the throttle; EPP_LOSS_ENTRY_COUNT: it is not.
 * One without a parent belongs to the step that ran at `host_ticks` or, if that is 0, to the present one. */
epp_loss name_filter_loss(const struct name_filter *filter, epp_name name, uint64_t parent, uint64_t host_ticks);

#endif
