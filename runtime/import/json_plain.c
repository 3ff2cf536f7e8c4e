/* See json_plain.h.  Nothing is accepted that yajl refuses, and what is accepted means the same.
 *
 * Programs write the members of their events in the same order and with the same blanks again and again.  So between two
 * values there nearly always stands what stood there last time, and one comparison of 16 bytes is all that a key takes. */
#include "import/json_plain.h"

#include <string.h>

#include "import/event_member.h"

#define NESTED_MOST 16u
#define DECIMAL_BELOW 4000000000000000ll /* a thousand times as much fits, and is a time */
#define DECIMAL_BYTES 32                 /* more than its digits, its point and one byte behind */

/* What is left. */
struct rest {
	const char *at, *end;
	struct event *event;
	struct json_plain *plain;
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

static unsigned digit_of(char character)
{
	return (unsigned)(unsigned char)character - '0';
}

/* A number below DECIMAL_BELOW of at most `decimals_most` decimals, times 10 to the power of that.  Any other is left to
 * take_number, and so is one so near the end that each byte would have to be asked for. */
static bool take_decimal(struct rest *rest, unsigned decimals_most, int64_t *value)
{
	const char *at = rest->at, *point;
	int64_t number = 0;

	if (rest->end - at < DECIMAL_BYTES)
		return false;
	for (; digit_of(*at) < 10 && number < DECIMAL_BELOW / 10 && at - rest->at < 16; at++)
		number = number * 10 + digit_of(*at);
	if (at == rest->at || (*rest->at == '0' && at - rest->at > 1))
		return false;
	unsigned left = decimals_most;
	if (left && *at == '.') {
		for (point = at++; left && digit_of(*at) < 10; left--)
			number = number * 10 + digit_of(*at++);
		if (at == point + 1)
			return false;
	}
	for (; left; left--)
		number *= 10;
	if (*at == '.' || *at == 'e' || *at == 'E' || digit_of(*at) < 10)
		return false;
	rest->at = at;
	*value = number;
	return true;
}

static bool take_word(struct rest *rest, const char **text, size_t *bytes)
{
	static const char *const words[] = { "true", "false", "null" };

	if (rest->at == rest->end || *rest->at < 'a') /* a number that the text ends in was gone over */
		return false;
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

/* ---- values ---- */

/* With its colon, and the blanks around that. */
static bool take_key(struct rest *rest, const char **key, size_t *bytes)
{
	if (!take_text(rest, key, bytes))
		return false;
	skip_blanks(rest);
	if (!take(rest, ':'))
		return false;
	skip_blanks(rest);
	return true;
}

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

static bool take_args(struct rest *rest)
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
		if (!take_key(rest, &key, &bytes) || rest->at == rest->end || !take_arg(rest, key, bytes))
			return false;
		skip_blanks(rest);
	} while (take(rest, ','));
	return take(rest, '}');
}

static bool take_value(struct rest *rest, unsigned member)
{
	const char *text;
	size_t bytes;
	int64_t number;

	if (rest->at == rest->end)
		return false;
	if (*rest->at == '{')
		return member == MEMBER_ARGS && take_args(rest);
	if (member & (EVENT_TS | EVENT_DUR) && take_decimal(rest, 3, &number))
		event_take_ns(rest->event, member, number);
	else if (member & (EVENT_PID | EVENT_TID) && take_decimal(rest, 0, &number))
		event_take_thread_number(rest->event, member, number);
	else if (*rest->at == '"' ? take_text(rest, &text, &bytes) : take_number(rest, &text, &bytes))
		event_take_member(rest->event, member, text, bytes);
	else if (take_word(rest, &text, &bytes))
		rest->event->left_out++;
	else
		return false;
	return true;
}

/* ---- members ---- */

static bool take_guessed(struct rest *rest, const struct json_guess *guess)
{
	uint64_t low, high;

	if (!guess->bytes || rest->end - rest->at < 16)
		return false;
	memcpy(&low, rest->at, 8);
	memcpy(&high, rest->at + 8, 8);
	if (((low ^ guess->eights[0]) & guess->masks[0]) | ((high ^ guess->eights[1]) & guess->masks[1]))
		return false;
	rest->at += guess->bytes;
	return true;
}

static void keep_guess(struct json_guess *guess, const char *from, size_t bytes, unsigned member)
{
	if (bytes > sizeof(guess->eights))
		return;
	*guess = (struct json_guess){ .bytes = (unsigned)bytes, .member = member };
	memcpy(guess->eights, from, bytes);
	memset(guess->masks, 0xFF, bytes);
}

/* From behind the value of `*member`, or from before the object, to the value of the next one; `*member` is MEMBER_NONE at
 * the object's end. */
static bool take_next(struct rest *rest, unsigned *member)
{
	struct json_guess *guess = &rest->plain->behind[*member ? __builtin_ctz(*member) + 1 : 0];
	const char *from = rest->at, *key;
	bool first = !*member;
	size_t bytes;

	if (take_guessed(rest, guess)) {
		*member = guess->member;
		return true;
	}
	skip_blanks(rest);
	if (first && !take(rest, '{'))
		return false;
	skip_blanks(rest);
	*member = MEMBER_NONE;
	if (take(rest, '}'))
		return true;
	if (!first && !take(rest, ','))
		return false;
	skip_blanks(rest);
	if (!take_key(rest, &key, &bytes))
		return false;
	*member = event_member_of(key, bytes);
	keep_guess(guess, from, (size_t)(rest->at - from), *member);
	return true;
}

size_t json_plain_read(struct json_plain *plain, struct event *event, const char *bytes, size_t count)
{
	struct rest rest = { bytes, bytes + count, event, plain };
	unsigned member = MEMBER_NONE;

	event_reset(event);
	do {
		if (!take_next(&rest, &member) || (member && !take_value(&rest, member)))
			return 0;
	} while (member);
	skip_blanks(&rest);
	return take(&rest, ',') ? (size_t)(rest.at - bytes) : 0;
}
