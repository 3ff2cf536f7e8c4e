/* Protobuf's wire format: writing piece by piece into memory whose size the caller has made sure of, and reading bytes
 * of anybody with bounds checked.  Neither allocates nor keeps state.
 *
 * Writing.  A message inside another stands behind its length, so each message has two functions, one that adds up
 * its size and one that writes it, from the same list of fields:
 *
 *   size_t point_bytes(const struct point *p) { return protobuf_u64_bytes(1, p->x) + protobuf_text_bytes(2, p->n, p->len); }
 *   char *point_write(char *at, const struct point *p) { at = protobuf_u64(at, 1, p->x); return protobuf_text(...); }
 *   ...
 *   at = protobuf_head(at, 7, point_bytes(p));         field 7 is a message of so many bytes
 *   at = point_write(at, p);
 *
 * A write returns the new end; `protobuf_x(at, ...)` writes exactly `protobuf_x_bytes(...)` bytes and touches no other.
 * Constant field numbers are folded away.  A field is written whatever its value: proto3 would leave out a zero, which
 * members of a oneof must not do, so leaving out is the caller's.  Where size matters less than a second list of fields,
 * protobuf_begin and protobuf_end write the length afterwards.
 *
 * Reading.  protobuf_next yields the fields of a message one by one, in the order in which they stand:
 *
 *   struct protobuf_reader reader = protobuf_reader_of(bytes, count);
 *   struct protobuf_field field;
 *   while (protobuf_next(&reader, &field)) {
 *           if (protobuf_is(&field, 1, PROTOBUF_VARINT)) x = field.value;
 *           else if (protobuf_is(&field, 2, PROTOBUF_BYTES)) name = field.bytes;    field.count of them, not terminated
 *   }
 *   if (reader.damaged) ...
 */
#ifndef EPPROF_RUNTIME_ENCODING_PROTOBUF_H
#define EPPROF_RUNTIME_ENCODING_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The most that a field with a number for its value takes, and the head of one with bytes. */
#define PROTOBUF_FIELD_BYTES 15
#define PROTOBUF_VARINT_BYTES 10
/* What protobuf_begin and protobuf_end bracket is shorter than this. */
#define PROTOBUF_BRACKET_MAX (UINT64_C(1) << 28)

/* How a value is laid out: the lowest three bits of a tag. */
enum protobuf_type { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

/* Bytes that their writer called a string: not terminated, perhaps not UTF-8. */
struct protobuf_string {
	const char *text;
	size_t bytes;
};

/* ---- sizes ---- */

static inline size_t protobuf_varint_bytes(uint64_t value)
{
	/* Of the bits in use, one at least, the seventh part rounded up. */
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

/* sint32 and sint64: small values are short, whatever their sign. */
static inline uint64_t protobuf_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline size_t protobuf_s64_bytes(uint32_t field, int64_t value)
{
	return protobuf_u64_bytes(field, protobuf_zigzag(value));
}

/* fixed64, sfixed64 and double; fixed32, sfixed32 and float. */
static inline size_t protobuf_fixed64_bytes(uint32_t field)
{
	return protobuf_tag_bytes(field) + 8;
}

static inline size_t protobuf_fixed32_bytes(uint32_t field)
{
	return protobuf_tag_bytes(field) + 4;
}

/* bytes, and a message of `count` bytes: head and content. */
static inline size_t protobuf_bytes_bytes(uint32_t field, size_t count)
{
	return protobuf_u64_bytes(field, count) + count;
}

/* A string: what is not UTF-8 in it counts as U+FFFD. */
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

/* The lowest 56 bits, seven in each byte: halves apart, then quarters, then eighths. */
static inline uint64_t protobuf_spread(uint64_t value)
{
	value = (value & UINT64_C(0x000000000fffffff)) | (value & UINT64_C(0x00fffffff0000000)) << 4;
	value = (value & UINT64_C(0x00003fff00003fff)) | (value & UINT64_C(0x0fffc0000fffc000)) << 2;
	return (value & UINT64_C(0x007f007f007f007f)) | (value & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* The same without a loop, whose end is hard to foresee; may write on up to PROTOBUF_VARINT_BYTES. */
static inline char *protobuf_varint_roomy(char *at, uint64_t value)
{
	size_t bytes = protobuf_varint_bytes(value);
	uint64_t text = protobuf_spread(value);

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
	/* Without a loop for the two lengths that real fields have, so that a constant tag is one store. */
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

static inline char *protobuf_s64(char *at, uint32_t field, int64_t value)
{
	return protobuf_u64(at, field, protobuf_zigzag(value));
}

/* Fixed values are little-endian, as is every processor that this runs on. */
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

/* The head of a field whose `count` bytes the caller writes behind it. */
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

/* A string.  Readers refuse, or stop at, one that is not UTF-8: such bytes become U+FFFD. */
char *protobuf_text(char *at, uint32_t field, const char *text, size_t bytes);

/* A message whose length is known only at its end, below PROTOBUF_BRACKET_MAX.  The length always takes
 * PROTOBUF_BRACKET_BYTES, padded as a varint may be. */
#define PROTOBUF_BRACKET_BYTES 4

static inline char *protobuf_begin(char *at, uint32_t field)
{
	return protobuf_tag(at, field, PROTOBUF_BYTES) + PROTOBUF_BRACKET_BYTES;
}

/* `begun` is what protobuf_begin returned, `end` where the message ends. */
static inline void protobuf_end(char *begun, const char *end)
{
	uint32_t count = (uint32_t)(end - begun);
	begun[-4] = (char)(count | 0x80);
	begun[-3] = (char)(count >> 7 | 0x80);
	begun[-2] = (char)(count >> 14 | 0x80);
	begun[-1] = (char)(count >> 21 & 0x7F);
}

/* The same for a message that is certainly shorter than 128 bytes, with its length in one byte, as short as it can be. */
static inline char *protobuf_begin_short(char *at, uint32_t field)
{
	return protobuf_tag(at, field, PROTOBUF_BYTES) + 1;
}

static inline void protobuf_end_short(char *begun, const char *end)
{
	begun[-1] = (char)(end - begun);
}

/* ---- reading ---- */

/* What is left of a message.  `damaged`: it did not end where it should, or held what no message holds. */
struct protobuf_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool damaged;
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;       /* of all types but PROTOBUF_BYTES: as it stands, to be cast */
	const uint8_t *bytes; /* of PROTOBUF_BYTES: inside the message */
	size_t count;
};

static inline struct protobuf_reader protobuf_reader_of(const void *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *)bytes;
	return (struct protobuf_reader){ at, count ? at + count : at, false };
}

/* Of the message or the packed numbers that a field of type PROTOBUF_BYTES holds. */
static inline struct protobuf_reader protobuf_reader_in(const struct protobuf_field *field)
{
	return protobuf_reader_of(field->bytes, field->count);
}

/* The next field; false at the end, and where the bytes are damaged (tag 0, a length beyond the end, a varint longer
 * than ten bytes, groups, which nobody writes any more): then `damaged` is set and the reader stays at its end. */
bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field);

/* The next of packed varints, likewise. */
bool protobuf_next_varint(struct protobuf_reader *reader, uint64_t *value);

/* A field whose type is not the one expected is an unknown field to every reader of protobuf: skip it. */
static inline bool protobuf_is(const struct protobuf_field *field, uint32_t number, enum protobuf_type type)
{
	return field->number == number && field->type == type;
}

static inline struct protobuf_string protobuf_as_string(const struct protobuf_field *field)
{
	return (struct protobuf_string){ (const char *)field->bytes, field->count };
}

/* The value of a double, and of a sint32 or sint64; integers are cast. */
static inline double protobuf_as_f64(uint64_t value)
{
	double number;
	memcpy(&number, &value, sizeof(number));
	return number;
}

static inline int64_t protobuf_as_s64(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
