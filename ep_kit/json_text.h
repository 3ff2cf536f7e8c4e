/* Strings for ONNX Runtime, which writes them into its JSON as they are: escaped before it gets them.
 *
 * Quotes, backslashes and control characters are escaped, bytes that are not UTF-8 become U+FFFD.  An arg's value that
 * begins with a bracket or a brace would be written without quotes: its first character is escaped.
 */
#ifndef EPPROF_KIT_JSON_TEXT_H
#define EPPROF_KIT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JSON_ESCAPE_BYTES_MAX 6u /* \u001f, for one byte */

/* Grows by what is asked for at once, and is emptied for each event. */
struct json_text {
	char *bytes;
	size_t used;
	size_t room;
};

/* Empties it and makes room; false: no memory. */
static inline bool json_text_reset(struct json_text *text, size_t room)
{
	text->used = 0;
	if (room <= text->room)
		return true;
	free(text->bytes);
	text->bytes = malloc(room);
	text->room = text->bytes ? room : 0;
	return text->bytes != NULL;
}

/* How many bytes the UTF-8 character at `at` has; 0: it is none. */
static size_t json_character_bytes(const unsigned char *at)
{
	if (at[0] < 0x80)
		return 1;
	size_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, beyond U+10FFFF. */
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return bytes;
}

static char *json_escape_byte(char *to, unsigned byte)
{
	static const char digits[] = "0123456789abcdef";
	memcpy(to, "\\u00", 4);
	to[4] = digits[byte >> 4];
	to[5] = digits[byte & 15];
	return to + 6;
}

/* Adds a string, escaped, with its end; there is room. */
static inline const char *json_text_add(struct json_text *text, const char *string, bool is_value)
{
	const unsigned char *from = (const unsigned char *)string;
	char *begin = text->bytes + text->used;
	char *to = begin;
	if (is_value && (*from == '{' || *from == '['))
		to = json_escape_byte(to, *from++);
	while (*from != '\0') {
		size_t bytes = json_character_bytes(from);
		if (bytes == 0) {
			memcpy(to, "\\ufffd", 6);
			to += 6;
			from++;
		} else if (*from == '"' || *from == '\\') {
			*to++ = '\\';
			*to++ = (char)*from++;
		} else if (*from < 0x20 || *from == 0x7f) {
			to = json_escape_byte(to, *from++);
		} else {
			memcpy(to, from, bytes);
			to += bytes;
			from += bytes;
		}
	}
	*to++ = '\0';
	text->used += (size_t)(to - begin);
	return begin;
}

/* The most that it can take. */
static inline size_t json_text_bytes(const char *string)
{
	return strlen(string) * JSON_ESCAPE_BYTES_MAX + 1;
}

#endif
