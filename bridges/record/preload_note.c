/* Notes: lines of the file `notes` in the folder of the recording. */
#include "preload.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 1024

void preload_note(const char *format, ...)
{
	const char *folder = secure_getenv("EPPROF_RECORD");
	char line[LINE_BYTES], *path;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (!folder || asprintf(&path, "%s/notes", folder) < 0)
		return;
	for (char *end = line; (end = strpbrk(end, "\r\n"));)
		*end = ' ';
	/* The first note of the recording creates the file.  If the folder does not exist any more, this process runs
	 * longer than the recording. */
	mknod(path, S_IFREG | 0600, 0);
	int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		dprintf(fd, "%s\n", line);
		close(fd);
	}
	free(path);
}
