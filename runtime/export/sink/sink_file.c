/* Writes a sink's bytes into a file that appears by rename, or into an existing pipe, device or standard output. */
#include "export/sink/sink_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limit_signal.h"
#include "base/status.h"

epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite)
{
	struct stat st;

	*file = (struct sink_file){ .file.fd = -1 };
	if (!path[0])
		return epp_status_errno(ENOENT, "an empty path");
	file->borrowed = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
	file->direct = file->borrowed || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
	if (!file->direct)
		return atomic_file_open(&file->file, path, overwrite);
	file->file.path = strdup(file->borrowed ? "standard output" : path);
	if (!file->file.path)
		return epp_status_no_memory();
	file->file.fd = file->borrowed ? STDOUT_FILENO : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (file->file.fd >= 0)
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", path);
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
		ssize_t n = write(file->file.fd, (const char *)bytes + done, count - done);
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

epp_status *sink_file_commit(struct sink_file *file)
{
	epp_status *status = NULL;

	if (!file->direct)
		return atomic_file_commit(&file->file);
	if (!file->borrowed) {
		int fd = file->file.fd;
		file->file.fd = -1;
		if (close(fd) < 0 && errno != EINTR)
			status = epp_status_errno(errno, "%s", file->file.path);
	}
	sink_file_discard(file);
	return status;
}

void sink_file_discard(struct sink_file *file)
{
	if (file->borrowed)
		file->file.fd = -1;
	atomic_file_discard(&file->file);
}
