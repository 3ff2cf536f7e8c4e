/* XSpace, read back field by field: every event where it belongs, every number explained.  tests/interop has XProf's reader.
 * Covers xplane.c, xplane_line.c, xplane_document.c and sink_parts.c. */
#include "export/xplane.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/check.h"
#include "tests/command.h"
#include "tests/export_text.h"
#include "wire/utf8.h"

#define NUMBERS_MOST 8192

struct found {
	char plane[64], line[64], name[64];
	int64_t line_unix_ns;
	int64_t offset_ps, duration_ps;
	uint64_t correlation;
	char details[128];
	unsigned details_count;
};

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct found *events;
static size_t events_count;
static char (*names)[64], (*stats)[128]; /* of the plane in hand */

static void setup(void)
{
	builder = builder_create();
	names = calloc(NUMBERS_MOST, sizeof *names);
	stats = calloc(NUMBERS_MOST, sizeof *stats);
}

static void teardown(void)
{
	free(events);
	free(names);
	free(stats);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

#define EACH(reader, field) \
	for (struct protobuf_field field; protobuf_next(reader, &field) || (ck_assert(!(reader)->damaged), false);)

static void copy(char *to, size_t room, const struct protobuf_field *field)
{
	ck_assert_uint_eq(utf8_valid_bytes((const char *)field->bytes, field->count), field->count);
	snprintf(to, room, "%.*s", (int)field->count, (const char *)field->bytes);
}

/* An entry of event_metadata or stat_metadata. */
static void read_entry(struct protobuf_reader entry, char *texts, size_t room)
{
	uint64_t key = 0;

	EACH(&entry, field)
	{
		if (field.number == ENTRY_KEY)
			key = field.value;
		if (field.number != ENTRY_VALUE)
			continue;
		struct protobuf_reader value = protobuf_reader_in(&field);
		ck_assert_uint_lt(key, NUMBERS_MOST);
		EACH(&value, part)
		{
			if (part.number == XMETADATA_ID)
				ck_assert_uint_eq(part.value, key);
			if (part.number == XMETADATA_NAME)
				copy(texts + key * room, room, &part);
		}
	}
}

static void read_stat(struct found *event, struct protobuf_reader stat)
{
	uint64_t key = 0;

	EACH(&stat, field)
	{
		if (field.number == XSTAT_METADATA_ID) {
			key = field.value;
			ck_assert_msg(key < NUMBERS_MOST && stats[key][0], "stat %zu is not explained", (size_t)key);
		}
		if (field.number == XSTAT_U64 && key == KNOWN_CORRELATION)
			event->correlation = field.value;
		if (key == KNOWN_KERNEL_DETAILS && (field.number == XSTAT_REF || field.number == XSTAT_TEXT))
			event->details_count++;
		if (field.number == XSTAT_REF && key == KNOWN_KERNEL_DETAILS)
			snprintf(event->details, sizeof event->details, "%s", stats[field.value]);
		if (field.number == XSTAT_TEXT && key == KNOWN_KERNEL_DETAILS)
			copy(event->details, sizeof event->details, &field);
	}
}

static void read_line(struct protobuf_reader line, const char *plane)
{
	char name[64] = "";
	int64_t unix_ns = -1;

	EACH(&line, field)
	{
		if (field.number == XLINE_TIMESTAMP_NS)
			unix_ns = (int64_t)field.value;
		if (field.number == XLINE_NAME)
			copy(name, sizeof name, &field);
		if (field.number != XLINE_EVENTS)
			continue;
		struct protobuf_reader inner = protobuf_reader_in(&field);
		if (!(events_count & (events_count - 1)))
			events = realloc(events, (events_count ? events_count * 2 : 1) * sizeof *events);
		struct found *event = &events[events_count++];
		*event = (struct found){ .line_unix_ns = unix_ns };
		snprintf(event->plane, sizeof event->plane, "%s", plane);
		snprintf(event->line, sizeof event->line, "%s", name);
		EACH(&inner, part)
		{
			if (part.number == XEVENT_METADATA_ID)
				snprintf(event->name, sizeof event->name, "%s", names[part.value]);
			if (part.number == XEVENT_OFFSET_PS)
				event->offset_ps = (int64_t)part.value;
			if (part.number == XEVENT_DURATION_PS)
				event->duration_ps = (int64_t)part.value;
			if (part.number == XEVENT_STATS)
				read_stat(event, protobuf_reader_in(&part));
		}
	}
}

static void read_space(const char *bytes, size_t count)
{
	struct protobuf_reader space = protobuf_reader_of(bytes, count);
	EACH(&space, field)
	{
		char plane[64] = "";
		if (field.number != XSPACE_PLANES)
			continue;
		memset(names, 0, NUMBERS_MOST * sizeof *names);
		memset(stats, 0, NUMBERS_MOST * sizeof *stats);
		struct protobuf_reader inner = protobuf_reader_in(&field);
		EACH(&inner, part)
		{
			if (part.number == XPLANE_NAME)
				copy(plane, sizeof plane, &part);
			if (part.number == XPLANE_EVENT_METADATA)
				read_entry(protobuf_reader_in(&part), names[0], sizeof *names);
			if (part.number == XPLANE_STAT_METADATA)
				read_entry(protobuf_reader_in(&part), stats[0], sizeof *stats);
			if (part.number == XPLANE_LINES)
				read_line(protobuf_reader_in(&part), plane);
		}
	}
}

static void write_and_read(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "xspace", options);
	read_space(text.bytes, text.count);
}

static const struct found *find(const char *name)
{
	for (size_t i = 0; i < events_count; i++) {
		if (strcmp(events[i].name, name) == 0)
			return &events[i];
	}
	ck_abort_msg("no event '%s'", name);
	return NULL;
}

START_TEST(every_event_is_on_its_line)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_read(NULL);
	ck_assert_uint_eq(events_count, 25); /* 24 slices and an instant */
	const struct found *gemm = find("gemm"), *fc1 = find("fc1");
	ck_assert_str_eq(gemm->plane, "/device:CUSTOM:Accelerator 0");
	ck_assert_str_eq(gemm->line, "stream 1");
	ck_assert_int_eq(gemm->offset_ps, 8300000);
	ck_assert_int_eq(gemm->duration_ps, 9000000);
	ck_assert_str_eq(gemm->details, "");
	ck_assert_str_eq(fc1->plane, "/host:CPU");
	ck_assert_str_eq(fc1->line, "main");
	ck_assert_uint_ne(fc1->correlation, 0);
	ck_assert_uint_eq(gemm->correlation, fc1->correlation);
	ck_assert_uint_eq(find("prefetch")->correlation, 0);
	ck_assert_int_eq(find("cache miss")->duration_ps, 0);
	ck_assert_str_eq(text.receipts, "1 counter values left out: the format's tools show none\n"
	                                "1 arrows left out: the format has those of launches only\n"
	                                "1 asynchronous events left out: the format has only what nests\n");
}
END_TEST

START_TEST(gpu_planes_have_kernels)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_planes = 1 };

	builder_destroy(builder);
	builder = export_sample();
	write_and_read(&options);
	ck_assert_str_eq(find("gemm")->plane, "/device:GPU:0");
	ck_assert_ptr_nonnull(strstr(find("gemm")->details, "grid:1,1,1 block:1,1,1"));
}
END_TEST

START_TEST(recorded_details_are_kept)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_planes = 1 };
	uint32_t stream = builder_device(builder, "stream 1", "Device", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(builder, "kernel_details"),
		        .type = EPP_ARG_TEXT,
		        .value.text = "regs:7",
		        .text_bytes = 6 };

	builder_complete(builder, stream, BUILDER_START, 9, EPP_KERNEL, builder_name(builder, "op"), 0, &arg, 1);
	write_and_read(&options);
	ck_assert_str_eq(find("op")->details, "regs:7");
	ck_assert_uint_eq(find("op")->details_count, 1);
}
END_TEST

static void many_events(unsigned count)
{
	uint32_t one = builder_thread(builder, "one", 1), two = builder_thread(builder, "two", 2);
	epp_name name = builder_name(builder, "op");

	for (unsigned i = 0; i < count; i++)
		builder_event(builder, i & 1 ? one : two, BUILDER_START + i * 10, 9, EPP_NODE, name, NULL, 0);
}

START_TEST(what_goes_through_the_file_keeps_its_order)
{
	int64_t last_ps = -1;
	size_t lines = 0;

	many_events(40000);
	write_and_read(NULL);
	ck_assert_uint_eq(events_count, 40000);
	for (size_t i = 0; i < events_count; i++) {
		if (i && strcmp(events[i].line, events[i - 1].line) != 0) {
			last_ps = -1;
			lines++;
		}
		if (events[i].offset_ps <= last_ps)
			ck_abort_msg("event %zu is out of order", i);
		last_ps = events[i].offset_ps;
	}
	ck_assert_uint_eq(lines, 1);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct rlimit limit = { 100000, 100000 };

	many_events(40000);
	trace = builder_open(builder, EPF_FINISHED);
	setenv("TMPDIR", check_path("no such directory"), 1);
	check_fails(EPP_NOT_FOUND, epp_export_file(trace, "xspace", NULL, check_path("out.pb"), 0, NULL, NULL));
	setenv("TMPDIR", check_path("."), 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	check_fails(EPP_IO, epp_export_file(trace, "xspace", NULL, check_path("out.pb"), 0, NULL, NULL));
	ck_assert_int_ne(access(check_path("out.pb"), F_OK), 0);
}
END_TEST

START_TEST(times_beyond_picoseconds_are_told)
{
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, stream, BUILDER_START - 5, 3, EPP_KERNEL, builder_name(builder, "early"), 0, NULL, 0);
	write_and_read(NULL);
	ck_assert_int_eq(find("early")->offset_ps, 0);
	ck_assert_int_eq(find("early")->duration_ps, 3000);
	ck_assert_str_eq(text.receipts, "1 times moved: before the trace's time 0, or beyond 106 days\n");
}
END_TEST

START_TEST(unix_times_are_cut_at_their_base)
{
	epp_timeline_options window = { .struct_size = sizeof window, .from_ns = 1000, .to_ns = INT64_MAX };
	epp_export_options options = { .struct_size = sizeof options, .timeline = &window, .unix_times = 1 };
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, stream, BUILDER_START + 900, 50, EPP_KERNEL, builder_name(builder, "gone"), 0, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 960, 90, EPP_KERNEL, builder_name(builder, "cut"), 0, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 1070, 7, EPP_KERNEL, builder_name(builder, "in"), 0, NULL, 0);
	write_and_read(&options);
	ck_assert_uint_eq(events_count, 2);
	ck_assert_int_eq(find("cut")->offset_ps, 0);
	ck_assert_int_eq(find("cut")->duration_ps, 50000);
	ck_assert_int_eq(find("in")->offset_ps, 70000);
	ck_assert_int_eq(find("in")->duration_ps, 7000);
	ck_assert_str_eq(find("in")->line, "s"); /* nothing is correlated where it is wanted */
	for (size_t i = 0; i < events_count; i++)
		ck_assert_int_eq(events[i].line_unix_ns, epp_trace_get_info(trace)->epoch_unix_ns + 1000);
	ck_assert_str_eq(text.receipts, "1 times moved: before the trace's time 0, or beyond 106 days\n");
}
END_TEST

START_TEST(a_device_that_has_a_plane_s_name_keeps_it)
{
	uint32_t one = builder_device(builder, "s", "/device:CUSTOM:A:0", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint32_t other = builder_device(builder, "s", "/device:XPU:0", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, one, BUILDER_START, 3, EPP_KERNEL, builder_name(builder, "a"), 0, NULL, 0);
	builder_complete(builder, other, BUILDER_START, 3, EPP_KERNEL, builder_name(builder, "b"), 0, NULL, 0);
	write_and_read(NULL);
	ck_assert_str_eq(find("a")->plane, "/device:CUSTOM:A:0");
	ck_assert_str_eq(find("b")->plane, "/device:CUSTOM:/device:XPU:0"); /* which viewers would leave out */
}
END_TEST

/* What a plugin that is told of no host event says: a call and its kernel, by an id that another plugin has, too. */
static void a_call_and_its_kernel(int32_t producer, const char *call, const char *kernel)
{
	const struct epf_track calling = {
		.kind = EPF_TRACK_DEVICE, .device = -1, .stream = 77, .clock_kind = EPF_TRACK_CLOCK_HOST, .producer = producer
	};
	const struct epf_track computing = { .kind = EPF_TRACK_DEVICE,
		                             .clock_kind = EPF_TRACK_CLOCK_HOST,
		                             .producer = producer };
	uint32_t calls = builder_track(builder, &calling, "thread 77", "plugin");
	uint32_t stream = builder_track(builder, &computing, "stream 0", "plugin device 0");
	epp_arg arg = { .key = builder_name(builder, "correlation"), .type = EPP_ARG_U64, .value.u64 = 5 };

	builder_complete(builder, calls, BUILDER_START, 3, EPP_API, builder_name(builder, call), 0, &arg, 1);
	builder_complete(builder, stream, BUILDER_START + 5, 3, EPP_KERNEL, builder_name(builder, kernel), 0, &arg, 1);
}

START_TEST(a_plugin_s_calls_are_the_host_s_and_lead_to_its_kernels)
{
	builder_producer(builder, 0, "one");
	builder_producer(builder, 1, "other");
	a_call_and_its_kernel(0, "launch", "kernel");
	a_call_and_its_kernel(1, "other's launch", "other's kernel");
	write_and_read(NULL);
	ck_assert_str_eq(find("launch")->plane, "/host:CPU");
	ck_assert_str_eq(find("launch")->line, "thread 77 (uncorrelated)");
	ck_assert_str_eq(find("kernel")->plane, "/device:CUSTOM:plugin device 0");
	ck_assert_uint_eq(find("launch")->correlation, 5);
	ck_assert_uint_eq(find("kernel")->correlation, 5);
	ck_assert_uint_ne(find("other's kernel")->correlation, 5);
	ck_assert_uint_eq(find("other's kernel")->correlation, find("other's launch")->correlation);
}
END_TEST

/* ---- several files ---- */

#define PART_BYTES 400000u

static void keep_receipt(void *user, const char *line)
{
	snprintf(user, 512, "%s", line);
}

/* Events that a host and two devices have in turn, the second device only at the end. */
static void events_for_parts(unsigned count)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t devices[] = { builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST),
		               builder_device(builder, "s", "B", 1, 1, EPF_TRACK_CLOCK_HOST) };
	epp_name op = builder_name(builder, "op"), kernels[100];

	for (unsigned i = 0; i < 100; i++) {
		char name[32];
		snprintf(name, sizeof name, "kernel %u", i);
		kernels[i] = builder_name(builder, name);
	}
	for (unsigned i = 0; i < count; i++) {
		uint64_t id = builder_event(builder, thread, BUILDER_START + i * 100, 9, EPP_NODE, op, NULL, 0);
		builder_complete(builder, devices[i > count - 10], BUILDER_START + i * 100 + 10, 7, EPP_KERNEL,
		                 kernels[i % 100], id, NULL, 0);
	}
	builder_lost(builder, thread, EPP_LOSS_NO_BUFFER, 41, 0);
}

/* Reads the parts of NAME that there are, each alone; returns how many. */
static unsigned read_parts(const char *name, size_t counts[16])
{
	for (unsigned number = 1;; number++) {
		const char *path = number == 1 ? check_path("%s.xplane.pb", name)
		                               : check_path("%s_part%u.xplane.pb", name, number);
		size_t bytes, before = events_count;
		char *document = command_file(path, &bytes);
		if (bytes) {
			ck_assert_uint_lt(bytes, PART_BYTES + 20000); /* facts and ledger */
			ck_assert_ptr_nonnull(memmem(document, bytes, "\"no buffer\":41", 14));
			read_space(document, bytes);
			counts[number - 1] = events_count - before;
		}
		free(document);
		if (!bytes)
			return number - 1;
		ck_assert_uint_lt(number, 16);
	}
}

START_TEST(what_is_too_much_for_a_file_goes_on_in_another)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_planes = 1, .part_bytes = PART_BYTES };
	char receipt[512] = "", *path = check_path("run.xplane.pb");
	size_t counts[16] = { 0 };
	int64_t from_ps = -1;

	events_for_parts(10000);
	trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_export_file(trace, "xspace", &options, path, 0, keep_receipt, receipt));
	unsigned parts = read_parts("run", counts);
	ck_assert_uint_ge(parts, 3);
	ck_assert_int_eq(atoi(receipt), (int)parts);
	ck_assert_uint_eq(events_count, 20000);

	/* Each part has a stretch of time, all count from the same beginning, and planes keep their numbers. */
	size_t first = 0, on_b = 0;
	for (unsigned part = 0; part < parts; part++) {
		int64_t to_ps = from_ps;
		ck_assert_uint_gt(counts[part], 0);
		for (size_t i = first; i < first + counts[part]; i++) {
			MUST(events[i].offset_ps > from_ps);
			if (events[i].offset_ps > to_ps)
				to_ps = events[i].offset_ps;
			on_b += strcmp(events[i].plane, "/device:GPU:1") == 0;
		}
		first += counts[part];
		from_ps = to_ps;
	}
	ck_assert_uint_eq(on_b, 9);
	ck_assert_int_eq(from_ps, (int64_t)(9999 * 100 + 10) * 1000);

	/* What is asked for at large is one file again, and parts of before are not beside it. */
	options.part_bytes = 0;
	check_fails(EPP_UNAVAILABLE, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
	*receipt = '\0';
	check_ok(epp_export_file(trace, "xspace", &options, path, 1, keep_receipt, receipt));
	ck_assert_str_eq(receipt, "");
	ck_assert_int_ne(access(check_path("run_part2.xplane.pb"), F_OK), 0);
	ck_assert_int_ne(access(check_path("run_part3.xplane.pb"), F_OK), 0);
}
END_TEST

START_TEST(parts_need_names)
{
	epp_export_options options = { .struct_size = sizeof options, .part_bytes = PART_BYTES };
	struct sink_memory memory = { 0 };

	events_for_parts(10000);
	trace = builder_open(builder, EPF_FINISHED);
	check_fails(EPP_INVALID_ARGUMENT, epp_export(trace, "xspace", &options, sink_memory_write, &memory, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_file(trace, "xspace", &options, "/dev/null", 0, NULL, NULL));
	options.lossless = 1;
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_export_file(trace, "xspace", &options, check_path("lossless.xplane.pb"), 0, NULL, NULL));
	free(memory.bytes);
}
END_TEST

START_TEST(parts_appear_together_or_not_at_all)
{
	epp_export_options options = { .struct_size = sizeof options, .part_bytes = PART_BYTES };
	char *path = check_path("all.xplane.pb"), *third = check_path("all_part3.xplane.pb");
	struct rlimit whole, limit = { 0 };
	size_t counts[16];

	events_for_parts(10000);
	trace = builder_open(builder, EPF_FINISHED);
	/* One that is in the way. */
	FILE *file = fopen(third, "w");
	ck_assert(file && fputs("mine", file) > 0 && fclose(file) == 0);
	check_fails(EPP_UNAVAILABLE, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
	ck_assert_uint_eq(read_parts("all", counts), 0);
	ck_assert_int_eq(access(third, F_OK), 0);
	ck_assert_int_eq(unlink(third), 0);
	/* No room for the second one. */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
	limit = whole;
	limit.rlim_cur = PART_BYTES / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_fails(EPP_IO, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
	ck_assert_uint_eq(read_parts("all", counts), 0);
	check_ok(epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
	ck_assert_uint_ge(read_parts("all", counts), 3);
}
END_TEST

static Suite *xplane_suite(void)
{
	Suite *suite = suite_create("xplane");
	TCase *tests = tcase_create("xplane");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, every_event_is_on_its_line);
	tcase_add_test(tests, gpu_planes_have_kernels);
	tcase_add_test(tests, recorded_details_are_kept);
	tcase_add_test(tests, what_goes_through_the_file_keeps_its_order);
	tcase_add_test(tests, a_full_disk_is_an_error);
	tcase_add_test(tests, times_beyond_picoseconds_are_told);
	tcase_add_test(tests, unix_times_are_cut_at_their_base);
	tcase_add_test(tests, a_device_that_has_a_plane_s_name_keeps_it);
	tcase_add_test(tests, a_plugin_s_calls_are_the_host_s_and_lead_to_its_kernels);
	tcase_add_test(tests, what_is_too_much_for_a_file_goes_on_in_another);
	tcase_add_test(tests, parts_need_names);
	tcase_add_test(tests, parts_appear_together_or_not_at_all);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(xplane_suite)
