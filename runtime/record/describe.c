/* Describes the source of a trace: process, machine, clock. Everything except the pid, which a fork changes, is read
 * once. */
#include "record/describe.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static uint8_t boot_id[16];
static char hostname[64];
static uint64_t start_ns;

static uint64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void describe_setup(void)
{
	start_ns = unix_ns();
	if (gethostname(hostname, sizeof(hostname)))
		strlcpy(hostname, "unknown", sizeof(hostname));
	hostname[sizeof(hostname) - 1] = 0;
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	/* "8-4-4-4-12" hexadecimal digits. */
	for (unsigned digits = 0, i = 0; text[i] && digits < 32; i++) {
		const char *at = strchr("0123456789abcdef", text[i]);
		if (at)
			boot_id[digits / 2] |= (uint8_t)((unsigned)(at - "0123456789abcdef") << (digits % 2 ? 0 : 4)),
			    digits++;
	}
}

void describe_process(struct epf_header *header, const char *label)
{
	struct epf_source *source = &header->source;
	header->created_unix_ns = unix_ns();
	if (getrandom(header->file_id, sizeof(header->file_id), GRND_NONBLOCK) != (ssize_t)sizeof(header->file_id)) {
		uint64_t words[2] = { header->created_unix_ns, clock_ticks() ^ (uint64_t)getpid() << 40 };
		memcpy(header->file_id, words, sizeof(words));
	}
	source->pid = (uint32_t)getpid();
	source->clock = clock_kind;
	source->ticks_per_second = clock_ticks_per_second();
	source->process_start_ns = start_ns;
	memcpy(source->boot_id, boot_id, sizeof(boot_id));
	strlcpy(source->hostname, hostname, sizeof(source->hostname));
	strlcpy(source->program, program_invocation_short_name, sizeof(source->program));
	strlcpy(source->label, label ? label : program_invocation_short_name, sizeof(source->label));
}

char *describe_path(const char *path)
{
	static uint32_t sessions_count;
	char *expanded = NULL;
	size_t bytes;
	uint32_t number = 0; /* of this session */
	FILE *out = open_memstream(&expanded, &bytes);
	if (!out)
		return NULL;
	while (*path) {
		if (!strncmp(path, "%pid%", 5)) {
			fprintf(out, "%d", (int)getpid());
			path += 5;
		} else if (!strncmp(path, "%hostname%", 10)) {
			fputs(hostname, out);
			path += 10;
		} else if (!strncmp(path, "%session%", 9)) {
			if (!number)
				number = __atomic_add_fetch(&sessions_count, 1, __ATOMIC_RELAXED);
			fprintf(out, "%u", number);
			path += 9;
		} else if (!strncmp(path, "%%", 2)) {
			fputc('%', out);
			path += 2;
		} else {
			fputc(*path++, out);
		}
	}
	return fclose(out) ? NULL : expanded;
}
