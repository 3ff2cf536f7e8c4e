/* Protobuf's wire format: writes messages into memory that the caller has reserved, and reads untrusted bytes with
 * bounds checks. Neither allocates or keeps state.
 *
 * Writing. The length of a nested message precedes it, so each message has two functions, one that computes its size
 * and one that writes it, with the same list of fields:
 *
 *   size_t point_bytes(const struct point *p) { return protobuf_u64_bytes(1, p->x) + protobuf_text_bytes(2, p->n, p->len); }
 *   char *point_write(char *at, const struct point *p) { at = protobuf_u64(at, 1, p->x); return protobuf_text(...); }
 *   ...
 *   at = protobuf_head(at, 7, point_bytes(p));         field 7 is a message of so many bytes
 *   at = point_write(at, p);
 *
 * A write function returns the new end; `protobuf_x(at, ...)` writes exactly `protobuf_x_bytes(...)` bytes. The
 * compiler folds constant field numbers. Fields are always written: proto3 would omit a zero, but members of a oneof
 * must not be omitted, so omitting is left to the caller. If the size matters less than the second list of fields,
 * protobuf_begin and protobuf_end write the length afterwards.
 *
 * Reading. protobuf_next returns the fields of a message one by one, in file order:
 *
 *   struct protobuf_reader reader = protobuf_reader_of(bytes, count);
 *   struct protobuf_field field;
 *   while (protobuf_next(&reader, &field)) {
 *           if (protobuf_is(&field, 1, PROTOBUF_VARINT)) x = field.value;
 *           else if (protobuf_is(&field, 2, PROTOBUF_BYTES)) name = field.bytes;    field.count of them, not terminated
 *   }
 *   if (reader.damaged) ... */
#ifndef EPPROF_RUNTIME_ENCODING_PROTOBUF_H
#define EPPROF_RUNTIME_ENCODING_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Maximum size of a field with a number, and of the head of a field with bytes; maximum size of a varint. */
#define PROTOBUF_FIELD_BYTES 15
#define PROTOBUF_VARINT_BYTES 10
/* Limit of a message's size with protobuf_begin and protobuf_end. */
#define PROTOBUF_BRACKET_MAX (UINT64_C(1) << 28)

/* Wire types: the lowest three bits of a tag. */
enum protobuf_type { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

/* The bytes of a string field: not terminated, possibly not UTF-8. */
struct protobuf_string {
	const char *text;
	size_t bytes;
};

/* ---- sizes ---- */

static inline size_t protobuf_varint_bytes(uint64_t value)
{
	/* ceil(bits / 7) for the number of significant bits, at least 1. */
	return ((64 - (size_t)__builtin_clzll(value | 1)) * 37 + 222) >> 8;
}

static inline size_t protobuf_tag_bytes(uint32_t field)
{
	return protobuf_varint_bytes((uint64_t)field << 3);
}

static inline size_t protobuf_u64_bytes(uint32_t field, uint64_t value)
{
	return protobuf_tag_bytes(field) + protobuf_varint_bytes(value);
}

/* int32, int64, enum and bool: negative values take ten bytes. */
static inline size_t protobuf_i64_bytes(uint32_t field, int64_t value)
{
	return protobuf_u64_bytes(field, (uint64_t)value);
}

/* sint32 and sint64: values near zero are short, with either sign. */
static inline uint64_t protobuf_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* fixed64, sfixed64 and double; fixed32, sfixed32 and float. */
static inline size_t protobuf_fixed64_bytes(uint32_t field)
{
	return protobuf_tag_bytes(field) + 8;
}

/* bytes, or a message of `count` bytes: head and content. */
static inline size_t protobuf_bytes_bytes(uint32_t field, size_t count)
{
	return protobuf_u64_bytes(field, count) + count;
}

/* A string. Bytes that are not UTF-8 count as U+FFFD. */
size_t protobuf_text_bytes(uint32_t field, const char *text, size_t bytes);

/* ---- writing ---- */

static inline char *protobuf_varint(char *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (char)(value | 0x80);
		value >>= 7;
	}
	*at++ = (char)value;
	return at;
}

/* Expands the lowest 56 bits to seven per byte: separates halves, then quarters, then eighths. */
static inline uint64_t protobuf_expand_groups(uint64_t value)
{
	value = (value & UINT64_C(0x000000000fffffff)) | (value & UINT64_C(0x00fffffff0000000)) << 4;
	value = (value & UINT64_C(0x00003fff00003fff)) | (value & UINT64_C(0x0fffc0000fffc000)) << 2;
	return (value & UINT64_C(0x007f007f007f007f)) | (value & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* As protobuf_varint, without a loop, whose length is hard to predict; may overwrite up to PROTOBUF_VARINT_BYTES. */
static inline char *protobuf_varint_roomy(char *at, uint64_t value)
{
	size_t bytes = protobuf_varint_bytes(value);
	uint64_t text = protobuf_expand_groups(value);

	if (bytes > sizeof(text)) {
		text |= UINT64_C(0x8080808080808080);
		memcpy(at, &text, sizeof(text));
		return protobuf_varint(at + sizeof(text), value >> 56);
	}
	text |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * bytes - 1)) - 1);
	memcpy(at, &text, sizeof(text));
	return at + bytes;
}

static inline char *protobuf_tag(char *at, uint32_t field, enum protobuf_type type)
{
	/* No loop for tags of one or two bytes, which cover all fields in use, so that a constant tag is one store. */
	uint32_t tag = field << 3 | (uint32_t)type;
	if (tag < 1 << 7) {
		*at = (char)tag;
		return at + 1;
	}
	if (tag < 1 << 14) {
		at[0] = (char)(tag | 0x80);
		at[1] = (char)(tag >> 7);
		return at + 2;
	}
	return protobuf_varint(at, tag);
}

static inline char *protobuf_u64(char *at, uint32_t field, uint64_t value)
{
	return protobuf_varint(protobuf_tag(at, field, PROTOBUF_VARINT), value);
}

/* As protobuf_varint_roomy. */
static inline char *protobuf_u64_roomy(char *at, uint32_t field, uint64_t value)
{
	return protobuf_varint_roomy(protobuf_tag(at, field, PROTOBUF_VARINT), value);
}

static inline char *protobuf_i64(char *at, uint32_t field, int64_t value)
{
	return protobuf_u64(at, field, (uint64_t)value);
}

/* Fixed values are little-endian, as are all supported processors. */
static inline char *protobuf_fixed64(char *at, uint32_t field, uint64_t value)
{
	at = protobuf_tag(at, field, PROTOBUF_FIXED64);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline char *protobuf_fixed32(char *at, uint32_t field, uint32_t value)
{
	at = protobuf_tag(at, field, PROTOBUF_FIXED32);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline char *protobuf_f64(char *at, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return protobuf_fixed64(at, field, bits);
}

/* Writes the head of a field; the caller writes its `count` bytes behind it. */
static inline char *protobuf_head(char *at, uint32_t field, size_t count)
{
	return protobuf_varint(protobuf_tag(at, field, PROTOBUF_BYTES), count);
}

static inline char *protobuf_bytes(char *at, uint32_t field, const void *bytes, size_t count)
{
	at = protobuf_head(at, field, count);
	if (count)
		memcpy(at, bytes, count);
	return at + count;
}

/* Writes a string. Bytes that are not UTF-8 become U+FFFD, because readers reject such strings. */
char *protobuf_text(char *at, uint32_t field, const char *text, size_t bytes);

/* A message whose length, below PROTOBUF_BRACKET_MAX, is written after its content. The length always takes
 * PROTOBUF_BRACKET_BYTES, as a padded varint. */
#define PROTOBUF_BRACKET_BYTES 4

static inline char *protobuf_begin(char *at, uint32_t field)
{
	return protobuf_tag(at, field, PROTOBUF_BYTES) + PROTOBUF_BRACKET_BYTES;
}

/* `begun` is the result of protobuf_begin, `end` the end of the message. */
static inline void protobuf_end(char *start, const char *end)
{
	uint32_t count = (uint32_t)(end - start);
	start[-4] = (char)(count | 0x80);
	start[-3] = (char)(count >> 7 | 0x80);
	start[-2] = (char)(count >> 14 | 0x80);
	start[-1] = (char)(count >> 21 & 0x7F);
}

/* The same for a message shorter than 128 bytes, with a length of one byte. */
static inline char *protobuf_begin_short(char *at, uint32_t field)
{
	return protobuf_tag(at, field, PROTOBUF_BYTES) + 1;
}

static inline void protobuf_end_short(char *start, const char *end)
{
	start[-1] = (char)(end - start);
}

/* ---- reading ---- */

/* The unread part of a message. `damaged`: it was truncated or contained invalid data. */
struct protobuf_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool damaged;
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;       /* all types except PROTOBUF_BYTES: the raw value, to be cast */
	const uint8_t *bytes; /* PROTOBUF_BYTES: points into the message */
	size_t count;
};

static inline struct protobuf_reader protobuf_reader_of(const void *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *)bytes;
	return (struct protobuf_reader){ at, count ? at + count : at, false };
}

/* A reader of the message or the packed numbers in a PROTOBUF_BYTES field; other fields have nothing to read. */
static inline struct protobuf_reader protobuf_reader_in(const struct protobuf_field *field)
{
	bool has_bytes = field->type == PROTOBUF_BYTES;
	return protobuf_reader_of(has_bytes ? field->bytes : NULL, has_bytes ? field->count : 0);
}

/* Reads the next field. Returns false at the end, and if the bytes are damaged (tag 0, a length beyond the end, a
 * varint longer than ten bytes, or groups, which are obsolete): then `damaged` is set and the reader stays at its
 * end. */
bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field);

/* Reads the next of packed varints; returns as protobuf_next. */
bool protobuf_next_varint(struct protobuf_reader *reader, uint64_t *value);

/* A field of another type than expected must be skipped as an unknown field, as protobuf readers do. */
static inline bool protobuf_is(const struct protobuf_field *field, uint32_t number, enum protobuf_type type)
{
	return field->number == number && field->type == type;
}

static inline struct protobuf_string protobuf_as_string(const struct protobuf_field *field)
{
	return (struct protobuf_string){ (const char *)field->bytes, field->count };
}

/* Converts the value of a double. Integers are cast. */
static inline double protobuf_as_f64(uint64_t value)
{
	double number;
	memcpy(&number, &value, sizeof(number));
	return number;
}

#endif
