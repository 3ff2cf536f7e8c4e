/* epprof pack: the same trace in less room, with an index. */
#include <stdio.h>
#include <sys/stat.h>

#include "accounts.h"
#include "cli.h"
#include "epprof/trace_writer.h"
#include "rewrite.h"

static const char help[] = "usage: epprof pack [OPTION]... -o FILE.epp TRACE\n"
			   "       epprof pack --in-place TRACE\n"
			   "\n"
			   "Writes a trace anew in a third to two thirds of its room: records in columns under zstd, with an index\n"
			   "by which a stretch of time is read without the rest.  Every command reads it and says the same of it.\n"
			   "A trace whose process was killed is recovered on the way.  'epprof recover' unpacks.\n"
			   "\n"
			   "Options:\n" REWRITE_HELP;

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
	if (code == CLI_OK)
		code = accounts_warn(trace);
	epp_trace_close(trace);
	return code;
}

static int run(int argc, char **argv)
{
	return rewrite_run(&cli_pack, argc, argv, pack);
}

const struct cli_command cli_pack = {
	.name = "pack", .summary = "the same trace in less room, with an index", .help = help, .run = run
};
