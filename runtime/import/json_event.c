/* Stores the texts and numbers of one event of a JSON file. */
#include "import/json_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"

/* ---- numbers ---- */

#define NUMBER_BYTES 64
#define TIME_US_MAX 4000000000000000ll

static bool copy(char number[NUMBER_BYTES], const char *text, size_t bytes)
{
	if (!bytes || bytes >= NUMBER_BYTES)
		return false;
	memcpy(number, text, bytes);
	number[bytes] = 0;
	return true;
}

/* Converts decimal microseconds to nanoseconds: without floating point, unless the number has an exponent.  Returns
 * false if the text is no number, or beyond +-126 years. */
static bool event_time(const char *text, size_t bytes, int64_t *ns)
{
	bool negative = bytes && text[0] == '-';
	uint64_t us = 0, fraction = 0;
	unsigned digits = 0;
	size_t at = negative, first = at;
	char number[NUMBER_BYTES];

	for (; at < bytes && text[at] >= '0' && text[at] <= '9' && at - first < 17; at++)
		us = us * 10 + (uint64_t)(text[at] - '0');
	if (at == first)
		return false;
	if (at < bytes && text[at] == '.') {
		for (at++; at < bytes && text[at] >= '0' && text[at] <= '9'; at++) {
			if (digits < 3) {
				fraction = fraction * 10 + (uint64_t)(text[at] - '0');
				digits++;
			}
		}
	}
	if (at < bytes) {
		/* A number with an exponent was written from a double, so it is read as one. */
		if (!copy(number, text, bytes))
			return false;
		double value = strtod(number, NULL);
		if (!(value > -(double)TIME_US_MAX && value < (double)TIME_US_MAX))
			return false;
		*ns = (int64_t)(value * 1000);
		return true;
	}
	for (; digits < 3; digits++)
		fraction *= 10;
	if (us >= (uint64_t)TIME_US_MAX)
		return false;
	*ns = (int64_t)(us * 1000 + fraction);
	if (negative)
		*ns = -*ns;
	return true;
}

/* ---- members ---- */

/* Maps keys of an event's JSON object to members of struct event, and stores their values. */

#define IS(word) (!memcmp(key, word, sizeof(word) - 1))

unsigned event_member_of(const char *key, size_t bytes)
{
	switch (bytes) {
	case 2:
		return IS("ts")   ? EVENT_TS
		       : IS("ph") ? EVENT_PHASE
		       : IS("id") ? EVENT_ID
		       : IS("bp") ? EVENT_BIND
		                  : MEMBER_OTHER;
	case 3:
		return IS("pid")   ? EVENT_PID
		       : IS("tid") ? EVENT_TID
		       : IS("dur") ? EVENT_DUR
		       : IS("cat") ? EVENT_CAT
		       : IS("id2") ? MEMBER_ID2
		                   : MEMBER_OTHER;
	case 4:
		return IS("name") ? EVENT_NAME : IS("args") ? MEMBER_ARGS : MEMBER_OTHER;
	case 5:
		return IS("scope") ? EVENT_SCOPE : MEMBER_OTHER;
	default:
		return MEMBER_OTHER;
	}
}

void event_take_id(struct event *event, const char *text, size_t bytes)
{
	event->id = event_store_text(event, text, bytes);
	event->keys |= EVENT_ID;
}

static void parse_time(struct event *event, unsigned member, const char *text, size_t bytes)
{
	if (event_time(text, bytes, member == EVENT_TS ? &event->ts_ns : &event->dur_ns))
		event->keys |= member;
}

/* Stores a process or thread id.  An id that is no 64-bit integer is stored as text. */
static void parse_thread(struct event *event, unsigned member, const char *text, size_t bytes)
{
	bool is_pid = member == EVENT_PID;
	struct event_text *stored = is_pid ? &event->pid_text : &event->tid_text;

	*stored = (struct event_text){ 0 };
	if (!event_parse_integer(text, bytes, is_pid ? &event->pid : &event->tid))
		*stored = event_store_text(event, text, bytes);
	event->keys |= member;
}

static void parse_text(struct event *event, unsigned member, struct event_text *stored, const char *text, size_t bytes)
{
	*stored = event_store_text(event, text, bytes);
	event->keys |= member;
}

void event_take_member(struct event *event, unsigned member, const char *text, size_t bytes)
{
	switch (member) {
	case EVENT_NAME:
		parse_text(event, member, &event->name, text, bytes);
		break;
	case EVENT_CAT:
		parse_text(event, member, &event->cat, text, bytes);
		break;
	case EVENT_SCOPE:
		parse_text(event, member, &event->scope, text, bytes);
		break;
	case EVENT_PHASE:
		event->phase = bytes == 1 ? text[0] : '?';
		event->keys |= EVENT_PHASE;
		break;
	case EVENT_BIND:
		event->binds_enclosing = bytes == 1 && text[0] == 'e';
		break;
	case EVENT_TS:
	case EVENT_DUR:
		parse_time(event, member, text, bytes);
		break;
	case EVENT_PID:
	case EVENT_TID:
		parse_thread(event, member, text, bytes);
		break;
	case EVENT_ID:
		event_take_id(event, text, bytes);
		break;
	default:
		event->left_out++;
	}
}

struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes)
{
	struct event_arg *arg = event_add_arg(event, key);

	if (!arg)
		return NULL;
	arg->type = EPP_ARG_TEXT;
	arg->text = event_store_text(event, text, bytes);
	return arg;
}

void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes)
{
	struct event_arg *arg = event_add_arg(event, key);

	if (arg)
		event_parse_number(arg, text, bytes);
}

/* ---- events ---- */

void event_reset(struct event *event)
{
	char *text = event->text;
	size_t room = event->text_room;
	struct event_text none = { 0 };

	event->keys = event->left_out = 0;
	event->phase = 0;
	event->cut = event->id_is_local = event->binds_enclosing = event->no_memory = false;
	event->name = event->cat = event->id = event->scope = event->pid_text = event->tid_text = none;
	event->pid = event->tid = event->ts_ns = event->dur_ns = 0;
	event->args_count = 0;
	event->text = text;
	event->text_bytes = 0;
	event->text_room = room;
}

void event_deinit(struct event *event)
{
	free(event->text);
	event->text = NULL;
	event->text_bytes = event->text_room = 0;
}

/* Reserves memory for a text.  Returns how many of `bytes` bytes there is room for. */
static size_t reserve(struct event *event, size_t bytes)
{
	if (bytes > EVENT_TEXT_BYTES_MAX - event->text_bytes) {
		bytes = EVENT_TEXT_BYTES_MAX - event->text_bytes;
		event->cut = true;
	}
	if (array_reserve(&event->text, &event->text_room, event->text_bytes + bytes, 1))
		return bytes;
	event->no_memory = true;
	return 0;
}

struct event_text event_store_text(struct event *event, const char *text, size_t bytes)
{
	struct event_text stored = { .at = (uint32_t)event->text_bytes };

	if (bytes && bytes <= event->text_room - event->text_bytes) {
		memcpy(event->text + event->text_bytes, text, bytes);
		event->text_bytes += bytes;
		stored.bytes = (uint32_t)bytes;
		return stored;
	}
	event_extend_text(event, &stored, text, bytes);
	return stored;
}

void event_extend_text(struct event *event, struct event_text *text, const char *more, size_t bytes)
{
	bytes = reserve(event, bytes);
	if (bytes)
		memcpy(event->text + event->text_bytes, more, bytes);
	event->text_bytes += bytes;
	text->bytes += (uint32_t)bytes;
}

struct event_arg *event_add_arg(struct event *event, struct event_text key)
{
	if (event->args_count == EVENT_ARGS_MAX) {
		event->cut = true;
		return NULL;
	}
	struct event_arg *arg = &event->args[event->args_count++];
	*arg = (struct event_arg){ .key = key };
	return arg;
}

const struct event_arg *event_find_arg(const struct event *event, const char *key)
{
	for (uint32_t i = 0; i < event->args_count; i++) {
		if (event_text_is(event, event->args[i].key, key))
			return &event->args[i];
	}
	return NULL;
}

bool event_arg_i64(const struct event *event, const struct event_arg *arg, int64_t *value)
{
	if (arg->type == EPP_ARG_I64) {
		*value = arg->number.i64;
		return true;
	}
	return arg->type == EPP_ARG_TEXT && event_parse_integer(event_chars(event, arg->text), arg->text.bytes, value);
}

/* ---- numbers ---- */

bool event_parse_integer(const char *text, size_t bytes, int64_t *value)
{
	bool negative = bytes && text[0] == '-';
	uint64_t sum = 0;

	if (bytes == negative || bytes > 19u + negative)
		return false;
	for (size_t i = negative; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		sum = sum * 10 + (uint64_t)(text[i] - '0');
	}
	if (sum > (uint64_t)INT64_MAX)
		return false;
	*value = negative ? -(int64_t)sum : (int64_t)sum;
	return true;
}

void event_parse_number(struct event_arg *arg, const char *text, size_t bytes)
{
	char number[NUMBER_BYTES], *end;

	arg->type = EPP_ARG_I64;
	if (event_parse_integer(text, bytes, &arg->number.i64) || !copy(number, text, bytes))
		return;
	errno = 0;
	unsigned long long integer = strtoull(number, &end, 10);
	if (!*end && !errno && number[0] != '-') {
		arg->type = EPP_ARG_U64;
		arg->number.u64 = integer;
		return;
	}
	arg->type = EPP_ARG_F64;
	arg->number.f64 = strtod(number, NULL);
}
