/* Opens execution provider libraries as ONNX Runtime does: CreateEpFactories, GetSupportedDevices with this host's
 * device, CreateEp; profilers come from OrtEp::CreateProfiler.  The first factory that supports the device is used; its
 * EP lives as long as the plugin.
 *
 * Data from a library is checked before use.  Each array that the library fills has spare entries after its end.  They
 * are checked afterwards, so an overrun by a few entries is reported and corrupts no memory.  After any failure,
 * close() releases the objects created so far, newest first: EP, EP devices, factories. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"
#include "plugins/plugin_kinds.h"
#include "plugins/plugin_probe.h"

#define FACTORIES_MAX 4 /* ONNX Runtime's limit */
#define EP_DEVICES_MAX 8
#define SPARE 8

struct ort_plugin {
	CreateEpApiFactoriesFn create_factories;
	ReleaseEpApiFactoryFn release_factory;
	OrtLogger *logger;
	OrtEpFactory *factories[FACTORIES_MAX + SPARE];
	size_t factories_count;
	OrtEpFactory *factory; /* the factory that created the EP */
	OrtEpDevice *ep_devices[EP_DEVICES_MAX + SPARE];
	size_t ep_devices_count;
	OrtEp *ep;
};

/* Converts a status of the plugin to an epp_status and frees the status; NULL stays NULL. */
static epp_status *convert_status(OrtStatus *status, const char *step)
{
	if (!status)
		return NULL;
	epp_status *taken = epp_status_create(EPP_PLUGIN, "%s: %s", step, ort_status_message(status));
	ort_status_release(status);
	return taken;
}

/* Returns how many objects must be released.  The plugin's own count is not used, because it may be wrong. */
static size_t count_filled(size_t count, size_t max, void *const *filled)
{
	size_t there = 0;
	while (there < count && there < max && filled[there])
		there++;
	return there;
}

static epp_status *count_check(const char *step, size_t count, size_t max, void *const *filled)
{
	if (count > max)
		return epp_status_create(EPP_PLUGIN, "%s: it returned a count of %zu; the array holds %zu", step, count,
		                         max);
	for (size_t i = 0; i < count; i++) {
		if (!filled[i])
			return epp_status_create(EPP_PLUGIN, "%s: number %zu of %zu is NULL", step, i, count);
	}
	for (size_t i = max; i < max + SPARE; i++) {
		if (filled[i])
			return epp_status_create(EPP_PLUGIN, "%s: it wrote past the end of an array of %zu", step, max);
	}
	return NULL;
}

/* ---- factories ---- */

static epp_status *factory_check(const OrtEpFactory *factory)
{
	const char *missing = NULL;
	if (factory->ort_version_supported < EPPROF_ORT_API_VERSION_MIN)
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "CreateEpFactories: the factory has API version %u, which is below %d",
		                         factory->ort_version_supported, EPPROF_ORT_API_VERSION_MIN);
	if (!factory->GetName)
		missing = "GetName";
	else if (!factory->GetVendor)
		missing = "GetVendor";
	else if (!factory->GetSupportedDevices)
		missing = "GetSupportedDevices";
	else if (!factory->CreateEp)
		missing = "CreateEp";
	else if (!factory->ReleaseEp)
		missing = "ReleaseEp";
	else if (!factory->GetVersion)
		missing = "GetVersion";
	else if (!factory->CreateDataTransfer)
		missing = "CreateDataTransfer";
	if (!missing)
		return NULL;
	return epp_status_create(EPP_INCOMPATIBLE, "CreateEpFactories: the factory's %s is NULL", missing);
}

static epp_status *create_factories(struct ort_plugin *ort, const char *registration_name)
{
	size_t count = 0;
	plugin_entry("CreateEpFactories");
	EPP_TRY(convert_status(ort->create_factories(registration_name, epp_ort_api_base(), ort->logger, ort->factories,
	                                             FACTORIES_MAX, &count),
	                       "CreateEpFactories"));
	ort->factories_count = count_filled(count, FACTORIES_MAX, (void *const *)ort->factories);
	EPP_TRY(count_check("CreateEpFactories", count, FACTORIES_MAX, (void *const *)ort->factories));
	if (!count)
		return epp_status_create(EPP_PLUGIN, "CreateEpFactories: it created no factory");
	for (size_t i = 0; i < count; i++)
		EPP_TRY(factory_check(ort->factories[i]));
	return NULL;
}

/* ---- device and EP ---- */

static epp_status *find_device(struct ort_plugin *ort)
{
	const OrtHardwareDevice *device = ort_offered_device();
	char text[ORT_OFFERED_BYTES];
	for (size_t i = 0; i < ort->factories_count; i++) {
		OrtEpFactory *factory = ort->factories[i];
		size_t count = 0;
		plugin_entry("GetSupportedDevices");
		EPP_TRY(convert_status(
		    factory->GetSupportedDevices(factory, &device, 1, ort->ep_devices, EP_DEVICES_MAX, &count),
		    "GetSupportedDevices"));
		ort->ep_devices_count = count_filled(count, EP_DEVICES_MAX, (void *const *)ort->ep_devices);
		EPP_TRY(count_check("GetSupportedDevices", count, EP_DEVICES_MAX, (void *const *)ort->ep_devices));
		if (count) {
			ort->factory = factory;
			return NULL;
		}
	}
	return epp_status_create(EPP_INCOMPATIBLE, "GetSupportedDevices: it does not support the offered device (%s)",
	                         ort_offered_text(text));
}

static epp_status *create_ep(struct ort_plugin *ort)
{
	OrtSessionOptions *options = NULL;
	const OrtHardwareDevice *device = ort_api_EpDevice_Device(ort->ep_devices[0]);
	const OrtKeyValuePairs *metadata = ort_api_EpDevice_EpMetadata(ort->ep_devices[0]);
	EPP_TRY(convert_status(ort_api_CreateSessionOptions(&options), "CreateEp"));
	OrtEp *ep = NULL;
	plugin_entry("CreateEp");
	OrtStatus *refusal = ort->factory->CreateEp(ort->factory, &device, &metadata, 1, options, ort->logger, &ep);
	ort_api_ReleaseSessionOptions(options);
	EPP_TRY(convert_status(refusal, "CreateEp"));
	if (!ep)
		return epp_status_create(EPP_PLUGIN, "CreateEp: it created no EP");
	ort->ep = ep;
	/* In older versions the struct has no CreateProfiler. */
	if (ep->ort_version_supported < EPPROF_ORT_API_VERSION_MIN)
		return epp_status_create(EPP_INCOMPATIBLE, "CreateEp: the EP has API version %u, which is below %d",
		                         ep->ort_version_supported, EPPROF_ORT_API_VERSION_MIN);
	return NULL;
}

/* ---- the adapter ---- */

static void close_plugin(epp_plugin *plugin)
{
	struct ort_plugin *ort = plugin->state;
	plugin_entry("ReleaseEp");
	if (ort->ep)
		ort->factory->ReleaseEp(ort->factory, ort->ep);
	for (size_t i = 0; i < ort->ep_devices_count; i++)
		ort_ep_api_ReleaseEpDevice(ort->ep_devices[i]);
	plugin_entry("ReleaseEpFactory");
	for (size_t i = 0; i < ort->factories_count; i++) {
		/* A failure to release a factory affects no later step, so it is ignored. */
		ort_status_release(ort->release_factory(ort->factories[i]));
	}
	ort_logger_destroy(ort->logger);
	free(ort);
	plugin->state = NULL;
}

/* Makes the registration name of a library: "foo" for "libfoo.so.1" and "foo.dll". */
static char *registration_name(const char *file)
{
	if (!strncmp(file, "lib", 3) && file[3])
		file += 3;
	const char *end = strstr(file, ".so");
	if (!end)
		end = strstr(file, ".dll");
	return end && end > file ? strndup(file, (size_t)(end - file)) : strdup(file);
}

static epp_status *open_steps(epp_plugin *plugin, struct ort_plugin *ort, const char *registered_name)
{
	*(void **)&ort->create_factories = dlsym(plugin->library, "CreateEpFactories");
	*(void **)&ort->release_factory = dlsym(plugin->library, "ReleaseEpFactory");
	ort->logger = ort_logger_create(registered_name);
	if (!ort->logger)
		return epp_status_no_memory();
	EPP_TRY(create_factories(ort, registered_name));
	EPP_TRY(find_device(ort));
	EPP_TRY(create_ep(ort));
	plugin_entry("GetName");
	const char *name = ort->factory->GetName(ort->factory);
	plugin->name = strdup(name ? name : registered_name);
	return plugin->name ? NULL : epp_status_no_memory();
}

static epp_status *open_plugin(epp_plugin *plugin)
{
	struct ort_plugin *ort = calloc(1, sizeof(*ort));
	char *registered_name = registration_name(plugin->file);
	epp_status *status;
	plugin->state = ort;
	if (!ort || !registered_name) {
		status = epp_status_no_memory();
		free(ort);
		plugin->state = NULL;
	} else {
		status = open_steps(plugin, ort, registered_name);
		if (status)
			close_plugin(plugin);
	}
	free(registered_name);
	return status;
}

static epp_status *create_profiler(epp_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	struct ort_plugin *ort = plugin->state;
	if (!ort->ep->CreateProfiler)
		return epp_status_create(EPP_PLUGIN, "the EP has no such function: it has no profiler");
	OrtStatus *status = ort->ep->CreateProfiler(ort->ep, profiler);
	if (!status)
		return NULL;
	*profiler = NULL;
	epp_status *taken = epp_status_create(EPP_PLUGIN, "%s", ort_status_message(status));
	ort_status_release(status);
	return taken;
}

static void describe(epp_plugin *plugin, const struct plugin_probe *probe)
{
	const struct ort_plugin *ort = plugin->state;
	plugin_probe_version(probe, "OrtEpFactory", "%u", ort->factory->ort_version_supported);
	plugin_probe_version(probe, "OrtEp", "%u", ort->ep->ort_version_supported);
	plugin_probe_entry(probe, "CreateProfiler", ort->ep->CreateProfiler != NULL, true);
}

const struct plugin_adapter plugin_adapter_ort = {
	.open_plugin = open_plugin,
	.profiler_step = "CreateProfiler",
	.profiler_create = create_profiler,
	.close_plugin = close_plugin,
	.describe = describe,
};
