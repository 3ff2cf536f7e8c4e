/* Writes fields of CSV.  It copies byte by byte, which is fast enough: names are few and cached, args are short
 * JSON. */
#include "encoding/csv.h"

#include <stdint.h>
#include <string.h>

#include "encoding/utf8.h"

bool csv_needs_quotes(const char *text, size_t bytes)
{
	if (!bytes)
		return false;
	if (text[0] == ' ' || text[0] == '\t' || text[bytes - 1] == ' ' || text[bytes - 1] == '\t')
		return true;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '"' || text[i] == ',' || text[i] == '\r' || text[i] == '\n')
			return true;
	}
	return false;
}

bool csv_is_formula(const char *text, size_t bytes)
{
	return bytes && *text && strchr("=+-@\t\r", *text);
}

static bool is_control(uint8_t byte)
{
	return (byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7F;
}

static char *put(char *at, const char *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

char *csv_escape(char *at, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		uint8_t byte = (uint8_t)text[i];
		bool valid = true;
		size_t length = byte < 0x80 ? 1 : utf8_sequence(text + i, bytes - i, &valid);

		if (byte == '"')
			at = put(at, "\"\"", 2);
		else if (!valid || is_control(byte))
			at = put(at, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		else
			at = put(at, text + i, length);
		i += length;
	}
	return at;
}
