/* Creates files that become visible by rename, see atomic_file.h. */
#include "files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/output_file.h"

/* The maximum number of temporary names that are tried. */
#define NAMES_MAX 1000u

bool atomic_file_nameless = true;

static epp_status *exists_status(const char *path)
{
	return epp_status_create(EPP_EXISTS, "%s: exists already", path);
}

/* Returns the length of the path's directory part: 2 for "a/b", 0 for "b". */
static size_t directory_bytes(const char *path)
{
	return (size_t)(os_path_name(path) - path);
}

/* Returns ".NAME.PID.tmp" in the path's directory.  If another writer of this process, or a killed process with the
 * same pid, has taken that name, it gets a number.  Returns NULL if out of memory. */
static char *temporary_name(const char *path, unsigned number)
{
	size_t directory = directory_bytes(path);
	char *name;

	if (asprintf(&name, "%.*s.%s.%ld%s%.0u.tmp", (int)directory, path, path + directory, (long)getpid(),
	             number ? "." : "", number) < 0)
		return NULL;
	return name;
}

static epp_status *open_unnamed(struct atomic_file *file, mode_t mode)
{
	size_t directory = directory_bytes(file->path);
	char *parent = directory ? strndup(file->path, directory) : strdup(".");

	if (!parent)
		return epp_status_no_memory();
	file->fd = open(parent, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	int error = errno;
	free(parent);
	if (file->fd >= 0 || error == EOPNOTSUPP || error == EISDIR || error == EINVAL)
		return NULL;
	return epp_status_errno(error, "%s", file->path);
}

static epp_status *open_named(struct atomic_file *file, mode_t mode)
{
	for (unsigned number = 0; number < NAMES_MAX; number++) {
		file->temporary = temporary_name(file->path, number);
		if (!file->temporary)
			return epp_status_no_memory();
		file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (file->fd >= 0)
			return NULL;
		int error = errno;
		free(file->temporary);
		file->temporary = NULL;
		if (error != EEXIST)
			return epp_status_errno(error, "%s", file->path);
	}
	return epp_status_errno(EEXIST, "%s", file->path);
}

epp_status *atomic_file_open(struct atomic_file *file, const char *path, bool overwrite)
{
	epp_status *status = NULL;
	struct stat st;
	bool exists = lstat(path, &st) == 0;
	mode_t mode;

	*file = (struct atomic_file){ .fd = -1, .overwrite = overwrite };
	EPP_TRY(output_file_mode(&mode));
	if (exists && !overwrite)
		return exists_status(path);
	/* A link is refused: the final rename would replace the link, not its target, which users rarely intend. */
	if (exists && S_ISLNK(st.st_mode))
		return output_file_is_link(path);
	file->path = strdup(path);
	if (!file->path)
		return epp_status_no_memory();
	if (atomic_file_nameless)
		status = open_unnamed(file, mode);
	if (!status && file->fd < 0)
		status = open_named(file, mode);
	if (!status && exists && fchmod(file->fd, st.st_mode & 07777) < 0)
		status = epp_status_errno(errno, "%s", path);
	if (status)
		atomic_file_discard(file);
	return status;
}

/* Links the nameless file to `name`, which must not exist. */
static int link_unnamed(int fd, const char *name)
{
	char self[64];

	/* Older kernels permit AT_EMPTY_PATH only to privileged processes; a path in /proc always works. */
	if (linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno == EEXIST)
		return -1;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Replaces an existing file.  A link cannot do that, so the file is linked to a temporary name, which is then
 * renamed. */
static epp_status *link_temporary(struct atomic_file *file)
{
	for (unsigned number = 0; number < NAMES_MAX; number++) {
		char *name = temporary_name(file->path, number);
		if (!name)
			return epp_status_no_memory();
		if (link_unnamed(file->fd, name) == 0) {
			file->temporary = name;
			return NULL;
		}
		int error = errno;
		free(name);
		if (error != EEXIST)
			return epp_status_errno(error, "%s", file->path);
	}
	return epp_status_errno(EEXIST, "%s", file->path);
}

static int rename_over(struct atomic_file *file)
{
	if (file->overwrite)
		return rename(file->temporary, file->path);
	if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* The file system does not support RENAME_NOREPLACE.  A link also fails if the target exists. */
	if (link(file->temporary, file->path) == 0)
		return unlink(file->temporary);
	/* Without links, the only way is a check before the rename.  Another process may create the file in between. */
	if (errno == EEXIST || access(file->path, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(file->temporary, file->path);
}

static epp_status *move_to_path(struct atomic_file *file)
{
	if (!file->temporary) {
		if (link_unnamed(file->fd, file->path) == 0)
			return NULL;
		if (errno != EEXIST)
			return epp_status_errno(errno, "%s", file->path);
		if (!file->overwrite)
			return exists_status(file->path);
		EPP_TRY(link_temporary(file));
	}
	if (rename_over(file) < 0)
		return errno == EEXIST ? exists_status(file->path) : epp_status_errno(errno, "%s", file->path);
	free(file->temporary);
	file->temporary = NULL;
	return NULL;
}

epp_status *atomic_file_commit(struct atomic_file *file)
{
	epp_status *status = move_to_path(file);

	if (!status) {
		int fd = file->fd;
		file->fd = -1;
		if (close(fd) < 0 && errno != EINTR)
			status = epp_status_errno(errno, "%s", file->path);
	}
	atomic_file_discard(file);
	return status;
}

void atomic_file_discard(struct atomic_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->temporary)
		unlink(file->temporary);
	free(file->path);
	free(file->temporary);
	*file = (struct atomic_file){ .fd = -1 };
}
