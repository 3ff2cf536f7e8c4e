/* Formats the args of one event, or other JSON, as a separate text, for formats that have a column for it. */
#ifndef EPPROF_RUNTIME_EXPORT_ARGS_TEXT_H
#define EPPROF_RUNTIME_EXPORT_ARGS_TEXT_H

#include "export/json_object_keys.h"
#include "export/writer.h"

struct args_text {
	struct sink sink; /* receives the JSON; the writer of a format may also write other JSON than args into it */
	struct sink_memory memory;
	struct json_keys json_keys;
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *args_text_init(struct args_text *text) EPP_MUST_CHECK;
void args_text_deinit(struct args_text *text);

/* Appends the args of an event as a JSON object. */
void args_text_put(struct args_text *text, const epp_event *event);
/* Ends the text that was written since the last call.  The text is the text->memory.count bytes at
 * text->memory.bytes. */
epp_status *args_text_take(struct args_text *text) EPP_MUST_CHECK;

#endif
