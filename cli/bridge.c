/* `epprof --bridge NAME`: prints the absolute path of a bridge, that is, of a library that a framework loads as a
 * profiler plugin.  `epprof run` and `epprof record` use the same search.  Bridges are built and installed in the
 * folder of libepprof.so, so they are searched for in the folder of the libepprof.so that the command has loaded. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "epprof/epprof.h"

static const struct {
	const char *name;
	const char *missing; /* a possible reason if the bridge is not installed */
} bridges[] = {
	{ "ort", "it is part of the installation" },
	{ "tf", "it is part of the installation" },
	{ "pjrt", "it is part of the installation" },
	{ "kineto", "'make kineto TORCH=...' and 'make install' build it; of a wheel, 'import epprof_kineto' does" },
};
#define BRIDGES_COUNT (sizeof bridges / sizeof *bridges)

static epp_status *find(size_t bridge, char **path)
{
	const char *(*version)(void) = epp_version;
	char *beside;
	Dl_info where;

	*path = NULL;
	if (!dladdr(*(void **)&version, &where) || !where.dli_fname)
		return epp_status_create(EPP_NOT_FOUND, "the folder of libepprof.so is unknown");
	const char *slash = strrchr(where.dli_fname, '/');
	if (!slash)
		return epp_status_create(EPP_NOT_FOUND, "the folder of libepprof.so is unknown");
	if (asprintf(&beside, "%.*slibepprof_%s.so", (int)(slash - where.dli_fname + 1), where.dli_fname,
	             bridges[bridge].name) < 0)
		return epp_status_no_memory();
	*path = realpath(beside, NULL);
	epp_status *status = *path ? NULL : epp_status_errno(errno, "%s (%s)", beside, bridges[bridge].missing);
	free(beside);
	return status;
}

epp_status *cli_bridge_find(const char *name, char **path)
{
	for (size_t i = 0; i < BRIDGES_COUNT; i++)
		if (strcmp(bridges[i].name, name) == 0)
			return find(i, path);
	*path = NULL;
	return epp_status_create(EPP_INVALID_ARGUMENT, "unknown bridge '%s': must be one of ort, tf, pjrt, kineto", name);
}

int cli_bridge(const char *name)
{
	char *path;

	if (!name || !*name)
		return cli_misuse(NULL, "--bridge needs a name: ort, tf, pjrt or kineto");
	epp_status *status = cli_bridge_find(name, &path);
	if (epp_status_code(status) == EPP_INVALID_ARGUMENT) {
		int code = cli_misuse(NULL, "%s", epp_status_message(status));
		epp_status_destroy(status);
		return code;
	}
	if (status)
		return cli_failure(status);
	puts(path);
	free(path);
	return CLI_OK;
}
