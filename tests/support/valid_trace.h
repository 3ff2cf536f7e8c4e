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

/* Asserts that an account balances, and shows its terms. */
static inline void check_balance(const epp_trace_ledger_entry *account)
{
	ck_assert_msg(account->balanced, "%s: emitted %llu, written %llu, lost %llu, open %llu", account->producer,
	              (unsigned long long)account->emitted, (unsigned long long)account->written,
	              (unsigned long long)account->lost_total, (unsigned long long)account->open);
}

static inline epp_trace *open_valid(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	check_valid(trace);
	return trace;
}

#endif
