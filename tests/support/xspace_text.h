/* Reads an XSpace field by field, for the tests of its writer. */
#ifndef EPPROF_TESTS_SUPPORT_XSPACE_TEXT_H
#define EPPROF_TESTS_SUPPORT_XSPACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct xspace_found {
	char plane[64], line[64], name[64];
	int64_t line_unix_ns;
	int64_t offset_ps, duration_ps;
	uint64_t correlation;
	char details[128];
	unsigned details_count;
};

struct xspace_text {
	struct xspace_found *events; /* the events of all documents that were read, in order */
	size_t count;
};

/* Reads a document, and asserts that it is valid. */
void xspace_text_read(struct xspace_text *text, const char *bytes, size_t count);
/* Finds the first event with that name, and asserts that there is one. */
const struct xspace_found *xspace_text_find(const struct xspace_text *text, const char *name);
void xspace_text_free(struct xspace_text *text);

#endif
