/* The epprof command as somebody meets it who types: files that cannot be read or written, exit statuses, and what goes
 * to which output.  Covers all of cli/ together with check_options, check_cli_summary and check_cli_tail. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/epprof.h"
#include "tests/support/command_expect.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static const char *const commands[] = { "info", "summary", "convert", "validate", "tail" };
#define COMMANDS_COUNT 5

static char sample[512], lossy[512], damaged[512];

static void write_bytes(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static void make_traces(void)
{
	struct epp_builder *b = export_sample();
	size_t bytes;

	snprintf(sample, sizeof sample, "%s", check_path("sample.epp"));
	builder_write(b, EPF_FINISHED, sample);

	snprintf(damaged, sizeof damaged, "%s", check_path("damaged.epp"));
	uint8_t *image = builder_image(b, EPF_FINISHED, &bytes);
	/* In the middle of the first block with records. */
	const struct epf_header *header = (const struct epf_header *)image;
	image[header->segments_offset + EPF_SEGMENT_HEADER_BYTES + 100] ^= 1;
	write_bytes(damaged, image, bytes);
	free(image);
	builder_destroy(b);

	b = export_sample();
	uint32_t thread = builder_thread(b, "unlucky", 77);
	builder_event(b, thread, BUILDER_START + 100, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);
	builder_lost(b, thread, EPP_LOSS_NO_BUFFER, 41, 0);
	snprintf(lossy, sizeof lossy, "%s", check_path("lossy.epp"));
	builder_write(b, EPF_FINISHED, lossy);
	builder_destroy(b);
}

/* ---- what cannot be read ---- */

/* Runs one subcommand on a trace; convert writes to standard output. */
static void cannot_read(const char *path, const char *error)
{
	for (unsigned i = 0; i < COMMANDS_COUNT; i++) {
		if (strcmp(commands[i], "convert") == 0)
			EXPECT(5, error, "convert", "-o", "-", path);
		else
			EXPECT(5, error, commands[i], path);
		EXPECT(5, path, commands[i], path, strcmp(commands[i], "convert") == 0 ? "-o-" : "--");
	}
}

START_TEST(what_cannot_be_read_is_told)
{
	char zeros[8192] = { 0 };
	size_t bytes;
	char *image = command_file(sample, &bytes);

	cannot_read(check_path("missing.epp"), "No such file or directory");
	EXPECT(5, "an empty path: No such file or directory", "info", "");
	cannot_read("/", "Is a directory");
	write_bytes(check_path("empty"), "", 0);
	cannot_read(check_path("empty"), "empty");
	write_bytes(check_path("text"), "This is no trace.\n", 18);
	cannot_read(check_path("text"), "text");
	write_bytes(check_path("zeros"), zeros, sizeof zeros);
	cannot_read(check_path("zeros"), "zeros");
	write_bytes(check_path("cut"), image, 100);
	cannot_read(check_path("cut"), "cut");
	image[8] ^= 0x40;
	write_bytes(check_path("version"), image, bytes);
	cannot_read(check_path("version"), "version");
	cannot_read("/dev/null", "/dev/null");
	free(image);
}
END_TEST

/* ---- what cannot be written ---- */

START_TEST(a_full_output_is_noticed)
{
	struct command run;

	for (unsigned i = 0; i < COMMANDS_COUNT; i++) {
		bool converts = strcmp(commands[i], "convert") == 0;
		run = command_run("/dev/full", commands[i], sample, converts ? "-o-" : "--", NULL);
		ck_assert_msg(run.code == 1, "%s: %d", commands[i], run.code);
		ck_assert_ptr_nonnull(strstr(run.err, "standard output"));
		ck_assert_ptr_nonnull(strstr(run.err, "No space left on device"));
		command_free(&run);
	}
	run = command_run("/dev/full", "help", NULL);
	ck_assert_int_eq(run.code, 1);
	command_free(&run);
}
END_TEST

START_TEST(a_closed_pipe_is_quiet)
{
	int ends[2];

	for (unsigned i = 0; i < COMMANDS_COUNT; i++) {
		bool converts = strcmp(commands[i], "convert") == 0;
		ck_assert_int_eq(pipe(ends), 0);
		close(ends[0]);
		char path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
		pid_t pid = fork();
		if (pid == 0) {
			signal(SIGPIPE, SIG_DFL);
			dup2(ends[1], STDOUT_FILENO);
			dup2(open(check_path("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
			execl(CHECK_BUILD "/epprof", "epprof", commands[i], sample, converts ? "-o-" : "--", NULL);
			_exit(127);
		}
		close(ends[1]);
		ck_assert_int_eq(command_wait(pid), -SIGPIPE);
		size_t bytes;
		char *err = command_file(check_path("err"), &bytes);
		ck_assert_str_eq(err, "");
		free(err);
	}
}
END_TEST

START_TEST(a_closed_output_is_noticed)
{
	for (unsigned i = 0; i < COMMANDS_COUNT; i++) {
		bool converts = strcmp(commands[i], "convert") == 0;
		pid_t pid = fork();
		if (pid == 0) {
			close(STDOUT_FILENO);
			dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
			close(STDOUT_FILENO);
			execl(CHECK_BUILD "/epprof", "epprof", commands[i], sample, converts ? "-o-" : "--", NULL);
			_exit(127);
		}
		ck_assert_int_eq(command_wait(pid), 1);
	}
}
END_TEST

START_TEST(files_are_not_overwritten_unasked)
{
	char path[512];
	size_t bytes;

	snprintf(path, sizeof path, "%s", check_path("out.json"));
	EXPECT(0, "wrote ", "convert", "-o", path, sample);
	char *first = command_file(path, &bytes);
	json_free(json_expect(first, bytes));
	EXPECT(1, "exists already; --force replaces it", "convert", "-t", "ort", "-o", path, sample);
	char *second = command_file(path, &bytes);
	ck_assert_str_eq(first, second);
	EXPECT(0, "wrote ", "convert", "--force", "-t", "ort", "-o", path, sample);
	char *third = command_file(path, &bytes);
	ck_assert_str_ne(first, third);
	json_free(json_expect(third, bytes));
	free(first);
	free(second);
	free(third);
	EXPECT(1, "No such file or directory", "convert", "-o", check_path("no/where.json"), sample);
	EXPECT(1, "Is a directory", "convert", "-o", "/tmp", sample);
	EXPECT(1, "No space left on device", "convert", "-o", "/dev/full", sample);
}
END_TEST

START_TEST(json_is_no_trace)
{
	char path[512];

	snprintf(path, sizeof path, "%s", check_path("profile.json"));
	FILE *file = fopen(path, "w");
	fputs(" \n[{\"name\": \"x\"}]", file);
	fclose(file);
	EXPECT(5, "it is JSON; 'epprof import -o FILE.epp ", "summary", path);
	file = fopen(path, "w");
	fputs("no json, no trace", file);
	fclose(file);
	struct command run = command_run(NULL, "summary", path, NULL);
	ck_assert_int_eq(run.code, 5);
	ck_assert_ptr_null(strstr(run.err, "import"));
	command_free(&run);
	unlink(path);
	/* A pipe is refused at once, not waited for. */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	EXPECT(5, "not a regular file", "info", path);
	unlink(path);
}
END_TEST

START_TEST(the_format_follows_the_name)
{
	char path[512];
	size_t bytes;

	snprintf(path, sizeof path, "%s", check_path("picture.svg"));
	EXPECT(0, "svg", "convert", "-o", path, sample);
	char *text = command_file(path, &bytes);
	ck_assert_int_eq(strncmp(text, "<svg ", 5), 0);
	free(text);
	struct command run = command_run(NULL, "convert", "-o", "-", sample, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.err, "");
	struct json *json = json_expect(run.out, run.out_bytes);
	ck_assert_ptr_nonnull(json_get(json, "traceEvents"));
	json_free(json);
	command_free(&run);
	/* What the format lacks is told, beside the result. */
	run = command_run(NULL, "convert", "-t", "ort", "-o", "-", sample, NULL);
	json_free(json_expect(run.out, run.out_bytes));
	ck_assert_ptr_nonnull(strstr(run.err, "1 arrow left out"));
	command_free(&run);
}
END_TEST

START_TEST(a_filter_without_a_match_is_told)
{
	struct command run = command_run(NULL, "convert", "-t", "chrome", "-o", "-", "--name", "no such*", sample, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.err, "epprof: no event matches the filters\n");
	command_free(&run);
	run = command_run(NULL, "convert", "-t", "chrome", "-o", "-", "--from", "100s", "--to", "200s", sample, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.err, "epprof: no event is in the time window\n"));
	command_free(&run);
	run = command_run(NULL, "convert", "-t", "chrome", "-o", "-", "--name", "gemm", sample, NULL);
	ck_assert_ptr_null(strstr(run.err, "no event"));
	command_free(&run);
}
END_TEST

START_TEST(a_window_is_converted)
{
	struct command run = command_run(NULL, "convert", "-o-", "--from", "60us", "--to=0.066ms", sample, NULL);
	struct json *json = json_expect(run.out, run.out_bytes);
	size_t slices = 0;

	for (size_t i = 0; i < json_get(json, "traceEvents")->count; i++)
		slices += strcmp(json_text(&json_get(json, "traceEvents")->items[i], "ph"), "X") == 0;
	ck_assert_uint_eq(slices, 4);
	json_free(json);
	command_free(&run);
}
END_TEST

START_TEST(an_interrupted_conversion_leaves_nothing)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "op");
	char trace[512], path[512], err[512];

	for (unsigned i = 0; i < 500000; i++)
		builder_event(b, thread, BUILDER_START + i * 100, 90, EPP_NODE, name, NULL, 0);
	snprintf(trace, sizeof trace, "%s", check_path("long.epp"));
	snprintf(path, sizeof path, "%s", check_path("long.json"));
	snprintf(err, sizeof err, "%s", check_path("long.err"));
	builder_write(b, EPF_FINISHED, trace);
	builder_destroy(b);

	pid_t pid = command_start("/dev/null", err, "convert", "-o", path, trace, NULL);
	usleep(20000);
	kill(pid, SIGINT);
	int code = command_wait(pid);
	if (code == 0)
		printf("SKIP: the conversion was faster than the signal\n");
	else
		ck_assert_int_eq(code, -SIGINT);
	ck_assert_int_eq(access(path, F_OK) == 0, code == 0);
}
END_TEST

/* ---- results ---- */

START_TEST(strict_tells_of_losses)
{
	EXPECT(0, "", "info", lossy);
	EXPECT(3, "41 events were lost", "info", "--strict", lossy);
	EXPECT(3, "41 events were lost", "summary", "--strict", lossy);
	EXPECT(0, "", "summary", "--strict", sample);
	EXPECT(0, "", "convert", "-o", "/dev/null", lossy);
	EXPECT(3, "41 events were lost", "convert", "--strict", "-o", "/dev/null", lossy);
	EXPECT(3, "1 arrow left out", "convert", "--strict", "-t", "ort", "-o", "/dev/null", sample);
	EXPECT(0, "", "convert", "--strict", "-o", "/dev/null", sample);
	EXPECT(0, "", "validate", lossy);
	EXPECT(3, "", "validate", "--strict", lossy);
	EXPECT(0, "", "validate", "--strict", sample);
}
END_TEST

START_TEST(validate_finds_damage)
{
	struct command run = command_run(NULL, "validate", sample, NULL);

	ck_assert_int_eq(run.code, 0);
	ck_assert_int_eq(strncmp(run.out, "valid: ", 7), 0);
	ck_assert_ptr_eq(strchr(run.out, '\n'), run.out + run.out_bytes - 1);
	command_free(&run);
	run = command_run(NULL, "validate", damaged, NULL);
	ck_assert_msg(run.code == 3, "%d: %s%s", run.code, run.out, run.err);
	ck_assert_ptr_nonnull(strstr(run.out, "error: at byte "));
	ck_assert_ptr_nonnull(strstr(run.out, "\ninvalid: "));
	ck_assert_str_eq(run.err, "");
	command_free(&run);
}
END_TEST

START_TEST(info_tells_what_a_trace_is)
{
	struct command run = command_run(NULL, "info", "--format", "json", lossy, NULL);
	struct json *json = json_expect(run.out, run.out_bytes);

	ck_assert_str_eq(json_text(json, "state"), "finished");
	ck_assert_str_eq(json_text(json, "program"), "test");
	ck_assert_str_eq(json_text(json, "epoch_unix_ns"), "1700000000000000000");
	ck_assert_uint_eq(json_get(json, "runs")->count, 1);
	ck_assert_uint_eq(json_get(json, "tracks")->count, 6);
	const struct json *ledger = json_get(json, "ledger");
	ck_assert_uint_eq(ledger->count, 5);
	ck_assert_int_eq(json_thousandths(json_get(&ledger->items[3], "lost"), "no buffer"), 41000);
	json_free(json);
	command_free(&run);
	run = command_run(NULL, "info", lossy, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "41 no buffer"));
	ck_assert_ptr_nonnull(strstr(run.out, "Accelerator 0"));
	ck_assert_ptr_null(strstr(run.out, " \n"));
	/* It was not measured. */
	ck_assert_ptr_null(strstr(run.out, "\ncost "));
	command_free(&run);
}
END_TEST

/* Writes the trace with a run in which recording an event took 25 ns, and frees the builder. */
static char *write_with_cost(struct epp_builder *b)
{
	const struct epf_run run = { .run = 2,
		                     .start = { .ticks = BUILDER_START + 1000, .monotonic_ns = 1000, .realtime_ns = 1000 },
		                     .end = { .ticks = BUILDER_START + 2000, .monotonic_ns = 2000, .realtime_ns = 2000 },
		                     .event_cost_ps = 25000,
		                     .write_cpu_ns = 4000000 };
	char *path = check_path("cost.epp");

	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_RUN, .payload_bytes = sizeof run }, &run);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

START_TEST(info_tells_what_recording_cost)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);

	for (uint64_t i = 0; i < 3; i++)
		builder_event(b, thread, BUILDER_START + 100 * i, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);
	char *path = write_with_cost(b);
	struct command command = command_run(NULL, "info", path, NULL);
	ck_assert_msg(strstr(command.out, "\ncost      about 75 ns for 3 events of threads, 25 ns each without args; "
	                                  "4.00 ms of CPU time to write\n") != NULL,
	              "%s", command.out);
	command_free(&command);
	command = command_run(NULL, "info", "--format", "json", path, NULL);
	ck_assert_ptr_nonnull(strstr(command.out, "\"event_cost_ps\": 25000, \"write_cpu_ns\": 4000000"));
	command_free(&command);
}
END_TEST

START_TEST(info_divides_the_cost_by_threads)
{
	static const unsigned counts[] = { 2, 9, 4, 1, 3 };
	struct epp_builder *b = builder_create();
	char name[32];

	for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		snprintf(name, sizeof name, "w%u\x1b[1m", i);
		uint32_t thread = builder_thread(b, name, i + 1);
		for (uint64_t n = 0; n < counts[i]; n++)
			builder_event(b, thread, BUILDER_START + 100 * n, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);
	}
	char *path = write_with_cost(b);
	struct command command = command_run(NULL, "info", path, NULL);
	char *line = strstr(command.out, "\n          thread w1");
	ck_assert_msg(line != NULL, "%s", command.out);
	*strchr(line + 1, '\n') = 0;
	ck_assert_ptr_null(strchr(line, '\x1b'));
	const char *second = strstr(line, " 225 ns, thread w2");
	ck_assert_msg(second && strstr(second, " 100 ns, thread w4") && strstr(second, " 75 ns, 2 more 75 ns"), "%s", line);
	command_free(&command);
}
END_TEST

/* Events that are left out have not taken what an event takes. */
START_TEST(info_counts_recorded_events_only)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);

	builder_event(b, thread, BUILDER_START, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);
	builder_lost(b, thread, EPP_LOSS_THROTTLED, 7, 7);
	builder_lost(b, thread, EPP_LOSS_FILTER, 5, 5);
	char *path = write_with_cost(b);
	struct command command = command_run(NULL, "info", path, NULL);
	ck_assert_msg(strstr(command.out, "\ncost      about 25 ns for 1 event of threads, 25 ns each without args; "
	                                  "4.00 ms of CPU time to write; a few ns for each of 12 events left out\n") != NULL,
	              "%s", command.out);
	command_free(&command);
}
END_TEST

START_TEST(the_help_of_info_explains_every_reason)
{
	struct command run = command_run(NULL, "info", "--help", NULL);
	const char *name;
	char row[64];

	for (unsigned reason = 0; (name = epp_loss_name(reason)) != NULL; reason++) {
		snprintf(row, sizeof row, "\n  %s  ", name);
		ck_assert_msg(strstr(run.out, row) != NULL, "'%s' is not in the help", name);
	}
	command_free(&run);
}
END_TEST

START_TEST(hostile_names_do_no_harm)
{
	static const char name[] = "\x1b[31mred\x07\r\n\"quoted\", \xff\xC2\x9B";
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, name, 1);
	char path[512];

	builder_event(b, thread, BUILDER_START, 50, EPP_NODE, builder_name(b, name), NULL, 0);
	snprintf(path, sizeof path, "%s", check_path("hostile.epp"));
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	static const char *const lines[][3] = { { "info" },
		                                { "summary" },
		                                { "summary", "--format", "csv" },
		                                { "tail" },
		                                { "info", "--format", "json" },
		                                { "summary", "--format", "json" } };
	for (unsigned i = 0; i < 6; i++) {
		struct command run = command_run(NULL, lines[i][0], path, lines[i][1], lines[i][2], NULL);
		ck_assert_int_eq(run.code, 0);
		ck_assert_ptr_null(strpbrk(run.out, "\x1b\x07\r"));
		ck_assert_ptr_null(strstr(run.out, "\xff"));
		ck_assert_ptr_nonnull(strstr(run.out, "red"));
		if (i >= 4)
			json_free(json_expect(run.out, run.out_bytes));
		else
			ck_assert_ptr_null(strstr(run.out, "\xC2\x9B"));
		if (i == 2)
			ck_assert_ptr_nonnull(strstr(run.out, "\"\"quoted\"\", "));
		command_free(&run);
	}
}
END_TEST

START_TEST(bridges_are_found)
{
	static const char *const names[] = { "ort", "tf", "pjrt" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char expected[512];
		snprintf(expected, sizeof expected, CHECK_BUILD "/libepprof_%s.so\n", names[i]);
		struct command run = command_run(NULL, "--bridge", names[i], NULL);
		ck_assert_int_eq(run.code, 0);
		ck_assert_str_eq(run.out, expected);
		command_free(&run);
	}
	EXPECT(2, "unknown bridge '../ort'", "--bridge", "../ort");
	EXPECT(2, "--bridge needs a name", "--bridge", "");
	EXPECT(2, "--bridge needs a name", "--bridge");
}
END_TEST

START_TEST(an_import_has_a_type_and_an_output)
{
	const char *out = check_path("imported.epp"), *profile = CHECK_SOURCE "/tests/golden/ort_profile_1.30.json";

	EXPECT(2, "--type 'xml': must be one of", "import", "--type", "xml", "-o", out, profile);
	EXPECT(2, "-o FILE.epp is missing", "import", "--type", "ort", profile);
	ck_assert_int_ne(access(out, F_OK), 0);
	EXPECT(0, "imported.epp", "import", "--type", "ort", "-o", out, profile);
	EXPECT(0, "", "validate", out);
}
END_TEST

static Suite *cli_suite(void)
{
	Suite *suite = suite_create("cli");
	TCase *files = tcase_create("files"), *results = tcase_create("results");

	tcase_add_unchecked_fixture(files, make_traces, NULL);
	tcase_add_test(files, what_cannot_be_read_is_told);
	tcase_add_test(files, a_full_output_is_noticed);
	tcase_add_test(files, a_closed_pipe_is_quiet);
	tcase_add_test(files, a_closed_output_is_noticed);
	tcase_add_test(files, files_are_not_overwritten_unasked);
	tcase_add_test(files, json_is_no_trace);
	tcase_add_test(files, the_format_follows_the_name);
	tcase_add_test(files, a_filter_without_a_match_is_told);
	tcase_add_test(files, a_window_is_converted);
	tcase_add_test(files, an_interrupted_conversion_leaves_nothing);
	suite_add_tcase(suite, files);

	tcase_add_unchecked_fixture(results, make_traces, NULL);
	tcase_add_test(results, strict_tells_of_losses);
	tcase_add_test(results, validate_finds_damage);
	tcase_add_test(results, info_tells_what_a_trace_is);
	tcase_add_test(results, info_tells_what_recording_cost);
	tcase_add_test(results, info_divides_the_cost_by_threads);
	tcase_add_test(results, info_counts_recorded_events_only);
	tcase_add_test(results, the_help_of_info_explains_every_reason);
	tcase_add_test(results, hostile_names_do_no_harm);
	tcase_add_test(results, bridges_are_found);
	tcase_add_test(results, an_import_has_a_type_and_an_output);
	suite_add_tcase(suite, results);
	return suite;
}
CHECK_MAIN(cli_suite)
