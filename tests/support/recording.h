/* Helpers for tests that record: make and end sessions, start threads, and read what was recorded.  All of them assert
 * success. */
#ifndef EPPROF_TESTS_SUPPORT_RECORDING_H
#define EPPROF_TESTS_SUPPORT_RECORDING_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "epprof/session.h"
#include "epprof/trace_reader.h"
#include "record/session.h"
#include "trace_scan.h"

#define RECORDING_INLINE __attribute__((unused)) static inline

RECORDING_INLINE void recording_sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

RECORDING_INLINE struct session *recording_inside(epp_session *session)
{
	return session_of((uintptr_t)session);
}

RECORDING_INLINE struct storage *recording_storage(epp_session *session)
{
	return &recording_inside(session)->storage;
}

/* Waits until the helper has prepared all chunks of a new window. */
RECORDING_INLINE void recording_await_window(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	for (bool is_whole = false; !is_whole; recording_sleep_ms(!is_whole)) {
		pthread_mutex_lock(&inside->drain_lock);
		is_whole = window_is_whole(&inside->window);
		pthread_mutex_unlock(&inside->drain_lock);
	}
}

RECORDING_INLINE epp_session *recording_start_as(const char *path, bool lossless)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .lossless = lossless };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	recording_await_window(session);
	return session;
}

/* Starts a session in memory, or in the file `path`, and waits for its window. */
RECORDING_INLINE epp_session *recording_start(const char *path)
{
	return recording_start_as(path, false);
}

/* Ends the run and waits until everything is written. */
RECORDING_INLINE void recording_end(epp_session *session)
{
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, 20000000000u));
}

/* Scans the session's trace in its present state, and asserts that it obeys the format.  Freed by the caller. */
RECORDING_INLINE struct trace_scan *recording_look(epp_session *session)
{
	struct trace_scan *scan = trace_scan_session(session);
	ck_assert_msg(!scan->error, "%s", scan->error);
	return scan;
}

/* Ends the run, scans the trace, checks the ledger, and releases the session. */
RECORDING_INLINE struct trace_scan *recording_finish(epp_session *session)
{
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	epp_session_destroy(session);
	return scan;
}

/* As recording_finish, for a file: the session is released before the scan. */
RECORDING_INLINE struct trace_scan *recording_finish_file(epp_session *session, const char *path)
{
	recording_end(session);
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s: %s", path, wrong);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	return scan;
}

/* The offset of a file's segments: after its window, or after its header if the window's hole was removed. */
RECORDING_INLINE off_t recording_segments_offset(const char *path)
{
	struct trace_scan *scan = trace_scan_file(path);
	off_t offset = (off_t)scan->header.segments_offset;
	trace_scan_free(scan);
	return offset;
}

/* Opens the session's trace in its present state with the reader.  Closed by the caller. */
RECORDING_INLINE epp_trace *recording_open(epp_session *session)
{
	epp_trace *trace;
	check_ok(epp_trace_open_session(session, &trace));
	return trace;
}

/* Records events of 4 KiB until `bytes` bytes are recorded, slowly enough for the helper.  Returns the number of
 * events. */
RECORDING_INLINE uint64_t recording_fill(epp_session *session, epp_name name, size_t bytes)
{
	char text[4096];
	memset(text, 't', sizeof(text));
	epp_arg arg = { .key = epp_name_intern("key"), .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	uint64_t events = 0;
	for (; events * sizeof(text) < bytes; events++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
		if (events % 256 == 255)
			recording_sleep_ms(4);
	}
	return events;
}

RECORDING_INLINE pthread_t recording_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, run, argument), 0);
	return thread;
}

RECORDING_INLINE void recording_on_thread(void *(*run)(void *), void *argument)
{
	pthread_join(recording_thread(run, argument), NULL);
}

RECORDING_INLINE uint64_t recording_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sanitizers make everything several times slower: counts are divided by this. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RECORDING_SLOW 8
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define RECORDING_SLOW 8
#endif
#endif
#ifndef RECORDING_SLOW
#define RECORDING_SLOW 1
#endif

/* Makes a ring session that is not started. */
static inline epp_session *recording_ring(const char *path, uint64_t max_bytes)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = path,
		                        .policy = EPP_POLICY_RING,
		                        .max_bytes = max_bytes,
		                        .overwrite = 1 };
	check_ok(epp_session_create(&options, &session));
	return session;
}

#endif
