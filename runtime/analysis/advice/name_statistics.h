/* Data by name of events, for rules that compare events with the same name: the durations, and further data of the
 * rule. */
#ifndef EPPROF_RUNTIME_ANALYSIS_ADVICE_NAME_STATISTICS_H
#define EPPROF_RUNTIME_ANALYSIS_ADVICE_NAME_STATISTICS_H

#include "analysis/histogram.h"
#include "base/status.h"
#include "containers/hash_map.h"

/* If there are more names, the events of further ones are left out. */
#define ADVICE_NAMES_MOST 4096u

/* The first member of a rule's struct for a name. */
struct advice_name {
	char *name;
	struct epp_histogram durations; /* the rule adds the durations of events */
};

/* Zero-initialised: empty. */
struct advice_names {
	struct hash_map map; /* finds struct advice_name by source, name and category */
};

/* Finds or adds the name of an event.  `source` is the event's process, or 0 if events of all processes with the same
 * name are to be taken together.  `bytes` is the size of the rule's struct, which is zeroed at first.  *name is NULL if
 * there are ADVICE_NAMES_MOST other names already.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *advice_names_of(struct advice_names *names, const epp_event *event, uint32_t source, size_t bytes,
                            struct advice_name **name) EPP_MUST_CHECK;
/* Returns the names in the order of their first event; NULL: there are no more. */
static inline void *advice_names_at(const struct advice_names *names, size_t index)
{
	return index < names->map.count ? (void *)(uintptr_t)names->map.entries[index].value : NULL;
}
void advice_names_deinit(struct advice_names *names);

#endif
