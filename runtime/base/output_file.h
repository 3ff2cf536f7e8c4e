/* Opens output files.  A path that is a link is refused, only the user may read the file, and an existing file is
 * replaced only on request.
 *
 * Links among the folders of the path are followed: only the last component must not be a link.  The functions are
 * inline, because both libraries use them. */
#ifndef EPPROF_RUNTIME_BASE_OUTPUT_FILE_H
#define EPPROF_RUNTIME_BASE_OUTPUT_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/status.h"

/* Gets the mode of new outputs: EPPROF_FILE_MODE, from which open() removes the bits of the umask, or else 0600.
 * Errors: EPP_INVALID_ARGUMENT. */
static inline epp_status *output_file_mode(mode_t *mode)
{
	const char *text = os_variable("EPPROF_FILE_MODE");
	char *end = NULL;
	unsigned long asked = text && *text ? strtoul(text, &end, 8) : 0600;

	*mode = 0600;
	if (asked > 0777 || (asked & 0600) != 0600 || (end && *end))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "EPPROF_FILE_MODE=%s: must be an octal mode from 0600 to 0777 in which the owner may "
		                         "read and write, for example 0640",
		                         text);
	*mode = (mode_t)asked;
	return NULL;
}

static inline epp_status *output_file_is_link(const char *path)
{
	return epp_status_create(EPP_IO, "%s: is a symbolic link; output is not written through links", path);
}

/* Opens a new file for reading and writing.  If `overwrite` is set, also opens an existing file, which keeps its
 * content and mode.
 * Errors: those of output_file_mode; EPP_IO if the path is a link, or a file with a second hard link;
 * others as epp_status_errno, with the path. */
static inline epp_status *output_file_open(const char *path, bool overwrite, int *fd)
{
	mode_t mode;

	*fd = -1;
	EPP_TRY(output_file_mode(&mode));
	*fd = os_file_open_output(path, overwrite, mode);
	if (*fd < 0 && errno == ELOOP && os_file_is_link(path))
		return output_file_is_link(path);
	if (*fd < 0)
		return epp_status_errno(errno, "%s", path);
	if (os_file_has_second_name(*fd)) {
		close(*fd);
		*fd = -1;
		return epp_status_create(EPP_IO, "%s: has a second name (a hard link)", path);
	}
	return NULL;
}

#endif
