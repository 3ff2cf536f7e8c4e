/* epprof report: writes a trace as an HTML page. */
#include "cli/shared/conversion.h"

static const char help[] =
    "usage: epprof report [OPTION]... TRACE\n"
    "\n"
    "Writes a report: one page, for any browser, that needs nothing but itself.  In it a timeline to pan, zoom and\n"
    "search, with what each event is known to have caused; the summary as tables; why streams were idle; what was\n"
    "lost, and how well the clocks are known.  Press ? in it for its keys.\n"
    "\n"
    "The tables are of all events.  A timeline of more than --events of them shows the stretch of the trace in which\n"
    "devices (without any: threads) were busiest, among those with so few; --from and --to choose another.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE  where to; '-' is standard output; without it TRACE's name with .html\n"
    "  --events N         how many events the timeline holds; 2000000 if not given\n" CONVERSION_HELP
    "  --force            replaces FILE if it exists\n"
    "  --strict           exit with status 3 if anything was lost, or is not shown\n"
    "  --help             this text\n";

static int run(int argc, char **argv)
{
	static const struct option longs[] = { CONVERSION_LONGS, { "events", required_argument, NULL, 'E' }, { 0 } };
	struct cli_options options = { &cli_report, argc, argv, "o:", longs, CLI_OK };
	struct conversion conversion;
	long long events_max = 0;
	int option;

	conversion_init(&conversion, &cli_report);
	conversion.format = "html";
	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (!conversion_option(&conversion, option))
			return CLI_USAGE;
		if (option == 'E' && !cli_number(&cli_report, "--events", 1, 100000000, &events_max))
			return CLI_USAGE;
	}
	conversion.options.events_max = (uint32_t)events_max;
	conversion.input = cli_options_trace(&options);
	return conversion.input ? conversion_run_beside(&conversion, ".html") : options.exit;
}

const struct cli_command cli_report = {
	.name = "report", .summary = "a page with a timeline and tables, for any browser", .help = help, .run = run
};
