/* Events of execution providers that are in ONNX Runtime's profile alone: epp_provider_events_* adds them to a session
 * that has the host events, each once, under its node, inside its bound. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "epprof/epprof.h"
#include "epprof/import.h"
#include "provider_events/provider_events.h"
#include "tests/support/check.h"

#define NODES 5

struct node {
	uint64_t id;
	int64_t start_us; /* unix time */
	int64_t begin_us; /* from start_us until its event had begun */
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
		{ .key = epp_name_intern("ort_ts_us"), .type = EPP_ARG_I64, .value.i64 = node->start_us - of->profile_us },
		{ .key = epp_name_intern("ort_dur_us"), .type = EPP_ARG_I64, .value.i64 = duration_us },
		{ .key = epp_name_intern("ort_profile_us"), .type = EPP_ARG_I64, .value.i64 = of->profile_us },
		{ .key = epp_name_intern("ort_started_us"),
		  .type = EPP_ARG_I64,
		  .value.i64 = node->start_us - of->profile_us - 20 },
	};
	epp_event_end_named(of->session, node->id, EPP_NODE, epp_name_intern("relu_kernel_time"), args,
	                    node == of->nodes ? 4 : 3);
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
	tcase_add_test(tests, a_profile_that_cannot_be_read);
	tcase_add_test(tests, a_multiset_has_a_number_as_often_as_it_was_added);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(provider_events_suite)
