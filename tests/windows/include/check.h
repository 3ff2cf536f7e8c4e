/* The part of Check that the tests for Windows use; Check itself has no package for MinGW. Tests run in one process, one after the
 * other, as with CK_FORK=no, and the first failure ends the program. */
#ifndef EPPROF_TESTS_WINDOWS_INCLUDE_CHECK_H
#define EPPROF_TESTS_WINDOWS_INCLUDE_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef struct check_list Suite;
typedef struct check_list TCase;
typedef struct check_list SRunner;
typedef void (*check_function)(int i);

#define CK_ENV 0
#define START_TEST(name) \
	static void name(int _i) \
	{ \
		(void)_i;
#define END_TEST }

Suite *suite_create(const char *name);
TCase *tcase_create(const char *name);
void suite_add_tcase(Suite *suite, TCase *tcase);
void check_add(TCase *tcase, const char *name, check_function function, int start, int end);
void tcase_add_checked_fixture(TCase *tcase, void (*before)(void), void (*after)(void));
void tcase_set_timeout(TCase *tcase, double seconds);
#define tcase_add_test(tcase, function) check_add(tcase, #function, function, 0, 1)
#define tcase_add_loop_test(tcase, function, start, end) check_add(tcase, #function, function, start, end)

SRunner *srunner_create(Suite *suite);
void srunner_run_all(SRunner *runner, int mode);
int srunner_ntests_failed(SRunner *runner);
void srunner_free(SRunner *runner);

/* Prints the message and Check's closing line, and ends the process. */
__attribute__((noreturn, format(__MINGW_PRINTF_FORMAT, 3, 4))) void check_fail(const char *file, int line,
                                                                               const char *format, ...);

#define ck_abort_msg(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define ck_assert_msg(condition, ...) ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, __VA_ARGS__))
#define ck_assert(condition) ck_assert_msg(condition, "%s", #condition)

#define CHECK_COMPARE(type, format, a, operator, b) \
	do { \
		type a_ = (a); \
		type b_ = (b); \
		ck_assert_msg(a_ operator b_, "%s " #operator" %s: " format ", " format, #a, #b, a_, b_); \
	} while (0)
#define ck_assert_int_eq(a, b) CHECK_COMPARE(intmax_t, "%jd", a, ==, b)
#define ck_assert_int_ne(a, b) CHECK_COMPARE(intmax_t, "%jd", a, !=, b)
#define ck_assert_int_lt(a, b) CHECK_COMPARE(intmax_t, "%jd", a, <, b)
#define ck_assert_int_le(a, b) CHECK_COMPARE(intmax_t, "%jd", a, <=, b)
#define ck_assert_int_gt(a, b) CHECK_COMPARE(intmax_t, "%jd", a, >, b)
#define ck_assert_int_ge(a, b) CHECK_COMPARE(intmax_t, "%jd", a, >=, b)
#define ck_assert_uint_eq(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, ==, b)
#define ck_assert_uint_ne(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, !=, b)
#define ck_assert_uint_lt(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, <, b)
#define ck_assert_uint_le(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, <=, b)
#define ck_assert_uint_gt(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, >, b)
#define ck_assert_uint_ge(a, b) CHECK_COMPARE(uintmax_t, "%ju", a, >=, b)
#define ck_assert_double_eq(a, b) CHECK_COMPARE(double, "%g", a, ==, b)
#define ck_assert_double_eq_tol(a, b, tolerance) \
	do { \
		double a_ = (a), b_ = (b); \
		ck_assert_msg(a_ - b_ < (tolerance) && b_ - a_ < (tolerance), "%s == %s: %g, %g", #a, #b, a_, b_); \
	} while (0)
#define ck_assert_double_lt(a, b) CHECK_COMPARE(double, "%g", a, <, b)
#define ck_assert_double_gt(a, b) CHECK_COMPARE(double, "%g", a, >, b)
#define ck_assert_ptr_eq(a, b) CHECK_COMPARE(const void *, "%p", a, ==, b)
#define ck_assert_ptr_ne(a, b) CHECK_COMPARE(const void *, "%p", a, !=, b)
#define ck_assert_ptr_null(a) ck_assert_msg((a) == NULL, "%s is not NULL", #a)
#define ck_assert_ptr_nonnull(a) ck_assert_msg((a) != NULL, "%s is NULL", #a)
#define ck_assert_str_eq(a, b) \
	do { \
		const char *a_ = (a), *b_ = (b); \
		ck_assert_msg(a_ &&b_ && !strcmp(a_, b_), "%s == %s: '%s', '%s'", #a, #b, a_ ? a_ : "(null)", \
		              b_ ? b_ : "(null)"); \
	} while (0)
#define ck_assert_mem_eq(a, b, bytes) ck_assert_msg(memcmp(a, b, bytes) == 0, "%s and %s differ", #a, #b)
#define ck_assert_mem_ne(a, b, bytes) ck_assert_msg(memcmp(a, b, bytes) != 0, "%s and %s are equal", #a, #b)

#endif
