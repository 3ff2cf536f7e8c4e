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
struct rest {
	const char *at, *end;
	bool escaped; /* the record's texts are escaped: each of them ends at the first unescaped quote */
};

static size_t left(const struct rest *rest)
{
	return (size_t)(rest->end - rest->at);
}

static inline bool take_bytes(struct rest *rest, const char *what, size_t bytes)
{
	if (left(rest) < bytes || memcmp(rest->at, what, bytes) != 0)
		return false;
	rest->at += bytes;
	return true;
}

/* Takes the text before the next `mark`, and moves behind the mark.  Returns false if there is no mark. */
static inline bool take_until_bytes(struct rest *rest, const char *mark, size_t mark_bytes, const char **text, size_t *bytes)
{
	/* Each mark begins with a rare character, so memchr is several times as fast as memmem. */
	for (const char *at = rest->at; (size_t)(rest->end - at) >= mark_bytes; at++) {
		at = memchr(at, *mark, (size_t)(rest->end - at) - mark_bytes + 1);
		if (!at)
			return false;
		if (memcmp(at, mark, mark_bytes) != 0)
			continue;
		*text = rest->at;
		*bytes = (size_t)(at - rest->at);
		rest->at = at + mark_bytes;
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
static bool keep_unescaped(struct event *event, const char *at, size_t bytes, struct event_text *text)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *end = at + bytes;

	*text = event_keep_text(event, at, 0);
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

static bool keep(const struct rest *rest, struct event *event, const char *at, size_t bytes, struct event_text *text)
{
	if (rest->escaped)
		return keep_unescaped(event, at, bytes, text);
	*text = event_keep_text(event, at, bytes);
	return true;
}

/* ---- parts of a record ---- */

/* For string literals, whose lengths the compiler knows. */
#define TAKE(rest, what) take_bytes(rest, what, sizeof(what) - 1)
#define TAKE_UNTIL(rest, mark, text, bytes) take_until_bytes(rest, mark, sizeof(mark) - 1, text, bytes)

static bool take_integer(struct rest *rest, int64_t *value)
{
	const char *first = rest->at;

	if (left(rest) && *first == '-')
		rest->at++;
	while (left(rest) && *rest->at >= '0' && *rest->at <= '9')
		rest->at++;
	return event_integer(first, (size_t)(rest->at - first), value);
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

static bool take_text(struct rest *rest, struct event *event, struct event_text *text)
{
	if (rest->escaped) {
		const char *first = rest->at + 1, *quote = unescaped_quote(first, rest->end);
		if (!quote)
			return false;
		rest->at = quote + 1;
		return keep_unescaped(event, first, (size_t)(quote - first), text);
	}
	for (const char *quote = rest->at + 1; quote < rest->end; quote++) {
		quote = memchr(quote, '"', (size_t)(rest->end - quote));
		if (!quote)
			return false;
		if (value_ends(quote + 1, rest->end)) {
			*text = event_keep_text(event, rest->at + 1, (size_t)(quote - rest->at) - 1);
			rest->at = quote + 1;
			return true;
		}
	}
	return false;
}

/* Returns the end of an array or object; NULL: it is no valid JSON. */
static const char *json_end(const struct rest *rest)
{
	char closing = *rest->at == '[' ? ']' : '}';

	for (const char *at = rest->at; (at = memchr(at + 1, closing, (size_t)(rest->end - at) - 1)) != NULL;) {
		if (value_ends(at + 1, rest->end) && json_valid(rest->at, (size_t)(at + 1 - rest->at)))
			return at + 1;
	}
	return NULL;
}

/* Returns the end of an invalid array or object: the first place where it may end and its brackets are balanced, else
 * the first place where it may end. */
static const char *broken_end(const struct rest *rest)
{
	const char *first = NULL;
	size_t depth = 0;

	for (const char *at = rest->at; at < rest->end; at++) {
		if (at > rest->at && value_ends(at, rest->end)) {
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

static bool take_nested(struct rest *rest, struct event *event, struct event_text *text)
{
	const char *end = json_end(rest);

	if (!end)
		end = broken_end(rest);
	if (!end)
		return false;
	*text = event_keep_text(event, rest->at, (size_t)(end - rest->at));
	rest->at = end;
	return true;
}

static bool take_key(struct rest *rest, const char **key, size_t *bytes)
{
	if (!TAKE(rest, "\""))
		return false;
	*key = rest->at;
	const char *end = rest->escaped ? unescaped_quote(*key, rest->end) : key_end(*key, rest->end);
	if (!end)
		return false;
	*bytes = (size_t)(end - *key);
	rest->at = end;
	return TAKE(rest, "\" : ");
}

static bool take_arg(struct rest *rest, struct event *event)
{
	struct event_arg ignored, *arg;
	struct event_text key_text;
	const char *key;
	size_t bytes;

	if (!take_key(rest, &key, &bytes) || !left(rest) || !keep(rest, event, key, bytes, &key_text))
		return false;
	arg = event_add_arg(event, key_text);
	if (!arg)
		arg = &ignored;
	arg->type = EPP_ARG_TEXT;
	if (*rest->at == '"')
		return take_text(rest, event, &arg->text);
	return (*rest->at == '[' || *rest->at == '{') && take_nested(rest, event, &arg->text);
}

/* Takes the name, which ends at the beginning of the args. */
static bool take_args(struct rest rest, struct event *event)
{
	if (left(&rest) == 2)
		return TAKE(&rest, "}}");
	while (take_arg(&rest, event)) {
		if (left(&rest) == 2)
			return TAKE(&rest, "}}");
		if (!TAKE(&rest, ","))
			return false;
	}
	return false;
}

/* Stores all args as one arg, verbatim. */
static bool take_args_whole(const struct rest *rest, struct event *event)
{
	size_t bytes = left(rest);

	if (bytes < 2 || memcmp(rest->end - 2, "}}", 2) != 0)
		return false;
	struct event_arg *arg = event_add_arg(event, event_keep_text(event, "args", strlen("args")));
	if (arg) {
		arg->type = EPP_ARG_TEXT;
		arg->text = event_keep_text(event, rest->at, bytes - 2);
	}
	return true;
}

/* Takes the name and the args of a record.  The name may contain text that looks like the beginning of the args. */
static bool take_name(struct rest rest, struct event *event)
{
	const char *name = rest.at, *text;
	size_t kept_bytes = event->text_bytes, text_bytes;
	struct rest first = { 0 };

	while (TAKE_UNTIL(&rest, "\",\"args\" : {", &text, &text_bytes)) {
		event->text_bytes = kept_bytes;
		event->args_count = 0;
		if (!keep(&rest, event, name, (size_t)(text + text_bytes - name), &event->name))
			return false;
		if (take_args(rest, event))
			return true;
		if (!first.at)
			first = rest;
	}
	if (!first.at || first.escaped)
		return false;
	event->text_bytes = kept_bytes;
	event->args_count = 0;
	event->name = event_keep_text(event, name, (size_t)(first.at - name) - strlen("\",\"args\" : {"));
	return take_args_whole(&first, event);
}

static bool read_record(struct rest rest, struct event *event)
{
	const char *text;
	size_t text_bytes;
	int64_t dur_us, ts_us;

	event_reset(event);
	if (!TAKE(&rest, "{\"cat\" : \"") || !TAKE_UNTIL(&rest, "\",\"pid\" :", &text, &text_bytes))
		return false;
	event->cat = event_keep_text(event, text, text_bytes);
	if (!take_integer(&rest, &event->pid) || !TAKE(&rest, ",\"tid\" :") || !take_integer(&rest, &event->tid) ||
	    !TAKE(&rest, ",\"dur\" :") || !take_integer(&rest, &dur_us) || !TAKE(&rest, ",\"ts\" :") ||
	    !take_integer(&rest, &ts_us) || !TAKE(&rest, ",\"ph\" : \"") || left(&rest) < 1)
		return false;
	if (__builtin_mul_overflow(dur_us, 1000, &event->dur_ns) || __builtin_mul_overflow(ts_us, 1000, &event->ts_ns))
		return false;
	event->phase = *rest.at++;
	if (!TAKE(&rest, "\",\"name\" :\""))
		return false;
	event->keys = EVENT_CAT | EVENT_PID | EVENT_TID | EVENT_DUR | EVENT_TS | EVENT_PHASE | EVENT_NAME;
	return take_name(rest, event);
}

bool repair_record(const char *record, size_t bytes, struct event *event)
{
	return read_record((struct rest){ record, record + bytes, .escaped = true }, event) ||
	       read_record((struct rest){ record, record + bytes, .escaped = false }, event);
}
