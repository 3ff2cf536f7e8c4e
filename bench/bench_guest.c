/* Measures the effect of a long recording, inside a memory limit, on its process and machine: its memory, its part of
 * the page cache, and how often an event takes long while the disk is synced repeatedly. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "epprof/epprof.h"

#define MIB 1048576.0
#define EVENTS 500000000u
#define PARTS 50u

static epp_session *session_now;
static epp_name name_now;

static void begin_end(uint64_t count)
{
	epp_session *session = session_now;
	epp_name name = name_now;
	for (uint64_t i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
}

static epp_status *open_session(struct bench_file *file)
{
	name_now = epp_name_intern("MatMul");
	session_now = NULL;
	epp_status *status = bench_file_session(file, false, &session_now);
	return status ? status : epp_session_start(session_now);
}

static void close_session(struct bench_file *file)
{
	epp_session_destroy(session_now);
	session_now = NULL;
	bench_file_close(file);
}

/* ---- 500 M events ---- */

/* Returns how much of the file is in the page cache; negative: unknown. */
static double cached_mib(int fd)
{
	struct stat found;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), cached = 0;
	if (fstat(fd, &found))
		return -1;
	void *file = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, fd, 0);
	size_t pages = ((size_t)found.st_size + page - 1) / page;
	unsigned char *present = malloc(pages);
	bool known = file != MAP_FAILED && present && mincore(file, (size_t)found.st_size, present) == 0;
	for (size_t i = 0; i < pages && known; i++)
		cached += present[i] & 1;
	if (file != MAP_FAILED)
		munmap(file, (size_t)found.st_size);
	free(present);
	return known ? (double)(cached * page) / MIB : -1;
}

/* Limits the memory of the process from here on; the caller restores the previous limit. */
static bool limit_memory(struct rlimit *before, rlim_t more_bytes)
{
	unsigned long pages_unused, data_pages;
	FILE *file = fopen("/proc/self/statm", "r");
	bool known = file && fscanf(file, "%lu %lu %lu %lu %lu %lu", &pages_unused, &pages_unused, &pages_unused,
	                            &pages_unused, &pages_unused, &data_pages) == 6;
	if (file)
		fclose(file);
	rlim_t bytes = (rlim_t)data_pages * (rlim_t)sysconf(_SC_PAGESIZE) + more_bytes;
	return known && getrlimit(RLIMIT_DATA, before) == 0 &&
	       setrlimit(RLIMIT_DATA, &(struct rlimit){ bytes, before->rlim_max }) == 0;
}

static void report_mib(struct bench *bench, const char *figure, double value, double bound, uint64_t count)
{
	bench_report(bench, &(struct bench_line){ .figure = figure,
	                                          .unit = "MiB",
	                                          .value = value,
	                                          .best = value,
	                                          .kind = BENCH_AT_MOST,
	                                          .bound = bound,
	                                          .count = count });
}

void bench_guest(struct bench *bench)
{
	struct bench_file file = { .fd = -1 };
	struct rlimit before;
	uint64_t count = EVENTS / bench->divisor;
	double cached = 0;
	bool peak_known = bench_memory_forget_peak();
	uint64_t before_bytes = bench_memory_bytes();
	epp_status *status = open_session(&file);
	bool limited = !status && limit_memory(&before, 16 << 20);
	for (unsigned part = 0; part < PARTS && !status; part++) {
		begin_end(count / PARTS);
		double now = cached_mib(file.fd);
		cached = now > cached || now < 0 ? now : cached;
	}
	if (!status)
		status = epp_session_end(session_now);
	if (!status)
		status = epp_session_wait(session_now, UINT64_MAX);
	if (limited)
		setrlimit(RLIMIT_DATA, &before);
	if (status)
		bench_fail(bench, "recording inside a memory limit", status);
	else if (!limited)
		bench_skip(bench, "a memory limit cannot be set here");
	if (!status && limited) {
		if (cached < 0)
			bench_skip(bench, "the page cache: mincore gives no information");
		else
			report_mib(bench, "of the file in the page cache, at most", cached, 256, count);
		if (peak_known)
			report_mib(bench, "memory above the start",
			           (double)(bench_memory_peak_bytes() - before_bytes) / MIB, 64, count);
		else
			bench_skip(bench, "memory above the start: /proc/self/clear_refs cannot be written");
		bench_note(bench, "private memory is limited to 16 MiB more than there was; %llu events lost",
		           (unsigned long long)bench_lost(session_now));
	}
	close_session(&file);
}

/* ---- a disk that is synced ---- */

#define SYNC_NS 200000000
#define SLOW_NS 5000u
#define WATCHED 40000000u

static bool syncing;

static void *sync_again_and_again(void *user)
{
	const struct bench_file *file = user;
	while (__atomic_load_n(&syncing, __ATOMIC_ACQUIRE)) {
		nanosleep(&(struct timespec){ .tv_nsec = SYNC_NS }, NULL);
		syncfs(file->fd);
	}
	return NULL;
}

/* The number of events whose begin and end together took longer than SLOW_NS. */
static uint64_t count_slow(uint64_t count)
{
	uint64_t slow = 0, limit = epp_host_ticks_per_second() / (1000000000u / SLOW_NS), last = epp_host_ticks();
	for (uint64_t i = 0; i < count; i++) {
		epp_event_end(session_now, epp_event_begin(session_now, EPP_NODE, name_now), NULL, 0);
		uint64_t now = epp_host_ticks();
		slow += now - last > limit;
		last = now;
	}
	return slow;
}

void bench_synced(struct bench *bench)
{
	struct bench_file file = { .fd = -1 };
	pthread_t thread;
	uint64_t count = WATCHED / bench->divisor;
	epp_status *status = open_session(&file);
	syncing = true;
	bool made = !status && pthread_create(&thread, NULL, sync_again_and_again, &file) == 0;
	if (!status && !made)
		status = epp_status_create(EPP_OUT_OF_MEMORY, "pthread_create");
	uint64_t slow = status ? 0 : count_slow(count);
	__atomic_store_n(&syncing, false, __ATOMIC_RELEASE);
	if (made)
		pthread_join(thread, NULL);
	if (status) {
		bench_fail(bench, "recording beside syncfs", status);
	} else {
		double share = 1e3 * (double)slow / (double)count;
		bench_report(bench, &(struct bench_line){ .figure = "longer than 5 us, of 1,000",
		                                          .unit = "events",
		                                          .value = share,
		                                          .best = share,
		                                          .kind = BENCH_AT_MOST,
		                                          .bound = 1,
		                                          .count = count });
		bench_note(bench, "interruptions by others, and the reading of the clock, count too; %llu events lost",
		           (unsigned long long)bench_lost(session_now));
	}
	close_session(&file);
}
