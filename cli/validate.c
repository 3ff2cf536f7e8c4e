/* epprof validate: whether a trace is what it says it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "cli.h"

static const char
    help[] = "usage: epprof validate [OPTION]... TRACE\n"
	     "\n"
	     "Reads a whole trace and checks its structure, checksums, order, the pairing of events, ids, clocks, and\n"
	     "that no producer's event is unaccounted for.  Prints what it finds, one finding a line: how grave, where\n"
	     "in the file, what.\n"
	     "\n"
	     "Exit status 3 if there is any error.  Warnings and notes tell of what a reader coped with, such as the\n"
	     "end of a process that was killed.\n"
	     "\n"
	     "Options:\n"
	     "  --strict  exit with status 3 also for warnings, and if any event was lost\n"
	     "  --help    this text\n";

struct findings {
	uint64_t warnings;
};

static void print_finding(void *user, const epp_trace_finding *finding)
{
	static const char *const names[] = { "note", "warning", "error" };
	struct findings *findings = user;
	char *text = cli_clean(finding->text, strlen(finding->text));

	findings->warnings += finding->severity == EPP_WARNING;
	printf("%s: ", names[finding->severity <= EPP_ERROR ? finding->severity : EPP_ERROR]);
	if (finding->offset != UINT64_MAX)
		printf("at byte %" PRIu64 ": ", finding->offset);
	printf("%s\n", text ? text : "");
	free(text);
}

static int check(epp_trace *trace, const char *path, bool strict)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	struct findings findings = { 0 };
	struct accounts accounts;
	char records[CLI_NUMBER_BYTES], lost[CLI_NUMBER_BYTES];
	uint64_t errors = 0;

	epp_status *status = epp_trace_validate(trace, print_finding, &findings, &errors);
	if (!status)
		status = accounts_add_up(&accounts, trace);
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	if (errors) {
		printf("invalid: %" PRIu64 " %s\n", errors, errors == 1 ? "error" : "errors");
		return CLI_INVALID;
	}
	printf("valid: %s records, %s lost, %s\n", cli_count(info->records_count, records),
	       accounts.lost_total ? cli_count(accounts.lost_total, lost) : "none", cli_state(info->state));
	return strict && (findings.warnings || accounts.lost_total) ? CLI_INVALID : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { { "strict", no_argument, NULL, 'S' }, { 0 } };
	struct cli_options options = { &cli_validate, argc, argv, "", longs, CLI_OK };
	bool strict = false;
	epp_trace *trace;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		strict = strict || option == 'S';
	}
	const char *path = cli_options_trace(&options);
	if (!path)
		return options.exit;
	if (!cli_open(path, &trace))
		return CLI_UNREADABLE;
	int code = check(trace, path, strict);
	epp_trace_close(trace);
	return code;
}

const struct cli_command cli_validate = {
	.name = "validate", .summary = "checks a trace, from its structure to its accounts", .help = help, .run = run
};
