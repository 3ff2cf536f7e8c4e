/* What the parts of the bench share: cases, the lines they report, and how a loop is measured against the limit.
 *
 * A case is a function and a row of the table in bench.c.  It reports one line for each figure; a line past its bound is
 * SHORT, and so is one whose events were lost or that could not be measured at all.
 *
 * The limit is what no recorder can be faster than: two readings of the clock and one store of 32 bytes, in a loop.
 * Machines are shared and their speed wanders, so limit and case take turns and their medians are compared.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/session.h"
#include "epprof/status.h"

struct bench {
	unsigned repetitions; /* of a case, after one to warm up */
	unsigned divisor;     /* what counts are divided by: 1, or more if it is to be quick */
	bool json;
	const char *case_name; /* the one that runs */
	bool case_begins;      /* it has no line yet */
	unsigned lines_count, short_count;
};

/* ---- lines ---- */

enum bench_bound {
	BENCH_NO_BOUND = 0,
	BENCH_TIMES_LIMIT, /* value <= bound x limit */
	BENCH_LIMIT_PLUS,  /* value <= limit + bound */
	BENCH_AT_MOST,
	BENCH_AT_LEAST,
};

struct bench_line {
	const char *figure; /* what of the case it is; NULL: the case itself */
	const char *unit;
	double value; /* the median */
	double best;
	double limit; /* the limit's median in the same run; 0: not compared with it */
	enum bench_bound kind;
	double bound;
	uint64_t count;       /* events of one repetition; 0: does not apply */
	unsigned repetitions; /* 0: does not apply */
	uint64_t lost_count;
	const char *lost_of; /* what is lost; NULL: events */
};

void bench_report(struct bench *bench, const struct bench_line *line);

/* What else there is to know of a case; not judged. */
void bench_note(struct bench *bench, const char *format, ...) EPP_FORMAT(2, 3);

/* The case does not apply here; not judged. */
void bench_skip(struct bench *bench, const char *why);

/* The case could not be measured, which counts as SHORT; a status is released. */
void bench_fail(struct bench *bench, const char *step, epp_status *status);

void bench_report_begin(const struct bench *bench);
void bench_report_end(const struct bench *bench);

/* ---- measuring ---- */

/* Units: nanoseconds. */
uint64_t bench_wall_ns(void);
uint64_t bench_thread_ns(void); /* CPU time of the calling thread */

/* Sorts the samples. */
double bench_median(double *samples, unsigned count);
double bench_least(const double *samples, unsigned count);

#define BENCH_REPETITIONS_MAX 32u

struct bench_samples {
	double subject[BENCH_REPETITIONS_MAX];
	double limit[BENCH_REPETITIONS_MAX];
	unsigned count;
	uint64_t lost_count;
};

typedef void (*bench_loop)(void *user, uint64_t count);

/* The limit's loop. */
void bench_limit(void *unused, uint64_t count);

/* What is measured: begin and finish are called around all repetitions and may be NULL. */
struct bench_subject {
	bool (*begin)(void *user);      /* false: it failed, and has reported so */
	bench_loop loop;                /* called several times: to warm up, and again if it was interrupted */
	uint64_t (*finish)(void *user); /* returns how many events were lost */
	void *user;
};

/* Limit and subject in turn, in wall time: ns for each of `count` rounds.  False: begin failed. */
bool bench_take_turns(const struct bench *bench, const struct bench_subject *subject, uint64_t count,
                      struct bench_samples *samples);

/* Fills in value, best, limit, repetitions and losses, and reports the line. */
void bench_report_samples(struct bench *bench, struct bench_samples *samples, const struct bench_line *line);

/* ---- sessions and files ---- */

/* Everything that is lost so far. */
uint64_t bench_lost(epp_session *session);

/* A session in memory, recording, with `profiler` attached if it is not NULL.  NULL: reported as failed. */
epp_session *bench_session(struct bench *bench, OrtEpProfilerImpl *profiler);

/* A profiler that the kit makes for a host of ours, its device's clock the system's.  NULL: reported as failed. */
OrtEpProfilerImpl *bench_kit_profiler(struct bench *bench);

/* A trace in a file without a name, so that nothing is left behind however the bench ends. */
struct bench_file {
	int fd;
	char path[40]; /* to open it again */
};

/* A path for a file that does not exist: in TMPDIR, or where this program is; not /tmp, which may be memory. */
#define BENCH_PATH_BYTES 4200
void bench_file_path(char *path, size_t bytes);

/* Creates such a file, empty, for reading and writing; or a session that writes into one. */
epp_status *bench_file_open(struct bench_file *file) EPP_MUST_CHECK;
epp_status *bench_file_session(struct bench_file *file, bool lossless, epp_session **session) EPP_MUST_CHECK;
void bench_file_close(struct bench_file *file);

/* Resident memory of this process: forgets the peak so far (false: the kernel does not); the peak since; what it is now. */
bool bench_memory_forget_peak(void);
uint64_t bench_memory_peak_bytes(void);
uint64_t bench_memory_bytes(void);

/* ---- the cases ---- */

void bench_begin_end(struct bench *bench);
void bench_two_integers(struct bench *bench);
void bench_one_string(struct bench *bench);
void bench_kit_attached(struct bench *bench);
void bench_idle_enabled(struct bench *bench);
void bench_idle_call(struct bench *bench);
void bench_short_session(struct bench *bench);
void bench_short_file_session(struct bench *bench);
void bench_sustained(struct bench *bench);
void bench_sustained_integers(struct bench *bench);
void bench_sustained_string(struct bench *bench);
void bench_two_threads(struct bench *bench);
void bench_lossless(struct bench *bench);
void bench_guest(struct bench *bench);
void bench_synced(struct bench *bench);
void bench_kit_emit(struct bench *bench);
void bench_helper(struct bench *bench);
void bench_timeline(struct bench *bench);
void bench_pack(struct bench *bench);
void bench_merge(struct bench *bench);
void bench_clocks(struct bench *bench);
void bench_import_chrome(struct bench *bench);
void bench_import_ort(struct bench *bench);
void bench_import_xspace(struct bench *bench);
void bench_chrome(struct bench *bench);
void bench_ort(struct bench *bench);
void bench_csv(struct bench *bench);
void bench_ndjson(struct bench *bench);
void bench_sqlite(struct bench *bench);
void bench_perfetto(struct bench *bench);
void bench_kineto(struct bench *bench);
void bench_xspace(struct bench *bench);
void bench_parquet(struct bench *bench);
void bench_html(struct bench *bench);
void bench_flame(struct bench *bench);
void bench_instructions(struct bench *bench);

/* What `bench_instructions` runs under valgrind: records so many events and nothing else.  Returns the exit status. */
int bench_spin(uint64_t count);

#endif
