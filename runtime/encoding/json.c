/* Writes numbers and strings of JSON. Most text needs no escape: eight bytes are checked at a time and copied. Digits
 * are computed eight at a time. */
#include "encoding/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoding/utf8.h"

/* Computes the eight digits of a number below 10^8, one per byte, the first one lowest: halves, then pairs, then
 * digits, each step with one multiplication. */
static inline uint64_t eight_digits(uint32_t value)
{
	uint64_t halves = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = (halves * 10486 >> 20) & UINT64_C(0x7F0000007F);
	uint64_t pairs = hundreds | (halves - hundreds * 100) << 16;
	uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000F000F000F000F);

	return tens | (pairs - tens * 10) << 8;
}

#define ASCII_ZEROS UINT64_C(0x3030303030303030)
#define EIGHT_DIGITS 100000000u
/* Room for the digits before the last eight of a 64-bit number. */
#define HIGH_BYTES 16

/* Stores eight digits in little-endian byte order, which all supported processors have. */
static inline char *put_eight(char *at, uint32_t value)
{
	uint64_t digits = eight_digits(value) | ASCII_ZEROS;

	memcpy(at, &digits, 8);
	return at + 8;
}

/* As put_eight, without leading zeros; zero gives one digit. */
static inline char *put_leading(char *at, uint32_t value)
{
	uint64_t digits = eight_digits(value);
	unsigned unused = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;

	digits = (digits | ASCII_ZEROS) >> (8 * unused);
	memcpy(at, &digits, 8);
	return at + 8 - unused;
}

char *json_u64(char *at, uint64_t value)
{
	if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	if (value < EIGHT_DIGITS)
		return put_leading(at, (uint32_t)value);
	uint64_t high = value / EIGHT_DIGITS;
	if (high < EIGHT_DIGITS) {
		at = put_leading(at, (uint32_t)high);
	} else {
		at = put_leading(at, (uint32_t)(high / EIGHT_DIGITS));
		at = put_eight(at, (uint32_t)(high % EIGHT_DIGITS));
	}
	return put_eight(at, (uint32_t)(value % EIGHT_DIGITS));
}

char *json_u64_recent(char *at, uint64_t value, struct json_recent *recent)
{
	uint64_t high = value / EIGHT_DIGITS;

	if (!high)
		return json_u64(at, value);
	if (high != recent->high) {
		recent->high = high;
		recent->bytes = (uint8_t)(json_u64(recent->text, high) - recent->text);
	}
	memcpy(at, recent->text, HIGH_BYTES);
	return put_eight(at + recent->bytes, (uint32_t)(value % EIGHT_DIGITS));
}

/* The absolute value, correct for INT64_MIN too. */
static uint64_t magnitude(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

char *json_i64(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return json_u64(at, magnitude(value));
}

char *json_u64_exact(char *at, uint64_t value)
{
	if (value <= JSON_EXACT_MAX)
		return json_u64(at, value);
	*at++ = '"';
	at = json_u64(at, value);
	*at++ = '"';
	return at;
}

char *json_i64_exact(char *at, int64_t value)
{
	if (magnitude(value) <= JSON_EXACT_MAX)
		return json_i64(at, value);
	*at++ = '"';
	at = json_i64(at, value);
	*at++ = '"';
	return at;
}

char *json_us(char *at, int64_t ns)
{
	uint64_t value = magnitude(ns);
	unsigned rest = (unsigned)(value % 1000);

	if (ns < 0)
		*at++ = '-';
	at = value / 1000 < EIGHT_DIGITS ? put_leading(at, (uint32_t)(value / 1000)) : json_u64(at, value / 1000);
	at[0] = '.';
	at[1] = (char)('0' + rest / 100);
	at[2] = (char)('0' + rest / 10 % 10);
	at[3] = (char)('0' + rest % 10);
	return at + 4;
}

char *json_f64(char *at, double value)
{
	char text[JSON_NUMBER_BYTES];

	if (!isfinite(value)) {
		const char *word = isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
		size_t bytes = strlen(word);
		memcpy(at, word, bytes);
		return at + bytes;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof text, "%.*g", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* The decimal point depends on the locale and may have several bytes. */
	for (const char *from = text; *from; from++) {
		if (strchr("0123456789+-e", *from))
			*at++ = *from;
		else if (at[-1] != '.')
			*at++ = '.';
	}
	return at;
}

static const char hexadecimal[] = "0123456789abcdef";

/* Escapes a byte below 0x20, a quote or a backslash. */
static char *escape_byte(char *at, uint8_t byte)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'
	};

	*at++ = '\\';
	if (letters[byte]) {
		*at++ = letters[byte];
		return at;
	}
	memcpy(at, "u00", 3);
	at[3] = hexadecimal[byte >> 4];
	at[4] = hexadecimal[byte & 15];
	return at + 5;
}

/* True if any of eight bytes is below 0x20, a quote, a backslash or above 0x7F. */
static bool needs_escape(uint64_t eight)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
	uint64_t quotes = eight ^ ones * '"', backslashes = eight ^ ones * '\\';

	return (((eight - ones * 0x20) | (quotes - ones) | (backslashes - ones) | eight) & tops) != 0;
}

char *json_escape(char *at, const char *text, size_t bytes)
{
	const char *start = text, *end = text + bytes;

	while (text < end) {
		uint64_t eight;
		while (end - text >= 8 && (memcpy(&eight, text, 8), !needs_escape(eight))) {
			memcpy(at, &eight, 8);
			at += 8;
			text += 8;
		}
		/* Copies the last eight bytes over bytes already written; possible because none of them needs an
		 * escape. */
		if (end - text < 8 && end - start >= 8 && (memcpy(&eight, end - 8, 8), !needs_escape(eight))) {
			at += end - text;
			memcpy(at - 8, &eight, 8);
			return at;
		}
		/* Handles bytes one by one: the rest, or the next eight, of which one needs an escape. */
		for (unsigned i = 0; i < 8 && text < end; i++) {
			uint8_t byte = (uint8_t)*text;
			if (byte < 0x20 || byte == '"' || byte == '\\') {
				at = escape_byte(at, byte);
				text++;
			} else if (byte < 0x80) {
				*at++ = *text++;
			} else {
				bool valid;
				size_t length = utf8_sequence(text, (size_t)(end - text), &valid);
				size_t written = valid ? length : strlen(UTF8_REPLACEMENT);
				memcpy(at, valid ? text : UTF8_REPLACEMENT, written);
				at += written;
				text += length;
			}
		}
	}
	return at;
}
