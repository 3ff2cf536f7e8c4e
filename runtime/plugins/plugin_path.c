/* Where PyTorch's tracing proposal looks for plugins.  Nothing found costs nothing: no library is opened. */
#include <bsd/string.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "epprof/plugin.h"

struct search {
	epp_plugin_found_fn found;
	void *user;
	size_t count;
};

static void load(struct search *search, const char *path)
{
	epp_plugin *plugin = NULL;
	epp_status *status = epp_plugin_load(path, &plugin);
	search->count += plugin != NULL;
	search->found(search->user, path, plugin, status);
	epp_status_release(status);
}

static int is_library(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);
	return bytes > 3 && !strcmp(entry->d_name + bytes - 3, ".so");
}

/* By their bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_directory(struct search *search, const char *directory)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count = scandir(directory, &entries, is_library, by_name);
	for (int i = 0; i < count; i++) {
		int bytes = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (bytes > 0 && (size_t)bytes < sizeof(path))
			load(search, path);
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

static void load_list(struct search *search, char *list)
{
	for (char *entry; (entry = strsep(&list, ":"));) {
		if (is_directory(entry))
			load_directory(search, entry);
		else if (*entry)
			load(search, entry);
	}
}

static void load_standard(struct search *search)
{
	char path[PATH_MAX];
	const char *home = secure_getenv("HOME");
	load_directory(search, "/usr/lib/kineto/plugins");
	load_directory(search, "/usr/local/lib/kineto/plugins");
	if (home && *home && strlcpy(path, home, sizeof(path)) < sizeof(path) &&
	    strlcat(path, "/.local/lib/kineto/plugins", sizeof(path)) < sizeof(path))
		load_directory(search, path);
}

size_t epp_plugin_load_kineto_path(epp_plugin_found_fn found, void *user)
{
	struct search search = { .found = found, .user = user };
	const char *list = secure_getenv("KINETO_PLUGIN_PATH");
	if (!list) {
		load_standard(&search);
		return search.count;
	}
	char *copy = strdup(list);
	if (copy)
		load_list(&search, copy);
	free(copy);
	return search.count;
}
