/* Thrift's compact protocol, writing only: what the heads of Parquet's pages and its footer are made of.
 *
 * Written piece by piece into memory whose size the caller has made sure of; neither allocates nor keeps state elsewhere.
 * A field's head is the distance from the field before it in the same struct, so fields go in the order of their numbers:
 *
 *   struct thrift thrift = thrift_begin(room);
 *   thrift_i32(&thrift, 1, 7);
 *   thrift_struct(&thrift, 5);                          field 5 is a struct
 *   thrift_i64(&thrift, 1, -1);
 *   thrift_end(&thrift);
 *   thrift_list(&thrift, 6, THRIFT_STRUCT, 2);          field 6 is a list of two structs, each begun with field 0
 *   ...
 *   thrift_end(&thrift);                                the outermost
 *   count = thrift.at - room;
 */
#ifndef EPPROF_RUNTIME_EXPORT_PARQUET_THRIFT_H
#define EPPROF_RUNTIME_EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The most that a number, the head of a list or a struct, and what ends a struct take; text takes its bytes besides. */
#define THRIFT_FIELD_BYTES 16
/* How deep structs may lie in structs. */
#define THRIFT_DEPTH_MAX 8

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_TEXT = 8, THRIFT_STRUCT = 12 };

struct thrift {
	char *at;
	unsigned depth;
	int last[THRIFT_DEPTH_MAX]; /* the field before, of each struct that is open */
};

/* Begins the outermost struct. */
struct thrift thrift_begin(char *at);

/* `field` is 0 for an element of a list, which has no head. */
void thrift_bool(struct thrift *thrift, int field, bool value); /* never an element */
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);
/* Bytes, or text. */
void thrift_bytes(struct thrift *thrift, int field, const void *bytes, size_t count);
void thrift_text(struct thrift *thrift, int field, const char *text);
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);
/* Begins a struct. */
void thrift_struct(struct thrift *thrift, int field);
/* Ends the struct begun last. */
void thrift_end(struct thrift *thrift);

#endif
