/* Escapes text for XML 1.0. Of the characters below U+0020 only tab, line feed and carriage return are allowed, and
 * U+FFFE and U+FFFF are not. */
#include "encoding/xml.h"

#include <string.h>

#include "encoding/utf8.h"

static char *append(char *at, const char *text)
{
	return mempcpy(at, text, strlen(text));
}

char *xml_escape(char *at, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	while (text < end) {
		bool valid;
		size_t length = utf8_sequence(text, (size_t)(end - text), &valid);
		if (!valid || ((unsigned char)*text < 0x20 && *text != '\t' && *text != '\n' && *text != '\r') ||
		    (length == 3 && (memcmp(text, "\xEF\xBF\xBE", 3) == 0 || memcmp(text, "\xEF\xBF\xBF", 3) == 0)))
			at = append(at, UTF8_REPLACEMENT);
		else if (*text == '&')
			at = append(at, "&amp;");
		else if (*text == '<')
			at = append(at, "&lt;");
		else if (*text == '>')
			at = append(at, "&gt;");
		else if (*text == '"')
			at = append(at, "&quot;");
		else if (*text == '\'')
			at = append(at, "&#39;");
		else
			at = mempcpy(at, text, length);
		text += length;
	}
	return at;
}
