/* epprof merge: merges several traces into one. */
#include "epprof/merge.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli/shared/accounts.h"

static const char
    help[] = "usage: epprof merge [OPTION]... -o FILE.epp TRACE TRACE...\n"
	     "\n"
	     "Makes one trace of several: the processes of a job, a server and its clients.  Each stays a process of\n"
	     "its own; their times come onto one clock, and standard error tells how well.  Traces of one machine\n"
	     "since one boot share a clock.  Those of other machines are brought on by the time of day, or by events\n"
	     "that all have; how far two machines' times of day differed is in no trace.  A trace that does not know\n"
	     "the time of day begins with the first one, and is marked.\n"
	     "\n"
	     "Options:\n"
	     "  -o, --output FILE  where to\n"
	     "  --align NAME       events of this name, barriers say, ended at one moment in all processes; brings\n"
	     "                     machines together, so nothing is looked for where all is of one\n"
	     "  --align-starts     they began at one moment\n"
	     "  --strict           a clock that cannot be related is an error, as are events of --align that are\n"
	     "                     missing, and names without room\n"
	     "  --force            replaces FILE if it exists\n"
	     "  --help             this text\n";

static int explain_failure(epp_status *status)
{
	epp_code code = epp_status_code(status);

	if (cli_signal) {
		epp_status_release(status);
		raise(cli_signal);
		return CLI_FAILURE;
	}
	if (code == EPP_CORRUPT)
		return cli_unreadable(status);
	if (code != EPP_UNAVAILABLE && code != EPP_INCOMPATIBLE)
		return cli_failure(status);
	fprintf(stderr, "epprof: %s%s\n", epp_status_message(status),
	        code == EPP_UNAVAILABLE ? "; --force replaces it" : "");
	epp_status_release(status);
	return code == EPP_INCOMPATIBLE ? CLI_INVALID : CLI_FAILURE;
}

static int merge(epp_trace **traces, size_t count, const char *output, const epp_merge_options *options)
{
	struct accounts *accounts = calloc(count, sizeof *accounts);
	char records[CLI_COUNTED_BYTES];
	epp_merge_counts counts;
	epp_status *status = accounts ? NULL : epp_status_no_memory();
	int code = CLI_OK;

	cli_catch_signals();
	for (size_t i = 0; i < count && !status; i++)
		status = accounts_add_up(&accounts[i], traces[i]);
	if (status) {
		code = cli_unreadable(status);
	} else if ((status = epp_trace_merge(traces, count, output, options, cli_print_receipt, NULL, &counts)) != NULL) {
		code = explain_failure(status);
	} else {
		fprintf(stderr, "epprof: wrote %s: %s, %u process%s on %u machine%s\n", output,
		        cli_counted(counts.records, "record", records), counts.sources, counts.sources == 1 ? "" : "es",
		        counts.machines, counts.machines == 1 ? "" : "s");
		for (size_t i = 0; i < count; i++)
			accounts_warn(&accounts[i]);
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
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' }, { "align", required_argument, NULL, 'a' },
		{ "align-starts", no_argument, NULL, 'A' }, { "strict", no_argument, NULL, 'S' },
		{ "force", no_argument, NULL, '!' },        { 0 }
	};
	struct cli_options options = { &cli_merge, argc, argv, "o:", longs, CLI_OK };
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
		return cli_misuse(&cli_merge, "where to?  -o FILE.epp");
	if (!cli_takes_trace(&cli_merge, output))
		return CLI_USAGE;
	if (merge_options.align_starts && !merge_options.align)
		return cli_misuse(&cli_merge, "--align-starts says how --align NAME is meant");
	for (int i = optind; i < argc; i++) {
		if (cli_is_same_file(argv[i], output))
			return cli_misuse(&cli_merge, "'%s' is one of the traces itself", output);
	}
	return open_and_merge(argv + optind, (size_t)(argc - optind), output, &merge_options);
}

const struct cli_command cli_merge = {
	.name = "merge", .summary = "makes one trace of several processes' and machines'", .help = help, .run = run
};
