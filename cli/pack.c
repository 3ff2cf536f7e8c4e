/* epprof pack: writes a trace in packed form, smaller and with an index. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli/shared/accounts.h"
#include "cli/shared/rewrite.h"
#include "epprof/trace_writer.h"

static const char
    help[] = "usage: epprof pack [OPTION]... -o FILE.epp TRACE\n"
	     "       epprof pack --in-place TRACE\n"
	     "\n"
	     "Compresses a trace to a third to two thirds of its size: records in columns with zstd, and an index so that\n"
	     "a range of time can be read without the rest.  Every command reads a packed trace, with the same results.\n"
	     "The trace of a killed process is recovered first.  'epprof recover' unpacks.  A trace that packing would\n"
	     "make larger, because it is small, is written unpacked.\n"
	     "\n"
	     "Options:\n" REWRITE_HELP;

/* Returns how many bytes a file takes on the disk, without holes. */
static uint64_t disk_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Only traces below this size can be smaller unpacked: in larger ones, packing saves more bytes than the index and the
 * column headers take. */
#define SMALL_BYTES (UINT64_C(1) << 20)

/* Writes a small trace with `write` into a temporary file, which is then deleted.  *bytes is set to the size of this
 * file on the disk; 0: the file could not be written.  Errors: EPP_OUT_OF_MEMORY. */
static epp_status *try_writing(epp_trace *trace, epp_status *(*write)(epp_trace *, const char *, int), uint64_t *bytes)
{
	const char *folder = secure_getenv("TMPDIR");
	char *path;

	*bytes = 0;
	if (asprintf(&path, "%s/epprof-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return epp_status_no_memory();
	int fd = mkostemp(path, O_CLOEXEC);
	/* The trace replaces the file, which Windows refuses while it is open. */
	if (fd >= 0)
		close(fd);
	epp_status *status = fd < 0 ? NULL : write(trace, path, true);
	if (fd >= 0) {
		*bytes = status ? 0 : disk_bytes(path);
		unlink(path);
	}
	free(path);
	if (epp_status_code(status) == EPP_OUT_OF_MEMORY)
		return status;
	epp_status_destroy(status);
	return NULL;
}

/* Prints the number of records, and the sizes before and after.  The number is that of the input, which the output has
 * too.  The output is not opened to count its records, because opening could fail although the output is complete. */
static void print_result(uint64_t records_count, uint64_t before_bytes, const char *output)
{
	char records[CLI_COUNTED_BYTES], from[CLI_NUMBER_BYTES], to[CLI_NUMBER_BYTES];
	struct stat st;

	fprintf(stderr, "epprof: wrote %s: %s, %s instead of %s", output, cli_counted(records_count, "record", records),
	        cli_bytes(disk_bytes(output), to), cli_bytes(before_bytes, from));
	if (records_count && stat(output, &st) == 0)
		fprintf(stderr, ", %.2f bytes each", (double)st.st_size / (double)records_count);
	fputc('\n', stderr);
}

/* Writes the trace unpacked, because the packed trace would be larger, and prints the two sizes.  The output is
 * finished, also if the process that recorded the trace was killed.  `is_there`: the output is the input and already
 * finished, so nothing is written. */
static epp_status *write_unpacked(epp_trace *trace, const char *output, bool overwrite, bool is_there, uint64_t packed_bytes)
{
	char kept[CLI_NUMBER_BYTES], packed[CLI_NUMBER_BYTES];
	epp_status *status = is_there ? NULL : epp_trace_recover(trace, output, overwrite);

	cli_progress_end();
	if (!status)
		fprintf(stderr, "epprof: %s %s unpacked, %s: packed, it would need %s\n", is_there ? "left" : "wrote",
		        output, cli_bytes(disk_bytes(output), kept), cli_bytes(packed_bytes, packed));
	return status;
}

static int pack(const char *input, const char *output, bool overwrite)
{
	uint64_t before_bytes = disk_bytes(input), packed_bytes = 0, kept_bytes = 0;
	struct accounts accounts;
	epp_trace *trace;

	int code = cli_open(input, &trace);
	if (code != CLI_OK)
		return code;
	epp_status *status = accounts_add_up(&accounts, trace);
	if (status) {
		epp_trace_close(trace);
		return cli_unreadable(status);
	}
	bool is_there = input == output && epp_trace_get_info(trace)->state == EPP_TRACE_FINISHED;
	bool is_small = before_bytes && before_bytes < SMALL_BYTES;
	if (is_small)
		status = try_writing(trace, epp_trace_pack, &packed_bytes);
	if (is_small && !status && !is_there)
		status = try_writing(trace, epp_trace_recover, &kept_bytes);
	if (is_there)
		kept_bytes = before_bytes;
	bool grows = kept_bytes && packed_bytes > kept_bytes;
	if (!status)
		status = grows ? write_unpacked(trace, output, overwrite, is_there, packed_bytes)
		               : epp_trace_pack(trace, output, overwrite);
	cli_progress_end();
	if (status) {
		code = cli_not_written(status);
	} else {
		if (!grows)
			print_result(epp_trace_get_info(trace)->records_count, before_bytes, output);
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
	.name = "pack", .summary = "compresses a trace and adds an index", .help = help, .run = run
};
