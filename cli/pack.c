/* epprof pack: the same trace in less room, with an index. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "epprof/trace_writer.h"

static const char help[] = "usage: epprof pack [OPTION]... -o FILE.epp TRACE\n"
			   "       epprof pack --in-place TRACE\n"
			   "\n"
			   "Writes a trace anew in a third to two thirds of its room: records in columns under zstd, with an index\n"
			   "by which a stretch of time is read without the rest.  Every command reads it and says the same of it.\n"
			   "A trace whose process was killed is recovered on the way.  'epprof recover' unpacks.\n"
			   "\n"
			   "Options:\n"
			   "  -o, --output FILE  where to\n"
			   "  --in-place         replaces TRACE itself, once the new file is whole\n"
			   "  --force            replaces FILE if it exists\n"
			   "  --help             this text\n";

/* What a file takes on the disk: holes count for nothing. */
static uint64_t disk_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

static int tell(uint64_t before_bytes, const char *output)
{
	char records[CLI_NUMBER_BYTES], from[CLI_NUMBER_BYTES], to[CLI_NUMBER_BYTES];
	epp_trace *trace;

	if (!cli_open(output, &trace))
		return CLI_FAILURE;
	const epp_trace_info *after = epp_trace_get_info(trace);
	fprintf(stderr, "epprof: wrote %s: %s records, %s instead of %s", output, cli_count(after->records_count, records),
	        cli_bytes(disk_bytes(output), to), cli_bytes(before_bytes, from));
	if (after->records_count)
		fprintf(stderr, ", %.2f bytes each", (double)after->file_bytes / (double)after->records_count);
	fputc('\n', stderr);
	epp_trace_close(trace);
	return CLI_OK;
}

static int pack(const char *input, const char *output, bool overwrite)
{
	uint64_t before_bytes = disk_bytes(input);
	epp_trace *trace;

	if (!cli_open(input, &trace))
		return CLI_UNREADABLE;
	epp_status *status = epp_trace_pack(trace, output, overwrite);
	int code = status ? cli_not_written(status) : tell(before_bytes, output);
	epp_trace_close(trace);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
		                               { "in-place", no_argument, NULL, 'i' },
		                               { "force", no_argument, NULL, '!' },
		                               { 0 } };
	struct cli_options options = { &cli_pack, argc, argv, "o:", longs, CLI_OK };
	const char *output = NULL;
	bool in_place = false, force = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		in_place |= option == 'i';
		force |= option == '!';
	}
	const char *input = cli_options_trace(&options);
	if (!input)
		return options.exit;
	if (!output == !in_place)
		return cli_misuse(&cli_pack, "where to?  -o FILE.epp, or --in-place");
	if (output && !cli_takes_trace(&cli_pack, output))
		return CLI_USAGE;
	if (output && cli_is_same_file(input, output))
		return cli_misuse(&cli_pack, "'%s' is the trace itself; --in-place replaces it", output);
	return pack(input, in_place ? input : output, force || in_place);
}

const struct cli_command cli_pack = {
	.name = "pack", .summary = "the same trace in less room, with an index", .help = help, .run = run
};
