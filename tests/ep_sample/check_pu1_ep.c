/* The sample plugin of the PU1 ABI in sessions: what its records become, whose they are, where they stand in time.
 * Covers ep_sample/pu1_ep.c. */
#include "tests/support/check.h"

#include <pthread.h>

#include "ep_sample/work.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/ep_sample/trace_content.h"

#define SAMPLE CHECK_BUILD "/libsample_pu1_ep.so"

static epp_plugin *plugin;
static int (*work)(int count);

static void load(void)
{
	check_ok(epp_plugin_load(SAMPLE, &plugin));
	ck_assert_str_eq(epp_plugin_name(plugin), "sample_pu1_ep");
	*(void **)&work = epp_plugin_symbol(plugin, "epp_sample_work");
	ck_assert_ptr_nonnull(work);
}

static epp_session *start(void)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "Sample"));
	check_ok(epp_session_start(session));
	return session;
}

static struct content end(epp_session *session)
{
	epp_trace *trace;
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	check_ok(epp_trace_open_session(session, &trace));
	struct content content = content_of(trace);
	epp_trace_close(trace);
	epp_session_destroy(session);
	return content;
}

static size_t count_under(const struct content *content, const char *name, uint64_t parent)
{
	size_t count = 0;
	for (size_t i = 0; i < content->slices_count; i++)
		count += !strcmp(content->slices[i].name, name) && content->slices[i].parent == parent;
	return count;
}

START_TEST(three_hundred_events_under_their_nodes)
{
	load();
	epp_session *session = start();
	epp_name name = epp_name_intern("node");
	uint64_t ids[3];
	for (int i = 0; i < 3; i++) {
		ids[i] = epp_event_begin(session, EPP_NODE, name);
		ck_assert_int_eq(work(100), 0);
		epp_event_end(session, ids[i], NULL, 0);
	}
	ck_assert_int_eq(work(7), 0);
	struct content content = end(session);
	ck_assert_uint_eq(content.lost, 0);
	ck_assert_uint_eq(count_named(&content, "relu"), 307);
	ck_assert_uint_eq(count_named(&content, "sampleLaunch"), 307);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(count_under(&content, "relu", ids[i]), 100);
		ck_assert_uint_eq(count_under(&content, "sampleLaunch", ids[i]), 100);
		ck_assert_uint_eq(count_under(&content, "copy_in", ids[i]), 1);
		ck_assert_uint_eq(count_under(&content, "fill", ids[i]), 1);
	}
	ck_assert_uint_eq(count_under(&content, "relu", 0), 7);
	for (size_t i = 0; i < content.slices_count; i++) {
		const struct slice *slice = &content.slices[i];
		if (!slice->on_device || !slice->parent)
			continue;
		ck_assert_int_eq(slice->placement, EPP_PLACED_FITTED);
		ck_assert(lies_within(slice, slice_find(&content, slice->parent)));
	}
	free(content.slices);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* The inner session pushed last: the outer one finds its own event beneath. */
START_TEST(sessions_share_the_library)
{
	load();
	epp_name name = epp_name_intern("node");
	epp_session *outer = start();
	epp_session *inner = start();
	ck_assert_int_eq(work(5), 0);
	uint64_t outer_id = epp_event_begin(outer, EPP_NODE, name);
	uint64_t inner_id = epp_event_begin(inner, EPP_NODE, name);
	ck_assert_int_eq(work(10), 0);
	epp_event_end(inner, inner_id, NULL, 0);
	struct content content = end(inner);
	ck_assert_uint_eq(count_under(&content, "relu", inner_id), 10);
	ck_assert_uint_eq(count_under(&content, "relu", 0), 5);
	free(content.slices);

	/* The library still runs. */
	ck_assert_int_eq(work(20), 0);
	epp_event_end(outer, outer_id, NULL, 0);
	content = end(outer);
	ck_assert_uint_eq(count_under(&content, "relu", 0), 5);
	ck_assert_uint_eq(count_under(&content, "relu", outer_id), 30);
	size_t inferred_count = 0;
	for (size_t i = 0; i < content.slices_count; i++)
		inferred_count += !strcmp(content.slices[i].name, "relu") &&
		                  content.slices[i].placement == EPP_PLACED_INFERRED;
	ck_assert_uint_eq(inferred_count, 10);
	ck_assert_uint_eq(content.lost, 0);
	free(content.slices);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(a_session_runs_again)
{
	load();
	epp_session *session = start();
	ck_assert_int_eq(work(3), 0);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	ck_assert_int_eq(work(4), 0); /* nobody's */
	check_ok(epp_session_start(session));
	ck_assert_int_eq(work(5), 0);
	struct content content = end(session);
	ck_assert_uint_eq(count_named(&content, "relu"), 8);
	ck_assert_uint_eq(content.lost, 0);
	free(content.slices);
	check_ok(epp_plugin_unload(plugin));
	load();
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

struct share {
	epp_session *session;
	uint64_t id;
};

static void *work_on_thread(void *argument)
{
	struct share *share = argument;
	for (int i = 0; i < 20; i++) {
		uint64_t id = epp_event_begin(share->session, EPP_NODE, epp_name_intern("node"));
		ck_assert_int_eq(work(10), 0);
		epp_event_end(share->session, id, NULL, 0);
	}
	share->id = epp_event_begin(share->session, EPP_NODE, epp_name_intern("last"));
	ck_assert_int_eq(work(10), 0);
	epp_event_end(share->session, share->id, NULL, 0);
	return NULL;
}

START_TEST(threads_have_stacks_of_their_own)
{
	pthread_t threads[3];
	struct share shares[3];
	load();
	epp_session *session = start();
	for (size_t i = 0; i < 3; i++) {
		shares[i].session = session;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work_on_thread, &shares[i]), 0);
	}
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	struct content content = end(session);
	ck_assert_uint_eq(count_named(&content, "relu"), 630);
	ck_assert_uint_eq(count_under(&content, "relu", 0), 0);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(count_under(&content, "relu", shares[i].id), 10);
	free(content.slices);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static Suite *pu1_ep_suite(void)
{
	Suite *suite = suite_create("pu1 ep");
	TCase *tests = tcase_create("pu1 ep");
	tcase_add_test(tests, three_hundred_events_under_their_nodes);
	tcase_add_test(tests, sessions_share_the_library);
	tcase_add_test(tests, a_session_runs_again);
	tcase_add_test(tests, threads_have_stacks_of_their_own);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_ep_suite)
