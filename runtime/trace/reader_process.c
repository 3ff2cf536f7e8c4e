/* Detects if the writer of a trace is alive.  A pid is not sufficient: it may belong to another machine or boot, or may
 * have been reused.  So the boot id must match, and the process must have started before the file was created.  It need
 * not have started before the library was loaded, because a forked child inherits the loaded library.
 *
 * A system without boot ids has the time at which a process started itself, and a process of this boot did not start
 * before a file of an earlier boot, so that the name of the machine is sufficient. */
#include "trace/reader_process.h"

#include <string.h>

#include "base/os/os.h"

/* The tolerance in ns: the start of a process has the resolution of a clock tick, and the computed boot time drifts
 * when the time of day is set. */
#define SLACK_NS 2000000000u

static bool is_this_boot(const struct epf_source *source)
{
	static const uint8_t unknown[16];
	uint8_t now[16] = { 0 };
	char hostname[sizeof(source->hostname)];
	os_boot_id(now);
	if (memcmp(now, source->boot_id, sizeof(now)) != 0)
		return false;
	return memcmp(now, unknown, sizeof(now)) != 0 ||
	       (os_host_name(hostname, sizeof(hostname)) && !strcmp(hostname, source->hostname));
}

bool reader_process_is_alive(const struct epf_header *header)
{
	const struct epf_source *source = &header->source;
	uint64_t start_ns;
	return source->pid && is_this_boot(source) && os_process_start(source->pid, &start_ns) &&
	       start_ns <= header->created_unix_ns + SLACK_NS;
}
