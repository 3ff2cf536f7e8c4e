/* The ledger for exporters: for each producer, how many events were emitted, written, open and lost, and the reasons of
 * the losses. */
#ifndef EPPROF_RUNTIME_EXPORT_LEDGER_H
#define EPPROF_RUNTIME_EXPORT_LEDGER_H

#include "export/writer.h"

/* The sum of the losses of all producers.  If an event of a profiler could not be stored, the loss is in the ledger of
 * the profiler and in that of the thread that tried to store the event; the sum contains it once. */
struct ledger_total {
	uint64_t lost;
	bool balanced;
};
epp_status *ledger_add_up(struct export_run *run, struct ledger_total *total) EPP_MUST_CHECK;

/* The source of the account of filtered events, which belongs to no process. */
#define LEDGER_NO_SOURCE UINT32_MAX

/* Returns the number of accounts in the exported ledger.  An account has the counts of one producer: those of the
 * trace, and one for the events that filters left out, if there are any. */
size_t ledger_count(const struct export_run *run);
epp_status *ledger_at(const struct export_run *run, size_t index, epp_trace_ledger_entry *account) EPP_MUST_CHECK;

/* Returns the account of the events that filters left out. */
epp_trace_ledger_entry ledger_of_filters(uint64_t filtered);

/* Writes one account as a JSON object. */
void ledger_write_account(struct sink *sink, const epp_trace_ledger_entry *account);
/* Writes a JSON array with an object for each account. */
epp_status *ledger_write(const struct export_run *run, struct sink *sink) EPP_MUST_CHECK;

/* One value of an account, for formats with tables. */
struct ledger_entry {
	const char *entry;  /* "emitted", "written", "open", "lost", "errors", "balanced" */
	const char *reason; /* reason of the loss if `entry` is "lost"; else NULL */
	uint64_t events;
};
#define LEDGER_ENTRIES_MAX (EPP_LOSS_ENTRY_COUNT + 5u)
/* Fills `entries` with the values of an account and returns their number.  Losses that are 0 are left out. */
size_t ledger_entries(const epp_trace_ledger_entry *account, struct ledger_entry entries[LEDGER_ENTRIES_MAX]);

#endif
