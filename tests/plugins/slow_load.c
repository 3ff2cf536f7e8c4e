/* A library whose constructor does not return. */
#include <unistd.h>

__attribute__((constructor)) static void load(void)
{
	for (;;)
		pause();
}
