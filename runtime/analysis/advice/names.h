/* Events by name, for rules that compare events of one name: their durations, and what else a rule keeps of each. */
#ifndef EPPROF_RUNTIME_ANALYSIS_ADVICE_NAMES_H
#define EPPROF_RUNTIME_ANALYSIS_ADVICE_NAMES_H

#include "analysis/histogram.h"
#include "base/status.h"
#include "containers/hash_map.h"

/* Events of further names are left out. */
#define ADVICE_NAMES_MOST 4096u

/* The first member of what a rule keeps of a name. */
struct advice_name {
	char *name;
	struct epp_histogram durations; /* for the rule to fill */
};

/* Zero-initialised: empty. */
struct advice_names {
	struct hash_map map; /* key: source, name and category; values: struct advice_name */
};

/* Finds or adds the name of an event of a process, 0 for all, with `bytes` bytes in total, zero at first; `*name` is NULL beyond
 * ADVICE_NAMES_MOST names.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *advice_names_of(struct advice_names *names, const epp_event *event, uint32_t source, size_t bytes,
                            struct advice_name **name) EPP_MUST_CHECK;
/* The names in the order of their first event; NULL beyond the last. */
static inline void *advice_names_at(const struct advice_names *names, size_t index)
{
	return index < names->map.count ? (void *)(uintptr_t)names->map.entries[index].value : NULL;
}
void advice_names_deinit(struct advice_names *names);

#endif
