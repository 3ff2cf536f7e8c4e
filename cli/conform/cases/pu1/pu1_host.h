/* A host of PU1 libraries that calls the functions itself, without libepprof, provides the buffers, and checks what is
 * written into them. */
#ifndef EPPROF_CLI_CONFORM_CASES_PU1_PU1_HOST_H
#define EPPROF_CLI_CONFORM_CASES_PU1_PU1_HOST_H

#include <pthread.h>

#include "cli/conform/conform.h"
#include "epprof/abi/pu1.h"

#define PU1_BUFFERS_MAX 4096
#define PU1_RECORDS_MAX 4096
/* Units of work; a unit has at least one kernel.  The cases that use a session give the device other numbers. */
#define PU1_WORK_COUNT 3
#define PU1_DEFAULT_BYTES 65536

struct pu1_host {
	const struct conform *conform;
	int (*work)(int count);
	int work_count; /* units in a run, initially PU1_WORK_COUNT */
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

/* The buffers.  The ABI has no user pointer, so there is one set for the process. */
struct pu1_buffers {
	pthread_mutex_t lock; /* guards all below */
	size_t bytes;         /* the size of each buffer; 0: requests get no buffer */
	size_t max_records;
	unsigned count;
	struct pu1_buffer {
		uint8_t *bytes; /* has a guard behind it */
		size_t size, valid_bytes, reported_bytes;
		size_t max_records;
		unsigned completed_count;
		bool is_first_set; /* given by the first pair of callbacks */
		uint64_t sum;      /* of the bytes when it was completed */
	} all[PU1_BUFFERS_MAX];
	unsigned foreign_count; /* buffers that were given back and are not the host's */
};
extern struct pu1_buffers pu1_buffers;

/* ---- pu1_trace.c ---- */

/* Replaces the functions by those that record their calls in the trace. */
void pu1_trace(struct pu1_host *host);

/* ---- pu1_host.c ---- */

/* Opens the library, checks its version and registers it, or skips the case. */
void pu1_open(const struct conform *conform, struct pu1_host *host);
/* As pu1_open, and sets callbacks. */
void pu1_open_with_buffers(const struct conform *conform, struct pu1_host *host, size_t buffer_bytes, size_t max_records);
/* Sets the second pair of callbacks. */
pu1Result pu1_set_second(const struct pu1_host *host);

/* Fails the case if the result is not the expected one. */
void pu1_expect(const struct pu1_host *host, const char *step, pu1Result result, pu1Result expected);
/* Gives the device work. */
void pu1_work(const struct pu1_host *host);
/* Enables kernels, gives the device work, flushes, and disables kernels. */
void pu1_run(const struct pu1_host *host);

/* Copies the records of the completed buffers; stops at the first that is malformed, which `wrong` (if not NULL)
 * describes.  Returns their number. */
size_t pu1_records(pu1ActivityRecord *records, const char **wrong);
size_t pu1_count_kernels(void);
/* Bytes behind the buffers that were changed. */
size_t pu1_guard_check(void);
uint64_t pu1_sum(const struct pu1_buffer *buffer);

#endif
