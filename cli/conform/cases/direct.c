/* Calls the entries of a profiler directly; see direct.h. */
#include "direct.h"

#include "epprof/session.h"

struct direct direct_open(const struct conform *conform)
{
	const epp_session_options options = { .struct_size = sizeof(options) };
	const OrtEpApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->GetEpApi();
	struct direct direct = { 0 };
	epp_hosted_profiler *hosted = NULL;
	epp_session *session = NULL;
	epp_plugin *plugin;

	direct.profiler = conform_profiler(conform, &plugin);
	epp_status *status = epp_session_create(&options, &session);
	if (!status)
		status = epp_hosted_profiler_create(session, direct.profiler, NULL, &hosted);
	if (!status)
		status = epp_session_start(session);
	if (status)
		conform_skip(conform, "no session: %s", epp_status_message(status));
	direct.container = epp_hosted_profiler_container(hosted);
	conform_check_ort(
	    conform, "CreateProfilingEvent",
	    api->CreateProfilingEvent(OrtProfilingEventCategory_NODE, 1, 1, "node", 1, 1, NULL, NULL, 0, &direct.node));
	return direct;
}

OrtStatus *direct_start(const struct direct *direct)
{
	return direct->profiler->StartProfiling(direct->profiler, 0);
}

OrtStatus *direct_end(const struct direct *direct)
{
	return direct->profiler->EndProfiling(direct->profiler, direct->container);
}

OrtStatus *direct_start_event(const struct direct *direct, uint64_t id)
{
	return direct->profiler->StartEvent ? direct->profiler->StartEvent(direct->profiler, id) : NULL;
}

OrtStatus *direct_stop_event(const struct direct *direct, uint64_t id)
{
	return direct->profiler->StopEvent ? direct->profiler->StopEvent(direct->profiler, id, direct->node) : NULL;
}
