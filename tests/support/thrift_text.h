/* For the tests of data in Thrift's compact protocol: reads it field by field.  A violation of the protocol fails the
 * test. */
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
	const uint8_t *bytes; /* the bytes of a text, or the start of a struct or of a list's elements */
	size_t count;         /* the bytes of a text, or the number of a list's elements */
	int element;          /* the type of a list's elements */
	const uint8_t *end;
};

uint64_t thrift_read_varint(struct thrift_cursor *cursor);
int64_t thrift_read_zigzag(struct thrift_cursor *cursor);
/* Reads a value of field->type; 12 is a struct without a field header. */
void thrift_read(struct thrift_cursor *cursor, struct thrift_field *field);
/* Reads the next field of a struct; set `*last` to 0 before the first call.  False: there is no further field. */
bool thrift_next(struct thrift_cursor *cursor, int *last, struct thrift_field *field);

/* Finds a field of a struct; its type is 0 if it is not there. */
struct thrift_field thrift_get(const struct thrift_field *within, int number);
/* Finds a number or a bool, and asserts that it is there. */
int64_t thrift_integer(const struct thrift_field *within, int number);
struct thrift_field thrift_element(const struct thrift_field *list, size_t index);
/* Copies a text.  Ownership: malloc. */
char *thrift_copy(const struct thrift_field *field);

#endif
