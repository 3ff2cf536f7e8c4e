/* Calls and kernels of a plugin's XSpace, joined in the trace and in what is made of it; and a plane of a GPU that goes
 * out as one, with what it says of itself.  Covers profile_calls.c and profile_xspace.c. */
#include "epprof/export.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "plugins/profile/profile_calls.h"
#include "tests/support/import_events.h"
#include "tests/support/tf_plugins.h"
#include "tests/support/xspace_text.h"

static const char path[] = "calls.epp";

START_TEST(calls_are_found_by_their_last_event)
{
	struct profile_calls calls = { 0 };

	ck_assert_uint_eq(profile_calls_find(&calls, 1), 0);
	for (uint64_t i = 0; i < 1000; i++)
		profile_calls_add(&calls, i * 7919 % 500 + 1, i + 1);
	profile_calls_seal(&calls);
	for (uint64_t i = 500; i < 1000; i++)
		ck_assert_uint_eq(profile_calls_find(&calls, i * 7919 % 500 + 1), i + 1);
	ck_assert_uint_eq(profile_calls_find(&calls, 501), 0);
	ck_assert_uint_eq(profile_calls_find(&calls, UINT64_MAX), 0);
	profile_calls_deinit(&calls);
}
END_TEST

/* Records the plugin's two calls and four kernels. */
static char *record(void)
{
	char *output = check_path(path);

	check_ok(tf_load(TF_PLUGIN("tf_calls"), NULL));
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options), .path = output, .overwrite = 1 };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(tf_plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "gpu"));
	check_ok(epp_session_start(session));
	ck_assert_str_eq(tf_end(session), "");
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(tf_plugin));
	return output;
}

static void check_parents(const struct imported *imported)
{
	uint64_t calls[2] = { 0 };
	unsigned count = 0;

	for (size_t i = 0; i < imported->count; i++) {
		if (!strcmp(imported->events[i].name, "launch") && count < 2)
			calls[count++] = imported->events[i].id;
	}
	ck_assert(calls[0] && calls[1]);
	ck_assert_uint_eq(imported_find(imported, "gemm")->parent, calls[0]);
	ck_assert_uint_eq(imported_find(imported, "relu")->parent, calls[1]);
	ck_assert_uint_eq(imported_find(imported, "softmax")->parent, calls[1]);
	ck_assert_uint_eq(imported_find(imported, "nobody's")->parent, 0);
}

struct made {
	char *bytes;
	size_t count;
};

static void make(struct made *made, const char *input, const char *format)
{
	char *output = check_path("made");
	epp_trace *trace;
	FILE *file;

	check_ok(epp_trace_open(input, &trace));
	check_ok(epp_export_file(trace, format, NULL, output, 1, NULL, NULL));
	epp_trace_close(trace);
	file = fopen(output, "r");
	made->bytes = calloc(1, 1 << 20);
	made->count = fread(made->bytes, 1, 1 << 20, file);
	fclose(file);
}

START_TEST(kernels_are_below_their_calls)
{
	struct imported *imported = calloc(1, sizeof *imported);

	if (_i)
		setenv("TF_CALLS_LAST", "1", 1);
	imported_list(imported, record());
	check_parents(imported);
	/* A kernel ends after its call returns, which is nothing to report. */
	ck_assert_uint_eq(imported_find(imported, "gemm")->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
	ck_assert_str_eq(imported_find(imported, "epprof.device")->args, "device_vendor=Nvidia;core_count=108;");
	free(imported);
}
END_TEST

START_TEST(arrows_of_every_format_lead_to_them)
{
	static const char *const formats[] = { "chrome", "kineto" };
	struct made made;
	unsigned arrows = 0;

	make(&made, record(), formats[_i]);
	for (const char *at = made.bytes; (at = strstr(at, "\"ph\":\"f\"")); at++)
		arrows++;
	ck_assert_uint_eq(arrows, 3);
	free(made.bytes);
}
END_TEST

START_TEST(a_gpu_s_plane_stays_one_with_its_stats)
{
	const char *output = record();
	struct made made;
	struct xspace_text space = { 0 };
	struct imported *imported;

	make(&made, output, "xspace");
	xspace_text_read(&space, made.bytes, made.count);
	const struct xspace_found *gemm = xspace_text_find(&space, "gemm"), *launch = xspace_text_find(&space, "launch");
	ck_assert_str_eq(gemm->plane, "/device:GPU:0");
	ck_assert_str_eq(gemm->line, "Stream #13(Compute)");
	ck_assert_uint_eq(strncmp(gemm->details, "regs:8 ", 7), 0);
	ck_assert_str_eq(launch->plane, "/host:CPU");
	ck_assert_uint_eq(gemm->correlation, launch->correlation);
	ck_assert_ptr_nonnull(memmem(made.bytes, made.count, "device_vendor", 13));
	/* Nothing of it is an event there. */
	for (size_t i = 0; i < space.count; i++)
		ck_assert_str_ne(space.events[i].name, "epprof.device");
	xspace_text_free(&space);

	imported = imported_text(made.bytes, made.count);
	check_parents(imported);
	ck_assert_str_eq(imported_find(imported, "epprof.device")->args, "device_vendor=Nvidia;core_count=108;");
	ck_assert_uint_eq(imported->counts.correlated, 3);
	free(imported);
	free(made.bytes);
}
END_TEST

static Suite *profile_calls_suite(void)
{
	Suite *suite = suite_create("profile_calls");
	TCase *tests = tcase_create("profile_calls");

	tcase_add_test(tests, calls_are_found_by_their_last_event);
	tcase_add_loop_test(tests, kernels_are_below_their_calls, 0, 2);
	tcase_add_loop_test(tests, arrows_of_every_format_lead_to_them, 0, 2);
	tcase_add_test(tests, a_gpu_s_plane_stays_one_with_its_stats);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(profile_calls_suite)
