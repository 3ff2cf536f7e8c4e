/* Runs the epprof command with calls that fail: a preloaded library (plugins/failing_malloc, plugins/failing_calls)
 * makes one call fail, then that one and all after it.  The command must end with an error's exit status and a
 * message, or with 0 and the same output as ever.  It must never crash, and leave no file behind.
 *
 * A run without failures counts the calls and compares their callers.  One call for each different stack of callers is
 * then tried; with CHECK_FAULTS_ALL=1 every call is.  Paths are relative to the test's folder; what is written goes to
 * out/, which is empty before. */
#ifndef EPPROF_TESTS_SUPPORT_FAULTS_H
#define EPPROF_TESTS_SUPPORT_FAULTS_H

#include <string.h>

#include "codec/checksum.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"
#include "tests/support/failing_process.h"

#define FAULTS_INLINE __attribute__((unused)) static inline
/* Of a command; the rest are only counted. */
#define FAULTS_SHOWN 10
#define FAULTS_ARGS 13

struct fault_command {
	const char *args[FAULTS_ARGS];
	bool varies;      /* the bytes of the output are other ones each time */
	bool seeded;      /* out/seed.epp is there: a copy of sample.epp */
	bool in_any_form; /* out/x.epp may be packed or not, with the same events */
	bool verdicts; /* a call may fail in the process of a case: its verdict is printed as TAP, and in out/x.json */
};

#define CONFORM(...) \
	{ \
		.args = { "conform", "--format", "tap", "--waive", "waivers", __VA_ARGS__ }, .varies = true, \
		.verdicts = true \
	}

static const struct fault_command fault_commands[] = {
	{ .args = { "info", "sample.epp" } },
	{ .args = { "info", "--format", "json", "unfinished.epp" } },
	{ .args = { "summary", "sample.epp" } },
	{ .args = { "summary", "--format", "json", "packed.epp" } },
	{ .args = { "summary", "--format", "csv", "unfinished.epp" } },
	{ .args = { "advise", "sample.epp" } },
	{ .args = { "show", "--where", "duration_ns > 0", "sample.epp" } },
	{ .args = { "diff", "sample.epp", "packed.epp" } },
	{ .args = { "diff", "--format", "csv", "sample.epp", "unfinished.epp" } },
	{ .args = { "diff", "--before", "sample.epp", "unfinished.epp", "--after", "packed.epp", "import.epp" } },
	{ .args = { "diff", "--format", "markdown", "--before", "sample.epp", "unfinished.epp", "--after", "packed.epp" } },
	{ .args = { "diff", "--format", "json", "--before", "sample.epp", "--after", "unfinished.epp", "packed.epp" } },
	{ .args = { "report", "-o", "out/x.html", "sample.epp" } },
	{ .args = { "flame", "-o", "out/x.svg", "sample.epp" } },
	{ .args = { "validate", "sample.epp" } },
	{ .args = { "validate", "packed.epp" } },
	{ .args = { "tail", "sample.epp" } },
	{ .args = { "convert", "-t", "chrome", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "kineto", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "ort", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "svg", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "csv", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "ndjson", "-o", "out/x", "packed.epp" } },
	{ .args = { "convert", "-t", "sqlite", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "perfetto", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "xspace", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "parquet", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "otlp", "--kernels", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "otlp-proto", "--kernels", "-o", "out/x", "sample.epp" } },
	{ .args = { "convert", "-t", "html", "-o", "out/x", "unfinished.epp" } },
	{ .args = { "convert", "-t", "flame", "-o", "out/x", "merged.epp" } },
	{ .args = { "convert", "-t", "chrome", "-o", "out/x", "--name", "gemm*", "--track", "*", "--process", "*",
	            "merged.epp" } },
	{ .args = { "convert", "-t", "csv", "-o", "-", "--min-duration", "1us", "sample.epp" } },
	{ .args = { "convert", "-t", "parquet", "--run", "r", "-o", "out/x", "merged.epp" } },
	{ .args = { "convert", "-t", "parquet", "--run", "r", "-o", "out/x", "sample.epp", "import.epp" }, .varies = true },
	{ .args = { "summary", "--by", "process", "merged.epp" } },
	{ .args = { "summary", "--process", "*", "merged.epp" } },
	{ .args = { "sql", "sample.epp", "SELECT name, count(*) FROM events GROUP BY 1 ORDER BY 1" } },
	{ .args = { "sql", "--format", "json", "sample.epp", "SELECT * FROM args ORDER BY 1, 2" } },
	{ .args = { "pack", "-o", "out/x.epp", "sample.epp" }, .in_any_form = true },
	{ .args = { "pack", "--in-place", "out/seed.epp" }, .seeded = true },
	{ .args = { "recover", "-o", "out/x.epp", "unfinished.epp" } },
	{ .args = { "recover", "-o", "out/x.epp", "cut.epp" } },
	{ .args = { "merge", "-o", "out/x.epp", "unfinished.epp", "import.epp" } },
	{ .args = { "amend", "-o", "out/x.epp", "sample.epp", "import.epp" } },
	{ .args = { "amend", "--in-place", "out/seed.epp", "kineto.json" }, .seeded = true },
	{ .args = { "anonymize", "--key", "key", "-o", "out/x.epp", "sample.epp" } },
	{ .args = { "anonymize", "--key", "key", "-o", "out/x.epp", "--keep-ops", "--round-shapes", "merged.epp" } },
	{ .args = { "anonymize", "--key", "key", "-o", "out/x.epp", "unfinished.epp" } },
	{ .args = { "import", "-o", "out/x.epp", "ort.json" } },
	{ .args = { "import", "-o", "out/x.epp", "hostile.json" } },
	{ .args = { "import", "-o", "out/x.epp", "chrome.json" } },
	{ .args = { "import", "-o", "out/x.epp", "named.json" } },
	{ .args = { "import", "-o", "out/x.epp", "kineto.json" } },
	{ .args = { "import", "-o", "out/x.epp", "sample.xplane.pb" } },
	{ .args = { "probe", CHECK_BUILD "/libsample_ort_ep.so" } },
	CONFORM("--only-failed", "-o", "failed.json", CHECK_BUILD "/libsample_ort_ep.so"),
	CONFORM("--only-failed", "-o", "failed.json", CHECK_BUILD "/libsample_tf_ep.so"),
	CONFORM("--case", "^1.load.library$", "-o", "out/x.json", CHECK_BUILD "/libsample_ort_ep.so"),
	CONFORM("--case", "^2.session.empty$", "--exclude", "tf|pjrt", "-o", "out/x.json",
	        CHECK_BUILD "/libsample_pu1_ep.so"),
	CONFORM("--case", "^2.pjrt.stop_twice$", "-o", "out/x.json", CHECK_BUILD "/libsample_pjrt_ep.so"),
};
#define FAULT_COMMANDS_COUNT (sizeof fault_commands / sizeof *fault_commands)

/* ---- one run ---- */

static uint32_t digest;
static bool names_only, is_short; /* of out/; of each transfer */

FAULTS_INLINE int add_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)walk;
	/* The order of entries is any. */
	uint32_t sum = checksum_crc32c(0, path, strlen(path));
	if (type == FTW_F && (!names_only || strncmp(path, "out/", 4) != 0)) {
		int fd = open(path, O_RDONLY);
		void *bytes = mmap(NULL, (size_t)st->st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
		MUST(bytes != MAP_FAILED);
		sum = checksum_crc32c(sum, bytes, (size_t)st->st_size);
		munmap(bytes, (size_t)st->st_size + 1);
		close(fd);
	}
	digest += sum;
	return 0;
}

/* Of all paths and bytes at `path`. */
FAULTS_INLINE uint32_t digest_of(const char *path)
{
	digest = 0;
	nftw(path, add_entry, 16, FTW_PHYS);
	return digest;
}

FAULTS_INLINE void prepare_out(bool seeded)
{
	nftw("out", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	MUST(mkdir("out", 0700) == 0);
	MUST(!seeded || system("cp sample.epp out/seed.epp") == 0);
}

/* The exit status, or -signal. */
FAULTS_INLINE int run(const char *const *args, uint64_t first, uint64_t last, bool observe)
{
	char *argv[16] = { (char *)(CHECK_BUILD "/epprof") };

	memcpy(argv + 1, args, FAULTS_ARGS * sizeof *args);
	failing->observe = observe;
	failing->is_short = is_short;
	return failing_run(argv, first, last);
}

/* ---- the sweep ---- */

/* What a run without failures leaves. */
struct whole {
	int code;
	uint32_t before, out, printed, tmp;
	uint32_t events; /* 0: not compared */
	bool verdicts;   /* as in struct fault_command */
};

/* Of the events of out/x.epp. */
FAULTS_INLINE uint32_t digest_of_events(void)
{
	MUST(run((const char *const[FAULTS_ARGS]){ "convert", "-t", "csv", "-o", "-", "out/x.epp" }, 0, 0, false) == 0);
	return digest_of("stdout");
}

/* Returns what is wrong with the printed and the written results, or NULL.  A call failed in the process of a case: the
 * case fails, ends its process or is skipped, each with the reason. */
FAULTS_INLINE const char *judge_verdict(const struct whole *whole, int code)
{
	size_t bytes, printed_bytes;
	char *results = command_file("out/x.json", &bytes), *printed = command_file("stdout", &printed_bytes);
	bool is_skipped = strstr(printed, " # SKIP ") != NULL, has_failed = strstr(printed, "\nnot ok ") != NULL;
	const char *wrong = NULL;

	if (strstr(printed, "killed by signal") || strstr(printed, "# hang: "))
		wrong = "the process of the case crashed or hung";
	else if (code != (has_failed ? 1 : 0) || (!is_skipped && !has_failed))
		wrong = "exit status";
	else if (whole->out != whole->before && (bytes < 4 || strcmp(results + bytes - 4, "\n]}\n") != 0))
		wrong = "made a cut file";
	else if (strstr(printed, "# SKIP \n") || strstr(printed, "# fail: \n"))
		wrong = "a verdict without the reason";
	free(results);
	free(printed);
	return wrong;
}

/* Returns what is wrong with a run, or NULL. */
FAULTS_INLINE const char *judge(const struct whole *whole, int code, int failed, const char *word)
{
	uint32_t out = digest_of("out");
	struct stat errors;
	size_t bytes;

	if (code < 0)
		return "crashed";
	if (digest_of("tmp") != whole->tmp)
		return "left a temporary file";
	if (whole->verdicts && stat("stderr", &errors) == 0 && errors.st_size == 0 && digest_of("stdout") != whole->printed)
		return judge_verdict(whole, code);
	if (code == whole->code && digest_of("stdout") != whole->printed)
		return "printed something else";
	if (code == whole->code)
		return out == whole->out || (whole->events && digest_of_events() == whole->events) ? NULL
		                                                                                   : "made another file";
	if (code != failed && code != 1)
		return "exit status";
	if (out != whole->before)
		return "left a file";
	/* probe prints what keeps a library from being used. */
	char *told = command_file("stderr", &bytes), *printed = command_file("stdout", &bytes);
	bool has_word = (*told || *printed) && (strcasestr(told, word) || strcasestr(printed, word));
	free(told);
	free(printed);
	return has_word ? NULL : "no message, or one without the reason";
}

FAULTS_INLINE void print_failure(const char *wrong, int code, const char *const *args, uint64_t number, bool all_after)
{
	printf("%s (%d): FAILING %llu%s:", wrong, code, (unsigned long long)number, all_after ? " and all after" : "");
	for (; *args; args++)
		printf(" %s", *args);
	printf("\n");
}

/* Runs a command without faults, then with each fault.  If it fails, its exit status is `failed` or 1, and the message
 * contains `word`. */
FAULTS_INLINE void faults_sweep(const struct fault_command *command, int failed, const char *word)
{
	const char *const *args = command->args;
	bool seeded = command->seeded;
	unsigned failures = 0, runs = 0;

	names_only = command->varies;
	prepare_out(seeded);
	struct whole whole = { .before = digest_of("out"), .tmp = digest_of("tmp") };
	whole.code = run(args, 0, 0, true);
	uint64_t count = failing->count;
	bool *wanted = failing_choose(1);
	whole.out = digest_of("out");
	whole.printed = digest_of("stdout");
	whole.events = command->in_any_form ? digest_of_events() : 0;
	whole.verdicts = command->verdicts;
	ck_assert_int_eq(whole.code, 0);
	ck_assert_uint_ge(count, 3);
	for (uint64_t i = 1; i <= count; i++) {
		for (int all_after = 0; wanted[i] && all_after < 2; all_after++, runs++) {
			prepare_out(seeded);
			int code = run(args, i, all_after ? UINT64_MAX : i, false);
			const char *wrong = judge(&whole, code, failed, word);
			if (wrong && failures++ < FAULTS_SHOWN)
				print_failure(wrong, code, args, i, all_after);
		}
	}
	free(wanted);
	if (getenv("CHECK_FAULTS_ALL"))
		printf("%s %s %s: %u runs\n", args[0], args[1], args[2] ? args[2] : "", runs);
	ck_assert_msg(!failures, "%u of %u runs", failures, runs);
}

/* Runs a command whose reads and writes transfer only a part each time: its output is the same. */
FAULTS_INLINE void faults_short_transfers(const struct fault_command *command)
{
	names_only = command->varies;
	prepare_out(command->seeded);
	ck_assert_int_eq(run(command->args, 0, 0, false), 0);
	uint32_t out = digest_of("out"), printed = digest_of("stdout");
	prepare_out(command->seeded);
	is_short = true;
	int code = run(command->args, 0, 0, false);
	is_short = false;
	ck_assert_int_eq(code, 0);
	ck_assert_uint_eq(digest_of("out"), out);
	ck_assert_uint_eq(digest_of("stdout"), printed);
}

/* ---- traces ---- */

/* JSON as no writer should leave it: bytes that must be escaped, an event that ends in the middle, values of any
 * shape. */
static const char hostile[] =
    "[\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :9,\"ts\" :1,\"ph\" : \"X\",\"name\" :\"a\"quoted\"\\name\",\"args\" : {}},\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :\"text\",\"dur\" :1e3,\"ts\" :-5,\"ph\" : \"B\",\"name\" :\"two\nlines\",\"args\" : "
    "{\"shape\":[{\"float\":[4,64,{\"x\":null}]}],\"k\":18446744073709551616,\"k\":true}},\n"
    "{\"ph\" : \"s\",\"id\" : \"0x1\",\"cat\" : \"f\",\"pid\" :7,\"tid\" :8,\"ts\" :2,\"name\" :\"\xff\xfe\",\"args\" : {}},\n"
    "{\"ph\" : \"f\",\"id\" : \"0x1\",\"cat\" : \"f\",\"pid\" :7,\"tid\" :9,\"ts\" :3,\"name\" :\"x\",\"args\" : {}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :\"EP\",\"tid\" :8,\"dur\" :9,\"ts\" :4,\"ph\" : \"X\",\"name\" :\"cut";

/* A process and a thread with names for numbers. */
static const char named[] = "[{\"ph\":\"X\",\"pid\":\"host\",\"tid\":\"reader\",\"ts\":1,\"dur\":2,\"name\":\"read\"}]";

/* Results of conform. */
static const char failed_before[] = "{\"case\": \"1.load.library\", \"verdict\": \"fail\"},\n"
				    "{\"case\": \"2.session.empty\", \"verdict\": \"hang\"}\n";

FAULTS_INLINE void write_file(const char *path, const char *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

FAULTS_INLINE void must_run(const char *const *args)
{
	size_t bytes;
	int code = run(args, 0, 0, false);

	ck_assert_msg(code == 0, "%s: %d: %s", args[0], code, command_file("stderr", &bytes));
}
#define MUST_RUN(...) must_run((const char *const[FAULTS_ARGS]){ __VA_ARGS__ })

FAULTS_INLINE void faults_setup(void)
{
	struct epp_builder *b;
	size_t bytes;

	if (failing) /* an earlier test case has made them */
		return;
	b = export_sample();
	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
	setenv("TMPDIR", "tmp", 1);
	ck_assert_ptr_nonnull((failing = failing_map(O_CREAT)));
	builder_write(b, EPF_FINISHED, "sample.epp");
	builder_write(b, EPF_RECORDING, "unfinished.epp");
	builder_destroy(b);
	char *sample = command_file("sample.epp", &bytes);
	write_file("cut.epp", sample, bytes / 2);
	free(sample);
	write_file("key", "0123456789abcdef", 16);
	write_file("hostile.json", hostile, sizeof hostile - 1);
	write_file("named.json", named, sizeof named - 1);
	write_file("waivers", "1.load.unload  known\n", strlen("1.load.unload  known\n"));
	write_file("failed.json", failed_before, sizeof failed_before - 1);
	ck_assert_int_eq(system("cp " CHECK_SOURCE "/tests/golden/ort_profile_1.30.json ort.json && cp " CHECK_SOURCE
	                        "/tests/golden/sample.chrome.json chrome.json && cp " CHECK_SOURCE
	                        "/tests/golden/sample.kineto.json kineto.json"),
	                 0);
	MUST_RUN("pack", "-o", "packed.epp", "sample.epp");
	MUST_RUN("import", "-o", "import.epp", "ort.json");
	MUST_RUN("convert", "-t", "xspace", "-o", "sample.xplane.pb", "sample.epp");
	MUST_RUN("merge", "-o", "merged.epp", "sample.epp", "import.epp");
}

#endif
