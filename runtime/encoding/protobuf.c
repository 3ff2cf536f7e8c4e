/* Reads protobuf messages, and writes strings, which must be UTF-8.  The other functions are inline in protobuf.h. */
#include "encoding/protobuf.h"

#include "encoding/utf8.h"

size_t protobuf_text_bytes(uint32_t field, const char *text, size_t bytes)
{
	return protobuf_bytes_bytes(field, utf8_repaired_bytes(text, bytes));
}

char *protobuf_text(char *at, uint32_t field, const char *text, size_t bytes)
{
	return utf8_repair(protobuf_head(at, field, utf8_repaired_bytes(text, bytes)), text, bytes);
}

/* Bits beyond the 64th are dropped, as all protobuf readers do. */
static bool varint_by_bytes(struct protobuf_reader *reader, uint64_t *value)
{
	const uint8_t *at = reader->at;
	uint64_t number = 0;
	for (unsigned shift = 0; shift < 7 * PROTOBUF_VARINT_BYTES && at < reader->end; shift += 7) {
		uint8_t byte = *at++;
		number |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80) {
			reader->at = at;
			*value = number;
			return true;
		}
	}
	return false;
}

static inline bool varint(struct protobuf_reader *reader, uint64_t *value)
{
	const uint8_t *at = reader->at;
	if (at < reader->end && *at < 0x80) {
		*value = *at;
		reader->at = at + 1;
		return true;
	}
	return varint_by_bytes(reader, value);
}

static bool set_damaged(struct protobuf_reader *reader)
{
	reader->at = reader->end;
	reader->damaged = true;
	return false;
}

static inline bool take(struct protobuf_reader *reader, void *value, size_t bytes)
{
	if ((size_t)(reader->end - reader->at) < bytes)
		return false;
	memcpy(value, reader->at, bytes);
	reader->at += bytes;
	return true;
}

bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field)
{
	uint64_t tag, count;
	uint32_t value32;

	if (reader->at == reader->end)
		return false;
	if (!varint(reader, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
		return set_damaged(reader);
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum protobuf_type)(tag & 7);
	switch (field->type) {
	case PROTOBUF_VARINT:
		return varint(reader, &field->value) || set_damaged(reader);
	case PROTOBUF_BYTES:
		if (!varint(reader, &count) || count > (uint64_t)(reader->end - reader->at))
			return set_damaged(reader);
		field->bytes = reader->at;
		field->count = (size_t)count;
		reader->at += count;
		return true;
	case PROTOBUF_FIXED64:
		return take(reader, &field->value, sizeof(field->value)) || set_damaged(reader);
	case PROTOBUF_FIXED32:
		if (!take(reader, &value32, sizeof(value32)))
			return set_damaged(reader);
		field->value = value32;
		return true;
	default:
		return set_damaged(reader);
	}
}

bool protobuf_next_varint(struct protobuf_reader *reader, uint64_t *value)
{
	if (reader->at == reader->end)
		return false;
	return varint(reader, value) || set_damaged(reader);
}
