/* Loads libepprof_tf_shim.so, from the folder of this library, into the global scope, where plugins find the symbols
 * that TensorFlow would provide.  If these symbols exist already, nothing is loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "epprof/plugin.h"

#define SHIM "libepprof_tf_shim.so"

static epp_status *beside_this_library(char *path, size_t room)
{
	Dl_info info;
	if (!dladdr(epp_tf_shim_load, &info) || !info.dli_fname)
		return epp_status_create(EPP_NOT_FOUND, "%s: the path of this library is unknown", SHIM);
	const char *slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return epp_status_create(EPP_NOT_FOUND, "%s: the folder of this library is unknown", SHIM);
	int bytes = snprintf(path, room, "%.*s" SHIM, (int)(slash - info.dli_fname + 1), info.dli_fname);
	if (bytes < 0 || (size_t)bytes >= room)
		return epp_status_create(EPP_NOT_FOUND, "%s: its path is too long", SHIM);
	return NULL;
}

epp_status *epp_tf_shim_load(const char *path)
{
	char own[4096];
	if (dlsym(RTLD_DEFAULT, "TF_NewStatus") || dlopen("libtensorflow_framework.so.2", RTLD_NOW | RTLD_NOLOAD))
		return NULL;
	if (!path) {
		EPP_TRY(beside_this_library(own, sizeof(own)));
		path = own;
	}
	if (!strchr(path, '/'))
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: not a path", path);
	if (dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE))
		return NULL;
	const char *reason = dlerror();
	return epp_status_create(EPP_NOT_FOUND, "dlopen: %s", reason ? reason : path);
}
