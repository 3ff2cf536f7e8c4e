/* Implements gate.h with membarrier(PRIVATE_EXPEDITED), which has no wrapper in glibc. */
#include "base/gate.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool registered;

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void gate_setup(void)
{
	registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool gate_barrier(void)
{
	return registered && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
