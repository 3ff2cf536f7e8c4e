/* Escapes strings for ONNX Runtime, if its version does not escape them itself.  Its profile is then valid JSON and
 * contains the strings unchanged.  Bytes that are not UTF-8 become U+FFFD.
 *
 * Before 1.31, ONNX Runtime writes strings unescaped, so quotes, backslashes and control characters are escaped
 * here.  From 1.31 on, it escapes them itself.
 *
 * All versions write an arg's value that begins with a bracket or a brace without quotes and unescaped.  Before
 * 1.31, its first character is escaped here, which makes it a string.  From 1.31 on, it is unchanged if it is JSON;
 * otherwise a space is inserted in front. */
#ifndef EPPROF_EP_KIT_JSON_TEXT_H
#define EPPROF_EP_KIT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json_value.h"

#define JSON_ESCAPING_ORT_VERSION 31u /* the minor version of the first ONNX Runtime that escapes strings itself */
#define JSON_ESCAPE_BYTES_MAX 6u      /* the size of \u001f, which replaces a single byte */

/* A buffer that is emptied for each event, and grows to the size that the event needs. */
struct json_text {
	char *bytes;
	size_t used;
	size_t room;
	bool is_escaped_later; /* ONNX Runtime escapes the strings itself */
};

/* Empties the buffer and makes room.  Returns false if out of memory. */
static inline bool json_text_reset(struct json_text *text, size_t room)
{
	text->used = 0;
	if (room <= text->room)
		return true;
	free(text->bytes);
	text->bytes = (char *)malloc(room);
	text->room = text->bytes ? room : 0;
	return text->bytes != NULL;
}

/* Returns the length of the UTF-8 character at `at`; 0 if it is invalid. */
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
	/* Rejects overlong forms, surrogates, and values beyond U+10FFFF. */
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

/* Adds a prepared string with its NUL.  The caller has reserved the room. */
static inline const char *json_text_add(struct json_text *text, const char *string, bool is_value)
{
	const unsigned char *from = (const unsigned char *)string;
	char *begin = text->bytes + text->used;
	char *to = begin;
	bool escapes = !text->is_escaped_later;
	bool is_raw = is_value && (*from == '{' || *from == '[');
	if (is_raw && escapes)
		to = json_escape_byte(to, *from++);
	else if (is_raw)
		*to++ = ' '; /* removed below if the value is JSON */
	while (*from != '\0') {
		size_t bytes = json_character_bytes(from);
		if (bytes == 0) {
			const char *replacement = escapes ? "\\ufffd" : "\xEF\xBF\xBD";
			size_t replacement_bytes = escapes ? 6 : 3;
			memcpy(to, replacement, replacement_bytes);
			to += replacement_bytes;
			from++;
		} else if (escapes && (*from == '"' || *from == '\\')) {
			*to++ = '\\';
			*to++ = (char)*from++;
		} else if (escapes && (*from < 0x20 || *from == 0x7f)) {
			to = json_escape_byte(to, *from++);
		} else {
			memcpy(to, from, bytes);
			to += bytes;
			from += bytes;
		}
	}
	*to++ = '\0';
	text->used += (size_t)(to - begin);
	return is_raw && !escapes && json_is_container(begin + 1) ? begin + 1 : begin;
}

/* Returns an upper bound of the size of a prepared string. */
static inline size_t json_text_bytes(const char *string)
{
	return strlen(string) * JSON_ESCAPE_BYTES_MAX + 1;
}

#endif
