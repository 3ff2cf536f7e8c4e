/* Makes the folder for ONNX Runtime's own profiles, in TMPDIR.  The process that created the folder holds a lock on it.
 * A folder without a lock was therefore left by a killed run, and the next run removes it.  A pid in the name would not
 * be enough, because the process may be in another container. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

#define PREFIX "epprof-run-"

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static void remove_folder(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Locks a folder of this user.  Returns true if the folder still exists under its path and no other process has locked
 * it.  If the file system has no locks, returns true only if `if_unsupported` is set: it is not set for folders of
 * other runs, which must not be removed then. */
static bool lock(int fd, const char *path, bool if_unsupported)
{
	struct stat opened, named;

	if (fd < 0 || fstat(fd, &opened) != 0 || opened.st_uid != geteuid())
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno != EWOULDBLOCK && if_unsupported;
	/* Another run may have removed the folder after it was opened, so its path is checked again. */
	return lstat(path, &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void remove_left_over(const char *parent)
{
	DIR *folder = opendir(parent);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char path[sizeof((struct run_folder *)NULL)->path];
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    (size_t)snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= sizeof path)
			continue;
		int fd = open(path, OPEN_FOLDER);
		if (lock(fd, path, false))
			remove_folder(path);
		if (fd >= 0)
			close(fd);
	}
	if (folder)
		closedir(folder);
}

epp_status *run_folder_make(struct run_folder *folder)
{
	const char *parent = secure_getenv("TMPDIR");

	parent = parent && *parent ? parent : "/tmp";
	remove_left_over(parent);
	/* Another run may remove the new folder before it is locked.  Then a further folder is created. */
	for (int tries = 0; tries < 100; tries++) {
		snprintf(folder->path, sizeof folder->path, "%s/" PREFIX "XXXXXX", parent);
		if (!mkdtemp(folder->path))
			break;
		folder->fd = open(folder->path, OPEN_FOLDER);
		if (lock(folder->fd, folder->path, true))
			return NULL;
		if (folder->fd >= 0)
			close(folder->fd);
		errno = EBUSY;
	}
	epp_status *status = epp_status_errno(errno, "%s", folder->path);
	folder->path[0] = '\0';
	return status;
}

void run_folder_remove(struct run_folder *folder)
{
	if (!folder->path[0])
		return;
	remove_folder(folder->path);
	close(folder->fd);
}
