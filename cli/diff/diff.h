/* Declarations shared by the files of epprof diff.
 *
 *   diff.c         the command line
 *   diff_pair.c    two traces: the noise is that within each of them
 *   diff_sets.c    two sets of traces: the noise is that between the traces of a set
 *   diff_notes.c   what makes traces hard to compare
 *   diff_output.c  prints the comparison of two sets */
#ifndef EPPROF_CLI_DIFF_DIFF_H
#define EPPROF_CLI_DIFF_DIFF_H

#include "cli/cli.h"
#include "epprof/compare.h"
#include "epprof/summary.h"

enum diff_format { DIFF_TEXT, DIFF_MARKDOWN, DIFF_JSON, DIFF_CSV };

struct diff_options {
	size_t top;
	enum diff_format format;
	bool has_limit;
	double limit; /* 0.1: 10 % */
	uint64_t warmup_count;
	const char *trace_ids[2]; /* before, after: only events of requests with this trace id; NULL: all */
	const char *run;          /* the name of the events that are runs; NULL: the default */
};

/* One trace each.  Returns an enum cli_exit. */
int diff_pair(char *const *paths, const struct diff_options *options);

/* ---- sets of traces ---- */

struct diff_set {
	char **paths;
	size_t count;
};

/* What names have in one trace. */
struct diff_measure {
	char *name;
	size_t name_bytes;
	char *of; /* of kernels and ops the operator type, of operator types the provider; "": not known */
	epp_summary_by by;
	uint32_t category;
	unsigned set; /* 0: before, 1: after */
	uint64_t count;
	double median_ns;
};

/* A name in both sets. */
struct diff_row {
	const struct diff_measure *measure; /* of one trace; NULL: the time of a run */
	const double *values[2];            /* ns, one for each trace that has it */
	size_t runs[2];
	uint64_t events[2];
	const epp_change *change; /* NULL: not compared */
	double cost_ns;           /* the change of the time of all its events in a trace */
};

struct diff_notes {
	char **texts;
	size_t count;
};

struct diff_report {
	const struct diff_set *sets; /* before, after */
	const struct diff_options *options;
	const char *run_name; /* of the events whose median is the time of a run; NULL: from the first to the last event */
	struct diff_row run;
	struct diff_row *rows; /* worst first */
	size_t rows_count;
	size_t slower_count, faster_count;
	bool is_beyond; /* something is slower by more than the limit */
	struct diff_notes notes;
};

/* Compares two sets, of which one has at least two traces.  Returns an enum cli_exit. */
int diff_sets(const struct diff_set sets[2], const struct diff_options *options);
/* Prints a comparison in the format of its options. */
void diff_print(const struct diff_report *report);

/* ---- diff_notes.c ---- */

/* What the traces themselves are, for notes. */
struct diff_facts;

/* Makes room for `count` traces; NULL without memory. */
struct diff_facts *diff_facts_create(size_t count);
/* Takes the facts of a trace; `path` is borrowed. */
void diff_facts_take(struct diff_facts *facts, const char *path, unsigned set, const epp_trace *trace);
/* Adds a note for each doubt about the comparison of the traces, and prints it on standard error.  A lack of memory is
 * reported by cli_finish, here and in diff_facts_take.  Ownership: the notes and their array are malloc, the caller's. */
void diff_facts_note(const struct diff_facts *facts, struct diff_notes *notes);
/* NULL does nothing. */
void diff_facts_destroy(struct diff_facts *facts);

#endif
