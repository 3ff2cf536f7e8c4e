/* The library in its process: load, fork, exit, and the default session. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/gate.h"
#include "epprof/epprof.h"
#include "record/describe.h"
#include "record/process.h"
#include "record/session.h"
#include "record/share.h"
#include "storage/helper.h"

const char *epp_version(void)
{
	return EPPROF_VERSION;
}

epp_session *epp_session_default(void)
{
	return (epp_session *)LOAD_RELAXED(&session_default_handle);
}

static void fork_child(void)
{
	name_fork_child();
	gate_setup();
	epp_recording_count = 0;
	session_default_handle = 0;
	helper_fork_child();
	window_fork_child();
	block_writer_fork_child();
	session_fork_child();
	share_fork_child();
	recorder_fork_child();
}

/* Defined by a bridge that loads this library into a framework's process. The bridge requests its session when there is
 * something to record; a default session at load would leave an empty file if there never is. */
extern const char epprof_carries[] __attribute__((weak, visibility("default")));

/* Opens the default session of EPPROF_OUTPUT=file.epp. A library cannot report a failure here; epp_session_default then
 * returns NULL. */
static void start_default(void)
{
	/* The epprof command reads traces: it must not overwrite the one that it is asked to read. */
	if (!strcmp(program_invocation_short_name, "epprof") || epprof_carries)
		return;
	epp_session *session;
	epp_status *status = share_default(&session);
	epp_status_release(status);
	STORE_RELEASE(&session_default_handle, (uintptr_t)session);
}

static void set_up(void)
{
	clock_setup();
	gate_setup();
	describe_setup();
	recorder_setup();
	pthread_atfork(name_fork_prepare, name_fork_parent, fork_child);
}

void process_setup(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_up);
}

__attribute__((constructor)) static void load(void)
{
	process_setup();
	start_default();
}

/* The helper still runs here: exit ends threads only after destructors. */
__attribute__((destructor)) static void unload(void)
{
	STORE_RELEASE(&session_default_handle, 0);
	share_end_all();
}
