/* Runs tests that are written for Check (include/check.h), and has what they use of POSIX. */
#include <check.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define TESTS_MAX 256

struct test {
	const char *name;
	check_function function;
	int i;
	void (*before)(void);
	void (*after)(void);
};

/* A program has one suite, so that its cases and runner are the same list. */
static struct check_list {
	struct test tests[TESTS_MAX];
	unsigned count;
	void (*before)(void);
	void (*after)(void);
} list;
static unsigned checks;
static const char *running = "";

Suite *suite_create(const char *name)
{
	(void)name;
	_setmode(_fileno(stdout), _O_BINARY);
	return &list;
}

TCase *tcase_create(const char *name)
{
	(void)name;
	list.before = list.after = NULL;
	return &list;
}

void suite_add_tcase(Suite *suite, TCase *tcase)
{
	(void)suite, (void)tcase;
}

void check_add(TCase *tcase, const char *name, check_function function, int start, int end)
{
	for (int i = start; i < end; i++) {
		ck_assert_uint_lt(tcase->count, TESTS_MAX);
		tcase->tests[tcase->count++] = (struct test){ name, function, i, tcase->before, tcase->after };
	}
}

/* Tests add their fixtures before their functions. */
void tcase_add_checked_fixture(TCase *tcase, void (*before)(void), void (*after)(void))
{
	tcase->before = before;
	tcase->after = after;
}

void tcase_set_timeout(TCase *tcase, double seconds)
{
	(void)tcase, (void)seconds;
}

SRunner *srunner_create(Suite *suite)
{
	return suite;
}

static void print_result(unsigned failures)
{
	printf("%u%%: Checks: %u, Failures: %u, Errors: 0\n", checks ? (checks - failures) * 100 / checks : 0, checks,
	       failures);
	fflush(stdout);
}

void check_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;
	printf("%s:%d: %s: ", file, line, running);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	print_result(1);
	_exit(EXIT_FAILURE);
}

void srunner_run_all(SRunner *runner, int mode)
{
	(void)mode;
	for (unsigned i = 0; i < runner->count; i++) {
		const struct test *test = &runner->tests[i];
		running = test->name;
		checks++;
		if (test->before)
			test->before();
		test->function(test->i);
		if (test->after)
			test->after();
	}
	print_result(0);
}

int srunner_ntests_failed(SRunner *runner)
{
	(void)runner;
	return 0;
}

void srunner_free(SRunner *runner)
{
	(void)runner;
}
