/* Formats JSON into a memory buffer that is reused for each text. */
#include "export/args_text.h"

#include <stdlib.h>

epp_status *args_text_init(struct args_text *text)
{
	return sink_init(&text->sink, sink_memory_write, &text->memory);
}

void args_text_deinit(struct args_text *text)
{
	sink_deinit(&text->sink);
	free(text->memory.bytes);
	memset(&text->memory, 0, sizeof text->memory);
}

void args_text_put(struct args_text *text, const epp_event *event)
{
	json_keys_args(&text->json_keys, &text->sink, export_args(event), event->args_count);
}

epp_status *args_text_take(struct args_text *text)
{
	text->memory.count = 0;
	return sink_flush(&text->sink);
}
