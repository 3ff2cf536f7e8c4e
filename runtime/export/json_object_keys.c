/* Objects have few members, so every key is compared with those before it. */
#include "export/json_object_keys.h"

#include "encoding/json.h"

/* How many earlier keys are the same. */
static unsigned same_before(const struct members *members, const char *key, size_t bytes)
{
	unsigned count = members->count < MEMBERS_COMPARED ? members->count : MEMBERS_COMPARED;
	unsigned same = 0;

	for (unsigned i = 0; i < count; i++)
		same += members->keys[i].bytes == bytes && memcmp(members->keys[i].text, key, bytes) == 0;
	return same;
}

void members_note(struct members *members, const char *key, size_t bytes)
{
	if (members->count < MEMBERS_COMPARED) {
		members->keys[members->count].text = key;
		members->keys[members->count].bytes = bytes;
	}
	members->count++;
}

void members_key(struct members *members, const char *key, size_t bytes)
{
	unsigned same = members->count < MEMBERS_COMPARED ? same_before(members, key, bytes) : members->count;
	struct sink *sink = members->sink;

	members_note(members, key, bytes);
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

void members_arg(struct members *members, const epp_trace_arg *arg)
{
	struct sink *sink = members->sink;

	members_key(members, arg->key, arg->key_bytes);
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

void members_args(struct members *members, struct sink *sink, const epp_trace_arg *args, uint32_t count)
{
	members->sink = sink;
	members->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		sink_bytes(sink, i ? "," : "{", 1);
		members_arg(members, &args[i]);
	}
	sink_bytes(sink, count ? "}" : "{}", count ? 1 : 2);
}

bool members_has(const struct members *members, const char *key)
{
	return same_before(members, key, strlen(key)) > 0;
}
