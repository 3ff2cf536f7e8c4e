/* For the tests of what is written in Thrift's compact protocol: a reader of it, field by field.  Whatever is not as the
 * protocol says fails the test. */
#ifndef EPPROF_TESTS_SUPPORT_THRIFT_TEXT_H
#define EPPROF_TESTS_SUPPORT_THRIFT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thrift_cursor {
	const uint8_t *at, *end;
};

struct thrift_field {
	int number, type;
	int64_t integer;
	const uint8_t *bytes; /* of text, or where a struct or the elements of a list begin */
	size_t count;         /* of text, or of a list's elements */
	int element;          /* a list's type */
	const uint8_t *end;
};

uint64_t thrift_read_varint(struct thrift_cursor *cursor);
int64_t thrift_read_zigzag(struct thrift_cursor *cursor);
/* A value of field->type, which is 12 for a struct without a head. */
void thrift_read(struct thrift_cursor *cursor, struct thrift_field *field);
/* The next field of a struct; `*last` is 0 at first.  False: it was the last. */
bool thrift_next(struct thrift_cursor *cursor, int *last, struct thrift_field *field);

/* A field of a struct; with type 0 if it is not there. */
struct thrift_field thrift_get(const struct thrift_field *within, int number);
/* One that must be there, a number or a bool. */
int64_t thrift_integer(const struct thrift_field *within, int number);
struct thrift_field thrift_element(const struct thrift_field *list, size_t index);
/* A text.  Ownership: malloc. */
char *thrift_copy(const struct thrift_field *field);

#endif
