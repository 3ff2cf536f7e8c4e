/* Records the keys of one JSON object while it is written, so that no key occurs twice: an event may have two args with
 * the same key, or an arg with a key that epprof uses. */
#ifndef EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H
#define EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H

#include "epprof/trace_reader.h"
#include "export/sink/sink.h"

/* Keys after the first KEYS_COMPARED are not compared, and always get a number as suffix. */
#define KEYS_COMPARED 256u

struct json_keys {
	struct sink *sink;
	unsigned count;
	struct {
		const char *text;
		size_t bytes;
	} keys[KEYS_COMPARED];
};

/* Writes `"key"`.  If the object has this key already, the key gets a number as suffix: `"key#2"`.  Ownership: `key`
 * must stay valid until the object is complete. */
void json_keys_key(struct json_keys *json_keys, const char *key, size_t bytes);
/* Records a key that the caller writes itself. */
void json_keys_note(struct json_keys *json_keys, const char *key, size_t bytes);
/* Writes an arg as `"key":value`.  Integers that a double cannot represent are quoted.  The caller writes the comma
 * before the arg. */
void json_keys_arg(struct json_keys *json_keys, const epp_trace_arg *arg);
/* Writes the event's args as an object.  The args must stay valid until the object is complete. */
void json_keys_args(struct json_keys *json_keys, struct sink *sink, const epp_trace_arg *args, uint32_t count);
bool json_keys_has(const struct json_keys *json_keys, const char *key);

#endif
