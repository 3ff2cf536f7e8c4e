/* A summary, and the three ways to print it. */
#ifndef EPPROF_CLI_SUMMARY_SUMMARY_H
#define EPPROF_CLI_SUMMARY_SUMMARY_H

#include "cli/shared/accounts.h"
#include "epprof/summary.h"

struct summary {
	const char *path;
	epp_trace *trace;
	epp_summary *all;
	const epp_summary_totals *totals;
	struct {
		const epp_summary_line **lines; /* sorted */
		size_t count;
	} tables[EPP_BY_COUNT];
	struct accounts accounts;
	bool shown[EPP_BY_COUNT];
	size_t top; /* lines a table */
	uint64_t warmup_count;
	uint8_t *sources; /* which processes it is of; NULL: all */
};

enum summary_format { SUMMARY_TEXT, SUMMARY_CSV, SUMMARY_JSON };

/* Adds up a trace, or explains why not; `sort` is the number of a column in the list of --sort, 0 for total; of each op and
 * kernel the first `warmup_count` are told apart; only processes that the pattern `process` names, if it is not NULL.  Nothing
 * is shown yet.  Returns an enum cli_exit. */
int summary_open(struct summary *summary, const char *path, int sort, uint64_t warmup_count, const char *process);
void summary_close(struct summary *summary);

void summary_print_text(const struct summary *summary);
void summary_print_csv(const struct summary *summary);
void summary_print_json(const struct summary *summary);
/* How durations are spread, of each op and kernel whose name fits the pattern; false: none does. */
bool summary_print_histograms(const struct summary *summary, const char *pattern);

/* ---- summary_process.c ---- */

/* Which processes a pattern of the shell's names, by number, program, label or host: a byte for each, to be freed; NULL without
 * memory.  False: none. */
bool summary_match(epp_trace *trace, const char *pattern, uint8_t **sources, size_t *count);
int summary_no_process(const char *pattern);
/* A line for each process; `pattern` may be NULL.  Returns an enum cli_exit. */
int summary_by_process(const char *path, const char *pattern, enum summary_format format, bool strict);

#endif
