/* ONNX Runtime's tables: every slot can be called, stubs answer by their kind, versions and experimental functions. */
#include "tests/support/check.h"

#include <string.h>

#include "epprof/ep_push.h"
#include "epprof/plugin.h"
#include "ort_abi/ort_status.h"

typedef enum { STATUS, POINTER, INTEGER, VOID } kind;
typedef enum { SERVED, STUB } how;

struct slot {
	size_t number;
	const char *name;
	kind kind;
	how how;
};

static const struct slot api_slots[] = {
#define ORT_API_SLOT(number, name, kind, how) { number, #name, kind, how },
#include "plugins/ort/ort_slots.def"
};

static const struct slot ep_api_slots[] = {
#define ORT_EP_API_SLOT(number, name, kind, how) { number, #name, kind, how },
#include "plugins/ort/ort_slots.def"
};

static const struct slot model_editor_slots[] = {
#define ORT_MODEL_EDITOR_API_SLOT(number, name, kind, how) { number, #name, kind, how },
#include "plugins/ort/ort_slots.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const OrtApi *api(void)
{
	return epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
}

/* No entry has more than ten parameters. */
#define ZEROS \
	(void *)0, (void *)0, (void *)0, (void *)0, (void *)0, (void *)0, (void *)0, (void *)0, (void *)0, (void *)0
#define TEN void *, void *, void *, void *, void *, void *, void *, void *, void *, void *

static void call(const char *table, const epp_ort_slot *slots, const struct slot *slot)
{
	epp_ort_slot entry = slots[slot->number];
	ck_assert_msg(entry != NULL, "%s::%s is NULL", table, slot->name);
	switch (slot->kind) {
	case STATUS: {
		OrtStatus *status = ((OrtStatus * (*)(TEN)) entry)(ZEROS);
		ck_assert_msg(status != NULL, "%s::%s took NULLs", table, slot->name);
		if (slot->how == STUB) {
			char wanted[128];
			snprintf(wanted, sizeof(wanted), "%s::%s (slot %zu)", table, slot->name, slot->number);
			ck_assert_int_eq(ort_status_code(status), ORT_NOT_IMPLEMENTED);
			ck_assert_ptr_eq(strstr(ort_status_message(status), wanted), ort_status_message(status));
		}
		ort_status_release(status);
		break;
	}
	case POINTER: {
		void *pointer = ((void *(*)(TEN))entry)(ZEROS);
		if (slot->how == STUB)
			ck_assert_ptr_null(pointer);
		break;
	}
	case INTEGER: {
		uint64_t integer = ((uint64_t(*)(TEN))entry)(ZEROS);
		if (slot->how == STUB)
			ck_assert_uint_eq(integer, 0);
		break;
	}
	case VOID:
		((void (*)(TEN))entry)(ZEROS);
		break;
	}
}

START_TEST(every_slot_can_be_called)
{
	const OrtApi *table = api();
	for (size_t i = 0; i < COUNT(api_slots); i++)
		call("OrtApi", (const epp_ort_slot *)(const void *)table, &api_slots[i]);
	for (size_t i = 0; i < COUNT(ep_api_slots); i++)
		call("OrtEpApi", (const epp_ort_slot *)(const void *)table->GetEpApi(), &ep_api_slots[i]);
	for (size_t i = 0; i < COUNT(model_editor_slots); i++)
		call("OrtModelEditorApi", (const epp_ort_slot *)(const void *)table->GetModelEditorApi(),
		     &model_editor_slots[i]);
}
END_TEST

START_TEST(the_list_has_every_slot_once_and_in_order)
{
	ck_assert_uint_eq(COUNT(api_slots), EPPROF_ORT_API_SLOTS);
	ck_assert_uint_eq(COUNT(ep_api_slots), EPPROF_ORT_EP_API_SLOTS);
	ck_assert_uint_eq(COUNT(model_editor_slots), EPPROF_ORT_MODEL_EDITOR_API_SLOTS);
	for (size_t i = 0; i < COUNT(api_slots); i++)
		ck_assert_uint_eq(api_slots[i].number, i);
	for (size_t i = 0; i < COUNT(ep_api_slots); i++)
		ck_assert_uint_eq(ep_api_slots[i].number, i);
	for (size_t i = 0; i < COUNT(model_editor_slots); i++)
		ck_assert_uint_eq(model_editor_slots[i].number, i);
}
END_TEST

/* Slots as real ONNX Runtimes were seen to have them; written down apart from the list. */
START_TEST(well_known_slots_are_where_real_hosts_have_them)
{
	static const struct {
		size_t number;
		const char *name;
	} known[] = {
		{ 0, "CreateStatus" },          { 1, "GetErrorCode" },
		{ 2, "GetErrorMessage" },       { 3, "CreateEnv" },
		{ 7, "CreateSession" },         { 9, "Run" },
		{ 14, "EnableProfiling" },      { 90, "KernelContext_GetInput" },
		{ 93, "ReleaseStatus" },        { 110, "SessionEndProfiling" },
		{ 247, "Logger_LogMessage" },   { 301, "RegisterExecutionProviderLibrary" },
		{ 303, "GetEpDevices" },        { 304, "SessionOptionsAppendExecutionProvider_V2" },
		{ 307, "HardwareDevice_Type" }, { 317, "GetEpApi" },
		{ 345, "Graph_GetNodes" },      { 350, "Node_GetOperatorType" },
		{ 415, "RunOptionsEnableProfiling" }, { 422, "GetExperimentalFunction" },
	}, known_ep[] = {
		{ 0, "CreateEpDevice" },          { 2, "EpGraphSupportInfo_AddNodesToFuse" },
		{ 65, "CreateProfilingEvent" },   { 66, "ReleaseProfilingEvent" },
		{ 67, "ProfilingEvent_GetCategory" }, { 68, "ProfilingEvent_GetName" },
		{ 69, "ProfilingEvent_GetTimestampUs" }, { 70, "ProfilingEvent_GetDurationUs" },
		{ 71, "ProfilingEvent_GetArgValue" }, { 72, "ProfilingEventsContainer_AddEvents" },
	};
	for (size_t i = 0; i < COUNT(known); i++)
		ck_assert_str_eq(api_slots[known[i].number].name, known[i].name);
	for (size_t i = 0; i < COUNT(known_ep); i++)
		ck_assert_str_eq(ep_api_slots[known_ep[i].number].name, known_ep[i].name);
}
END_TEST

START_TEST(versions_up_to_ours_have_a_table)
{
	const OrtApiBase *base = epp_ort_api_base();
	ck_assert_str_eq(base->GetVersionString(), "1.29.0");
	ck_assert_ptr_nonnull(base->GetApi(25));
	ck_assert_ptr_nonnull(base->GetApi(29));
	ck_assert_ptr_null(base->GetApi(30));
	ck_assert_ptr_null(base->GetApi(UINT32_MAX));
	ck_assert_ptr_null(base->GetApi(0));
}
END_TEST

START_TEST(statuses_go_through_the_table)
{
	OrtStatus *status = api()->CreateStatus(ORT_EP_FAIL, "no device");
	ck_assert_int_eq(api()->GetErrorCode(status), ORT_EP_FAIL);
	ck_assert_str_eq(api()->GetErrorMessage(status), "no device");
	api()->ReleaseStatus(status);
}
END_TEST

START_TEST(experimental_functions_are_found_by_name)
{
	EpprofApi_HostTicks_SinceV1_Fn ticks = (EpprofApi_HostTicks_SinceV1_Fn)api()->GetExperimentalFunction(
	    "EpprofApi_HostTicks_SinceV1");
	EpprofApi_HostTicksPerSecond_SinceV1_Fn rate = (EpprofApi_HostTicksPerSecond_SinceV1_Fn)api()->GetExperimentalFunction(
	    "EpprofApi_HostTicksPerSecond_SinceV1");
	EpprofApi_PushEvents_SinceV1_Fn push = (EpprofApi_PushEvents_SinceV1_Fn)api()->GetExperimentalFunction(
	    "EpprofApi_PushEvents_SinceV1");
	OrtEpProfilerImpl stranger = { .ort_version_supported = 25 };
	EpprofBatch batch = { .struct_size = sizeof(batch) };
	uint64_t before = ticks();
	ck_assert_uint_ge(ticks(), before);
	ck_assert_uint_gt(rate(), 0);
	/* A profiler that no session has: nothing happens. */
	push(&stranger, &batch);
	push(NULL, &batch);
	ck_assert(api()->GetExperimentalFunction("EpprofApi_PushEvents_SinceV2") == NULL);
	ck_assert(api()->GetExperimentalFunction("") == NULL);
	ck_assert(api()->GetExperimentalFunction(NULL) == NULL);
	/* By slot, as code does that was compiled with older official headers. */
	EpprofGetExperimentalFunction_Fn by_slot = ((
	    const EpprofGetExperimentalFunction_Fn *)(const void *)api())[EPPROF_ORT_EXPERIMENTAL_SLOT];
	ck_assert(by_slot("EpprofApi_HostTicks_SinceV1") == (EpprofFunction)ticks);
}
END_TEST

static Suite *ort_tables_suite(void)
{
	Suite *suite = suite_create("ort_tables");
	TCase *tests = tcase_create("ort_tables");
	tcase_add_test(tests, every_slot_can_be_called);
	tcase_add_test(tests, the_list_has_every_slot_once_and_in_order);
	tcase_add_test(tests, well_known_slots_are_where_real_hosts_have_them);
	tcase_add_test(tests, versions_up_to_ours_have_a_table);
	tcase_add_test(tests, statuses_go_through_the_table);
	tcase_add_test(tests, experimental_functions_are_found_by_name);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_tables_suite)
