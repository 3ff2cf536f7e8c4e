/* The accounts of a trace's producers, taken together.  An event of a profiler that could not be stored stands in two of
 * them, the profiler's and that of the thread which stored it: here it counts once. */
#ifndef EPPROF_CLI_SHARED_ACCOUNTS_H
#define EPPROF_CLI_SHARED_ACCOUNTS_H

#include "cli/cli.h"

struct accounts {
	uint64_t lost_total;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	bool balanced;
	uint32_t damage_count;              /* places where the file says nothing */
	bool truncated;                     /* the end of the finished file is missing */
	uint64_t file_bytes, missing_bytes; /* missing_bytes 0: not known */
	uint64_t missing_events;            /* at least so many; 0: not known */
};

epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace) EPP_MUST_CHECK;
/* "3 no buffer, 1 plugin"; "" if nothing was lost. */
void accounts_reasons(const uint64_t lost[EPP_LOSS_ENTRY_COUNT], char *text, size_t bytes);
/* What of a file that is cut off is left: "97.7 KiB of 9.7 MiB are left, at least 44,015 events are missing". */
#define ACCOUNTS_MISSING_BYTES 160
const char *accounts_missing(const struct accounts *accounts, char text[ACCOUNTS_MISSING_BYTES]);
/* The same for programs: "truncated": true, "missing_bytes": 9000, "missing_events": 44015; null for what is not known. */
void accounts_print_missing_json(const struct accounts *accounts);
/* "WARNING: ..." lines, each behind `indent`: what the accounts cannot say. */
void accounts_print_warnings(const struct accounts *accounts, const char *indent);
/* The same on standard error, of a trace that something else was made of.  The accounts are added up before that is written:
 * whatever fails then leaves no file. */
void accounts_warn(const struct accounts *accounts);
/* What --strict asks: CLI_OK, or CLI_INVALID with an explanation. */
int accounts_strict(const struct accounts *accounts);

#endif
