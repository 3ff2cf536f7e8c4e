/* Checks whether a string is a JSON object or array.  If an arg's value begins like an object or array, ONNX Runtime
 * writes it without quotes, so a value that is not JSON would make the profile invalid.  The parser uses recursive
 * descent with a limited depth. */
#ifndef EPPROF_EP_KIT_JSON_VALUE_H
#define EPPROF_EP_KIT_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define JSON_DEPTH_MAX 32u

/* The functions below return the end of the parsed value, or NULL if it is not JSON. */

static inline const char *json_space_end(const char *at)
{
	return at + strspn(at, " \t\n\r");
}

static inline const char *json_string_end(const char *at)
{
	for (at++; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") < 4)
			return NULL;
		if (*at == '\0' || !strchr("\"\\/bfnrtu", *at))
			return NULL;
	}
	return at + 1;
}

static inline const char *json_digits_end(const char *at)
{
	size_t count = strspn(at, "0123456789");
	return count > 0 ? at + count : NULL;
}

static inline const char *json_number_end(const char *at)
{
	at += *at == '-';
	at = *at == '0' ? at + 1 : json_digits_end(at);
	if (at && *at == '.')
		at = json_digits_end(at + 1);
	if (at && (*at == 'e' || *at == 'E'))
		at = json_digits_end(at + 1 + (at[1] == '+' || at[1] == '-'));
	return at;
}

static inline const char *json_value_end(const char *at, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };
	bool is_object = *at == '{';
	char close = is_object ? '}' : ']';

	for (size_t i = 0; i < 3; i++) {
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	}
	if (*at == '"')
		return json_string_end(at);
	if (!is_object && *at != '[')
		return json_number_end(at);
	if (depth == JSON_DEPTH_MAX)
		return NULL;
	at = json_space_end(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (is_object) {
			at = *at == '"' ? json_string_end(at) : NULL;
			at = at ? json_space_end(at) : NULL;
			if (!at || *at != ':')
				return NULL;
			at = json_space_end(at + 1);
		}
		at = json_value_end(at, depth + 1);
		at = at ? json_space_end(at) : NULL;
		if (!at || (*at != ',' && *at != close))
			return NULL;
		if (*at == close)
			return at + 1;
		at = json_space_end(at + 1);
	}
}

/* Returns whether a string, which must be UTF-8, is a JSON object or array. */
static inline bool json_is_container(const char *string)
{
	const char *end = *string == '{' || *string == '[' ? json_value_end(string, 0) : NULL;
	return end && *json_space_end(end) == '\0';
}

#endif
