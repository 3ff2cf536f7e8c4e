/* The summary of a trace, and functions that print it as text, CSV and JSON.  A line of a summary has the sums of all
 * events of one op, kernel, stream, thread, phase or operator type (epp_summary_by). */
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
		const epp_summary_line **lines; /* sorted lines */
		size_t count;
	} tables[EPP_BY_COUNT];
	struct accounts accounts;
	bool shown[EPP_BY_COUNT]; /* which tables are printed */
	bool calls;               /* the table of calls is printed too (summary_is_call), only in text */
	size_t top;               /* most lines that are printed of a table */
	uint64_t warmup_count;
	uint8_t *sources; /* a byte for each process: 1 if it is included; NULL: all are */
};

enum summary_format { SUMMARY_TEXT, SUMMARY_CSV, SUMMARY_JSON };

/* Adds up a trace.  `sort` is the index of a column in the list of --sort; 0: total.  The first `warmup_count` events
 * of each op and kernel are counted separately.  If `process` is not NULL, only processes that match this pattern are
 * included.  If `trace_id` is not NULL, only events of requests with this id are included.  Prints only errors.
 * Returns an enum cli_exit. */
int summary_open(struct summary *summary, const char *path, int sort, uint64_t warmup_count, const char *process,
                 const char *trace_id);
void summary_close(struct summary *summary);

/* Returns true if an op is a call: its category is Api, or it caused device events. */
bool summary_is_call(const epp_summary_line *line);

void summary_print_text(const struct summary *summary);
void summary_print_csv(const struct summary *summary);
void summary_print_json(const struct summary *summary);
/* Prints a histogram of the durations of each op and kernel whose name matches the pattern.  Returns false if none
 * matches. */
bool summary_print_histograms(const struct summary *summary, const char *pattern);

/* ---- summary_process.c ---- */

/* Finds the processes whose number, program, label or host matches a shell pattern.  *sources is set to an array with a
 * byte for each process, which the caller frees; NULL: no memory.  Returns false if no process matches. */
bool summary_match(epp_trace *trace, const char *pattern, uint8_t **sources, size_t *count);
int summary_no_process(const char *pattern);
/* Prints a line for each process that matches `pattern`, which may be NULL.  Returns an enum cli_exit. */
int summary_by_process(const char *path, const char *pattern, enum summary_format format, bool strict);

#endif
