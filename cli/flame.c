/* epprof flame: draws a flame graph: the time of each stack of events. */
#include "cli/shared/conversion.h"

static const char
    help[] = "usage: epprof flame [OPTION]... TRACE\n"
	     "\n"
	     "Draws a flame graph: time by stack of host events over all threads, and device time by the host stack that\n"
	     "launched the work.  Point at a frame for details; click it to zoom.\n"
	     "\n"
	     "Options:\n"
	     "  -o, --output FILE  the output file; '-' is standard output; the default is TRACE's name with .flame.svg\n" CONVERSION_HELP
	     "  --force            replace FILE if it exists\n"
	     "  --strict           exit with status 3 if events were lost or are not shown\n"
	     "  --help             print this text\n";

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { CONVERSION_LONGS, { 0 } };
	struct cli_options options = { &cli_flame, argc, argv, "o:", long_options, CLI_OK };
	struct conversion conversion;
	int option;

	conversion_init(&conversion, &cli_flame);
	conversion.format = "flame";
	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (!conversion_option(&conversion, option))
			return CLI_USAGE;
	}
	conversion.input = cli_options_trace(&options);
	return conversion.input ? conversion_run_beside(&conversion, ".flame.svg") : options.exit;
}

const struct cli_command cli_flame = {
	.name = "flame", .summary = "draws a flame graph: host and device time by stack", .help = help, .run = run
};
