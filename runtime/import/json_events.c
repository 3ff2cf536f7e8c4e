/* The callbacks of yajl.  They keep where in the file's shape they are, and fill one event.
 *
 * Nested values of args are put together again from their tokens, without blanks: numbers as they stood, strings escaped
 * anew. */
#include "import/json_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json.h"

enum {
	MEMBER_NONE = 0,
	MEMBER_ARGS = 1 << 16,
	MEMBER_ID2 = 1 << 17,
	MEMBER_LOCAL = 1 << 18,
	MEMBER_EVENTS = 1 << 19, /* traceEvents */
	MEMBER_BASE = 1 << 20,
	MEMBER_OTHER = 1 << 21,
};

void json_events_init(struct json_events *json, enum json_shape shape)
{
	memset(json, 0, sizeof(*json));
	json->shape = shape;
}

void json_events_deinit(struct json_events *json)
{
	if (json->yajl)
		yajl_free(json->yajl);
	json->yajl = NULL;
	epp_status_release(json->status);
	json->status = NULL;
	event_deinit(&json->event);
}

/* ---- nested args ---- */

static void raw_append(struct json_events *json, const char *bytes, size_t count)
{
	if (json->raw)
		event_extend_text(&json->event, &json->raw->text, bytes, count);
}

/* A comma, unless it is the first. */
static void raw_separate(struct json_events *json)
{
	if (!json->raw_first)
		raw_append(json, ",", 1);
	json->raw_first = false;
}

static void raw_string(struct json_events *json, const char *text, size_t bytes)
{
	char piece[JSON_ESCAPED_BYTES(256)];
	size_t step;

	raw_append(json, "\"", 1);
	for (size_t at = 0; at < bytes; at += step) {
		step = bytes - at < 256 ? bytes - at : 256;
		/* Not in the middle of a sequence. */
		for (unsigned back = 0;
		     at + step < bytes && ((unsigned char)text[at + step] & 0xC0) == 0x80 && back < 3; back++)
			step--;
		raw_append(json, piece, (size_t)(json_escape(piece, text + at, step) - piece));
	}
	raw_append(json, "\"", 1);
}

/* ---- scalars ---- */

static void take_id(struct json_events *json, const char *text, size_t bytes)
{
	json->event.id = event_keep_text(&json->event, text, bytes);
	json->event.members |= EVENT_ID;
}

static void take_time(struct json_events *json, const char *text, size_t bytes)
{
	int64_t *ns = json->member == EVENT_TS ? &json->event.ts_ns : &json->event.dur_ns;

	if (event_time(text, bytes, ns))
		json->event.members |= json->member;
}

static void take_thread(struct json_events *json, const char *text, size_t bytes)
{
	struct event *event = &json->event;
	bool is_pid = json->member == EVENT_PID;
	struct event_text *stored = is_pid ? &event->pid_text : &event->tid_text;

	*stored = (struct event_text){ 0 };
	event->members |= json->member;
	if (!event_integer(text, bytes, is_pid ? &event->pid : &event->tid))
		*stored = event_keep_text(event, text, bytes);
}

/* A string or a number as a member of an event. */
static void take_member(struct json_events *json, const char *text, size_t bytes)
{
	struct event *event = &json->event;

	switch (json->member) {
	case EVENT_NAME:
		event->name = event_keep_text(event, text, bytes);
		event->members |= EVENT_NAME;
		break;
	case EVENT_CAT:
		event->cat = event_keep_text(event, text, bytes);
		event->members |= EVENT_CAT;
		break;
	case EVENT_PHASE:
		event->phase = bytes == 1 ? text[0] : '?';
		event->members |= EVENT_PHASE;
		break;
	case EVENT_SCOPE:
		event->scope = event_keep_text(event, text, bytes);
		event->members |= EVENT_SCOPE;
		break;
	case EVENT_BIND:
		event->binds_enclosing = bytes == 1 && text[0] == 'e';
		break;
	case EVENT_TS:
	case EVENT_DUR:
		take_time(json, text, bytes);
		break;
	case EVENT_PID:
	case EVENT_TID:
		take_thread(json, text, bytes);
		break;
	case EVENT_ID:
		take_id(json, text, bytes);
		break;
	default:
		event->left_out++;
	}
}

static bool at_member(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 1;
}

static bool at_arg(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 2 && json->member == MEMBER_ARGS && !json->raw_depth;
}

/* Inside `id2`: {"local": ...} or {"global": ...}. */
static bool at_id2(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 2 && (json->member & (MEMBER_ID2 | MEMBER_LOCAL));
}

static int on_word(struct json_events *json, const char *word)
{
	if (json->raw_depth) {
		raw_separate(json);
		raw_append(json, word, strlen(word));
	} else if (at_arg(json)) {
		struct event_arg *arg = event_add_arg(&json->event, json->key);
		if (arg) {
			arg->type = EPP_ARG_TEXT;
			arg->text = event_keep_text(&json->event, word, strlen(word));
		}
	} else if (at_member(json)) {
		json->event.left_out++;
	}
	return 1;
}

static int on_null(void *user)
{
	return on_word(user, "null");
}

static int on_boolean(void *user, int value)
{
	return on_word(user, value ? "true" : "false");
}

/* A number or a text that is no arg. */
static void take_value(struct json_events *json, const char *text, size_t bytes)
{
	if (at_member(json)) {
		take_member(json, text, bytes);
	} else if (at_id2(json)) {
		json->event.id_is_local = json->member & MEMBER_LOCAL;
		take_id(json, text, bytes);
	} else if (json->depth == 1 && json->member == MEMBER_BASE) {
		json->has_base = event_integer(text, bytes, &json->base_ns);
	}
}

static int on_number(void *user, const char *text, size_t bytes)
{
	struct json_events *json = user;

	json->heard = true;
	if (json->raw_depth) {
		raw_separate(json);
		raw_append(json, text, bytes);
	} else if (at_arg(json)) {
		struct event_arg *arg = event_add_arg(&json->event, json->key);
		if (arg)
			event_number(arg, text, bytes);
	} else {
		take_value(json, text, bytes);
	}
	return 1;
}

static int on_string(void *user, const unsigned char *chars, size_t bytes)
{
	struct json_events *json = user;
	const char *text = (const char *)chars;

	json->heard = true;
	if (json->raw_depth) {
		raw_separate(json);
		raw_string(json, text, bytes);
	} else if (at_arg(json)) {
		struct event_arg *arg = event_add_arg(&json->event, json->key);
		if (arg) {
			arg->type = EPP_ARG_TEXT;
			arg->text = event_keep_text(&json->event, text, bytes);
		}
	} else {
		take_value(json, text, bytes);
	}
	return 1;
}

/* ---- keys ---- */

static unsigned member_of(const char *key, size_t bytes)
{
	static const struct {
		char key[8];
		unsigned member;
	} members[][4] = {
		[2] = { { "ts", EVENT_TS }, { "ph", EVENT_PHASE }, { "id", EVENT_ID }, { "bp", EVENT_BIND } },
		[3] = { { "pid", EVENT_PID }, { "tid", EVENT_TID }, { "dur", EVENT_DUR }, { "cat", EVENT_CAT } },
		[4] = { { "name", EVENT_NAME }, { "args", MEMBER_ARGS } },
		[5] = { { "scope", EVENT_SCOPE } },
	};

	for (size_t i = 0; bytes >= 2 && bytes <= 5 && i < 4; i++) {
		if (!memcmp(members[bytes][i].key, key, bytes))
			return members[bytes][i].member;
	}
	return bytes == 3 && !memcmp(key, "id2", 3) ? MEMBER_ID2 : MEMBER_OTHER;
}

static bool key_is(const char *key, size_t bytes, const char *what)
{
	return strlen(what) == bytes && !memcmp(key, what, bytes);
}

static int on_key(void *user, const unsigned char *chars, size_t bytes)
{
	struct json_events *json = user;
	const char *key = (const char *)chars;

	json->heard = true;
	if (at_arg(json)) {
		json->key = event_keep_text(&json->event, key, bytes);
	} else if (json->raw_depth) {
		raw_separate(json);
		raw_string(json, key, bytes);
		raw_append(json, ":", 1);
		json->raw_first = true; /* no comma before the value */
	} else if (at_member(json)) {
		json->member = member_of(key, bytes);
	} else if (at_id2(json)) {
		json->member = key_is(key, bytes, "local") ? MEMBER_LOCAL : MEMBER_ID2;
	} else if (json->shape == JSON_SHAPE_OBJECT && json->depth == 1) {
		json->member = key_is(key, bytes, "traceEvents")           ? MEMBER_EVENTS
		               : key_is(key, bytes, "baseTimeNanoseconds") ? MEMBER_BASE
		                                                           : MEMBER_OTHER;
	}
	return 1;
}

/* ---- objects and arrays ---- */

/* The first token of a file says what shape it has. */
static void take_shape(struct json_events *json, bool is_array)
{
	if (json->shape != JSON_SHAPE_UNKNOWN)
		return;
	json->shape = is_array ? JSON_SHAPE_ARRAY : JSON_SHAPE_OBJECT;
	json->event_depth = is_array ? 1 : 2;
}

static int on_start(struct json_events *json, bool is_array)
{
	json->heard = true;
	if (!json->depth)
		take_shape(json, is_array);
	if (json->raw_depth) {
		raw_separate(json);
		raw_append(json, is_array ? "[" : "{", 1);
		json->raw_first = true;
		json->raw_depth++;
	} else if (at_arg(json)) {
		json->raw = event_add_arg(&json->event, json->key);
		if (json->raw) {
			json->raw->type = EPP_ARG_TEXT;
			json->raw->text = event_keep_text(&json->event, is_array ? "[" : "{", 1);
		}
		json->raw_first = true;
		json->raw_depth = 1;
	} else if (!json->in_event && !is_array && json->depth == json->event_depth &&
	           (json->in_array || json->shape == JSON_SHAPE_LINE)) {
		event_reset(&json->event);
		json->in_event = true;
		json->member = MEMBER_NONE;
	} else if (is_array && ((json->shape == JSON_SHAPE_ARRAY && !json->depth) ||
	                        (json->shape == JSON_SHAPE_OBJECT && json->depth == 1 && json->member == MEMBER_EVENTS))) {
		json->in_array = true;
	} else if (at_member(json) && !(json->member & (MEMBER_ARGS | MEMBER_ID2))) {
		json->event.left_out++;
	}
	json->depth++;
	return 1;
}

static int on_end(struct json_events *json, bool is_array)
{
	json->heard = true;
	json->depth--;
	if (json->raw_depth) {
		raw_append(json, is_array ? "]" : "}", 1);
		json->raw_first = false;
		if (!--json->raw_depth)
			json->raw = NULL;
	} else if (json->in_event && json->depth == json->event_depth) {
		json->in_event = false;
		json->events_count++;
		if (json->found)
			json->status = json->found(json->user, &json->event);
		return !json->status;
	} else if (json->in_array && is_array && json->depth + 1 == json->event_depth) {
		json->in_array = false;
		json->array_ended = true;
	}
	return 1;
}

static int on_start_map(void *user)
{
	return on_start(user, false);
}

static int on_end_map(void *user)
{
	return on_end(user, false);
}

static int on_start_array(void *user)
{
	return on_start(user, true);
}

static int on_end_array(void *user)
{
	return on_end(user, true);
}

/* ---- reading ---- */

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};

static bool begin(struct json_events *json)
{
	if (json->yajl)
		return true;
	json->yajl = yajl_alloc(&callbacks, NULL, json);
	if (!json->yajl)
		return false;
	yajl_config(json->yajl, yajl_dont_validate_strings, 1);
	if (json->shape == JSON_SHAPE_LINE)
		yajl_config(json->yajl, yajl_allow_multiple_values, 1);
	return true;
}

static void give_up(struct json_events *json)
{
	if (json->yajl)
		yajl_free(json->yajl);
	json->yajl = NULL;
	json->depth = json->raw_depth = 0;
	json->in_event = false;
}

bool json_events_line(struct json_events *json, const char *line, size_t bytes)
{
	uint64_t before = json->events_count;

	if (!begin(json))
		return false;
	if (yajl_parse(json->yajl, (const unsigned char *)line, bytes) == yajl_status_ok && !json->depth &&
	    json->events_count == before + 1)
		return true;
	give_up(json);
	return false;
}

enum json_read json_events_read(struct json_events *json, const char *bytes, size_t count, char **message)
{
	*message = NULL;
	if (!begin(json)) {
		json->status = epp_status_no_memory();
		return JSON_READ_FAILED;
	}
	json->heard = false;
	yajl_status state = yajl_parse(json->yajl, (const unsigned char *)bytes, count);
	if (json->status)
		return JSON_READ_FAILED;
	json->unheard_bytes = json->heard ? 0 : json->unheard_bytes + count;
	if (state == yajl_status_ok) {
		json->bytes += count;
		if (json->unheard_bytes <= JSON_TEXT_BYTES_MAX)
			return JSON_READ_ON;
		if (asprintf(message, "byte %llu: a text of more than %u MiB", (unsigned long long)json->bytes,
		             JSON_TEXT_BYTES_MAX >> 20) < 0)
			*message = NULL;
		return JSON_READ_INVALID;
	}
	json->bytes += yajl_get_bytes_consumed(json->yajl);
	unsigned char *error = yajl_get_error(json->yajl, 0, NULL, 0);
	char *text = (char *)error;
	if (text) {
		text[strcspn(text, "\n")] = 0;
		if (asprintf(message, "byte %llu: %s", (unsigned long long)json->bytes, text) < 0)
			*message = NULL;
		yajl_free_error(json->yajl, error);
	}
	return JSON_READ_INVALID;
}

bool json_events_end(struct json_events *json)
{
	return json->yajl && yajl_complete_parse(json->yajl) == yajl_status_ok && !json->depth;
}
