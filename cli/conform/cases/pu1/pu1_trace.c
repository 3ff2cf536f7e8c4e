/* Records the calls of a PU1 library's functions as events of the trace.  The status of an event is "OK", or the number
 * of the pu1Result that the function returned. */
#include "pu1_host.h"

static struct pu1_host own; /* the library's functions, which the functions below call */

static pu1Result end(struct conform_call call, pu1Result result)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)result);
	conform_trace_return(call, result == PU1_SUCCESS ? "OK" : number);
	return result;
}

static pu1Result enable(pu1ActivityKind kind)
{
	struct conform_call call = conform_trace_call("pu1TracingEnable");
	return end(call, own.enable(kind));
}

static pu1Result disable(pu1ActivityKind kind)
{
	struct conform_call call = conform_trace_call("pu1TracingDisable");
	return end(call, own.disable(kind));
}

static pu1Result set_callbacks(pu1BufferRequestFn request, pu1BufferCompleteFn complete)
{
	struct conform_call call = conform_trace_call("pu1TracingSetCallbacks");
	return end(call, own.set_callbacks(request, complete));
}

static pu1Result push(uint64_t id)
{
	struct conform_call call = conform_trace_call("pu1PushExternalCorrelationId");
	return end(call, own.push(id));
}

static pu1Result pop(uint64_t *last_id)
{
	struct conform_call call = conform_trace_call("pu1PopExternalCorrelationId");
	return end(call, own.pop(last_id));
}

static pu1Result flush(void)
{
	struct conform_call call = conform_trace_call("pu1FlushAll");
	return end(call, own.flush());
}

static pu1Result next_record(uint8_t *buffer, size_t valid_bytes, pu1ActivityRecord **record)
{
	struct conform_call call = conform_trace_call("pu1GetNextRecord");
	return end(call, own.next_record(buffer, valid_bytes, record));
}

static pu1Result dropped_count(size_t *count)
{
	struct conform_call call = conform_trace_call("pu1GetNumDroppedRecords");
	return end(call, own.dropped_count(count));
}

static pu1Result timestamp(uint64_t *now_ns)
{
	struct conform_call call = conform_trace_call("pu1GetTimestamp");
	return end(call, own.timestamp(now_ns));
}

static const char *result_text(pu1Result result)
{
	struct conform_call call = conform_trace_call("pu1GetResultString");
	const char *text = own.result_text(result);

	conform_trace_return(call, text ? "OK" : "NULL");
	return text;
}

void pu1_trace(struct pu1_host *host)
{
	own = *host;
	host->enable = enable;
	host->disable = disable;
	host->set_callbacks = set_callbacks;
	host->push = push;
	host->pop = pop;
	host->flush = flush;
	host->next_record = next_record;
	host->dropped_count = own.dropped_count ? dropped_count : NULL;
	host->timestamp = own.timestamp ? timestamp : NULL;
	host->result_text = own.result_text ? result_text : NULL;
}
