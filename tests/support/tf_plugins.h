/* For the tests of TensorFlow plugins: loads a plugin with a fault, and records it in a session of its own. */
#ifndef EPPROF_TESTS_SUPPORT_TF_PLUGINS_H
#define EPPROF_TESTS_SUPPORT_TF_PLUGINS_H

#include <stdlib.h>
#include <string.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "recording.h"

#define TF_PLUGIN(name) CHECK_BUILD "/tests/plugins/" name ".so"

static epp_plugin *tf_plugin;

/* Loads a plugin; may be called again for another one.  `fault` is NULL for none. */
RECORDING_INLINE epp_status *tf_load(const char *name, const char *fault)
{
	setenv("TF_CALLS", "", 1);
	unsetenv("TF_FAULT");
	if (fault)
		setenv("TF_FAULT", fault, 1);
	check_ok(epp_tf_shim_load(CHECK_BUILD "/libepprof_tf_shim.so"));
	return epp_plugin_load(name, &tf_plugin);
}

RECORDING_INLINE const char *tf_calls(void)
{
	const char *calls = getenv("TF_CALLS");
	return calls ? calls : "";
}

/* Makes a session that profiles `plugin`, not started. */
RECORDING_INLINE epp_session *tf_session(epp_plugin *plugin)
{
	epp_session *session;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "xpu"));
	return session;
}

/* Ends the session's run and returns its error: "" or a message, valid until the next call. */
RECORDING_INLINE const char *tf_end(epp_session *session)
{
	static char message[512];
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	snprintf(message, sizeof(message), "%s", epp_status_message(status));
	epp_status_destroy(status);
	return message;
}

#endif
