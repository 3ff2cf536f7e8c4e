/* A writer for Thrift's compact protocol, used by the page headers and the footer of Parquet.
 *
 * Fields are written one by one into memory that the caller provides, and that must be large enough.  Nothing is
 * allocated; all state is in struct thrift.  The head of a field has the distance from the previous field of the same
 * struct, so fields must be written in the order of their numbers:
 *
 *   struct thrift thrift = thrift_begin(room);
 *   thrift_i32(&thrift, 1, 7);
 *   thrift_struct(&thrift, 5);                          field 5 is a struct
 *   thrift_i64(&thrift, 1, -1);
 *   thrift_end(&thrift);
 *   thrift_list(&thrift, 6, THRIFT_STRUCT, 2);          field 6 is a list of two structs, each begun with field 0
 *   ...
 *   thrift_end(&thrift);                                the outermost
 *   count = thrift.at - room; */
#ifndef EPPROF_RUNTIME_EXPORT_PARQUET_THRIFT_H
#define EPPROF_RUNTIME_EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The maximum size of a number, of the head of a list, text or struct, and of the end of a struct.  The bytes of a text
 * are not included. */
#define THRIFT_FIELD_BYTES 16
/* The maximum nesting of structs. */
#define THRIFT_DEPTH_MAX 8

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_TEXT = 8, THRIFT_STRUCT = 12 };

struct thrift {
	char *at;
	unsigned depth;
	int last[THRIFT_DEPTH_MAX]; /* the number of the last field in each open struct */
};

/* Begins the outermost struct. */
struct thrift thrift_begin(char *at);

/* In all functions below, `field` is 0 for an element of a list, because elements have no head. */
void thrift_bool(struct thrift *thrift, int field, bool value); /* not for an element of a list */
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);
void thrift_text(struct thrift *thrift, int field, const char *text);
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);
/* Begins a struct. */
void thrift_struct(struct thrift *thrift, int field);
/* Ends the innermost open struct. */
void thrift_end(struct thrift *thrift);

#endif
