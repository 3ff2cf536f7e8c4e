/* Objects have few members, so every key is compared with those before it. */
#include "export/members.h"

#include "wire/json.h"

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

bool members_has(const struct members *members, const char *key)
{
	return same_before(members, key, strlen(key)) > 0;
}
