/* Descriptions of memory. */
#include "tests/support/check.h"

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

#define check_done(expression) \
	do { \
		OrtStatus *ort_status_ = (expression); \
		ck_assert_msg(!ort_status_, "%s", ort_status_message(ort_status_)); \
	} while (0)

START_TEST(what_was_told_is_told_back)
{
	char given[] = "device";
	OrtMemoryInfo *info = NULL;
	const char *name;
	int id;
	OrtAllocatorType allocator;
	OrtMemType mem_type;
	OrtMemoryInfoDeviceType type;
	check_done(ort_api_CreateMemoryInfo_V2(given, OrtMemoryInfoDeviceType_NPU, 0xBE57, 3,
	                                       OrtDeviceMemoryType_HOST_ACCESSIBLE, 64, OrtReadOnlyAllocator, &info));
	given[0] = 'X';
	check_done(ort_api_MemoryInfoGetName(info, &name));
	ck_assert_str_eq(name, "device");
	check_done(ort_api_MemoryInfoGetId(info, &id));
	ck_assert_int_eq(id, 3);
	check_done(ort_api_MemoryInfoGetType(info, &allocator));
	ck_assert_int_eq((int)allocator, OrtReadOnlyAllocator);
	check_done(ort_api_MemoryInfoGetMemType(info, &mem_type));
	ck_assert_int_eq((int)mem_type, OrtMemTypeDefault);
	ort_api_MemoryInfoGetDeviceType(info, &type);
	ck_assert_int_eq((int)type, OrtMemoryInfoDeviceType_NPU);
	ck_assert_int_eq((int)ort_api_MemoryInfoGetDeviceMemType(info), OrtDeviceMemoryType_HOST_ACCESSIBLE);
	ck_assert_uint_eq(ort_api_MemoryInfoGetVendorId(info), 0xBE57);
	const OrtMemoryDevice *device = ort_ep_api_MemoryInfo_GetMemoryDevice(info);
	ck_assert_int_eq((int)ort_ep_api_MemoryDevice_GetDeviceType(device), OrtMemoryInfoDeviceType_NPU);
	ck_assert_int_eq((int)ort_ep_api_MemoryDevice_GetMemoryType(device), OrtDeviceMemoryType_HOST_ACCESSIBLE);
	ck_assert_uint_eq(ort_ep_api_MemoryDevice_GetVendorId(device), 0xBE57);
	ck_assert_uint_eq(ort_ep_api_MemoryDevice_GetDeviceId(device), 3);
	ort_api_ReleaseMemoryInfo(info);
	ort_api_ReleaseMemoryInfo(NULL);
}
END_TEST

START_TEST(infos_are_compared)
{
	OrtMemoryInfo *a = NULL;
	OrtMemoryInfo *b = NULL;
	OrtMemoryInfo *c = NULL;
	int differ;
	check_done(ort_api_CreateMemoryInfo("Cpu", OrtArenaAllocator, 0, OrtMemTypeCPUInput, &a));
	check_done(ort_api_CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeCPUInput, &b));
	check_done(ort_api_CreateMemoryInfo("Cpu", OrtArenaAllocator, 1, OrtMemTypeCPUInput, &c));
	check_done(ort_api_CompareMemoryInfo(a, b, &differ));
	ck_assert_int_eq(differ, 0);
	check_done(ort_api_CompareMemoryInfo(a, c, &differ));
	ck_assert_int_ne(differ, 0);
	const OrtMemoryDevice *device_a = ort_ep_api_MemoryInfo_GetMemoryDevice(a);
	ck_assert(ort_ep_api_MemoryDevice_AreEqual(device_a, ort_ep_api_MemoryInfo_GetMemoryDevice(b)));
	ck_assert(!ort_ep_api_MemoryDevice_AreEqual(device_a, ort_ep_api_MemoryInfo_GetMemoryDevice(c)));
	ck_assert(!ort_ep_api_MemoryDevice_AreEqual(device_a, NULL));
	ort_api_ReleaseMemoryInfo(a);
	ort_api_ReleaseMemoryInfo(b);
	ort_api_ReleaseMemoryInfo(c);
}
END_TEST

START_TEST(custom_operators_are_taken)
{
	OrtCustomOpDomain *domain = NULL;
	int op;
	check_done(ort_api_CreateCustomOpDomain("vendor", &domain));
	check_done(ort_api_CustomOpDomain_Add(domain, (const OrtCustomOp *)(const void *)&op));
	ort_api_ReleaseCustomOpDomain(domain);
}
END_TEST

static Suite *ort_memory_info_suite(void)
{
	Suite *suite = suite_create("ort_memory_info");
	TCase *tests = tcase_create("ort_memory_info");
	tcase_add_test(tests, what_was_told_is_told_back);
	tcase_add_test(tests, infos_are_compared);
	tcase_add_test(tests, custom_operators_are_taken);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_memory_info_suite)
