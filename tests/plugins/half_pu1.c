/* Half a tracing plugin, and a PJRT plugin's entry. */
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
