/* What cause and effect say of events of devices: bounds that they narrow, contradictions, and how validate tells of
 * them. Covers find_parent.c of timeline/, and cli/validate.c. */
#include "epprof/summary.h"
#include "tests/support/command.h"
#include "tests/support/timeline_events.h"

#define AT(ns) (BUILDER_START + (uint64_t)(ns))
#define MS 1000000ll

/* A device whose two pairs are only known to 2 ms, so that it is causes that tell more. */
#define HALF_WIDTH_NS (2 * MS)

struct scene {
	struct epp_builder *builder;
	uint32_t thread, stream;
	epp_name name;
	uint64_t launch;
};

static struct scene scene_begin(uint64_t half_width_ns)
{
	struct epp_builder *b = builder_create();
	struct scene scene = { .builder = b, .thread = builder_thread(b, "host", 10), .name = builder_name(b, "n") };
	scene.stream = builder_device(b, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	builder_device_pair(b, scene.stream, 0, AT(0), half_width_ns);
	builder_device_pair(b, scene.stream, (uint64_t)(1000 * MS), AT(1000 * MS), half_width_ns);
	builder_host_pair(b, AT(1000 * MS), 20, 0);
	scene.launch = builder_event(b, scene.thread, AT(100 * MS), MS / 2, EPP_NODE, scene.name, NULL, 0);
	return scene;
}

static uint64_t add_kernel(const struct scene *scene, int64_t start_ns, int64_t duration_ns)
{
	return builder_complete(scene->builder, scene->stream, (uint64_t)start_ns, (uint64_t)duration_ns, EPP_KERNEL,
	                        scene->name, scene->launch, NULL, 0);
}

/* A host event from 100.5 ms on that ends at `end_ns`, to which a flow leads. */
static uint64_t add_wait(const struct scene *scene, uint64_t from, int64_t end_ns, unsigned category)
{
	uint64_t wait = builder_begin(scene->builder, scene->thread, AT(101 * MS), category, scene->name);
	builder_flow(scene->builder, scene->thread, AT(101 * MS), from, wait);
	builder_end(scene->builder, scene->thread, wait, AT(end_ns), NULL, 0);
	return wait;
}

/* The bound of the clock alone, of the only kernel of a scene without a wait. */
static int64_t own_bound(void)
{
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t kernel = add_kernel(&scene, 150 * MS, MS);
	struct seen seen = see_all(scene.builder);
	int64_t bound = seen_find(&seen, kernel)->start_error_ns;
	ck_assert_int_gt(bound, HALF_WIDTH_NS);
	ck_assert_int_eq(seen_find(&seen, kernel)->end_error_ns, bound);
	seen_release(&seen);
	return bound;
}

START_TEST(both_ends_narrow_the_bound)
{
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t kernel = add_kernel(&scene, 100 * MS + 400000, 500000);
	add_wait(&scene, scene.launch, 102 * MS, EPP_API);
	struct seen seen = see_all(scene.builder);
	const epp_event *event = seen_find(&seen, kernel);
	/* It is in 100 to 102 ms; nothing is moved. */
	ck_assert_int_eq(event->start_ns, 100 * MS + 400000);
	ck_assert_int_eq(event->start_error_ns, 1600001);
	ck_assert_int_eq(event->end_error_ns, 1100001);
	ck_assert_uint_eq(event->placement, EPP_PLACED_FITTED);
	ck_assert_uint_eq(event->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
	ck_assert_int_eq(seen.counts.largest_error_ns, 1600001);
	seen_release(&seen);
}
END_TEST

/* The launch alone says nothing of how much later it was. */
START_TEST(one_end_does_not)
{
	int64_t bound = own_bound();
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t near = add_kernel(&scene, 100 * MS + 1000, 1000);
	struct seen seen = see_all(scene.builder);
	ck_assert_int_eq(seen_find(&seen, near)->start_error_ns, bound);
	seen_release(&seen);
}
END_TEST

/* By a flow from the kernel itself; the one that ended first counts. */
START_TEST(a_wait_for_the_kernel_itself)
{
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t kernel = add_kernel(&scene, 100 * MS + 400000, 500000),
		 other = add_kernel(&scene, 100 * MS + 900000, 1000);
	add_wait(&scene, scene.launch, 105 * MS, EPP_API);
	add_wait(&scene, kernel, 102 * MS, EPP_API);
	struct seen seen = see_all(scene.builder);
	ck_assert_int_eq(seen_find(&seen, kernel)->start_error_ns, 1600001);
	ck_assert_int_gt(seen_find(&seen, other)->start_error_ns, 1600001);
	seen_release(&seen);
}
END_TEST

/* Other flows say nothing of ends, nor does one to an event that was lost. */
START_TEST(not_every_flow_is_a_wait)
{
	int64_t bound = own_bound();
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t kernel = add_kernel(&scene, 100 * MS + 400000, 500000);
	add_wait(&scene, scene.launch, 102 * MS, EPP_NODE);
	builder_flow(scene.builder, scene.thread, AT(101 * MS), kernel, 4711);
	struct seen seen = see_all(scene.builder);
	ck_assert_int_eq(seen_find(&seen, kernel)->start_error_ns, bound);
	ck_assert_uint_eq(seen.counts.outside_parent, 0);
	seen_release(&seen);
}
END_TEST

/* Too early, too late, but possible by the bound: it stays, with the whole bound. */
START_TEST(an_impossible_place_within_the_bound)
{
	int64_t bound = own_bound();
	struct scene scene = scene_begin(HALF_WIDTH_NS);
	uint64_t early = add_kernel(&scene, 99 * MS, 500000), late = add_kernel(&scene, 101 * MS, 2 * MS);
	add_wait(&scene, scene.launch, 102 * MS, EPP_API);
	struct seen seen = see_all(scene.builder);
	ck_assert_int_eq(seen_find(&seen, early)->start_ns, 99 * MS);
	ck_assert_int_eq(seen_find(&seen, early)->start_error_ns, bound);
	ck_assert_int_eq(seen_find(&seen, late)->end_error_ns, bound);
	ck_assert_int_lt(seen_find(&seen, late)->start_error_ns, bound);
	ck_assert_uint_eq(seen.counts.outside_parent, 0);
	seen_release(&seen);
}
END_TEST

/* With a wait the outermost event does not matter, however early it ends; without one it does. */
START_TEST(after_what_waited)
{
	for (int waited = 0; waited < 2; waited++) {
		struct scene scene = scene_begin(100);
		uint64_t kernel = add_kernel(&scene, 101 * MS, 2 * MS), far = add_kernel(&scene, 101 * MS, 9 * MS);
		if (waited)
			add_wait(&scene, scene.launch, 104 * MS, EPP_API);
		struct seen seen = see_all(scene.builder);
		ck_assert_uint_eq(!!(seen_find(&seen, kernel)->flags & EPP_FLAG_OUTSIDE_PARENT), !waited);
		ck_assert_uint_eq(!!(seen_find(&seen, far)->flags & EPP_FLAG_OUTSIDE_PARENT), 1);
		ck_assert_uint_eq(!!(seen_find(&seen, far)->flags & EPP_FLAG_AFTER_WAIT), waited);
		seen_release(&seen);
	}
}
END_TEST

#define ROUNDS 10

/* Ten times 2 ms under one event: launch, a kernel of 0.5 ms from 0.2 ms on, a wait from 0.1 to 1 ms. */
static struct scene launch_and_wait_often(int64_t half_width_ns, int64_t clock_off_ns, uint64_t kernels[ROUNDS])
{
	struct scene scene = scene_begin((uint64_t)half_width_ns);
	scene.launch = builder_begin(scene.builder, scene.thread, AT(200 * MS), EPP_NODE, scene.name);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t at = 200 * MS + i * 2 * MS;
		kernels[i] = add_kernel(&scene, at + MS / 5 + clock_off_ns, MS / 2);
		uint64_t wait = builder_begin(scene.builder, scene.thread, AT(at + MS / 10), EPP_API, scene.name);
		builder_end(scene.builder, scene.thread, wait, AT(at + MS), NULL, 0);
		builder_flow(scene.builder, scene.thread, AT(at + MS), scene.launch, wait);
	}
	builder_end(scene.builder, scene.thread, scene.launch, AT(220 * MS), NULL, 0);
	return scene;
}

START_TEST(a_wait_covers_what_was_launched_before_it)
{
	uint64_t kernels[ROUNDS];
	struct scene scene = launch_and_wait_often(100, 0, kernels);
	/* After the last wait, which nothing waits for; and one that contradicts the third wait. */
	uint64_t left = add_kernel(&scene, 219 * MS + MS / 2, MS / 10), wrong = add_kernel(&scene, 204 * MS + MS / 5, MS);
	struct seen seen = see_all(scene.builder);
	for (int i = 0; i < ROUNDS; i++) {
		const epp_event *kernel = seen_find(&seen, kernels[i]);
		ck_assert_uint_eq(kernel->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
		ck_assert_int_eq(kernel->launch_ns, 200 * MS + (i ? i * 2 * MS - MS : 0));
	}
	ck_assert_uint_eq(seen_find(&seen, left)->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
	ck_assert_int_eq(seen_find(&seen, left)->launch_ns, 219 * MS);
	ck_assert_uint_ne(seen_find(&seen, wrong)->flags & EPP_FLAG_AFTER_WAIT, 0);
	ck_assert_uint_eq(seen.counts.outside_parent, 1);
	seen_release(&seen);
}
END_TEST

/* The clock is 1.5 ms behind, which its bound allows and which is more than a round's half: no wait is taken for
 * another. */
START_TEST(of_several_waits_none_is_guessed)
{
	uint64_t kernels[ROUNDS];
	struct scene scene = launch_and_wait_often(HALF_WIDTH_NS, -3 * MS / 2, kernels);
	struct seen seen = see_all(scene.builder);
	for (int i = 0; i < ROUNDS; i++) {
		const epp_event *kernel = seen_find(&seen, kernels[i]);
		ck_assert_int_ge(kernel->start_error_ns, 3 * MS / 2);
		ck_assert_int_ge(kernel->end_error_ns, 3 * MS / 2);
		ck_assert_uint_eq(kernel->flags & EPP_FLAG_OUTSIDE_PARENT, 0);
	}
	seen_release(&seen);
}
END_TEST

/* Until a wait ended the next kernel was not launched, so its stream was not late. */
START_TEST(the_summary_books_waits_as_unlaunched)
{
	uint64_t kernels[ROUNDS];
	struct scene scene = launch_and_wait_often(100, 0, kernels);
	const char *path = check_path("waits.epp");
	epp_trace *trace;
	epp_summary *summary;
	builder_write(scene.builder, EPF_FINISHED, path);
	builder_destroy(scene.builder);
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_summary_create(trace, NULL, &summary));
	const epp_summary_line *stream = epp_summary_line_at(summary, EPP_BY_STREAM, 0);
	/* 0.2 ms behind the first launch, then 1.2 ms behind the end of each wait. */
	ck_assert_int_eq((stream->idle_ns[EPP_IDLE_LATE] + 5000) / 10000, 20 + 9 * 120);
	ck_assert_int_eq((epp_histogram_quantile(stream->launches, 1) + 50000) / 100000, 12);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	unlink(path);
}
END_TEST

/* `words` are a finding's with a place in the file, or anything that is said. */
static void expect_validate(struct scene *scene, int code, const char *severity, const char *words)
{
	const char *path = check_path("causes.epp");
	builder_write(scene->builder, EPF_FINISHED, path);
	builder_destroy(scene->builder);
	struct command run = command_run(NULL, "validate", path, NULL);
	ck_assert_msg(run.code == code, "%s", run.out);
	const char *at = strstr(run.out, words);
	ck_assert_msg(at != NULL, "%s", run.out);
	if (severity) {
		char begin[64];
		unsigned long long offset = 0;
		int length = 0;
		snprintf(begin, sizeof begin, "%s: at byte %%llu: %%n", severity);
		const char *line = at;
		while (line > run.out && line[-1] != '\n')
			line--;
		ck_assert_msg(sscanf(line, begin, &offset, &length) == 1 && line + length == at && offset, "%s", run.out);
	}
	command_free(&run);
	unlink(path);
}

START_TEST(validate_tells)
{
	struct scene scene = scene_begin(100);
	add_kernel(&scene, 100 * MS + 1000, 1000);
	add_wait(&scene, scene.launch, 102 * MS, EPP_API);
	expect_validate(&scene, 0, NULL, "valid");

	scene = scene_begin(100);
	add_kernel(&scene, 99 * MS, 1000);
	uint64_t first = add_kernel(&scene, 98 * MS, 1000);
	add_wait(&scene, scene.launch, 102 * MS, EPP_API);
	char line[200];
	snprintf(line, sizeof line,
	         "2 device events placed by clock pairs begin before the events that launched them; the first: id %" PRIu64
	         " (n on stream) at 0.098000000 s: 2.00 ms before that began, bound ",
	         first);
	expect_validate(&scene, 3, "error", line);

	scene = scene_begin(100);
	add_kernel(&scene, 101 * MS, 3 * MS);
	add_wait(&scene, scene.launch, 102 * MS, EPP_API);
	expect_validate(&scene, 3, "warning", "1 device event ends after the event that waited for it");

	/* A long name is marked where it is cut. */
	scene = scene_begin(100);
	scene.name = builder_name(scene.builder, "a-name-of-sixty-one-characters-that-does-not-fit-a-finding-xy");
	add_kernel(&scene, 98 * MS, 1000);
	expect_validate(&scene, 3, NULL,
	                "(a-name-of-sixty-one-characters-that-does-not-fit-a-finding-\xE2\x80\xA6 on stream)");

	/* Work may be left running. */
	scene = scene_begin(100);
	add_kernel(&scene, 101 * MS, 3 * MS);
	expect_validate(&scene, 0, "note", "1 device event ends after every host event that encloses its launch");

	/* ONNX Runtime's microseconds are moved to where the cause allows them. */
	scene = scene_begin(100);
	struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                        .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                        .device = 0,
		                        .producer = -1,
		                        .run = 1,
		                        .bracket_ticks = 800 };
	scene.stream = builder_track(scene.builder, &definition, "formula", "gpu");
	add_kernel(&scene, 50000, 1000);
	expect_validate(&scene, 0, NULL, "note: 1 device clock without clock pairs jumped");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("timeline_causes");
	TCase *tc = tcase_create("timeline_causes");
	tcase_add_test(tc, both_ends_narrow_the_bound);
	tcase_add_test(tc, one_end_does_not);
	tcase_add_test(tc, a_wait_for_the_kernel_itself);
	tcase_add_test(tc, not_every_flow_is_a_wait);
	tcase_add_test(tc, an_impossible_place_within_the_bound);
	tcase_add_test(tc, after_what_waited);
	tcase_add_test(tc, a_wait_covers_what_was_launched_before_it);
	tcase_add_test(tc, of_several_waits_none_is_guessed);
	tcase_add_test(tc, the_summary_books_waits_as_unlaunched);
	tcase_add_test(tc, validate_tells);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
