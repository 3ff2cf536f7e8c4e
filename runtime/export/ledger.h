/* The account of every producer as exporters write it: how many events were emitted, written, open and lost, and
 * why. */
#ifndef EPPROF_RUNTIME_EXPORT_LEDGER_H
#define EPPROF_RUNTIME_EXPORT_LEDGER_H

#include "export/writer.h"

/* The losses of all producers together.  An event of a profiler that could not be stored is in two accounts, the
 * profiler's and that of the thread that stored it; it is counted once here. */
struct ledger_total {
	uint64_t lost;
	bool balanced;
};
epp_status *ledger_add_up(struct export_run *run, struct ledger_total *total) EPP_MUST_CHECK;

/* The source of a line that belongs to no process: the events that filters left out. */
#define LEDGER_NO_SOURCE UINT32_MAX

/* Returns the number of lines of the exported ledger: those of the trace, and one for filtered events, if there are
 * any. */
size_t ledger_count(const struct export_run *run);
epp_status *ledger_at(const struct export_run *run, size_t index, epp_trace_ledger_entry *account) EPP_MUST_CHECK;

/* Returns the line for events that filters left out. */
epp_trace_ledger_entry ledger_of_filters(uint64_t filtered);

/* Writes one line as a JSON object. */
void ledger_write_account(struct sink *sink, const epp_trace_ledger_entry *account);
/* Writes a JSON array with an object for each line. */
epp_status *ledger_write(const struct export_run *run, struct sink *sink) EPP_MUST_CHECK;

/* One value of a line, for formats with tables. */
struct ledger_entry {
	const char *entry;  /* "emitted", "written", "open", "lost", "errors", "balanced" */
	const char *reason; /* for "lost"; else NULL */
	uint64_t events;
};
#define LEDGER_ENTRIES_MAX (EPP_LOSS_ENTRY_COUNT + 5u)
/* Returns the number of entries; losses that are 0 have none. */
size_t ledger_entries(const epp_trace_ledger_entry *account, struct ledger_entry entries[LEDGER_ENTRIES_MAX]);

#endif
