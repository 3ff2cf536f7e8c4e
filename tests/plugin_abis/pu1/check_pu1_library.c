/* Libraries of the PU1 ABI: which are taken into use, and what is said to those that are not.  Covers
 * runtime/plugins/pu1/pu1_loader.c. */
#include "pu1_recording.h"
#include "tests/support/mapped.h"

#include <bsd/string.h>

static void check_refused(const char *path, epp_code code, const char *message)
{
	epp_plugin *plugin = (epp_plugin *)&plugin;
	epp_status *status = epp_plugin_load(path, &plugin);
	ck_assert_ptr_null(plugin);
	ck_assert_ptr_nonnull(status);
	ck_assert_str_eq(epp_status_message(status), message);
	ck_assert_int_eq((int)epp_status_code(status), (int)code);
	epp_status_destroy(status);
}

/* The script of a library that is opened before anybody loads it as a plugin. */
static struct pu1_script *script_of(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	struct pu1_script *script = dlsym(library, "script");
	ck_assert_ptr_nonnull(script);
	return script;
}

START_TEST(a_library_stays_in_use)
{
	for (int i = 0; i < 5; i++) {
		epp_plugin *again;
		OrtEpProfilerImpl *profiler;
		struct pu1_test test = pu1_load(PU1_PLUGIN("scripted_pu1"));
		check_ok(epp_plugin_load(PU1_PLUGIN("scripted_pu1"), &again));
		ck_assert_str_eq(epp_plugin_name(test.plugin), "scripted_pu1");
		ck_assert_uint_eq(test.script->registered_count, 1);
		ck_assert_uint_eq(test.script->kinds_enabled, 0);
		check_ok(epp_plugin_profiler_create(test.plugin, &profiler));
		check_fails(EPP_BUSY, epp_plugin_unload(test.plugin));
		check_ok(epp_plugin_unload(again));
		epp_plugin_profiler_destroy(profiler);
		check_ok(epp_plugin_unload(test.plugin));
		ck_assert(is_mapped("scripted_pu1"));
	}
}
END_TEST

START_TEST(what_is_missing_is_named)
{
	check_refused(PU1_PLUGIN("missing_pu1"), EPP_INCOMPATIBLE,
	              "missing_pu1.so: no symbol 'pu1FlushAll', 'pu1GetNextRecord'");
	ck_assert(!is_mapped("missing_pu1"));
}
END_TEST

START_TEST(what_is_optional_may_be_missing)
{
	struct pu1_test test = pu1_load(PU1_PLUGIN("plain_pu1"));
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("gemm");
	pu1_emit(test.script, &record);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(pu1_count(&outcome, "gemm"), 1);
	trace_scan_free(outcome.scan);
	check_ok(epp_plugin_unload(test.plugin));
}
END_TEST

START_TEST(another_major_version_is_refused)
{
	struct pu1_script *script = script_of(PU1_PLUGIN("scripted_pu1"));
	script->version = 2u << 16 | 3u << 8 | 4;
	check_refused(PU1_PLUGIN("scripted_pu1"), EPP_INCOMPATIBLE,
	              "scripted_pu1.so: pu1GetVersion: it has version 2.3.4, this host has 1");
	script->version = 0;
	check_refused(PU1_PLUGIN("scripted_pu1"), EPP_INCOMPATIBLE,
	              "scripted_pu1.so: pu1GetVersion: it has version 0.0.0, this host has 1");
	ck_assert_uint_eq(script->registered_count, 0);
	/* Another minor one is not. */
	script->version = 1u << 16 | 255u << 8;
	struct pu1_test test = pu1_load(PU1_PLUGIN("scripted_pu1"));
	check_ok(epp_plugin_unload(test.plugin));
}
END_TEST

START_TEST(a_library_may_reject_being_used)
{
	struct pu1_script *script = script_of(PU1_PLUGIN("scripted_pu1"));
	script->rejects = -3;
	check_refused(PU1_PLUGIN("scripted_pu1"), EPP_PLUGIN,
	              "scripted_pu1.so: kineto_register_privateuse1_plugin: it returned -3: scripted");
	ck_assert_uint_eq(script->set_callbacks_count, 0);
	script->rejects = 0;
	struct pu1_test test = pu1_load(PU1_PLUGIN("scripted_pu1"));
	check_ok(epp_plugin_unload(test.plugin));
}
END_TEST

static void copy_file(const char *from, const char *to)
{
	char bytes[65536];
	size_t count;
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	ck_assert(in && out);
	while ((count = fread(bytes, 1, sizeof(bytes), in)) > 0)
		ck_assert_uint_eq(fwrite(bytes, 1, count, out), count);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
}

/* Each has callbacks of its own: what one gives back is not another's. */
START_TEST(eight_libraries_and_no_more)
{
	struct pu1_test tests[8];
	epp_session *sessions[8];
	char path[512];
	for (int i = 0; i < 8; i++) {
		strlcpy(path, check_path("copy%d_pu1.so", i), sizeof(path));
		copy_file(PU1_PLUGIN("scripted_pu1"), path);
		tests[i] = pu1_load(path);
		sessions[i] = pu1_start(&tests[i]);
	}
	strlcpy(path, check_path("ninth_pu1.so"), sizeof(path));
	copy_file(PU1_PLUGIN("scripted_pu1"), path);
	check_refused(path, EPP_LIMIT, "ninth_pu1.so: 8 such libraries are in use, the maximum");
	pu1ActivityRecord record = pu1_kernel("mine");
	for (int i = 0; i < 8; i++) {
		struct pu1_writer writer = pu1_begin(tests[i].script);
		for (int j = 0; j <= i; j++)
			pu1_put(&writer, &record);
		pu1_give(&writer);
	}
	struct pu1_writer stolen = pu1_begin(tests[3].script);
	ck_assert_ptr_nonnull(stolen.buffer);
	stolen.script = tests[4].script;
	pu1_give(&stolen);
	stolen.script = tests[3].script;
	pu1_give(&stolen);
	for (int i = 0; i < 8; i++) {
		struct pu1_outcome outcome = pu1_finish(sessions[i]);
		ck_assert_str_eq(outcome.error,
		                 i == 4 ? "pu1: EndProfiling: it returned a buffer that it did not hold" : "");
		ck_assert_uint_eq(outcome.written, (size_t)i + 1);
		trace_scan_free(outcome.scan);
		check_ok(epp_plugin_unload(tests[i].plugin));
	}
}
END_TEST

static Suite *pu1_library_suite(void)
{
	Suite *suite = suite_create("pu1_library");
	TCase *tests = tcase_create("pu1_library");
	tcase_add_test(tests, a_library_stays_in_use);
	tcase_add_test(tests, what_is_missing_is_named);
	tcase_add_test(tests, what_is_optional_may_be_missing);
	tcase_add_test(tests, another_major_version_is_refused);
	tcase_add_test(tests, a_library_may_reject_being_used);
	tcase_add_test(tests, eight_libraries_and_no_more);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_library_suite)
