/* The part of POSIX' dlfcn.h that epprof uses, for Windows. libraries.c has the functions. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_DLFCN_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_DLFCN_H

#define RTLD_NOW 0
#define RTLD_LOCAL 0
#define RTLD_DEFAULT NULL /* the program itself, which exports nothing */
#define RTLD_NOLOAD 1
#define RTLD_NODELETE 2

/* Loads a DLL by its path. The DLLs that it needs are searched in its folder, the folder of the program and the folders
 * of Windows, and never in the working folder or in PATH. */
void *dlopen(const char *path, int flags);
int dlclose(void *library);
void *dlsym(void *library, const char *name);
/* Returns the reason why dlopen failed on this thread; NULL: it did not fail since the last call. */
char *dlerror(void);

typedef struct {
	const char *dli_fname; /* UTF-8, with slashes; valid until the next call on this thread */
} Dl_info;

/* Finds the DLL or program that contains an address. Returns 0 if there is none. */
int dladdr(const void *address, Dl_info *found);

#endif
