/* Adds up the ledgers of a trace's producers.  If an event of a profiler could not be stored, both the profiler and the
 * thread that tried to store it count the loss.  It is counted once here. */
#ifndef EPPROF_CLI_SHARED_ACCOUNTS_H
#define EPPROF_CLI_SHARED_ACCOUNTS_H

#include "cli/cli.h"

struct accounts {
	uint64_t lost_total;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	bool balanced;
	uint32_t damage_count;              /* number of damaged places in the file */
	bool truncated;                     /* the end of the finished file is missing */
	uint64_t file_bytes, missing_bytes; /* missing_bytes is 0 if the number is not known */
	uint64_t missing_events;            /* a lower bound; 0: not known */
};

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
/* Prints losses that no ledger can count, each as a line "WARNING: ..." after `indent`. */
void accounts_print_warnings(const struct accounts *accounts, const char *indent);
/* Prints the same on standard error, for the input of a command that writes an output from it.  Must be called before
 * the output is written, so that after an error there is no output. */
void accounts_warn(const struct accounts *accounts);
/* As accounts_warn, for several inputs.  Each sentence is printed once, with the path of the first trace to which it
 * applies and the number of others. */
void accounts_warn_all(const struct accounts *accounts, epp_trace *const *traces, size_t count);
/* Checks the trace for --strict.  Returns CLI_OK, or prints the reason and returns CLI_INVALID. */
int accounts_strict(const struct accounts *accounts);

#endif
