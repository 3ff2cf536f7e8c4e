/* JSON text, written piece by piece into memory whose size the caller has made sure of.
 *
 * Every function writes at `at` and returns the new end, without a terminating zero.  Integers stay integers up to the
 * last character.  Text may hold any bytes: what JSON cannot hold is escaped, what is not UTF-8 becomes U+FFFD.
 * Used by export/; keeps no state. */
#ifndef EPPROF_RUNTIME_ENCODING_JSON_H
#define EPPROF_RUNTIME_ENCODING_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The room that one number needs; its last bytes may be written to, but are not part of it. */
#define JSON_NUMBER_BYTES 32
/* The most that `bytes` bytes of text take. */
#define JSON_ESCAPED_BYTES(bytes) ((bytes)*6)
/* Beyond this, readers that keep numbers as doubles lose digits; such integers are written as strings. */
#define JSON_EXACT_MAX (UINT64_C(1) << 53)

char *json_u64(char *at, uint64_t value);
char *json_i64(char *at, int64_t value);
/* json_u64 for numbers that come close to one another, such as ids and times: all but the last eight digits are kept for
 * the next one.  Zero at first. */
struct json_recent {
	uint64_t high;
	uint8_t bytes;
	char text[JSON_NUMBER_BYTES];
};
char *json_u64_recent(char *at, uint64_t value, struct json_recent *recent);
/* json_u64 and json_i64 in quotes where a double could not hold the number. */
char *json_u64_exact(char *at, uint64_t value);
char *json_i64_exact(char *at, int64_t value);
/* Nanoseconds as microseconds with three decimals: -1 is -0.001. */
char *json_us(char *at, int64_t ns);
/* As few digits as read back the same, whatever the locale; "NaN", "Infinity" and "-Infinity" in quotes. */
char *json_f64(char *at, double value);

/* The inside of a string: without its quotes. */
char *json_escape(char *at, const char *text, size_t bytes);

/* Whether the bytes are one JSON value (RFC 8259, nesting up to 64) and nothing else. */
bool json_valid(const char *text, size_t bytes);

#endif
