/* Checks that bytes are one JSON value (RFC 8259), for args that are JSON already and can be copied unchanged.
 * Recursive descent with a depth limit; nothing is built. */
#include <string.h>

#include "encoding/json.h"
#include "encoding/utf8.h"

#define DEPTH_MAX 64

struct scan {
	const char *at, *end;
	unsigned depth;
};

static bool scan_value(struct scan *scan);

static void skip_space(struct scan *scan)
{
	while (scan->at < scan->end && memchr(" \t\n\r", *scan->at, 4))
		scan->at++;
}

static bool skip_byte(struct scan *scan, char byte)
{
	if (scan->at == scan->end || *scan->at != byte)
		return false;
	scan->at++;
	return true;
}

static bool scan_word(struct scan *scan, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(scan->end - scan->at) < bytes || memcmp(scan->at, word, bytes) != 0)
		return false;
	scan->at += bytes;
	return true;
}

static bool scan_digits(struct scan *scan)
{
	const char *first = scan->at;

	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return scan->at > first;
}

static bool scan_number(struct scan *scan)
{
	skip_byte(scan, '-');
	if (!skip_byte(scan, '0') && !scan_digits(scan))
		return false;
	if (skip_byte(scan, '.') && !scan_digits(scan))
		return false;
	if (skip_byte(scan, 'e') || skip_byte(scan, 'E')) {
		if (!skip_byte(scan, '+'))
			skip_byte(scan, '-');
		return scan_digits(scan);
	}
	return true;
}

static bool scan_escape(struct scan *scan)
{
	if (!skip_byte(scan, 'u')) {
		if (scan->at == scan->end || !memchr("\"\\/bfnrt", *scan->at, 8))
			return false;
		scan->at++;
		return true;
	}
	for (unsigned i = 0; i < 4; i++, scan->at++) {
		if (scan->at == scan->end || !memchr("0123456789abcdefABCDEF", *scan->at, 22))
			return false;
	}
	return true;
}

static bool scan_string(struct scan *scan)
{
	if (!skip_byte(scan, '"'))
		return false;
	while (scan->at < scan->end) {
		bool valid;
		if (skip_byte(scan, '"'))
			return true;
		if (skip_byte(scan, '\\')) {
			if (!scan_escape(scan))
				return false;
			continue;
		}
		if ((unsigned char)*scan->at < 0x20)
			return false;
		scan->at += utf8_sequence(scan->at, (size_t)(scan->end - scan->at), &valid);
		if (!valid)
			return false;
	}
	return false;
}

/* Scans the members of an object or the elements of an array, after the opening bracket. */
static bool scan_object(struct scan *scan, char close, bool keys)
{
	skip_space(scan);
	if (skip_byte(scan, close))
		return true;
	do {
		skip_space(scan);
		if (keys) {
			if (!scan_string(scan))
				return false;
			skip_space(scan);
			if (!skip_byte(scan, ':'))
				return false;
		}
		if (!scan_value(scan))
			return false;
		skip_space(scan);
	} while (skip_byte(scan, ','));
	return skip_byte(scan, close);
}

static bool scan_value(struct scan *scan)
{
	bool good;

	skip_space(scan);
	if (scan->at == scan->end || scan->depth == DEPTH_MAX)
		return false;
	scan->depth++;
	switch (*scan->at) {
	case '{':
		scan->at++;
		good = scan_object(scan, '}', true);
		break;
	case '[':
		scan->at++;
		good = scan_object(scan, ']', false);
		break;
	case '"':
		good = scan_string(scan);
		break;
	case 't':
		good = scan_word(scan, "true");
		break;
	case 'f':
		good = scan_word(scan, "false");
		break;
	case 'n':
		good = scan_word(scan, "null");
		break;
	default:
		good = scan_number(scan);
	}
	scan->depth--;
	return good;
}

bool json_valid(const char *text, size_t bytes)
{
	struct scan scan = { .at = text, .end = text + bytes };

	if (!scan_value(&scan))
		return false;
	skip_space(&scan);
	return scan.at == scan.end;
}
