/* ONNX Runtime's tables for execution providers, made from ort_slots.def.  Each slot has the function with the slot's
 * name, or a stub.  A status stub returns a status that names the slot; other stubs return NULL, 0 or nothing.  A stub
 * ignores its arguments, which the calling conventions of x86-64 and arm64 allow. */
#include "epprof/plugin.h"

#include <stdio.h>
#include <string.h>

#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "plugins/ort/ort_served.h"

#define VERSION_TEXT_(version) "1." #version ".0"
#define VERSION_TEXT(version) VERSION_TEXT_(version)

OrtStatus *ort_null_argument(const char *entry, const char *argument)
{
	char message[128];
	snprintf(message, sizeof(message), "%s: %s is NULL", entry, argument);
	return ort_status_create(ORT_INVALID_ARGUMENT, message);
}

/* ---- stubs ---- */

static OrtStatus *not_served(const char *entry, int slot)
{
	char message[128];
	snprintf(message, sizeof(message), "%s (slot %d) is not implemented by this host", entry, slot);
	return ort_status_create(ORT_NOT_IMPLEMENTED, message);
}

static void *stub_pointer(void)
{
	return NULL;
}

static uint64_t stub_integer(void)
{
	return 0;
}

static void stub_void(void)
{
}

#define STUB_STATUS(table, name, slot) \
	static OrtStatus *stub_##table##_##name(void) \
	{ \
		return not_served(#table "::" #name, slot); \
	}
#define STUB_POINTER(table, name, slot)
#define STUB_INTEGER(table, name, slot)
#define STUB_VOID(table, name, slot)
#define MAKE_STUB(table, name, kind, slot) STUB_##kind(table, name, slot)
#define MAKE_SERVED(table, name, kind, slot)
#define ORT_API_SLOT(slot, name, kind, how) MAKE_##how(OrtApi, name, kind, slot)
#define ORT_EP_API_SLOT(slot, name, kind, how) MAKE_##how(OrtEpApi, name, kind, slot)
#define ORT_MODEL_EDITOR_API_SLOT(slot, name, kind, how) MAKE_##how(OrtModelEditorApi, name, kind, slot)
#include "plugins/ort/ort_slots.def"

/* ---- the tables ---- */

#define ADDRESS_STATUS(table, name) stub_##table##_##name
#define ADDRESS_POINTER(table, name) stub_pointer
#define ADDRESS_INTEGER(table, name) stub_integer
#define ADDRESS_VOID(table, name) stub_void
#define FILL_STUB(table, prefix, name, kind) (epp_ort_slot) ADDRESS_##kind(table, name)
#define FILL_SERVED(table, prefix, name, kind) (epp_ort_slot) prefix##name

static const union {
	epp_ort_slot slots[EPPROF_ORT_API_SLOTS];
	OrtApi table;
} api = { {
#define ORT_API_SLOT(slot, name, kind, how) [slot] = FILL_##how(OrtApi, ort_api_, name, kind),
#include "plugins/ort/ort_slots.def"
} };

static const union {
	epp_ort_slot slots[EPPROF_ORT_EP_API_SLOTS];
	OrtEpApi table;
} ep_api = { {
#define ORT_EP_API_SLOT(slot, name, kind, how) [slot] = FILL_##how(OrtEpApi, ort_ep_api_, name, kind),
#include "plugins/ort/ort_slots.def"
} };

/* EPs in C++ refuse a host that returns NULL for this table, although only EPs that build graphs use it. */
static const epp_ort_slot model_editor_api[EPPROF_ORT_MODEL_EDITOR_API_SLOTS] = {
#define ORT_MODEL_EDITOR_API_SLOT(slot, name, kind, how) [slot] = FILL_##how(OrtModelEditorApi, , name, kind),
#include "plugins/ort/ort_slots.def"
};

static const OrtApi *get_api(uint32_t version)
{
	return version >= 1 && version <= EPPROF_ORT_API_VERSION ? &api.table : NULL;
}

static const char *get_version_string(void)
{
	return VERSION_TEXT(EPPROF_ORT_API_VERSION);
}

const OrtApiBase *epp_ort_api_base(void)
{
	static const OrtApiBase base = { get_api, get_version_string };
	return &base;
}

const OrtEpApi *ort_api_GetEpApi(void)
{
	return &ep_api.table;
}

const OrtModelEditorApi *ort_api_GetModelEditorApi(void)
{
	return (const OrtModelEditorApi *)(const void *)model_editor_api;
}

/* ---- statuses and experimental functions ---- */

OrtStatus *ort_api_CreateStatus(OrtErrorCode code, const char *msg)
{
	return ort_status_create((int)code, msg);
}

OrtErrorCode ort_api_GetErrorCode(const OrtStatus *status)
{
	return (OrtErrorCode)ort_status_code(status);
}

const char *ort_api_GetErrorMessage(const OrtStatus *status)
{
	return ort_status_message(status);
}

void ort_api_ReleaseStatus(OrtStatus *status)
{
	ort_status_release(status);
}

static const EpprofApi_PushEvents_SinceV1_Fn push_events = profiler_registry_push;
static const EpprofApi_PushEvents_SinceV1_Fn push_late_events = profiler_registry_push_late;
static const EpprofApi_GraceNs_SinceV1_Fn grace_ns = profiler_registry_grace_ns;
static const EpprofApi_HostTicks_SinceV1_Fn host_ticks = epp_host_ticks;
static const EpprofApi_HostTicksPerSecond_SinceV1_Fn host_ticks_per_second = epp_host_ticks_per_second;

OrtExperimentalFnPtr ort_api_GetExperimentalFunction(const char *name)
{
	if (!name)
		return NULL;
	if (!strcmp(name, "EpprofApi_PushEvents_SinceV1"))
		return (OrtExperimentalFnPtr)push_events;
	if (!strcmp(name, "EpprofApi_PushLateEvents_SinceV1"))
		return (OrtExperimentalFnPtr)push_late_events;
	if (!strcmp(name, "EpprofApi_GraceNs_SinceV1"))
		return (OrtExperimentalFnPtr)grace_ns;
	if (!strcmp(name, "EpprofApi_HostTicks_SinceV1"))
		return (OrtExperimentalFnPtr)host_ticks;
	if (!strcmp(name, "EpprofApi_HostTicksPerSecond_SinceV1"))
		return (OrtExperimentalFnPtr)host_ticks_per_second;
	return NULL;
}
