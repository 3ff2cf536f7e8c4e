/* Fuzz targets: functions that get hostile bytes.  `make fuzz` runs them with libFuzzer (fuzz_main.c), check_fuzz runs
 * them with their seeds and a few random changes.
 *
 * A target must not crash, hang or exhaust memory.  Where the result of an operation must have a property (a recovered
 * trace must open), the target aborts if it does not. */
#ifndef EPPROF_TESTS_FUZZ_FUZZ_H
#define EPPROF_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FUZZ_BYTES_MAX 65536u

/* Changes bytes at random, as LLVMFuzzerMutate: returns the new size, at most `room`. */
typedef size_t (*fuzz_change_fn)(uint8_t *bytes, size_t count, size_t room);

struct fuzz_target {
	const char *name;
	void (*run)(const uint8_t *bytes, size_t count);
	/* Makes a seed, of at most FUZZ_BYTES_MAX bytes; returns its size, 0 beyond the last. */
	size_t (*seed)(size_t index, uint8_t *bytes);
	/* Changes an input and repairs its checksums.  NULL: `change` alone does. */
	size_t (*mutate)(uint8_t *bytes, size_t count, size_t room, unsigned random, fuzz_change_fn change);
};

extern const struct fuzz_target fuzz_trace, fuzz_rewrite, fuzz_export, fuzz_json, fuzz_xspace, fuzz_profile, fuzz_pu1,
    fuzz_npy, fuzz_sql, fuzz_http;

/* Returns target number `index`; NULL beyond the last. */
const struct fuzz_target *fuzz_target_at(size_t index);

/* For targets: aborts unless the condition holds. */
#define FUZZ_MUST(condition) \
	do { \
		if (!(condition)) \
			abort(); \
	} while (0)

/* Returns the path of a scratch file of this process, in TMPDIR, the same for the same name.  Valid until the process
 * ends. */
const char *fuzz_path(const char *name);
/* Writes or reads a whole file; fuzz_read returns its size, 0 if it has more than FUZZ_BYTES_MAX bytes. */
void fuzz_write(const char *path, const uint8_t *bytes, size_t count);
size_t fuzz_read(const char *path, uint8_t *bytes);

/* ---- traces: fuzz_trace_seeds.c, fuzz_trace_mutate.c ---- */

size_t fuzz_trace_seed(size_t index, uint8_t *bytes);
/* Opens a valid trace that is not one of the seeds.  Ownership: the caller closes it. */
struct epp_trace *fuzz_trace_other(void);
size_t fuzz_trace_mutate(uint8_t *bytes, size_t count, size_t room, unsigned random, fuzz_change_fn change);

#endif
