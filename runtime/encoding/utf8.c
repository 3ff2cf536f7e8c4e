/* UTF-8, following the Unicode standard's table of well-formed sequences: the first byte determines the length and the
 * range of the second byte; all other bytes are 80..BF. */
#include "encoding/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_continuation(char byte)
{
	return ((uint8_t)byte & 0xC0) == 0x80;
}

size_t utf8_sequence(const char *text, size_t bytes, bool *valid)
{
	uint8_t first = (uint8_t)text[0];
	uint8_t low = 0x80, high = 0xBF;
	size_t length;

	*valid = first < 0x80;
	if (*valid || first < 0xC2 || first > 0xF4)
		return 1;
	length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
	if (first == 0xE0)
		low = 0xA0;
	else if (first == 0xED)
		high = 0x9F;
	else if (first == 0xF0)
		low = 0x90;
	else if (first == 0xF4)
		high = 0x8F;

	if (bytes < 2 || (uint8_t)text[1] < low || (uint8_t)text[1] > high)
		return 1;
	for (size_t i = 2; i < length; i++) {
		if (i >= bytes || !is_continuation(text[i]))
			return i;
	}
	*valid = true;
	return length;
}

size_t utf8_cut(const char *text, size_t bytes, size_t limit)
{
	if (limit >= bytes)
		return bytes;
	for (size_t back = 0; back <= 3 && back < limit; back++) {
		if (!is_continuation(text[limit - back]))
			return limit - back;
	}
	return limit;
}

size_t utf8_valid_bytes(const char *text, size_t bytes)
{
	size_t at = 0;
	while (at < bytes) {
		uint64_t eight;
		bool valid;
		/* Most text is ASCII. */
		if (bytes - at >= sizeof(eight)) {
			memcpy(&eight, text + at, sizeof(eight));
			if (!(eight & UINT64_C(0x8080808080808080))) {
				at += sizeof(eight);
				continue;
			}
		}
		size_t length = utf8_sequence(text + at, bytes - at, &valid);
		if (!valid)
			break;
		at += length;
	}
	return at;
}

/* Only computes the size if `to` is NULL. */
static size_t repair(char *to, const char *text, size_t bytes)
{
	static const char replacement[] = UTF8_REPLACEMENT;
	size_t at = 0, repaired_bytes = 0;
	while (true) {
		bool valid;
		size_t valid_bytes = utf8_valid_bytes(text + at, bytes - at);
		if (to)
			memcpy(to + repaired_bytes, text + at, valid_bytes);
		repaired_bytes += valid_bytes;
		at += valid_bytes;
		if (at == bytes)
			return repaired_bytes;
		at += utf8_sequence(text + at, bytes - at, &valid);
		if (to)
			memcpy(to + repaired_bytes, replacement, sizeof(replacement) - 1);
		repaired_bytes += sizeof(replacement) - 1;
	}
}

char *utf8_repair(char *at, const char *text, size_t bytes)
{
	return bytes ? at + repair(at, text, bytes) : at;
}

size_t utf8_repaired_bytes(const char *text, size_t bytes)
{
	return bytes ? repair(NULL, text, bytes) : 0;
}
