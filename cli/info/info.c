/* epprof info: prints the properties of a trace. */
#include "info.h"

static const char help[] =
    "usage: epprof info [OPTION]... TRACE\n"
    "\n"
    "Tells what a trace is: the program it comes from, its clock and how good it was, its runs, its tracks (threads\n"
    "and streams of devices), and the ledger: how many events each producer emitted, and what became of them.\n"
    "Each event is written, open or lost, and what was lost has a reason:\n"
    "\n"
    "  no buffer    memory for records was used up          refused      it broke a rule, such as end before start\n"
    "  no slot      too many threads at once                disk         a write failed\n"
    "  too deep     more than 64 open events on a thread    policy       the limit of the file's size\n"
    "  after end    its end came after the session's        restart gap  a plugin was being restarted\n"
    "  filter       filtered out on request                 plugin       lost inside a plugin, by its own account\n"
    "  too large    args were cut (the event is kept)       killed       a plugin's, in hand when the process was killed\n"
    "  plugin hung  a plugin's, of which a call did not return; 1 if nobody knows how many\n"
    "\n"
    "Options:\n"
    "  --all            every track and producer, not the first 20\n"
    "  --format FORMAT  text or json\n"
    "  --strict         exit with status 3 if anything was lost or an account does not balance\n"
    "  --help           this text\n";

static int run(int argc, char **argv)
{
	static const struct option longs[] = { { "all", no_argument, NULL, 'a' },
		                               { "format", required_argument, NULL, 'f' },
		                               { "strict", no_argument, NULL, 'S' },
		                               { 0 } };
	static const char *const formats[] = { "text", "json", NULL };
	struct cli_options options = { &cli_info, argc, argv, "", longs, CLI_OK };
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
	.summary = "what a trace is: program, clock, tracks, losses",
	.help = help,
	.run = run,
};
