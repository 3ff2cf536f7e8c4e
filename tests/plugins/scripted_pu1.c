/* A PU1 plugin that a test controls: the test itself requests buffers and fills them. */
#include "scripted_pu1.h"

#include "hanging.h"
#include <time.h>

extern PU1_API struct pu1_script script;

static _Thread_local struct {
	size_t depth;
	uint64_t ids[256];
} stack;

static size_t depth(void)
{
	return stack.depth;
}

static uint64_t top(void)
{
	return stack.depth ? stack.ids[stack.depth - 1] : 0;
}

struct pu1_script script = { .version = PU1_VERSION, .depth = depth, .top = top };

uint32_t pu1GetVersion(void)
{
	hang_at("pu1:pu1GetVersion");
	return script.version;
}

int kineto_register_privateuse1_plugin(void)
{
	hang_at("pu1:kineto_register_privateuse1_plugin");
	script.registered_count++;
	return script.rejects;
}

pu1Result pu1TracingEnable(pu1ActivityKind kind)
{
	hang_at("pu1:pu1TracingEnable");
	if (script.kinds_refused >> kind & 1)
		return PU1_INVALID_KIND;
	script.kinds_enabled |= 1u << kind;
	return PU1_SUCCESS;
}

pu1Result pu1TracingDisable(pu1ActivityKind kind)
{
	hang_at("pu1:pu1TracingDisable");
	script.kinds_enabled &= ~(1u << kind);
	return PU1_SUCCESS;
}

pu1Result pu1TracingSetCallbacks(pu1BufferRequestFn request, pu1BufferCompleteFn complete)
{
	hang_at("pu1:pu1TracingSetCallbacks");
	script.set_callbacks_count++;
	script.request = request;
	script.complete = complete;
	return script.set_callbacks_result;
}

pu1Result pu1PushExternalCorrelationId(uint64_t id)
{
	hang_at("pu1:pu1PushExternalCorrelationId");
	if (script.push_result != PU1_SUCCESS)
		return script.push_result;
	if (stack.depth == sizeof(stack.ids) / sizeof(stack.ids[0]))
		return PU1_MAX_LIMIT_REACHED;
	stack.ids[stack.depth++] = id;
	return PU1_SUCCESS;
}

pu1Result pu1PopExternalCorrelationId(uint64_t *last_id)
{
	hang_at("pu1:pu1PopExternalCorrelationId");
	if (script.pop_result != PU1_SUCCESS)
		return script.pop_result;
	if (stack.depth == 0)
		return PU1_QUEUE_EMPTY;
	stack.depth--;
	if (last_id)
		*last_id = stack.ids[stack.depth] + script.pop_offset;
	return PU1_SUCCESS;
}

#ifndef SCRIPTED_PU1_INCOMPLETE
pu1Result pu1FlushAll(void)
{
	hang_at("pu1:pu1FlushAll");
	if (script.on_flush)
		script.on_flush();
	script.flushes_count++;
	return script.flush_result;
}

pu1Result pu1GetNextRecord(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record)
{
	hang_at("pu1:pu1GetNextRecord");
	(void)buffer, (void)valid_bytes, (void)record;
	return PU1_MAX_LIMIT_REACHED;
}
#endif

#ifndef SCRIPTED_PU1_REQUIRED_ONLY
pu1Result pu1GetNumDroppedRecords(size_t *count)
{
	hang_at("pu1:pu1GetNumDroppedRecords");
	*count = atomic_exchange(&script.dropped_count, 0);
	return script.dropped_result;
}

pu1Result pu1GetTimestamp(uint64_t *now_ns)
{
	hang_at("pu1:pu1GetTimestamp");
	struct timespec now;
	if (script.timestamp_result != PU1_SUCCESS)
		return script.timestamp_result;
	clock_gettime(CLOCK_REALTIME, &now);
	*now_ns = script.now_ns ? script.now_ns() : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return PU1_SUCCESS;
}

const char *pu1GetResultString(pu1Result result)
{
	hang_at("pu1:pu1GetResultString");
	return result == PU1_UNKNOWN ? NULL : "scripted";
}
#endif
