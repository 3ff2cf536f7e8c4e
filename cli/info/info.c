/* epprof info: prints the properties of a trace. */
#include "info.h"

static const char help[] = "usage: epprof info [OPTION]... TRACE\n"
			   "\n"
			   "Describes a trace: its program, clock and clock accuracy, runs, tracks (threads and device\n"
			   "streams), and the ledger: the number of events that each producer emitted, and what became\n"
			   "of them.  Each event is written, open or lost.  The reasons for losses are:\n"
			   "\n"
			   "  no buffer          no free memory for records\n"
			   "  no slot            too many threads at once\n"
			   "  too deep           more than 64 open events on a thread\n"
			   "  too large          args were cut: counts cuts, the event is kept\n"
			   "  refused            an invalid event, such as one without a name\n"
			   "  disk               a write failed\n"
			   "  policy             the file's size limit was reached\n"
			   "  filter             filtered out on request\n"
			   "  after end          it ended after the session\n"
			   "  restart gap        a plugin was being restarted: counts gaps, not events\n"
			   "  plugin             lost inside a plugin, as it reported\n"
			   "  killed             in a plugin's buffer when the process died\n"
			   "  plugin hung        a call into the plugin did not return; 1 if the number is unknown\n"
			   "  before start       a plugin's event that, by its times, began before the run\n"
			   "  negative duration  a plugin's event that, by its times, ended before it began\n"
			   "  throttled          left out to stay within the budget for overhead\n"
			   "\n"
			   "Options:\n"
			   "  --all            list every track and producer, not only the first 20\n"
			   "  --format FORMAT  text or json\n"
			   "  --strict         exit with status 3 if events were lost or the counts do not add up\n"
			   "  --help           print this text\n";

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "all", no_argument, NULL, 'a' },
		                                      { "format", required_argument, NULL, 'f' },
		                                      { "strict", no_argument, NULL, 'S' },
		                                      { 0 } };
	static const char *const formats[] = { "text", "json", NULL };
	struct cli_options options = { &cli_info, argc, argv, "", long_options, CLI_OK };
	struct info info = { 0 };
	bool strict = false;
	int option, format = 0;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'f' && (format = cli_choice(&cli_info, "--format", formats)) < 0)
			return CLI_USAGE;
		info.all = info.all || option == 'a';
		strict = strict || option == 'S';
	}
	info.path = cli_options_trace(&options);
	if (!info.path)
		return options.exit;
	int code = cli_open(info.path, &info.trace);
	if (code != CLI_OK)
		return code;
	epp_status *status = accounts_add_up(&info.accounts, info.trace);
	cli_progress_end();
	if (!status)
		status = format == 0 ? info_print_text(&info) : info_print_json(&info);
	if (status)
		code = cli_unreadable(epp_status_prefix(status, "%s", info.path));
	else if (strict)
		code = accounts_strict(&info.accounts);
	epp_trace_close(info.trace);
	return code;
}

const struct cli_command cli_info = {
	.name = "info",
	.summary = "describes a trace: program, clock, tracks, losses",
	.help = help,
	.run = run,
};
