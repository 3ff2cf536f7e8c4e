/* Detects if the writer of a trace is alive.  A pid is not sufficient: it may belong to another machine or boot, or
 * may have been reused.  So the boot id must match, and the process must have started before it created the file
 * (but not necessarily before it loaded the library: a forked child inherits the loaded library). */
#include "trace/reader_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000ull
/* A process start is known to a clock tick; the computed boot time drifts when CLOCK_REALTIME is set. */
#define SLACK_NS (2 * NS_PER_SECOND)

static bool read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, room - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}

static bool is_this_boot(const uint8_t id[16])
{
	char text[64];
	unsigned digits = 0;

	if (!read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return false;
	for (const char *at = text; *at && digits < 32; at++) {
		const char *digit = strchr("0123456789abcdef", *at);
		if (!digit)
			continue;
		unsigned shift = digits % 2 ? 0 : 4;
		if ((id[digits / 2] >> shift & 15u) != (unsigned)(digit - "0123456789abcdef"))
			return false;
		digits++;
	}
	return digits == 32;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

bool reader_process_is_alive(const struct epf_header *header)
{
	const struct epf_source *source = &header->source;
	char path[64], text[1024];
	unsigned long long start;

	if (!source->pid || !is_this_boot(source->boot_id))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", source->pid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	/* "pid (program) state ppid ...": the program may contain any characters, so the fields are counted from the
	 * last parenthesis. The 3rd field is the state, the 22nd the start in clock ticks since the boot. */
	const char *fields = strrchr(text, ')');
	char state;
	if (!fields || sscanf(fields + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
	                      &state, &start) != 2)
		return false;
	if (state == 'Z' || state == 'X')
		return false;
	uint64_t began_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
	                    start * NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	return began_ns <= header->created_unix_ns + SLACK_NS;
}
