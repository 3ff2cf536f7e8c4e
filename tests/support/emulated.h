/* Under qemu-user (tests/emulate) some system calls have no effect. */
#ifndef EPPROF_TESTS_SUPPORT_EMULATED_H
#define EPPROF_TESTS_SUPPORT_EMULATED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* True under emulation, where a part of a test is skipped for this reason. */
static inline bool emulated_without(const char *reason)
{
	if (!getenv("CHECK_EMULATED"))
		return false;
	printf("SKIP: under emulation %s\n", reason);
	fflush(stdout);
	return true;
}

#endif
