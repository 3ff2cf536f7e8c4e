/* The interface of the scripted PU1 plugin: a test finds `struct pu1_script script` with dlsym, sets the plugin's
 * results, and reads the calls. */
#ifndef EPPROF_TESTS_PLUGINS_SCRIPTED_PU1_H
#define EPPROF_TESTS_PLUGINS_SCRIPTED_PU1_H

#include <stdatomic.h>

#include "epprof/abi/pu1.h"

struct pu1_script {
	/* Set by the test: the results of functions. */
	uint32_t version;
	int rejects;
	unsigned kinds_refused; /* 1 << kind */
	pu1Result set_callbacks_result;
	pu1Result push_result;
	pu1Result pop_result;
	pu1Result flush_result;
	pu1Result dropped_result;
	pu1Result timestamp_result;
	uint64_t pop_offset;          /* added to each id that it pops */
	uint64_t (*now_ns)(void);     /* NULL: CLOCK_REALTIME */
	void (*on_flush)(void);       /* called in pu1FlushAll; may be NULL */
	_Atomic size_t dropped_count; /* reported once */

	/* Set by the plugin: the calls. */
	_Atomic unsigned kinds_enabled;
	_Atomic unsigned registered_count;
	_Atomic unsigned set_callbacks_count;
	_Atomic unsigned flushes_count;
	pu1BufferRequestFn request;
	pu1BufferCompleteFn complete;

	/* The depth of the calling thread's stack. */
	size_t (*depth)(void);
	uint64_t (*top)(void);
};

#endif
