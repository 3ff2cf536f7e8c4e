/* Finds plugins by EPPROF_PROFILERS and KINETO_PLUGIN_PATH, and in the standard folders of PyTorch's tracing proposal:
 * epp_plugin_find_hosted lists them for a bridge, epp_plugin_load_kineto_path loads those of PyTorch's places.  If
 * there are no plugins, no library is opened. */
#include <bsd/string.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "epprof/plugin.h"
#include "plugins/file_set.h"

struct search {
	epp_plugin_named_fn found;
	void *user;
	const char *place; /* the variable or folder that is being searched */
};

static void report(struct search *search, const char *path)
{
	search->found(search->user, search->place, path);
}

static int is_library(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);
	return bytes > 3 && !strcmp(entry->d_name + bytes - 3, ".so");
}

/* Compares with strcmp, so the order does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void find_in_directory(struct search *search, const char *directory)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count = scandir(directory, &entries, is_library, by_name);
	for (int i = 0; i < count; i++) {
		int bytes = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (bytes > 0 && (size_t)bytes < sizeof(path))
			report(search, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Finds the files that an environment variable names.  Returns false if the variable is not set. */
static bool find_in_variable(struct search *search, const char *variable)
{
	const char *list = secure_getenv(variable);
	char *copy = list ? strdup(list) : NULL;
	char *rest = copy;
	search->place = variable;
	/* Without memory the whole list is reported as one file.  Loading this file then fails with a message. */
	if (list && !copy)
		report(search, list);
	for (char *entry; (entry = strsep(&rest, ":"));) {
		/* An entry without a slash is no path, so it is not searched; loading it then fails with a message. */
		if (strchr(entry, '/') && is_directory(entry))
			find_in_directory(search, entry);
		else if (*entry)
			report(search, entry);
	}
	free(copy);
	return list != NULL;
}

static void find_standard(struct search *search)
{
	char path[PATH_MAX];
	const char *home = secure_getenv("HOME");
	search->place = "/usr/lib/kineto/plugins";
	find_in_directory(search, search->place);
	search->place = "/usr/local/lib/kineto/plugins";
	find_in_directory(search, search->place);
	search->place = "~/.local/lib/kineto/plugins";
	if (home && *home == '/' && strlcpy(path, home, sizeof(path)) < sizeof(path) &&
	    strlcat(path, "/.local/lib/kineto/plugins", sizeof(path)) < sizeof(path))
		find_in_directory(search, path);
}

/* ---- for a host ---- */

struct loading {
	epp_plugin_found_fn found;
	void *user;
	size_t count;
};

static void load(void *user, const char *place, const char *path)
{
	struct loading *loading = user;
	epp_plugin *plugin = NULL;
	(void)place;
	epp_status *status = epp_plugin_load(path, &plugin);
	loading->count += plugin != NULL;
	loading->found(loading->user, path, plugin, status);
	epp_status_destroy(status);
}

size_t epp_plugin_load_kineto_path(epp_plugin_found_fn found, void *user)
{
	struct loading loading = { .found = found, .user = user };
	struct search search = { .found = load, .user = &loading };
	if (!find_in_variable(&search, "KINETO_PLUGIN_PATH"))
		find_standard(&search);
	return loading.count;
}

/* ---- for a bridge ---- */

struct once {
	epp_plugin_named_fn found;
	void *user;
	struct file_set files;
};

static void report_once(void *user, const char *place, const char *path)
{
	struct once *once = user;
	if (file_set_add(&once->files, path))
		once->found(once->user, place, path);
}

void epp_plugin_find_hosted(epp_plugin_named_fn found, void *user)
{
	struct once once = { .found = found, .user = user };
	struct search search = { .found = report_once, .user = &once };
	const char *profilers = secure_getenv("EPPROF_PROFILERS");
	if (profilers && profilers[strspn(profilers, ":")]) {
		find_in_variable(&search, "EPPROF_PROFILERS");
		find_in_variable(&search, "KINETO_PLUGIN_PATH");
	} else if (!find_in_variable(&search, "KINETO_PLUGIN_PATH")) {
		find_standard(&search);
	}
	file_set_free(&once.files);
}
