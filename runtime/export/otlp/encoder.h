/* Writes the messages of OTLP as JSON or as protobuf.  A field has one function for both and one row with its name and
 * its number, so that the two have the same content.
 *
 *   encoder_begin(encoder);                          a message; in JSON a line
 *   encoder_text(encoder, &field_name, "x", 1);      a field of it
 *   encoder_list(encoder, &field_spans);             a repeated field
 *   encoder_item(encoder, NULL);                     a message in it
 *   ...
 *   encoder_end(encoder);
 *   encoder_list_end(encoder);
 *   encoder_item(encoder, &field_status);            a field that is a message
 *   encoder_end(encoder);
 *   encoder_end(encoder);
 *
 * JSON goes to the sink at once.  A message of protobuf is built in memory, because its parts begin with their lengths; it
 * goes to the sink when it ends.  Failures are those of the sink. */
#ifndef EPPROF_RUNTIME_EXPORT_OTLP_ENCODER_H
#define EPPROF_RUNTIME_EXPORT_OTLP_ENCODER_H

#include "export/sink/sink.h"

/* The maximum nesting depth of messages and lists. */
#define ENCODER_DEPTH_MAX 12u

struct encoder_field {
	const char *name; /* in JSON */
	uint32_t number;  /* in protobuf */
};

struct encoder {
	struct sink *sink;
	bool is_protobuf;
	unsigned depth;
	struct encoder_level {
		const struct encoder_field *list; /* a list of this field; NULL: a message */
		bool any;                         /* JSON: the message or list has a member */
		size_t from;                      /* protobuf: offset in `bytes` at which its content begins */
	} levels[ENCODER_DEPTH_MAX];
	uint64_t begun_at; /* JSON: position of the current message */
	char *bytes;       /* protobuf: the current message */
	size_t count, room;
};

/* To create an encoder, set sink and is_protobuf, and zero the other members. */
void encoder_deinit(struct encoder *encoder);

void encoder_begin(struct encoder *encoder);
/* Ends the innermost message. */
void encoder_end(struct encoder *encoder);
void encoder_list(struct encoder *encoder, const struct encoder_field *field);
void encoder_list_end(struct encoder *encoder);
/* Begins a message inside the current message or list: as its member `field`, or as the next element of the list if
 * `field` is NULL. */
void encoder_item(struct encoder *encoder, const struct encoder_field *field);

/* Returns the number of bytes of the current outermost message so far; for JSON it may be larger than the true
 * number. */
uint64_t encoder_bytes(const struct encoder *encoder);

/* Write a field of the current message.  The types are those of OTLP's definitions. */
void encoder_text(struct encoder *encoder, const struct encoder_field *field, const char *text, size_t bytes);
/* The field's type is bytes; `hex` is an id in lower-case hex, ended by a NUL. */
void encoder_id(struct encoder *encoder, const struct encoder_field *field, const char *hex);
void encoder_bool(struct encoder *encoder, const struct encoder_field *field, bool value);
void encoder_enum(struct encoder *encoder, const struct encoder_field *field, uint32_t value);
void encoder_fixed32(struct encoder *encoder, const struct encoder_field *field, uint32_t value);
void encoder_fixed64(struct encoder *encoder, const struct encoder_field *field, uint64_t value);
void encoder_i64(struct encoder *encoder, const struct encoder_field *field, int64_t value);
void encoder_f64(struct encoder *encoder, const struct encoder_field *field, double value);

#endif
