/* Names a device after the execution provider (EP) to which its events belong.
 *
 * ONNX Runtime's profile does not name the EP of an event.  But an EP records the work of its own nodes, so a device is
 * named after a provider if nodes of this provider caused all its events.  The candidates are the providers that ran
 * nodes, except ONNX Runtime's CPU provider, which has no device, and except providers of which the recording has
 * device events already.  If there is only one candidate, events without a known cause are its events too: for example,
 * the copies of constants while the session is created. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "provider_events/provider_events.h"

/* `provider` is an index + 1 in causes.providers. */
static bool is_candidate(const struct causes *causes, uint32_t provider)
{
	return strcmp(causes->providers[provider - 1], "CPUExecutionProvider") != 0 && !causes->has_events[provider - 1];
}

static struct device_name *find(const struct device_names *names, int32_t device)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->devices[i].device == device)
			return &names->devices[i];
	}
	return NULL;
}

epp_status *device_names_add(struct device_names *names, const struct causes *causes, int32_t device, uint32_t provider)
{
	struct device_name *name = find(names, device);

	if (!name) {
		if (!array_reserve(&names->devices, &names->room, names->count + 1, sizeof *names->devices))
			return epp_status_no_memory();
		name = &names->devices[names->count++];
		*name = (struct device_name){ .device = device };
	}
	if (!provider) {
		name->has_unknown = true;
		return NULL;
	}
	name->is_mixed |= !is_candidate(causes, provider) || (name->provider && name->provider != provider);
	name->provider = provider;
	return NULL;
}

const char *device_names_take(struct device_names *names, const struct causes *causes, int32_t device)
{
	struct device_name *name = find(names, device);
	uint32_t candidates_count = 0;

	if (!name || name->is_named || name->is_mixed || !name->provider)
		return NULL;
	for (uint32_t i = 1; i <= causes->providers_count; i++)
		candidates_count += is_candidate(causes, i);
	if (name->has_unknown && candidates_count > 1)
		return NULL;
	name->is_named = true;
	return causes->providers[name->provider - 1];
}

void device_names_deinit(struct device_names *names)
{
	free(names->devices);
	memset(names, 0, sizeof *names);
}
