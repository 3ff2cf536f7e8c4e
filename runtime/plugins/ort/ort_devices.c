/* Hardware devices and EP devices.  The host has one hardware device: its processor, or the one that it was configured
 * to offer.  An EP may create more, and makes an EP device for each hardware device that it supports.  Texts and
 * key-value pairs are copied, because an EP's factory may free its own at any time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "epprof/plugin.h"
#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

struct OrtHardwareDevice {
	OrtHardwareDeviceType type;
	uint32_t vendor_id;
	uint32_t device_id;
	char *vendor;
	OrtKeyValuePairs *metadata; /* NULL: no pairs */
};

struct OrtEpDevice {
	const OrtHardwareDevice *hardware;
	char *name;
	char *vendor;
	OrtKeyValuePairs *metadata;
	OrtKeyValuePairs *options;
	const OrtMemoryInfo *memory;
	const OrtMemoryInfo *host_memory;
};

static char host_vendor[] = "epprof host";
static OrtHardwareDevice offered = { .type = OrtHardwareDeviceType_CPU, .vendor = host_vendor };

const OrtHardwareDevice *ort_offered_device(void)
{
	return &offered;
}

const char *ort_offered_text(char text[ORT_OFFERED_BYTES])
{
	static const char *const types[] = { "CPU", "GPU", "NPU" };

	if (offered.vendor_id || offered.device_id)
		snprintf(text, ORT_OFFERED_BYTES, "%s of vendor 0x%x, id 0x%x", types[offered.type], offered.vendor_id,
		         offered.device_id);
	else
		snprintf(text, ORT_OFFERED_BYTES, "%s", types[offered.type]);
	return text;
}

epp_status *epp_plugin_offer_device(const epp_plugin_device *device)
{
	epp_plugin_device known;

	if (!device)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_offer_device: device is NULL");
	EPP_TRY(options_take(&known, sizeof(known), device, "epp_plugin_device"));
	if (known.type > OrtHardwareDeviceType_NPU)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_offer_device: type %u is unknown", known.type);
	offered.type = (OrtHardwareDeviceType)known.type;
	offered.vendor_id = known.vendor_id;
	offered.device_id = known.device_id;
	return NULL;
}

OrtHardwareDeviceType ort_api_HardwareDevice_Type(const OrtHardwareDevice *device)
{
	return device ? device->type : OrtHardwareDeviceType_CPU;
}

uint32_t ort_api_HardwareDevice_VendorId(const OrtHardwareDevice *device)
{
	return device ? device->vendor_id : 0;
}

const char *ort_api_HardwareDevice_Vendor(const OrtHardwareDevice *device)
{
	return device ? device->vendor : "";
}

uint32_t ort_api_HardwareDevice_DeviceId(const OrtHardwareDevice *device)
{
	return device ? device->device_id : 0;
}

const OrtKeyValuePairs *ort_api_HardwareDevice_Metadata(const OrtHardwareDevice *device)
{
	return device && device->metadata ? device->metadata : ort_key_values_empty();
}

OrtStatus *ort_ep_api_CreateHardwareDevice(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                           const char *vendor_name, const OrtKeyValuePairs *metadata,
                                           OrtHardwareDevice **hardware_device)
{
	if (!hardware_device)
		return ort_null_argument("CreateHardwareDevice", "hardware_device");
	*hardware_device = NULL;
	if (!vendor_name)
		return ort_null_argument("CreateHardwareDevice", "vendor_name");
	OrtHardwareDevice *device = calloc(1, sizeof(*device));
	if (device) {
		device->type = type;
		device->vendor_id = vendor_id;
		device->device_id = device_id;
		device->vendor = strdup(vendor_name);
		device->metadata = ort_key_values_copy(metadata);
	}
	if (!device || !device->vendor || !device->metadata) {
		ort_ep_api_ReleaseHardwareDevice(device);
		return ort_status_create(ORT_FAIL, "out of memory");
	}
	*hardware_device = device;
	return NULL;
}

void ort_ep_api_ReleaseHardwareDevice(OrtHardwareDevice *device)
{
	if (!device || device == &offered)
		return;
	free(device->vendor);
	ort_api_ReleaseKeyValuePairs(device->metadata);
	free(device);
}

/* ---- EP devices ---- */

static char *text_of(const char *(*get)(const OrtEpFactory *), const OrtEpFactory *factory)
{
	const char *text = get ? get(factory) : NULL;
	return strdup(text ? text : "");
}

OrtStatus *ort_ep_api_CreateEpDevice(OrtEpFactory *ep_factory, const OrtHardwareDevice *hardware_device,
                                     const OrtKeyValuePairs *ep_metadata, const OrtKeyValuePairs *ep_options,
                                     OrtEpDevice **ep_device)
{
	if (!ep_device)
		return ort_null_argument("CreateEpDevice", "ep_device");
	*ep_device = NULL;
	if (!ep_factory || !hardware_device)
		return ort_null_argument("CreateEpDevice", ep_factory ? "hardware_device" : "ep_factory");
	OrtEpDevice *device = calloc(1, sizeof(*device));
	if (device) {
		device->hardware = hardware_device;
		device->name = text_of(ep_factory->GetName, ep_factory);
		device->vendor = text_of(ep_factory->GetVendor, ep_factory);
		device->metadata = ort_key_values_copy(ep_metadata);
		device->options = ort_key_values_copy(ep_options);
	}
	if (!device || !device->name || !device->vendor || !device->metadata || !device->options) {
		ort_ep_api_ReleaseEpDevice(device);
		return ort_status_create(ORT_FAIL, "out of memory");
	}
	*ep_device = device;
	return NULL;
}

void ort_ep_api_ReleaseEpDevice(OrtEpDevice *device)
{
	if (!device)
		return;
	free(device->name);
	free(device->vendor);
	ort_api_ReleaseKeyValuePairs(device->metadata);
	ort_api_ReleaseKeyValuePairs(device->options);
	free(device);
}

const char *ort_api_EpDevice_EpName(const OrtEpDevice *device)
{
	return device ? device->name : "";
}

const char *ort_api_EpDevice_EpVendor(const OrtEpDevice *device)
{
	return device ? device->vendor : "";
}

const OrtKeyValuePairs *ort_api_EpDevice_EpMetadata(const OrtEpDevice *device)
{
	return device ? device->metadata : NULL;
}

const OrtKeyValuePairs *ort_api_EpDevice_EpOptions(const OrtEpDevice *device)
{
	return device ? device->options : NULL;
}

const OrtHardwareDevice *ort_api_EpDevice_Device(const OrtEpDevice *device)
{
	return device ? device->hardware : NULL;
}

OrtStatus *ort_ep_api_EpDevice_AddAllocatorInfo(OrtEpDevice *device, const OrtMemoryInfo *memory_info)
{
	if (!device || !memory_info)
		return ort_null_argument("EpDevice_AddAllocatorInfo", device ? "allocator_memory_info" : "ep_device");
	if (ort_api_MemoryInfoGetDeviceMemType(memory_info) == OrtDeviceMemoryType_HOST_ACCESSIBLE)
		device->host_memory = memory_info;
	else
		device->memory = memory_info;
	return NULL;
}

const OrtMemoryInfo *ort_api_EpDevice_MemoryInfo(const OrtEpDevice *device, OrtDeviceMemoryType memory_type)
{
	if (!device)
		return NULL;
	return memory_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? device->host_memory : device->memory;
}
