/* Records the calls of PJRT's profiler extension as events of the trace.  A call that returned an error has the status
 * "error".  The host then calls error_message, and the event of that call has the error's text as its status. */
#include <string.h>

#include "pjrt_host.h"

static const PLUGIN_Profiler_Api *own; /* the plugin's */

#define ENTRY(name, Args) \
	static PLUGIN_Profiler_Error *traced_##name(Args *args) \
	{ \
		struct conform_call call = conform_trace_call(#name); \
		PLUGIN_Profiler_Error *error = own->name(args); \
		conform_trace_return(call, error ? "error" : "OK"); \
		return error; \
	}

ENTRY(create, PLUGIN_Profiler_Create_Args)
ENTRY(destroy, PLUGIN_Profiler_Destroy_Args)
ENTRY(start, PLUGIN_Profiler_Start_Args)
ENTRY(stop, PLUGIN_Profiler_Stop_Args)
ENTRY(collect_data, PLUGIN_Profiler_CollectData_Args)
ENTRY(error_get_code, PLUGIN_Profiler_Error_GetCode_Args)

static void traced_error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args)
{
	struct conform_call call = conform_trace_call("error_destroy");

	own->error_destroy(args);
	conform_trace_return(call, "OK");
}

static void traced_error_message(PLUGIN_Profiler_Error_Message_Args *args)
{
	struct conform_call call = conform_trace_call("error_message");
	char text[128];

	own->error_message(args);
	snprintf(text, sizeof(text), "%.*s", args->message ? (int)args->message_size : 0,
	         args->message ? args->message : "");
	conform_trace_return(call, text);
}

const PLUGIN_Profiler_Api *pjrt_trace(const PLUGIN_Profiler_Api *table)
{
	static PLUGIN_Profiler_Api traced;

	own = table;
	memcpy(&traced, table, table->struct_size < sizeof(traced) ? table->struct_size : sizeof(traced));
	traced.create = traced_create;
	traced.destroy = traced_destroy;
	traced.start = traced_start;
	traced.stop = traced_stop;
	traced.collect_data = traced_collect_data;
	traced.error_get_code = traced_error_get_code;
	traced.error_destroy = traced_error_destroy;
	traced.error_message = traced_error_message;
	return &traced;
}
