/* epprof recover: writes a finished trace from the file of a process that was killed while recording. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli/shared/accounts.h"
#include "cli/shared/rewrite.h"
#include "epprof/trace_writer.h"

static const char help[] = "usage: epprof recover [OPTION]... -o FILE.epp TRACE\n"
			   "       epprof recover --in-place TRACE\n"
			   "\n"
			   "Finishes the trace of a killed process: events in its window are written into blocks; open events end at the\n"
			   "end of the trace and are marked as unended.  Every command can also read the unfinished trace; the recovered\n"
			   "one is smaller, and its ledger is complete.\n"
			   "\n"
			   "Options:\n" REWRITE_HELP;

static void print_result(const epp_trace_info *info, const struct accounts *accounts, const char *output)
{
	char records[CLI_COUNTED_BYTES], window[CLI_NUMBER_BYTES], open[CLI_NUMBER_BYTES], lost[CLI_NUMBER_BYTES];

	fprintf(stderr, "epprof: wrote %s: %s", output, cli_counted(info->records_count, "record", records));
	if (info->recovered_records_count)
		fprintf(stderr, ", %s of them recovered from the window",
		        cli_count(info->recovered_records_count, window));
	fprintf(stderr, "; %s open; %s lost\n", info->open_count ? cli_count(info->open_count, open) : "none",
	        accounts->lost_total ? cli_count(accounts->lost_total, lost) : "none");
	accounts_warn(accounts);
}

static int recover(const char *input, const char *output, bool overwrite)
{
	struct accounts accounts;
	epp_status *status;
	epp_trace *trace;

	int code = cli_open(input, &trace);
	if (code != CLI_OK)
		return code;
	if (epp_trace_get_info(trace)->state == EPP_TRACE_FINISHED && input == output) {
		cli_progress_end();
		fprintf(stderr, "epprof: %s is already finished\n", input);
	} else if ((status = accounts_add_up(&accounts, trace)) != NULL) {
		code = cli_unreadable(status);
	} else if ((status = epp_trace_recover(trace, output, overwrite)) != NULL) {
		code = cli_not_written(status);
	} else {
		cli_progress_end();
		print_result(epp_trace_get_info(trace), &accounts, output);
	}
	epp_trace_close(trace);
	return code;
}

static int run(int argc, char **argv)
{
	return rewrite_run(&cli_recover, argc, argv, recover);
}

const struct cli_command cli_recover = {
	.name = "recover", .summary = "finishes the trace of a killed process", .help = help, .run = run
};
