/* Makes the keys of a JSON object unique.  Objects have few members, so each key is compared with all earlier ones. */
#include "export/json_object_keys.h"

#include "encoding/json.h"

/* Returns how many earlier keys are equal. */
static unsigned count_equal_keys(const struct json_keys *json_keys, const char *key, size_t bytes)
{
	unsigned count = json_keys->count < KEYS_COMPARED ? json_keys->count : KEYS_COMPARED;
	unsigned same = 0;

	for (unsigned i = 0; i < count; i++)
		same += json_keys->keys[i].bytes == bytes && memcmp(json_keys->keys[i].text, key, bytes) == 0;
	return same;
}

void json_keys_note(struct json_keys *json_keys, const char *key, size_t bytes)
{
	if (json_keys->count < KEYS_COMPARED) {
		json_keys->keys[json_keys->count].text = key;
		json_keys->keys[json_keys->count].bytes = bytes;
	}
	json_keys->count++;
}

void json_keys_key(struct json_keys *json_keys, const char *key, size_t bytes)
{
	unsigned same = json_keys->count < KEYS_COMPARED ? count_equal_keys(json_keys, key, bytes) : json_keys->count;
	struct sink *sink = json_keys->sink;

	json_keys_note(json_keys, key, bytes);
	sink_bytes(sink, "\"", 1);
	sink_json_text(sink, key, bytes);
	if (same)
		sink_format(sink, "#%u", same + 1);
	sink_bytes(sink, "\"", 1);
}

static char *put_number(char *at, const epp_trace_arg *arg)
{
	if (arg->type == EPP_ARG_F64)
		return json_f64(at, arg->value.f64);
	if (arg->type == EPP_ARG_U64)
		return json_u64_exact(at, arg->value.u64);
	return json_i64_exact(at, arg->value.i64);
}

void json_keys_arg(struct json_keys *json_keys, const epp_trace_arg *arg)
{
	struct sink *sink = json_keys->sink;

	json_keys_key(json_keys, arg->key, arg->key_bytes);
	if (arg->type != EPP_ARG_TEXT) {
		char *at = sink_reserve(sink, 1 + JSON_NUMBER_BYTES);
		*at++ = ':';
		sink_commit(sink, put_number(at, arg));
		return;
	}
	sink_bytes(sink, ":\"", 2);
	sink_json_text(sink, arg->value.text, arg->text_bytes);
	sink_bytes(sink, "\"", 1);
}

void json_keys_args(struct json_keys *json_keys, struct sink *sink, const epp_trace_arg *args, uint32_t count)
{
	json_keys->sink = sink;
	json_keys->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		sink_bytes(sink, i ? "," : "{", 1);
		json_keys_arg(json_keys, &args[i]);
	}
	sink_bytes(sink, count ? "}" : "{}", count ? 1 : 2);
}

bool json_keys_has(const struct json_keys *json_keys, const char *key)
{
	return count_equal_keys(json_keys, key, strlen(key)) > 0;
}
