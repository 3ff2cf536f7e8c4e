/* epprof amend: adds device events that came after the end of a recording to its trace. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli/shared/accounts.h"
#include "epprof/import.h"
#include "epprof/merge.h"

static const char help[] =
    "usage: epprof amend [OPTION]... -o FILE.epp TRACE LATE...\n"
    "       epprof amend [OPTION]... --in-place TRACE LATE...\n"
    "\n"
    "Adds the device events of the files LATE to a finished trace: events that a device delivered, or wrote to a\n"
    "file, after the recording had ended.  LATE is a trace, or a profile that 'epprof import' reads.\n"
    "\n"
    "An event is joined to the host event of TRACE that it names: by its parent or its arg 'token' or\n"
    "'external_id', which is the id of the host event (a token of the kit), or by its arg 'correlation' or\n"
    "'correlation_id', which the host event has, too.  Its time is converted if both clocks are of one machine since\n"
    "the same boot, or both have wall-clock time; else it keeps its duration, in its host event.  Events that were\n"
    "counted as lost after the end, and have come now, are not lost any more.  An event that was added before is\n"
    "not added again; events that TRACE has from the device itself are not recognized.\n"
    "\n"
    "The output is unpacked; 'epprof pack' makes it smaller.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE  the output file\n"
    "  --in-place         replace TRACE itself when the new file is complete\n"
    "  --profiler NAME    the profiler of TRACE to which the events belong; by default the one with the name of\n"
    "                     theirs, else the only one that lost events after the end, else a new one\n"
    "  --force            replace FILE if it exists\n"
    "  --help             print this text\n";

/* ---- late files: traces and profiles with the device events that came late ---- */

/* Returns true if a file begins as a trace does, and also if it cannot be read, so that opening it as a trace reports
 * the error. */
static bool is_trace(const char *path)
{
	static const char magic[] = "\x89"
				    "EPPROF\n";
	char bytes[sizeof magic - 1];
	size_t count = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return true;
	while (got > 0 && count < sizeof bytes) {
		got = read(fd, bytes + count, sizeof bytes - count);
		count += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	return got < 0 || (count == sizeof bytes && memcmp(bytes, magic, sizeof bytes) == 0);
}

/* Imports another profiler's file into a temporary trace and opens this trace.  Returns an enum cli_exit. */
static int open_profile(const char *path, epp_trace **trace)
{
	const epp_import_options options = { .struct_size = sizeof options, .cancel = &cli_signal, .overwrite = 1 };
	const char *folder = secure_getenv("TMPDIR");
	char *temporary;

	*trace = NULL;
	if (asprintf(&temporary, "%s/epprof-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		cli_no_memory();
		return CLI_FAILURE;
	}
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "epprof: %s: %s\n", temporary, strerror(errno));
		free(temporary);
		return CLI_FAILURE;
	}
	close(fd);
	epp_status *status = epp_import_file(path, temporary, &options, cli_print_receipt, NULL, NULL);
	int code = CLI_OK;
	if (!status)
		code = cli_open(temporary, trace);
	else
		code = epp_status_code(status) == EPP_CORRUPT ? cli_unreadable(status) : cli_failure(status);
	unlink(temporary);
	free(temporary);
	return code;
}

/* Opens the trace paths[0] and the late files paths[1], ..., and adds up the ledger of each.  Returns an enum
 * cli_exit. */
static int open_all(char *const *paths, size_t count, epp_trace **traces, struct accounts *accounts)
{
	int code = CLI_OK;

	for (size_t i = 0; i < count && code == CLI_OK; i++) {
		code = !i || is_trace(paths[i]) ? cli_open(paths[i], &traces[i]) : open_profile(paths[i], &traces[i]);
		epp_status *status = code == CLI_OK ? accounts_add_up(&accounts[i], traces[i]) : NULL;
		if (status)
			code = cli_unreadable(status);
	}
	return code;
}

/* ---- the command ---- */

static void print_result(const char *output, const epp_amend_counts *counts)
{
	char added[CLI_COUNTED_BYTES], joined[CLI_NUMBER_BYTES], recovered[CLI_NUMBER_BYTES], number[CLI_NUMBER_BYTES];

	fprintf(stderr, "epprof: wrote %s: %s added, %s joined to host events; %s no longer lost after the end\n",
	        output, cli_counted(counts->added, "event", added), cli_count(counts->joined, joined),
	        cli_count(counts->recovered, recovered));
	if (counts->durations)
		fprintf(stderr, "epprof: %s of them keep only their duration: their clock has no relation to the trace\n",
		        cli_count(counts->durations, number));
	if (counts->ambiguous)
		fprintf(stderr, "epprof: %s of them have the number of several host events\n",
		        cli_count(counts->ambiguous, number));
	if (counts->known)
		fprintf(stderr, "epprof: %s left out, which the trace has already\n",
		        cli_counted(counts->known, "event", added));
	if (counts->left_out)
		fprintf(stderr, "epprof: %s left out, which are not of devices\n",
		        cli_counted(counts->left_out, "event", added));
}

static int explain_failure(epp_status *status)
{
	epp_code code = epp_status_code(status);

	if (cli_signal)
		return cli_interrupted(status);
	if (code == EPP_CORRUPT)
		return cli_unreadable(status);
	if (code != EPP_WRONG_STATE)
		return cli_not_written(status);
	cli_message(epp_status_message(status), ": 'epprof recover' finishes the trace of a process that was killed");
	epp_status_destroy(status);
	return CLI_FAILURE;
}

/* Writes `output` from the trace paths[0] and the late files paths[1], ...  Returns an enum cli_exit. */
static int amend(char *const *paths, size_t count, const char *output, const epp_amend_options *options)
{
	epp_amend_counts counts = { .struct_size = sizeof counts };
	epp_trace **traces = calloc(count, sizeof *traces);
	struct accounts *accounts = calloc(count, sizeof *accounts);
	epp_status *status = NULL;

	if (!traces || !accounts) {
		cli_no_memory();
		free(traces);
		free(accounts);
		return CLI_FAILURE;
	}
	cli_catch_signals();
	int code = open_all(paths, count, traces, accounts);
	if (code == CLI_OK)
		status = epp_trace_amend(traces[0], traces + 1, count - 1, output, options, cli_print_receipt, NULL,
		                         &counts);
	cli_progress_end();
	if (status) {
		code = explain_failure(status);
	} else if (code == CLI_OK) {
		print_result(output, &counts);
		accounts_warn_all(accounts, traces, count);
		cli_warn_of_writers(output);
	}
	for (size_t i = 0; i < count; i++)
		epp_trace_close(traces[i]);
	free(traces);
	free(accounts);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "output", required_argument, NULL, 'o' },
		                                      { "in-place", no_argument, NULL, 'i' },
		                                      { "profiler", required_argument, NULL, 'p' },
		                                      { "force", no_argument, NULL, '!' },
		                                      { 0 } };
	struct cli_options options = { &cli_amend, argc, argv, "o:", long_options, CLI_OK };
	epp_amend_options amend_options = { .struct_size = sizeof amend_options, .cancel = &cli_signal };
	const char *output = NULL;
	bool in_place = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		if (option == 'p')
			amend_options.profiler = optarg;
		in_place |= option == 'i';
		amend_options.overwrite |= option == '!';
	}
	if (argc - optind < 2)
		return cli_misuse(&cli_amend, argc == optind ? "which trace?" : "which late files?");
	if (!output == !in_place)
		return cli_misuse(&cli_amend, output ? "-o and --in-place exclude each other"
		                                     : "-o FILE.epp or --in-place is missing");
	if (output && !cli_takes_trace(&cli_amend, output))
		return CLI_USAGE;
	for (int i = optind; i < argc && output; i++) {
		if (cli_is_same_file(argv[i], output))
			return cli_misuse(&cli_amend, "'%s' is an input file%s", output,
			                  i == optind ? "; --in-place replaces it" : "");
	}
	amend_options.overwrite |= in_place;
	return amend(argv + optind, (size_t)(argc - optind), in_place ? argv[optind] : output, &amend_options);
}

const struct cli_command cli_amend = { .name = "amend",
	                               .summary = "adds events that came after the end of a recording to its trace",
	                               .help = help,
	                               .run = run };
