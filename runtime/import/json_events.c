/* Implements json_events.h with callbacks of yajl, which track the position in the structure of the file and fill one
 * event.
 *
 * Nested values of args are rebuilt from their tokens without white space: numbers keep their text, strings are escaped
 * again. */
#include "import/json_events.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoding/json.h"
#include "import/json_event.h"

/* ---- memory of the parser ---- */

/* Allocates memory for yajl.  All blocks are in a list, so that they can be freed after a failed allocation: yajl's own
 * structures are then inconsistent, and yajl cannot free them. */

struct yajl_memory_block {
	LIST_ENTRY(yajl_memory_block) link;
	_Alignas(max_align_t) char bytes[];
};

static struct yajl_memory_block *block_from_bytes(void *bytes)
{
	return (struct yajl_memory_block *)((char *)bytes - offsetof(struct yajl_memory_block, bytes));
}

/* Resizes a block.  The block must have been removed from the list. */
static void *resize(struct yajl_memory *memory, struct yajl_memory_block *block, size_t bytes)
{
	struct yajl_memory_block *resized = realloc(block, sizeof(*resized) + bytes);

	if (!resized) {
		free(block);
		longjmp(memory->no_memory, 1);
	}
	LIST_INSERT_HEAD(&memory->blocks, resized, link);
	return resized->bytes;
}

static void *on_malloc(void *memory, size_t bytes)
{
	return resize(memory, NULL, bytes);
}

static void *on_realloc(void *memory, void *old, size_t bytes)
{
	if (!old)
		return resize(memory, NULL, bytes);
	LIST_REMOVE(block_from_bytes(old), link);
	return resize(memory, block_from_bytes(old), bytes);
}

static void on_free(void *memory, void *bytes)
{
	(void)memory;
	if (bytes) {
		LIST_REMOVE(block_from_bytes(bytes), link);
		free(block_from_bytes(bytes));
	}
}

/* The struct must not be moved after this call, because yajl keeps its address. */
static void yajl_memory_init(struct yajl_memory *memory)
{
	memory->functions = (yajl_alloc_funcs){ .malloc = on_malloc, .realloc = on_realloc, .free = on_free, .ctx = memory };
	LIST_INIT(&memory->blocks);
}

/* Frees everything that yajl has allocated, including the yajl handle. */
static void yajl_memory_release(struct yajl_memory *memory)
{
	struct yajl_memory_block *block;

	while ((block = LIST_FIRST(&memory->blocks)) != NULL)
		on_free(memory, block->bytes);
}

/* ---- the parser ---- */

/* Further values of json_events.member: the key `local` in an event's `id2`, and keys of the top-level object. */
enum {
	MEMBER_LOCAL = 1 << 19,
	MEMBER_EVENTS = 1 << 20, /* traceEvents */
	MEMBER_BASE = 1 << 21,
};

void json_events_init(struct json_events *json, enum json_shape shape)
{
	memset(json, 0, sizeof(*json));
	json->shape = shape;
	yajl_memory_init(&json->memory);
}

void json_events_deinit(struct json_events *json)
{
	yajl_memory_release(&json->memory);
	json->yajl = NULL;
	epp_status_destroy(json->status);
	json->status = NULL;
	event_deinit(&json->event);
}

/* ---- nested args ---- */

static void raw_append(struct json_events *json, const char *bytes, size_t count)
{
	if (json->raw)
		event_extend_text(&json->event, &json->raw->text, bytes, count);
}

/* Writes a comma, unless the value is the first in its container. */
static void raw_append_comma(struct json_events *json)
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
		/* The cut must not be inside of a UTF-8 sequence. */
		for (unsigned back = 0;
		     at + step < bytes && ((unsigned char)text[at + step] & 0xC0) == 0x80 && back < 3; back++)
			step--;
		raw_append(json, piece, (size_t)(json_escape(piece, text + at, step) - piece));
	}
	raw_append(json, "\"", 1);
}

/* ---- scalars ---- */

static bool is_at_member(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 1;
}

static bool at_arg(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 2 && json->member == MEMBER_ARGS && !json->raw_depth;
}

/* Returns whether the position is inside `id2`: {"local": ...} or {"global": ...}. */
static bool is_at_id2(const struct json_events *json)
{
	return json->in_event && json->depth == json->event_depth + 2 && (json->member & (MEMBER_ID2 | MEMBER_LOCAL));
}

static int on_word(struct json_events *json, const char *word)
{
	if (json->raw_depth) {
		raw_append_comma(json);
		raw_append(json, word, strlen(word));
	} else if (at_arg(json)) {
		event_take_arg_text(&json->event, json->key, word, strlen(word));
	} else if (is_at_member(json)) {
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

/* Stores a number or a text that is not inside the args. */
static void take_value(struct json_events *json, const char *text, size_t bytes)
{
	if (is_at_member(json)) {
		event_take_member(&json->event, json->member, text, bytes);
	} else if (is_at_id2(json)) {
		json->event.id_is_local = json->member & MEMBER_LOCAL;
		event_take_id(&json->event, text, bytes);
	} else if (json->depth == 1 && json->member == MEMBER_BASE) {
		json->has_base = event_parse_integer(text, bytes, &json->base_ns);
	}
}

static int on_number(void *user, const char *text, size_t bytes)
{
	struct json_events *json = user;

	json->was_called = true;
	if (json->raw_depth) {
		raw_append_comma(json);
		raw_append(json, text, bytes);
	} else if (at_arg(json)) {
		event_take_arg_number(&json->event, json->key, text, bytes);
	} else {
		take_value(json, text, bytes);
	}
	return 1;
}

static int on_string(void *user, const unsigned char *chars, size_t bytes)
{
	struct json_events *json = user;
	const char *text = (const char *)chars;

	json->was_called = true;
	if (json->raw_depth) {
		raw_append_comma(json);
		raw_string(json, text, bytes);
	} else if (at_arg(json)) {
		event_take_arg_text(&json->event, json->key, text, bytes);
	} else {
		take_value(json, text, bytes);
	}
	return 1;
}

/* ---- keys ---- */

static bool key_is(const char *key, size_t bytes, const char *what)
{
	return strlen(what) == bytes && !memcmp(key, what, bytes);
}

static int on_key(void *user, const unsigned char *chars, size_t bytes)
{
	struct json_events *json = user;
	const char *key = (const char *)chars;

	json->was_called = true;
	if (at_arg(json)) {
		json->key = event_store_text(&json->event, key, bytes);
	} else if (json->raw_depth) {
		raw_append_comma(json);
		raw_string(json, key, bytes);
		raw_append(json, ":", 1);
		json->raw_first = true; /* no comma goes before the first value of a container */
	} else if (is_at_member(json)) {
		json->member = event_member_of(key, bytes);
	} else if (is_at_id2(json)) {
		json->member = key_is(key, bytes, "local") ? MEMBER_LOCAL : MEMBER_ID2;
	} else if (json->shape == JSON_SHAPE_OBJECT && json->depth == 1) {
		json->member = key_is(key, bytes, "traceEvents")           ? MEMBER_EVENTS
		               : key_is(key, bytes, "baseTimeNanoseconds") ? MEMBER_BASE
		                                                           : MEMBER_OTHER;
	}
	return 1;
}

/* ---- objects and arrays ---- */

/* Determines the shape of the file from its first token. */
static void detect_shape(struct json_events *json, bool is_array)
{
	if (json->shape != JSON_SHAPE_UNKNOWN)
		return;
	json->shape = is_array ? JSON_SHAPE_ARRAY : JSON_SHAPE_OBJECT;
	json->event_depth = is_array ? 1 : 2;
}

static int on_start(struct json_events *json, bool is_array)
{
	json->was_called = true;
	if (!json->depth)
		detect_shape(json, is_array);
	if (json->raw_depth) {
		raw_append_comma(json);
		raw_append(json, is_array ? "[" : "{", 1);
		json->raw_first = true;
		json->raw_depth++;
	} else if (at_arg(json)) {
		json->raw = event_take_arg_text(&json->event, json->key, is_array ? "[" : "{", 1);
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
	} else if (is_at_member(json) && !(json->member & (MEMBER_ARGS | MEMBER_ID2))) {
		json->event.left_out++;
	}
	json->depth++;
	return 1;
}

static int on_end(struct json_events *json, bool is_array)
{
	json->was_called = true;
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

static void stop_parser(struct json_events *json)
{
	yajl_memory_release(&json->memory);
	json->yajl = NULL;
	json->depth = json->raw_depth = 0;
	json->in_event = false;
}

/* Stores the status for a failed allocation, after which yajl cannot go on.  Returns false, so that callers can return
 * the result. */
static bool no_memory(struct json_events *json)
{
	stop_parser(json);
	status_keep(&json->status, epp_status_no_memory());
	return false;
}

/* Passes bytes to yajl.  Returns false if they are no JSON, or if json->status is set. */
static bool parse(struct json_events *json, const char *bytes, size_t count)
{
	if (setjmp(json->memory.no_memory))
		return no_memory(json);
	if (!json->yajl) {
		json->yajl = yajl_alloc(&callbacks, &json->memory.functions, json);
		yajl_config(json->yajl, yajl_dont_validate_strings, 1);
		if (json->shape == JSON_SHAPE_LINE)
			yajl_config(json->yajl, yajl_allow_multiple_values, 1);
	}
	return yajl_parse(json->yajl, (const unsigned char *)bytes, count) == yajl_status_ok;
}

bool json_events_line(struct json_events *json, const char *line, size_t bytes)
{
	uint64_t before = json->events_count;

	if (parse(json, line, bytes) && !json->depth && json->events_count == before + 1)
		return true;
	stop_parser(json);
	return false;
}

/* Makes a message with the position and the reason of yajl's error.  Returns false if json->status is set. */
static bool explain(struct json_events *json, char **message)
{
	if (setjmp(json->memory.no_memory))
		return no_memory(json);
	char *text = (char *)yajl_get_error(json->yajl, 0, NULL, 0);
	text[strcspn(text, "\n")] = 0;
	int bytes = asprintf(message, "byte %llu: %s", (unsigned long long)json->bytes, text);
	return bytes >= 0 || no_memory(json);
}

enum json_read json_events_read(struct json_events *json, const char *bytes, size_t count, char **message)
{
	*message = NULL;
	json->was_called = false;
	bool is_json = parse(json, bytes, count);
	if (json->status)
		return JSON_READ_FAILED;
	if (!is_json) {
		json->bytes += yajl_get_bytes_consumed(json->yajl);
		return explain(json, message) ? JSON_READ_INVALID : JSON_READ_FAILED;
	}
	json->bytes_without_call = json->was_called ? 0 : json->bytes_without_call + count;
	json->bytes += count;
	if (json->bytes_without_call <= JSON_TEXT_BYTES_MAX)
		return JSON_READ_ON;
	if (asprintf(message, "byte %llu: a string is longer than %u MiB", (unsigned long long)json->bytes,
	             JSON_TEXT_BYTES_MAX >> 20) >= 0)
		return JSON_READ_INVALID;
	no_memory(json);
	return JSON_READ_FAILED;
}

bool json_events_end(struct json_events *json)
{
	if (setjmp(json->memory.no_memory))
		return no_memory(json);
	return json->yajl && yajl_complete_parse(json->yajl) == yajl_status_ok && !json->depth;
}
