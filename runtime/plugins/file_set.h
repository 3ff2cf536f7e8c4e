/* A set of files.  A file is in the set once, even if it is added under several names. */
#ifndef EPPROF_RUNTIME_PLUGINS_FILE_SET_H
#define EPPROF_RUNTIME_PLUGINS_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>

struct file_set {
	char **real_paths;
	size_t count;
	bool no_memory; /* memory ran out, so a file may be reported as new twice */
};

/* Adds a file and returns true if it was not in the set.  A file that does not exist is always new. */
bool file_set_add(struct file_set *set, const char *path);
void file_set_free(struct file_set *set);

#endif
