/* Perfetto's packets, read back one by one: slices that begin and end, names known before they are used, flows with
 * both ends.  tests/interop has Perfetto's own reader.  Covers perfetto.c, perfetto_args.c and perfetto_stages.c. */
#include "export/perfetto/perfetto.h"

#include "encoding/utf8.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"

#define MOST 4096

struct event {
	uint64_t time, track, flow, bind;
	unsigned type, category, phase;
	char name[128];
	char annotations[512]; /* "key=value;" */
	int64_t counter;
};

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct event events[MOST];
static size_t events_count, snapshots;
static char names[MOST][128], keys[MOST][128];
static uint64_t tracks[MOST];
static struct stage {
	uint64_t id, time, duration, context, submission, gpu, queue, iid, kernel;
	char args[512]; /* "key=value;" */
} stages[MOST];
static size_t stages_count, gpus_count;
static uint64_t submitted[MOST];
static size_t submitted_count;
static struct specification {
	char name[128];
	uint64_t category;
} specifications[MOST];
static char kernels[MOST][128], stage_keys[MOST][128];
static uint64_t context_pids[MOST];
static size_t tracks_count;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void copy(char to[128], const struct protobuf_field *field)
{
	ck_assert_uint_eq(utf8_valid_bytes((const char *)field->bytes, field->count), field->count);
	snprintf(to, 128, "%.*s", (int)field->count, (const char *)field->bytes);
}

#define EACH(reader, field) \
	for (struct protobuf_field field; protobuf_next(reader, &field) || (ck_assert(!(reader)->damaged), false);)

static void read_interned(struct protobuf_reader reader)
{
	EACH(&reader, field)
	{
		struct protobuf_reader entry = protobuf_reader_in(&field);
		uint64_t iid = 0;
		EACH(&entry, part)
		{
			if (part.number == INTERNED_IID)
				iid = part.value;
			ck_assert_uint_lt(iid, MOST);
			if (part.number == INTERNED_TEXT && field.number == INTERNED_EVENT_NAME)
				copy(names[iid], &part);
			if (part.number == INTERNED_TEXT && field.number == INTERNED_ANNOTATION_NAME)
				copy(keys[iid], &part);
			if (part.number == 2 && field.number == 24)
				copy(specifications[iid].name, &part);
			if (part.number == 4 && field.number == 24)
				specifications[iid].category = part.value;
			if (part.number == 2 && field.number == 1000)
				copy(kernels[iid], &part);
			if (part.number == 2 && field.number == 1001)
				copy(stage_keys[iid], &part);
			if (part.number == 2 && field.number == 23)
				context_pids[iid] = part.value;
		}
	}
}

static void read_annotation(struct event *event, struct protobuf_reader reader)
{
	size_t used = strlen(event->annotations), room = sizeof event->annotations - used;
	char *to = event->annotations + used, value[128];

	EACH(&reader, field)
	{
		if (field.number == ANNOTATION_NAME_IID) {
			ck_assert_msg(keys[field.value][0], "a key that is not known");
			snprintf(to, room, "%s=", keys[field.value]);
		} else if (field.number == ANNOTATION_NAME) {
			copy(value, &field);
			snprintf(to, room, "%s=", value);
		} else if (field.number == ANNOTATION_TEXT) {
			copy(value, &field);
			snprintf(to + strlen(to), room - strlen(to), "%s;", value);
		} else if (field.number == ANNOTATION_F64) {
			snprintf(to + strlen(to), room - strlen(to), "%g;", protobuf_as_f64(field.value));
		} else {
			snprintf(to + strlen(to), room - strlen(to), "%lld;", (long long)field.value);
		}
	}
}

static void read_stage_arg(struct stage *stage, struct protobuf_reader reader)
{
	size_t used = strlen(stage->args), room = sizeof stage->args - used;
	char *to = stage->args + used, value[128];

	EACH(&reader, field)
	{
		if (field.number == 1 || field.number == 2) {
			if (field.number == 2)
				copy(value, &field);
			ck_assert_msg(field.number == 2 || stage_keys[field.value][0], "a key that is not known");
			snprintf(to, room, "%s=", field.number == 1 ? stage_keys[field.value] : value);
			continue;
		}
		if (field.number == 6)
			copy(value, &field);
		else if (field.number == 5)
			snprintf(value, sizeof value, "%g", protobuf_as_f64(field.value));
		else
			snprintf(value, sizeof value, "%lld", (long long)field.value);
		snprintf(to + strlen(to), room - strlen(to), "%s;", value);
	}
}

/* Reads a GpuRenderStageEvent, which refers only to what was interned before. */
static void read_stage(uint64_t time, struct protobuf_reader reader)
{
	struct stage *stage = &stages[stages_count++];
	uint64_t *const places[] = {
		[1] = &stage->id,   [2] = &stage->duration, [5] = &stage->context, [10] = &stage->submission,
		[11] = &stage->gpu, [13] = &stage->queue,   [14] = &stage->iid,    [19] = &stage->kernel
	};

	ck_assert_uint_lt(stages_count, MOST);
	stage->time = time;
	EACH(&reader, field)
	{
		if (field.number < sizeof places / sizeof *places && places[field.number])
			*places[field.number] = field.value;
		struct protobuf_reader launch = protobuf_reader_in(&field);
		EACH(&launch, arg)
		{
			ck_assert_uint_eq(field.number, 21);
			ck_assert_uint_eq(arg.number, 3);
			read_stage_arg(stage, protobuf_reader_in(&arg));
		}
	}
	ck_assert(specifications[stage->queue].name[0] && specifications[stage->iid].name[0]);
	ck_assert_uint_ne(stage->context, 0);
	ck_assert(!stage->kernel || strcmp(kernels[stage->kernel], specifications[stage->iid].name) == 0);
	ck_assert_uint_eq(stage->kernel != 0, specifications[stage->iid].category == 2);
}

static void read_event(struct event *event, struct protobuf_reader reader)
{
	EACH(&reader, field)
	{
		struct protobuf_reader inner = protobuf_reader_in(&field);
		switch (field.number) {
		case EVENT_TYPE:
			event->type = (unsigned)field.value;
			break;
		case EVENT_TRACK:
			event->track = field.value;
			break;
		case EVENT_CATEGORY_IID:
			event->category = (unsigned)field.value;
			break;
		case EVENT_NAME_IID:
			snprintf(event->name, sizeof event->name, "%s", names[field.value]);
			break;
		case EVENT_NAME:
			copy(event->name, &field);
			break;
		case EVENT_FLOW:
			event->flow = field.value;
			break;
		case EVENT_COUNTER:
			event->counter = (int64_t)field.value;
			break;
		case EVENT_ANNOTATION:
			read_annotation(event, inner);
			break;
		case 3000:
			EACH(&inner, part)
			{
				ck_assert_uint_eq(part.number, 1);
				submitted[submitted_count++] = part.value;
			}
			break;
		case EVENT_LEGACY:
			EACH(&inner, part)
			{
				if (part.number == LEGACY_BIND_ID)
					event->bind = part.value;
				if (part.number == LEGACY_PHASE)
					event->phase = (unsigned)part.value;
			}
		}
	}
}

static void read_packet(struct protobuf_reader reader)
{
	struct event event = { 0 };

	EACH(&reader, field)
	{
		struct protobuf_reader inner = protobuf_reader_in(&field);
		if (field.number == PACKET_TIMESTAMP)
			event.time = field.value;
		if (field.number == PACKET_INTERNED_DATA)
			read_interned(inner);
		if (field.number == 53)
			read_stage(event.time, inner);
		if (field.number == 128) {
			EACH(&inner, gpu)
			gpus_count++;
		}
		if (field.number == PACKET_CLOCK_SNAPSHOT)
			snapshots++;
		if (field.number == PACKET_TRACK_DESCRIPTOR) {
			struct protobuf_field uuid;
			ck_assert(protobuf_next(&inner, &uuid) && uuid.number == 1);
			tracks[tracks_count++] = uuid.value;
		}
		if (field.number != PACKET_TRACK_EVENT)
			continue;
		read_event(&event, inner);
		bool known = false;
		for (size_t i = 0; i < tracks_count; i++)
			known = known || tracks[i] == event.track;
		ck_assert_msg(known, "'%s' is on a track that was not described", event.name);
		ck_assert_uint_lt(events_count, MOST);
		events[events_count++] = event;
	}
}

static void write_and_read_with(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "perfetto", options);
	struct protobuf_reader reader = protobuf_reader_of(text.bytes, text.count);
	EACH(&reader, field)
	{
		ck_assert(protobuf_is(&field, TRACE_PACKET, PROTOBUF_BYTES));
		read_packet(protobuf_reader_in(&field));
	}
}

static void write_and_read(void)
{
	write_and_read_with(NULL);
}

static void write_and_read_stages(void)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_stages = 1 };

	write_and_read_with(&options);
}

static const struct stage *find_stage(const char *name)
{
	for (size_t i = 0; i < stages_count; i++) {
		if (strcmp(specifications[stages[i].iid].name, name) == 0)
			return &stages[i];
	}
	ck_abort_msg("no stage '%s'", name);
	return NULL;
}

static bool is_submitted(const struct stage *stage)
{
	for (size_t i = 0; i < submitted_count; i++) {
		if (submitted[i] == stage->id)
			return true;
	}
	return false;
}

static const struct event *find(const char *name, unsigned type)
{
	for (size_t i = 0; i < events_count; i++) {
		if (strcmp(events[i].name, name) == 0 && events[i].type == type)
			return &events[i];
	}
	ck_abort_msg("no event '%s' of type %u", name, type);
	return NULL;
}

START_TEST(every_slice_begins_and_ends)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_read();
	size_t begun = 0, drawn = 0;
	for (size_t i = 0; i < events_count; i++) {
		drawn += events[i].phase != 0;
		if (events[i].type != TYPE_BEGIN)
			continue;
		begun++;
		ck_assert_uint_eq(events[i + 1].type, TYPE_END);
		ck_assert_uint_eq(events[i + 1].track, events[i].track);
		ck_assert_uint_ge(events[i + 1].time, events[i].time);
	}
	ck_assert_uint_eq(begun, 25);
	ck_assert_uint_eq(drawn, 2);
	const struct event *gemm = find("gemm", TYPE_BEGIN), *fc1 = find("fc1", TYPE_BEGIN);
	ck_assert_uint_eq(gemm->time - fc1->time, 5300);
	ck_assert_uint_eq(gemm[1].time - gemm->time, 9000);
	ck_assert_uint_ne(fc1->flow, 0);
	ck_assert_uint_eq(gemm->bind, fc1->flow);
	ck_assert_uint_eq(fc1->category, EPP_NODE + 1);
	ck_assert_ptr_nonnull(strstr(gemm->annotations, "rows=4;"));
	ck_assert_ptr_nonnull(strstr(gemm->annotations, "placement=measured;start_error_ns=0;"));
	ck_assert_str_eq(find("stuck", TYPE_BEGIN)->annotations, "unended=1;");
	ck_assert_int_eq(find("cache miss", TYPE_INSTANT)->type, TYPE_INSTANT);
	ck_assert_uint_eq(find("prefetch", TYPE_BEGIN)->bind, 0);
	ck_assert_uint_ge(snapshots, 1);
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

START_TEST(times_are_those_of_the_monotonic_clock)
{
	uint32_t thread = builder_thread(builder, "main", 1);

	builder_event(builder, thread, BUILDER_START + 700, 5, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	write_and_read();
	/* The builder's clock is CLOCK_MONOTONIC itself. */
	ck_assert_uint_eq(find("op", TYPE_BEGIN)->time, BUILDER_START + 700);
	ck_assert_uint_eq(find("op", TYPE_BEGIN)[1].time, BUILDER_START + 705);
}
END_TEST

/* Of a damaged file. */
START_TEST(clock_samples_may_be_anywhere)
{
	const uint64_t ticks[] = { 0, BUILDER_START + ((uint64_t)1 << 63), UINT64_MAX - BUILDER_START };

	for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
		struct epf_host_pair pair = { ticks[i], 1, INT64_MAX, BUILDER_REALTIME_NS };
		struct epf_block block = { .type = EPF_BLOCK_HOST_PAIRS, .payload_bytes = sizeof pair };
		builder_block(builder, &block, &pair);
	}
	uint32_t thread = builder_thread(builder, "main", 1);
	builder_event(builder, thread, BUILDER_START + 700, 5, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	write_and_read();
	ck_assert_uint_gt(snapshots, 0);
	ck_assert_ptr_nonnull(find("op", TYPE_BEGIN));
}
END_TEST

START_TEST(what_lies_outside_the_clock_is_counted)
{
	struct perfetto perfetto = { .zero_ns = 100 };

	ck_assert_uint_eq(perfetto_time(&perfetto, -100), 0);
	ck_assert_uint_eq(perfetto_time(&perfetto, INT64_MAX - 100), INT64_MAX);
	ck_assert_uint_eq(perfetto.outside_clock, 0);
	ck_assert_uint_eq(perfetto_time(&perfetto, -101), 0);
	ck_assert_uint_eq(perfetto_time(&perfetto, INT64_MIN), 0);
	ck_assert_uint_eq(perfetto_time(&perfetto, INT64_MAX), INT64_MAX);
	ck_assert_uint_eq(perfetto.outside_clock, 3);
}
END_TEST

START_TEST(counters_are_numbers)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name name = builder_name(builder, "level");

	builder_counter(builder, thread, BUILDER_START, name, -7);
	builder_counter(builder, thread, BUILDER_START + 1, name, INT64_MAX);
	write_and_read();
	ck_assert_int_eq(events[0].counter, -7);
	ck_assert_int_eq(events[1].counter, INT64_MAX);
	ck_assert_uint_eq(events[0].track, events[1].track);
}
END_TEST

/* All threads of a process record into one counter; a device's counter of the same name is another one. */
START_TEST(counters_belong_to_the_process)
{
	uint32_t threads[] = { builder_thread(builder, "one", 1), builder_thread(builder, "two", 2) };
	uint32_t stream = builder_device(builder, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name depth = builder_name(builder, "queue depth"), other = builder_name(builder, "other");
	epp_arg value = { .key = depth, .type = EPP_ARG_I64, .value.i64 = 7 };
	struct epf_record of_stream = { .start_ticks = BUILDER_START + 7,
		                        .name = depth,
		                        .bits = EPF_BITS(0, EPF_COUNTER, 0, 0) };

	for (unsigned i = 0; i < 6; i++)
		builder_counter(builder, threads[i % 2], BUILDER_START + i, depth, i);
	builder_counter(builder, threads[1], BUILDER_START + 6, other, 6);
	builder_record(builder, stream, &of_stream, &value, 1);
	write_and_read();
	for (unsigned i = 0; i < 8; i++)
		ck_assert_int_eq(events[i].counter, i);
	for (unsigned i = 1; i < 6; i++)
		ck_assert_uint_eq(events[i].track, events[0].track);
	ck_assert_uint_ne(events[6].track, events[0].track);
	ck_assert_uint_ne(events[7].track, events[0].track);
}
END_TEST

START_TEST(many_keys_are_never_mixed_up)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name op = builder_name(builder, "op");
	char key[16], expected[64];

	/* More than the table of keys holds, and each twice. */
	for (unsigned i = 0; i < 1500; i++) {
		snprintf(key, sizeof key, "key%u", i % 1400);
		epp_arg arg = { .key = builder_name(builder, key), .type = EPP_ARG_I64, .value.i64 = i };
		builder_event(builder, thread, BUILDER_START + i * 10, 5, EPP_NODE, op, &arg, 1);
	}
	write_and_read();
	unsigned i = 0;
	for (size_t at = 0; at < events_count; at++) {
		if (events[at].type != TYPE_BEGIN)
			continue;
		snprintf(expected, sizeof expected, "key%u=%u;", i % 1400, i);
		ck_assert_str_eq(events[at].annotations, expected);
		i++;
	}
	ck_assert_uint_eq(i, 1500);
}
END_TEST

/* Of two plugins that count from 1; a number may come again, and a call of the driver lies in that of the runtime. */
START_TEST(flows_lead_from_calls_to_what_they_launched)
{
	epp_arg number = { .key = builder_name(builder, "correlation_id"), .type = EPP_ARG_I64, .value.i64 = 1 };
	const char *of[] = { "c0", "d0", "k0", "c1", "d1", "k1", "c2", "d2", "k2" };
	uint32_t calls[2], streams[2];

	for (int32_t i = 0; i < 2; i++) {
		struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = -1, .stream = 12, .producer = i };
		builder_producer(builder, (uint32_t)i, i ? "two" : "one");
		calls[i] = builder_track(builder, &definition, "thread", "");
		definition.device = 0;
		streams[i] = builder_track(builder, &definition, "stream", "device");
	}
	for (unsigned i = 0; i < 3; i++) {
		uint64_t start = BUILDER_START + i * 20;
		builder_complete(builder, calls[i % 2], start, 10, EPP_API, builder_name(builder, of[i * 3]), 0,
		                 &number, 1);
		builder_complete(builder, calls[i % 2], start + 2, 5, EPP_API, builder_name(builder, of[i * 3 + 1]), 0,
		                 &number, 1);
		builder_complete(builder, streams[i % 2], start + 5, 5, EPP_KERNEL,
		                 builder_name(builder, of[i * 3 + 2]), 0, &number, 1);
	}
	write_and_read();
	for (unsigned i = 0; i < 3; i++) {
		uint64_t flow = find(of[i * 3], TYPE_BEGIN)->flow;
		ck_assert_uint_ne(flow, 0);
		ck_assert_uint_eq(find(of[i * 3 + 1], TYPE_BEGIN)->flow, 0);
		ck_assert_uint_eq(find(of[i * 3 + 2], TYPE_BEGIN)->bind, flow);
		ck_assert_uint_ne(flow, find(of[(i + 1) % 3 * 3], TYPE_BEGIN)->flow);
	}
}
END_TEST

START_TEST(device_events_are_stages_on_request)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_read();
	size_t in_tracks = 0;
	for (size_t i = 0; i < events_count; i++)
		in_tracks += events[i].type == TYPE_BEGIN;
	ck_assert_uint_eq(stages_count + submitted_count + gpus_count, 0);
	export_text_free(&text);
	epp_trace_close(trace);
	events_count = 0;
	write_and_read_stages();
	/* Each event once: a device's as a stage, others on tracks. */
	for (size_t i = 0; i < events_count; i++)
		in_tracks -= events[i].type == TYPE_BEGIN;
	ck_assert_uint_gt(stages_count, 0);
	ck_assert_uint_eq(in_tracks, stages_count);
	ck_assert_uint_ge(gpus_count, 1);
	const struct event *fc1 = find("fc1", TYPE_BEGIN);
	const struct stage *gemm = find_stage("gemm");
	ck_assert_uint_eq(gemm->time - fc1->time, 5300);
	ck_assert_uint_eq(gemm->duration, 9000);
	ck_assert_ptr_nonnull(strstr(gemm->args, "rows=4;"));
	ck_assert_ptr_nonnull(strstr(gemm->args, "placement=measured;start_error_ns=0;"));
	ck_assert_ptr_nonnull(strstr(gemm->args, "stream="));
	ck_assert(is_submitted(gemm));
	ck_assert(!is_submitted(find_stage("prefetch")));
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

/* Two plugins have the same numbers of devices, streams and calls.  Names with quotes and bytes that are no UTF-8, an
 * asynchronous event, and one name for a kernel and a copy. */
START_TEST(stages_are_joined_to_their_calls)
{
	epp_name number = builder_name(builder, "correlation_id"), kind = builder_name(builder, "kind");
	epp_arg small = { .key = number, .type = EPP_ARG_I64, .value.i64 = 7 },
		large = { .key = number, .type = EPP_ARG_U64, .value.u64 = UINT64_C(1) << 40 };
	epp_arg copy_args[] = { small,
		                { .key = kind, .type = EPP_ARG_TEXT, .value.text = "memcpy_htod", .text_bytes = 11 } };
	epp_name name = builder_name(builder, "a \"quoted\" \xff");
	uint32_t calls[2], streams[2];

	for (int32_t i = 0; i < 2; i++) {
		struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = -1, .stream = 12, .producer = i };
		builder_producer(builder, (uint32_t)i, i ? "two" : "one");
		calls[i] = builder_track(builder, &definition, "thread", "");
		definition.device = 0;
		streams[i] = builder_track(builder, &definition, "stream", "device");
		builder_complete(builder, calls[i], BUILDER_START, 10, EPP_API, builder_name(builder, "call"), 0,
		                 &small, 1);
	}
	builder_complete(builder, calls[1], BUILDER_START + 20, 5, EPP_API, builder_name(builder, "call"), 0, &large, 1);
	builder_complete(builder, streams[0], BUILDER_START + 30, 5, EPP_KERNEL, name, 0, &small, 1);
	builder_complete(builder, streams[1], BUILDER_START + 40, 5, EPP_KERNEL, name, 0, copy_args, 2);
	builder_complete(builder, streams[1], BUILDER_START + 50, 5, EPP_KERNEL, name, 0, &large, 1);
	write_and_read_stages();
	ck_assert_uint_eq(stages_count, 3);
	ck_assert_uint_eq(gpus_count, 2);
	ck_assert_str_eq(specifications[stages[0].iid].name, "a \"quoted\" \xEF\xBF\xBD");
	ck_assert_uint_eq(stages[0].iid, stages[2].iid);
	ck_assert_uint_ne(stages[0].iid, stages[1].iid);
	ck_assert_uint_eq(stages[1].kernel, 0);
	ck_assert_uint_eq(stages[0].submission, 7);
	ck_assert_uint_eq(stages[2].submission, 0);
	ck_assert_ptr_nonnull(strstr(stages[2].args, "correlation_id=1099511627776;"));
	ck_assert_uint_ne(stages[0].id, stages[1].id);
	ck_assert_uint_ne(stages[0].gpu, stages[1].gpu);
	ck_assert_uint_ne(stages[0].queue, stages[1].queue);
	ck_assert_uint_ne(stages[0].context, stages[1].context);
	ck_assert_uint_eq(context_pids[stages[0].context], context_pids[stages[1].context]);
	for (unsigned i = 0; i < 3; i++)
		ck_assert(is_submitted(&stages[i]));
}
END_TEST

/* Perfetto refuses arrows of a program on tracks that are no threads, so they are counted. */
START_TEST(arrows_between_devices_are_counted)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name op = builder_name(builder, "op");
	uint64_t node = builder_event(builder, thread, BUILDER_START, 10, EPP_NODE, op, NULL, 0);
	uint64_t next = builder_event(builder, thread, BUILDER_START + 20, 10, EPP_NODE, op, NULL, 0);
	uint64_t copy = builder_complete(builder, stream, BUILDER_START + 40, 10, EPP_KERNEL, op, node, NULL, 0);
	uint64_t kernel = builder_complete(builder, stream, BUILDER_START + 60, 10, EPP_KERNEL, op, node, NULL, 0);

	builder_flow(builder, thread, BUILDER_START + 80, node, next);
	builder_flow(builder, thread, BUILDER_START + 81, copy, kernel);
	builder_flow(builder, thread, BUILDER_START + 82, node, copy);
	write_and_read();
	ck_assert_ptr_nonnull(strstr(text.receipts, "2 arrows left out: the format has them only between"));
	unsigned ends = 0;
	for (size_t i = 0; i < events_count; i++)
		ends += events[i].phase == 's' || events[i].phase == 'f';
	ck_assert_uint_eq(ends, 2);
}
END_TEST

START_TEST(the_ledger_stands_on_a_track_of_its_own)
{
	uint32_t thread = builder_thread(builder, "main", 12);

	builder_lost(builder, thread, EPP_LOSS_TOO_DEEP, 3, 0);
	write_and_read();
	const struct event *account = find("thread main (12)", TYPE_INSTANT);
	ck_assert_uint_eq(account->track, PERFETTO_UUID_FACTS);
	ck_assert_str_eq(account->annotations, "emitted=3;written=0;open=0;too deep=3;errors=0;balanced=1;source=0;");
	ck_assert_ptr_nonnull(strstr(find("trace", TYPE_INSTANT)->annotations, "epoch_unix_ns=1700000000000000000;"));
}
END_TEST

static Suite *perfetto_suite(void)
{
	Suite *suite = suite_create("perfetto");
	TCase *tests = tcase_create("perfetto");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, every_slice_begins_and_ends);
	tcase_add_test(tests, times_are_those_of_the_monotonic_clock);
	tcase_add_test(tests, clock_samples_may_be_anywhere);
	tcase_add_test(tests, what_lies_outside_the_clock_is_counted);
	tcase_add_test(tests, counters_are_numbers);
	tcase_add_test(tests, counters_belong_to_the_process);
	tcase_add_test(tests, many_keys_are_never_mixed_up);
	tcase_add_test(tests, flows_lead_from_calls_to_what_they_launched);
	tcase_add_test(tests, arrows_between_devices_are_counted);
	tcase_add_test(tests, device_events_are_stages_on_request);
	tcase_add_test(tests, stages_are_joined_to_their_calls);
	tcase_add_test(tests, the_ledger_stands_on_a_track_of_its_own);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(perfetto_suite)
