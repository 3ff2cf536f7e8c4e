/* Exports a trace into a file, for several commands: their common options and messages. */
#ifndef EPPROF_CLI_SHARED_CONVERSION_H
#define EPPROF_CLI_SHARED_CONVERSION_H

#include "accounts.h"
#include "cli/cli.h"
#include "epprof/export.h"

struct conversion {
	const struct cli_command *command;
	const char *input, *output, *format;
	const char *post;            /* URL of an HTTP server that gets the export instead of a file; NULL: none */
	int64_t post_limit_ns;       /* time limit for each message to the server */
	epp_timeline_options window; /* which events are exported */
	epp_export_options options;
	int64_t from_ns, to_ns; /* values of --from and --to, since the beginning of the trace */
	/* force: an existing output is replaced.  strict: losses of the trace, and data that the export leaves out,
	 * give CLI_INVALID. */
	bool force, strict;
};

/* The options for getopt_long, and their help text. */
#define CONVERSION_LONGS \
	{ "output", required_argument, NULL, 'o' }, { "from", required_argument, NULL, 'F' }, \
	    { "to", required_argument, NULL, 'T' }, { "min-duration", required_argument, NULL, 'D' }, \
	    { "name", required_argument, NULL, 'N' }, { "track", required_argument, NULL, 'K' }, \
	    { "process", required_argument, NULL, 'P' }, { "trace-id", required_argument, NULL, 'Q' }, \
	    { "force", no_argument, NULL, '!' }, \
	{ \
		"strict", no_argument, NULL, 'S' \
	}
#define CONVERSION_HELP \
	"  --from TIME        only events that end after this time since the trace's beginning: 250us, 1.5ms, 2s\n" \
	"  --to TIME          only events that start before this time\n" \
	"  --min-duration TIME  only events with at least this duration\n" \
	"  --name PATTERN     only events whose name matches; patterns as in the shell: 'gemm*'\n" \
	"  --track PATTERN    only events of threads and streams whose name matches\n" \
	"  --process PATTERN  only events of a process (its number, program, label or host) or device that matches\n" \
	"  --trace-id ID      only events of requests with this W3C trace id\n"

void conversion_init(struct conversion *conversion, const struct cli_command *command);
/* Handles an option if it is one of CONVERSION_LONGS, and ignores others.  Returns false if an error was reported. */
bool conversion_option(struct conversion *conversion, int option);
/* Checks the options.  `input`, `output` and `format` must be set.  Returns CLI_OK, or CLI_USAGE after an error was
 * reported. */
int conversion_check(struct conversion *conversion);
/* Exports the trace, and prints what was left out and what was written.  Returns an enum cli_exit.  If a signal stopped
 * the export, ends this process by the same signal. */
int conversion_run(const struct conversion *conversion);
/* Calls conversion_check and conversion_run.  Without `output`, the file is written beside the input, with `extension`
 * in the place of ".epp".  Returns an enum cli_exit. */
int conversion_run_beside(struct conversion *conversion, const char *extension);
/* Returns the exit status of a successful export.  With --strict it is CLI_INVALID if the trace has losses or damage,
 * or if the export left something out (`left_out`).  Without --strict, warnings about the trace are printed. */
int conversion_judge(const struct conversion *conversion, const struct accounts *accounts, bool left_out);
/* Prints why an export failed, and releases the status.  Returns an enum cli_exit. */
int conversion_explain(epp_status *status);

#endif
