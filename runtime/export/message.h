/* A memory buffer for one protobuf message of any length, which is built here and then written to the sink. */
#ifndef EPPROF_RUNTIME_EXPORT_MESSAGE_H
#define EPPROF_RUNTIME_EXPORT_MESSAGE_H

#include <stdlib.h>

#include "base/status.h"
#include "encoding/protobuf.h"
#include "export/writer.h"

struct message {
	char *bytes;
	size_t room;
};

static inline void message_deinit(struct message *message)
{
	free(message->bytes);
	*message = (struct message){ 0 };
}

/* Empties the buffer and makes room for `bytes` bytes.  Errors: EPP_OUT_OF_MEMORY. */
static inline epp_status *message_begin(struct message *message, size_t bytes)
{
	if (message->room >= bytes)
		return NULL;
	char *larger = malloc(bytes * 2);
	if (!larger)
		return epp_status_no_memory();
	free(message->bytes);
	message->bytes = larger;
	message->room = bytes * 2;
	return NULL;
}

/* Returns an upper bound of the encoded size of a text of `bytes` bytes, with the head of its field. */
static inline size_t message_text_bytes(size_t bytes)
{
	return bytes * 3 + PROTOBUF_FIELD_BYTES;
}

/* Returns an upper bound of the encoded size of an event's args, if each arg needs at most `more` bytes besides its key
 * and text. */
static inline size_t message_args_bytes(const epp_event *event, size_t more)
{
	const epp_trace_arg *args = export_args(event);
	size_t bytes = 0;

	for (uint32_t i = 0; i < event->args_count; i++)
		bytes += more + message_text_bytes(args[i].key_bytes) +
		         message_text_bytes(args[i].type == EPP_ARG_TEXT ? args[i].text_bytes : 0);
	return bytes;
}

#endif
