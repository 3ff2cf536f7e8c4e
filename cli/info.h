/* What info tells, and how it is printed for programs. */
#ifndef EPPROF_CLI_INFO_H
#define EPPROF_CLI_INFO_H

#include "accounts.h"

struct info {
	const char *path;
	epp_trace *trace;
	struct accounts accounts;
	bool all; /* every track and producer */
};

epp_status *info_print_text(const struct info *info) EPP_MUST_CHECK;
epp_status *info_print_json(const struct info *info) EPP_MUST_CHECK;

#endif
