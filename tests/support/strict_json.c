/* A strict JSON parser by recursive descent; the result is a tree. */
#include "tests/support/strict_json.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *at, *end;
	unsigned depth;
};

static bool parse_value(struct parser *parser, struct json *json, const char *start);

static void skip_space(struct parser *parser)
{
	while (parser->at < parser->end &&
	       (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r'))
		parser->at++;
}

static bool accept(struct parser *parser, const char *word)
{
	size_t bytes = strlen(word);
	if ((size_t)(parser->end - parser->at) < bytes || memcmp(parser->at, word, bytes) != 0)
		return false;
	parser->at += bytes;
	return true;
}

static bool digits(struct parser *parser)
{
	const char *first = parser->at;
	while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
		parser->at++;
	return parser->at > first;
}

static bool parse_number(struct parser *parser, struct json *json)
{
	const char *first = parser->at;
	accept(parser, "-");
	if (!accept(parser, "0") && !digits(parser))
		return false;
	if (accept(parser, ".") && !digits(parser))
		return false;
	if (accept(parser, "e") || accept(parser, "E")) {
		if (!accept(parser, "+"))
			accept(parser, "-");
		if (!digits(parser))
			return false;
	}
	json->kind = JSON_NUMBER;
	json->text_bytes = (size_t)(parser->at - first);
	json->text = strndup(first, json->text_bytes);
	return true;
}

static size_t put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const uint8_t heads[] = { 0, 0xC0, 0xE0, 0xF0 };
	to[0] = (char)(heads[more] | code >> (6 * more));
	for (size_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3F));
	return more + 1;
}

static bool hexadecimal(struct parser *parser, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, parser->at++) {
		char letter = parser->at < parser->end ? *parser->at : 0;
		if (letter >= '0' && letter <= '9')
			*code = *code * 16 + (uint32_t)(letter - '0');
		else if ((letter | 32) >= 'a' && (letter | 32) <= 'f')
			*code = *code * 16 + (uint32_t)((letter | 32) - 'a' + 10);
		else
			return false;
	}
	return true;
}

static bool parse_escape(struct parser *parser, char *to, size_t *bytes)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint32_t code, low;
	if (parser->at == parser->end)
		return false;
	char letter = *parser->at++;
	const char *found = letter ? strchr(names, letter) : NULL;
	if (found) {
		to[(*bytes)++] = values[found - names];
		return true;
	}
	if (letter != 'u' || !hexadecimal(parser, &code) || (code >= 0xDC00 && code < 0xE000))
		return false;
	if (code >= 0xD800 && code < 0xDC00) {
		if (!accept(parser, "\\u") || !hexadecimal(parser, &low) || low < 0xDC00 || low >= 0xE000)
			return false;
		code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
	}
	*bytes += put_utf8(to + *bytes, code);
	return true;
}

/* Decodes a multibyte sequence and encodes it again: only the shortest form of a character gives the same bytes. */
static bool parse_multibyte(struct parser *parser, char *to, size_t *bytes)
{
	uint8_t first = (uint8_t)*parser->at;
	size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
	uint32_t code = first & (0x3Fu >> more);
	char again[4];
	if ((size_t)(parser->end - parser->at) <= more)
		return false;
	for (size_t i = 1; i <= more; i++) {
		if (((uint8_t)parser->at[i] & 0xC0) != 0x80)
			return false;
		code = code << 6 | ((uint8_t)parser->at[i] & 0x3F);
	}
	if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || put_utf8(again, code) != more + 1 ||
	    memcmp(again, parser->at, more + 1) != 0)
		return false;
	memcpy(to + *bytes, again, more + 1);
	*bytes += more + 1;
	parser->at += more + 1;
	return true;
}

static bool parse_string(struct parser *parser, char **text, size_t *text_bytes)
{
	if (!accept(parser, "\""))
		return false;
	/* Unescaping makes no character longer. */
	const char *close = parser->at;
	while (close < parser->end && *close != '"')
		close += 1 + (*close == '\\');
	char *to = malloc((size_t)(close - parser->at) + 8);
	size_t bytes = 0;
	while (parser->at < parser->end && *parser->at != '"') {
		bool good = (uint8_t)*parser->at >= 0x20;
		if (good && accept(parser, "\\"))
			good = parse_escape(parser, to, &bytes);
		else if (good && (uint8_t)*parser->at >= 0x80)
			good = parse_multibyte(parser, to, &bytes);
		else if (good)
			to[bytes++] = *parser->at++;
		if (!good) {
			free(to);
			return false;
		}
	}
	to[bytes] = 0;
	*text = realloc(to, bytes + 1);
	*text_bytes = bytes;
	return accept(parser, "\"");
}

static bool parse_items(struct parser *parser, struct json *json, const char *start, const char *close)
{
	size_t room = 0;
	skip_space(parser);
	if (accept(parser, close))
		return true;
	do {
		if (json->count == room) {
			room = room ? room * 2 : 4;
			json->items = realloc(json->items, room * sizeof *json->items);
		}
		struct json *item = &json->items[json->count++];
		*item = (struct json){ .kind = JSON_NULL };
		skip_space(parser);
		if (json->kind == JSON_OBJECT) {
			if (!parse_string(parser, &item->key, &item->key_bytes))
				return false;
			for (size_t i = 0; i + 1 < json->count; i++) {
				if (json->items[i].key_bytes == item->key_bytes &&
				    memcmp(json->items[i].key, item->key, item->key_bytes) == 0)
					return false;
			}
			skip_space(parser);
			if (!accept(parser, ":"))
				return false;
		}
		if (!parse_value(parser, item, start))
			return false;
		skip_space(parser);
	} while (accept(parser, ","));
	return accept(parser, close);
}

static bool parse_value(struct parser *parser, struct json *json, const char *start)
{
	skip_space(parser);
	json->offset = (size_t)(parser->at - start);
	if (parser->at == parser->end || parser->depth > 100)
		return false;
	parser->depth++;
	bool good;
	if (accept(parser, "{")) {
		json->kind = JSON_OBJECT;
		good = parse_items(parser, json, start, "}");
	} else if (accept(parser, "[")) {
		json->kind = JSON_ARRAY;
		good = parse_items(parser, json, start, "]");
	} else if (*parser->at == '"') {
		json->kind = JSON_STRING;
		good = parse_string(parser, &json->text, &json->text_bytes);
	} else if (accept(parser, "true") || accept(parser, "false") || accept(parser, "null")) {
		json->kind = parser->at[-2] == 'u' ? JSON_TRUE : parser->at[-2] == 's' ? JSON_FALSE : JSON_NULL;
		good = true;
	} else {
		good = parse_number(parser, json);
	}
	parser->depth--;
	return good;
}

static void free_parts(struct json *json)
{
	for (size_t i = 0; i < json->count; i++)
		free_parts(&json->items[i]);
	free(json->items);
	free(json->text);
	free(json->key);
}

void json_free(struct json *json)
{
	if (json)
		free_parts(json);
	free(json);
}

struct json *json_parse(const char *bytes, size_t count, size_t *offset)
{
	struct parser parser = { .at = bytes, .end = bytes + count };
	struct json *json = calloc(1, sizeof *json);
	bool good = parse_value(&parser, json, bytes);
	skip_space(&parser);
	if (good && parser.at == parser.end)
		return json;
	*offset = (size_t)(parser.at - bytes);
	json_free(json);
	return NULL;
}

struct json *json_expect(const char *bytes, size_t count)
{
	size_t offset = 0;
	struct json *json = json_parse(bytes, count, &offset);
	size_t from = offset > 60 ? offset - 60 : 0;
	ck_assert_msg(json != NULL, "not JSON at byte %zu of %zu: ...%.*s <here> %.*s...", offset, count,
	              (int)(offset - from), bytes + from, (int)(count - offset < 40 ? count - offset : 40),
	              bytes + offset);
	return json;
}

const struct json *json_get(const struct json *json, const char *key)
{
	for (size_t i = 0; json && json->kind == JSON_OBJECT && i < json->count; i++) {
		if (strcmp(json->items[i].key, key) == 0)
			return &json->items[i];
	}
	return NULL;
}

const char *json_text(const struct json *json, const char *key)
{
	const struct json *member = json_get(json, key);
	return member && member->kind == JSON_STRING ? member->text : "";
}

int64_t json_thousandths(const struct json *json, const char *key)
{
	const struct json *member = json_get(json, key);
	if (!member || member->kind != JSON_NUMBER)
		ck_abort_msg("no number '%s'", key);
	const char *text = member->text;
	bool negative = *text == '-';
	int64_t value = 0;
	int decimals = -1;
	for (text += negative; *text; text++) {
		if (*text == '.') {
			decimals = 0;
			continue;
		}
		if (*text < '0' || *text > '9' || decimals >= 3)
			ck_abort_msg("'%s' is %s", key, member->text);
		value = value * 10 + (*text - '0');
		decimals += decimals >= 0;
	}
	for (int i = decimals < 0 ? 0 : decimals; i < 3; i++)
		value *= 10;
	return negative ? -value : value;
}
