/* Reads records that are not JSON because ONNX Runtime did not escape texts.  A text ends at the first quote after
 * which the record continues correctly: with the next member, with the next arg (a comma, a key in quotes, " : ", and
 * the beginning of a value), or with its end.  Args that cannot be separated become one arg, so that no event is lost
 * because of its args.
 *
 * ONNX Runtime from 1.31 on escapes texts, but not arrays and objects among the args, which may be invalid JSON.  In a
 * record whose texts are all JSON strings, a text ends at the first unescaped quote. */
#include "import/onnxruntime/repair.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoding/json.h"

/* The part of a record that is not read yet. */
struct cursor {
	const char *at, *end;
	bool escaped; /* the record's texts are escaped: each of them ends at the first unescaped quote */
};

static size_t bytes_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline bool parse_bytes(struct cursor *cursor, const char *what, size_t bytes)
{
	if (bytes_left(cursor) < bytes || memcmp(cursor->at, what, bytes) != 0)
		return false;
	cursor->at += bytes;
	return true;
}

/* Sets *text to the text before the next occurrence of `mark`, and moves the cursor behind this occurrence.  Returns
 * false if there is none. */
static inline bool parse_until_bytes(struct cursor *cursor, const char *mark, size_t mark_bytes, const char **text,
                                     size_t *bytes)
{
	/* Each mark begins with a rare character, so memchr is several times as fast as memmem. */
	for (const char *at = cursor->at; (size_t)(cursor->end - at) >= mark_bytes; at++) {
		at = memchr(at, *mark, (size_t)(cursor->end - at) - mark_bytes + 1);
		if (!at)
			return false;
		if (memcmp(at, mark, mark_bytes) != 0)
			continue;
		*text = cursor->at;
		*bytes = (size_t)(at - cursor->at);
		cursor->at = at + mark_bytes;
		return true;
	}
	return false;
}

/* ---- escaped texts ---- */

/* Returns the first unescaped quote, or NULL. */
static const char *unescaped_quote(const char *at, const char *end)
{
	for (; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at : NULL;
}

/* Converts "\\uXXXX" to UTF-8 and returns the number of bytes.  Returns 0 if the code is invalid or half of a surrogate
 * pair. */
static size_t unescape_code(const char *digits, char utf8[3])
{
	char text[5], *end;

	snprintf(text, sizeof text, "%.4s", digits);
	unsigned long code = strtoul(text, &end, 16);
	if (end != text + 4 || !isxdigit((unsigned char)text[0]) || (code >= 0xD800 && code < 0xE000))
		return 0;
	if (code < 0x80) {
		utf8[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		utf8[0] = (char)(0xC0 | code >> 6);
		utf8[1] = (char)(0x80 | (code & 0x3F));
		return 2;
	}
	utf8[0] = (char)(0xE0 | code >> 12);
	utf8[1] = (char)(0x80 | (code >> 6 & 0x3F));
	utf8[2] = (char)(0x80 | (code & 0x3F));
	return 3;
}

/* Stores the text of a JSON string, which is given without its quotes.  Returns false if it is invalid. */
static bool store_unescaped(struct event *event, const char *at, size_t bytes, struct event_text *text)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *end = at + bytes;

	*text = event_store_text(event, at, 0);
	while (at < end) {
		const char *first = at, *letter;
		char utf8[3];
		while (at < end && *at != '\\' && *at != '"' && (unsigned char)*at >= 0x20)
			at++;
		event_extend_text(event, text, first, (size_t)(at - first));
		if (at == end)
			return true;
		if (*at != '\\' || end - at < 2)
			return false;
		if ((letter = memchr(letters, at[1], sizeof letters - 1)) != NULL) {
			event_extend_text(event, text, &meant[letter - letters], 1);
			at += 2;
			continue;
		}
		size_t utf8_bytes = at[1] == 'u' && end - at >= 6 ? unescape_code(at + 2, utf8) : 0;
		if (!utf8_bytes)
			return false;
		event_extend_text(event, text, utf8, utf8_bytes);
		at += 6;
	}
	return true;
}

static bool store_text(const struct cursor *cursor, struct event *event, const char *at, size_t bytes,
                       struct event_text *text)
{
	if (cursor->escaped)
		return store_unescaped(event, at, bytes, text);
	*text = event_store_text(event, at, bytes);
	return true;
}

/* ---- parts of a record ---- */

/* As parse_bytes, for string literals. */
#define TAKE(cursor, what) parse_bytes(cursor, what, sizeof(what) - 1)
#define TAKE_UNTIL(cursor, mark, text, bytes) parse_until_bytes(cursor, mark, sizeof(mark) - 1, text, bytes)

static bool parse_integer(struct cursor *cursor, int64_t *value)
{
	const char *first = cursor->at;

	if (bytes_left(cursor) && *first == '-')
		cursor->at++;
	while (bytes_left(cursor) && *cursor->at >= '0' && *cursor->at <= '9')
		cursor->at++;
	return event_parse_integer(first, (size_t)(cursor->at - first), value);
}

/* Returns the closing quote of the key at `key`, after which " : " and a value follow.  A key may contain quotes, but
 * not the beginning of another key.  NULL: there is no such quote. */
static const char *key_end(const char *key, const char *end)
{
	for (const char *quote = key; (quote = memchr(quote, '"', (size_t)(end - quote))) != NULL; quote++) {
		if (end - quote > 4 && memcmp(quote, "\" : ", 4) == 0 &&
		    (quote[4] == '"' || quote[4] == '[' || quote[4] == '{'))
			return quote;
		if (quote > key && quote[-1] == ',')
			return NULL;
	}
	return NULL;
}

/* Returns true if a value may end at `at`: the record ends, or another arg begins. */
static bool value_ends(const char *at, const char *end)
{
	if (end - at == 2 && at[0] == '}' && at[1] == '}')
		return true;
	return end - at > 2 && at[0] == ',' && at[1] == '"' && key_end(at + 2, end);
}

static bool parse_text(struct cursor *cursor, struct event *event, struct event_text *text)
{
	if (cursor->escaped) {
		const char *first = cursor->at + 1, *quote = unescaped_quote(first, cursor->end);
		if (!quote)
			return false;
		cursor->at = quote + 1;
		return store_unescaped(event, first, (size_t)(quote - first), text);
	}
	for (const char *quote = cursor->at + 1; quote < cursor->end; quote++) {
		quote = memchr(quote, '"', (size_t)(cursor->end - quote));
		if (!quote)
			return false;
		if (value_ends(quote + 1, cursor->end)) {
			*text = event_store_text(event, cursor->at + 1, (size_t)(quote - cursor->at) - 1);
			cursor->at = quote + 1;
			return true;
		}
	}
	return false;
}

/* Returns the end of an array or object; NULL: it is no valid JSON. */
static const char *json_end(const struct cursor *cursor)
{
	char closing = *cursor->at == '[' ? ']' : '}';

	for (const char *at = cursor->at; (at = memchr(at + 1, closing, (size_t)(cursor->end - at) - 1)) != NULL;) {
		if (value_ends(at + 1, cursor->end) && json_valid(cursor->at, (size_t)(at + 1 - cursor->at)))
			return at + 1;
	}
	return NULL;
}

/* Returns the end of an invalid array or object: the first place where it may end and its brackets are balanced, else
 * the first place where it may end. */
static const char *broken_end(const struct cursor *cursor)
{
	const char *first = NULL;
	size_t depth = 0;

	for (const char *at = cursor->at; at < cursor->end; at++) {
		if (at > cursor->at && value_ends(at, cursor->end)) {
			if (!depth)
				return at;
			first = first ? first : at;
		}
		if (*at == '[' || *at == '{')
			depth++;
		else if (depth && (*at == ']' || *at == '}'))
			depth--;
	}
	return first;
}

static bool parse_nested(struct cursor *cursor, struct event *event, struct event_text *text)
{
	const char *end = json_end(cursor);

	if (!end)
		end = broken_end(cursor);
	if (!end)
		return false;
	*text = event_store_text(event, cursor->at, (size_t)(end - cursor->at));
	cursor->at = end;
	return true;
}

static bool parse_key(struct cursor *cursor, const char **key, size_t *bytes)
{
	if (!TAKE(cursor, "\""))
		return false;
	*key = cursor->at;
	const char *end = cursor->escaped ? unescaped_quote(*key, cursor->end) : key_end(*key, cursor->end);
	if (!end)
		return false;
	*bytes = (size_t)(end - *key);
	cursor->at = end;
	return TAKE(cursor, "\" : ");
}

static bool parse_arg(struct cursor *cursor, struct event *event)
{
	struct event_arg ignored, *arg;
	struct event_text key_text;
	const char *key;
	size_t bytes;

	if (!parse_key(cursor, &key, &bytes) || !bytes_left(cursor) || !store_text(cursor, event, key, bytes, &key_text))
		return false;
	arg = event_add_arg(event, key_text);
	if (!arg)
		arg = &ignored;
	arg->type = EPP_ARG_TEXT;
	if (*cursor->at == '"')
		return parse_text(cursor, event, &arg->text);
	return (*cursor->at == '[' || *cursor->at == '{') && parse_nested(cursor, event, &arg->text);
}

/* Takes the name, which ends at the beginning of the args. */
static bool parse_args(struct cursor cursor, struct event *event)
{
	if (bytes_left(&cursor) == 2)
		return TAKE(&cursor, "}}");
	while (parse_arg(&cursor, event)) {
		if (bytes_left(&cursor) == 2)
			return TAKE(&cursor, "}}");
		if (!TAKE(&cursor, ","))
			return false;
	}
	return false;
}

/* Stores all args as one arg, verbatim. */
static bool parse_args_verbatim(const struct cursor *cursor, struct event *event)
{
	size_t bytes = bytes_left(cursor);

	if (bytes < 2 || memcmp(cursor->end - 2, "}}", 2) != 0)
		return false;
	struct event_arg *arg = event_add_arg(event, event_store_text(event, "args", strlen("args")));
	if (arg) {
		arg->type = EPP_ARG_TEXT;
		arg->text = event_store_text(event, cursor->at, bytes - 2);
	}
	return true;
}

/* Takes the name and the args of a record.  The name may contain text that looks like the beginning of the args. */
static bool parse_name(struct cursor cursor, struct event *event)
{
	const char *name = cursor.at, *text;
	size_t kept_bytes = event->text_bytes, text_bytes;
	struct cursor first = { 0 };

	while (TAKE_UNTIL(&cursor, "\",\"args\" : {", &text, &text_bytes)) {
		event->text_bytes = kept_bytes;
		event->args_count = 0;
		if (!store_text(&cursor, event, name, (size_t)(text + text_bytes - name), &event->name))
			return false;
		if (parse_args(cursor, event))
			return true;
		if (!first.at)
			first = cursor;
	}
	if (!first.at || first.escaped)
		return false;
	event->text_bytes = kept_bytes;
	event->args_count = 0;
	event->name = event_store_text(event, name, (size_t)(first.at - name) - strlen("\",\"args\" : {"));
	return parse_args_verbatim(&first, event);
}

static bool read_record(struct cursor cursor, struct event *event)
{
	const char *text;
	size_t text_bytes;
	int64_t dur_us, ts_us;

	event_reset(event);
	if (!TAKE(&cursor, "{\"cat\" : \"") || !TAKE_UNTIL(&cursor, "\",\"pid\" :", &text, &text_bytes))
		return false;
	event->cat = event_store_text(event, text, text_bytes);
	if (!parse_integer(&cursor, &event->pid) || !TAKE(&cursor, ",\"tid\" :") || !parse_integer(&cursor, &event->tid) ||
	    !TAKE(&cursor, ",\"dur\" :") || !parse_integer(&cursor, &dur_us) || !TAKE(&cursor, ",\"ts\" :") ||
	    !parse_integer(&cursor, &ts_us) || !TAKE(&cursor, ",\"ph\" : \"") || bytes_left(&cursor) < 1)
		return false;
	if (__builtin_mul_overflow(dur_us, 1000, &event->dur_ns) || __builtin_mul_overflow(ts_us, 1000, &event->ts_ns))
		return false;
	event->phase = *cursor.at++;
	if (!TAKE(&cursor, "\",\"name\" :\""))
		return false;
	event->keys = EVENT_CAT | EVENT_PID | EVENT_TID | EVENT_DUR | EVENT_TS | EVENT_PHASE | EVENT_NAME;
	return parse_name(cursor, event);
}

bool repair_record(const char *record, size_t bytes, struct event *event)
{
	return read_record((struct cursor){ record, record + bytes, .escaped = true }, event) ||
	       read_record((struct cursor){ record, record + bytes, .escaped = false }, event);
}
