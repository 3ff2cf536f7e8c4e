/* Converts special fields of an event to args: times of submission, bytes and direction of a copy, flows.  The keys of
 * these args are strings of the kit, so that they are recognised by their address and never copied.  record/submit.c of
 * the runtime stores the flows. */
#ifndef EPPROF_EP_KIT_SPECIAL_H
#define EPPROF_EP_KIT_SPECIAL_H

#include <string.h>

#include "kit.h"

#define KIT_ARG_U64 1u /* values of EpprofArg.type, as the next two */
#define KIT_ARG_F64 2u
#define KIT_ARG_TEXT 3u

static const char kit_submit_key[] = EPPROF_SUBMIT_KEY;
static const char kit_queue_key[] = EPPROF_QUEUE_KEY;
static const char kit_flow_begin_key[] = EPPROF_FLOW_BEGIN_KEY;
static const char kit_flow_end_key[] = EPPROF_FLOW_END_KEY;

static inline bool kit_has_specials(const epp_ep_event *event)
{
	return (event->submit_host_ticks | event->queue_ticks | event->copy | event->bytes | event->flow_begin |
	        event->flow_end | event->graph) != 0;
}

static inline EpprofArg kit_special_number(const char *key, uint64_t value)
{
	EpprofArg arg = KIT_ZERO;
	arg.key = key;
	arg.type = KIT_ARG_U64;
	arg.number.u64 = value;
	return arg;
}

/* Creates the args of an event's special fields, times of submission first.  Returns their number. */
static inline size_t kit_specials(const struct kit *kit, const epp_ep_event *event, EpprofArg args[KIT_SPECIAL_ARGS_MAX])
{
	static const char *const kinds[] = { NULL, "memcpy_htod", "memcpy_dtoh", "memcpy_dtod", "memset" };
	size_t count = 0;
	if (event->submit_host_ticks)
		args[count++] = kit_special_number(kit_submit_key, event->submit_host_ticks);
	if (event->queue_ticks) {
		int64_t ticks = kit_clock_since(kit, event->start_ticks, event->queue_ticks);
		args[count++] = kit_special_number(kit_queue_key, (uint64_t)ticks);
	}
	if (event->copy) {
		EpprofArg *arg = &args[count++];
		memset(arg, 0, sizeof(*arg));
		arg->key = "kind";
		arg->type = KIT_ARG_TEXT;
		arg->text = kinds[event->copy];
		arg->text_bytes = (uint32_t)strlen(arg->text);
	}
	if (event->bytes)
		args[count++] = kit_special_number("bytes", event->bytes);
	if (event->flow_begin)
		args[count++] = kit_special_number(kit_flow_begin_key, event->flow_begin);
	if (event->flow_end)
		args[count++] = kit_special_number(kit_flow_end_key, event->flow_end);
	if (event->graph) {
		args[count++] = kit_special_number("graph", event->graph);
		args[count++] = kit_special_number("graph_node", event->graph_node);
	}
	return count;
}

#endif
