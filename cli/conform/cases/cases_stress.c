/* Level 5: leaks over restarts, what is left after an unload, exit and fork while recording, random calls. */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "direct.h"
#include "epprof/session.h"

/* ---- leaks ---- */

/* Records many runs, with work if --work names a function for it.  `count` returns a number that must not grow, for
 * example of threads.  Returns by how much it has grown over the runs after the first four. */
static int64_t growth_over_runs(const struct conform *conform, int64_t (*count)(void), unsigned *runs_count)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work(conform, plugin), .work_count = 1, .threads_count = 1, .nodes_count = 1
	};
	int64_t before = 0;

	*runs_count = conform->is_quick ? 16 : 1000;
	for (unsigned i = 0; i < 4 + *runs_count; i++) {
		if (i == 4)
			before = count();
		conform_record(conform, session, &nodes);
	}
	return count() - before;
}

static int64_t allocated_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();
#else
	struct mallinfo info = mallinfo(); /* its members overflow at 2 GiB; a case uses less */
#endif

	return (int64_t)info.uordblks + (int64_t)info.hblkhd;
}

/* Allowed growth of memory for each run.  The session itself keeps some hundred bytes for each run. */
#define LEAK_BYTES 4096

void case_leak_memory(const struct conform *conform)
{
	unsigned runs_count;

	if (!allocated_bytes())
		conform_skip(conform, "malloc does not count what it has allocated");
	int64_t bytes = growth_over_runs(conform, allocated_bytes, &runs_count);
	if (bytes > (int64_t)runs_count * LEAK_BYTES)
		conform_fail(conform, "after %u runs, %" PRId64 " bytes more are allocated", runs_count, bytes);
}

static int64_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int64_t count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

static int64_t descriptors_count(void)
{
	return count_entries("/proc/self/fd");
}

static int64_t threads_count(void)
{
	return count_entries("/proc/self/task");
}

void case_leak_descriptors(const struct conform *conform)
{
	unsigned runs_count;
	int64_t growth = growth_over_runs(conform, descriptors_count, &runs_count);

	if (growth >= runs_count / 2)
		conform_fail(conform, "after %u runs, %" PRId64 " descriptors more are open", runs_count, growth);
}

void case_leak_threads(const struct conform *conform)
{
	unsigned runs_count;
	int64_t growth = growth_over_runs(conform, threads_count, &runs_count);

	if (growth >= runs_count / 2)
		conform_fail(conform, "after %u runs, %" PRId64 " threads more run", runs_count, growth);
}

/* Returns true if a library is in memory.  Some stay there after dlclose, for example because other libraries use
 * them. */
static bool is_mapped(const char *library)
{
	char *path = realpath(library, NULL), *line = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_found = false;
	size_t room = 0;

	while (maps && path && !is_found && getline(&line, &room, maps) > 0)
		is_found = strstr(line, path) != NULL;
	if (maps)
		fclose(maps);
	free(line);
	free(path);
	return is_found;
}

void case_unload_threads(const struct conform *conform)
{
	const epp_session_options options = { .struct_size = sizeof(options) };
	epp_session *session;

	/* This starts libepprof's own threads, which must not be counted as the plugin's. */
	conform_check(conform, "a session", epp_session_create(&options, &session));
	conform_check(conform, "a session", epp_session_start(session));
	int64_t before = threads_count();
	epp_session_destroy(session);
	conform_use_and_unload(conform);
	if (is_mapped(conform->library))
		return;
	/* The kernel removes a thread some time after it has ended. */
	for (int i = 0; i < 200 && threads_count() > before; i++)
		conform_sleep_us(10000);
	if (threads_count() > before)
		conform_fail(conform, "%" PRId64 " threads still run after the unload, in memory that is unmapped",
		             threads_count() - before);
}

/* ---- processes ---- */

static void wait_for_exit(const struct conform *conform, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		conform_fail(conform, "exit was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

void case_exit_recording(const struct conform *conform)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* This process must not send a verdict, because it would be taken for the verdict of the case. */
		struct conform mute = *conform;
		epp_plugin *plugin;
		mute.result_fd = STDERR_FILENO;
		epp_session *session = conform_session(&mute, conform_profiler(&mute, &plugin));
		epp_status_destroy(epp_session_start(session));
		exit(0);
	}
	if (pid < 0)
		conform_skip(conform, "no process");
	wait_for_exit(conform, pid);
}

void case_fork_child(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));

	conform_check(conform, "the start of the session", epp_session_start(session));
	pid_t pid = fork();
	if (pid == 0)
		exit(0);
	if (pid < 0)
		conform_skip(conform, "no process");
	wait_for_exit(conform, pid);
	conform_end(conform, session);
}

/* ---- random calls ---- */

void case_random_calls(const struct conform *conform)
{
	struct conform_random random = conform_random_begin(conform);
	struct direct direct = direct_open(conform);

	while (conform_random_continues(&random)) {
		uint64_t id = conform_random_next(&random) % 8 + 1;
		switch (conform_random_next(&random) % 4) {
		case 0:
			conform_ignore_ort(direct_start(&direct));
			break;
		case 1:
			conform_ignore_ort(direct_end(&direct));
			break;
		case 2:
			conform_ignore_ort(direct_start_event(&direct, id));
			break;
		default:
			conform_ignore_ort(direct_stop_event(&direct, id));
		}
	}
}
