/* A PU1 library in use: its functions, and the state that its callbacks, runs and profilers share.
 *
 * The callbacks of the ABI have no user pointer, so each library has a number and separate callbacks for that number.
 * A library that came into use stays in use until the process ends.
 *
 * Locks, in the order in which they are taken.  While the library's code runs, its worker and its reader may hold
 * `run_lock` and `read_lock`, and no other lock.  The callbacks take only `lock` and the pool's lock, so a library may
 * call them from anywhere.
 *   run_lock    enabling, disabling, flushing, runs_count
 *   read_lock reading of buffers, the profilers' ledgers, pushing to sessions
 *   lock        the list of profilers, the reader; never held across foreign code */
#ifndef EPPROF_RUNTIME_PLUGINS_PU1_PU1_LIBRARY_H
#define EPPROF_RUNTIME_PLUGINS_PU1_PU1_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/status.h"
#include "epprof/abi/pu1.h"
#include "epprof/ep_push.h"

#define PU1_LIBRARIES_MAX 8u
#define PU1_PROFILERS_MAX 64u /* per library, at the same time */
#define PU1_KINDS_COUNT 5u    /* number of kinds, beginning with PU1_KIND_CONCURRENT_KERNEL */
#define PU1_FAULT_BYTES 160u

struct pu1_calls {
	uint32_t (*get_version)(void);
	int (*register_plugin)(void);
	pu1Result (*enable)(pu1ActivityKind kind);
	pu1Result (*disable)(pu1ActivityKind kind);
	pu1Result (*set_callbacks)(pu1BufferRequestFn request, pu1BufferCompleteFn complete);
	pu1Result (*push)(uint64_t id);
	pu1Result (*pop)(uint64_t *last_id);
	pu1Result (*flush)(void);
	/* pu1GetNextRecord, which every library must export.  It is not called: the reader finds records by their sizes
	 * and checks each one right before it moves there (pu1_record_next). */
	pu1Result (*next_record)(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record);
	/* May be NULL. */
	pu1Result (*dropped_count)(size_t *count);
	pu1Result (*timestamp)(uint64_t *now_ns);
	pu1Result (*clock_error)(uint64_t *error_ns);
	const char *(*result_text)(pu1Result result);
};

struct plugin_probe;
struct pu1_tokens;
struct pu1_reading;
struct pu1_profiler;

struct pu1_library {
	unsigned number;
	void *library; /* from dlopen; NULL: not in use */
	struct pu1_calls calls;
	pu1BufferRequestFn request;
	pu1BufferCompleteFn complete;

	pthread_mutex_t run_lock;
	unsigned runs_count;
	unsigned kinds_enabled; /* set of bits 1 << kind */

	pthread_mutex_t read_lock;
	struct pu1_reading *reading; /* created with the first run */
	struct pu1_tokens *tokens;   /* created with the first run, then constant */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	LIST_HEAD(, pu1_profiler) profilers; /* to change the list, read_lock must be held too */
	bool reader_is_there;
	bool reader_may_go;
	bool has_run; /* if not, the reader only waits for buffers that come late */
	bool due;     /* a buffer is full, so the reader has work */

	_Atomic uint64_t declined_count; /* requests for a buffer that were declined since the last check, because all
                                          * buffers were in use */
	_Atomic(const char *) misuse;    /* an error in the library's use of a callback since the last check; static
                                          * text */
};

/* Opens a library for use, unless it is in use already.  It then stays loaded until the process ends.  `handle` is from
 * dlopen, for `path`.  Errors: EPP_INCOMPATIBLE (symbols are missing, and the message names all; another major
 * version), EPP_PLUGIN (the library refuses), EPP_LIMIT (PU1_LIBRARIES_MAX are in use). */
epp_status *pu1_library_use(void *handle, const char *path, struct pu1_library **library);

/* Reports the version and the entries of the library to a probe. */
void pu1_library_describe(const struct pu1_library *library, const struct plugin_probe *probe);

/* Reads the clock of the records; false: the clock cannot be read. */
bool pu1_library_now(const struct pu1_library *library, uint64_t *now_ns);

/* Writes the number of a result and the library's text for it into `text`: "result 7 (...)".  Returns `text`. */
const char *pu1_result_text(const struct pu1_library *library, pu1Result result, char *text, size_t room);

/* Calls a function for each library in use. */
void pu1_library_each(void (*call)(struct pu1_library *library));

#endif
