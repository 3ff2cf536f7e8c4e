/* Writes a file that is either whole or not there.  A link is followed: the file it names is replaced, and keeps its
 * permissions. */
#include "export/sink_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limit_signal.h"
#include "base/status.h"

/* Temporary names that are tried. */
#define NAMES_MAX 100u

bool sink_file_nameless = true;

static epp_status *errno_status(int error, const char *path)
{
	return epp_status_create(error == ENOENT ? EPP_NOT_FOUND : EPP_IO, "%s: %s", path, strerror(error));
}

static epp_status *no_memory(void)
{
	return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
}

static epp_status *exists_status(const char *path)
{
	return epp_status_create(EPP_UNAVAILABLE, "%s: exists already", path);
}

/* Bytes of the path up to its last part: "a/b" has 2, "b" has 0. */
static size_t directory_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* ".NAME.PID.tmp" beside the path, or with a number if others write there too; NULL without memory. */
static char *temporary_name(const char *path, unsigned number)
{
	size_t directory = directory_bytes(path);
	char *name;

	if (asprintf(&name, "%.*s.%s.%ld%s%.0u.tmp", (int)directory, path, path + directory, (long)getpid(),
	             number ? "." : "", number) < 0)
		return NULL;
	return name;
}

static epp_status *open_nameless(struct sink_file *file)
{
	size_t directory = directory_bytes(file->path);
	char *parent = directory ? strndup(file->path, directory) : strdup(".");

	if (!parent)
		return no_memory();
	file->fd = open(parent, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	int error = errno;
	free(parent);
	if (file->fd >= 0 || error == EOPNOTSUPP || error == EISDIR || error == EINVAL)
		return NULL;
	return errno_status(error, file->path);
}

static epp_status *open_named(struct sink_file *file)
{
	for (unsigned number = 0; number < NAMES_MAX; number++) {
		file->temporary = temporary_name(file->path, number);
		if (!file->temporary)
			return no_memory();
		file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (file->fd >= 0)
			return NULL;
		int error = errno;
		free(file->temporary);
		file->temporary = NULL;
		if (error != EEXIST)
			return errno_status(error, file->path);
	}
	return errno_status(EEXIST, file->path);
}

static void release(struct sink_file *file)
{
	free(file->path);
	free(file->temporary);
	memset(file, 0, sizeof *file);
	file->fd = -1;
}

epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite)
{
	epp_status *status = NULL;
	struct stat st;

	memset(file, 0, sizeof *file);
	file->fd = -1;
	file->overwrite = overwrite;
	if (!path[0])
		return errno_status(ENOENT, "an empty path");
	bool is_stdout = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
	bool exists = !is_stdout && stat(path, &st) == 0;

	/* Whatever a link leads to is what is replaced. */
	file->path = is_stdout ? strdup("standard output") : exists ? realpath(path, NULL) : strdup(path);
	if (!file->path)
		return exists && errno != ENOMEM ? errno_status(errno, path) : no_memory();

	if (is_stdout || (exists && !S_ISREG(st.st_mode))) {
		file->direct = true;
		file->borrowed = is_stdout;
		file->fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		if (file->fd < 0)
			status = errno_status(errno, path);
	} else if (exists && !overwrite) {
		status = exists_status(path);
	} else {
		if (sink_file_nameless)
			status = open_nameless(file);
		if (!status && file->fd < 0)
			status = open_named(file);
		if (!status && exists && fchmod(file->fd, st.st_mode & 07777) < 0)
			status = errno_status(errno, path);
	}
	if (status)
		sink_file_discard(file);
	return status;
}

size_t sink_file_write(const void *bytes, size_t count, void *user)
{
	struct sink_file *file = user;
	size_t done = 0;
	sigset_t before;

	limit_signal_hold(&before);
	while (done < count) {
		ssize_t n = write(file->fd, (const char *)bytes + done, count - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENOSPC;
			break;
		}
		done += (size_t)n;
	}
	int error = done < count ? errno : 0;
	limit_signal_let_go(&before, error);
	errno = error;
	return done;
}

/* Links the nameless file to `name`, which must not exist. */
static int link_nameless(int fd, const char *name)
{
	char self[64];

	/* Without privileges older kernels refuse this and want a path. */
	if (linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno == EEXIST)
		return -1;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A link cannot replace a file, but what has a name can be renamed over it. */
static epp_status *link_temporary(struct sink_file *file)
{
	for (unsigned number = 0; number < NAMES_MAX; number++) {
		char *name = temporary_name(file->path, number);
		if (!name)
			return no_memory();
		if (link_nameless(file->fd, name) == 0) {
			file->temporary = name;
			return NULL;
		}
		int error = errno;
		free(name);
		if (error != EEXIST)
			return errno_status(error, file->path);
	}
	return errno_status(EEXIST, file->path);
}

static int rename_over(struct sink_file *file)
{
	if (file->overwrite)
		return rename(file->temporary, file->path);
	if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* A file system without it: nobody may come in between, but it is all there is. */
	if (access(file->path, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(file->temporary, file->path);
}

static epp_status *take_name(struct sink_file *file)
{
	if (!file->temporary) {
		if (link_nameless(file->fd, file->path) == 0)
			return NULL;
		if (errno != EEXIST)
			return errno_status(errno, file->path);
		if (!file->overwrite)
			return exists_status(file->path);
		EPP_TRY(link_temporary(file));
	}
	if (rename_over(file) < 0)
		return errno == EEXIST ? exists_status(file->path) : errno_status(errno, file->path);
	free(file->temporary);
	file->temporary = NULL;
	return NULL;
}

epp_status *sink_file_commit(struct sink_file *file)
{
	epp_status *status = NULL;

	if (!file->direct)
		status = take_name(file);
	if (status) {
		sink_file_discard(file);
		return status;
	}
	if (!file->borrowed && close(file->fd) < 0 && errno != EINTR)
		status = errno_status(errno, file->path);
	release(file);
	return status;
}

void sink_file_discard(struct sink_file *file)
{
	if (file->fd >= 0 && !file->borrowed)
		close(file->fd);
	if (file->temporary)
		unlink(file->temporary);
	release(file);
}
