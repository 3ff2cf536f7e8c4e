/* What the tests of readers of protobuf share: messages written by hand, fields in any order, and what a reader told of
 * them, as text.  A program defines read_message, whose callbacks tell. */
#ifndef EPPROF_TESTS_ENCODING_PROTOBUF_READER_H
#define EPPROF_TESTS_ENCODING_PROTOBUF_READER_H

#include <stdlib.h>
#include <string.h>

#include "encoding/protobuf.h"
#include "tests/support/check.h"

struct bytes {
	char at[4096];
	size_t count;
};

static void add(struct bytes *to, uint32_t field, const struct bytes *message)
{
	to->count = (size_t)(protobuf_bytes(to->at + to->count, field, message->at, message->count) - to->at);
}

static void add_number(struct bytes *to, uint32_t field, int64_t value)
{
	to->count = (size_t)(protobuf_i64(to->at + to->count, field, value) - to->at);
}

static char told[8192];
static char *told_end;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	told_end += vsnprintf(told_end, (size_t)(told + sizeof(told) - told_end), format, args);
	va_end(args);
	ck_assert(told_end < told + sizeof(told));
}

static epp_status *read_message(const void *bytes, size_t count);

/* Reads it and leaves in `told` what was told. */
static epp_status *read_of(const void *bytes, size_t count)
{
	/* Nothing lies behind the copy, so that the sanitizer sees a read past its end. */
	void *copy = malloc(count ? count : 1);
	memcpy(copy, bytes, count);
	told_end = told;
	*told = 0;
	epp_status *status = read_message(copy, count);
	free(copy);
	return status;
}

#endif
