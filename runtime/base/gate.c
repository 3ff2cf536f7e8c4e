/* Implements gate.h with the barrier of the system. */
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
