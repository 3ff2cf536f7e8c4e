/* epprof diff: what changed is told, what may be noise is not, what is new or gone is named; a limit fails a run. */
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"

/* `count` events of about `ns`, spread by +-`spread` per mille. */
static void add(struct epp_builder *b, uint32_t thread, uint64_t *at, const char *name, unsigned count, uint64_t ns,
                uint64_t histogram)
{
	epp_name number = builder_name(b, name);
	uint64_t random = ns;

	for (unsigned i = 0; i < count; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint64_t off = histogram ? (random >> 33) % (2 * histogram * ns / 1000) : 0;
		uint64_t duration = ns + off - histogram * ns / 1000;
		builder_event(b, thread, *at, duration, EPP_NODE, number, NULL, 0);
		*at += duration + 10;
	}
}

static const char *write_trace(bool after)
{
	struct epp_builder *b = builder_create();
	uint32_t worker = builder_thread(b, "worker", 11);
	uint64_t at = BUILDER_START + 1000;

	add(b, worker, &at, "slower", 400, after ? 120000 : 100000, 50);
	add(b, worker, &at, "faster, \"much\"", 400, after ? 50000 : 100000, 50);
	add(b, worker, &at, "same", 400, after ? 100300 : 100000, 100);
	add(b, worker, &at, "rare", 3, after ? 150000 : 100000, 400);
	add(b, worker, &at, after ? "new" : "gone", 10, 1000, 0);
	const char *op = "Conv";
	const epp_arg arg = {
		.key = builder_name(b, "op_name"), .type = EPP_ARG_TEXT, .value.text = op, .text_bytes = strlen(op)
	};
	uint64_t node = 0;
	for (unsigned i = 0; i < 100; i++, at += 10000)
		node = builder_event(b, worker, at, after ? 2000 : 4000, EPP_NODE,
		                     builder_name(b, i % 2 ? "c1_kernel_time" : "c2"), &arg, 1);
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < 100; i++)
		builder_complete(b, stream, BUILDER_START + 2000 + i * 5000, after ? 4000 : 2000, EPP_KERNEL,
		                 builder_name(b, "kernel"), 0, NULL, 0);
	for (unsigned i = 0; i < 100; i++)
		builder_complete(b, stream, at + i * 5000, after ? 1000 : 2000, EPP_KERNEL, builder_name(b, "kernel"),
		                 node, NULL, 0);
	const char *path = check_path(after ? "after.epp" : "before.epp");
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

/* The last field of the line of a name. */
static void check_change(const char *csv, const char *name, const char *change)
{
	const char *line = strstr(csv, name);
	ck_assert_msg(line != NULL, "no %s in %s", name, csv);
	const char *end = strstr(line, "\r\n");
	ck_assert_msg(end && (size_t)(end - line) > strlen(change) &&
	                  !strncmp(end - strlen(change), change, strlen(change)),
	              "%s: %.*s", name, (int)(end - line), line);
}

START_TEST(what_changed)
{
	const char *before = write_trace(false), *after = write_trace(true);
	struct command run = command_run(NULL, "diff", "--format", "csv", before, after, NULL);

	ck_assert_int_eq(run.code, 0);
	check_change(run.out, "op,\"slower\"", ",slower");
	check_change(run.out, "op,\"faster, \"\"much\"\"\"", ",faster");
	check_change(run.out, "op,\"same\"", ",unknown");
	check_change(run.out, "op,\"rare\"", ",unknown");
	check_change(run.out, "op,\"new\"", ",new");
	check_change(run.out, "op,\"gone\"", ",gone");
	check_change(run.out, "kernel,\"kernel\",,\"\"", ",slower");
	check_change(run.out, "kernel,\"kernel\",,\"Conv\"", ",faster");
	check_change(run.out, "op_type,\"Conv\"", ",faster");
	/* p99 and the sum, before and after; of a new op only after. */
	check_change(run.out, "op,\"c1\",Node,\"Conv\"", ",4000,2000,200000,100000,faster");
	check_change(run.out, "op,\"new\"", ",0,1000,0,10000,new");
	check_change(run.out, "op,\"c1\",Node,\"Conv\"", ",faster");
	command_free(&run);
	run = command_run(NULL, "diff", before, after, NULL);
	ck_assert(run.code == 0 && strstr(run.out, "By kernel") && strstr(run.out, "+100.0 %"));
	ck_assert_ptr_nonnull(strstr(run.out, "p99  p99 after    total  total after  count"));
	ck_assert_ptr_nonnull(strstr(run.out, "4.00 us    2.00 us   200 us       100 us"));
	ck_assert_ptr_nonnull(strstr(run.out, "\n\n  within .. to: range of the change with 95 % confidence"));
	command_free(&run);
}
END_TEST

START_TEST(nothing_changed)
{
	const char *before = write_trace(false);
	struct command run = command_run(NULL, "diff", "--format", "csv", "--limit", "0", before, before, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert(!strstr(run.out, ",slower\r\n") && !strstr(run.out, ",faster\r\n"));
	command_free(&run);
}
END_TEST

START_TEST(a_limit_and_mistakes)
{
	const char *before = write_trace(false), *after = write_trace(true);
	struct command run = command_run(NULL, "diff", "--limit", "50", before, after, NULL);

	ck_assert_int_eq(run.code, 3); /* the kernel */
	command_free(&run);
	run = command_run(NULL, "diff", "--limit", "150", before, after, NULL);
	ck_assert_int_eq(run.code, 0);
	command_free(&run);
	run = command_run(NULL, "diff", before, NULL);
	ck_assert_int_eq(run.code, 2);
	command_free(&run);
	run = command_run(NULL, "diff", before, check_path("none.epp"), NULL);
	ck_assert_int_eq(run.code, 5);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("diff");
	TCase *tc = tcase_create("diff");

	tcase_add_test(tc, what_changed);
	tcase_add_test(tc, nothing_changed);
	tcase_add_test(tc, a_limit_and_mistakes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
