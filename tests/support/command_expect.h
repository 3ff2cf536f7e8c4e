/* Checks the exit status and messages of the command. */
#ifndef EPPROF_TESTS_SUPPORT_COMMAND_EXPECT_H
#define EPPROF_TESTS_SUPPORT_COMMAND_EXPECT_H

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"

/* Runs the command and expects an exit status and a text in its standard error ("" for no output at all). */
#define EXPECT(expected_code, error, ...) \
	do { \
		struct command run_ = command_run(NULL, __VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == (expected_code), "status %d: %s", run_.code, run_.err); \
		if ((error)[0]) \
			ck_assert_msg(strstr(run_.err, error) != NULL, "told '%s', not '%s'", run_.err, error); \
		else \
			ck_assert_str_eq(run_.err, ""); \
		if (run_.code == 2) \
			ck_assert_str_eq(run_.out, ""); \
		command_free(&run_); \
	} while (0)

#endif
