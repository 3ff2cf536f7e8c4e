/* The table of plugin kinds, and the lookup of a library's symbols in it.  Execution providers come first: if a library
 * supports several frameworks, it records most as an execution provider, because only an execution provider is notified
 * of the host's events. */
#include "plugins/plugin_kinds.h"

#include <dlfcn.h>
#include <stdio.h>

const struct plugin_kind plugin_kinds[] = {
	{ "ort", { "CreateEpFactories", "ReleaseEpFactory" }, &plugin_adapter_ort },
	{ "tf", { "TF_InitProfiler" }, &plugin_adapter_tf },
	{ "pu1", { "pu1GetVersion", "kineto_register_privateuse1_plugin" }, &plugin_adapter_pu1 },
	{ "pjrt", { "GetPjrtApi" }, &plugin_adapter_pjrt },
	{ NULL, { NULL }, NULL },
};

bool plugin_kind_found(const struct plugin_kind *kind, void *library)
{
	for (size_t i = 0; i < PLUGIN_KIND_SYMBOLS_MAX && kind->symbols[i]; i++) {
		if (dlsym(library, kind->symbols[i]))
			return true;
	}
	return false;
}

epp_status *plugin_kind_check(const struct plugin_kind *kind, void *library)
{
	for (size_t i = 0; i < PLUGIN_KIND_SYMBOLS_MAX && kind->symbols[i]; i++) {
		if (!dlsym(library, kind->symbols[i]))
			return epp_status_create(EPP_INCOMPATIBLE, "no symbol '%s'", kind->symbols[i]);
	}
	if (!kind->adapter)
		return epp_status_create(EPP_INCOMPATIBLE, "a plugin of kind %s, which is not supported", kind->name);
	return NULL;
}

epp_status *plugin_kind_none(void)
{
	char wanted[256] = "";
	size_t used = 0;
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++) {
		int bytes = snprintf(wanted + used, sizeof(wanted) - used, "%s'%s'", used ? ", " : "", kind->symbols[0]);
		if (bytes > 0 && used + (size_t)bytes < sizeof(wanted))
			used += (size_t)bytes;
	}
	return epp_status_create(EPP_INCOMPATIBLE, "not a plugin: it exports no symbol of any known kind (%s)", wanted);
}
