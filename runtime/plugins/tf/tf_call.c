/* TF_Status is opaque.  It must be created and read with the functions that the plugin itself calls: either
 * TensorFlow's or those of libepprof_tf_shim.so. */
#include <dlfcn.h>

#include "plugins/tf/tf_plugin.h"

static void *find(void *library, const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	return function ? function : dlsym(library, name);
}

struct tf_status_functions tf_status_functions_find(void *library)
{
	struct tf_status_functions found;
	*(void **)&found.create = find(library, "TF_NewStatus");
	*(void **)&found.destroy = find(library, "TF_DeleteStatus");
	*(void **)&found.set = find(library, "TF_SetStatus");
	*(void **)&found.code = find(library, "TF_GetCode");
	*(void **)&found.message = find(library, "TF_Message");
	if (!found.create || !found.destroy || !found.set || !found.code || !found.message)
		return (struct tf_status_functions){ 0 };
	return found;
}

static epp_status *begin(const struct tf_plugin *plugin)
{
	if (plugin->statuses.set)
		plugin->statuses.set(plugin->status, TF_OK, "");
	return NULL;
}

static epp_status *end(const struct tf_plugin *plugin, const char *step)
{
	if (!plugin->statuses.code)
		return NULL;
	TF_Code code = plugin->statuses.code(plugin->status);
	if (code == TF_OK)
		return NULL;
	const char *message = plugin->statuses.message(plugin->status);
	return epp_status_create(EPP_PLUGIN, "%s: code %d: %s", step, (int)code, message ? message : "");
}

epp_status *tf_call(struct tf_plugin *plugin, const char *step, void (*fn)(const TP_Profiler *, TF_Status *))
{
	EPP_TRY(begin(plugin));
	fn(&plugin->profiler, plugin->status);
	return end(plugin, step);
}

epp_status *tf_call_collect(struct tf_plugin *plugin, const char *step, tf_collect_fn *fn, uint8_t *buffer, size_t *bytes)
{
	EPP_TRY(begin(plugin));
	fn(&plugin->profiler, buffer, bytes, plugin->status);
	return end(plugin, step);
}
