/* Creates, writes and reads temporary files, see temp_file.h. Each piece is preceded by its length. */
#include "files/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "containers/array.h"

static epp_status *failed(int error)
{
	const char *directory = secure_getenv("TMPDIR");

	return epp_status_errno(error ? error : EIO, "temporary file in %s", directory && *directory ? directory : "/tmp");
}

epp_status *temp_file_open(int *fd)
{
	const char *directory = secure_getenv("TMPDIR");
	char *path;

	if (!directory || !*directory)
		directory = "/tmp";
	*fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return NULL;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return failed(errno);
	if (asprintf(&path, "%s/epprof.XXXXXX", directory) < 0)
		return epp_status_no_memory();
	*fd = mkostemp(path, O_CLOEXEC);
	int error = errno;
	if (*fd >= 0)
		unlink(path);
	free(path);
	return *fd < 0 ? failed(error) : NULL;
}

epp_status *temp_file_write(int fd, uint64_t offset, const void *data, size_t bytes)
{
	for (const char *from = data; bytes;) {
		ssize_t done = pwrite(fd, from, bytes, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return failed(done < 0 ? errno : ENOSPC);
		from += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return NULL;
}

epp_status *temp_file_read(int fd, uint64_t offset, void *data, size_t bytes)
{
	for (char *to = data; bytes;) {
		ssize_t done = pread(fd, to, bytes, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return failed(done < 0 ? errno : EIO);
		to += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return NULL;
}

static epp_status *begin(struct temp_file *temp_file)
{
	int fd;

	EPP_TRY(temp_file_open(&fd));
	temp_file->file = fdopen(fd, "w+");
	if (temp_file->file)
		return NULL;
	close(fd);
	return epp_status_no_memory();
}

epp_status *temp_file_put(struct temp_file *temp_file, const void *piece, size_t bytes)
{
	if (!temp_file->file)
		EPP_TRY(begin(temp_file));
	errno = 0;
	if (fwrite(&bytes, sizeof(bytes), 1, temp_file->file) != 1 ||
	    (bytes && fwrite(piece, bytes, 1, temp_file->file) != 1))
		return failed(errno);
	temp_file->count++;
	return NULL;
}

epp_status *temp_file_rewind(struct temp_file *temp_file)
{
	errno = 0;
	if (temp_file->file && (fflush(temp_file->file) || fseeko(temp_file->file, 0, SEEK_SET)))
		return failed(errno);
	return NULL;
}

epp_status *temp_file_get(struct temp_file *temp_file, const void **piece, size_t *bytes)
{
	*piece = NULL;
	*bytes = 0;
	errno = 0;
	if (!temp_file->file || fread(bytes, sizeof(*bytes), 1, temp_file->file) != 1)
		return temp_file->file && ferror(temp_file->file) ? failed(errno) : NULL;
	if (!array_reserve(&temp_file->piece, &temp_file->piece_room, *bytes, 1))
		return epp_status_no_memory();
	if (*bytes && fread(temp_file->piece, *bytes, 1, temp_file->file) != 1)
		return failed(errno);
	*piece = temp_file->piece;
	return NULL;
}

void temp_file_deinit(struct temp_file *temp_file)
{
	if (temp_file->file)
		fclose(temp_file->file);
	free(temp_file->piece);
	*temp_file = (struct temp_file){ 0 };
}
