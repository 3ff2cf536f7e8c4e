/* Tracks the keys of one JSON object while it is written, so that none occurs twice: args may repeat a key, or use a
 * key of epprof. */
#ifndef EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H
#define EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H

#include "epprof/trace_reader.h"
#include "export/sink/sink.h"

/* Keys beyond this number are not compared and always get a number as suffix. */
#define KEYS_COMPARED 256u

struct json_keys {
	struct sink *sink;
	unsigned count;
	struct {
		const char *text;
		size_t bytes;
	} keys[KEYS_COMPARED];
};

/* Writes `"key"`; a repeated key gets a number as suffix: `"key#2"`. Ownership: `key` must stay valid until the object
 * is complete. */
void json_keys_key(struct json_keys *json_keys, const char *key, size_t bytes);
/* Registers a key that the caller writes itself. */
void json_keys_note(struct json_keys *json_keys, const char *key, size_t bytes);
/* Writes an arg, `"key":value`; integers that a double cannot represent are quoted.  The caller writes the comma before
 * it. */
void json_keys_arg(struct json_keys *json_keys, const epp_trace_arg *arg);
/* Writes the object of an event's own args, which must stay valid until the object is complete. */
void json_keys_args(struct json_keys *json_keys, struct sink *sink, const epp_trace_arg *args, uint32_t count);
bool json_keys_has(const struct json_keys *json_keys, const char *key);

#endif
