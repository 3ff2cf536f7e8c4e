/* Tests that a profiler cannot be started again before it has ended. */
#ifndef EPPROF_TESTS_SUPPORT_TWICE_H
#define EPPROF_TESTS_SUPPORT_TWICE_H

#include "joined.h"

/* Starts a joined profiler twice, as a bridge could: the second start fails, and the first run continues. */
static inline void twice_started(epp_plugin *plugin)
{
	const OrtApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	epp_session *session = joined_session();
	struct joined joined = joined_start(session, plugin);
	OrtStatus *status = joined_member_start(joined.member, 0);
	ck_assert_ptr_nonnull(status);
	ck_assert_str_eq(api->GetErrorMessage(status), "StartProfiling without EndProfiling in between");
	api->ReleaseStatus(status);
	joined_end(&joined);
	joined_leave(&joined);
	epp_session_destroy(session);
}

#endif
