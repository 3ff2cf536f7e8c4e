/* Importing XSpace: planes, lines, stats and tables in any order, calls and kernels, arrows, what is derived, both
 * kinds of times, and files that are cut or damaged anywhere.  Covers import_xplane.c, xplane_event.c
 * and xplane_file.c; tests/interop has files of TensorFlow and JAX themselves. */
#include "tests/support/import_events.h"
#include "tests/support/xplane_builder.h"

#define START_NS INT64_C(1790000000123456789)

enum {
	CORRELATION = 1,
	SHAPE,
	RELU_TEXT,
	DETAILS,
	DETAILS_TEXT,
	P_TYPE,
	P_ID,
	C_TYPE,
	C_ID,
	RATE,
	PROGRAM,
	ROOT,
	VENDOR,
	CORES
};

static struct xbytes space, plane, line, event, more;

static void setup(void)
{
	space = plane = line = event = more = (struct xbytes){ 0 };
}

static void teardown(void)
{
	free(space.bytes);
}

static void stat_names(void)
{
	static const char *const names[] = { [CORRELATION] = "correlation_id",
		                             [SHAPE] = "shape",
		                             [RELU_TEXT] = "gradients/relu:Relu",
		                             [DETAILS] = "kernel_details",
		                             [DETAILS_TEXT] = "regs:8 grid:1,1,1 block:64,1,1",
		                             [P_TYPE] = "_pt",
		                             [P_ID] = "_p",
		                             [C_TYPE] = "_ct",
		                             [C_ID] = "_c",
		                             [RATE] = "rate",
		                             [PROGRAM] = "program",
		                             [ROOT] = "_r",
		                             [VENDOR] = "device_vendor",
		                             [CORES] = "core_count" };

	for (int i = 1; i <= CORES; i++)
		xentry(&plane, 5, i, names[i], NULL);
}

static void add_event(int64_t metadata, int64_t offset_ps, int64_t duration_ps)
{
	xevent(&event, metadata, offset_ps, duration_ps);
	xput(&line, 4, &event);
}

static void add_linked(int64_t metadata, int64_t offset_ps, int64_t duration_ps, uint64_t correlation)
{
	xevent(&event, metadata, offset_ps, duration_ps);
	xstat_number(&event, 4, CORRELATION, 3, correlation);
	xput(&line, 4, &event);
}

static void end_line(void)
{
	xput(&plane, 3, &line);
}

/* `tables_last`: as protobuf's own writers have them. */
static void add_host(bool tables_last, int64_t line_ns)
{
	xnumber(&plane, 1, 9);
	xtext(&plane, 2, "/host:CPU");
	if (!tables_last)
		stat_names();
	xline(&line, 4711, "python", line_ns);
	xevent(&event, 1, 1000500, 9000400);
	xstat_number(&event, 4, ROOT, 4, 1);
	xput(&line, 4, &event);
	xevent(&event, 2, 2000000, 4000000);
	xstat_number(&event, 4, SHAPE, 7, RELU_TEXT);
	xstat_f64(&event, 4, RATE, 2.5);
	xstat_number(&event, 4, CORES, 4, (uint64_t)-3);
	xput(&line, 4, &event);
	add_linked(3, 3000000, 1000000, 77);
	add_event(4, 4500000, 0);
	end_line();
	xline(&line, 4712, "worker", line_ns);
	xevent(&event, 5, 2500000, 100000);
	xstat_number(&event, 4, P_TYPE, 4, 2);
	xstat_number(&event, 4, P_ID, 4, 31);
	xput(&line, 4, &event);
	xevent(&event, 6, 5000000, 100000);
	xstat_number(&event, 4, C_TYPE, 4, 2);
	xstat_number(&event, 4, C_ID, 4, 31);
	xput(&line, 4, &event);
	xnumber(&line, 9, 12);
	end_line();
	if (tables_last)
		stat_names();
	const char *const names[] = { "train", "Relu", "cuLaunchKernel", "mark", "Schedule", "Run" };
	for (int i = 0; i < 6; i++)
		xentry(&plane, 4, i + 1, names[i], NULL);
	xput(&space, 1, &plane);
}

/* As TensorFlow's GPU tracer writes it, with lines that XProf derives. */
static void add_gpu(int64_t line_ns)
{
	xtext(&plane, 2, "/device:GPU:0");
	xline(&line, 13, "Stream #13(Compute)", line_ns);
	xevent(&event, 1, 5000000, 2000999);
	xstat_number(&event, 4, CORRELATION, 3, 77);
	xstat_number(&event, 4, DETAILS, 7, DETAILS_TEXT);
	xput(&line, 4, &event);
	add_linked(1, 8000000, 1000, 12345);
	end_line();
	xline(&line, 0xdeadbef0, "XLA Modules", line_ns);
	add_event(2, 5000000, 3000000);
	end_line();
	xline(&line, 0xdeadbef1, "Steps", line_ns);
	add_event(3, 1000000, 9000000);
	end_line();
	xtext(&more, 4, "relu_kernel");
	xstat_text(&more, 5, PROGRAM, 5, "main");
	xentry(&plane, 4, 1, "void relu_kernel<float>(float *, int)", &more);
	xentry(&plane, 4, 2, "jit_f", NULL);
	xentry(&plane, 4, 3, "1", NULL);
	stat_names();
	xstat_text(&plane, 6, VENDOR, 5, "Nvidia");
	xstat_number(&plane, 6, CORES, 4, 108);
	xput(&space, 1, &plane);
}

static void add_environment(void)
{
	xtext(&plane, 2, "Task Environment");
	xentry(&plane, 5, 1, "profile_start_time", NULL);
	xstat_number(&plane, 6, 1, 3, (uint64_t)START_NS);
	xput(&space, 1, &plane);
}

static struct imported *import(void)
{
	return imported_text(space.bytes, space.count);
}

START_TEST(threads_streams_and_stats)
{
	/* Planes and tables in any order. */
	if (_i)
		add_gpu(0);
	add_host(_i, 0);
	if (!_i)
		add_gpu(0);
	add_environment();
	xtext(&space, 4, "worker-1");
	struct imported *imported = import();
	const struct imported_event *train = imported_find(imported, "train"), *relu = imported_find(imported, "Relu"),
				    *call = imported_find(imported, "cuLaunchKernel"),
				    *kernel = imported_find(imported, "relu_kernel");

	ck_assert_int_eq(imported->epoch_unix_ns, START_NS);
	ck_assert_uint_eq(imported->counts.events, 10 + 1); /* an arrow too */
	/* Picoseconds are cut, of starts and ends alike. */
	ck_assert_int_eq(train->start_ns, 1000);
	ck_assert_int_eq(train->duration_ns, 9000);
	ck_assert_int_eq(kernel->start_ns, 5000);
	ck_assert_int_eq(kernel->duration_ns, 2000);
	ck_assert_uint_eq(train->category, EPP_SESSION);
	ck_assert_uint_eq(relu->category, EPP_NODE);
	ck_assert_uint_eq(call->category, EPP_API);
	ck_assert_uint_eq(kernel->category, EPP_KERNEL);
	ck_assert_uint_eq(relu->parent, train->id);
	ck_assert_uint_eq(call->parent, relu->id);
	ck_assert_uint_eq(kernel->parent, call->id);
	ck_assert_uint_eq(kernel->placement, EPP_PLACED_FORMULA);
	ck_assert_str_eq(train->track, "python");
	ck_assert_uint_eq(train->thread_id, 4711);
	ck_assert_str_eq(kernel->track, "Stream #13(Compute)");
	ck_assert_uint_eq(kernel->track_kind, EPP_TRACK_DEVICE);
	ck_assert_str_eq(relu->args, "shape=gradients/relu:Relu;rate=2.5;core_count=-3;");
	ck_assert_str_eq(kernel->args, "correlation_id=77;kernel_details=regs:8 grid:1,1,1 block:64,1,1;program=main;"
	                               "name=void relu_kernel<float>(float *, int);");
	ck_assert_uint_eq(imported_find(imported, "mark")->kind, EPP_EVENT_INSTANT);
	ck_assert_uint_eq(imported->counts.correlated, 1);
	ck_assert_uint_eq(imported->counts.uncorrelated, 1);
	free(imported);
}
END_TEST

START_TEST(what_is_derived_is_no_work_of_the_device)
{
	add_gpu(0);
	struct imported *imported = import();

	ck_assert_uint_eq(imported_find(imported, "jit_f")->track_kind, EPP_TRACK_CUSTOM);
	ck_assert_uint_eq(imported_find(imported, "1")->track_kind, EPP_TRACK_CUSTOM);
	ck_assert_uint_eq(imported_find(imported, "jit_f")->category, EPP_NODE);
	ck_assert_uint_eq(imported_find(imported, "epprof.device")->kind, EPP_EVENT_INSTANT);
	ck_assert_str_eq(imported_find(imported, "epprof.device")->args, "device_vendor=Nvidia;core_count=108;");
	free(imported);
}
END_TEST

/* On a TPU, and where there is nothing else, the ops are the work. */
START_TEST(ops_without_streams_are_the_work)
{
	static const char *const names[] = { "/device:TPU:0", "/device:CUSTOM:npu" };

	xtext(&plane, 2, names[_i]);
	xline(&line, 1, "Steps", 0);
	add_event(1, 0, 9000);
	end_line();
	xline(&line, 2, "XLA Ops", 0);
	add_event(2, 1000, 2000);
	end_line();
	xentry(&plane, 4, 1, "0", NULL);
	xentry(&plane, 4, 2, "fusion", NULL);
	xput(&space, 1, &plane);
	struct imported *imported = import();

	ck_assert_uint_eq(imported_find(imported, "fusion")->track_kind, EPP_TRACK_DEVICE);
	ck_assert_uint_eq(imported_find(imported, "0")->track_kind, EPP_TRACK_CUSTOM);
	free(imported);
}
END_TEST

START_TEST(producers_lead_to_consumers)
{
	add_host(true, 0);
	struct imported *imported = import();
	unsigned count = 0;

	for (size_t i = 0; i < imported->count; i++) {
		const struct imported_event *flow = &imported->events[i];
		if (flow->kind != EPP_EVENT_FLOW)
			continue;
		count++;
		ck_assert_uint_eq(flow->parent, imported_find(imported, "Schedule")->id);
		ck_assert_uint_eq(flow->id, imported_find(imported, "Run")->id);
	}
	ck_assert_uint_eq(count, 1);
	free(imported);
}
END_TEST

/* Lines with unix times, beside others that count from the session's start. */
START_TEST(both_kinds_of_times_are_one_timeline)
{
	add_host(true, START_NS + 1000);
	add_gpu(_i ? START_NS + 1000 : 1000);
	if (_i < 2)
		add_environment();
	struct imported *imported = import();
	int64_t moved = _i == 2 ? 0 : 1000; /* without a start that is told it is the first line's */

	ck_assert_int_eq(imported->epoch_unix_ns, START_NS + 1000 - moved);
	ck_assert_int_eq(imported_find(imported, "train")->start_ns, 1000 + moved);
	ck_assert_int_eq(imported_find(imported, "relu_kernel")->start_ns, 5000 + moved);
	free(imported);
}
END_TEST

START_TEST(counters_sums_and_strangers)
{
	xtext(&plane, 2, "/host:CPU");
	xline(&line, INT64_MAX, "_counters_", 0);
	xevent(&event, 1, 5000, 0);
	xstat_number(&event, 4, 1, 3, 640);
	xput(&line, 4, &event);
	end_line();
	xline(&line, 5, "t", 0);
	xnumber(&event, 1, 2);
	xnumber(&event, 5, 100); /* num_occurrences */
	xnumber(&event, 3, 7000);
	xput(&line, 4, &event);
	add_event(99, 1000, 1000);
	xevent(&event, 2, 2000, 1000);
	xstat_number(&event, 4, 55, 3, 1); /* nobody explains it */
	xstat_number(&event, 4, 2, 7, 66); /* nor what it refers to */
	xstat_text(&event, 4, 2, 6, "\001\002\003");
	xput(&line, 4, &event);
	end_line();
	xentry(&plane, 4, 2, "lost", NULL);
	xentry(&plane, 4, 2, "op", NULL); /* the later one counts */
	xentry(&plane, 4, 1, "memory", NULL);
	xentry(&plane, 5, 1, "counter_value", NULL);
	xentry(&plane, 5, 2, "program", NULL);
	xput(&space, 1, &plane);
	struct imported *imported = import();

	ck_assert_uint_eq(imported_find(imported, "memory")->kind, EPP_EVENT_COUNTER);
	ck_assert_str_eq(imported_find(imported, "memory")->args, "counter_value=640;");
	ck_assert_str_eq(imported_find(imported, "op")->args, "program=(3 bytes);");
	ck_assert_int_eq(imported_find(imported, "")->start_ns, 1);
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 aggregated event left out"));
	ck_assert_ptr_nonnull(strstr(imported->receipt, "1 event without a name"));
	ck_assert_ptr_nonnull(strstr(imported->receipt, "2 stats left out"));
	free(imported);
}
END_TEST

START_TEST(times_that_are_none_are_refused)
{
	xtext(&plane, 2, "/host:CPU");
	xline(&line, 5, "t", INT64_MAX);
	add_event(1, INT64_MAX, 1000);
	end_line();
	xline(&line, 6, "u", 0);
	add_event(1, INT64_MAX, INT64_MAX);
	add_event(1, 1000, -1000);
	add_event(1, INT64_MIN, 10);
	add_event(1, 1000, 3000);
	end_line();
	xentry(&plane, 4, 1, "op", NULL);
	xput(&space, 1, &plane);
	struct imported *imported = import();

	ck_assert_uint_ge(imported->counts.left_out, 3);
	free(imported);
}
END_TEST

START_TEST(names_that_are_too_long_or_too_many_are_kept_as_args)
{
	char *name = calloc(1, 90001);

	memset(name, 'x', 90000);
	xtext(&plane, 2, "/host:CPU");
	xline(&line, 5, "t", 0);
	for (int i = 0; i < 60; i++)
		add_event(i, 1000 * (i + 1), 500);
	end_line();
	for (int i = 0; i < 60; i++) {
		name[0] = (char)('0' + i);
		xentry(&plane, 4, i, name, NULL);
	}
	xput(&space, 1, &plane);
	free(name);
	struct imported *imported = import();

	ck_assert_uint_eq(imported->counts.events, 60);
	/* As far as the list of events goes. */
	ck_assert_uint_ge(strspn(imported_find(imported, "(name lost)")->args + 6, "x"), 1000);
	free(imported);
}
END_TEST

/* What is in front of the cut is there, and nothing else is. */
START_TEST(a_cut_file_is_taken_as_far_as_it_goes)
{
	add_environment();
	add_host(false, 0);
	add_gpu(0);
	uint64_t most = 0;

	for (size_t count = space.count; count > 0; count--) {
		epp_import_options options = { .struct_size = sizeof options, .format = "xspace", .overwrite = 1 };
		epp_import_counts counts = { .struct_size = sizeof(counts) };
		const char *path = check_path("cut.pb");
		FILE *file = fopen(path, "w");
		MUST(file && fwrite(space.bytes, 1, count, file) == count && !fclose(file));
		epp_status *status = epp_import_file(path, check_path("cut.epp"), &options, NULL, NULL, &counts);
		if (count == space.count)
			most = counts.events;
		MUST(!status || epp_status_code(status) == EPP_CORRUPT);
		MUST(counts.events <= most && (status == NULL) == (counts.events > 0));
		epp_status_destroy(status);
	}
	ck_assert_uint_eq(most, 11);
}
END_TEST

/* Whatever a byte says, the import ends, with a valid trace or an error. */
START_TEST(damage_anywhere_does_no_harm)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xFF, 0x08 };

	add_host(_i, 0);
	add_gpu(0);
	add_environment();
	for (size_t at = 0; at < space.count; at++) {
		epp_import_options options = { .struct_size = sizeof options, .format = "xspace", .overwrite = 1 };
		const char *path = check_path("damaged.pb"), *output = check_path("damaged.epp");
		FILE *file = fopen(path, "w");
		struct imported *imported;
		char was = space.bytes[at];
		space.bytes[at] = (char)(was ^ flips[(at + (size_t)_i) % sizeof(flips)]);
		MUST(file && fwrite(space.bytes, 1, space.count, file) == space.count && !fclose(file));
		space.bytes[at] = was;
		epp_status *status = epp_import_file(path, output, &options, NULL, NULL, NULL);
		if (!status && at % 16 == 0) {
			imported = calloc(1, sizeof *imported);
			imported_list(imported, output);
			free(imported);
		}
		MUST(!status || epp_status_code(status) == EPP_CORRUPT);
		epp_status_destroy(status);
	}
}
END_TEST

/* A pipe cannot be sought; zeros behind the end are no damage; and text is not taken for it. */
START_TEST(pipes_zeros_and_text)
{
	static const char json[] = "\n{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}";
	char command[2048];
	const char *path;

	add_host(true, 0);
	xraw(&space, "\0\0", 2);
	struct imported *imported = import();
	ck_assert_ptr_null(strstr(imported->receipt, "are truncated"));
	free(imported);
	path = imported_write(space.bytes, space.count);
	snprintf(command, sizeof command, "cat %s | " CHECK_BUILD "/epprof import -o %s - 2>/dev/null", path,
	         check_path("piped.epp"));
	ck_assert_int_eq(system(command), 0);
	imported = calloc(1, sizeof *imported);
	imported_list(imported, check_path("piped.epp"));
	ck_assert_int_eq(imported_find(imported, "train")->start_ns, 1000);
	free(imported);
	imported = imported_text(json, sizeof json - 1);
	ck_assert_int_eq(imported_find(imported, "a")->duration_ns, 1000);
	free(imported);
	imported_refused("\012\002\177\177", 4, EPP_CORRUPT, "or an XSpace");
	imported_refused("\012\004\022\002ab", 6, EPP_CORRUPT, "contains no events");
}
END_TEST

static Suite *import_xplane_suite(void)
{
	Suite *suite = suite_create("import_xplane");
	TCase *tests = tcase_create("import_xplane");

	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, threads_streams_and_stats, 0, 2);
	tcase_add_test(tests, what_is_derived_is_no_work_of_the_device);
	tcase_add_loop_test(tests, ops_without_streams_are_the_work, 0, 2);
	tcase_add_test(tests, producers_lead_to_consumers);
	tcase_add_loop_test(tests, both_kinds_of_times_are_one_timeline, 0, 3);
	tcase_add_test(tests, counters_sums_and_strangers);
	tcase_add_test(tests, times_that_are_none_are_refused);
	tcase_add_test(tests, names_that_are_too_long_or_too_many_are_kept_as_args);
	tcase_add_test(tests, a_cut_file_is_taken_as_far_as_it_goes);
	tcase_add_loop_test(tests, damage_anywhere_does_no_harm, 0, 2);
	tcase_add_test(tests, pipes_zeros_and_text);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(import_xplane_suite)
