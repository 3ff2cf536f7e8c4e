/* The sample EP in a host of the test's own: what it computes, whom its work belongs to, and what becomes of an EP
 * whose clock is read only once.  Covers ep_sample/ort_ep.c. */
#include "tests/support/check.h"

#include <time.h>

#include "ep_sample/sample_ep.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/ep_sample/trace_content.h"

#define SAMPLE_EP CHECK_BUILD "/libsample_ort_ep.so"
#define FORMULA_EP CHECK_BUILD "/tests/plugins/formula_ep.so"

static epp_plugin *plugin;
static sample_ep_run_fn sample_run;

static void plugin_load(const char *path)
{
	check_ok(epp_plugin_load(path, &plugin));
	*(void **)&sample_run = epp_plugin_symbol(plugin, "sample_ep_run");
	ck_assert_ptr_nonnull(sample_run);
}

START_TEST(the_ep_computes_and_refuses)
{
	plugin_load(SAMPLE_EP);
	float x[6] = { 1, -2, 3, 4, 5, -6 }, w[6] = { 1, 2, 3, 4, 5, 6 }, y[4];
	sample_ep_node matmul = { "MatMul", x, w, y, 2, 3, 2, 1 };
	ck_assert_ptr_null(sample_run(&matmul));
	ck_assert_float_eq(y[0], 1 - 6 + 15);
	ck_assert_float_eq(y[3], 8 + 20 - 36);
	sample_ep_node relu = { "Relu", x, NULL, x, 2, 3, 0, 0 };
	ck_assert_ptr_null(sample_run(&relu));
	ck_assert(x[0] == 1 && x[1] == 0 && x[5] == 0);

	sample_ep_node bad = matmul;
	bad.op_type = "Conv";
	ck_assert_str_eq(sample_run(&bad), "the sample EP has no such op");
	bad.op_type = NULL;
	ck_assert_ptr_nonnull(sample_run(&bad));
	bad = matmul;
	bad.weights = NULL;
	ck_assert_ptr_nonnull(sample_run(&bad));
	bad = matmul;
	bad.stream = 2;
	ck_assert_ptr_nonnull(sample_run(&bad));
	ck_assert_ptr_nonnull(sample_run(NULL));
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* Two sessions with a profiler each: one has an event open on this thread, the other has two, a third none. */
START_TEST(work_belongs_to_each_session_with_an_event_open)
{
	epp_session *sessions[3];
	plugin_load(SAMPLE_EP);
	epp_name outer = epp_name_intern("outer");
	epp_name inner = epp_name_intern("inner");
	for (size_t i = 0; i < 3; i++) {
		OrtEpProfilerImpl *profiler;
		epp_session_options options = { .struct_size = sizeof(options) };
		check_ok(epp_session_create(&options, &sessions[i]));
		check_ok(epp_plugin_profiler_create(plugin, &profiler));
		check_ok(epp_session_attach(sessions[i], profiler, NULL));
		check_ok(epp_session_start(sessions[i]));
	}
	float x[4] = { 1, -1, 2, -2 };
	sample_ep_node relu = { "Relu", x, NULL, x, 2, 2, 0, 0 };
	uint64_t first = epp_event_begin(sessions[0], EPP_NODE, outer);
	uint64_t second = epp_event_begin(sessions[1], EPP_SESSION, outer);
	uint64_t innermost = epp_event_begin(sessions[1], EPP_NODE, inner);
	ck_assert_ptr_null(sample_run(&relu));
	epp_event_end(sessions[1], innermost, NULL, 0);
	epp_event_end(sessions[1], second, NULL, 0);
	epp_event_end(sessions[0], first, NULL, 0);
	ck_assert_ptr_null(sample_run(&relu)); /* nobody's */

	const uint64_t parents[3] = { first, innermost, 0 };
	for (size_t i = 0; i < 3; i++) {
		check_ok(epp_session_end(sessions[i]));
		check_ok(epp_session_wait(sessions[i], UINT64_MAX));
		epp_trace *trace;
		check_ok(epp_trace_open_session(sessions[i], &trace));
		struct content content = content_of(trace);
		ck_assert_uint_eq(content.device_count, parents[i] ? 3 : 0);
		for (size_t j = 0; j < content.slices_count; j++)
			if (content.slices[j].on_device)
				ck_assert_uint_eq(content.slices[j].parent, parents[i]);
		free(content.slices);
		epp_trace_close(trace);
		epp_session_destroy(sessions[i]);
	}
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* One node at once and one after 1.2 s; how many events of each lie outside of it, and the largest bound. */
static void count_outside(const char *path, size_t outside[2], int64_t *largest_error_ns)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	plugin_load(path);
	epp_name name = epp_name_intern("Relu");
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, NULL));
	check_ok(epp_session_start(session));
	float x[4] = { 1, -1, 2, -2 };
	sample_ep_node relu = { "Relu", x, NULL, x, 2, 2, 0, 0 };
	uint64_t ids[2];
	for (size_t i = 0; i < 2; i++) {
		ids[i] = epp_event_begin(session, EPP_NODE, name);
		ck_assert_ptr_null(sample_run(&relu));
		epp_event_end(session, ids[i], NULL, 0);
		if (i == 0)
			nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 200000000 }, NULL);
	}
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_trace *trace;
	check_ok(epp_trace_open_session(session, &trace));
	struct content content = content_of(trace);
	ck_assert_uint_eq(content.device_count, 6);
	outside[0] = outside[1] = 0;
	*largest_error_ns = 0;
	for (size_t i = 0; i < content.slices_count; i++) {
		const struct slice *slice = &content.slices[i];
		if (!slice->on_device)
			continue;
		size_t which = slice->parent == ids[1];
		ck_assert(which || slice->parent == ids[0]);
		outside[which] += !lies_within(slice, slice_find(&content, slice->parent));
		ck_assert_int_eq(!lies_within(slice, slice_find(&content, slice->parent)),
		                 (slice->flags & EPP_FLAG_OUTSIDE_PARENT) != 0);
		if (slice->start_error_ns > *largest_error_ns)
			*largest_error_ns = slice->start_error_ns;
	}
	free(content.slices);
	epp_trace_close(trace);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}

START_TEST(without_clock_pairs_a_second_is_too_long)
{
	size_t outside[2];
	int64_t error_ns;
	/* 200 ppm of 1.2 s are 240 us; a formula without pairs cannot know, and owns up to 500 ppm. */
	count_outside(FORMULA_EP, outside, &error_ns);
	ck_assert_uint_eq(outside[0] + outside[1], 0);
	ck_assert_int_ge(error_ns, 600000);
	count_outside(SAMPLE_EP, outside, &error_ns);
	ck_assert_uint_eq(outside[0] + outside[1], 0);
	ck_assert_int_lt(error_ns, 100000);
	/* Beyond that its nodes tell where its events were, and the bound covers both that and what the clock says: 6
	 * ms. */
	setenv("ACCELERATOR_FAST_PPM", "5000", 1);
	count_outside(FORMULA_EP, outside, &error_ns);
	ck_assert_uint_eq(outside[0] + outside[1], 0);
	ck_assert_int_ge(error_ns, 600000);
}
END_TEST

static Suite *sample_ep_suite(void)
{
	Suite *suite = suite_create("sample ep");
	TCase *tests = tcase_create("ep");
	tcase_add_test(tests, the_ep_computes_and_refuses);
	tcase_add_test(tests, work_belongs_to_each_session_with_an_event_open);
	tcase_add_test(tests, without_clock_pairs_a_second_is_too_long);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(sample_ep_suite)
