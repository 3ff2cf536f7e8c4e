/* epprof run with the library of tests/fake_ort, for test programs: a folder with a model, and what is expected. */
#ifndef EPPROF_TESTS_CLI_RUN_FAKE_RUN_H
#define EPPROF_TESTS_CLI_RUN_FAKE_RUN_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/strict_json.h"

#define FAKE CHECK_BUILD "/tests/fake_ort.so"
#define SAMPLE_EP CHECK_BUILD "/libsample_ort_ep.so"
#define MODEL "model.onnx"

static inline void write_bytes(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static inline void write_model(const char *path, const char *lines)
{
	char text[1024];

	snprintf(text, sizeof text, "fake model\n%s", lines);
	write_bytes(path, text, strlen(text));
}

/* Each test begins in a folder with a model and without traces. */
static inline void begin(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert(system("rm -rf ./*") == 0);
	write_model(MODEL, "input x 1 N,4\nnode gemm SampleEP\nnode softmax CPUExecutionProvider\n");
	setenv("EPPROF_ORT", FAKE, 1);
	setenv("FAKE_ORT_LOG", check_path("log"), 1);
	setenv("TMPDIR", check_path("temporary"), 1);
	mkdir(check_path("temporary"), 0700);
	unsetenv("FAKE_ORT");
	unsetenv("VIRTUAL_ENV");
}

static inline bool logged(const char *text)
{
	size_t bytes;
	char *log = command_file(check_path("log"), &bytes);
	bool found = strstr(log, text) != NULL;

	free(log);
	return found;
}

#define TOLD_LIMIT "epprof: the trace keeps the newest 2.0 GiB (--max-bytes sets the limit, 0 is none)\n"

/* Runs it, and expects an exit status and a part of what it prints on standard error ("" for nothing but the limit). */
#define EXPECT(expected_code, error, ...) \
	do { \
		struct command run_ = command_run(NULL, "run", __VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == (expected_code), "status %d: %s", run_.code, run_.err); \
		if ((error)[0]) \
			ck_assert_msg(strstr(run_.err, error) != NULL, "told '%s', not '%s'", run_.err, error); \
		else \
			ck_assert_str_eq(run_.err, TOLD_LIMIT); \
		if (run_.code) \
			ck_assert_str_eq(run_.out, ""); \
		command_free(&run_); \
	} while (0)

/* The summary of a trace, which must be valid. */
static inline struct json *summary_of(const char *path)
{
	struct command run = command_run(NULL, "validate", "--strict", path, NULL);

	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	run = command_run(NULL, "summary", "--format", "json", path, NULL);
	ck_assert_int_eq(run.code, 0);
	struct json *json = json_expect(run.out, run.out_bytes);
	command_free(&run);
	ck_assert_str_eq(json_text(json, "state"), "finished");
	return json;
}

static inline int64_t total_of(const struct json *json, const char *key)
{
	return json_thousandths(json, key) / 1000;
}

/* How often an op or kernel is there. */
static inline int64_t count_of(const struct json *summary, const char *list, const char *name)
{
	const struct json *lines = json_get(summary, list);
	int64_t count = 0;

	/* A kernel has a line for each operator type. */
	for (size_t i = 0; i < lines->count; i++) {
		if (strcmp(json_text(&lines->items[i], "name"), name) == 0)
			count += total_of(&lines->items[i], "count");
	}
	return count;
}

#endif
