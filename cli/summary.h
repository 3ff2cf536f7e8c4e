/* A summary, and the three ways to print it. */
#ifndef EPPROF_CLI_SUMMARY_H
#define EPPROF_CLI_SUMMARY_H

#include "accounts.h"
#include "tally.h"

struct summary {
	const char *path;
	epp_trace *trace;
	struct tally tally; /* its tables are sorted */
	struct accounts accounts;
	bool shown[TALLY_KINDS];
	size_t top; /* lines a table */
};

void summary_print_text(const struct summary *summary);
void summary_print_csv(const struct summary *summary);
void summary_print_json(const struct summary *summary);

#endif
