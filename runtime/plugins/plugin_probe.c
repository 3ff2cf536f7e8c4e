/* Probing: the library is opened once, then taken into use and given back as each kind whose symbols it has. */
#include "plugins/plugin_probe.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugins/plugin_kinds.h"

static void tell(const struct plugin_probe *probe, epp_plugin_fact fact)
{
	fact.kind = probe->kind;
	if (probe->tell)
		probe->tell(probe->user, &fact);
}

void plugin_probe_version(const struct plugin_probe *probe, const char *of, const char *format, ...)
{
	char text[128];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell(probe, (epp_plugin_fact){ .type = EPP_FACT_VERSION, .name = of, .text = text });
}

void plugin_probe_size(const struct plugin_probe *probe, const char *of, size_t bytes, size_t known_bytes)
{
	tell(probe, (epp_plugin_fact){ .type = EPP_FACT_SIZE, .name = of, .bytes = bytes, .known_bytes = known_bytes });
}

void plugin_probe_entry(const struct plugin_probe *probe, const char *entry, bool is_present, bool is_required)
{
	tell(probe, (epp_plugin_fact){
			.type = EPP_FACT_ENTRY, .name = entry, .is_present = is_present, .is_required = is_required });
}

static void probe_as(epp_plugin *plugin, const struct plugin_kind *kind, const struct plugin_probe *probe)
{
	tell(probe, (epp_plugin_fact){ .type = EPP_FACT_KIND });
	for (size_t i = 0; i < PLUGIN_KIND_SYMBOLS_MAX && kind->symbols[i]; i++)
		tell(probe, (epp_plugin_fact){ .type = EPP_FACT_SYMBOL,
		                               .name = kind->symbols[i],
		                               .is_present = dlsym(plugin->library, kind->symbols[i]) != NULL,
		                               .is_required = 1 });
	epp_status *status = plugin_kind_check(kind, plugin->library);
	plugin->kind = kind;
	if (!status)
		status = kind->adapter->open(plugin);
	if (status) {
		tell(probe, (epp_plugin_fact){ .type = EPP_FACT_PROBLEM, .text = epp_status_message(status) });
		epp_status_release(status);
		return;
	}
	tell(probe, (epp_plugin_fact){ .type = EPP_FACT_NAME, .text = plugin->name });
	if (kind->adapter->describe)
		kind->adapter->describe(plugin, probe);
	kind->adapter->close(plugin);
	free(plugin->name);
	plugin->name = NULL;
}

epp_status *epp_plugin_probe(const char *path, epp_plugin_fact_fn told, void *user)
{
	epp_plugin *plugin;
	bool is_any = false;
	if (!path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_probe: path is NULL");
	EPP_TRY(plugin_library_open(path, &plugin));
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++) {
		if (!plugin_kind_found(kind, plugin->library))
			continue;
		is_any = true;
		probe_as(plugin, kind, &(struct plugin_probe){ told, user, kind->name });
	}
	epp_status *status = is_any ? NULL : epp_status_prefix(plugin_kind_none(), "%s", plugin->file);
	plugin_destroy(plugin);
	return status;
}
