/* The args of one event, or whatever else is JSON, as a text of its own: for formats that have a column for them. */
#ifndef EPPROF_RUNTIME_EXPORT_ARGS_TEXT_H
#define EPPROF_RUNTIME_EXPORT_ARGS_TEXT_H

#include "export/json_object_keys.h"
#include "export/writer.h"

struct args_text {
	struct sink sink; /* writers may put other JSON here */
	struct sink_memory memory;
	struct json_keys json_keys;
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *args_text_init(struct args_text *text) EPP_MUST_CHECK;
void args_text_deinit(struct args_text *text);

/* Puts an event's args there, as a JSON object. */
void args_text_put(struct args_text *text, const epp_event *event);
/* What was written since the last time, at text->memory.bytes, text->memory.count of them. */
epp_status *args_text_take(struct args_text *text) EPP_MUST_CHECK;

#endif
