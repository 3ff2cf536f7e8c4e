/* Keeps the real path of each file, so that a file is recognised under other names. */
#include "plugins/file_set.h"

#include <stdlib.h>
#include <string.h>

bool file_set_add(struct file_set *set, const char *path)
{
	char *real_path = realpath(path, NULL);
	if (!real_path)
		return true;
	for (size_t i = 0; i < set->count; i++) {
		if (!strcmp(set->real_paths[i], real_path)) {
			free(real_path);
			return false;
		}
	}
	char **grown = reallocarray(set->real_paths, set->count + 1, sizeof(*grown));
	if (grown) {
		set->real_paths = grown;
		set->real_paths[set->count++] = real_path;
	} else {
		set->no_memory = true;
		free(real_path);
	}
	return true;
}

void file_set_free(struct file_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->real_paths[i]);
	free(set->real_paths);
}
