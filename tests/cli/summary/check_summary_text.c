/* epprof summary as text, as a histogram, as CSV, and on a terminal.  Covers the command's summary_text.c,
 * summary_histogram.c and terminal.c. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"

static struct epp_builder *builder;
static struct command run;
static char path[512];

static void setup(void)
{
	builder = builder_create();
	snprintf(path, sizeof path, "%s", check_path("trace.epp"));
}

static void teardown(void)
{
	command_free(&run);
	builder_destroy(builder);
	unlink(path);
}

static void build_three(void)
{
	uint32_t thread = builder_thread(builder, "main", 1);

	builder_event(builder, thread, BUILDER_START, 100, EPP_NODE, builder_name(builder, "a, \"b\""), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 100, 70, EPP_NODE, builder_name(builder, "many"), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 200, 70, EPP_NODE, builder_name(builder, "many"), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 300, 120, EPP_NODE, builder_name(builder, "long"), NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
}

START_TEST(csv_has_a_line_for_each)
{
	build_three();
	run = command_run(NULL, "summary", "--format", "csv", "--by", "op", path, NULL);
	ck_assert_str_eq(
	    run.out,
	    "kind,name,of,count,total_ns,self_ns,mean_ns,p50_ns,p99_ns,max_ns,busy_ns,launch_p50_ns,"
	    "warmup_count,warmup_ns,op_type,device_count,device_ns,idle_unlaunched_ns,idle_copy_ns,idle_late_ns,idle_unknown_ns,error_p50_ns,"
	    "error_p999_ns,error_max_ns,placed,work,bytes,bytes_count,bytes_ns,launch_p99_ns,launch_max_ns\n"
	    "op,\"many\",\"Node\",2,140,140,70,70,70,70,,,0,0,\"\",0,0,,,,,,,,,,,,,,\n"
	    "op,\"long\",\"Node\",1,120,120,120,120,120,120,,,0,0,\"\",0,0,,,,,,,,,,,,,,\n"
	    "op,\"a, \"\"b\"\"\",\"Node\",1,100,100,100,100,100,100,,,0,0,\"\",0,0,,,,,,,,,,,,,,\n");
}
END_TEST

START_TEST(lines_are_sorted_and_cut)
{
	static const char *const columns[] = { "total", "self", "count", "mean", "p50", "p99", "max", "name" };
	static const char *const firsts[] = { "many", "many", "many", "long", "long", "long", "long", "a, \"\"b" };

	build_three();
	for (unsigned i = 0; i < 8; i++) {
		command_free(&run);
		run = command_run(NULL, "summary", "--format=csv", "--by=op", "--top=1", "--sort", columns[i], path, NULL);
		char *second = strchr(run.out, '\n') + 1;
		ck_assert_msg(strncmp(second, "op,\"", 4) == 0 && strncmp(second + 4, firsts[i], strlen(firsts[i])) == 0,
		              "--sort %s: %s", columns[i], second);
		ck_assert_ptr_eq(strchr(second, '\n'), run.out + run.out_bytes - 1);
	}
	command_free(&run);
	run = command_run(NULL, "summary", "--top", "2", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "... and 1 more"));
}
END_TEST

static const char *line_before(const char *at)
{
	while (at > run.out && at[-1] != '\n')
		at--;
	return at;
}

/* Calls that launch, one that does not, a node that launches, an op that is no call. */
START_TEST(calls_have_what_they_launched)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name launch = builder_name(builder, "la\"unch"), gemm = builder_name(builder, "gemm");

	for (unsigned i = 0; i < 10; i++) {
		uint64_t at = BUILDER_START + i * 10000;
		uint64_t id = builder_event(builder, thread, at, 100, EPP_API, launch, NULL, 0);
		for (unsigned kernel = 0; kernel < 2; kernel++)
			builder_complete(builder, stream, at + (i == 9 ? 5000 : 1000) + kernel * 500, 300, EPP_KERNEL,
			                 gemm, id, NULL, 0);
	}
	uint64_t node = builder_event(builder, thread, BUILDER_START + 200000, 400, EPP_NODE,
	                              builder_name(builder, "node"), NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 200100, 7, EPP_KERNEL, builder_name(builder, "relu"), node,
	                 NULL, 0);
	builder_event(builder, thread, BUILDER_START + 300000, 50, EPP_API, builder_name(builder, "wait"), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 400000, 50, EPP_NODE, builder_name(builder, "other"), NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--by", "call", path, NULL);
	char *table = strstr(run.out, "By call");
	ck_assert_msg(table != NULL, "%s%s", run.out, run.err);
	ck_assert_str_eq(
	    table,
	    "By call, and the device events that it launched\n"
	    "  count    total    mean     p50     p99     max  launched  on devices  launch p50  launch p99  launch max  call\n"
	    "     10  1.00 us  100 ns  100 ns  100 ns  100 ns        20     6.00 us     1.50 us     5.47 us     5.50 us  la\"unch\n"
	    "      1   400 ns  400 ns  400 ns  400 ns  400 ns         1        7 ns      100 ns      100 ns      100 ns  node\n"
	    "      1    50 ns   50 ns   50 ns   50 ns   50 ns         0        0 ns           -           -           -  wait\n");
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "call", "--format", "csv", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "op,\"la\"\"unch\",\"Api\",10,1000,"));
	ck_assert_ptr_nonnull(strstr(run.out, ",20,6000,"));
	ck_assert_ptr_nonnull(strstr(run.out, ",5500\n"));
	ck_assert_ptr_null(strstr(run.out, "other"));
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "kernel", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "launch p50  launch p99  launch max  kernel\n"));
	ck_assert_ptr_null(strstr(run.out, "By call"));
	command_free(&run);
	run = command_run(NULL, "summary", "--top", "1", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "  ... and 2 more (--top 0 shows all)\n"));
}
END_TEST

/* The start of a kernel has an error, so a kernel may come before the call that launched it.
 * A kernel whose parent never comes is added to no call. */
START_TEST(kernels_before_their_call_are_launched_by_it)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name gemm = builder_name(builder, "gemm"), launch = builder_name(builder, "launch");

	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = BUILDER_START + i * 1000;
		uint64_t id = builder_event(builder, thread, at + 20, 10, EPP_API, launch, NULL, 0);
		builder_complete(builder, stream, at, 5, EPP_KERNEL, gemm, id, NULL, 0);
		builder_complete(builder, stream, at + 10, 5, EPP_KERNEL, gemm, id, NULL, 0);
		builder_complete(builder, stream, at + 25, 5, EPP_KERNEL, gemm, id, NULL, 0);
		builder_complete(builder, stream, at + 100, 5, EPP_KERNEL, gemm, UINT64_C(1) << 40 | i, NULL, 0);
	}
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--by", "call", "--format", "csv", path, NULL);
	ck_assert_msg(strstr(run.out, "op,\"launch\",\"Api\",100,1000,") != NULL, "%s%s", run.out, run.err);
	ck_assert_msg(strstr(run.out, ",300,1500,") != NULL, "%s", run.out);
}
END_TEST

START_TEST(columns_are_aligned)
{
	uint32_t thread = builder_thread(builder, "main", 1);

	builder_event(builder, thread, BUILDER_START, 5, EPP_NODE, builder_name(builder, "\xE4\xB8\xAD\xE6\x96\x87"),
	              NULL, 0);
	builder_event(builder, thread, BUILDER_START + 100, 123456789, EPP_SESSION, builder_name(builder, "plain"),
	              NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--by", "op", path, NULL);
	char *title = strstr(run.out, "  count"), *first = strstr(run.out, "  plain\n"),
	     *second = strstr(run.out, "  \xE4\xB8\xAD");
	ck_assert(title && first && second);
	/* Each table line has its name where the title has "op". */
	const char *line = line_before(first);
	size_t column = (size_t)(strstr(title, "  op\n") - title);
	ck_assert_uint_eq((size_t)(first - line), column);
	line = line_before(second);
	ck_assert_uint_eq((size_t)(second - line), column);
	ck_assert_ptr_null(strstr(run.out, "By thread"));
}
END_TEST

START_TEST(a_histogram_has_every_event)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name op = builder_name(builder, "op");
	uint64_t at = BUILDER_START;

	for (unsigned i = 0; i < 100; i++, at += 1000000)
		builder_event(builder, thread, at, i < 60 ? 1500 : i < 99 ? 15000 : 700000, EPP_NODE, op, NULL, 0);
	builder_event(builder, thread, at, 0, EPP_NODE, builder_name(builder, "moment"), NULL, 0);
	builder_event(builder, thread, at + 10, INT64_C(1) << 60, EPP_NODE, builder_name(builder, "age"), NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--histogram", "o*", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "op, op: 100, the middle half within 1.50 us\n"
	                                      "  1.00 us - 2.00 us         60  "));
	ck_assert_ptr_nonnull(strstr(run.out, "  2.00 us - 5.00 us          0  \n"));
	ck_assert_ptr_nonnull(strstr(run.out, "  10.0 us - 20.0 us         39  "));
	ck_assert_ptr_nonnull(strstr(run.out, "   500 us - 1.00 ms          1  \xE2\x96"));
	command_free(&run);
	run = command_run(NULL, "summary", "--histogram", "[am]*", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "     0 ns - 2 ns             1  \xE2\x96"));
	command_free(&run);
	run = command_run(NULL, "summary", "--histogram", "none", path, NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert_ptr_nonnull(strstr(run.err, "no op or kernel 'none'"));
	command_free(&run);
	run = command_run(NULL, "summary", "--histogram", "none", "--strict", path, NULL);
	ck_assert_int_eq(run.code, 1);
	command_free(&run);
}
END_TEST

/* Standard output as a terminal of so many columns; what came there.  False: a bare container may have no terminals. */
static bool show_on_terminal(unsigned short columns, char text[16384], const char *command, const char *by)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct winsize size = { .ws_row = 40, .ws_col = columns };
	size_t bytes = 0;

	if (terminal < 0 && access("/dev/pts/ptmx", F_OK) != 0)
		return false;
	ck_assert_int_ge(terminal, 0);
	ck_assert_int_eq(grantpt(terminal), 0);
	ck_assert_int_eq(unlockpt(terminal), 0);
	ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, &size), 0);
	int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	pid_t pid = command_start(ptsname(terminal), "/dev/null", command, path, by, NULL);
	ck_assert_int_eq(command_wait(pid), 0);
	ck_assert_int_eq(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
	for (ssize_t count; bytes < 16383 && (count = read(terminal, text + bytes, 16383 - bytes)) > 0;)
		bytes += (size_t)count;
	text[bytes] = '\0';
	close(other);
	close(terminal);
	return true;
}

static bool summarize_on_terminal(unsigned short columns, char text[16384])
{
	return show_on_terminal(columns, text, "summary", NULL);
}

START_TEST(a_terminal_has_a_width_and_bold_letters)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	static char text[16384], name[301];

	memset(name, 'n', 300);
	builder_event(builder, thread, BUILDER_START, 100, EPP_NODE, builder_name(builder, name), NULL, 0);
	for (unsigned i = 0; i < 300; i += 3)
		memcpy(name + i, "\xE4\xB8\xAD", 3);
	builder_event(builder, thread, BUILDER_START + 200, 100, EPP_NODE, builder_name(builder, name), NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	if (!summarize_on_terminal(100, text)) {
		printf("SKIP: how a summary looks on a terminal: /dev/pts is not mounted here\n");
		return;
	}
	for (const char *at = text; (at = strstr(at, "\r\n\r\n")) != NULL;) {
		at += 4;
		ck_assert_msg(*at == ' ' || strncmp(at, "\033[1m", 4) == 0, "a heading is plain: %.40s", at);
	}
	ck_assert_ptr_nonnull(strstr(text, "\033[1mBy op, on the host\033[0m"));
	ck_assert_ptr_nonnull(strstr(text, "nnn\xE2\x80\xA6\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "\xE4\xB8\xAD\xE2\x80\xA6\r\n"));
	ck_assert_ptr_null(strstr(text, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"));
	ck_assert_ptr_nonnull(strstr(text, "self"));
	setenv("NO_COLOR", "1", 1);
	/* Too narrow for all columns: some are left out, none is wrapped. */
	summarize_on_terminal(80, text);
	ck_assert_ptr_null(strstr(text, "self"));
	ck_assert_ptr_nonnull(strstr(text, "max  category  op\r\n"));
	for (const char *line = text, *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
		int columns = 0;
		for (const char *at = line; at < end; at++)
			columns += ((unsigned char)*at & 0xC0) == 0x80 ? 0 : (unsigned char)*at == 0xE4 ? 2 : 1;
		ck_assert_msg(columns <= 80 || line < strstr(text, "By op"), "%d columns: %.100s", columns, line);
	}
	summarize_on_terminal(1000, text);
	ck_assert_ptr_nonnull(strstr(text, "self"));
	ck_assert_ptr_null(strchr(text, '\033'));
	ck_assert_ptr_null(strstr(text, "\xE2\x80\xA6"));
	/* A pipe has neither. */
	unsetenv("NO_COLOR");
	run = command_run(NULL, "summary", path, NULL);
	ck_assert_ptr_null(strchr(run.out, '\033'));
	ck_assert_ptr_null(strstr(run.out, "\xE2\x80\xA6"));
}
END_TEST

/* Names of any bytes and of the greatest length are whole in JSON, CSV and on a pipe. */
START_TEST(names_are_whole)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	static char name[65537];

	memset(name, 'n', 65536);
	memcpy(name + 65533, "END", 3);
	builder_event(builder, thread, BUILDER_START, 100, EPP_NODE, builder_name(builder, name), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 200, 90, EPP_NODE, builder_name_bytes(builder, "zero\0byte", 9),
	              NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	static const char *const formats[] = { "text", "json", "csv" };
	static const char *const zeros[] = { "  zero\xEF\xBF\xBD\142yte\n", "\"zero\\u0000byte\"", "op,\"zero" };
	for (unsigned i = 0; i < 3; i++) {
		command_free(&run);
		run = command_run(NULL, "summary", "--by", "op", "--format", formats[i], path, NULL);
		ck_assert_ptr_nonnull(strstr(run.out, name));
		ck_assert_msg(strstr(run.out, zeros[i]) != NULL, "%s: no '%s'", formats[i], zeros[i]);
	}
	command_free(&run);
	run = command_run(NULL, "diff", path, path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, name));
	ck_assert_msg(strstr(run.out, zeros[0]) != NULL, "%s", run.out);
}
END_TEST

START_TEST(a_terminal_cuts_each_text_that_is_too_long)
{
	static char text[16384], name[60001];

	memset(name, 'n', 60000);
	uint32_t stream = builder_device(builder, name, name, 0, 1, EPF_TRACK_CLOCK_HOST);
	builder_complete(builder, stream, BUILDER_START, 100, EPP_KERNEL, builder_name(builder, name), 0, NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	setenv("TERM", "dumb", 1);
	if (!summarize_on_terminal(80, text)) {
		printf("SKIP: how a summary looks on a terminal: /dev/pts is not mounted here\n");
		return;
	}
	ck_assert_ptr_nonnull(strstr(text, "nnn\xE2\x80\xA6  nnn"));
	for (const char *line = text, *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2)
		ck_assert_msg(end - line <= 84 || line < strstr(text, "By "), "%.100s", line);
}
END_TEST

START_TEST(tables_of_processes_and_tracks_fit_a_terminal)
{
	static const struct {
		const char *command, *by, *heading;
		int columns;
	} tables[] = { { "summary", "--by=process", "By process", 80 }, { "info", NULL, "Tracks", 60 } };
	static char text[16384];
	uint32_t stream = builder_device(builder, "stream 1", "Accelerator device 0", 0, 1, EPF_TRACK_CLOCK_DEVICE);

	builder_device_pair(builder, stream, 0, BUILDER_START, 1000);
	builder_complete(builder, stream, BUILDER_START, 100, EPP_KERNEL, builder_name(builder, "k"), 0, NULL, 0);
	builder_write(builder, EPF_FINISHED, path);
	setenv("TERM", "dumb", 1);
	for (unsigned i = 0; i < 2; i++) {
		if (!show_on_terminal((unsigned short)tables[i].columns, text, tables[i].command, tables[i].by)) {
			printf("SKIP: how a table looks on a terminal: /dev/pts is not mounted here\n");
			return;
		}
		const char *line = strstr(text, tables[i].heading), *last = strstr(line, "Ledger");
		for (const char *end; (!last || line < last) && (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
			int columns = 0;
			for (const char *at = line; at < end; at++)
				columns += ((unsigned char)*at & 0xC0) != 0x80;
			ck_assert_msg(columns <= tables[i].columns, "%d columns: %.120s", columns, line);
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("summary_text");
	TCase *tc = tcase_create("summary_text");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, csv_has_a_line_for_each);
	tcase_add_test(tc, lines_are_sorted_and_cut);
	tcase_add_test(tc, calls_have_what_they_launched);
	tcase_add_test(tc, kernels_before_their_call_are_launched_by_it);
	tcase_add_test(tc, columns_are_aligned);
	tcase_add_test(tc, a_histogram_has_every_event);
	tcase_add_test(tc, a_terminal_has_a_width_and_bold_letters);
	tcase_add_test(tc, names_are_whole);
	tcase_add_test(tc, a_terminal_cuts_each_text_that_is_too_long);
	tcase_add_test(tc, tables_of_processes_and_tracks_fit_a_terminal);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
