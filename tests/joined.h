/* Profilers of a plugin that join a session and are driven from here, as bridges do it: several of one plugin may be there. */
#ifndef EPPROF_TESTS_JOINED_H
#define EPPROF_TESTS_JOINED_H

#include "epprof/plugin.h"
#include "recording.h"

struct joined {
	OrtEpProfilerImpl *profiler;
	epp_member *member;
};

/* In memory; it records. */
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
	check_ok(epp_session_join(session, joined.profiler, "xpu", &joined.member));
	ck_assert_ptr_null(epp_member_start(joined.member, 0));
	return joined;
}

RECORDING_INLINE void joined_end(const struct joined *joined)
{
	ck_assert_ptr_null(joined->profiler->EndProfiling(joined->profiler, epp_member_container(joined->member)));
}

RECORDING_INLINE void joined_leave(const struct joined *joined)
{
	epp_member_leave(joined->member);
	epp_plugin_profiler_release(joined->profiler);
}

#endif
