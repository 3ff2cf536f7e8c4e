/* Shared by all test programs: main, a temporary directory, and asserts for statuses.
 *
 *   static Suite *codec_suite(void) { ... }
 *   CHECK_MAIN(codec_suite)
 *
 * A program can be run on its own (with CK_FORK=no under a debugger), prints Check's closing line, and exits with 0 if
 * all tests passed, 1 if not, 77 if it cannot run here (CHECK_SKIP).  CHECK_BUILD and CHECK_SOURCE are the absolute
 * paths of the build tree (tests/plugins/<name>.so, libsample_ort_ep.so, epprof) and of the sources.
 */
#ifndef EPPROF_TESTS_SUPPORT_CHECK_H
#define EPPROF_TESTS_SUPPORT_CHECK_H

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "epprof/status.h"

#define CHECK_SKIP(reason) \
	do { \
		printf("SKIP: %s\n", reason); \
		fflush(stdout); \
		_exit(77); \
	} while (0)

/* The expression, an epp_status *, must be NULL. */
#define check_ok(expression) \
	do { \
		epp_status *status_ = (expression); \
		ck_assert_msg(!status_, "%s: %s", #expression, epp_status_message(status_)); \
	} while (0)

/* The expression must be a status with this code; the status is released. */
#define check_fails(expected, expression) \
	do { \
		epp_status *status_ = (expression); \
		ck_assert_msg(status_ != NULL, "%s: succeeded", #expression); \
		ck_assert_msg(epp_status_code(status_) == (expected), "%s: code %d: %s", #expression, \
		              (int)epp_status_code(status_), epp_status_message(status_)); \
		epp_status_destroy(status_); \
	} while (0)

/* Check's own asserts send a message to the runner each time, which is too slow to do per event. */
#define MUST(condition) \
	do { \
		if (!(condition)) \
			ck_abort_msg("%s", #condition); \
	} while (0)

/* For loops whose iterations do not differ in what other threads see: ThreadSanitizer, which looks for races, runs one
 * iteration in so many. */
#ifdef __SANITIZE_THREAD__
#define CHECK_ONE_IN 7
#else
#define CHECK_ONE_IN 1
#endif

static char check_directory_path[256];
static pid_t check_directory_owner;

static inline int check_remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static inline void check_remove_directory(void)
{
	if (check_directory_owner == getpid())
		nftw(check_directory_path, check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns a path in the directory that main makes and removes: check_path("thread-%d.epp", 3).  Valid for the next 7
 * calls. */
__attribute__((format(printf, 1, 2), unused)) static char *check_path(const char *format, ...)
{
	static __thread char paths[8][512];
	static __thread unsigned next;
	char *path = paths[next++ % 8];
	va_list args;

	int length = snprintf(path, sizeof paths[0], "%s/", check_directory_path);
	va_start(args, format);
	vsnprintf(path + length, sizeof paths[0] - (size_t)length, format, args);
	va_end(args);
	return path;
}

/* The suite is made after the directory, because the choice of tests may depend on it. */
static inline int check_main(Suite *(*make_suite)(void))
{
	const char *parent = getenv("TMPDIR");

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(check_directory_path, sizeof check_directory_path, "%s/epprof-check.XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(check_directory_path)) {
		perror(check_directory_path);
		return EXIT_FAILURE;
	}
	check_directory_owner = getpid();

	SRunner *runner = srunner_create(make_suite());
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	check_remove_directory();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Check's default timeout of 4 s is short for a busy machine; 120 s still end a test that hangs.  Set before the suite
 * is made, because Check reads it then. */
#define CHECK_MAIN(suite_function) \
	int main(void) \
	{ \
		setenv("CK_DEFAULT_TIMEOUT", "120", 0); \
		return check_main(suite_function); \
	}

#endif
