/* Tests all entries of the four ABIs that a host calls, in plugins that do not return from them (plugins/hanging.h). */
#ifndef EPPROF_TESTS_SUPPORT_HANGING_H
#define EPPROF_TESTS_SUPPORT_HANGING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

/* On a busy machine a plugin that works may take some hundred milliseconds: it must not count as one that hangs. */
#define HANGING_LIMIT_MS "1000"
/* The time within which a host's call returns, on a busy machine. */
#define HANGING_RETURNS_NS 5000000000

enum hanging_step { HANGING_LOAD, HANGING_CREATE, HANGING_START, HANGING_EVENT, HANGING_END, HANGING_CLOSE };

static const struct hanging_entry {
	const char *plugin, *entry;
	enum hanging_step step; /* the host's step in which the entry is called */
	const char *fault;      /* the value of PJRT_FAULT with which the host calls the entry */
} hanging_entries[] = {
	{ "slow_load", "load:constructor", HANGING_LOAD, "" },
	{ "plain_ep", "ort:CreateEpFactories", HANGING_LOAD, "" },
	{ "plain_ep", "ort:GetSupportedDevices", HANGING_LOAD, "" },
	{ "plain_ep", "ort:GetName", HANGING_LOAD, "" },
	{ "plain_ep", "ort:CreateEp", HANGING_LOAD, "" },
	{ "plain_ep", "ort:CreateProfiler", HANGING_CREATE, "" },
	{ "plain_ep", "ort:StartProfiling", HANGING_START, "" },
	{ "plain_ep", "ort:StartEvent", HANGING_EVENT, "" },
	{ "plain_ep", "ort:StopEvent", HANGING_EVENT, "" },
	{ "plain_ep", "ort:EndProfiling", HANGING_END, "" },
	{ "plain_ep", "ort:Release", HANGING_CLOSE, "" },
	{ "plain_ep", "ort:ReleaseEp", HANGING_CLOSE, "" },
	{ "plain_ep", "ort:ReleaseEpFactory", HANGING_CLOSE, "" },
	{ "tf_fault", "tf:TF_InitProfiler", HANGING_LOAD, "" },
	{ "tf_fault", "tf:start", HANGING_START, "" },
	{ "tf_fault", "tf:stop", HANGING_END, "" },
	{ "tf_fault", "tf:size", HANGING_END, "" },
	{ "tf_fault", "tf:collect_data_xspace", HANGING_END, "" },
	{ "tf_fault", "tf:destroy_profiler", HANGING_CLOSE, "" },
	{ "tf_fault", "tf:destroy_profiler_fns", HANGING_CLOSE, "" },
	{ "tf_run_metadata", "first:TF_InitProfiler", HANGING_LOAD, "" },
	{ "tf_run_metadata", "first:start", HANGING_START, "" },
	{ "tf_run_metadata", "first:stop", HANGING_END, "" },
	{ "tf_run_metadata", "first:collect_data_xspace", HANGING_END, "" },
	{ "tf_run_metadata", "first:run_metadata_size", HANGING_END, "" },
	{ "tf_run_metadata", "first:collect_data_run_metadata", HANGING_END, "" },
	{ "tf_run_metadata", "first:destroy_profiler", HANGING_CLOSE, "" },
	{ "tf_run_metadata", "first:destroy_profiler_fns", HANGING_CLOSE, "" },
	{ "pjrt_fault", "pjrt:GetPjrtApi", HANGING_LOAD, "" },
	{ "pjrt_fault", "pjrt:create", HANGING_START, "" },
	{ "pjrt_fault", "pjrt:start", HANGING_START, "" },
	{ "pjrt_fault", "pjrt:stop", HANGING_END, "" },
	{ "pjrt_fault", "pjrt:size", HANGING_END, "" },
	{ "pjrt_fault", "pjrt:collect_data", HANGING_END, "two calls" },
	{ "pjrt_fault", "pjrt:consume", HANGING_END, "consume" },
	{ "pjrt_fault", "pjrt:serialize", HANGING_END, "consume" },
	{ "pjrt_fault", "pjrt:consume_result_destroy", HANGING_END, "consume" },
	{ "pjrt_fault", "pjrt:destroy", HANGING_END, "" },
	{ "pjrt_fault", "pjrt:error_message", HANGING_END, "stop" },
	{ "pjrt_fault", "pjrt:error_get_code", HANGING_END, "stop" },
	{ "pjrt_fault", "pjrt:error_destroy", HANGING_END, "stop" },
	{ "scripted_pu1", "pu1:pu1GetVersion", HANGING_LOAD, "" },
	{ "scripted_pu1", "pu1:kineto_register_privateuse1_plugin", HANGING_LOAD, "" },
	{ "scripted_pu1", "pu1:pu1TracingSetCallbacks", HANGING_START, "" },
	{ "scripted_pu1", "pu1:pu1TracingEnable", HANGING_START, "" },
	{ "scripted_pu1", "pu1:pu1GetTimestamp", HANGING_START, "" },
	{ "scripted_pu1", "pu1:pu1GetNumDroppedRecords", HANGING_START, "" },
	{ "scripted_pu1", "pu1:pu1PushExternalCorrelationId", HANGING_EVENT, "" },
	{ "scripted_pu1", "pu1:pu1PopExternalCorrelationId", HANGING_EVENT, "" },
	{ "scripted_pu1", "pu1:pu1TracingDisable", HANGING_END, "" },
	{ "scripted_pu1", "pu1:pu1FlushAll", HANGING_END, "" },
};

#define HANGING_ENTRIES (int)(sizeof(hanging_entries) / sizeof(hanging_entries[0]))

/* Their cases run at the same time, each in a process of its own, because they mostly wait.  With a sanitizer the plugin
 * that works takes a large part of the limit. */
#if defined(__SANITIZE_THREAD__)
#define HANGING_AT_ONCE 1
#elif defined(__SANITIZE_ADDRESS__)
#define HANGING_AT_ONCE 2
#else
#define HANGING_AT_ONCE 3
#endif
#define HANGING_GROUPS ((HANGING_ENTRIES + HANGING_AT_ONCE - 1) / HANGING_AT_ONCE)

/* Runs both cases of each entry of a group: the plugin is named before one that works (an even number), or after it. */
static inline void hanging_run(int group, void (*run_case)(int number))
{
	pid_t children[2 * HANGING_AT_ONCE];
	int first = 2 * HANGING_AT_ONCE * group, count = 2 * HANGING_ENTRIES - first, status, failed = -1;

	count = count < 2 * HANGING_AT_ONCE ? count : 2 * HANGING_AT_ONCE;
	for (int i = 0; i < count; i++) {
		children[i] = fork();
		ck_assert_int_ge(children[i], 0);
		if (children[i] == 0) {
			run_case(first + i);
			exit(EXIT_SUCCESS);
		}
	}
	for (int i = 0; i < count; i++) {
		MUST(waitpid(children[i], &status, 0) == children[i]);
		failed = status && failed < 0 ? i : failed;
	}
	/* Check prints the message of the first assertion that fails, which is the child's. */
	ck_assert_msg(failed < 0, "%s", hanging_entries[(first + failed) / 2].entry);
}

/* Call it before plugins are loaded. */
static inline void hanging_set(const struct hanging_entry *entry)
{
	setenv("HANG_AT", entry->entry, 1);
	setenv("PJRT_FAULT", entry->fault, 1);
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", HANGING_LIMIT_MS, 1);
}

static inline void hanging_path(const struct hanging_entry *entry, char *path, size_t bytes)
{
	snprintf(path, bytes, "%s/tests/plugins/%s.so", CHECK_BUILD, entry->plugin);
}

static inline int64_t hanging_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Asserts that a statement returns in time. */
#define RETURNS(statement) \
	do { \
		int64_t before_ns_ = hanging_now_ns(); \
		statement; \
		int64_t took_ns_ = hanging_now_ns() - before_ns_; \
		ck_assert_msg(took_ns_ < HANGING_RETURNS_NS, "%s: %lld ms", #statement, (long long)(took_ns_ / 1000000)); \
	} while (0)

#endif
