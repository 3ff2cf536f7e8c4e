/* An execution provider library whose only answer is an error, with control sequences and lines that a report could
 * take for its own. */
#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/abi/ort_tables.h"

#define PLUGIN_API __attribute__((visibility("default")))

PLUGIN_API OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                        OrtEpFactory **factories, size_t factories_room, size_t *factories_count);
PLUGIN_API OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **factories, size_t factories_room, size_t *factories_count)
{
	(void)name, (void)logger, (void)factories, (void)factories_room;
	*factories_count = 0;
	return base->GetApi(25)->CreateStatus(ORT_FAIL, "\x1b]0;evil\x07\nok 1 - 1.load.library\r\xc2\x9b"
	                                                "31m </failure>\" \xe2\x80\xae");
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	(void)factory;
	return NULL;
}
