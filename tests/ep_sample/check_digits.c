/* The digits program, end to end: what it left in the trace is counted, held to its error bounds and to the ledger; and
 * what it says of bad input.  Covers ep_sample/digits*.c. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "storage/window/window.h"
#include "tests/ep_sample/trace_content.h"
#include "tests/support/live_trace.h"

/* ---- running the program ---- */

static char output[8192]; /* of the last run: what it wrote, both streams */

/* Runs a shell command line; returns its exit status, or 128 + the signal that ended it. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	FILE *pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
	int status = pclose(pipe);
	/* A sanitizer's exit status is 1 too. */
	ck_assert_msg(!strstr(output, "Sanitizer") && !strstr(output, "runtime error:"), "%s", output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define DIGITS "exec 2>&1; exec '" CHECK_BUILD "/digits' "
/* The same in another folder. */
#define COPY "exec 2>&1; LD_LIBRARY_PATH='" CHECK_BUILD "' exec %s/digits "

#define expect(status, text, ...) \
	do { \
		int status_ = run(__VA_ARGS__); \
		ck_assert_msg(status_ == (status) && strstr(output, text), "exit %d, wrote: %s", status_, output); \
	} while (0)

/* ---- what it recorded ---- */

static struct content content_of_file(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	struct content content = content_of(trace);
	epp_trace_close(trace);
	return content;
}

/* Each device event has a node for its parent and lies within it, or within the run around it. */
static void check_device_events(const struct content *content, bool within_run)
{
	for (size_t i = 0; i < content->slices_count; i++) {
		const struct slice *slice = &content->slices[i];
		if (!slice->on_device)
			continue;
		const struct slice *outer = slice_find(content, slice->parent);
		ck_assert_ptr_nonnull(outer);
		ck_assert(!outer->on_device);
		const struct slice *model_run = slice_find(content, outer->parent);
		ck_assert_ptr_nonnull(model_run);
		ck_assert_str_eq(model_run->name, "model_run");
		if (within_run)
			outer = model_run;
		ck_assert_msg(lies_within(slice, outer), "%s %ld +-%ld to %ld +-%ld is not within %s %ld to %ld",
		              slice->name, (long)slice->start_ns, (long)slice->start_error_ns, (long)slice->end_ns,
		              (long)slice->end_error_ns, outer->name, (long)outer->start_ns, (long)outer->end_ns);
		ck_assert(!(slice->flags & EPP_FLAG_OUTSIDE_PARENT));
	}
}

/* What `passes_count` passes leave: two workers with two batches each, six nodes a batch, each of which may wait. */
static void check_counts(const struct content *content, size_t passes_count, bool waits)
{
	size_t runs_count = passes_count * 4, waits_count = waits ? runs_count * 6 : 0;
	ck_assert_uint_eq(count_named(content, "classify"), 1);
	ck_assert_uint_eq(count_named(content, "worker"), 2);
	ck_assert_uint_eq(count_named(content, "model_run"), runs_count);
	ck_assert_uint_eq(count_named(content, "MatMul"), runs_count * 2);
	ck_assert_uint_eq(count_named(content, "Add"), runs_count * 2);
	ck_assert_uint_eq(count_named(content, "Relu"), runs_count);
	ck_assert_uint_eq(count_named(content, "Softmax"), runs_count);
	ck_assert_uint_eq(count_named(content, "gemm"), runs_count * 2);
	ck_assert_uint_eq(count_named(content, "bias"), runs_count * 2);
	ck_assert_uint_eq(count_named(content, "relu"), runs_count);
	ck_assert_uint_eq(count_named(content, "softmax"), runs_count);
	ck_assert_uint_eq(count_named(content, "copy_in"), runs_count * 10);
	ck_assert_uint_eq(count_named(content, "copy_out"), runs_count * 6);
	ck_assert_uint_eq(content->device_count, runs_count * 22);
	ck_assert_uint_eq(count_named(content, "wait"), waits_count);
	ck_assert_uint_eq(content->slices_count, runs_count * 29 + 3 + waits_count);
	ck_assert_uint_eq(content->flows_count, 2 + waits_count);
	ck_assert_uint_eq(content->counters_count, passes_count * 2);
	ck_assert_uint_eq(content->lost, 0);
	ck_assert_uint_eq(content->state, EPP_TRACE_FINISHED);
}

START_TEST(digits_are_recognised_and_recorded)
{
	const char *path = check_path("digits.epp");
	expect(0, "62 of 64 right", DIGITS "-o %s -n 20", path);
	ck_assert_ptr_nonnull(strstr(output, path));
	struct content content = content_of_file(path);
	check_counts(&content, 20, true);
	check_device_events(&content, false);
	free(content.slices);
}
END_TEST

START_TEST(work_left_running_ends_within_the_run)
{
	const char *path = check_path("running.epp");
	expect(0, "62 of 64 right", "export SAMPLE_EP_LEAVE_RUNNING=1; " DIGITS "-o %s -n 20", path);
	struct content content = content_of_file(path);
	check_counts(&content, 20, false);
	check_device_events(&content, true);
	size_t left_running_count = 0;
	for (size_t i = 0; i < content.slices_count; i++) {
		const struct slice *slice = &content.slices[i];
		left_running_count += slice->on_device && !lies_within(slice, slice_find(&content, slice->parent));
	}
	ck_assert_uint_gt(left_running_count, 0);
	free(content.slices);
}
END_TEST

START_TEST(without_a_common_clock_durations_stay)
{
	const char *path = check_path("durations.epp");
	expect(0, "62 of 64 right", "export SAMPLE_EP_DURATIONS_ONLY=1; " DIGITS "-o %s -n 3", path);
	struct content content = content_of_file(path);
	check_counts(&content, 3, true);
	for (size_t i = 0; i < content.slices_count; i++)
		if (content.slices[i].on_device)
			ck_assert_uint_eq(content.slices[i].placement, EPP_PLACED_DURATION);
	free(content.slices);
}
END_TEST

START_TEST(a_clock_of_another_rate_that_wraps)
{
	const char *path = check_path("wraps.epp");
	/* 32 bits of 19.2 MHz, about to wrap. */
	expect(0, "62 of 64 right",
	       "export ACCELERATOR_TICKS_PER_SECOND=19200000 ACCELERATOR_CLOCK_BITS=32 "
	       "ACCELERATOR_START_TICKS=0xffffff00 ACCELERATOR_FAST_PPM=-400; " DIGITS "-o %s -n 20",
	       path);
	struct content content = content_of_file(path);
	check_counts(&content, 20, true);
	check_device_events(&content, false);
	free(content.slices);
}
END_TEST

START_TEST(interrupted_the_session_still_ends_well)
{
	const char *path = check_path("interrupted.epp");
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		execl(CHECK_BUILD "/digits", "digits", "-o", path, "-n", "1000000", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_gt(pid, 0);
	for (int tries = 0; tries < 1000 && !live_trace_has(path, "model_run"); tries++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);

	struct content content = content_of_file(path);
	ck_assert_uint_eq(content.state, EPP_TRACE_FINISHED);
	ck_assert_uint_eq(count_named(&content, "classify"), 1);
	ck_assert_uint_gt(count_named(&content, "model_run"), 0);
	ck_assert_uint_eq(content.device_count, count_named(&content, "model_run") * 22);
	for (size_t i = 0; i < content.slices_count; i++)
		ck_assert(!(content.slices[i].flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN)));
	check_device_events(&content, false);
	free(content.slices);
}
END_TEST

/* ---- bad input ---- */

START_TEST(bad_libraries_and_paths_are_named)
{
	const char *trace = check_path("never.epp");
	expect(1, "/nowhere/libep.so", DIGITS "-o %s /nowhere/libep.so", trace);
	const char *text = check_path("text.so");
	ck_assert_int_eq(run("echo no library > %s", text), 0);
	expect(1, text, DIGITS "-o %s %s", trace, text);
	expect(1, "libepprof.so", DIGITS "-o %s '" CHECK_BUILD "/libepprof.so'", trace);
	expect(1, "ACCELERATOR_", "export ACCELERATOR_FAST_PPM=much; " DIGITS "-o %s", trace);
	expect(1, "/nowhere/digits.epp", DIGITS "-o /nowhere/digits.epp");
	expect(1, "irectory", DIGITS "--force -o %s", check_path("."));
	ck_assert_int_ne(access(trace, F_OK), 0);

	expect(2, "usage", DIGITS "--no-such-option");
	expect(2, "usage", DIGITS "-n 0");
	expect(2, "usage", DIGITS "-n 5x");
	expect(2, "usage", DIGITS "a b");
}
END_TEST

START_TEST(an_existing_file_is_kept_unless_forced)
{
	const char *path = check_path("kept.epp");
	ck_assert_int_eq(run("echo precious > %s", path), 0);
	expect(1, path, DIGITS "-n 1 -o %s", path);
	expect(0, "precious", "cat %s", path);
	expect(0, "62 of 64 right", DIGITS "-n 1 --force -o %s", path);
	struct content content = content_of_file(path);
	check_counts(&content, 1, true);
	free(content.slices);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	const char *path = check_path("full.epp");
	/* 512-byte blocks: there is no room for the window; then for it, but not for what follows it. */
	expect(1, path, "ulimit -f 512; " DIGITS "-o %s", path);
	ck_assert_int_ne(access(path, F_OK), 0);
	expect(1, "File too large", "ulimit -f %zu; " DIGITS "-n 400 -o %s", WINDOW_BYTES / 512 + 128, path);
	ck_assert_ptr_null(strstr(output, "right"));
	struct content content = content_of_file(path);
	/* What could not be written is still in the window, where it was recorded: nothing is lost. */
	ck_assert_uint_eq(content.lost, 0);
	ck_assert_uint_eq(count_named(&content, "MatMul"), 400 * 8);
	free(content.slices);

	expect(1, "/dev/full", DIGITS "-o /dev/full --force");
	ck_assert_ptr_null(strstr(output, "right"));
}
END_TEST

START_TEST(truncated_and_foreign_data_are_refused)
{
	static const struct {
		const char *file;
		long whole_bytes;
	} files[] = { { "digits_weights.bin", 9652 }, { "digits_test.bin", 16904 } };
	const char *trace = check_path("data.epp");
	const char *data = check_path("ep_sample/data");
	const char *program = check_path("build");
	/* The program looks for them where it lies itself. */
	ck_assert_int_eq(run("mkdir %s %s && cp '%s/digits' '%s/libsample_ort_ep.so' %s", program,
	                     check_path("ep_sample"), CHECK_BUILD, CHECK_BUILD, program),
	                 0);
	expect(1, "digits_weights.bin", COPY "-o %s", program, trace);
	ck_assert_int_eq(run("cp -r '%s/ep_sample/data' %s", CHECK_SOURCE, data), 0);
	expect(0, "62 of 64 right", COPY "-n 1 -o %s", program, trace);
	for (size_t i = 0; i < 2; i++) {
		const char *file = files[i].file;
		long sizes[] = { 0, 1, 12, 13, 4096, files[i].whole_bytes - 1, files[i].whole_bytes + 1 };
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			ck_assert_int_eq(run("truncate -s %ld %s/%s", sizes[j], data, file), 0);
			expect(1, file, COPY "-o %s --force", program, trace);
			ck_assert_ptr_nonnull(strstr(output, sizes[j] < files[i].whole_bytes ? "truncated" : "longer"));
			ck_assert_int_eq(run("cp '%s/ep_sample/data/%s' %s", CHECK_SOURCE, file, data), 0);
		}
		ck_assert_int_eq(run("printf A | dd of=%s/%s bs=1 conv=notrunc 2>&1", data, file), 0);
		expect(1, file, COPY "-o %s --force", program, trace);
		ck_assert_int_eq(run("rm %s/%s && mkdir %s/%s", data, file, data, file), 0);
		expect(1, "directory", COPY "-o %s --force", program, trace);
		ck_assert_int_eq(run("rmdir %s/%s && cp %s/ep_sample/data/%s %s", data, file, CHECK_SOURCE, file, data), 0);
	}
	/* Weights of the right size that are another model's. */
	ck_assert_int_eq(run("dd if=/dev/zero of=%s/digits_weights.bin bs=1 seek=12 count=9640 conv=notrunc 2>&1", data),
	                 0);
	expect(1, " of 64 right", COPY "-n 1 -o %s --force", program, trace);
}
END_TEST

static Suite *digits_suite(void)
{
	Suite *suite = suite_create("digits");
	TCase *program = tcase_create("program");
	tcase_add_test(program, digits_are_recognised_and_recorded);
	tcase_add_test(program, work_left_running_ends_within_the_run);
	tcase_add_test(program, without_a_common_clock_durations_stay);
	tcase_add_test(program, a_clock_of_another_rate_that_wraps);
	tcase_add_test(program, interrupted_the_session_still_ends_well);
	tcase_add_test(program, bad_libraries_and_paths_are_named);
	tcase_add_test(program, an_existing_file_is_kept_unless_forced);
	tcase_add_test(program, a_full_disk_is_told);
	tcase_add_test(program, truncated_and_foreign_data_are_refused);
	suite_add_tcase(suite, program);
	return suite;
}

CHECK_MAIN(digits_suite)
