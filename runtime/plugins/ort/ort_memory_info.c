/* Descriptions of memory, which real execution providers create before they report a device.  This host allocates no
 * memory by them; it only stores and returns their values.  Execution providers may also create custom operator
 * domains, which store nothing here. */
#include <stdlib.h>
#include <string.h>

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

struct OrtMemoryDevice {
	OrtMemoryInfoDeviceType type;
	OrtDeviceMemoryType memory_type;
	uint32_t vendor_id;
	int32_t device_id;
	size_t alignment;
};

struct OrtMemoryInfo {
	OrtMemoryDevice device;
	OrtAllocatorType allocator_type;
	OrtMemType mem_type;
	char name[];
};

struct OrtCustomOpDomain {
	char unused;
};

static OrtStatus *create(const char *name, const OrtMemoryInfo *like, OrtMemoryInfo **out)
{
	if (!name || !out)
		return ort_null_argument("CreateMemoryInfo", name ? "out" : "name");
	size_t bytes = strlen(name) + 1;
	*out = malloc(sizeof(**out) + bytes);
	if (!*out)
		return ort_status_create(ORT_FAIL, "out of memory");
	**out = *like;
	memcpy((*out)->name, name, bytes);
	return NULL;
}

OrtStatus *ort_api_CreateMemoryInfo(const char *name, OrtAllocatorType type, int id, OrtMemType mem_type,
                                    OrtMemoryInfo **out)
{
	OrtMemoryInfo like = { .device.device_id = id, .allocator_type = type, .mem_type = mem_type };
	return create(name, &like, out);
}

OrtStatus *ort_api_CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo **out)
{
	return create("Cpu", &(OrtMemoryInfo){ .allocator_type = type, .mem_type = mem_type }, out);
}

OrtStatus *ort_api_CreateMemoryInfo_V2(const char *name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id,
                                       int32_t device_id, OrtDeviceMemoryType mem_type, size_t alignment,
                                       OrtAllocatorType allocator_type, OrtMemoryInfo **out)
{
	OrtMemoryInfo like = {
		.device = { device_type, mem_type, vendor_id, device_id, alignment },
		.allocator_type = allocator_type,
	};
	return create(name, &like, out);
}

void ort_api_ReleaseMemoryInfo(OrtMemoryInfo *info)
{
	free(info);
}

static bool same_device(const OrtMemoryDevice *a, const OrtMemoryDevice *b)
{
	return a->type == b->type && a->memory_type == b->memory_type && a->vendor_id == b->vendor_id &&
	       a->device_id == b->device_id && a->alignment == b->alignment;
}

OrtStatus *ort_api_CompareMemoryInfo(const OrtMemoryInfo *info1, const OrtMemoryInfo *info2, int *out)
{
	if (!info1 || !info2 || !out)
		return ort_null_argument("CompareMemoryInfo", "an argument");
	bool same = same_device(&info1->device, &info2->device) && info1->allocator_type == info2->allocator_type &&
	            info1->mem_type == info2->mem_type && !strcmp(info1->name, info2->name);
	*out = same ? 0 : -1;
	return NULL;
}

OrtStatus *ort_api_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out)
{
	if (!info || !out)
		return ort_null_argument("MemoryInfoGetName", info ? "out" : "info");
	*out = info->name;
	return NULL;
}

OrtStatus *ort_api_MemoryInfoGetId(const OrtMemoryInfo *info, int *out)
{
	if (!info || !out)
		return ort_null_argument("MemoryInfoGetId", info ? "out" : "info");
	*out = info->device.device_id;
	return NULL;
}

OrtStatus *ort_api_MemoryInfoGetMemType(const OrtMemoryInfo *info, OrtMemType *out)
{
	if (!info || !out)
		return ort_null_argument("MemoryInfoGetMemType", info ? "out" : "info");
	*out = info->mem_type;
	return NULL;
}

OrtStatus *ort_api_MemoryInfoGetType(const OrtMemoryInfo *info, OrtAllocatorType *out)
{
	if (!info || !out)
		return ort_null_argument("MemoryInfoGetType", info ? "out" : "info");
	*out = info->allocator_type;
	return NULL;
}

void ort_api_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, OrtMemoryInfoDeviceType *out)
{
	if (out)
		*out = info ? info->device.type : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ort_api_MemoryInfoGetDeviceMemType(const OrtMemoryInfo *info)
{
	return info ? info->device.memory_type : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ort_api_MemoryInfoGetVendorId(const OrtMemoryInfo *info)
{
	return info ? info->device.vendor_id : 0;
}

/* ---- the device of the memory ---- */

const OrtMemoryDevice *ort_ep_api_MemoryInfo_GetMemoryDevice(const OrtMemoryInfo *info)
{
	return info ? &info->device : NULL;
}

bool ort_ep_api_MemoryDevice_AreEqual(const OrtMemoryDevice *a, const OrtMemoryDevice *b)
{
	return a == b || (a && b && same_device(a, b));
}

OrtMemoryInfoDeviceType ort_ep_api_MemoryDevice_GetDeviceType(const OrtMemoryDevice *device)
{
	return device ? device->type : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ort_ep_api_MemoryDevice_GetMemoryType(const OrtMemoryDevice *device)
{
	return device ? device->memory_type : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ort_ep_api_MemoryDevice_GetVendorId(const OrtMemoryDevice *device)
{
	return device ? device->vendor_id : 0;
}

uint32_t ort_ep_api_MemoryDevice_GetDeviceId(const OrtMemoryDevice *device)
{
	return device ? (uint32_t)device->device_id : 0;
}

/* ---- custom operator domains ---- */

OrtStatus *ort_api_CreateCustomOpDomain(const char *domain, OrtCustomOpDomain **out)
{
	if (!domain || !out)
		return ort_null_argument("CreateCustomOpDomain", domain ? "out" : "domain");
	*out = calloc(1, sizeof(**out));
	return *out ? NULL : ort_status_create(ORT_FAIL, "out of memory");
}

OrtStatus *ort_api_CustomOpDomain_Add(OrtCustomOpDomain *custom_op_domain, const OrtCustomOp *op)
{
	if (!custom_op_domain || !op)
		return ort_null_argument("CustomOpDomain_Add", custom_op_domain ? "op" : "custom_op_domain");
	return NULL;
}

void ort_api_ReleaseCustomOpDomain(OrtCustomOpDomain *custom_op_domain)
{
	free(custom_op_domain);
}
