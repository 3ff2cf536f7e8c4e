/* An incomplete PU1 plugin, with the entry point of a PJRT plugin. */
#include <stddef.h>

__attribute__((visibility("default"))) unsigned pu1GetVersion(void);
__attribute__((visibility("default"))) const void *GetPjrtApi(void);

unsigned pu1GetVersion(void)
{
	return 1;
}

const void *GetPjrtApi(void)
{
	return NULL;
}
