/* The names of a trace writer: open addressing over hashes, the texts one behind the other; written at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "file/trace_writer_private.h"

/* Eight bytes at a time; names and arg keys are short and many. */
static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = bytes * UINT64_C(0x9E3779B97F4A7C15), word;

	for (; bytes >= 8; bytes -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * UINT64_C(0xC2B2AE3D27D4EB4F);
		hash ^= hash >> 29;
	}
	word = 0;
	memcpy(&word, text, bytes);
	hash = (hash ^ word) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return hash ^ hash >> 32;
}

void trace_writer_names_deinit(struct trace_writer_names *names)
{
	free(names->names);
	free(names->buckets);
	free(names->text);
	*names = (struct trace_writer_names){ 0 };
}

static bool grow_buckets(struct trace_writer_names *names)
{
	uint32_t count = names->buckets_count ? names->buckets_count * 2 : 1024;
	uint32_t *buckets = calloc(count, sizeof(*buckets));

	if (!buckets)
		return false;
	for (uint32_t i = 0; i < names->count; i++) {
		uint32_t at = (uint32_t)names->names[i].hash & (count - 1);
		while (buckets[at])
			at = (at + 1) & (count - 1);
		buckets[at] = i + 1;
	}
	free(names->buckets);
	names->buckets = buckets;
	names->buckets_count = count;
	return true;
}

static bool grow(void *array_pointer, size_t *room, size_t needed, size_t size)
{
	void **array = array_pointer;

	if (needed <= *room)
		return true;
	size_t larger = *room * 2 > needed ? *room * 2 : needed + 256;
	void *moved = reallocarray(*array, larger, size);
	if (!moved)
		return false;
	*array = moved;
	*room = larger;
	return true;
}

/* Room for one more name; false: no memory. */
static bool reserve(struct trace_writer_names *names, size_t bytes)
{
	size_t room = names->room;

	if (names->count * 2 >= names->buckets_count && !grow_buckets(names))
		return false;
	if (!grow(&names->names, &room, names->count + 1, sizeof(*names->names)))
		return false;
	names->room = (uint32_t)room;
	return grow(&names->text, &names->text_room, names->text_bytes + bytes, 1);
}

static epp_name add(struct epp_trace_writer *writer, uint64_t hash, const char *text, size_t bytes)
{
	struct trace_writer_names *names = &writer->names;

	if (names->count >= names->count_max || names->text_bytes + bytes > names->text_bytes_max)
		return EPF_NAME_LOST;
	if (!reserve(names, bytes)) {
		writer->no_memory = true;
		return EPF_NAME_LOST;
	}
	if (bytes)
		memcpy(names->text + names->text_bytes, text, bytes);
	names->names[names->count++] = (struct trace_writer_name){ hash, (uint32_t)names->text_bytes, (uint32_t)bytes };
	names->text_bytes += bytes;
	uint32_t at = (uint32_t)hash & (names->buckets_count - 1);
	while (names->buckets[at])
		at = (at + 1) & (names->buckets_count - 1);
	names->buckets[at] = names->count;
	return EPF_NAME_FIRST_FREE + names->count - 1;
}

epp_name epp_trace_writer_name(epp_trace_writer *writer, const char *text, size_t bytes)
{
	struct trace_writer_names *names = &writer->names;

	if (!bytes)
		return EPF_NAME_NONE;
	if (bytes > EPF_NAME_BYTES_MAX) {
		char *cut = malloc(EPF_NAME_BYTES_MAX);
		if (!cut) {
			writer->no_memory = true;
			return EPF_NAME_LOST;
		}
		epp_name name = epp_trace_writer_name(writer, cut, name_cut(cut, text));
		free(cut);
		return name;
	}
	uint64_t hash = hash_of(text, bytes);
	for (uint32_t at = (uint32_t)hash; names->buckets_count; at++) {
		uint32_t index = names->buckets[at & (names->buckets_count - 1)];
		if (!index)
			break;
		const struct trace_writer_name *name = &names->names[index - 1];
		if (name->hash == hash && name->bytes == bytes && !memcmp(names->text + name->offset, text, bytes))
			return EPF_NAME_FIRST_FREE + index - 1;
	}
	return add(writer, hash, text, bytes);
}

epp_status *trace_writer_names_write(struct epp_trace_writer *writer)
{
	const struct trace_writer_names *names = &writer->names;
	uint8_t *payload = calloc(1, TRACE_WRITER_PAYLOAD_MAX);
	epp_status *status = payload ? NULL : epp_status_no_memory();
	size_t used = 0;

	for (uint32_t i = 0; i < names->count && !status; i++) {
		const struct trace_writer_name *name = &names->names[i];
		struct epf_definition head = { .bytes = name->bytes + 4, .type = EPF_DEFINE_NAME };
		uint32_t number = EPF_NAME_FIRST_FREE + i;
		size_t step = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
		if (used + step > TRACE_WRITER_PAYLOAD_MAX) {
			status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
			memset(payload, 0, used);
			used = 0;
		}
		memcpy(payload + used, &head, sizeof(head));
		memcpy(payload + used + sizeof(head), &number, sizeof(number));
		memcpy(payload + used + sizeof(head) + sizeof(number), names->text + name->offset, name->bytes);
		used += step;
	}
	if (!status && used)
		status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
	free(payload);
	return status;
}
