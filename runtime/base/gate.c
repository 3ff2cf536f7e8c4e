/* Implements gate.h with the process-wide barrier of the operating system. */
#include "base/gate.h"

#include "base/os/os.h"

void gate_setup(void)
{
	os_thread_barrier_setup();
}

bool gate_barrier(void)
{
	return os_thread_barrier();
}
