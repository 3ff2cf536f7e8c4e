/* A profiler that is started again before it has ended. */
#ifndef EPPROF_TESTS_TWICE_H
#define EPPROF_TESTS_TWICE_H

#include "epprof/plugin.h"
#include "recording.h"

/* By whoever drives it itself, as the bridges do: what was begun first goes on. */
static inline void twice_started(epp_plugin *plugin)
{
	const OrtApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_member *member;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_join(session, profiler, "xpu", &member));
	ck_assert_ptr_null(epp_member_start(member, 0));
	OrtStatus *status = epp_member_start(member, 0);
	ck_assert_ptr_nonnull(status);
	ck_assert_str_eq(api->GetErrorMessage(status), "StartProfiling without EndProfiling in between");
	api->ReleaseStatus(status);
	ck_assert_ptr_null(profiler->EndProfiling(profiler, epp_member_container(member)));
	epp_member_leave(member);
	epp_plugin_profiler_release(profiler);
	epp_session_release(session);
}

#endif
