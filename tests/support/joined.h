/* Profilers of a plugin that join a session; the test calls their entries, as bridges do.  One plugin may have
 * several. */
#ifndef EPPROF_TESTS_SUPPORT_JOINED_H
#define EPPROF_TESTS_SUPPORT_JOINED_H

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "recording.h"

struct joined {
	OrtEpProfilerImpl *profiler;
	epp_hosted_profiler *member;
};

/* Calls StartProfiling of one member and returns its status; asserts that it returns in time. */
RECORDING_INLINE OrtStatus *joined_member_start(epp_hosted_profiler *member, int64_t offset_ns)
{
	epp_hosted_profiler_call call = { .hosted = member };
	epp_hosted_profilers_start(&call, 1, offset_ns, 0);
	check_ok(call.failure);
	return call.status;
}

/* Makes a session in memory that records. */
RECORDING_INLINE epp_session *joined_session(void)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	return session;
}

RECORDING_INLINE struct joined joined_start(epp_session *session, epp_plugin *plugin)
{
	struct joined joined;
	check_ok(epp_plugin_profiler_create(plugin, &joined.profiler));
	check_ok(epp_hosted_profiler_create(session, joined.profiler, "xpu", &joined.member));
	ck_assert_ptr_null(joined_member_start(joined.member, 0));
	return joined;
}

RECORDING_INLINE void joined_end(const struct joined *joined)
{
	epp_hosted_profiler_call call = { .hosted = joined->member };
	epp_hosted_profilers_end(&call, 1);
	check_ok(call.failure);
	ck_assert_ptr_null(call.status);
}

RECORDING_INLINE void joined_leave(const struct joined *joined)
{
	epp_hosted_profiler_destroy(joined->member);
	epp_plugin_profiler_destroy(joined->profiler);
}

#endif
