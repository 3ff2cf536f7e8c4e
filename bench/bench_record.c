/* Measures the cost of recording: one thread that begins and ends events, in memory.  Each case is a loop of begin and
 * end; if events are lost the figure is void, because a loss costs less than an event. */
#include <unistd.h>

#include "bench.h"

/* A loop takes less than a time slice, so that it is rarely preempted on a busy machine. */
#define COUNT 40000u

struct subject {
	struct bench *bench;
	bool with_kit;
	epp_session *session;
	epp_name name;
	const epp_arg *args;
	size_t args_count;
};

static void begin_end(void *user, uint64_t count)
{
	const struct subject *subject = user;
	epp_session *session = subject->session;
	epp_name name = subject->name;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_event_end(session, id, NULL, 0);
	}
}

static void begin_end_args(void *user, uint64_t count)
{
	const struct subject *subject = user;
	epp_session *session = subject->session;
	epp_name name = subject->name;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_event_end(session, id, subject->args, subject->args_count);
	}
}

static bool begin(void *user)
{
	struct subject *subject = user;
	OrtEpProfilerImpl *profiler = NULL;
	if (subject->with_kit && !(profiler = bench_kit_profiler(subject->bench)))
		return false;
	subject->session = bench_session(subject->bench, profiler);
	return subject->session != NULL;
}

static uint64_t finish(void *user)
{
	struct subject *subject = user;
	uint64_t lost = bench_lost(subject->session);
	epp_session_destroy(subject->session);
	return lost;
}

static void measure(struct bench *bench, struct subject subject, enum bench_bound kind, double bound)
{
	struct bench_samples samples;
	const struct bench_line line = { .unit = "ns", .kind = kind, .bound = bound, .count = COUNT };
	subject.bench = bench;
	subject.name = epp_name_intern("MatMul");
	const struct bench_subject cycle = { begin, subject.args ? begin_end_args : begin_end, finish, &subject, NULL };
	if (bench_take_turns(bench, &cycle, line.count, &samples))
		bench_report_samples(bench, &samples, &line);
}

void bench_begin_end(struct bench *bench)
{
	measure(bench, (struct subject){ .with_kit = false }, BENCH_TIMES_LIMIT, 1.2);
}

void bench_two_integers(struct bench *bench)
{
	const epp_arg args[] = {
		{ .key = epp_name_intern("rows"), .type = EPP_ARG_I64, .value.i64 = 64 },
		{ .key = epp_name_intern("columns"), .type = EPP_ARG_I64, .value.i64 = 10 },
	};
	measure(bench, (struct subject){ .args = args, .args_count = 2 }, BENCH_LIMIT_PLUS, 12);
}

void bench_one_string(struct bench *bench)
{
	const epp_arg arg = {
		.key = epp_name_intern("shape"),
		.type = EPP_ARG_TEXT,
		.value.text = "float[1,64,56,9]",
		.text_bytes = 16,
	};
	measure(bench, (struct subject){ .args = &arg, .args_count = 1 }, BENCH_LIMIT_PLUS, 20);
}

void bench_kit_attached(struct bench *bench)
{
	measure(bench, (struct subject){ .with_kit = true }, BENCH_LIMIT_PLUS, 20);
}

/* ---- a filter ---- */

/* The first session has a filter, the second has none. */
struct filter_subject {
	struct subject filtered, plain;
};

static void filtered_loop(void *user, uint64_t count)
{
	begin_end(&((struct filter_subject *)user)->filtered, count);
}

static void plain_loop(void *user, uint64_t count)
{
	begin_end(&((struct filter_subject *)user)->plain, count);
}

static bool begin_filtered(void *user)
{
	struct filter_subject *subject = user;
	epp_session_options options = { .struct_size = sizeof(options), .memory_bytes = 1u << 30, .exclude = "left out*" };
	subject->plain.session = bench_session(subject->plain.bench, NULL);
	if (!subject->plain.session)
		return false;
	epp_status *status = epp_session_create(&options, &subject->filtered.session);
	if (!status)
		status = epp_session_start(subject->filtered.session);
	if (!status)
		return true;
	bench_fail(subject->plain.bench, "making a session", status);
	epp_session_destroy(subject->filtered.session);
	epp_session_destroy(subject->plain.session);
	return false;
}

static uint64_t finish_filtered(void *user)
{
	struct filter_subject *subject = user;
	uint64_t lost = finish(&subject->plain) - epp_session_lost(subject->filtered.session, EPP_LOSS_FILTER);
	return lost + finish(&subject->filtered);
}

static void measure_filtered(struct bench *bench, const char *name, const struct bench_line *line)
{
	struct filter_subject subject = {
		.plain = { .bench = bench, .name = epp_name_intern(name) },
		.filtered = { .bench = bench, .name = epp_name_intern(name) },
	};
	const struct bench_subject cycle = { begin_filtered, filtered_loop, finish_filtered, &subject, plain_loop };
	struct bench_samples samples;
	if (bench_take_turns(bench, &cycle, line->count, &samples))
		bench_report_samples(bench, &samples, line);
}

/* The limit is a pair in a session without a filter. */
void bench_filter(struct bench *bench)
{
	struct bench_line line = { .figure = "recorded", .unit = "ns", .kind = BENCH_LIMIT_PLUS, .bound = 2, .count = COUNT };
	measure_filtered(bench, "MatMul", &line);
	line.figure = "left out";
	line.bound = 0;
	measure_filtered(bench, "left out", &line);
}

/* ---- nothing records ---- */

static void idle_enabled(void *user, uint64_t count)
{
	const struct subject *subject = user;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = 0;
		if (EPPROF_ENABLED())
			id = epp_event_begin(NULL, EPP_NODE, subject->name);
		__asm__ volatile("" : "+r"(id));
		if (id)
			epp_event_end(NULL, id, NULL, 0);
	}
}

static void idle_call(void *user, uint64_t count)
{
	const struct subject *subject = user;
	for (uint64_t i = 0; i < count; i++)
		epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, subject->name), NULL, 0);
}

static void measure_idle(struct bench *bench, bench_loop loop, double calls, double bound)
{
	struct subject subject = { .name = epp_name_intern("MatMul") };
	struct bench_samples samples;
	const struct bench_line line = { .unit = "ns", .kind = BENCH_AT_MOST, .bound = bound, .count = 10 * COUNT };
	if (EPPROF_ENABLED()) {
		bench_skip(bench, "EPPROF_OUTPUT is set: something records");
		return;
	}
	bench_take_turns(bench, &(struct bench_subject){ .loop = loop, .user = &subject }, line.count, &samples);
	for (unsigned i = 0; i < samples.count; i++)
		samples.subject[i] /= calls;
	bench_report_samples(bench, &samples, &line);
}

void bench_idle_enabled(struct bench *bench)
{
	measure_idle(bench, idle_enabled, 1, 1);
}

/* The call of an empty function in a shared library takes most of this time. */
void bench_idle_call(struct bench *bench)
{
	measure_idle(bench, idle_call, 2, 3);
}

/* ---- a session's life ---- */

static void short_sessions(void *user, uint64_t count)
{
	epp_status **status = user;
	for (uint64_t i = 0; i < count && !*status; i++) {
		epp_session *session;
		*status = epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options) },
		                             &session);
		if (!*status)
			*status = epp_session_start(session);
		if (!*status)
			*status = epp_session_end(session);
		epp_session_destroy(session);
	}
}

void bench_short_session(struct bench *bench)
{
	struct bench_samples samples;
	const struct bench_line line = { .unit = "us", .kind = BENCH_AT_MOST, .bound = 10, .count = 300 };
	epp_status *status = NULL;
	bench_take_turns(bench, &(struct bench_subject){ .loop = short_sessions, .user = &status }, line.count, &samples);
	if (status) {
		bench_fail(bench, "a session", status);
		return;
	}
	for (unsigned i = 0; i < samples.count; i++)
		samples.subject[i] /= 1000;
	bench_report_samples(bench, &samples, &line);
}

/* The time of one event, without the run around the events. */
static epp_status *short_file_session(const char *path, double *create_release_ms)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path };
	epp_session *session;
	uint64_t begin_ns = bench_wall_ns();
	epp_status *status = epp_session_create(&options, &session);
	uint64_t created_ns = bench_wall_ns();
	if (!status)
		status = epp_session_start(session);
	if (!status) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("MatMul")), NULL, 0);
		status = epp_session_end(session);
	}
	if (!status)
		status = epp_session_wait(session, UINT64_MAX);
	uint64_t done_ns = bench_wall_ns();
	epp_session_destroy(session);
	*create_release_ms = (double)(bench_wall_ns() - done_ns + created_ns - begin_ns) / 1e6;
	unlink(path);
	return status;
}

void bench_short_file_session(struct bench *bench)
{
	struct bench_samples samples = { .count = 0 };
	epp_status *status = NULL;
	char path[BENCH_PATH_BYTES];
	bench_file_path(path, sizeof(path));
	while (samples.count < bench->repetitions && !status)
		status = short_file_session(path, &samples.subject[samples.count++]);
	if (status)
		bench_fail(bench, "a session on a file", status);
	else
		bench_report_samples(bench, &samples,
		                     &(struct bench_line){ .unit = "ms", .kind = BENCH_AT_MOST, .bound = 3 });
}
