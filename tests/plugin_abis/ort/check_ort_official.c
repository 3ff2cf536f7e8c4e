/* Our slots against ONNX Runtime's own headers; skipped where these are not. */
#include "tests/support/check.h"

#include <dlfcn.h>
#include <string.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "tests/plugins/official_slots.h"

#define LIBRARY CHECK_BUILD "/tests/plugins/official_slots.so"

static const char *const api_names[] = {
#define ORT_API_SLOT(number, name, kind, how) [number] = #name,
#include "plugins/ort/ort_slots.def"
};

static const char *const ep_api_names[] = {
#define ORT_EP_API_SLOT(number, name, kind, how) [number] = #name,
#include "plugins/ort/ort_slots.def"
};

static const char *const model_editor_names[] = {
#define ORT_MODEL_EDITOR_API_SLOT(number, name, kind, how) [number] = #name,
#include "plugins/ort/ort_slots.def"
};

static const struct official_slots *official(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);
	ck_assert_msg(library != NULL, "%s", dlerror());
	const struct official_slots *slots = dlsym(library, "official_slots");
	ck_assert_ptr_nonnull(slots);
	return slots;
}

static void compare(const struct official_slot *slots, size_t count, const char *const *names, size_t names_count)
{
	ck_assert_uint_eq(count, names_count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(slots[i].slot, names_count);
		ck_assert_str_eq(slots[i].name, names[slots[i].slot]);
	}
}

START_TEST(every_slot_is_where_the_official_header_has_it)
{
	const struct official_slots *slots = official();
	compare(slots->api, slots->api_count, api_names, sizeof(api_names) / sizeof(api_names[0]));
	compare(slots->ep_api, slots->ep_api_count, ep_api_names, sizeof(ep_api_names) / sizeof(ep_api_names[0]));
	compare(slots->model_editor, slots->model_editor_count, model_editor_names,
	        sizeof(model_editor_names) / sizeof(model_editor_names[0]));
}
END_TEST

START_TEST(the_tables_are_as_long_as_the_official_ones)
{
	const struct official_slots *slots = official();
	if (slots->version == EPPROF_ORT_API_VERSION) {
		ck_assert_uint_eq(slots->api_table_count, EPPROF_ORT_API_SLOTS);
		ck_assert_uint_eq(slots->ep_api_table_count, EPPROF_ORT_EP_API_SLOTS);
		ck_assert_uint_eq(slots->model_editor_table_count, EPPROF_ORT_MODEL_EDITOR_API_SLOTS);
	} else {
		ck_assert_uint_gt(slots->version, EPPROF_ORT_API_VERSION);
		ck_assert_uint_ge(slots->api_table_count, EPPROF_ORT_API_SLOTS);
		ck_assert_uint_ge(slots->ep_api_table_count, EPPROF_ORT_EP_API_SLOTS);
	}
}
END_TEST

static Suite *ort_official_suite(void)
{
	Suite *suite = suite_create("ort_official");
	TCase *tests = tcase_create("ort_official");
	if (access(LIBRARY, F_OK))
		CHECK_SKIP("ONNX Runtime's headers are not there (ORT_HEADERS)");
	tcase_add_test(tests, every_slot_is_where_the_official_header_has_it);
	tcase_add_test(tests, the_tables_are_as_long_as_the_official_ones);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_official_suite)
