/* Implements encoder.h. */
#include "export/otlp/encoder.h"

#include <errno.h>
#include <stdlib.h>

#include "containers/array.h"
#include "encoding/json.h"
#include "encoding/protobuf.h"

void encoder_deinit(struct encoder *encoder)
{
	free(encoder->bytes);
	*encoder = (struct encoder){ 0 };
}

static struct encoder_level *level_of(struct encoder *encoder)
{
	return &encoder->levels[encoder->depth - 1];
}

static void push(struct encoder *encoder, const struct encoder_field *list)
{
	encoder->levels[encoder->depth++] = (struct encoder_level){ .list = list, .from = encoder->count };
}

/* Returns a position in the output.  The difference between two positions is at least the number of bytes written
 * between them. */
static uint64_t position(const struct sink *sink)
{
	return sink->pushes_count * SINK_BUFFER_BYTES + (uint64_t)(sink->at - sink->buffer);
}

uint64_t encoder_bytes(const struct encoder *encoder)
{
	return encoder->is_protobuf ? encoder->count : position(encoder->sink) - encoder->begun_at;
}

/* ---- JSON ---- */

/* Begins a member of the current message, by its name, or an element of the current list, which has no name (`field` is
 * NULL). */
static void put_name(struct encoder *encoder, const struct encoder_field *field)
{
	struct encoder_level *level = level_of(encoder);

	if (level->any)
		sink_text(encoder->sink, ",");
	level->any = true;
	if (!field)
		return;
	sink_text(encoder->sink, "\"");
	sink_text(encoder->sink, field->name);
	sink_text(encoder->sink, "\":");
}

/* Writes a number member.  `quote` is "\"" for 64-bit types, which OTLP/JSON writes as strings, else "". */
static void put_number(struct encoder *encoder, const struct encoder_field *field, uint64_t value, bool is_signed,
                       const char *quote)
{
	put_name(encoder, field);
	sink_text(encoder->sink, quote);
	char *at = sink_reserve(encoder->sink, JSON_NUMBER_BYTES);
	sink_commit(encoder->sink, is_signed ? json_i64(at, (int64_t)value) : json_u64(at, value));
	sink_text(encoder->sink, quote);
}

/* ---- protobuf ---- */

/* Returns room for `bytes` bytes; NULL: the sink has failed. */
static char *reserve(struct encoder *encoder, size_t bytes)
{
	if (encoder->sink->failed)
		return NULL;
	if (array_reserve(&encoder->bytes, &encoder->room, encoder->count + bytes, 1))
		return encoder->bytes + encoder->count;
	sink_fail(encoder->sink, ENOMEM);
	return NULL;
}

static void commit(struct encoder *encoder, const char *end)
{
	encoder->count = (size_t)(end - encoder->bytes);
}

static void put_varint(struct encoder *encoder, const struct encoder_field *field, uint64_t value)
{
	char *at = reserve(encoder, PROTOBUF_FIELD_BYTES);

	if (at)
		commit(encoder, protobuf_u64(at, field->number, value));
}

/* ---- messages ---- */

void encoder_begin(struct encoder *encoder)
{
	encoder->depth = 0;
	encoder->count = 0;
	encoder->begun_at = position(encoder->sink);
	push(encoder, NULL);
	if (!encoder->is_protobuf)
		sink_text(encoder->sink, "{");
}

void encoder_item(struct encoder *encoder, const struct encoder_field *field)
{
	if (!encoder->is_protobuf) {
		put_name(encoder, field);
		sink_text(encoder->sink, "{");
	} else {
		char *at = reserve(encoder, PROTOBUF_FIELD_BYTES);
		if (at)
			commit(encoder, protobuf_begin(at, field ? field->number : level_of(encoder)->list->number));
	}
	push(encoder, NULL);
}

void encoder_end(struct encoder *encoder)
{
	size_t from = level_of(encoder)->from;

	encoder->depth--;
	if (!encoder->is_protobuf) {
		sink_text(encoder->sink, encoder->depth ? "}" : "}\n");
	} else if (!encoder->depth) {
		sink_bytes(encoder->sink, encoder->bytes, encoder->count);
	} else if (encoder->count - from >= PROTOBUF_BRACKET_MAX) {
		sink_fail(encoder->sink, EFBIG);
	} else if (!encoder->sink->failed) {
		protobuf_end(encoder->bytes + from, encoder->bytes + encoder->count);
	}
}

void encoder_list(struct encoder *encoder, const struct encoder_field *field)
{
	if (!encoder->is_protobuf) {
		put_name(encoder, field);
		sink_text(encoder->sink, "[");
	}
	push(encoder, field);
}

void encoder_list_end(struct encoder *encoder)
{
	encoder->depth--;
	if (!encoder->is_protobuf)
		sink_text(encoder->sink, "]");
}

/* ---- fields ---- */

void encoder_text(struct encoder *encoder, const struct encoder_field *field, const char *text, size_t bytes)
{
	if (!encoder->is_protobuf) {
		put_name(encoder, field);
		sink_text(encoder->sink, "\"");
		sink_json_text(encoder->sink, text, bytes);
		sink_text(encoder->sink, "\"");
		return;
	}
	/* Each byte that is not UTF-8 is replaced by the three bytes of U+FFFD. */
	char *at = reserve(encoder, PROTOBUF_FIELD_BYTES + 3 * bytes);
	if (at)
		commit(encoder, protobuf_text(at, field->number, text, bytes));
}

static unsigned digit(char hex)
{
	return (unsigned)(hex <= '9' ? hex - '0' : hex - 'a' + 10);
}

void encoder_id(struct encoder *encoder, const struct encoder_field *field, const char *hex)
{
	size_t bytes = strlen(hex) / 2;

	if (!encoder->is_protobuf) {
		encoder_text(encoder, field, hex, 2 * bytes);
		return;
	}
	char *at = reserve(encoder, PROTOBUF_FIELD_BYTES + bytes);
	if (!at)
		return;
	at = protobuf_head(at, field->number, bytes);
	for (size_t i = 0; i < bytes; i++)
		*at++ = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	commit(encoder, at);
}

void encoder_bool(struct encoder *encoder, const struct encoder_field *field, bool value)
{
	if (encoder->is_protobuf) {
		put_varint(encoder, field, value);
		return;
	}
	put_name(encoder, field);
	sink_text(encoder->sink, value ? "true" : "false");
}

void encoder_enum(struct encoder *encoder, const struct encoder_field *field, uint32_t value)
{
	if (encoder->is_protobuf)
		put_varint(encoder, field, value);
	else
		put_number(encoder, field, value, false, "");
}

void encoder_i64(struct encoder *encoder, const struct encoder_field *field, int64_t value)
{
	if (encoder->is_protobuf)
		put_varint(encoder, field, (uint64_t)value);
	else
		put_number(encoder, field, (uint64_t)value, true, "\"");
}

void encoder_fixed32(struct encoder *encoder, const struct encoder_field *field, uint32_t value)
{
	char *at;

	if (!encoder->is_protobuf)
		put_number(encoder, field, value, false, "");
	else if ((at = reserve(encoder, PROTOBUF_FIELD_BYTES)) != NULL)
		commit(encoder, protobuf_fixed32(at, field->number, value));
}

void encoder_fixed64(struct encoder *encoder, const struct encoder_field *field, uint64_t value)
{
	char *at;

	if (!encoder->is_protobuf)
		put_number(encoder, field, value, false, "\"");
	else if ((at = reserve(encoder, PROTOBUF_FIELD_BYTES)) != NULL)
		commit(encoder, protobuf_fixed64(at, field->number, value));
}

void encoder_f64(struct encoder *encoder, const struct encoder_field *field, double value)
{
	if (!encoder->is_protobuf) {
		put_name(encoder, field);
		sink_commit(encoder->sink, json_f64(sink_reserve(encoder->sink, JSON_NUMBER_BYTES), value));
		return;
	}
	char *at = reserve(encoder, PROTOBUF_FIELD_BYTES);
	if (at)
		commit(encoder, protobuf_f64(at, field->number, value));
}
