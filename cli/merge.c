/* epprof merge: merges several traces into one. */
#include "epprof/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli/shared/accounts.h"

static const char
    help[] = "usage: epprof merge [OPTION]... -o FILE.epp TRACE TRACE...\n"
	     "\n"
	     "Merges several traces into one: the processes of a job, or a server and its clients.  Each input remains\n"
	     "a process of its own; all times are converted to one clock, and the accuracy is reported on standard\n"
	     "error.  Traces of one machine since the same boot share a clock.  Traces of different machines are\n"
	     "aligned by wall-clock time, whose difference between machines is unknown, or by events that occur in all\n"
	     "of them.  A trace without wall-clock time is aligned to the start of the earliest trace and marked as\n"
	     "unaligned.\n"
	     "\n"
	     "Options:\n"
	     "  -o, --output FILE  the output file\n"
	     "  --align NAME       align the clocks of machines by the ends of the events NAME, usually barriers, which\n"
	     "                     are taken as simultaneous in all processes; no effect if all traces are of one machine\n"
	     "  --align-starts     the events of --align start simultaneously, instead of ending simultaneously\n"
	     "  --strict           fail if a clock cannot be aligned, events of --align are missing, or names do not fit\n"
	     "  --force            replace FILE if it exists\n"
	     "  --help             print this text\n";

static int explain_failure(epp_status *status)
{
	epp_code code = epp_status_code(status);

	if (cli_signal)
		return cli_interrupted(status);
	if (code == EPP_CORRUPT)
		return cli_unreadable(status);
	if (code != EPP_EXISTS && code != EPP_INCOMPATIBLE)
		return cli_failure(status);
	cli_message(epp_status_message(status), code == EPP_EXISTS ? "; --force replaces it" : "");
	epp_status_destroy(status);
	return code == EPP_INCOMPATIBLE ? CLI_INVALID : CLI_FAILURE;
}

static int merge(epp_trace **traces, size_t count, const char *output, const epp_merge_options *options)
{
	struct accounts *accounts = calloc(count, sizeof *accounts);
	char records[CLI_COUNTED_BYTES];
	epp_merge_counts counts = { .struct_size = sizeof(counts) };
	epp_status *status = accounts ? NULL : epp_status_no_memory();
	int code = CLI_OK;

	cli_catch_signals();
	for (size_t i = 0; i < count && !status; i++)
		status = accounts_add_up(&accounts[i], traces[i]);
	bool is_added_up = !status;
	if (!status)
		status = epp_trace_merge(traces, count, output, options, cli_print_receipt, NULL, &counts);
	cli_progress_end();
	if (status && !is_added_up) {
		code = cli_unreadable(status);
	} else if (status) {
		code = explain_failure(status);
	} else {
		fprintf(stderr, "epprof: wrote %s: %s, %u process%s on %u machine%s\n", output,
		        cli_counted(counts.records, "record", records), counts.sources, counts.sources == 1 ? "" : "es",
		        counts.machines, counts.machines == 1 ? "" : "s");
		accounts_warn_all(accounts, traces, count);
		cli_warn_of_writers(output);
	}
	free(accounts);
	return code;
}

static int open_and_merge(char *const *paths, size_t count, const char *output, const epp_merge_options *options)
{
	epp_trace **traces;
	int code = cli_open_all(paths, count, &traces);

	if (code != CLI_OK)
		return code;
	code = merge(traces, count, output, options);
	cli_close_all(traces, count);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' }, { "align", required_argument, NULL, 'a' },
		{ "align-starts", no_argument, NULL, 'A' }, { "strict", no_argument, NULL, 'S' },
		{ "force", no_argument, NULL, '!' },        { 0 }
	};
	struct cli_options options = { &cli_merge, argc, argv, "o:", long_options, CLI_OK };
	epp_merge_options merge_options = { .struct_size = sizeof merge_options, .cancel = &cli_signal };
	const char *output = NULL;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		if (option == 'a')
			merge_options.align = optarg;
		merge_options.align_starts |= option == 'A';
		merge_options.strict |= option == 'S';
		merge_options.overwrite |= option == '!';
	}
	if (argc - optind < 1)
		return cli_misuse(&cli_merge, "which traces?");
	if (!output)
		return cli_misuse(&cli_merge, "-o FILE.epp is missing");
	if (!cli_takes_trace(&cli_merge, output))
		return CLI_USAGE;
	if (merge_options.align_starts && !merge_options.align)
		return cli_misuse(&cli_merge, "--align-starts needs --align NAME");
	for (int i = optind; i < argc; i++) {
		if (cli_is_same_file(argv[i], output))
			return cli_misuse(&cli_merge, "'%s' is one of the input traces", output);
	}
	return open_and_merge(argv + optind, (size_t)(argc - optind), output, &merge_options);
}

const struct cli_command cli_merge = {
	.name = "merge", .summary = "merges traces of several processes or machines into one", .help = help, .run = run
};
