/* epprof import: converts another profiler's file into a trace. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "epprof/import.h"

static const char help[] = "usage: epprof import [OPTION]... -o FILE.epp PROFILE\n"
			   "\n"
			   "Converts another profiler's file to a trace; '-' reads standard input.  FILE.epp appears when it is\n"
			   "complete.  What was repaired, guessed or left out is reported on standard error and stored in the trace.\n"
			   "\n"
			   "Formats:\n";
static const char help_rest[] = "\n"
				"Options:\n"
				"  -o, --output FILE  the output file\n"
				"  -t, --type FORMAT  the format of PROFILE; by default it is detected from the file's first bytes\n"
				"  --label TEXT       a label for the trace; the default is the file's name\n"
				"  --force            replace FILE if it exists\n"
				"  --help             print this text\n";

static void print_formats(void)
{
	const epp_import_format *format;

	for (size_t i = 0; (format = epp_import_format_at(i)) != NULL; i++)
		printf("  %-8s %s\n", format->name, format->description);
}

/* Returns the format that optarg names; NULL: there is none, which was reported. */
static const char *choose_format(void)
{
	const char *names[64] = { NULL };

	for (size_t i = 0; i < 63 && epp_import_format_at(i); i++)
		names[i] = epp_import_format_at(i)->name;
	int index = cli_choice(&cli_import, "--type", names);
	return index < 0 ? NULL : names[index];
}

/* ---- the import ---- */

static void print_counts(const char *output, const epp_import_counts *counts)
{
	char events[CLI_COUNTED_BYTES], correlated[CLI_NUMBER_BYTES], inferred[CLI_NUMBER_BYTES],
	    ambiguous[CLI_NUMBER_BYTES], alone[CLI_NUMBER_BYTES];

	fprintf(stderr, "epprof: wrote %s: %s", output, cli_counted(counts->events, "event", events));
	if (counts->correlated || counts->inferred || counts->ambiguous || counts->uncorrelated)
		fprintf(stderr, "; device events: %s correlated, %s inferred, %s ambiguous, %s uncorrelated",
		        cli_count(counts->correlated, correlated), cli_count(counts->inferred, inferred),
		        cli_count(counts->ambiguous, ambiguous), cli_count(counts->uncorrelated, alone));
	fprintf(stderr, "\n");
}

/* Returns true if the input cannot be opened for reading.  Used after EPP_NOT_FOUND, which may also mean that the
 * folder of the output does not exist. */
static bool is_unreadable(const char *input)
{
	struct stat st;

	if (strcmp(input, "-") == 0)
		return false;
	return access(input, R_OK) != 0 || (stat(input, &st) == 0 && S_ISDIR(st.st_mode));
}

static int import(const char *input, const char *output, const epp_import_options *options)
{
	epp_import_counts counts = { .struct_size = sizeof(counts) };

	cli_catch_signals();
	cli_progress_begin();
	epp_status *status = epp_import_file(input, output, options, cli_print_receipt, NULL, &counts);
	cli_progress_end();
	if (cli_signal)
		return cli_interrupted(status);
	if (!status) {
		print_counts(output, &counts);
		cli_warn_of_writers(output);
		return CLI_OK;
	}
	epp_code code = epp_status_code(status);
	if (code == EPP_CORRUPT || is_unreadable(input))
		return cli_unreadable(status);
	return cli_not_written(status);
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "output", required_argument, NULL, 'o' },
		                                      { "type", required_argument, NULL, 't' },
		                                      { "label", required_argument, NULL, 'l' },
		                                      { "force", no_argument, NULL, '!' },
		                                      { 0 } };
	struct cli_options options = { &cli_import, argc, argv, "o:t:", long_options, CLI_OK };
	epp_import_options import_options = { .struct_size = sizeof import_options, .cancel = &cli_signal };
	const char *output = NULL;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		if (option == 't' && !(import_options.format = choose_format()))
			return CLI_USAGE;
		if (option == 'l')
			import_options.label = optarg;
		import_options.overwrite |= option == '!';
	}
	const char *input = cli_options_one(&options, "profile");
	if (!input)
		return options.exit;
	if (!output)
		return cli_misuse(&cli_import, "-o FILE.epp is missing");
	if (!cli_takes_trace(&cli_import, output))
		return CLI_USAGE;
	if (cli_is_same_file(input, output))
		return cli_misuse(&cli_import, "'%s' is the input file", output);
	return import(input, output, &import_options);
}

const struct cli_command cli_import = {
	.name = "import",
	.summary = "converts another profiler's file to a trace: ONNX Runtime, Chrome, Kineto, XSpace",
	.help = help,
	.help_list = print_formats,
	.help_rest = help_rest,
	.run = run,
};
