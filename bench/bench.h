/* Shared by the files of the bench: cases, the lines that they report, and the measurement of a loop against the limit.
 *
 * A case is a function and a row of the table in bench.c.  It reports one line for each figure.  A line is marked SHORT
 * if its value is outside its bound, if events were lost, or if it could not be measured.
 *
 * The limit is the loop that any recorder needs at least: two readings of the clock and one store of 32 bytes.  The
 * speed of a shared machine varies, so limit and case are measured in turn and their medians are compared. */
#ifndef EPPROF_BENCH_BENCH_H
#define EPPROF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/profiler.h"
#include "epprof/session.h"
#include "epprof/status.h"

struct bench {
	unsigned repetitions; /* of a case, not including one to warm up */
	unsigned divisor;     /* all counts are divided by this: 1, or more for a quick run */
	bool json;
	const char *case_name; /* the case that is running */
	bool case_begins;      /* the case has not reported a line yet */
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
	const char *figure; /* the name of the figure within the case; NULL: the name of the case */
	const char *unit;
	double value; /* the median */
	double best;
	double limit; /* the median of the limit in the same run; 0: the line is not compared with it */
	enum bench_bound kind;
	double bound;
	uint64_t count;       /* events of one repetition; 0: does not apply */
	unsigned repetitions; /* 0: does not apply */
	uint64_t lost_count;
	const char *lost_of; /* the noun for what lost_count counts; NULL: events */
};

void bench_report(struct bench *bench, const struct bench_line *line);

/* Prints additional information about a case, which has no bound. */
void bench_note(struct bench *bench, const char *format, ...) EPP_FORMAT(2, 3);

/* Reports that the case does not apply on this machine; it does not count as SHORT. */
void bench_skip(struct bench *bench, const char *why);

/* Reports that the case could not be measured, which counts as SHORT.  Releases the status, which may be NULL. */
void bench_fail(struct bench *bench, const char *step, epp_status *status);

void bench_report_begin(const struct bench *bench);
void bench_report_end(const struct bench *bench);

/* ---- measuring ---- */

/* Units: nanoseconds. */
uint64_t bench_wall_ns(void);
uint64_t bench_thread_ns(void); /* CPU time of the calling thread */

/* bench_median sorts the samples. */
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

/* The loop of the limit. */
void bench_limit(void *unused, uint64_t count);

/* A loop to measure.  begin and finish may be NULL; they are called once, before and after all repetitions. */
struct bench_subject {
	bool (*begin)(void *user); /* returns false after it reported a failure */
	bench_loop loop; /* called several times: to warm up, for each repetition, and again after an interruption */
	uint64_t (*finish)(void *user); /* returns how many events were lost */
	void *user;
	bench_loop compared; /* measured instead of the limit, with `user`; NULL: bench_limit */
};

/* Measures limit and subject in turn: samples are wall time in ns for each of `count` rounds.  Returns false if begin
 * failed. */
bool bench_take_turns(const struct bench *bench, const struct bench_subject *subject, uint64_t count,
                      struct bench_samples *samples);

/* Fills in value, best, limit, repetitions and losses, and reports the line. */
void bench_report_samples(struct bench *bench, struct bench_samples *samples, const struct bench_line *line);

/* ---- sessions and files ---- */

/* Returns the sum of all losses of a session so far. */
uint64_t bench_lost(epp_session *session);

/* Starts a session in memory, with `profiler` attached if it is not NULL.  Returns NULL after it reported a failure. */
epp_session *bench_session(struct bench *bench, OrtEpProfilerImpl *profiler);

/* Creates a profiler of the kit for an epprof host. Its device clock is the system's clock. On failure, reports it and
 * returns NULL. */
OrtEpProfilerImpl *bench_kit_profiler(struct bench *bench);

/* A trace in a file without a name, which disappears with the process. */
struct bench_file {
	int fd;
	char path[40]; /* a path in /proc, to open it again */
};

/* Writes an unused path for a file to `path`: in TMPDIR, or else in the folder of this program; not in /tmp, which may
 * be in memory. */
#define BENCH_PATH_BYTES 4200
void bench_file_path(char *path, size_t bytes);

/* Creates an empty file without a name; the second function also starts a session that writes into it. */
epp_status *bench_file_open(struct bench_file *file) EPP_MUST_CHECK;
epp_status *bench_file_session(struct bench_file *file, bool lossless, epp_session **session) EPP_MUST_CHECK;
void bench_file_close(struct bench_file *file);

/* Resident memory of this process: resets the peak (false: the kernel cannot), returns the peak since then, returns the
 * present value. */
bool bench_memory_forget_peak(void);
uint64_t bench_memory_peak_bytes(void);
uint64_t bench_memory_bytes(void);

/* ---- the cases ---- */

void bench_begin_end(struct bench *bench);
void bench_two_integers(struct bench *bench);
void bench_one_string(struct bench *bench);
void bench_kit_attached(struct bench *bench);
void bench_filter(struct bench *bench);
void bench_budget(struct bench *bench);
void bench_idle_enabled(struct bench *bench);
void bench_idle_call(struct bench *bench);
void bench_short_session(struct bench *bench);
void bench_short_file_session(struct bench *bench);
void bench_sustained(struct bench *bench);
void bench_sustained_integers(struct bench *bench);
void bench_sustained_string(struct bench *bench);
void bench_sustained_nested(struct bench *bench);
void bench_two_threads(struct bench *bench);
void bench_lossless(struct bench *bench);
void bench_guest(struct bench *bench);
void bench_synced(struct bench *bench);
void bench_kit_emit(struct bench *bench);
void bench_helper(struct bench *bench);
void bench_timeline(struct bench *bench);
void bench_pack(struct bench *bench);
void bench_anonymize(struct bench *bench);
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

/* Records `count` events and does nothing else: `bench_instructions` runs this under valgrind.  Returns the exit
 * status. */
int bench_spin(uint64_t count);

#endif
