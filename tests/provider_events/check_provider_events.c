/* Events of execution providers that are in ONNX Runtime's profile alone: epp_provider_events_* adds them to a session
 * that has the host events, each once, under its node, inside its bound. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "epprof/epprof.h"
#include "epprof/import.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "provider_events/provider_events.h"
#include "tests/support/check.h"

#define NODES 5

struct node {
	uint64_t id;
	int64_t start_us;     /* unix time */
	int64_t begin_us;     /* from start_us until its event had begun */
	const char *provider; /* NULL: not recorded */
};

/* A session, and the profile that ONNX Runtime writes of it. */
struct recording {
	epp_session *session;
	FILE *profile;
	const char *path;
	int64_t profile_us;
	struct node nodes[NODES];
};

static int64_t unix_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void write_record(FILE *profile, const char *cat, int pid, const char *name, int64_t start_us,
                         int64_t duration_us, const char *args)
{
	fprintf(profile,
	        "%s\n{\"cat\" : \"%s\",\"pid\" :%d,\"tid\" :%d,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64
	        ",\"ph\" : \"X\",\"name\" :\"%s\",\"args\" : {%s}}",
	        ftell(profile) > 1 ? "," : "", cat, pid, pid < 0 ? 0 : (int)gettid(), duration_us, start_us, name, args);
}

/* A node of 2 ms, in the session as the collector records it, and in the profile. */
static void run_node(struct recording *of, struct node *node)
{
	node->start_us = unix_us();
	node->id = epp_event_begin(of->session, EPP_NODE, 0);
	node->begin_us = unix_us() - node->start_us;
	usleep(2000);
	int64_t duration_us = unix_us() - node->start_us;
	const epp_arg args[] = {
		{ .key = epp_name_intern("provider"),
		  .type = EPP_ARG_TEXT,
		  .value.text = node->provider,
		  .text_bytes = node->provider ? strlen(node->provider) : 0 },
		{ .key = epp_name_intern("ort_ts_us"), .type = EPP_ARG_I64, .value.i64 = node->start_us - of->profile_us },
		{ .key = epp_name_intern("ort_dur_us"), .type = EPP_ARG_I64, .value.i64 = duration_us },
		{ .key = epp_name_intern("ort_profile_us"), .type = EPP_ARG_I64, .value.i64 = of->profile_us },
		{ .key = epp_name_intern("ort_started_us"),
		  .type = EPP_ARG_I64,
		  .value.i64 = node->start_us - of->profile_us - 20 },
	};
	size_t first = node->provider ? 0 : 1, end = node == of->nodes ? 5 : 4;
	epp_event_end_named(of->session, node->id, EPP_NODE, epp_name_intern("relu_kernel_time"), args + first,
	                    end - first);
	write_record(of->profile, "Node", (int)getpid(), "relu_kernel_time", node->start_us - of->profile_us,
	             duration_us, "\"op_name\" : \"Relu\",\"provider\" : \"VendorEP\"");
}

/* `before_us`: how long before its first event the profile began. */
static void begin_profile_before(struct recording *of, const char *name, int64_t before_us)
{
	of->path = check_path("%s", name);
	of->profile = fopen(of->path, "w");
	ck_assert_ptr_nonnull(of->profile);
	fputs("[", of->profile);
	of->profile_us = unix_us() - before_us;
	for (size_t i = 0; i < NODES; i++)
		run_node(of, &of->nodes[i]);
}

static void begin_profile(struct recording *of, const char *name)
{
	begin_profile_before(of, name, 300);
}

/* A kernel of 1 ms in the middle of each node: 0.5 ms after its event had begun, however long that took, because no
 * kernel begins before its cause. */
static void write_kernels(struct recording *of, const char *more_args)
{
	for (size_t i = 0; i < NODES; i++) {
		char args[256];
		snprintf(args, sizeof args, "\"ort_correlation_id\" : \"%" PRId64 "\",\"n\" : \"%zu\"%s",
		         of->nodes[i].start_us, i, more_args);
		int64_t begun_us = of->nodes[i].start_us + of->nodes[i].begin_us;
		write_record(of->profile, "Kernel", -1, "relu", begun_us - of->profile_us + 500, 1000, args);
	}
}

static void end_profile(struct recording *of)
{
	fputs("\n]\n", of->profile);
	ck_assert_int_eq(fclose(of->profile), 0);
}

static struct recording record(const char *trace)
{
	struct recording of = { 0 };

	check_ok(epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options), .path = trace },
	                            &of.session));
	check_ok(epp_session_start(of.session));
	return of;
}

static epp_status *add(const struct recording *of, epp_provider_events *events, epp_provider_events_counts *counts)
{
	const epp_provider_events_options options = { .struct_size = sizeof options,
		                                      .profiles = &of->path,
		                                      .profiles_count = 1,
		                                      .profile_unix_us = of->profile_us,
		                                      .is_one_provider = 1 };

	return epp_provider_events_add(events, &options, counts);
}

/* Ends the session; `first` is the account of this label. */
static epp_trace *ended(const struct recording *of, const char *trace, const char *label, epp_trace_ledger_entry *first)
{
	epp_trace *opened;

	epp_session_destroy(of->session);
	check_ok(epp_trace_open(trace, &opened));
	memset(first, 0, sizeof *first);
	for (size_t i = 0; i < epp_trace_ledger_count(opened) && !first->producer; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(opened, i, &account));
		if (account.is_plugin && strcmp(account.producer, label) == 0)
			*first = account;
	}
	return opened;
}

/* Returns the bound of a kernel's start: half of the 20 us that the start of the providers may have taken, 2 us of the
 * comparison, the rounding, and 500 ppm of the time since that start. */
static int64_t bound_ns(const struct node *first, const struct node *node)
{
	int64_t since_us = node->start_us + node->begin_us + 500 - (first->start_us - 20);

	/* Each of its terms is rounded up to the next nanosecond. */
	return 10000 + 2000 + 2000 + since_us * 1000 / 2000 + 10;
}

/* Counts the kernels, each of which must be under its node, with a bound as small as bound_ns() states. */
static size_t count_kernels(epp_trace *trace, const struct node *nodes, size_t count)
{
	epp_timeline *timeline;
	const epp_event *event;
	size_t found = 0;

	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		size_t node = 0;
		if (event->track->kind != EPP_TRACK_DEVICE)
			continue;
		while (node < count && nodes[node].id != event->parent)
			node++;
		ck_assert_uint_lt(node, count);
		const struct node *first = &nodes[node / NODES * NODES];
		/* It is 0.5 ms behind the node's start; the clocks were compared while a node began. */
		int64_t behind_ns = event->start_ns - event->parent_start_ns - 500000;
		int64_t begin_us = first->begin_us + nodes[node].begin_us;
		ck_assert_int_le(llabs(behind_ns), event->start_error_ns + begin_us * 1000 + 2000);
		ck_assert_int_le(event->start_error_ns, bound_ns(first, &nodes[node]));
		found++;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	return found;
}

START_TEST(kernels_come_under_their_nodes)
{
	const char *const path = check_path("one.epp");
	struct recording of = record(path);
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	epp_provider_events *events;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	begin_profile(&of, "one.json");
	/* A value that is no JSON, as ONNX Runtime writes it. */
	write_kernels(&of, ",\"shape\" : {not json,\"say \"hi\"\" : \"a \"quoted\" text\"");
	end_profile(&of);
	check_ok(epp_provider_events_create(of.session, "VendorEP", &events));
	check_ok(add(&of, events, &counts));
	ck_assert_uint_eq(counts.added, NODES);
	ck_assert_uint_eq(counts.has_pushed, 0);
	epp_provider_events_destroy(events);
	epp_trace *trace = ended(&of, path, "VendorEP", &account);
	ck_assert_uint_eq(count_kernels(trace, of.nodes, NODES), NODES);
	ck_assert_uint_eq(account.emitted, NODES);
	ck_assert_uint_eq(account.written, NODES);
	ck_assert_uint_eq(account.lost_total, 0);
	epp_trace_close(trace);
}
END_TEST

/* An EP compares its clock when it is started, not when the profile begins: 2 s between the two do not make the bound
 * wider, as 500 ppm of them would by 1 ms. */
START_TEST(the_bound_counts_from_the_start_of_the_providers)
{
	const char *const path = check_path("late.epp");
	struct recording of = record(path);
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	epp_provider_events *events;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	begin_profile_before(&of, "late.json", 2000000);
	write_kernels(&of, "");
	end_profile(&of);
	check_ok(epp_provider_events_create(of.session, "VendorEP", &events));
	check_ok(add(&of, events, &counts));
	epp_provider_events_destroy(events);
	epp_trace *trace = ended(&of, path, "VendorEP", &account);
	ck_assert_uint_eq(count_kernels(trace, of.nodes, NODES), NODES);
	epp_trace_close(trace);
}
END_TEST

/* Two profiles one after the other: the EP compares its clock anew, so each has a clock of its own. */
START_TEST(each_profile_has_its_own_clock)
{
	const char *const path = check_path("two.epp");
	struct recording of = record(path);
	struct node nodes[2 * NODES];
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	for (size_t i = 0; i < 2; i++) {
		epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
		epp_provider_events *events;
		begin_profile(&of, i ? "second.json" : "first.json");
		write_kernels(&of, "");
		end_profile(&of);
		check_ok(epp_provider_events_create(of.session, "VendorEP", &events));
		check_ok(add(&of, events, &counts));
		ck_assert_uint_eq(counts.added, NODES);
		epp_provider_events_destroy(events);
		memcpy(&nodes[i * NODES], of.nodes, sizeof of.nodes);
	}
	epp_trace *trace = ended(&of, path, "VendorEP", &account);
	ck_assert_uint_eq(count_kernels(trace, nodes, 2 * NODES), 2 * NODES);
	uint32_t clocks[2] = { 0 };
	size_t count = 0;
	const epp_trace_track *track;
	for (size_t i = 0; (track = epp_trace_track_at(trace, i)); i++) {
		if (track->kind == EPP_TRACK_DEVICE && track->stream >= 0 && count < 2)
			clocks[count++] = track->clock;
	}
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_ne(clocks[0], clocks[1]);
	epp_trace_close(trace);
}
END_TEST

/* What the session got from the EP itself is not added again; the number 0 is one that the session has counted as
 * lost. */
START_TEST(what_was_pushed_is_left_out)
{
	const char *const path = check_path("pushed.epp");
	struct recording of = record(path);
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	epp_provider_events *events;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	begin_profile(&of, "pushed.json");
	write_kernels(&of, ",\"epprof.id\" : \"0\"");
	end_profile(&of);
	check_ok(epp_provider_events_create(of.session, NULL, &events));
	check_ok(add(&of, events, &counts));
	ck_assert_uint_eq(counts.added, 0);
	epp_provider_events_destroy(events);
	epp_trace *trace = ended(&of, path, "providers", &account);
	ck_assert_ptr_null(account.producer);
	epp_trace_close(trace);
}
END_TEST

/* ---- names of devices ---- */

/* A kernel under each node: the node's provider, the kernel's device, and whether it has an id. */
struct named_case {
	const char *providers[NODES];
	int devices[NODES];
	int without_id;        /* bits of the kernels that have no id */
	bool is_pushed;        /* the first node has a device event in the session already */
	const char *groups[2]; /* of the devices */
};

#define V "VendorEP"
#define O "OtherEP"
#define C "CPUExecutionProvider"

static const struct named_case named_cases[] = {
	{ { V, V, V, O, O }, { 0, 0, 0, 1, 1 }, 0, false, { "VendorEP device 0", "OtherEP device 1" } },
	{ { V, V, V, O, O }, { 0, 0, 0, 0, 1 }, 0, false, { "providers device 0", "OtherEP device 1" } },
	/* The profile does not name an event's provider, so an event without an id may be of either. */
	{ { V, V, V, O, O }, { 0, 0, 0, 1, 1 }, 1, false, { "providers device 0", "OtherEP device 1" } },
	{ { V, V, V, C, C }, { 0, 0, 0, 0, 0 }, 8 | 16, false, { "VendorEP device 0", NULL } },
	{ { V, V, V, V, V }, { 0, 0, 0, 0, 0 }, 31, false, { "providers device 0", NULL } },
	/* An EP that adds events for nodes that it does not run. */
	{ { C, C, C, C, C }, { 0, 0, 0, 0, 0 }, 0, false, { "providers device 0", NULL } },
	{ { V, V, V, C, C }, { 0, 0, 0, 0, 0 }, 0, false, { "providers device 0", NULL } },
	/* VendorEP pushes its events itself, so those in the profile are not its. */
	{ { V, V, V, O, O }, { 0, 0, 0, 1, 1 }, 0, true, { "providers device 0", "OtherEP device 1" } },
	{ { NULL, NULL, NULL, NULL, NULL }, { 0, 0, 0, 0, 0 }, 0, false, { "providers device 0", NULL } },
};

static void impl_release(OrtEpProfilerImpl *impl)
{
	(void)impl;
}

static OrtStatus *impl_start(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	(void)impl, (void)offset_ns;
	return NULL;
}

static OrtStatus *impl_end(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	(void)impl, (void)container;
	return NULL;
}

/* Pushes a device event of a profiler with the kit. */
static void push_event(const struct recording *of, const struct node *node)
{
	static OrtEpProfilerImpl impl = { .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                          .Release = impl_release,
		                          .StartProfiling = impl_start,
		                          .EndProfiling = impl_end };
	const EpprofClock clock = { .id = 1, .kind = EPP_CLOCK_DEVICE, .ticks_per_second = epp_host_ticks_per_second() };
	const EpprofClockPair pair = { .device_ticks = epp_host_ticks(), .host_ticks = epp_host_ticks(), .clock = 1 };
	const EpprofEvent event = { .start_ticks = epp_host_ticks(),
		                    .end_ticks = epp_host_ticks() + 1,
		                    .name = "pushed",
		                    .parent = node->id,
		                    .category = EPP_KERNEL,
		                    .clock = 1,
		                    .device = 7 };
	const EpprofBatch batch = { .struct_size = sizeof batch,
		                    .clocks = &clock,
		                    .clocks_count = 1,
		                    .pairs = &pair,
		                    .pairs_count = 1,
		                    .events = &event,
		                    .events_count = 1 };
	epp_hosted_profiler *pusher;
	const OrtApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);

	check_ok(epp_hosted_profiler_create(of->session, &impl, "kit", &pusher));
	((EpprofApi_PushEvents_SinceV1_Fn)api->GetExperimentalFunction("EpprofApi_PushEvents_SinceV1"))(&impl, &batch);
	epp_hosted_profiler_destroy(pusher);
}

static void write_named_kernels(const struct recording *of, const struct named_case *named)
{
	for (size_t i = 0; i < NODES; i++) {
		char args[64] = "";
		int64_t begun_us = of->nodes[i].start_us + of->nodes[i].begin_us;
		if (!(named->without_id >> i & 1))
			snprintf(args, sizeof args, "\"ort_correlation_id\" : \"%" PRId64 "\"", of->nodes[i].start_us);
		write_record(of->profile, "Kernel", -1 - named->devices[i], "relu", begun_us - of->profile_us + 500,
		             1000, args);
	}
}

static const char *group_of(epp_trace *trace, int32_t device)
{
	const epp_trace_track *track;

	for (size_t i = 0; (track = epp_trace_track_at(trace, i)); i++) {
		if (track->kind == EPP_TRACK_DEVICE && track->device == device && strcmp(track->name, "clock") != 0)
			return track->group;
	}
	return NULL;
}

START_TEST(a_device_is_named_after_the_only_provider_of_its_events)
{
	const char *const path = check_path("named-%d.epp", _i);
	const struct named_case *named = &named_cases[_i];
	struct recording of = record(path);
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	epp_provider_events *events;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	for (size_t i = 0; i < NODES; i++)
		of.nodes[i].provider = named->providers[i];
	begin_profile(&of, "named.json");
	if (named->is_pushed)
		push_event(&of, &of.nodes[0]);
	write_named_kernels(&of, named);
	end_profile(&of);
	check_ok(epp_provider_events_create(of.session, NULL, &events));
	const epp_provider_events_options options = {
		.struct_size = sizeof options, .profiles = &of.path, .profiles_count = 1, .profile_unix_us = of.profile_us
	};
	check_ok(epp_provider_events_add(events, &options, &counts));
	ck_assert_uint_eq(counts.added, NODES);
	ck_assert_uint_eq(counts.has_pushed, named->is_pushed);
	epp_provider_events_destroy(events);
	epp_trace *trace = ended(&of, path, "providers", &account);
	ck_assert_uint_eq(account.written, NODES);
	for (int32_t device = 0; device < 2; device++) {
		const char *group = group_of(trace, device);
		MUST((group == NULL) == (named->groups[device] == NULL));
		if (group)
			ck_assert_str_eq(group, named->groups[device]);
	}
	epp_trace_close(trace);
}
END_TEST

/* Without the file, what was recorded is complete, and the account counts the events that are missing as one. */
START_TEST(a_profile_that_cannot_be_read)
{
	const char *const path = check_path("unread.epp");
	struct recording of = record(path);
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	epp_provider_events *events;
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	begin_profile(&of, "unread.json");
	end_profile(&of);
	ck_assert_int_eq(unlink(of.path), 0);
	check_ok(epp_provider_events_create(of.session, "VendorEP", &events));
	check_fails(EPP_NOT_FOUND, add(&of, events, &counts));
	epp_provider_events_destroy(events);
	epp_trace *trace = ended(&of, path, "VendorEP", &account);
	ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], 1);
	ck_assert_ptr_nonnull(strstr(account.note, "missing"));
	ck_assert_uint_ge(epp_trace_get_info(trace)->records_count, NODES);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_multiset_has_a_number_as_often_as_it_was_added)
{
	struct multiset set = { 0 };

	ck_assert(!multiset_take(&set, 7));
	for (uint64_t i = 0; i < 3000; i++)
		check_ok(multiset_add(&set, i * 7919 % 1000));
	multiset_sort(&set);
	for (unsigned times = 0; times < 4; times++) {
		for (uint64_t number = 0; number < 1000; number++)
			MUST(multiset_take(&set, number) == (times < 3));
	}
	ck_assert(!multiset_take(&set, 1000));
	multiset_deinit(&set);
}
END_TEST

static Suite *provider_events_suite(void)
{
	Suite *suite = suite_create("provider_events");
	TCase *tests = tcase_create("provider_events");
	tcase_add_test(tests, kernels_come_under_their_nodes);
	tcase_add_test(tests, the_bound_counts_from_the_start_of_the_providers);
	tcase_add_test(tests, each_profile_has_its_own_clock);
	tcase_add_test(tests, what_was_pushed_is_left_out);
	tcase_add_loop_test(tests, a_device_is_named_after_the_only_provider_of_its_events, 0,
	                    sizeof named_cases / sizeof *named_cases);
	tcase_add_test(tests, a_profile_that_cannot_be_read);
	tcase_add_test(tests, a_multiset_has_a_number_as_often_as_it_was_added);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(provider_events_suite)
