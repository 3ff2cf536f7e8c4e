/* A PJRT plugin with the fault that PJRT_FAULT names.  If PJRT_CALLS is set, it appends a letter for each call: c
 * create, s start, e stop, n collect with NULL, b collect into a buffer, u consume, z serialize, r result destroyed, d
 * destroy, x error destroyed.  Without a fault it returns an XSpace with one event, in its own memory and followed by a
 * zero byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "epprof/abi/pjrt.h"
#include "hanging.h"

struct PLUGIN_Profiler_Error {
	int code;
};

static int is(const char *fault)
{
	const char *now = getenv("PJRT_FAULT");
	return now && strcmp(now, fault) == 0;
}

static void call(const char *letter)
{
	char calls[512];
	const char *before = getenv("PJRT_CALLS");
	/* Only tests in C set it: in a framework other threads may be in getenv, which setenv would break. */
	if (!before)
		return;
	snprintf(calls, sizeof(calls), "%s%s", before, letter);
	setenv("PJRT_CALLS", calls, 1);
}

static PLUGIN_Profiler_Error *fail(const char *step)
{
	static PLUGIN_Profiler_Error error = { 13 };
	return is(step) || (is("no code") && !strcmp(step, "stop")) ? &error : NULL;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args)
{
	hang_at("pjrt:error_destroy");
	(void)args;
	call("x");
}

static void error_message(PLUGIN_Profiler_Error_Message_Args *args)
{
	hang_at("pjrt:error_message");
	/* Not NUL-terminated. */
	args->message = "no \"device\"!!!";
	args->message_size = 11;
}

static PLUGIN_Profiler_Error *error_get_code(PLUGIN_Profiler_Error_GetCode_Args *args)
{
	hang_at("pjrt:error_get_code");
	static PLUGIN_Profiler_Error second = { 3 };
	/* Like XLA it accepts only the size without padding. */
	if (is("no code") || args->struct_size != offsetof(PLUGIN_Profiler_Error_GetCode_Args, code) + sizeof(args->code))
		return &second;
	args->code = args->error->code;
	return NULL;
}

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args)
{
	hang_at("pjrt:create");
	call("c");
	/* ProfileOptions { version: 1 ... } */
	if (args->struct_size != sizeof(*args) || args->options_size < 8 || memcmp(args->options, "\x28\x01", 2) != 0)
		abort();
	args->profiler = is("no profiler") || is("create") ? NULL : (PLUGIN_Profiler *)malloc(1);
	return fail("create");
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Destroy_Args *args)
{
	hang_at("pjrt:destroy");
	call("d");
	free(args->profiler);
	return fail("destroy");
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
	hang_at("pjrt:start");
	(void)args;
	call("s");
	return fail("start");
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
	hang_at("pjrt:stop");
	(void)args;
	call("e");
	return fail("stop");
}

/* XSpace { plane "/device:XPU:0" { line { timestamp_ns: now, event of 0 ns } } } */
static size_t xspace(uint8_t *out)
{
	static const uint8_t event[] = { 4 << 3 | 2, 4, 1 << 3, 1, 2 << 3, 0 };
	uint8_t line[32] = { 3 << 3 };
	struct timespec now;
	size_t count = 1, all = 0;
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec; ns; ns >>= 7)
		line[count++] = (uint8_t)((ns & 0x7F) | (ns > 0x7F ? 0x80 : 0));
	memcpy(line + count, event, sizeof(event));
	count += sizeof(event);
	out[all++] = 1 << 3 | 2;
	out[all++] = (uint8_t)(15 + 2 + count);
	out[all++] = 2 << 3 | 2;
	out[all++] = 13;
	memcpy(out + all, "/device:XPU:0", 13);
	all += 13;
	out[all++] = 3 << 3 | 2;
	out[all++] = (uint8_t)count;
	memcpy(out + all, line, count);
	return all + count;
}

static uint8_t own[256];

static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
	call(args->buffer ? "b" : "n");
	hang_at(args->buffer ? "pjrt:collect_data" : "pjrt:size");
	if (is("consume") || is("consume error") || is("serialize error")) {
		args->buffer_size_in_bytes = 0;
		return NULL;
	}
	memset(own, 0, sizeof(own));
	size_t count = xspace(own);
	if (args->buffer) {
		memcpy(args->buffer, own, count);
		args->buffer_size_in_bytes = is("grow") ? count + 1000000 : count;
		return NULL;
	}
	args->buffer_size_in_bytes = is("huge") ? (size_t)4 << 30 : is("two calls") || is("grow") ? count : count + 1;
	args->buffer = is("two calls") || is("grow") ? NULL : own;
	if (is("garbage"))
		memset(own, 0xA5, count);
	return fail("collect");
}

static PLUGIN_Profiler_Error *consume(PLUGIN_Profiler_Consume_Args *args)
{
	hang_at("pjrt:consume");
	call("u");
	args->result = (PLUGIN_Profiler_ConsumeResult *)(void *)own;
	return fail("consume error");
}

static void consume_result_destroy(PLUGIN_Profiler_ConsumeResult_Destroy_Args *args)
{
	hang_at("pjrt:consume_result_destroy");
	(void)args;
	call("r");
}

static PLUGIN_Profiler_Error *serialize(PLUGIN_Profiler_Serialize_Args *args)
{
	hang_at("pjrt:serialize");
	call("z");
	args->serialized_size = xspace(own);
	args->serialized_bytes = own;
	return fail("serialize error");
}

const PJRT_Api *GetPjrtApi(void)
{
	hang_at("pjrt:GetPjrtApi");
	static PLUGIN_Profiler_Api api;
	static PJRT_Profiler_Extension extension;
	static PJRT_Extension_Base other;
	static struct {
		PJRT_Api api;
		size_t version_bytes;
		void *version_extension;
		int version[2];
	} pjrt;
	api = (PLUGIN_Profiler_Api){ .struct_size = is("small table") ? 72
		                                    : is("80 bytes")  ? 80
		                                                      : sizeof(api),
		                     .error_destroy = error_destroy,
		                     .error_message = error_message,
		                     .error_get_code = error_get_code,
		                     .create = create,
		                     .destroy = destroy,
		                     .start = is("no start") ? NULL : start,
		                     .stop = stop,
		                     .collect_data = collect_data,
		                     .consume = consume,
		                     .consume_result_destroy = consume_result_destroy,
		                     .serialize = serialize };
	extension = (PJRT_Profiler_Extension){ .base = { .struct_size = is("small extension") ? 24 : sizeof(extension),
		                                         .type = PJRT_Extension_Type_Profiler },
		                               .profiler_api = is("no api") ? NULL : &api };
	other = (PJRT_Extension_Base){ .struct_size = sizeof(other),
		                       .type = (PJRT_Extension_Type)7,
		                       .next = is("circle")         ? &other
		                               : is("no extension") ? NULL
		                                                    : &extension.base };
	pjrt.api = (PJRT_Api){ .struct_size = is("small") ? 8 : sizeof(pjrt), .extension_start = &other };
	pjrt.version_bytes = 24;
	pjrt.version[1] = 114;
	return is("no table") ? NULL : &pjrt.api;
}
