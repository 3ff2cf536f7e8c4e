/* See json_plain.h.  Nothing is accepted that yajl refuses, and what is accepted means the same. */
#include "import/json_plain.h"

#include <string.h>

#include "import/event_member.h"

#define NESTED_MOST 16u

/* What is left. */
struct rest {
	const char *at, *end;
	struct event *event;
};

static bool take(struct rest *rest, char what)
{
	if (rest->at == rest->end || *rest->at != what)
		return false;
	rest->at++;
	return true;
}

static void skip_blanks(struct rest *rest)
{
	while (rest->at < rest->end && (*rest->at == ' ' || *rest->at == '\n' || *rest->at == '\r' || *rest->at == '\t'))
		rest->at++;
}

/* ---- scalars ---- */

/* The first byte that is no part of a plain text: its end, or what it may not hold.  Eight at a time: of the bits found
 * the lowest is right, others may come from a borrow. */
static const char *find_end(const char *at, const char *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;

	for (; end - at >= 8; at += 8) {
		uint64_t eight, quotes, backslashes;
		memcpy(&eight, at, 8);
		quotes = eight ^ ones * '"';
		backslashes = eight ^ ones * '\\';
		uint64_t found = (((eight - ones * 0x20) & ~eight) | ((quotes - ones) & ~quotes) |
		                  ((backslashes - ones) & ~backslashes)) &
		                 tops;
		if (found)
			return at + (unsigned)__builtin_ctzll(found) / 8;
	}
	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
		at++;
	return at;
}

static bool take_text(struct rest *rest, const char **text, size_t *bytes)
{
	if (!take(rest, '"'))
		return false;
	*text = rest->at;
	rest->at = find_end(rest->at, rest->end);
	*bytes = (size_t)(rest->at - *text);
	return take(rest, '"');
}

static bool take_digits(struct rest *rest)
{
	const char *first = rest->at;

	while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9')
		rest->at++;
	return rest->at > first;
}

static bool take_number(struct rest *rest, const char **text, size_t *bytes)
{
	*text = rest->at;
	take(rest, '-');
	if (!take(rest, '0') && !take_digits(rest))
		return false;
	if (take(rest, '.') && !take_digits(rest))
		return false;
	if (take(rest, 'e') || take(rest, 'E')) {
		if (!take(rest, '-'))
			take(rest, '+');
		if (!take_digits(rest))
			return false;
	}
	*bytes = (size_t)(rest->at - *text);
	return true;
}

static bool take_word(struct rest *rest, const char **text, size_t *bytes)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		*bytes = strlen(words[i]);
		if ((size_t)(rest->end - rest->at) >= *bytes && !memcmp(rest->at, words[i], *bytes)) {
			*text = rest->at;
			rest->at += *bytes;
			return true;
		}
	}
	return false;
}

/* ---- what is nested in args ---- */

/* Appends to the arg's text; NULL: it found no room. */
static void put(struct rest *rest, struct event_arg *arg, const char *bytes, size_t count)
{
	if (arg)
		event_extend_text(rest->event, &arg->text, bytes, count);
}

/* A text with its quotes; what is not ASCII may have to be mended. */
static bool put_text(struct rest *rest, struct event_arg *arg)
{
	const char *text;
	size_t bytes;

	if (!take_text(rest, &text, &bytes))
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if ((unsigned char)text[i] >= 0x7F)
			return false;
	}
	put(rest, arg, text - 1, bytes + 2);
	return true;
}

static bool put_nested(struct rest *rest, struct event_arg *arg, unsigned depth);

static bool put_value(struct rest *rest, struct event_arg *arg, unsigned depth)
{
	const char *text;
	size_t bytes;

	if (rest->at == rest->end)
		return false;
	if (*rest->at == '"')
		return put_text(rest, arg);
	if (*rest->at == '[' || *rest->at == '{')
		return depth < NESTED_MOST && put_nested(rest, arg, depth + 1);
	if (!take_word(rest, &text, &bytes) && !take_number(rest, &text, &bytes))
		return false;
	put(rest, arg, text, bytes);
	return true;
}

static bool put_key(struct rest *rest, struct event_arg *arg)
{
	if (!put_text(rest, arg))
		return false;
	skip_blanks(rest);
	if (!take(rest, ':'))
		return false;
	put(rest, arg, ":", 1);
	skip_blanks(rest);
	return true;
}

/* An array or object, without its blanks. */
static bool put_nested(struct rest *rest, struct event_arg *arg, unsigned depth)
{
	const char *opening = rest->at++, *closing = *opening == '[' ? "]" : "}", *before = opening;

	skip_blanks(rest);
	if (!take(rest, *closing)) {
		do {
			put(rest, arg, before, 1);
			before = ",";
			skip_blanks(rest);
			if (*closing == '}' && !put_key(rest, arg))
				return false;
			if (!put_value(rest, arg, depth))
				return false;
			skip_blanks(rest);
		} while (take(rest, ','));
		if (!take(rest, *closing))
			return false;
	} else {
		put(rest, arg, opening, 1);
	}
	put(rest, arg, closing, 1);
	return true;
}

/* ---- objects ---- */

static bool take_arg(struct rest *rest, const char *key, size_t key_bytes)
{
	struct event_text stored = event_keep_text(rest->event, key, key_bytes);
	const char *text;
	size_t bytes;

	if (*rest->at == '[' || *rest->at == '{')
		return put_nested(rest, event_take_arg_text(rest->event, stored, "", 0), 0);
	if (*rest->at == '"' ? take_text(rest, &text, &bytes) : take_word(rest, &text, &bytes))
		event_take_arg_text(rest->event, stored, text, bytes);
	else if (take_number(rest, &text, &bytes))
		event_take_arg_number(rest->event, stored, text, bytes);
	else
		return false;
	return true;
}

static bool take_object(struct rest *rest, bool is_args);

static bool take_member(struct rest *rest, const char *key, size_t key_bytes)
{
	unsigned member = event_member_of(key, key_bytes);
	const char *text;
	size_t bytes;

	if (*rest->at == '{')
		return member == MEMBER_ARGS && take_object(rest, true);
	if (*rest->at == '"' ? take_text(rest, &text, &bytes) : take_number(rest, &text, &bytes))
		event_take_member(rest->event, member, text, bytes);
	else if (take_word(rest, &text, &bytes))
		rest->event->left_out++;
	else
		return false;
	return true;
}

static bool take_object(struct rest *rest, bool is_args)
{
	const char *key;
	size_t bytes;

	if (!take(rest, '{'))
		return false;
	skip_blanks(rest);
	if (take(rest, '}'))
		return true;
	do {
		skip_blanks(rest);
		if (!take_text(rest, &key, &bytes))
			return false;
		skip_blanks(rest);
		if (!take(rest, ':'))
			return false;
		skip_blanks(rest);
		if (rest->at == rest->end || !(is_args ? take_arg(rest, key, bytes) : take_member(rest, key, bytes)))
			return false;
		skip_blanks(rest);
	} while (take(rest, ','));
	return take(rest, '}');
}

size_t json_plain_read(struct event *event, const char *bytes, size_t count)
{
	struct rest rest = { bytes, bytes + count, event };

	event_reset(event);
	skip_blanks(&rest);
	if (!take_object(&rest, false))
		return 0;
	skip_blanks(&rest);
	return take(&rest, ',') ? (size_t)(rest.at - bytes) : 0;
}
