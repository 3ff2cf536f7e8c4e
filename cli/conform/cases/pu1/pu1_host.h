/* Acts as the framework for a PU1 library: calls its functions directly, without libepprof, provides the buffers, and
 * checks what the library writes into them. */
#ifndef EPPROF_CLI_CONFORM_CASES_PU1_PU1_HOST_H
#define EPPROF_CLI_CONFORM_CASES_PU1_PU1_HOST_H

#include <pthread.h>

#include "cli/conform/conform.h"
#include "epprof/abi/pu1.h"

#define PU1_BUFFERS_MAX 4096
#define PU1_RECORDS_MAX 4096
/* Units of work in a run; a unit has at least one kernel.  Cases that use a session of libepprof pass other numbers to
 * the work function, so a test plugin can find out which kind of case runs. */
#define PU1_WORK_COUNT 3
#define PU1_DEFAULT_BYTES 65536

struct pu1_host {
	const struct conform *conform;
	int (*work)(int count); /* gives the device `count` units of work; NULL: the command line names no function */
	int work_count;         /* units in a run, initially PU1_WORK_COUNT */
	pu1Result (*enable)(pu1ActivityKind kind);
	pu1Result (*disable)(pu1ActivityKind kind);
	pu1Result (*set_callbacks)(pu1BufferRequestFn request, pu1BufferCompleteFn complete);
	pu1Result (*push)(uint64_t id);
	pu1Result (*pop)(uint64_t *last_id);
	pu1Result (*flush)(void);
	pu1Result (*next_record)(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record);
	/* Optional: may be NULL. */
	pu1Result (*dropped_count)(size_t *count);
	pu1Result (*timestamp)(uint64_t *now_ns);
	const char *(*result_text)(pu1Result result);
};

/* All buffers that the library was given.  The ABI's callbacks have no user pointer, so the process has one such
 * set. */
struct pu1_buffers {
	pthread_mutex_t lock; /* guards all below */
	size_t bytes;         /* size of each buffer; 0: requests get no buffer */
	size_t max_records;   /* most records that the library may write into a buffer; 0: as many as it has room for */
	unsigned count;       /* number of buffers in `all` */
	struct pu1_buffer {
		uint8_t *bytes; /* `size` bytes, and guard bytes behind them, which the library must not change */
		/* size of the buffer; and the valid bytes and the size that the library reported at the last
		 * completion */
		size_t size, valid_bytes, reported_bytes;
		size_t max_records;
		unsigned completed_count; /* number of times that the library has completed the buffer */
		bool is_first_set;        /* the buffer was given by the first pair of callbacks */
		uint64_t sum;             /* pu1_sum at the last completion */
	} all[PU1_BUFFERS_MAX];
	/* number of completed buffers that the host did not provide */
	unsigned foreign_count;
};
extern struct pu1_buffers pu1_buffers;

/* ---- pu1_trace.c ---- */

/* Replaces the functions in `host` by functions that record each call in the trace and then call the library. */
void pu1_trace(struct pu1_host *host);

/* ---- pu1_host.c ---- */

/* Opens the library, checks its version and calls its registration function.  Skips the case if one of these fails. */
void pu1_open(const struct conform *conform, struct pu1_host *host);
/* As pu1_open; then sets the first pair of callbacks, which provide buffers of this size. */
void pu1_open_with_buffers(const struct conform *conform, struct pu1_host *host, size_t buffer_bytes, size_t max_records);
/* Sets a second pair of callbacks, which provide buffers with `is_first_set` false. */
pu1Result pu1_set_second(const struct pu1_host *host);

/* Fails the case if the result is not the expected one. */
void pu1_expect(const struct pu1_host *host, const char *step, pu1Result result, pu1Result expected);
/* Gives the device work.  Skips the case if the command line names no function for it, or if it fails. */
void pu1_work(const struct pu1_host *host);
/* Enables kernels, gives the device work, flushes, and disables kernels. */
void pu1_run(const struct pu1_host *host);

/* Copies the records of the completed buffers, at most PU1_RECORDS_MAX, and returns their number.  Stops at the first
 * malformed record; *wrong is then set to a description of it, else to NULL.  `wrong` may be NULL. */
size_t pu1_records(pu1ActivityRecord *records, const char **wrong);
size_t pu1_count_kernels(void);
/* Returns the number of guard bytes behind the buffers that were changed. */
size_t pu1_guard_check(void);
/* Returns a checksum of a buffer and its guard bytes. */
uint64_t pu1_sum(const struct pu1_buffer *buffer);

#endif
