/* epprof convert --run: writes traces as a folder of Parquet files.  Several traces are first merged into a temporary
 * file. */
#include "dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/merge.h"

/* Merges the traces into a temporary file in `folder`, opens this file as *merged, and removes its name. */
static epp_status *merge(epp_trace **traces, size_t count, const char *folder, epp_trace **merged)
{
	const epp_merge_options options = { .struct_size = sizeof options, .overwrite = 1, .cancel = &cli_signal };
	char *path;

	if (asprintf(&path, "%s/.merged.XXXXXX", folder) < 0)
		return epp_status_no_memory();
	int fd = mkostemp(path, O_CLOEXEC);
	epp_status *status = fd < 0 ? epp_status_errno(errno, "%s", folder) : NULL;
	/* The merged trace replaces the file, which Windows refuses while it is open. */
	if (fd >= 0)
		close(fd);
	if (!status)
		status = epp_trace_merge(traces, count, path, &options, cli_print_receipt, NULL, NULL);
	if (!status)
		status = epp_trace_open(path, merged);
	if (fd >= 0)
		unlink(path);
	free(path);
	return status;
}

static int write_run(const struct conversion *conversion, const char *run, epp_trace **traces, size_t count)
{
	epp_export_options options = conversion->options;
	epp_trace *merged = NULL, *trace = traces[0];
	epp_status *status = NULL;
	struct accounts accounts;
	bool left_out = false, made_folder = false;
	int code = CLI_OK;

	options.timeline = &conversion->window;
	options.cancel = &cli_signal;
	if (count > 1) {
		/* An error of mkdir is ignored, because merge then fails to create its file in the folder, which is
		 * reported. */
		made_folder = mkdir(conversion->output, 0777) == 0;
		status = merge(traces, count, conversion->output, &merged);
		trace = merged;
	}
	if (!status)
		status = accounts_add_up(&accounts, trace);
	if (!status)
		status = epp_export_dataset(trace, conversion->output, run, &options, conversion->force,
		                            cli_print_receipt, &left_out);
	cli_progress_end();
	if (status && made_folder)
		rmdir(conversion->output);
	if (status)
		code = conversion_explain(status);
	else
		fprintf(stderr, "epprof: wrote %s/run=%s: %u process%s\n", conversion->output, run,
		        epp_trace_get_info(trace)->sources_count,
		        epp_trace_get_info(trace)->sources_count == 1 ? "" : "es");
	if (code == CLI_OK)
		code = conversion_judge(conversion, &accounts, left_out);
	epp_trace_close(merged);
	return code;
}

int dataset_run(const struct conversion *conversion, const char *run, char *const *paths, size_t count)
{
	epp_trace **traces;
	int code = cli_open_all(paths, count, &traces);

	if (code != CLI_OK)
		return code;
	cli_catch_signals();
	code = write_run(conversion, run, traces, count);
	cli_close_all(traces, count);
	return code;
}
