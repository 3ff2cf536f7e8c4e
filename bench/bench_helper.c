/* Counts the wake-ups of the helper thread while a session records and no events occur: its voluntary context switches,
 * from the kernel. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* After this time without events the helper is idle. */
#define SETTLE_NS 500000000u
#define WATCH_SECONDS 2

/* Finds the helper's entry in /proc/self/task by the name of the thread; false: there is none. */
static bool find_helper(char *path, size_t bytes)
{
	bool found = false;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	while (tasks && !found && (entry = readdir(tasks))) {
		char name[32] = "", comm[300];
		snprintf(comm, sizeof(comm), "/proc/self/task/%s/comm", entry->d_name);
		FILE *file = fopen(comm, "re");
		if (!file)
			continue;
		found = fgets(name, sizeof(name), file) && strcmp(name, "epprof\n") == 0;
		fclose(file);
		if (found)
			snprintf(path, bytes, "/proc/self/task/%s/status", entry->d_name);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static bool read_switches(const char *path, uint64_t *switches)
{
	char line[256];
	bool read = false;
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		read |= sscanf(line, "voluntary_ctxt_switches: %" SCNu64, switches) == 1;
	if (file)
		fclose(file);
	return read;
}

void bench_helper(struct bench *bench)
{
	char path[300];
	uint64_t before, after;
	struct bench_file file = { .fd = -1 };
	epp_session *session = NULL;
	epp_status *status = bench_file_session(&file, false, &session);
	if (!status)
		status = epp_session_start(session);
	if (status) {
		bench_fail(bench, "recording into a file", status);
		goto out;
	}
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("MatMul")), NULL, 0);
	nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
	if (!find_helper(path, sizeof(path)) || !read_switches(path, &before)) {
		bench_fail(bench, "finding the helper's thread", NULL);
		goto out;
	}
	uint64_t begin_ns = bench_wall_ns();
	nanosleep(&(struct timespec){ .tv_sec = WATCH_SECONDS }, NULL);
	uint64_t watched_ns = bench_wall_ns() - begin_ns;
	if (!read_switches(path, &after))
		bench_fail(bench, "the helper's thread is gone", NULL);
	else
		bench_report(bench, &(struct bench_line){ .unit = "/s",
		                                          .value = (double)(after - before) * 1e9 / (double)watched_ns,
		                                          .kind = BENCH_AT_MOST,
		                                          .bound = 10 });
out:
	epp_session_destroy(session);
	bench_file_close(&file);
}
