/* Records that need one call: instants, counters, flows, asynchronous begin and end. */
#include "record/events/event_slow.h"
#include "record/recorder.h"

void epp_instant(epp_session *session, epp_category category, epp_name name, const epp_arg *args, size_t args_count)
{
	uint64_t now = clock_ticks();
	struct recorder *recorder = recorder_enter_new(session);
	if (!recorder)
		return;
	event_store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), name ? name : EPF_NAME_NONE,
	            EPF_BITS(category & 3u, EPF_INSTANT, 0, 0), 0, args, args_count);
	recorder_leave(recorder);
}

static void counter(epp_session *session, epp_name name, const epp_arg *value)
{
	uint64_t now = clock_ticks();
	struct recorder *recorder = recorder_enter_new(session);
	if (!recorder)
		return;
	event_store(recorder, now, 0, recorder_take_id(recorder, recorder->hot), name ? name : EPF_NAME_NONE,
	            EPF_BITS(EPP_NODE, EPF_COUNTER, 0, 0), 0, value, 1);
	recorder_leave(recorder);
}

void epp_counter_i64(epp_session *session, epp_name name, int64_t value)
{
	counter(session, name, &(epp_arg){ .key = name, .type = EPP_ARG_I64, .value.i64 = value });
}

void epp_counter_f64(epp_session *session, epp_name name, double value)
{
	counter(session, name, &(epp_arg){ .key = name, .type = EPP_ARG_F64, .value.f64 = value });
}

void epp_flow(epp_session *session, uint64_t from_id, uint64_t to_id)
{
	uint64_t now = clock_ticks();
	struct recorder *recorder = from_id && to_id ? recorder_enter_new(session) : NULL;
	if (!recorder)
		return;
	recorder_take_id(recorder, recorder->hot);
	event_store(recorder, now, 0, to_id, EPF_NAME_FLOW, EPF_BITS(EPP_NODE, EPF_FLOW, 0, 0), from_id, NULL, 0);
	recorder_leave(recorder);
}

uint64_t epp_async_begin(epp_session *session, epp_category category, epp_name name)
{
	struct recorder *recorder = recorder_enter_new(session);
	if (!recorder)
		return 0;
	uint64_t id = recorder_take_id(recorder, recorder->hot);
	event_store(recorder, clock_ticks(), 0, id, name, EPF_BITS(category & 3u, EPF_ASYNC_BEGIN, 0, 0), 0, NULL, 0);
	recorder_leave(recorder);
	return id;
}

void epp_async_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count)
{
	uint64_t now = clock_ticks();
	if (!id)
		return;
	struct recorder *recorder = recorder_enter_any(session);
	if (!recorder) {
		event_end_nowhere(session);
		return;
	}
	event_store(recorder, now, 0, id, EPF_NAME_ORPHAN_END, EPF_BITS(0, EPF_ASYNC_END, 0, 0), 0, args, args_count);
	recorder_leave(recorder);
}
