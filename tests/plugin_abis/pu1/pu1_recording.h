/* Sessions that profile the scripted PU1 plugin, and the records that a test makes for it. */
#ifndef EPPROF_TESTS_PLUGIN_ABIS_PU1_PU1_RECORDING_H
#define EPPROF_TESTS_PLUGIN_ABIS_PU1_PU1_RECORDING_H

#include <dlfcn.h>
#include <string.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "plugins/pu1/pu1_pool.h"
#include "tests/plugins/scripted_pu1.h"
#include "tests/support/recording.h"

#define PU1_PLUGIN(name) CHECK_BUILD "/tests/plugins/" name ".so"

struct pu1_test {
	epp_plugin *plugin;
	struct pu1_script *script;
};

RECORDING_INLINE struct pu1_test pu1_load(const char *path)
{
	struct pu1_test test;
	check_ok(epp_plugin_load(path, &test.plugin));
	test.script = epp_plugin_symbol(test.plugin, "script");
	ck_assert_ptr_nonnull(test.script);
	return test;
}

/* In memory; started. */
RECORDING_INLINE epp_session *pu1_start(const struct pu1_test *test)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(test->plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "pu1"));
	check_ok(epp_session_start(session));
	return session;
}

/* What became of it.  Its account balances: emitted = written + lost. */
struct pu1_outcome {
	char error[256]; /* "": none */
	struct trace_scan *scan;
	uint64_t emitted;
	uint64_t lost_plugin; /* what the adapter counted */
	uint64_t lost_after_end;
	size_t written;
};

RECORDING_INLINE struct pu1_outcome pu1_finish(epp_session *session)
{
	struct pu1_outcome outcome = { .error = "" };
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, 50000000000u);
	if (status)
		snprintf(outcome.error, sizeof(outcome.error), "%s", epp_status_message(status));
	epp_status_destroy(status);
	outcome.scan = recording_look(session);
	const struct epf_producer *producer = &outcome.scan->producers[0];
	outcome.emitted = producer->emitted;
	outcome.lost_plugin = producer->lost[EPP_LOSS_PLUGIN];
	outcome.lost_after_end = producer->lost[EPP_LOSS_AFTER_END];
	outcome.written = scan_count(outcome.scan, EPF_COMPLETE, 0);
	uint64_t lost = 0;
	for (int i = 0; i < EPP_LOSS_ENTRY_COUNT; i++)
		lost += i == EPP_LOSS_TOO_LARGE ? 0 : producer->lost[i];
	ck_assert_uint_eq(outcome.emitted, outcome.written + lost);
	epp_session_destroy(session);
	return outcome;
}

RECORDING_INLINE size_t pu1_count(const struct pu1_outcome *outcome, const char *name)
{
	return scan_count(outcome->scan, EPF_COMPLETE, epp_name_intern(name));
}

/* ---- records ---- */

RECORDING_INLINE uint64_t pu1_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

RECORDING_INLINE pu1ActivityRecord pu1_kernel(const char *name)
{
	uint64_t now_ns = pu1_now_ns();
	return (pu1ActivityRecord){ .kind = PU1_KIND_CONCURRENT_KERNEL,
		                    .struct_size = sizeof(pu1ActivityRecord),
		                    .start_time = now_ns,
		                    .end_time = now_ns + 1000,
		                    .stream_id = 1,
		                    .correlation_id = 77,
		                    .name = name };
}

struct pu1_writer {
	const struct pu1_script *script;
	uint8_t *buffer; /* NULL: declined */
	size_t size;
	size_t used;
};

RECORDING_INLINE struct pu1_writer pu1_begin(const struct pu1_script *script)
{
	struct pu1_writer writer = { .script = script };
	size_t max_records = 1;
	script->request(&writer.buffer, &writer.size, &max_records);
	ck_assert_uint_eq(max_records, 0);
	ck_assert_uint_eq((uintptr_t)writer.buffer % 8, 0);
	ck_assert_uint_eq(writer.size, writer.buffer ? PU1_BUFFER_BYTES : 0);
	return writer;
}

/* As many bytes of it as its struct_size says, of those that it has. */
RECORDING_INLINE void pu1_put(struct pu1_writer *writer, const pu1ActivityRecord *record)
{
	size_t bytes = record->struct_size < sizeof(*record) ? record->struct_size : sizeof(*record);
	memcpy(writer->buffer + writer->used, record, bytes ? bytes : 64);
	writer->used += record->struct_size;
}

RECORDING_INLINE void pu1_give(const struct pu1_writer *writer)
{
	writer->script->complete(writer->buffer, writer->size, writer->used);
}

RECORDING_INLINE void pu1_emit(const struct pu1_script *script, const pu1ActivityRecord *record)
{
	struct pu1_writer writer = pu1_begin(script);
	ck_assert_ptr_nonnull(writer.buffer);
	pu1_put(&writer, record);
	pu1_give(&writer);
}

#endif
