/* A JSON parser that forgives nothing, to hold writers to: RFC 8259, UTF-8 judged byte by byte, no key twice in an object,
 * nothing behind the value.  Written apart from runtime/wire, so that the two do not share their mistakes. */
#ifndef EPPROF_TESTS_SUPPORT_STRICT_JSON_H
#define EPPROF_TESTS_SUPPORT_STRICT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	char *text; /* a string, unescaped; a number as it was written */
	size_t text_bytes;
	char *key;          /* a member's */
	struct json *items; /* of an array or object */
	size_t count;
	size_t offset; /* where it began */
};

/* NULL if the bytes are not JSON; then *offset is where not.  Ownership: json_free. */
struct json *json_parse(const char *bytes, size_t count, size_t *offset);
void json_free(struct json *json);

/* A member; NULL if there is none or it is no object. */
const struct json *json_get(const struct json *json, const char *key);
/* Text of a string member; "" if there is none. */
const char *json_text(const struct json *json, const char *key);
/* A number with up to three decimals in thousandths, exactly: 1.5 is 1500.  A missing one fails the test. */
int64_t json_thousandths(const struct json *json, const char *key);

/* Parses, or fails the test with the bytes around the mistake. */
struct json *json_expect(const char *bytes, size_t count);

#endif
