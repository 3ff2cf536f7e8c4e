/* Files that the command writes itself; traces and exports are written by the libraries.  Until such a file is
 * complete, it has a temporary name in the same folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "epprof/plugin.h"

epp_status *cli_output_open(struct cli_output *output, const char *path)
{
	struct stat st;
	bool exists = lstat(path, &st) == 0;

	*output = (struct cli_output){ .path = path };
	if (exists && S_ISLNK(st.st_mode))
		return epp_status_create(EPP_IO, "%s: is a symbolic link; output is not written through links", path);
	if (!exists || S_ISREG(st.st_mode)) {
		if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
			output->temporary = NULL;
			return epp_status_no_memory();
		}
	}
	int fd = output->temporary ? mkostemp(output->temporary, O_CLOEXEC)
	                           : open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	output->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (output->file)
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", path);
	if (fd >= 0) {
		close(fd);
		if (output->temporary)
			unlink(output->temporary);
	}
	free(output->temporary);
	return status;
}

epp_status *cli_output_close(struct cli_output *output)
{
	bool is_written = !ferror(output->file);
	epp_status *status = NULL;

	errno = 0;
	is_written = fclose(output->file) == 0 && is_written;
	if (is_written && output->temporary)
		is_written = rename(output->temporary, output->path) == 0;
	if (!is_written) {
		status = epp_status_errno(errno ? errno : EIO, "%s", output->path);
		if (output->temporary)
			unlink(output->temporary);
	}
	free(output->temporary);
	return status;
}

void cli_warn_of_writers(const char *path)
{
	epp_status *status = epp_path_check(path);

	if (!status)
		return;
	cli_progress_hide();
	status = epp_status_prefix(status, "WARNING");
	cli_message(epp_status_message(status), "");
	epp_status_destroy(status);
}
