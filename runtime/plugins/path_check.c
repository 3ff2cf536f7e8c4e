/* Checks which users can change a plugin: the file itself, and its folder, in which the file could be replaced. */
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "epprof/plugin.h"

static epp_status *check(const char *path, const struct stat *st)
{
	bool is_guarded = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: belongs to user %u", path, (unsigned)st->st_uid);
	if ((st->st_mode & S_IWOTH) && !is_guarded)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: every user can write to it", path);
	/* If the group's number is the owner's, the group has by convention no other member. */
	if ((st->st_mode & S_IWGRP) && !is_guarded && st->st_gid != st->st_uid)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: its group can write to it", path);
	return NULL;
}

epp_status *epp_path_check(const char *path)
{
	if (!path || !*path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_path_check: path is NULL or empty");
	/* If the file does not exist yet, realpath fails, and the folder in the given name is checked. */
	char *real = realpath(path, NULL), *name = real ? real : strdup(path);
	if (!name)
		return epp_status_no_memory();
	struct stat st;
	bool exists = real && stat(real, &st) == 0;
	bool is_file = !exists || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
	epp_status *status = exists && is_file ? check(real, &st) : NULL;
	if (!status && is_file) {
		const char *folder = dirname(name);
		status = stat(folder, &st) == 0 ? check(folder, &st) : NULL;
	}
	free(name);
	return status;
}
