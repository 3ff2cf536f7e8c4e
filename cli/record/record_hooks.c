/* The hooks that record frameworks in the program: the preloaded library and the paths of Python's hooks. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

/* Adds a path before the user's value of a variable, with a colon between them. */
static epp_status *put_before(const char *variable, const char *path)
{
	const char *given = secure_getenv(variable);
	char *text = NULL;
	bool is_set = asprintf(&text, "%s%s%s", path, given && *given ? ":" : "", given ? given : "") >= 0 &&
	              setenv(variable, text, 1) == 0;

	free(text);
	return is_set ? NULL : epp_status_no_memory();
}

/* Adds the folder with epprof's sitecustomize.py to PYTHONPATH.  `bridges` is the folder of the bridges.  In a build
 * tree, sitecustomize.py is in bridges/python/; in an installation, in bridges/epprof/python/. */
static epp_status *set_python_path(const char *bridges)
{
	static const char *const places[] = { "python/epprof_record", "epprof/python/epprof_record" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, sizeof path, "%s/%s", bridges, places[i]);
		if (access(path, X_OK) == 0)
			return put_before("PYTHONPATH", path);
	}
	fprintf(stderr, "epprof: frameworks in Python are not recorded: the folder epprof_record is not installed\n");
	return NULL;
}

/* Adds libepprof_preload.so to LD_PRELOAD.  If its path contains a colon or a space, a message is printed instead,
 * because the dynamic linker separates paths by these. */
static epp_status *set_preload(const char *bridges)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/libepprof_preload.so", bridges);
	const char *problem = access(path, R_OK) != 0   ? strerror(errno)
	                      : strpbrk(path, " :\t\n") ? "a path with a space or a colon cannot be preloaded"
	                                                : NULL;
	if (problem) {
		fprintf(stderr, "epprof: ONNX Runtime in C and C++ is not recorded: %s: %s\n", path, problem);
		return NULL;
	}
	/* Without this option, a program with AddressSanitizer does not start if a library is loaded before the
	 * sanitizer's. */
	epp_status *status = put_before("ASAN_OPTIONS", "verify_asan_link_order=0");
	return status ? status : put_before("LD_PRELOAD", path);
}

epp_status *record_set_hooks(void)
{
	char *bridge;
	epp_status *status = cli_bridge_find("ort", &bridge);

	if (status) {
		fprintf(stderr, "epprof: frameworks are not recorded: %s\n", epp_status_message(status));
		epp_status_destroy(status);
		return NULL;
	}
	*strrchr(bridge, '/') = '\0';
	status = set_python_path(bridge);
	if (!status)
		status = set_preload(bridge);
	free(bridge);
	return status;
}
