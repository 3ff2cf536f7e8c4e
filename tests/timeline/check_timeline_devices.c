/* Events of devices: where each kind of clock puts them, what they are joined to, their lanes.  Covers placement.c,
 * find_parent.c, resolve_parents.c, scan_pass.c and track_state.c of timeline/. */
#include "tests/support/random_values.h"
#include "tests/support/timeline_events.h"

#define AT(ns) (BUILDER_START + (uint64_t)(ns))
#define MS 1000000ll

/* A device whose counter starts anywhere and runs fast. */
#define DEVICE_START 77000000000ull
static uint64_t device_ticks(int64_t ns, int64_t ppm)
{
	return DEVICE_START + (uint64_t)(ns + ns * ppm / 1000000);
}

START_TEST(fitted)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10);
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");
	uint64_t nodes[500];

	for (int i = 0; i <= 10; i++)
		builder_device_pair(b, stream, device_ticks(i * 100 * MS, 200), AT(i * 100 * MS), 100);
	builder_host_pair(b, AT(1000 * MS), 20, 0);
	for (int i = 0; i < 500; i++) {
		nodes[i] = builder_begin(b, thread, AT(i * 2 * MS), EPP_NODE, name);
		int64_t start = i * 2 * MS + 1000, end = start + 500000;
		builder_complete(b, stream, device_ticks(start, 200), device_ticks(end, 200) - device_ticks(start, 200),
		                 EPP_KERNEL, name, nodes[i], NULL, 0);
		builder_end(b, thread, nodes[i], AT(i * 2 * MS + 600000), NULL, 0);
	}
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 1000);
	ck_assert_uint_eq(seen.counts.correlated, 500);
	ck_assert_uint_eq(seen.counts.outside_parent, 0);
	ck_assert_int_le(seen.counts.largest_error_ns, 200);
	for (int i = 0; i < 500; i++) {
		const epp_event *host = &seen.events[2 * i].event, *kernel = &seen.events[2 * i + 1].event;
		MUST(host->id == nodes[i] && host->flags == EPP_FLAG_REFERENCED && host->placement == EPP_PLACED_MEASURED);
		MUST(kernel->parent == nodes[i] && seen.events[2 * i + 1].parent_track == thread && kernel->flags == 0);
		MUST(kernel->parent_start_ns == host->start_ns &&
		     kernel->parent_end_ns == host->start_ns + host->duration_ns);
		MUST(kernel->placement == EPP_PLACED_FITTED && kernel->start_error_ns > 0 && kernel->args_count == 0);
		MUST(llabs(kernel->start_ns - (i * 2 * MS + 1000)) <= kernel->start_error_ns);
		MUST(llabs(kernel->start_ns + kernel->duration_ns - (i * 2 * MS + 501000)) <= kernel->end_error_ns);
		MUST(kernel->start_ticks == device_ticks(i * 2 * MS + 1000, 200));
	}
	seen_release(&seen);
}
END_TEST

START_TEST(one_pair)
{
	struct epp_builder *b = builder_create();
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");

	builder_device_pair(b, stream, device_ticks(0, 0), AT(0), 100);
	builder_complete(b, stream, device_ticks(-50, 0), 100, EPP_KERNEL, name, 0, NULL, 0);
	builder_complete(b, stream, device_ticks(1000 * MS, 200), 100, EPP_KERNEL, name, 0, NULL, 0);
	builder_host_pair(b, AT(2000 * MS), 20, 0);
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 2);
	const epp_event *event = &seen.events[0].event;
	ck_assert_int_eq(event->start_ns, -50);
	ck_assert_uint_eq(event->placement, EPP_PLACED_FORMULA);
	ck_assert_uint_eq(event->flags, EPP_FLAG_UNCORRELATED);
	ck_assert_uint_eq(event->lane, 0);
	event = &seen.events[1].event;
	/* 200 ppm of a second, inside the 500 ppm that are assumed. */
	ck_assert_int_eq(event->start_ns, 1000 * MS + 200000);
	ck_assert_int_ge(event->start_error_ns, 500000);
	ck_assert_int_lt(event->start_error_ns, 501000);
	ck_assert_uint_eq(seen.counts.uncorrelated, 2);
	seen_release(&seen);
}
END_TEST

START_TEST(durations_only)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10);
	uint32_t stream = builder_device(b, "stream", "npu", 0, 1, EPF_TRACK_CLOCK_DURATION);
	uint32_t lost = builder_device(b, "stream 2", "npu", 0, 2, EPF_TRACK_CLOCK_DEVICE); /* no pair ever came */
	epp_name name = builder_name(b, "n"), key = builder_name(b, "k");
	epp_arg arg = { .key = key, .type = EPP_ARG_I64, .value.i64 = 4 };
	uint64_t first = builder_event(b, thread, AT(1000), 1000, EPP_NODE, name, NULL, 0);
	uint64_t second = builder_event(b, thread, AT(3000), 1000, EPP_NODE, name, NULL, 0);
	uint64_t d = builder_complete(b, stream, 0, 300, EPP_KERNEL, name, second, &arg, 1);
	uint64_t a = builder_complete(b, stream, 9999, 100, EPP_KERNEL, name, first, NULL, 0);
	uint64_t c = builder_complete(b, stream, 5, 200, EPP_KERNEL, name, first, NULL, 0);
	/* It was submitted at some time, and how long before its start is not known. */
	epp_arg submitted = { .key = EPF_NAME_SUBMIT, .type = EPP_ARG_U64, .value.u64 = AT(3000) };
	uint64_t e = builder_complete(b, lost, 123456, 50, EPP_KERNEL, name, second, &submitted, 1);
	uint64_t nowhere = builder_complete(b, stream, 0, 70, EPP_KERNEL, name, 4711, NULL, 0);

	struct seen seen = see_all(b);
	const uint64_t ids[] = { nowhere, first, a, c, second, d, e };
	const int64_t starts[] = { 0, 1000, 1000, 1100, 3000, 3000, 3300 };
	ck_assert_uint_eq(seen.count, 7);
	for (unsigned i = 0; i < 7; i++) {
		const epp_event *event = &seen.events[i].event;
		ck_assert_uint_eq(event->id, ids[i]);
		ck_assert_int_eq(event->start_ns, starts[i]);
		if (event->category == EPP_KERNEL)
			ck_assert_uint_eq(event->placement, EPP_PLACED_DURATION);
		if (event->category == EPP_KERNEL)
			ck_assert_int_eq(event->launch_ns, INT64_MIN);
	}
	ck_assert_uint_eq(seen.events[0].event.flags, EPP_FLAG_UNCORRELATED);
	ck_assert_int_eq(seen.events[3].event.duration_ns, 200);
	ck_assert_int_eq(seen.events[3].event.start_error_ns, 700);
	ck_assert_str_eq(seen.events[5].args, "k=4");
	ck_assert_str_eq(seen.events[6].args, "launch_ns=unknown");
	ck_assert_uint_eq(seen.counts.correlated, 4);
	ck_assert_int_eq(seen.counts.largest_error_ns, 0);
	seen_release(&seen);
}
END_TEST

/* ONNX Runtime's microseconds: the formula's error is in [0, bracket], then 1 us at the start and 2 at the end, and 500
 * ppm of the time since the run's start, for nothing tells of the clock's drift. */
START_TEST(microseconds)
{
	struct epp_builder *b = builder_create();
	struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                        .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                        .device = 0,
		                        .producer = -1,
		                        .run = 1,
		                        .bracket_ticks = 800,
		                        .thread_id = 10 };
	uint32_t thread = builder_thread(b, "host", 10), other = builder_thread(b, "other", 11);
	uint32_t stream = builder_track(b, &definition, "stream", "gpu");
	epp_name name = builder_name(b, "n");
	builder_event(b, other, AT(0), 100 * MS, EPP_NODE, name, NULL, 0);
	uint64_t outer = builder_begin(b, thread, AT(1 * MS), EPP_NODE, name);
	uint64_t inner = builder_event(b, thread, AT(2 * MS), 2 * MS, EPP_NODE, name, NULL, 0);
	builder_end(b, thread, outer, AT(10 * MS), NULL, 0);
	uint64_t inside = builder_complete(b, stream, 2500, 300, EPP_KERNEL, name, 0, NULL, 0);
	uint64_t around = builder_complete(b, stream, 6000, 9000, EPP_KERNEL, name, 0, NULL, 0);
	uint64_t alone = builder_complete(b, stream, (uint64_t)-7, 3, EPP_KERNEL, name, 0, NULL, 0);

	struct seen seen = see_all(b);
	const epp_event *event = seen_find(&seen, inside);
	ck_assert_int_eq(event->start_ns, 2500000 + 400);
	ck_assert_int_eq(event->duration_ns, 300000);
	ck_assert_int_eq(event->start_error_ns, 401 + 1000 + 2500400 / 2000 + 1);
	ck_assert_int_eq(event->end_error_ns, 401 + 2000 + 2800400 / 2000 + 1);
	ck_assert_uint_eq(event->placement, EPP_PLACED_INFERRED);
	ck_assert_uint_eq(event->parent, inner);
	ck_assert_uint_eq(event->parent_track->track, thread);
	ck_assert_int_eq(event->parent_start_ns, 2 * MS);
	event = seen_find(&seen, around);
	ck_assert_uint_eq(event->parent, outer);
	ck_assert_uint_eq(event->flags, EPP_FLAG_OUTSIDE_PARENT);
	event = seen_find(&seen, alone);
	ck_assert_int_eq(event->start_ns, -7000 + 400);
	ck_assert_uint_eq(event->placement, EPP_PLACED_FORMULA);
	ck_assert_uint_eq(event->flags, EPP_FLAG_UNCORRELATED);
	ck_assert_uint_eq(seen.counts.inferred, 2);
	ck_assert_uint_eq(seen.counts.uncorrelated, 1);
	ck_assert_uint_eq(seen.counts.outside_parent, 1);
	seen_release(&seen);
}
END_TEST

/* Before its parent by less than the bound, by more; behind it, inside and behind the enclosing run. */
START_TEST(outside_the_parent)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10);
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");
	uint64_t ids[5];

	builder_device_pair(b, stream, 0, AT(0), 100);
	builder_device_pair(b, stream, (uint64_t)(100 * MS), AT(100 * MS), 100);
	builder_host_pair(b, AT(100 * MS), 20, 0);
	uint64_t run = builder_begin(b, thread, AT(1 * MS), EPP_SESSION, name);
	uint64_t node = builder_begin(b, thread, AT(10 * MS), EPP_NODE, name);
	builder_end(b, thread, node, AT(20 * MS), NULL, 0);
	builder_end(b, thread, run, AT(50 * MS), NULL, 0);
	ids[0] = builder_complete(b, stream, (uint64_t)(10 * MS) - 90, 1000, EPP_KERNEL, name, node, NULL, 0);
	ids[1] = builder_complete(b, stream, (uint64_t)(10 * MS) - 5000, 1000, EPP_KERNEL, name, node, NULL, 0);
	ids[2] = builder_complete(b, stream, (uint64_t)(19 * MS), 10 * MS, EPP_KERNEL, name, node, NULL, 0);
	ids[3] = builder_complete(b, stream, (uint64_t)(45 * MS), 10 * MS, EPP_KERNEL, name, node, NULL, 0);
	/* Before the enclosing run too, by so much that neither has been seen when it comes. */
	ids[4] = builder_complete(b, stream, (uint64_t)(MS / 2), 1000, EPP_KERNEL, name, node, NULL, 0);

	struct seen seen = see_all(b);
	const bool outside[] = { false, true, false, true, true };
	for (unsigned i = 0; i < 5; i++) {
		const epp_event *event = seen_find(&seen, ids[i]);
		ck_assert_uint_eq(event->parent, node);
		ck_assert_int_eq(event->parent_start_ns, 10 * MS);
		ck_assert_int_eq(event->parent_end_ns, 20 * MS);
		ck_assert_uint_eq(!!(event->flags & EPP_FLAG_OUTSIDE_PARENT), outside[i]);
	}
	ck_assert_uint_eq(seen.counts.outside_parent, 3);
	ck_assert_uint_eq(seen.counts.correlated, 5);
	seen_release(&seen);
}
END_TEST

/* The parent of work that may have been launched after it is inferred if the parent ended on another thread: profilers
 * are not called there, and take it for the innermost event of its own thread until an outer event ends. */
START_TEST(a_parent_that_ended_on_another_thread)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10), other = builder_thread(b, "other", 11);
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "n");
	const struct {
		bool ended_elsewhere;
		int64_t start;
		unsigned placement;
	} expected[] = { { true, 12 * MS, EPP_PLACED_FITTED },
		         { true, 20 * MS - 5000, EPP_PLACED_FITTED },
		         { true, 20 * MS - 20, EPP_PLACED_INFERRED },
		         { true, 25 * MS, EPP_PLACED_INFERRED },
		         { false, 25 * MS, EPP_PLACED_FITTED } };
	uint64_t ids[5];

	builder_device_pair(b, stream, 0, AT(0), 100);
	builder_device_pair(b, stream, (uint64_t)(100 * MS), AT(100 * MS), 100);
	builder_host_pair(b, AT(100 * MS), 20, 0);
	uint64_t ordinary = builder_event(b, thread, AT(5 * MS), 15 * MS, EPP_NODE, name, NULL, 0);
	uint64_t node = builder_begin(b, thread, AT(10 * MS), EPP_NODE, name);
	builder_orphan_end(b, other, node, AT(20 * MS), NULL, 0);
	for (unsigned i = 0; i < 5; i++)
		ids[i] = builder_complete(b, stream, (uint64_t)expected[i].start, 1000, EPP_KERNEL, name,
		                          expected[i].ended_elsewhere ? node : ordinary, NULL, 0);
	/* Also where the parent is outside of the range that is read. */
	epp_timeline_options options = { .struct_size = sizeof(options), .from_ns = 20500000, .to_ns = 99 * MS };
	struct seen seen = see(b, EPF_FINISHED, _i ? &options : NULL);
	builder_destroy(b);
	check_ok(seen.status);
	for (unsigned i = _i ? 3 : 0; i < 5; i++) {
		const epp_event *event = seen_find(&seen, ids[i]);
		ck_assert_uint_eq(event->parent, expected[i].ended_elsewhere ? node : ordinary);
		ck_assert_int_eq(event->parent_end_ns, 20 * MS);
		ck_assert_msg(event->placement == expected[i].placement, "%u: %u", i, event->placement);
	}
	ck_assert_uint_eq(seen.counts.inferred, _i ? 1 : 2);
	ck_assert_uint_eq(seen.counts.correlated, _i ? 1 : 3);
	seen_release(&seen);
}
END_TEST

START_TEST(clamped_on_request)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10);
	uint32_t stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(b, "n");
	uint64_t node = builder_event(b, thread, AT(1000), 1000, EPP_NODE, name, NULL, 0);
	uint64_t fits = builder_complete(b, stream, AT(1100), 100, EPP_KERNEL, name, node, NULL, 0);
	uint64_t early = builder_complete(b, stream, AT(500), 100, EPP_KERNEL, name, node, NULL, 0);
	uint64_t late = builder_complete(b, stream, AT(1950), 100, EPP_KERNEL, name, node, NULL, 0);
	uint64_t large = builder_complete(b, stream, AT(0), 5000, EPP_KERNEL, name, node, NULL, 0);
	uint64_t alone = builder_complete(b, stream, AT(3000), 100, EPP_KERNEL, name, 0, NULL, 0);

	epp_timeline_options options = { .struct_size = sizeof(options), .clamp_to_parent = 1 };
	struct seen seen = see(b, EPF_FINISHED, &options);
	builder_destroy(b);
	check_ok(seen.status);
	const struct {
		uint64_t id;
		int64_t start, duration;
		unsigned placement;
	} expected[] = { { fits, 1100, 100, EPP_PLACED_MEASURED },
		         { early, 1000, 100, EPP_PLACED_CLAMPED },
		         { late, 1900, 100, EPP_PLACED_CLAMPED },
		         { large, 1000, 1000, EPP_PLACED_CLAMPED },
		         { alone, 3000, 100, EPP_PLACED_MEASURED } };
	for (unsigned i = 0; i < 5; i++) {
		const epp_event *event = seen_find(&seen, expected[i].id);
		ck_assert_int_eq(event->start_ns, expected[i].start);
		ck_assert_int_eq(event->duration_ns, expected[i].duration);
		ck_assert_uint_eq(event->placement, expected[i].placement);
		ck_assert_uint_eq(event->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
	}
	ck_assert_uint_eq(seen.events[0].event.id, node);
	seen_release(&seen);
}
END_TEST

/* A counter of 32 bits at 1 GHz wraps every 4.3 s; its events come long after, without an order. */
START_TEST(a_counter_that_wraps)
{
	struct epp_builder *b = builder_create();
	struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                        .clock_kind = EPF_TRACK_CLOCK_DEVICE,
		                        .clock = 5,
		                        .clock_bits = 32,
		                        .ticks_per_second = 1000000000,
		                        .device = 0,
		                        .producer = -1 };
	uint32_t thread = builder_thread(b, "host", 10), stream = builder_track(b, &definition, "stream", "gpu");
	epp_name name = builder_name(b, "n");
	uint64_t nodes[40], kernels[40];

	for (int i = 0; i <= 200; i++)
		builder_device_pair(b, stream, (uint32_t)(4000000000u + i * 100 * MS), AT(i * 100 * MS), 100);
	builder_host_pair(b, AT(20000 * MS), 20, 0);
	for (int i = 0; i < 40; i++)
		nodes[i] = builder_event(b, thread, AT(i * 500 * MS), 100 * MS, EPP_NODE, name, NULL, 0);
	for (int i = 0; i < 40; i++) {
		int at = i * 7 % 40;
		kernels[at] = builder_complete(b, stream, (uint32_t)(4000000000u + at * 500 * MS + 10 * MS), MS,
		                               EPP_KERNEL, name, nodes[at], NULL, 0);
	}
	struct seen seen = see_all(b);
	for (int i = 0; i < 40; i++) {
		const epp_event *event = seen_find(&seen, kernels[i]);
		MUST(llabs(event->start_ns - (i * 500 * MS + 10 * MS)) <= event->start_error_ns &&
		     event->start_error_ns < 1000);
		MUST(llabs(event->duration_ns - MS) <= event->end_error_ns);
	}
	seen_release(&seen);
}
END_TEST

/* Moments that are known by nothing but their own numbers do not break the clocks. */
START_TEST(impossible_times)
{
	static const uint64_t ticks[] = { 0, 1, BUILDER_START, 1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	struct epp_builder *b = builder_create();
	struct epf_track offset = { .kind = EPF_TRACK_DEVICE,
		                    .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                    .device = 0,
		                    .producer = -1,
		                    .run = 77,
		                    .bracket_ticks = UINT64_MAX };
	uint32_t tracks[4] = { builder_device(b, "s", "g", 0, 1, EPF_TRACK_CLOCK_DEVICE),
		               builder_device(b, "s", "g", 0, 2, EPF_TRACK_CLOCK_HOST),
		               builder_device(b, "s", "g", 0, 3, EPF_TRACK_CLOCK_DURATION),
		               builder_track(b, &offset, "s", "g") };
	epp_name name = builder_name(b, "n");

	builder_device_pair(b, tracks[0], 5, AT(0), 100);
	builder_device_pair(b, tracks[0], 6, UINT64_MAX - 5, UINT64_MAX);
	for (unsigned track = 0; track < 4; track++)
		for (unsigned i = 0; i < 7; i++)
			for (unsigned j = 0; j < 7; j++)
				builder_complete(b, tracks[track], ticks[i], ticks[j], EPP_KERNEL, name, 0, NULL, 0);
	struct seen seen = see_all(b);
	ck_assert_uint_eq(seen.count, 4 * 49);
	for (size_t i = 0; i < seen.count; i++)
		MUST(seen.events[i].event.duration_ns >= 0 && seen.events[i].event.start_error_ns >= 0);
	seen_release(&seen);
}
END_TEST

/* ---- lanes, against a reference that looks at everything ---- */

#define KERNELS 1500

struct kernel {
	uint64_t id;
	int64_t start, end;
	uint32_t lane, depth;
};

static int by_start(const void *a, const void *b)
{
	const struct kernel *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->id < right->id ? -1 : 1;
}

/* Greedy: the first lane where what is open now encloses the event. */
static void refer(struct kernel *kernels, unsigned count)
{
	qsort(kernels, count, sizeof(*kernels), by_start);
	for (unsigned i = 0; i < count; i++) {
		struct kernel *kernel = &kernels[i];
		for (bool fits = false; !fits; kernel->lane += !fits) {
			fits = true;
			kernel->depth = 0;
			for (unsigned j = 0; j < i; j++) {
				if (kernels[j].lane != kernel->lane || kernels[j].end <= kernel->start)
					continue;
				kernel->depth++;
				fits &= kernels[j].end >= kernel->end;
			}
		}
	}
}

static void check_lanes(unsigned per_block, unsigned span, struct seen_bounds bounds, bool parents)
{
	static struct kernel kernels[2][KERNELS];
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "host", 10), streams[2];
	epp_name name = builder_name(b, "n"), key = builder_name(b, "i");
	uint64_t node = builder_event(b, thread, AT(0), 100000, EPP_NODE, name, NULL, 0);

	for (unsigned s = 0; s < 2; s++)
		streams[s] = builder_device(b, "stream", "gpu", 0, s, EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < KERNELS; i++) {
		for (unsigned s = 0; s < 2; s++) {
			struct kernel *kernel = &kernels[s][i];
			uint64_t from = span ? i / 4 : 0;
			*kernel = (struct kernel){ .start = (int64_t)(from + random_below(span ? span : KERNELS)) };
			kernel->end = kernel->start + random_below(12) * random_below(6);
			epp_arg arg = { .key = key, .type = EPP_ARG_I64, .value.i64 = kernel->start };
			kernel->id = builder_complete(b, streams[s], AT(kernel->start),
			                              (uint64_t)(kernel->end - kernel->start), EPP_KERNEL, name,
			                              parents ? node : 0, &arg, 1);
			if (i % per_block == 0)
				builder_flush(b, streams[s], BUILDER_TO_BLOCK);
		}
	}
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	builder_destroy(b);
	struct seen seen = see_image(image, bytes, NULL, bounds);
	check_ok(seen.status);
	ck_assert_uint_eq(seen.count, 2 * KERNELS + 1);
	for (unsigned s = 0; s < 2; s++) {
		unsigned next = 0;
		refer(kernels[s], KERNELS);
		for (size_t i = 0; i < seen.count; i++) {
			const epp_event *event = &seen.events[i].event;
			char args[32];
			if (seen.events[i].track != streams[s])
				continue;
			const struct kernel *kernel = &kernels[s][next++];
			uint32_t lane = event->lane;
			snprintf(args, sizeof(args), "i=%" PRId64, kernel->start);
			ck_assert_msg(event->id == kernel->id && event->start_ns == kernel->start &&
			                  lane == kernel->lane && event->duration_ns == kernel->end - kernel->start &&
			                  event->depth == kernel->depth && strcmp(seen.events[i].args, args) == 0,
			              "stream %u event %u: [%" PRId64 " +%" PRId64 "] lane %u depth %u; not [%" PRId64
			              " +%" PRId64 "] lane %u depth %u",
			              s, next - 1, event->start_ns, event->duration_ns, lane, event->depth,
			              kernel->start, kernel->end - kernel->start, kernel->lane, kernel->depth);
		}
		ck_assert_uint_eq(next, KERNELS);
	}
	if (bounds.active_bytes_most < 100000)
		ck_assert_uint_lt(seen.active_most, 40);
	ck_assert_int_eq(seen.spilled_bytes > 0, bounds.spill_bytes_most < 100000);
	seen_release(&seen);
}

START_TEST(lanes)
{
	const struct seen_bounds plenty = SEEN_BOUNDS;
	check_lanes(KERNELS, 3, plenty, true);
	check_lanes(7, 3, plenty, false);
	check_lanes(1, 50, plenty, true);
	check_lanes(100, 0, plenty, true);
}
END_TEST

/* Blocks in no order that would all be active at once. */
START_TEST(lanes_through_the_temporary_file)
{
	check_lanes(10, 0, (struct seen_bounds){ 10000, 20000 }, true);
	check_lanes(10, 0, (struct seen_bounds){ 0, 0 }, false);
	check_lanes(3, 20, (struct seen_bounds){ 5000, 1 << 20 }, true);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("timeline_devices");
	TCase *tc = tcase_create("timeline_devices");
	tcase_add_test(tc, fitted);
	tcase_add_test(tc, one_pair);
	tcase_add_test(tc, durations_only);
	tcase_add_test(tc, microseconds);
	tcase_add_test(tc, outside_the_parent);
	tcase_add_loop_test(tc, a_parent_that_ended_on_another_thread, 0, 2);
	tcase_add_test(tc, clamped_on_request);
	tcase_add_test(tc, a_counter_that_wraps);
	tcase_add_test(tc, impossible_times);
	tcase_add_test(tc, lanes);
	tcase_add_test(tc, lanes_through_the_temporary_file);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
