/* Files that were seen, however many names each has. */
#ifndef EPPROF_RUNTIME_PLUGINS_FILE_SET_H
#define EPPROF_RUNTIME_PLUGINS_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>

struct file_set {
	char **real_paths;
	size_t count;
	bool no_memory; /* a file may be told as new twice */
};

/* Whether it is new; so is what is not there. */
bool file_set_add(struct file_set *set, const char *path);
void file_set_free(struct file_set *set);

#endif
