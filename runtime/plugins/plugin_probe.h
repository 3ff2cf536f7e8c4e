/* Functions with which adapters report the properties of an open plugin to a probe: versions, sizes, entries (see
 * epp_plugin_probe in epprof/plugin.h). */
#ifndef EPPROF_RUNTIME_PLUGINS_PLUGIN_PROBE_H
#define EPPROF_RUNTIME_PLUGINS_PLUGIN_PROBE_H

#include <stdbool.h>

#include "epprof/plugin.h"

struct plugin_probe {
	epp_plugin_fact_fn report;
	void *user;
	const char *kind;
};

void plugin_probe_version(const struct plugin_probe *probe, const char *of, const char *format, ...) EPP_FORMAT(3, 4);
void plugin_probe_size(const struct plugin_probe *probe, const char *of, size_t bytes, size_t known_bytes);
void plugin_probe_entry(const struct plugin_probe *probe, const char *entry, bool is_present, bool is_required);

#endif
