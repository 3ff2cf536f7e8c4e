/* preload_ort.so: a library in the place of libonnxruntime.so that makes sessions without models.  It writes down how a
 * session was created. */
#ifndef EPPROF_TESTS_PLUGINS_PRELOAD_ORT_H
#define EPPROF_TESTS_PLUGINS_PRELOAD_ORT_H

#include "epprof/abi/ort_ep_profiler.h"

#define FAKE_TEXT_BYTES 256
#define FAKE_NEWER_SLOT (EPPROF_ORT_API_SLOTS + 2) /* a function behind the known slots */
#define FAKE_NEWER_RESULT 77

struct OrtSession {
	const char *function;         /* the function of the tables that has created it */
	char prefix[FAKE_TEXT_BYTES]; /* of its profile; "": it is not profiled */
	unsigned collectors_count;    /* execution providers "epprof" that it has */
};

/* What the library does, and what it was asked for; `fake_state` is exported. */
struct fake_state {
	const char *version;                         /* "1.29.0" at first */
	const char *failing;                         /* a function that fails; NULL: none */
	bool only_collector_fails;                   /* with it, a session without the collector is created */
	unsigned registrations_count, options_count; /* options that exist */
	char registered[FAKE_TEXT_BYTES];            /* the path of the last library */
};

#endif
