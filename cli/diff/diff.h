/* Declarations shared by the files of epprof diff.
 *
 *   diff.c         the command line
 *   diff_pair.c    two traces: the noise is measured within each of them
 *   diff_sets.c    two sets of traces: the noise is measured between the traces of a set
 *   diff_notes.c   notes about differences that make traces hard to compare
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
	double limit; /* relative slowdown above which the exit status is 3 (--limit): 0.1 is 10 % */
	uint64_t warmup_count;
	/* [0]: before, [1]: after; only events of requests with this trace id are compared; NULL: all events */
	const char *trace_ids[2];
	const char *run; /* name of the events that are runs; NULL: the default */
};

/* Compares two traces.  Returns an enum cli_exit. */
int diff_pair(char *const *paths, const struct diff_options *options);

/* ---- sets of traces ---- */

struct diff_set {
	char **paths;
	size_t count;
};

/* The events with one name in one trace. */
struct diff_measure {
	char *name;
	size_t name_bytes;
	char *of;          /* operator type of a kernel or op, provider of an operator type; "": not known */
	epp_summary_by by; /* whether the name is that of an op, a kernel or an operator type */
	uint32_t category;
	unsigned set;     /* 0: before, 1: after */
	uint64_t count;   /* number of the events */
	double median_ns; /* median of their durations */
};

/* A name that is compared in both sets. */
struct diff_row {
	/* the events in one of the traces, which have the name; NULL: the values are lengths of whole traces */
	const struct diff_measure *measure;
	/* Below, [0]: before, [1]: after. */
	const double *values[2];  /* medians in ns, one for each trace of the set that has the name */
	size_t runs[2];           /* number of values */
	uint64_t events[2];       /* number of events with the name in all traces of the set */
	const epp_change *change; /* NULL: not compared, because some trace lacks the name */
	double cost_ns;           /* change of the total time of the name's events in one trace; above 0: slower */
};

struct diff_notes {
	char **texts;
	size_t count;
};

struct diff_report {
	const struct diff_set *sets; /* [0]: before, [1]: after */
	const struct diff_options *options;
	/* name of the events whose median is the time of a run; NULL: a run is the time from the first to the last
	 * event */
	const char *run_name;
	struct diff_row run;
	struct diff_row *rows; /* sorted, the worst change first */
	size_t rows_count;
	size_t slower_count, faster_count; /* number of rows with this verdict */
	bool is_beyond;                    /* the time of a run, or a row, is slower by more than the limit */
	struct diff_notes notes;
};

/* Compares two sets of traces, one of which has at least two.  Returns an enum cli_exit. */
int diff_sets(const struct diff_set sets[2], const struct diff_options *options);
/* Prints a comparison in the format of its options. */
void diff_print(const struct diff_report *report);

/* ---- diff_notes.c ---- */

/* Properties of all traces, from which the notes are made. */
struct diff_facts;

/* Makes room for `count` traces.  NULL: no memory. */
struct diff_facts *diff_facts_create(size_t count);
/* Reads the properties of a trace.  `path` is borrowed. */
void diff_facts_take(struct diff_facts *facts, const char *path, unsigned set, const epp_trace *trace);
/* Adds a note for each doubt about the comparison of the traces, and prints it on standard error.  A lack of memory,
 * here and in diff_facts_take, is reported by cli_exit_code.  Ownership: the caller frees the notes and their array. */
void diff_facts_note(const struct diff_facts *facts, struct diff_notes *notes);
/* NULL does nothing. */
void diff_facts_destroy(struct diff_facts *facts);

#endif
