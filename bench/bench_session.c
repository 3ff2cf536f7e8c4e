/* Sessions, files and memory figures for the cases. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench.h"
#include "epprof/profiler.h"

uint64_t bench_lost(epp_session *session)
{
	uint64_t lost = 0;
	for (int reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++)
		lost += epp_session_lost(session, (epp_loss)reason);
	return lost;
}

epp_session *bench_session(struct bench *bench, OrtEpProfilerImpl *profiler)
{
	/* Enough for all repetitions of any case. */
	epp_session_options options = { .struct_size = sizeof(options), .memory_bytes = 1u << 30 };
	epp_session *session;
	epp_status *status = epp_session_create(&options, &session);
	if (!status && profiler) {
		status = epp_session_attach(session, profiler, "bench");
		if (status)
			profiler->Release(profiler);
	}
	if (!status)
		status = epp_session_start(session);
	if (status) {
		bench_fail(bench, "making a session", status);
		epp_session_destroy(session);
		return NULL;
	}
	return session;
}

void bench_file_path(char *path, size_t bytes)
{
	char program[4096] = "";
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = readlink("/proc/self/exe", program, sizeof(program) - 1) > 0 ? dirname(program) : ".";
	snprintf(path, bytes, "%s/epprof-bench-%d.epp", folder, (int)getpid());
}

/* Opens the file at `path` and unlinks it. */
static epp_status *take_over(struct bench_file *file, const char *path, int flags)
{
	file->fd = open(path, flags | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return epp_status_errno(errno, "%s", path);
	unlink(path);
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	return NULL;
}

epp_status *bench_file_open(struct bench_file *file)
{
	char path[BENCH_PATH_BYTES];
	bench_file_path(path, sizeof(path));
	return take_over(file, path, O_RDWR | O_CREAT | O_EXCL);
}

epp_status *bench_file_session(struct bench_file *file, bool lossless, epp_session **session)
{
	char path[BENCH_PATH_BYTES];
	bench_file_path(path, sizeof(path));
	file->fd = -1;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .lossless = lossless };
	epp_status *status = epp_session_create(&options, session);
	if (status)
		return status;
	status = take_over(file, path, O_RDONLY);
	if (status) {
		epp_session_destroy(*session);
		*session = NULL;
	}
	return status;
}

void bench_file_close(struct bench_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* ---- memory ---- */

bool bench_memory_forget_peak(void)
{
	/* Returns freed memory of earlier cases to the system: its reuse would hide new allocations. */
	malloc_trim(0);
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t written = write(fd, "5", 1);
	close(fd);
	return written == 1;
}

static uint64_t status_bytes(const char *field)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ": %llu", &kib);
	if (file)
		fclose(file);
	return (uint64_t)kib * 1024;
}

uint64_t bench_memory_peak_bytes(void)
{
	return status_bytes("VmHWM");
}

uint64_t bench_memory_bytes(void)
{
	return status_bytes("VmRSS");
}
