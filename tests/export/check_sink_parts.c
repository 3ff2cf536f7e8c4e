/* An export in several files: XSpace beyond what its readers take.  Each part is whole by itself, all appear or none
 * does. */
#include "export/sink/sink.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"
#include "tests/support/xspace_text.h"

#define PART_BYTES 400000u

static struct epp_builder *builder;
static epp_trace *trace;
static struct xspace_text space;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	xspace_text_free(&space);
	epp_trace_close(trace);
	builder_destroy(builder);
}

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
		size_t bytes, before = space.count;
		char *document = command_file(path, &bytes);
		if (bytes) {
			ck_assert_uint_le(bytes, PART_BYTES);
			ck_assert_ptr_nonnull(memmem(document, bytes, "\"no buffer\":41", 14));
			xspace_text_read(&space, document, bytes);
			counts[number - 1] = space.count - before;
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
	char receipt[512] = "", told[128], *path = check_path("run.xplane.pb");
	size_t counts[16] = { 0 };
	int64_t from_ps = -1;

	events_for_parts(10000);
	trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_export_file(trace, "xspace", &options, path, 0, keep_receipt, receipt));
	unsigned parts = read_parts("run", counts);
	ck_assert_uint_ge(parts, 3);
	snprintf(told, sizeof told, "%u files written (NAME_part2 and so on)", parts);
	ck_assert_msg(strstr(receipt, told) == receipt, "%s", receipt);
	ck_assert_uint_eq(space.count, 20000);

	/* Each part has a stretch of time, all count from the same beginning, and planes keep their numbers. */
	size_t first = 0, on_b = 0;
	for (unsigned part = 0; part < parts; part++) {
		int64_t to_ps = from_ps;
		ck_assert_uint_gt(counts[part], 0);
		for (size_t i = first; i < first + counts[part]; i++) {
			MUST(space.events[i].offset_ps > from_ps);
			if (space.events[i].offset_ps > to_ps)
				to_ps = space.events[i].offset_ps;
			on_b += strcmp(space.events[i].plane, "/device:GPU:1") == 0;
		}
		first += counts[part];
		from_ps = to_ps;
	}
	ck_assert_uint_eq(on_b, 9);
	ck_assert_int_eq(from_ps, (int64_t)(9999 * 100 + 10) * 1000);

	/* What is asked for at large is one file again, and parts of before are not beside it. */
	options.part_bytes = 0;
	check_fails(EPP_EXISTS, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
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
	struct command run = command_run(NULL, "convert", "--part-bytes", "1000000", "-o", "x.json", "x.epp", NULL);
	ck_assert(run.code == 2 && strstr(run.err, "--part-bytes is for -t xspace"));
	command_free(&run);
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
	check_fails(EPP_EXISTS, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
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

static Suite *suite(void)
{
	Suite *s = suite_create("sink_parts");
	TCase *tc = tcase_create("sink_parts");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_too_much_for_a_file_goes_on_in_another);
	tcase_add_test(tc, parts_need_names);
	tcase_add_test(tc, parts_appear_together_or_not_at_all);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
