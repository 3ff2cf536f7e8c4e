/* A set of 64-bit numbers: open addressing, grows, never shrinks.  One thread at a time. */
#ifndef EPPROF_FILE_READER_SET_H
#define EPPROF_FILE_READER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: empty. */
struct reader_set {
	uint64_t *places; /* 0: free */
	size_t places_count;
	size_t count;
	bool has_zero;
};

/* False: no memory.  `*added` says whether it is new. */
bool reader_set_add(struct reader_set *set, uint64_t number, bool *added);
bool reader_set_has(const struct reader_set *set, uint64_t number);
void reader_set_deinit(struct reader_set *set);

#endif
