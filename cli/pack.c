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

/* The output has the input's records.  It is not opened again: that could fail with the output in place. */
static void tell(uint64_t records_count, uint64_t before_bytes, const char *output)
{
	char records[CLI_NUMBER_BYTES], from[CLI_NUMBER_BYTES], to[CLI_NUMBER_BYTES];
	struct stat st;

	fprintf(stderr, "epprof: wrote %s: %s records, %s instead of %s", output, cli_count(records_count, records),
	        cli_bytes(disk_bytes(output), to), cli_bytes(before_bytes, from));
	if (records_count && stat(output, &st) == 0)
		fprintf(stderr, ", %.2f bytes each", (double)st.st_size / (double)records_count);
	fputc('\n', stderr);
}

static int pack(const char *input, const char *output, bool overwrite)
{
	uint64_t before_bytes = disk_bytes(input);
	struct accounts accounts;
	epp_trace *trace;

	int code = cli_open(input, &trace);
	if (code != CLI_OK)
		return code;
	epp_status *status = accounts_add_up(&accounts, trace);
	if (status) {
		code = cli_unreadable(status);
	} else if ((status = epp_trace_pack(trace, output, overwrite)) != NULL) {
		code = cli_not_written(status);
	} else {
		tell(epp_trace_get_info(trace)->records_count, before_bytes, output);
		accounts_warn(&accounts);
	}
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
