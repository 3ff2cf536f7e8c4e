/* Adds up the losses in all entries of a trace's ledger.  If an event of a profiler could not be stored, the entries of
 * both the profiler and the thread that tried to store it count the loss.  Here it is counted once. */
#ifndef EPPROF_CLI_SHARED_ACCOUNTS_H
#define EPPROF_CLI_SHARED_ACCOUNTS_H

#include "cli/cli.h"

struct accounts {
	uint64_t lost_total; /* sum of `lost`, without the reasons that count cut args and gaps instead of events */
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	bool balanced;                      /* in each entry of the ledger, emitted = written + lost + open */
	uint32_t damage_count;              /* number of damaged places in the file */
	bool truncated;                     /* the end of the finished file is missing */
	uint64_t file_bytes, missing_bytes; /* missing_bytes is 0 if the number is not known */
	uint64_t missing_events;            /* a lower bound; 0: not known */
};

/* Adds up the ledger.  A command that writes an output calls this before, so that after an error there is no output. */
epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace) EPP_MUST_CHECK;
/* Writes losses with their reasons: "3 no buffer, 1 plugin"; "": no event was lost. */
void accounts_reasons(const uint64_t lost[EPP_LOSS_ENTRY_COUNT], char *text, size_t bytes);
/* Describes how much of a truncated file is left: "97.7 KiB of 9.7 MiB are left, at least 44,015 events are
 * missing". */
#define ACCOUNTS_MISSING_BYTES 160
const char *accounts_missing(const struct accounts *accounts, char text[ACCOUNTS_MISSING_BYTES]);
/* Prints the same as JSON members: "truncated": true, "missing_bytes": 9000, "missing_events": 44015.  A number that is
 * not known is null. */
void accounts_print_missing_json(const struct accounts *accounts);
/* Prints on standard output that events may be missing that the ledger does not count: the file is truncated or
 * damaged, or an entry is not balanced.  Each is a line "WARNING: ..." after `indent`. */
void accounts_print_warnings(const struct accounts *accounts, const char *indent);
/* Prints the same on standard error, for the input of a command that has written an output from it. */
void accounts_warn(const struct accounts *accounts);
/* As accounts_warn, for several inputs.  Equal warnings of several traces are printed once, with the path of the first
 * trace and the number of the others.  Without memory, they may be printed several times. */
void accounts_warn_all(const struct accounts *accounts, epp_trace *const *traces, size_t count);
/* Checks the trace for --strict.  Returns CLI_OK, or prints the reason and returns CLI_INVALID. */
int accounts_strict(const struct accounts *accounts);

#endif
