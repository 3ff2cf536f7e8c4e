/* Hardware devices and EP devices. */
#include "tests/support/check.h"

#include <string.h>

#include "epprof/plugin.h"
#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

#define check_done(expression) \
	do { \
		OrtStatus *ort_status_ = (expression); \
		ck_assert_msg(!ort_status_, "%s", ort_status_message(ort_status_)); \
	} while (0)

static size_t count_of(const OrtKeyValuePairs *pairs)
{
	size_t count = 99;
	ck_assert_ptr_nonnull(pairs);
	ort_api_GetKeyValuePairs(pairs, NULL, NULL, &count);
	return count;
}

static char factory_name[] = "name";

static const char *get_name(const OrtEpFactory *factory)
{
	(void)factory;
	return factory_name;
}

static const char *get_nothing(const OrtEpFactory *factory)
{
	(void)factory;
	return NULL;
}

START_TEST(the_host_has_a_processor)
{
	const OrtHardwareDevice *cpu = ort_offered_device();
	ck_assert_int_eq((int)ort_api_HardwareDevice_Type(cpu), OrtHardwareDeviceType_CPU);
	ck_assert_ptr_nonnull(ort_api_HardwareDevice_Vendor(cpu));
	ck_assert_uint_eq(ort_api_HardwareDevice_VendorId(cpu), 0);
	ck_assert_uint_eq(ort_api_HardwareDevice_DeviceId(cpu), 0);
	ck_assert_uint_eq(count_of(ort_api_HardwareDevice_Metadata(cpu)), 0);
	/* A plugin that releases what is not its own does no harm. */
	ort_ep_api_ReleaseHardwareDevice((OrtHardwareDevice *)(uintptr_t)cpu);
	ck_assert_ptr_nonnull(ort_api_HardwareDevice_Vendor(cpu));
}
END_TEST

START_TEST(another_device_is_offered)
{
	epp_plugin_device device = { .struct_size = sizeof(device), .type = 2, .vendor_id = 0x8086, .device_id = 7 };
	char text[ORT_OFFERED_BYTES];
	ck_assert_str_eq(ort_offered_text(text), "CPU");
	check_ok(epp_plugin_offer_device(&device));
	ck_assert_int_eq((int)ort_api_HardwareDevice_Type(ort_offered_device()), OrtHardwareDeviceType_NPU);
	ck_assert_uint_eq(ort_api_HardwareDevice_VendorId(ort_offered_device()), 0x8086);
	ck_assert_uint_eq(ort_api_HardwareDevice_DeviceId(ort_offered_device()), 7);
	ck_assert_str_eq(ort_offered_text(text), "NPU of vendor 0x8086, id 0x7");
	device.type = 3;
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_offer_device(&device));
	device.struct_size = 4;
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_offer_device(&device));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_offer_device(NULL));
	ck_assert_str_eq(ort_offered_text(text), "NPU of vendor 0x8086, id 0x7");
}
END_TEST

START_TEST(an_ep_makes_hardware_devices)
{
	char vendor[] = "vendor";
	OrtKeyValuePairs *metadata = NULL;
	OrtHardwareDevice *device = NULL;
	ort_api_CreateKeyValuePairs(&metadata);
	ort_api_AddKeyValuePair(metadata, "lanes", "4");
	check_done(ort_ep_api_CreateHardwareDevice(OrtHardwareDeviceType_NPU, 7, 8, vendor, metadata, &device));
	vendor[0] = 'X';
	ort_api_ReleaseKeyValuePairs(metadata);
	ck_assert_int_eq((int)ort_api_HardwareDevice_Type(device), OrtHardwareDeviceType_NPU);
	ck_assert_uint_eq(ort_api_HardwareDevice_VendorId(device), 7);
	ck_assert_uint_eq(ort_api_HardwareDevice_DeviceId(device), 8);
	ck_assert_str_eq(ort_api_HardwareDevice_Vendor(device), "vendor");
	ck_assert_str_eq(ort_api_GetKeyValue(ort_api_HardwareDevice_Metadata(device), "lanes"), "4");
	ort_ep_api_ReleaseHardwareDevice(device);
	ort_ep_api_ReleaseHardwareDevice(NULL);
}
END_TEST

START_TEST(an_ep_device_keeps_copies)
{
	OrtEpFactory factory = { .GetName = get_name, .GetVendor = get_nothing };
	OrtKeyValuePairs *pairs = NULL;
	OrtEpDevice *device = NULL;
	ort_api_CreateKeyValuePairs(&pairs);
	ort_api_AddKeyValuePair(pairs, "k", "v");
	check_done(ort_ep_api_CreateEpDevice(&factory, ort_offered_device(), pairs, NULL, &device));
	ort_api_ReleaseKeyValuePairs(pairs);
	factory_name[0] = 'X';
	ck_assert_str_eq(ort_api_EpDevice_EpName(device), "name");
	ck_assert_str_eq(ort_api_EpDevice_EpVendor(device), "");
	ck_assert_str_eq(ort_api_GetKeyValue(ort_api_EpDevice_EpMetadata(device), "k"), "v");
	ck_assert_uint_eq(count_of(ort_api_EpDevice_EpOptions(device)), 0);
	ck_assert_ptr_eq(ort_api_EpDevice_Device(device), ort_offered_device());
	ort_ep_api_ReleaseEpDevice(device);
	ort_ep_api_ReleaseEpDevice(NULL);
}
END_TEST

START_TEST(a_factory_without_entries_has_a_device_without_names)
{
	OrtEpFactory factory = { 0 };
	OrtEpDevice *device = NULL;
	check_done(ort_ep_api_CreateEpDevice(&factory, ort_offered_device(), NULL, NULL, &device));
	ck_assert_str_eq(ort_api_EpDevice_EpName(device), "");
	ort_ep_api_ReleaseEpDevice(device);
}
END_TEST

START_TEST(memory_is_kept_by_its_kind)
{
	OrtEpFactory factory = { 0 };
	OrtEpDevice *device = NULL;
	OrtMemoryInfo *own = NULL;
	OrtMemoryInfo *pinned = NULL;
	check_done(ort_ep_api_CreateEpDevice(&factory, ort_offered_device(), NULL, NULL, &device));
	check_done(ort_api_CreateMemoryInfo_V2("own", OrtMemoryInfoDeviceType_GPU, 1, 0, OrtDeviceMemoryType_DEFAULT, 0,
	                                       OrtDeviceAllocator, &own));
	check_done(ort_api_CreateMemoryInfo_V2("pinned", OrtMemoryInfoDeviceType_GPU, 1, 0,
	                                       OrtDeviceMemoryType_HOST_ACCESSIBLE, 0, OrtDeviceAllocator, &pinned));
	ck_assert_ptr_null(ort_api_EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT));
	check_done(ort_ep_api_EpDevice_AddAllocatorInfo(device, own));
	check_done(ort_ep_api_EpDevice_AddAllocatorInfo(device, pinned));
	ck_assert_ptr_eq(ort_api_EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT), own);
	ck_assert_ptr_eq(ort_api_EpDevice_MemoryInfo(device, OrtDeviceMemoryType_HOST_ACCESSIBLE), pinned);
	ort_ep_api_ReleaseEpDevice(device);
	ort_api_ReleaseMemoryInfo(own);
	ort_api_ReleaseMemoryInfo(pinned);
}
END_TEST

static Suite *ort_devices_suite(void)
{
	Suite *suite = suite_create("ort_devices");
	TCase *tests = tcase_create("ort_devices");
	tcase_add_test(tests, the_host_has_a_processor);
	tcase_add_test(tests, another_device_is_offered);
	tcase_add_test(tests, an_ep_makes_hardware_devices);
	tcase_add_test(tests, an_ep_device_keeps_copies);
	tcase_add_test(tests, a_factory_without_entries_has_a_device_without_names);
	tcase_add_test(tests, memory_is_kept_by_its_kind);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_devices_suite)
