/* Asserts that a trace obeys every rule of the format. */
#ifndef EPPROF_TESTS_SUPPORT_VALID_TRACE_H
#define EPPROF_TESTS_SUPPORT_VALID_TRACE_H

#include "check.h"
#include "epprof/trace_reader.h"

static inline void print_error(void *user, const epp_trace_finding *finding)
{
	(void)user;
	if (finding->severity != EPP_NOTE)
		printf("at %llu: %s\n", (unsigned long long)finding->offset, finding->text);
}

/* Validates the trace, and prints the findings. */
static inline void check_valid(epp_trace *trace)
{
	uint64_t errors;
	check_ok(epp_trace_validate(trace, print_error, NULL, &errors));
	ck_assert_uint_eq(errors, 0);
}

static inline epp_trace *open_valid(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	check_valid(trace);
	return trace;
}

#endif
