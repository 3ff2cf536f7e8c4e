/* The adapter for libraries of the PU1 ABI.  A loaded library stays in use (pu1_library.c); the plugin only refers to
 * it. */
#include <stdlib.h>
#include <string.h>

#include "plugins/plugin_kinds.h"
#include "plugins/pu1/pu1_profiler.h"

static void close_plugin(epp_plugin *plugin)
{
	plugin->state = NULL;
}

static epp_status *open_plugin(epp_plugin *plugin)
{
	struct pu1_library *library;
	const char *file = plugin->file;
	if (!strncmp(file, "lib", 3) && file[3])
		file += 3;
	const char *end = strstr(file, ".so");
	plugin->name = end && end > file ? strndup(file, (size_t)(end - file)) : strdup(file);
	if (!plugin->name)
		return epp_status_no_memory();
	epp_status *status = pu1_library_use(plugin->library, plugin->path, &library);
	plugin->state = library;
	return status;
}

static epp_status *create_profiler(epp_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	return pu1_profiler_create(plugin->state, profiler);
}

static void describe(epp_plugin *plugin, const struct plugin_probe *probe)
{
	pu1_library_describe(plugin->state, probe);
}

const struct plugin_adapter plugin_adapter_pu1 = {
	.open_plugin = open_plugin,
	.profiler_step = "making a profiler",
	.profiler_create = create_profiler,
	.close_plugin = close_plugin,
	.describe = describe,
};
