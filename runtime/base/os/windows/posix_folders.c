/* Lists the entries of folders. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/windows/win32.h"

struct folder {
	HANDLE search;
	bool is_first; /* `found` is not returned yet */
	WIN32_FIND_DATAW found;
	struct dirent entry;
};

DIR *opendir(const char *path)
{
	DIR *folder = malloc(sizeof(*folder));
	size_t bytes = strlen(path) + sizeof("/*");
	char *pattern = malloc(bytes);
	wchar_t *wide = NULL;

	if (folder && pattern) {
		snprintf(pattern, bytes, "%s/*", path);
		wide = windows_wide(pattern);
	}
	free(pattern);
	if (!wide) {
		free(folder);
		return NULL;
	}
	folder->is_first = true;
	folder->search = FindFirstFileW(wide, &folder->found);
	free(wide);
	if (folder->search != INVALID_HANDLE_VALUE)
		return folder;
	errno = windows_errno();
	free(folder);
	return NULL;
}

struct dirent *readdir(DIR *folder)
{
	while (folder->is_first || FindNextFileW(folder->search, &folder->found)) {
		folder->is_first = false;
		if (windows_narrow(folder->found.cFileName, folder->entry.d_name, sizeof(folder->entry.d_name)))
			return &folder->entry;
	}
	return NULL;
}

int closedir(DIR *folder)
{
	FindClose(folder->search);
	free(folder);
	return 0;
}

static int compare_entries(const void *a, const void *b, void *compare)
{
	return (*(int (**)(const struct dirent **, const struct dirent **))compare)((const struct dirent **)a,
	                                                                            (const struct dirent **)b);
}

int scandir(const char *path, struct dirent ***entries, int (*chooses)(const struct dirent *entry),
            int (*compare)(const struct dirent **a, const struct dirent **b))
{
	DIR *folder = opendir(path);
	struct dirent **found = NULL, **grown;
	size_t count = 0;
	bool has_memory = true;

	if (!folder)
		return -1;
	for (struct dirent *entry; has_memory && (entry = readdir(folder));) {
		if (chooses && !chooses(entry))
			continue;
		grown = reallocarray(found, count + 1, sizeof(*found));
		found = grown ? grown : found;
		has_memory = grown && (found[count] = malloc(sizeof(**found)));
		if (has_memory)
			*found[count++] = *entry;
	}
	closedir(folder);
	if (!has_memory) {
		while (count)
			free(found[--count]);
		free(found);
		errno = ENOMEM;
		return -1;
	}
	if (count)
		qsort_r(found, count, sizeof(*found), compare_entries, &compare);
	*entries = found;
	return (int)count;
}

int alphasort(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}
