/* Implements shapes.h. */
#include "anonymize/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "anonymize/allowed.h"

/* The maximum number of digits of a dimension; texts with longer numbers are not taken for shapes. */
#define DIGITS_MAX 18u

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static bool is_of_word(char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' || is_digit(letter);
}

uint64_t shapes_round(uint64_t number)
{
	if (number < 2 || number > UINT64_C(1) << 63)
		return number;
	return UINT64_C(1) << (64 - __builtin_clzll(number - 1));
}

size_t shapes_take(const char *text, size_t bytes, bool round, char *output)
{
	size_t used = 0;

	for (size_t at = 0, end; at < bytes; at = end) {
		end = at + 1;
		if (is_digit(text[at])) {
			uint64_t number = (uint64_t)(text[at] - '0');
			for (; end < bytes && is_digit(text[end]); end++)
				number = number * 10 + (uint64_t)(text[end] - '0');
			if (end - at > DIGITS_MAX)
				return 0;
			char digits[DIGITS_MAX + 3];
			size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64,
			                                round ? shapes_round(number) : number);
			memcpy(output + used, digits, count);
			used += count;
			continue;
		}
		if (is_of_word(text[at])) {
			while (end < bytes && is_of_word(text[end]))
				end++;
			/* In "1x3", the x separates dimensions. */
			if (text[at] == 'x' && (end == at + 1 || is_digit(text[at + 1])))
				end = at + 1;
			else if (!allowed_find(ALLOWED_TYPE, text + at, end - at))
				return 0;
		} else if (!strchr("[]{}():,;\" *-", text[at]) || !text[at]) {
			return 0;
		}
		memcpy(output + used, text + at, end - at);
		used += end - at;
	}
	return used;
}
