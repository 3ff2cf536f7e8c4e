/* Lists the plugin files that one path names (a file or a directory), and those in the places where TensorFlow looks.
 * No file is opened, and the order of the list does not depend on the file system. plugin_path.c has the places where
 * PyTorch looks. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "epprof/plugin.h"
#include "plugins/file_set.h"

/* Returns true for names like "libfoo.so" and "libfoo.so.1", which TensorFlow loads from a directory. */
static int is_library(const struct dirent *entry)
{
	const char *name = entry->d_name, *at = NULL;
	for (const char *next = strstr(name, ".so"); next; next = strstr(next + 1, ".so"))
		at = next;
	return at && at > name && *name != '.' && (!at[3] || (at[3] == '.' && at[4] >= '0' && at[4] <= '9' && !at[5]));
}

/* Compares with strcmp, so the order does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static epp_status *directory_find(const char *path, epp_plugin_path_fn found, void *user)
{
	struct dirent **entries = NULL;
	epp_status *status = NULL;
	int count = scandir(path, &entries, is_library, by_name);
	if (count < 0)
		return epp_status_errno(errno, "%s", path);
	for (int i = 0; i < count; i++) {
		char *file = NULL;
		if (!status && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			status = epp_status_no_memory();
		else if (!status)
			found(user, file);
		free(file);
		free(entries[i]);
	}
	free(entries);
	return status;
}

epp_status *epp_plugin_find(const char *path, epp_plugin_path_fn found, void *user)
{
	struct stat st;
	if (!path || !found)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_find: %s is NULL", path ? "found" : "path");
	if (stat(path, &st))
		return epp_status_errno(errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return directory_find(path, found, user);
	found(user, path);
	return NULL;
}

/* ---- TensorFlow's directories ---- */

struct once {
	epp_plugin_path_fn found;
	void *user;
	struct file_set files;
};

static void find_once(void *user, const char *path)
{
	struct once *once = user;
	if (file_set_add(&once->files, path))
		once->found(once->user, path);
}

/* Finds the plugins in all directories of the form PREFIX/lib/python3.*. */
static epp_status *prefix_find(struct once *once, const char *prefix, const char *below)
{
	char pattern[4096];
	glob_t globbed;
	epp_status *status = NULL;
	if (snprintf(pattern, sizeof(pattern), "%s%s/tensorflow-plugins", prefix, below) >= (int)sizeof(pattern))
		return NULL;
	if (glob(pattern, 0, NULL, &globbed))
		return NULL;
	for (size_t i = 0; i < globbed.gl_pathc && !status; i++)
		status = epp_plugin_find(globbed.gl_pathv[i], find_once, once);
	globfree(&globbed);
	/* A directory that cannot be read is skipped. */
	if (epp_status_code(status) == EPP_OUT_OF_MEMORY)
		return status;
	epp_status_destroy(status);
	return NULL;
}

static epp_status *places_find(struct once *once)
{
	const char *named = secure_getenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH");
	const char *environment = secure_getenv("VIRTUAL_ENV"), *home = secure_getenv("HOME");
	if (named && *named && !strchr(named, '/'))
		return epp_status_create(EPP_INVALID_ARGUMENT, "TF_PLUGGABLE_DEVICE_LIBRARY_PATH=%s: not a path", named);
	if (named && *named)
		EPP_TRY(epp_status_prefix(epp_plugin_find(named, find_once, once), "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"));
	if (environment && *environment == '/')
		EPP_TRY(prefix_find(once, environment, "/lib/python3*/site-packages"));
	if (home && *home == '/')
		EPP_TRY(prefix_find(once, home, "/.local/lib/python3*/site-packages"));
	EPP_TRY(prefix_find(once, "/usr/local", "/lib/python3*/*-packages"));
	return prefix_find(once, "/usr", "/lib/python3*/*-packages");
}

epp_status *epp_plugin_find_tf(epp_plugin_path_fn found, void *user)
{
	struct once once = { .found = found, .user = user };
	if (!found)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_find_tf: found is NULL");
	epp_status *status = places_find(&once);
	file_set_free(&once.files);
	return !status && once.files.no_memory ? epp_status_no_memory() : status;
}
