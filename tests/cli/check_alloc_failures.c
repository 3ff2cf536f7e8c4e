/* Every command with an allocation that fails, and with all that follow failing too: it ends with exit status 1 and a message
 * about memory, or with 0 and the same output as ever.  It never crashes and leaves no file behind.
 *
 * A run without failures counts the allocations and compares their callers.  One allocation for each different stack of callers
 * is then tried; with CHECK_ALLOC_ALL=1 every allocation is. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "codec/checksum.h"
#include "tests/plugins/failing_malloc.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

#define PLUGIN CHECK_BUILD "/tests/plugins/failing_malloc.so"
/* Of a command; the rest are only counted. */
#define FAILURES_SHOWN 10

/* Paths are relative to the test's folder; what is written goes to out/, which is empty before. */
static const struct {
	const char *args[12];
	bool varies; /* the bytes of the output are other ones each time */
	bool seeded; /* out/seed.epp is there: a copy of sample.epp */
} commands[] = {
	{ .args = { "info", "sample.epp" } },
	{ .args = { "info", "--format", "json", "unfinished.epp" } },
	{ .args = { "summary", "sample.epp" } },
	{ .args = { "summary", "--format", "json", "packed.epp" } },
	{ .args = { "summary", "--format", "csv", "unfinished.epp" } },
	{ .args = { "diff", "sample.epp", "packed.epp" } },
	{ .args = { "diff", "--format", "csv", "sample.epp", "unfinished.epp" } },
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
	{ .args = { "pack", "-o", "out/x.epp", "sample.epp" } },
	{ .args = { "pack", "--in-place", "out/seed.epp" }, .seeded = true },
	{ .args = { "recover", "-o", "out/x.epp", "unfinished.epp" } },
	{ .args = { "recover", "-o", "out/x.epp", "cut.epp" } },
	{ .args = { "merge", "-o", "out/x.epp", "unfinished.epp", "import.epp" } },
	{ .args = { "import", "-o", "out/x.epp", "ort.json" } },
	{ .args = { "import", "-o", "out/x.epp", "hostile.json" } },
	{ .args = { "import", "-o", "out/x.epp", "chrome.json" } },
	{ .args = { "import", "-o", "out/x.epp", "kineto.json" } },
	{ .args = { "import", "-o", "out/x.epp", "sample.xplane.pb" } },
	{ .args = { "probe", CHECK_BUILD "/libsample_ort_ep.so" } },
};
#define COMMANDS_COUNT (sizeof commands / sizeof *commands)

static struct failing_malloc *shared;

/* ---- one run ---- */

static uint32_t digest;
static bool names_only;

static int add_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)walk;
	/* The order of entries is any. */
	uint32_t sum = checksum_crc32c(0, path, strlen(path));
	if (type == FTW_F && !names_only) {
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
static uint32_t digest_of(const char *path)
{
	digest = 0;
	nftw(path, add_entry, 16, FTW_PHYS);
	return digest;
}

static void prepare_out(bool seeded)
{
	nftw("out", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	MUST(mkdir("out", 0700) == 0);
	MUST(!seeded || system("cp sample.epp out/seed.epp") == 0);
}

/* The exit status, or -signal. */
static int run(const char *const *args, uint64_t first, uint64_t last, bool observe)
{
	char *argv[16] = { (char *)(CHECK_BUILD "/epprof") };
	int status;

	memcpy(argv + 1, args, 12 * sizeof *args);
	shared->first = first;
	shared->last = last;
	shared->observe = observe;
	shared->count = 0;
	pid_t pid = fork();
	if (pid == 0) {
		setenv("FAILING_MALLOC", "shared", 1);
		setenv("LD_PRELOAD", PLUGIN, 1);
		signal(SIGALRM, SIG_DFL);
		alarm(30);
		if (dup2(open("/dev/null", O_RDONLY), 0) < 0 ||
		    dup2(open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) < 0 ||
		    dup2(open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) < 0)
			_exit(126);
		execv(argv[0], argv);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the sweep ---- */

/* What a run without failures leaves. */
struct whole {
	int code;
	uint32_t before, out, printed, tmp;
};

/* What is wrong with a run, or NULL. */
static const char *judge(const struct whole *whole, int code)
{
	uint32_t out = digest_of("out");
	size_t bytes;

	if (code < 0)
		return "crashed";
	if (digest_of("tmp") != whole->tmp)
		return "left a temporary file";
	if (code == whole->code)
		return out != whole->out                       ? "made another file"
		       : digest_of("stdout") != whole->printed ? "printed something else"
		                                               : NULL;
	if (code != 1)
		return "exit status";
	if (out != whole->before)
		return "left a file";
	/* probe prints what keeps a library from being used. */
	char *told = command_file("stderr", &bytes), *printed = command_file("stdout", &bytes);
	bool tells = strcasestr(told, "memory") || strcasestr(printed, "memory");
	free(told);
	free(printed);
	return tells ? NULL : "said nothing of memory";
}

/* Whether no earlier allocation has these callers. */
static bool is_first_of_stack(uint64_t number)
{
	for (uint64_t i = 0; i + 1 < number; i++) {
		if (shared->stacks[i] == shared->stacks[number - 1])
			return false;
	}
	return true;
}

static void print_failure(const char *wrong, int code, const char *const *args, uint64_t number, bool all_after)
{
	printf("%s (%d): FAILING_MALLOC %llu%s:", wrong, code, (unsigned long long)number,
	       all_after ? " and all after" : "");
	for (; *args; args++)
		printf(" %s", *args);
	printf("\n");
}

START_TEST(a_failed_allocation_ends_a_command)
{
	const char *const *args = commands[_i].args;
	bool seeded = commands[_i].seeded;
	bool all = getenv("CHECK_ALLOC_ALL") != NULL;
	unsigned failures = 0, runs = 0;

	names_only = commands[_i].varies;
	prepare_out(seeded);
	struct whole whole = { .before = digest_of("out"), .tmp = digest_of("tmp") };
	whole.code = run(args, 0, 0, true);
	whole.out = digest_of("out");
	whole.printed = digest_of("stdout");
	ck_assert_int_eq(whole.code, 0);
	uint64_t count = shared->count;
	ck_assert_uint_gt(count, 10);
	ck_assert_uint_le(count, FAILING_MALLOC_STACKS);
	bool *wanted = calloc(count + 1, sizeof *wanted);
	for (uint64_t i = 1; i <= count; i++)
		wanted[i] = all || is_first_of_stack(i);
	for (uint64_t i = 1; i <= count; i++) {
		for (int all_after = 0; wanted[i] && all_after < 2; all_after++, runs++) {
			prepare_out(seeded);
			int code = run(args, i, all_after ? UINT64_MAX : i, false);
			const char *wrong = judge(&whole, code);
			if (wrong && failures++ < FAILURES_SHOWN)
				print_failure(wrong, code, args, i, all_after);
		}
	}
	free(wanted);
	if (getenv("CHECK_ALLOC_ALL"))
		printf("%s %s %s: %u runs\n", args[0], args[1], args[2] ? args[2] : "", runs);
	ck_assert_msg(!failures, "%u of %u runs", failures, runs);
}
END_TEST

/* ---- traces ---- */

/* JSON as no writer should leave it: bytes that must be escaped, an event that ends in the middle, values of any shape. */
static const char hostile[] =
    "[\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :9,\"ts\" :1,\"ph\" : \"X\",\"name\" :\"a\"quoted\"\\name\",\"args\" : {}},\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :\"text\",\"dur\" :1e3,\"ts\" :-5,\"ph\" : \"B\",\"name\" :\"two\nlines\",\"args\" : "
    "{\"shape\":[{\"float\":[4,64,{\"x\":null}]}],\"k\":18446744073709551616,\"k\":true}},\n"
    "{\"ph\" : \"s\",\"id\" : \"0x1\",\"cat\" : \"f\",\"pid\" :7,\"tid\" :8,\"ts\" :2,\"name\" :\"\xff\xfe\",\"args\" : {}},\n"
    "{\"ph\" : \"f\",\"id\" : \"0x1\",\"cat\" : \"f\",\"pid\" :7,\"tid\" :9,\"ts\" :3,\"name\" :\"x\",\"args\" : {}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :\"EP\",\"tid\" :8,\"dur\" :9,\"ts\" :4,\"ph\" : \"X\",\"name\" :\"cut";

static void write_file(const char *path, const char *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static void must_run(const char *const *args)
{
	size_t bytes;
	int code = run(args, 0, 0, false);

	ck_assert_msg(code == 0, "%s: %d: %s", args[0], code, command_file("stderr", &bytes));
}
#define MUST_RUN(...) must_run((const char *const[12]){ __VA_ARGS__ })

static void make_inputs(void)
{
	struct epp_builder *b = export_sample();
	size_t bytes;

	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
	setenv("TMPDIR", "tmp", 1);
	int fd = open("shared", O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, sizeof *shared), 0);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(shared != MAP_FAILED);
	close(fd);
	builder_write(b, EPF_FINISHED, "sample.epp");
	builder_write(b, EPF_RECORDING, "unfinished.epp");
	builder_destroy(b);
	char *sample = command_file("sample.epp", &bytes);
	write_file("cut.epp", sample, bytes / 2);
	free(sample);
	write_file("hostile.json", hostile, sizeof hostile - 1);
	ck_assert_int_eq(system("cp " CHECK_SOURCE "/tests/golden/ort_profile_1.30.json ort.json && cp " CHECK_SOURCE
	                        "/tests/golden/sample.chrome.json chrome.json && cp " CHECK_SOURCE
	                        "/tests/golden/sample.kineto.json kineto.json"),
	                 0);
	MUST_RUN("pack", "-o", "packed.epp", "sample.epp");
	MUST_RUN("import", "-o", "import.epp", "ort.json");
	MUST_RUN("convert", "-t", "xspace", "-o", "sample.xplane.pb", "sample.epp");
	MUST_RUN("merge", "-o", "merged.epp", "sample.epp", "import.epp");
}

static Suite *alloc_failures_suite(void)
{
	Suite *suite = suite_create("alloc_failures");
	TCase *sweep = tcase_create("sweep");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP("allocations are the sanitizer's");
#endif
	tcase_add_unchecked_fixture(sweep, make_inputs, NULL);
	if (getenv("CHECK_ALLOC_ALL"))
		tcase_set_timeout(sweep, 3600);
	tcase_add_loop_test(sweep, a_failed_allocation_ends_a_command, 0, COMMANDS_COUNT);
	suite_add_tcase(suite, sweep);
	return suite;
}

CHECK_MAIN(alloc_failures_suite)
