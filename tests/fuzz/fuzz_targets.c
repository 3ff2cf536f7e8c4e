/* The list of targets, and what they share. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

const struct fuzz_target *fuzz_target_at(size_t index)
{
	static const struct fuzz_target *const targets[] = { &fuzz_trace,  &fuzz_rewrite, &fuzz_export, &fuzz_json,
		                                             &fuzz_xspace, &fuzz_profile, &fuzz_pu1,    &fuzz_npy,
		                                             &fuzz_sql,    &fuzz_http };

	return index < sizeof targets / sizeof *targets ? targets[index] : NULL;
}

const char *fuzz_path(const char *name)
{
	static struct {
		const char *name;
		char *path;
	} paths[16];
	const char *folder = getenv("TMPDIR");
	size_t i = 0;

	while (paths[i].name && strcmp(paths[i].name, name) != 0)
		FUZZ_MUST(++i < sizeof paths / sizeof *paths);
	if (!paths[i].name)
		FUZZ_MUST(asprintf(&paths[i].path, "%s/fuzz.%d.%s", folder ? folder : "/tmp", getpid(), name) > 0);
	paths[i].name = name;
	return paths[i].path;
}

void fuzz_write(const char *path, const uint8_t *bytes, size_t count)
{
	/* A new file: some file systems write one that was truncated to the disk at once. */
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	FUZZ_MUST(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
	close(fd);
}

size_t fuzz_read(const char *path, uint8_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t more;

	FUZZ_MUST(fd >= 0);
	ssize_t count = read(fd, bytes, FUZZ_BYTES_MAX);
	FUZZ_MUST(count >= 0);
	if (read(fd, &more, 1) != 0)
		count = 0;
	close(fd);
	return (size_t)count;
}
