/* The library in its process: load, fork, exit, the default session, the placeholders %pid%, %hostname% and %session%
 * in paths of traces, and the description of the process in a trace.
 *
 * fork_child calls the handlers of record, storage and base. Files with a lock of their own register their handlers
 * themselves: base/worker.c, ort_abi/profiler_registry.c, plugins/ort/ort_logger.c, plugins/pu1/pu1_library.c. */
#include "record/process.h"

#include <bsd/string.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/helper.h"
#include "base/os/os.h"
#include "control/server.h"
#include "epprof/epprof.h"
#include "record/session.h"
#include "record/shared_sessions.h"

/* ---- the description: everything except the pid, which a fork changes, is read once ---- */

static uint8_t boot_id[16];
static char hostname[64];
static uint64_t start_ns;

static uint64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads the data that does not change while the process runs. */
static void describe_setup(void)
{
	start_ns = unix_ns();
	if (!os_host_name(hostname, sizeof(hostname)))
		strlcpy(hostname, "unknown", sizeof(hostname));
	os_boot_id(boot_id);
}

void process_describe(struct epf_header *header, const char *label)
{
	struct epf_source *source = &header->source;
	header->created_unix_ns = unix_ns();
	if (!os_random(header->file_id)) {
		uint64_t words[2] = { header->created_unix_ns, clock_ticks() ^ (uint64_t)getpid() << 40 };
		memcpy(header->file_id, words, sizeof(words));
	}
	source->pid = (uint32_t)getpid();
	source->clock = clock_kind;
	source->ticks_per_second = clock_ticks_per_second();
	source->process_start_ns = start_ns;
	memcpy(source->boot_id, boot_id, sizeof(boot_id));
	strlcpy(source->hostname, hostname, sizeof(source->hostname));
	strlcpy(source->program, os_program(), sizeof(source->program));
	strlcpy(source->label, label ? label : os_program(), sizeof(source->label));
}

/* Writes a path with its placeholders replaced, and returns its length as snprintf does. *number is the session's
 * number for %session%; it is 0 until it is needed. */
static size_t expand(const char *path, uint32_t *number, char *to, size_t room)
{
	static uint32_t sessions_count;
	size_t bytes = 0;
	for (size_t skipped; *path; path += skipped) {
		char own[16] = { *path };
		const char *text = own;
		skipped = 1;
		if (!strncmp(path, "%pid%", 5)) {
			snprintf(own, sizeof(own), "%d", (int)getpid());
			skipped = 5;
		} else if (!strncmp(path, "%hostname%", 10)) {
			text = hostname;
			skipped = 10;
		} else if (!strncmp(path, "%session%", 9)) {
			if (!*number)
				*number = __atomic_add_fetch(&sessions_count, 1, __ATOMIC_RELAXED);
			snprintf(own, sizeof(own), "%u", *number);
			skipped = 9;
		} else if (!strncmp(path, "%%", 2)) {
			skipped = 2;
		}
		if (bytes < room)
			strlcpy(to + bytes, text, room - bytes);
		bytes += strlen(text);
	}
	return bytes;
}

char *process_expand_path(const char *path)
{
	uint32_t number = 0;
	size_t room = expand(path, &number, NULL, 0) + 1;
	char *expanded = calloc(1, room);
	if (expanded)
		expand(path, &number, expanded, room);
	return expanded;
}

/* ---- load, fork, exit ---- */

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
	control_fork_child();
}

/* Defined by a bridge that loads this library into a framework's process. The bridge creates its session when it has
 * something to record. A default session at load would leave an empty file if the bridge never records. */
extern const char epprof_bridge_variables[] __attribute__((weak, visibility("default")));

/* Opens the default session of EPPROF_OUTPUT=file.epp. A library cannot report a failure at load; after a failure
 * epp_session_default returns NULL. */
static void start_default(void)
{
	/* The epprof command reads traces, and must not overwrite the trace that it is to read. */
	if (!strcmp(os_program(), "epprof") || epprof_bridge_variables)
		return;
	epp_session *session;
	epp_status *status = share_default(&session);
	epp_status_destroy(status);
	STORE_RELEASE(&session_default_handle, (uintptr_t)session);
}

static void set_up(void)
{
	clock_setup();
	gate_setup();
	describe_setup();
	recorder_setup();
	os_at_fork(name_fork_prepare, name_fork_parent, fork_child);
}

void process_setup(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_up);
}

/* The helper still runs here, because exit ends threads only after the destructors. Where it ends them before,
 * os_at_exit calls this function first. */
__attribute__((destructor)) static void unload(void)
{
	control_end();
	STORE_RELEASE(&session_default_handle, 0);
	share_end_all();
}

__attribute__((constructor)) static void load(void)
{
	process_setup();
	os_at_exit(unload);
	start_default();
}
