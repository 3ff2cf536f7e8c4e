/* 1,000 requests at once, served in changing batches on several threads by the sample accelerator: each kernel belongs to
 * exactly the requests of the step that launched it. */
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "tests/support/recording.h"

#define REQUESTS 1000u
#define SERVERS 4u
#define OWN_REQUESTS (REQUESTS / SERVERS)
#define BATCH 8u
#define TURNS_MAX 4u /* of a request: in how many steps it is */
#define KERNELS 4
#define STEPS_MAX (OWN_REQUESTS * TURNS_MAX)

struct step {
	uint64_t node; /* the event that launches */
	uint64_t contexts[BATCH];
	unsigned contexts_count;
	unsigned kernels_count; /* found in the trace */
};

struct server {
	epp_session *session;
	int (*work)(int count);
	uint64_t contexts[OWN_REQUESTS];
	unsigned turns[OWN_REQUESTS]; /* that are left */
	struct step steps[STEPS_MAX];
	unsigned steps_count;
	unsigned number;
};

static struct server servers[SERVERS];

static void serve_step(struct server *server, const unsigned *batch, unsigned count)
{
	struct step *step = &server->steps[server->steps_count++];
	uint64_t event = epp_event_begin(server->session, EPP_SESSION, epp_name_intern("step"));

	for (unsigned i = 0; i < count; i++)
		step->contexts[step->contexts_count++] = server->contexts[batch[i]];
	check_ok(epp_context_attach(server->session, step->contexts, step->contexts_count));
	step->node = epp_event_begin(server->session, EPP_NODE, epp_name_intern("node"));
	MUST(server->work(KERNELS) == 0);
	epp_event_end(server->session, step->node, NULL, 0);
	epp_event_end(server->session, event, NULL, 0);
	for (unsigned i = 0; i < count; i++) {
		if (--server->turns[batch[i]] == 0)
			epp_async_end(server->session, server->contexts[batch[i]], NULL, 0);
	}
}

/* Continuous batching: a request leaves after its last turn, and the next ones join. */
static void *serve(void *argument)
{
	struct server *server = argument;

	for (unsigned from = 0;; from++) {
		unsigned batch[BATCH], count = 0;
		for (unsigned i = 0; i < OWN_REQUESTS && count < BATCH; i++) {
			unsigned request = (from * 3 + i) % OWN_REQUESTS;
			if (server->turns[request])
				batch[count++] = request;
		}
		if (!count)
			return NULL;
		serve_step(server, batch, count);
	}
}

static void *begin_requests(void *argument)
{
	struct server *server = argument;
	char parent[64];

	for (unsigned i = 0; i < OWN_REQUESTS; i++) {
		unsigned number = server->number * OWN_REQUESTS + i + 1;
		snprintf(parent, sizeof(parent), "00-%032x-%016x-01", number, number);
		check_ok(epp_context_begin(server->session, parent, NULL, &server->contexts[i]));
		server->turns[i] = 1 + number % TURNS_MAX;
	}
	return NULL;
}

static void on_all(void *(*run)(void *))
{
	pthread_t threads[SERVERS];

	for (unsigned i = 0; i < SERVERS; i++)
		threads[i] = recording_thread(run, &servers[i]);
	for (unsigned i = 0; i < SERVERS; i++)
		pthread_join(threads[i], NULL);
}

static struct step *step_of(uint64_t node)
{
	for (unsigned i = 0; i < SERVERS; i++)
		for (unsigned j = 0; j < servers[i].steps_count; j++)
			if (servers[i].steps[j].node == node)
				return &servers[i].steps[j];
	return NULL;
}

static void expect_requests(const epp_timeline *timeline, const epp_event *event, const struct step *step)
{
	epp_request request = { .struct_size = sizeof(request) };
	unsigned count = 0;

	for (; epp_timeline_request_at(timeline, event, count, &request); count++) {
		bool is_served = false;
		for (unsigned i = 0; i < step->contexts_count; i++)
			is_served = is_served || step->contexts[i] == request.id;
		MUST(is_served);
	}
	MUST(count == step->contexts_count);
}

START_TEST(every_kernel_belongs_to_the_requests_of_its_step)
{
	const epp_timeline_options options = { .struct_size = sizeof(options), .requests = 1 };
	char *path = check_path("batches.epp");
	epp_plugin *plugin;
	OrtEpProfilerImpl *profiler;
	epp_session *session;
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	epp_request request = { .struct_size = sizeof(request) };
	unsigned kernels = 0, wanted = 0, requests = 0;

	const epp_session_options in_file = { .struct_size = sizeof(in_file), .path = path, .lossless = 1 };
	check_ok(epp_session_create(&in_file, &session));
	check_ok(epp_plugin_load(CHECK_BUILD "/libsample_ort_ep.so", &plugin));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, NULL));
	check_ok(epp_session_start(session));
	for (unsigned i = 0; i < SERVERS; i++) {
		servers[i].session = session;
		servers[i].number = i;
		*(void **)&servers[i].work = epp_plugin_symbol(plugin, "epp_sample_work");
		ck_assert(servers[i].work != NULL);
	}
	on_all(begin_requests);
	on_all(serve);
	recording_end(session);
	epp_session_destroy(session);

	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_timeline_create(trace, &options, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->track->kind != EPP_TRACK_DEVICE || event->kind != EPP_EVENT_SLICE)
			continue;
		struct step *step = step_of(event->parent);
		MUST(step);
		expect_requests(timeline, event, step);
		step->kernels_count++;
		kernels++;
	}
	check_ok(epp_timeline_status(timeline));
	for (unsigned i = 0; i < SERVERS; i++) {
		for (unsigned j = 0; j < servers[i].steps_count; j++)
			ck_assert_uint_ge(servers[i].steps[j].kernels_count, KERNELS);
		wanted += servers[i].steps_count * KERNELS;
	}
	ck_assert_uint_ge(wanted, REQUESTS);
	ck_assert_uint_ge(kernels, wanted);
	for (; epp_timeline_request_at(timeline, NULL, requests, &request); requests++)
		MUST(request.events_count == 1 + strtoul(request.parent_id, NULL, 16) % TURNS_MAX);
	ck_assert_uint_eq(requests, REQUESTS);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static Suite *batches_suite(void)
{
	Suite *suite = suite_create("batches");
	TCase *tests = tcase_create("batches");

	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, every_kernel_belongs_to_the_requests_of_its_step);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(batches_suite)
