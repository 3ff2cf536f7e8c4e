/* The accounts of a trace's producers, taken together.  An event of a profiler that could not be stored stands in two of
 * them, the profiler's and that of the thread which stored it: here it counts once. */
#ifndef EPPROF_CLI_ACCOUNTS_H
#define EPPROF_CLI_ACCOUNTS_H

#include "cli.h"

struct accounts {
	uint64_t lost_total;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	bool balanced;
	uint32_t damage_count; /* places where the file says nothing */
};

epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace) EPP_MUST_CHECK;
/* "3 no buffer, 1 plugin"; "" if nothing was lost. */
void accounts_reasons(const uint64_t lost[EPP_LOSS_ENTRY_COUNT], char *text, size_t bytes);
/* "WARNING: ..." lines, each behind `indent`: what the accounts cannot say. */
void accounts_print_warnings(const struct accounts *accounts, const char *indent);
/* The same on standard error, of a trace that something else was made of; CLI_OK, or CLI_UNREADABLE with an explanation. */
int accounts_warn(epp_trace *trace);
/* What --strict asks: CLI_OK, or CLI_INVALID with an explanation. */
int accounts_strict(const struct accounts *accounts);

#endif
