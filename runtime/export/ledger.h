/* The account of every producer, as the exporters write it: what was emitted, written, open and lost, and why. */
#ifndef EPPROF_RUNTIME_EXPORT_LEDGER_H
#define EPPROF_RUNTIME_EXPORT_LEDGER_H

#include "export/writer.h"

/* What all producers lost together.  An event of a profiler that could not be stored stands in two accounts, the
 * profiler's and that of the thread which stored it: here it counts once. */
struct ledger_total {
	uint64_t lost;
	bool balanced;
};
epp_status *ledger_add_up(struct export_run *run, struct ledger_total *total) EPP_MUST_CHECK;

/* The source of a line that is of no process: what filters left out. */
#define LEDGER_NO_SOURCE UINT32_MAX

/* The lines of the exported ledger: the trace's, then one of what filters left out, if they did. */
size_t ledger_count(const struct export_run *run);
epp_status *ledger_at(const struct export_run *run, size_t index, epp_trace_account *account) EPP_MUST_CHECK;

/* The line of what filters left out. */
epp_trace_account ledger_of_filters(uint64_t filtered);

/* One of them as a JSON object. */
void ledger_write_account(struct sink *sink, const epp_trace_account *account);
/* A JSON array with an object for each. */
epp_status *ledger_write(const struct export_run *run, struct sink *sink) EPP_MUST_CHECK;

/* One of them as rows of a table. */
struct ledger_entry {
	const char *entry;  /* "emitted", "written", "open", "lost", "errors", "balanced" */
	const char *reason; /* of "lost"; else NULL */
	uint64_t events;
};
#define LEDGER_ENTRIES_MAX (EPP_LOSS_ENTRY_COUNT + 5u)
/* Returns how many there are: losses that are 0 have none. */
size_t ledger_entries(const epp_trace_account *account, struct ledger_entry entries[LEDGER_ENTRIES_MAX]);

#endif
