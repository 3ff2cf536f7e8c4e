/* The keys of one JSON object as they are written, so that none stands twice: args may repeat a key, or use one of ours. */
#ifndef EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H
#define EPPROF_RUNTIME_EXPORT_JSON_OBJECT_KEYS_H

#include "epprof/trace_reader.h"
#include "export/sink/sink.h"

/* Keys beyond these are numbered without being compared. */
#define MEMBERS_COMPARED 256u

struct json_keys {
	struct sink *sink;
	unsigned count;
	struct {
		const char *text;
		size_t bytes;
	} keys[MEMBERS_COMPARED];
};

/* Writes `"key"`; one that was there before gets a number behind it: `"key#2"`.
 * Ownership: `key` must stay until the object is done. */
void json_keys_key(struct json_keys *json_keys, const char *key, size_t bytes);
/* The same for a key that the caller writes. */
void json_keys_note(struct json_keys *json_keys, const char *key, size_t bytes);
/* An arg, `"key":value`; integers that a double cannot hold are quoted.  The comma before it is the caller's. */
void json_keys_arg(struct json_keys *json_keys, const epp_trace_arg *arg);
/* The object of an event's own args; they stay until the object is done. */
void json_keys_args(struct json_keys *json_keys, struct sink *sink, const epp_trace_arg *args, uint32_t count);
bool json_keys_has(const struct json_keys *json_keys, const char *key);

#endif
