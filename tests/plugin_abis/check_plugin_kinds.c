/* The table of plugin kinds: what a library is, is told by its symbols, and what it lacks by name. */
#include "plugins/plugin_kinds.h"

#include <dlfcn.h>
#include <string.h>

#include "tests/support/check.h"

static const struct plugin_kind *kind_named(const char *name)
{
	const struct plugin_kind *kind = plugin_kinds;
	while (kind->name && strcmp(kind->name, name) != 0)
		kind++;
	ck_assert_msg(kind->name != NULL, "no kind %s", name);
	return kind;
}

START_TEST(rows_are_whole_and_distinct)
{
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++) {
		ck_assert_ptr_nonnull(kind->symbols[0]);
		ck_assert_ptr_eq(kind_named(kind->name), kind);
		if (!kind->adapter)
			continue;
		ck_assert_ptr_nonnull(kind->adapter->open_plugin);
		ck_assert_ptr_nonnull(kind->adapter->profiler_create);
		ck_assert_ptr_nonnull(kind->adapter->profiler_step);
		ck_assert_ptr_nonnull(kind->adapter->close_plugin);
	}
}
END_TEST

START_TEST(a_library_is_of_the_kinds_whose_symbols_it_has)
{
	void *library = dlopen(CHECK_BUILD "/tests/plugins/half_ep.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_ptr_nonnull(library);
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++)
		ck_assert_int_eq(plugin_kind_found(kind, library), strcmp(kind->name, "ort") == 0);
	epp_status *status = plugin_kind_check(kind_named("ort"), library);
	ck_assert_str_eq(epp_status_message(status), "no symbol 'ReleaseEpFactory'");
	epp_status_destroy(status);
	dlclose(library);
}
END_TEST

START_TEST(what_is_missing_of_a_kind_is_named)
{
	void *library = dlopen(CHECK_BUILD "/tests/plugins/half_pu1.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_ptr_nonnull(library);
	ck_assert(plugin_kind_found(kind_named("pu1"), library));
	ck_assert(plugin_kind_found(kind_named("pjrt"), library));
	ck_assert(!plugin_kind_found(kind_named("tf"), library));
	epp_status *status = plugin_kind_check(kind_named("pu1"), library);
	ck_assert_int_eq((int)epp_status_code(status), EPP_INCOMPATIBLE);
	ck_assert_str_eq(epp_status_message(status), "no symbol 'kineto_register_privateuse1_plugin'");
	epp_status_destroy(status);
	dlclose(library);
}
END_TEST

START_TEST(every_kind_is_named_to_a_library_of_none)
{
	epp_status *status = plugin_kind_none();
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++)
		ck_assert_ptr_nonnull(strstr(epp_status_message(status), kind->symbols[0]));
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "'TF_InitProfiler'"));
	epp_status_destroy(status);
}
END_TEST

static Suite *plugin_kinds_suite(void)
{
	Suite *suite = suite_create("plugin_kinds");
	TCase *tests = tcase_create("table");
	tcase_add_test(tests, rows_are_whole_and_distinct);
	tcase_add_test(tests, a_library_is_of_the_kinds_whose_symbols_it_has);
	tcase_add_test(tests, what_is_missing_of_a_kind_is_named);
	tcase_add_test(tests, every_kind_is_named_to_a_library_of_none);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(plugin_kinds_suite)
