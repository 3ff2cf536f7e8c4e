/* Loads the plugins that a bridge hosts. */
#include "carried.h"

const char epprof_carries[] = "EPPROF_PROFILERS:KINETO_PLUGIN_PATH";

struct loading {
	epp_plugin_found_fn found;
	void *user;
};

static epp_status *load(const char *path, epp_plugin **plugin)
{
	epp_status *status = epp_plugin_load(path, plugin);
	if (status || !epp_plugin_symbol(*plugin, CARRIES_SYMBOL))
		return status;
	epp_status_release(epp_plugin_unload(*plugin));
	*plugin = NULL;
	return epp_status_create(EPP_INVALID_ARGUMENT, "%s: is a bridge itself", path);
}

static void load_named(void *user, const char *place, const char *path)
{
	const struct loading *loading = user;
	epp_plugin *plugin;
	epp_status *status = epp_status_prefix(load(path, &plugin), "%s", place);
	loading->found(loading->user, path, plugin, status);
	epp_status_release(status);
}

void carried_load(epp_plugin_found_fn found, void *user)
{
	struct loading loading = { found, user };
	epp_plugin_find_carried(load_named, &loading);
}
