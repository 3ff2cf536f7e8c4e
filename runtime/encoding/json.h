/* Writes JSON text piece by piece into memory that the caller has reserved.
 *
 * Every function writes at `at` and returns the new end, without a terminating zero. Integers are written exactly. Text
 * may contain any bytes: they are escaped where JSON requires it, and bytes that are not UTF-8 become U+FFFD. Keeps no
 * state. */
#ifndef EPPROF_RUNTIME_ENCODING_JSON_H
#define EPPROF_RUNTIME_ENCODING_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room that one number needs. A function may overwrite all of it, even if the number is shorter. */
#define JSON_NUMBER_BYTES 32
/* Maximum size, after escaping, of a text of `bytes` bytes. */
#define JSON_ESCAPED_BYTES(bytes) ((bytes)*6)
/* Larger integers lose digits in readers that use doubles, so they are written as strings. */
#define JSON_EXACT_MAX (UINT64_C(1) << 53)

char *json_u64(char *at, uint64_t value);
char *json_i64(char *at, int64_t value);
/* As json_u64, for successive numbers that are close to each other, such as ids and times: all digits except the last
 * eight are cached. Zero-initialised. */
struct json_recent {
	uint64_t high;
	uint8_t bytes;
	char text[JSON_NUMBER_BYTES];
};
char *json_u64_recent(char *at, uint64_t value, struct json_recent *recent);
/* As json_u64 and json_i64, in quotes if a double cannot hold the number. */
char *json_u64_exact(char *at, uint64_t value);
char *json_i64_exact(char *at, int64_t value);
/* Nanoseconds as microseconds with three decimals: -1 is -0.001. */
char *json_us(char *at, int64_t ns);
/* The fewest digits that read back as the same number, in any locale; "NaN", "Infinity" and "-Infinity" in quotes. */
char *json_f64(char *at, double value);

/* The inside of a string, without its quotes. */
char *json_escape(char *at, const char *text, size_t bytes);

/* True if the bytes are exactly one JSON value (RFC 8259, nesting up to 64). */
bool json_valid(const char *text, size_t bytes);

#endif
