/* A strict JSON parser, to check writers: RFC 8259, UTF-8 checked byte by byte, no repeated key in an object, nothing
 * after the value.  It shares no code with runtime/encoding, so that the two do not have the same errors. */
#ifndef EPPROF_TESTS_SUPPORT_STRICT_JSON_H
#define EPPROF_TESTS_SUPPORT_STRICT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	char *text; /* a string, unescaped; a number in its original text */
	size_t text_bytes;
	char *key; /* of a member */
	size_t key_bytes;
	struct json *items; /* elements of an array, members of an object */
	size_t count;
	size_t offset; /* the offset of its first byte */
};

/* Parses JSON; NULL if the bytes are not JSON, with the position in *offset.  Ownership: json_free. */
struct json *json_parse(const char *bytes, size_t count, size_t *offset);
void json_free(struct json *json);

/* Finds a member; NULL if there is none or `json` is not an object. */
const struct json *json_get(const struct json *json, const char *key);
/* Returns the text of a string member; "" if there is none. */
const char *json_text(const struct json *json, const char *key);
/* Returns a number with up to three decimals in thousandths, exactly: 1.5 is 1500.  A missing one fails the test. */
int64_t json_thousandths(const struct json *json, const char *key);

/* Parses JSON, or fails the test and prints the bytes around the error. */
struct json *json_expect(const char *bytes, size_t count);

#endif
