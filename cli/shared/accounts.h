/* Adds up the accounts of a trace's producers.  An event of a profiler that could not be stored is in two accounts, the
 * profiler's and that of the thread which should have stored it: here it counts once. */
#ifndef EPPROF_CLI_SHARED_ACCOUNTS_H
#define EPPROF_CLI_SHARED_ACCOUNTS_H

#include "cli/cli.h"

struct accounts {
	uint64_t lost_total;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	bool balanced;
	uint32_t damage_count;              /* damaged places in the file */
	bool truncated;                     /* the end of the finished file is missing */
	uint64_t file_bytes, missing_bytes; /* missing_bytes is 0 if it is not known */
	uint64_t missing_events;            /* a lower bound; 0: not known */
};

epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace) EPP_MUST_CHECK;
/* "3 no buffer, 1 plugin"; "" if nothing was lost. */
void accounts_reasons(const uint64_t lost[EPP_LOSS_ENTRY_COUNT], char *text, size_t bytes);
/* Describes what is left of a truncated file: "97.7 KiB of 9.7 MiB are left, at least 44,015 events are missing". */
#define ACCOUNTS_MISSING_BYTES 160
const char *accounts_missing(const struct accounts *accounts, char text[ACCOUNTS_MISSING_BYTES]);
/* Prints the same as JSON members: "truncated": true, "missing_bytes": 9000, "missing_events": 44015; null if not
 * known. */
void accounts_print_missing_json(const struct accounts *accounts);
/* Prints losses that no account can count as lines "WARNING: ...", each after `indent`. */
void accounts_print_warnings(const struct accounts *accounts, const char *indent);
/* Prints the same on standard error, for the input of a command that writes an output from it.  Add the accounts up
 * before the output is written, so that an error in that leaves no file. */
void accounts_warn(const struct accounts *accounts);
/* As accounts_warn, for several inputs: each sentence once, with the path of the first trace that it is about and the
 * number of the others. */
void accounts_warn_all(const struct accounts *accounts, epp_trace *const *traces, size_t count);
/* The check of --strict: returns CLI_OK, or prints the reason and returns CLI_INVALID. */
int accounts_strict(const struct accounts *accounts);

#endif
