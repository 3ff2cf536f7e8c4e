/* The part of POSIX' dirent.h that epprof uses, for Windows, with names in UTF-8. posix_folders.c has the functions. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_DIRENT_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_DIRENT_H

struct dirent {
	char d_name[260 * 3 + 1];
};

typedef struct folder DIR;

DIR *opendir(const char *path);
/* The entry is valid until the next call for this folder. */
struct dirent *readdir(DIR *folder);
int closedir(DIR *folder);
int scandir(const char *path, struct dirent ***entries, int (*chooses)(const struct dirent *entry),
            int (*compare)(const struct dirent **a, const struct dirent **b));
int alphasort(const struct dirent **a, const struct dirent **b);

#endif
