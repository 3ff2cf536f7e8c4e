/* epprof report: writes a trace as an HTML page. */
#include "cli/shared/conversion.h"

static const char
    help[] = "usage: epprof report [OPTION]... TRACE\n"
	     "\n"
	     "Writes a report: one HTML page that works offline in any browser.  It has a timeline with pan, zoom and\n"
	     "search, whose rows can be folded, moved and pinned; the cause and effects of each event, the summary as\n"
	     "tables, the causes of idle streams, losses and the accuracy of the clocks.  Press ? in the page for its keys.\n"
	     "\n"
	     "The tables include all events.  A timeline of more than --events events shows the part of the trace in which\n"
	     "devices (or threads, if there are no devices) were busiest; --show-from and --show-to choose another.\n"
	     "\n"
	     "Options:\n"
	     "  -o, --output FILE  the output file; '-' is standard output; the default is TRACE's name with .html\n"
	     "  --events N         maximum number of events in the timeline; the default is 2000000\n"
	     "  --show-from TIME   the timeline begins at this time since the trace's beginning; the tables do not change\n"
	     "  --show-to TIME     the timeline ends at this time\n" CONVERSION_HELP
	     "  --force            replace FILE if it exists\n"
	     "  --strict           exit with status 3 if events were lost or are not shown\n"
	     "  --help             print this text\n";

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { CONVERSION_LONGS,
		                                      { "events", required_argument, NULL, 'E' },
		                                      { "show-from", required_argument, NULL, 'A' },
		                                      { "show-to", required_argument, NULL, 'B' },
		                                      { 0 } };
	struct cli_options options = { &cli_report, argc, argv, "o:", long_options, CLI_OK };
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
		if (option == 'A' && !cli_time(&cli_report, "--show-from", &conversion.options.show_from_ns))
			return CLI_USAGE;
		if (option == 'B' && !cli_time(&cli_report, "--show-to", &conversion.options.show_to_ns))
			return CLI_USAGE;
	}
	if (conversion.options.show_to_ns && conversion.options.show_to_ns <= conversion.options.show_from_ns)
		return cli_misuse(&cli_report, "--show-to must be later than --show-from");
	conversion.options.events_max = (uint32_t)events_max;
	conversion.input = cli_options_trace(&options);
	return conversion.input ? conversion_run_beside(&conversion, ".html") : options.exit;
}

const struct cli_command cli_report = {
	.name = "report", .summary = "writes an HTML report with a timeline and tables", .help = help, .run = run
};
