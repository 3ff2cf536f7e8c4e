/* epprof summary by process, and of some processes alone: each line adds up its own process, whatever ids the others
 * have. */
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"

static const char *write_process(char file, const char *host, unsigned events)
{
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;

	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
	snprintf(source->hostname, sizeof source->hostname, "%s", host);
	snprintf(source->label, sizeof source->label, "rank, \"%c\"", file);
	uint32_t worker = builder_thread(b, "worker", 11);
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < events; i++) {
		uint64_t at = BUILDER_START + 1000 + i * 1000;
		uint64_t node = builder_event(b, worker, at, 500, EPP_NODE, builder_name(b, "node"), NULL, 0);
		builder_complete(b, stream, at + 100, 300, EPP_KERNEL, builder_name(b, "kernel"), node, NULL, 0);
	}
	builder_lost(b, worker, EPP_LOSS_TOO_DEEP, events / 10, 0);
	const char *path = check_path("%c.epp", file);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

static const char *merged(void)
{
	const char *a = write_process('a', "alpha", 20), *b = write_process('b', "beta", 70);

	epp_trace_close(merging(check_path("m.epp"), NULL, a, b));
	return check_path("m.epp");
}

START_TEST(a_line_for_each_process)
{
	const char *trace = merged();
	struct command run = command_run(NULL, "summary", "--by", "process", "--format", "csv", trace, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.out,
	                 "process,pid,host,program,label,first_ns,last_ns,host_events,host_busy_ns,device_events,"
	                 "device_busy_ns,lost\r\n"
	                 "0,2147483632,\"alpha\",\"test\",\"rank, \"\"a\"\"\",1000,20500,20,10000,20,6000,2\r\n"
	                 "1,2147483632,\"beta\",\"test\",\"rank, \"\"b\"\"\",1000,70500,70,35000,70,21000,7\r\n");
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "process", "--format", "json", "--process", "beta", trace, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert(strstr(run.out, "\"label\": \"rank, \\\"b\\\"\"") && !strstr(run.out, "alpha"));
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "process", "--strict", trace, NULL);
	ck_assert_int_eq(run.code, 3);
	ck_assert(strstr(run.out, "alpha") && strstr(run.out, "beta"));
	command_free(&run);
}
END_TEST

START_TEST(tables_of_some_processes)
{
	const char *trace = merged();
	struct command run = command_run(NULL, "summary", "--by", "op", "--format", "csv", "--process", "*b*", trace, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_msg(strstr(run.out, "op,\"node\",\"Node\",70,") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "op", "--format", "csv", trace, NULL);
	ck_assert_msg(strstr(run.out, "op,\"node\",\"Node\",90,") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "summary", "--process", "gamma", trace, NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert(strstr(run.err, "gamma"));
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "process", "--process", "gamma", trace, NULL);
	ck_assert_int_eq(run.code, 1);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("summary_process");
	TCase *tc = tcase_create("summary_process");

	tcase_add_test(tc, a_line_for_each_process);
	tcase_add_test(tc, tables_of_some_processes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
