/* UTF-8 as the Unicode standard's table of well-formed sequences has it: the first byte says how many follow and narrows
 * the range of the second; all others are 80..BF. */
#include "wire/utf8.h"

#include <stdint.h>

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
