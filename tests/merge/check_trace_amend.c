/* Events that came after the end: each is in the trace once, with its host event and its time within the error that it
 * states, the accounts balance, the rest is unchanged, and what cannot be amended leaves the trace as it was.  Covers
 * the command. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/trace_writer.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"
#include "tests/support/recording.h"

#define MS 1000000ull
#define LAUNCHES 4u
#define LATE_AT (BUILDER_START + 2000 * MS)
#define NAME "gemm \"late\""

static uint64_t launches[LAUNCHES]; /* their ids */

static void name_file(struct epp_builder *b, char file)
{
	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
}

static uint32_t device_of(struct epp_builder *b, int32_t producer, uint32_t kind)
{
	return builder_track(b,
	                     &(struct epf_track){ .kind = EPF_TRACK_DEVICE,
	                                          .clock_kind = kind,
	                                          .clock = kind == EPF_TRACK_CLOCK_HOST ? 0 : 5,
	                                          .ticks_per_second = 1000000000,
	                                          .stream = 3,
	                                          .producer = producer },
	                     "stream 3", "Accelerator");
}

/* A run of 10 ms with four launches.  The device reported one event, and has not finished four. */
static struct epp_builder *made_run(const char *label)
{
	struct epp_builder *b = builder_create();
	epp_arg correlation = { .key = builder_name(b, "correlation"), .type = EPP_ARG_U64 };

	name_file(b, 'a');
	struct epf_producer *account = builder_producer(b, 0, label);
	account->emitted += 4;
	account->lost[EPP_LOSS_AFTER_END] += 4;
	uint32_t thread = builder_thread(b, "main", 11), stream = device_of(b, 0, EPF_TRACK_CLOCK_DEVICE);
	for (unsigned i = 0; i < LAUNCHES; i++) {
		correlation.value.u64 = 100 + i;
		launches[i] = builder_event(b, thread, BUILDER_START + (1 + i) * MS, MS / 2, EPP_API,
		                            builder_name(b, "launch"), &correlation, 1);
	}
	builder_complete(b, stream, MS + 500, 100, EPP_KERNEL, builder_name(b, "in time"), launches[0], NULL, 0);
	builder_device_pair(b, stream, 0, BUILDER_START, 50);
	builder_device_pair(b, stream, 10 * MS, BUILDER_START + 10 * MS, 50);
	builder_host_pair(b, BUILDER_START + 5 * MS, 50, 0);
	return b;
}

static char *write_run(void)
{
	struct epp_builder *b = made_run("MyEP");
	char *path = check_path("run.epp");

	builder_run_end(b, BUILDER_START + 10 * MS);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

static uint64_t put_late(struct epp_builder *b, uint32_t stream, unsigned number, const char *key, uint64_t value,
                         uint64_t parent)
{
	epp_arg arg = { .type = EPP_ARG_U64, .value.u64 = value };

	if (key)
		arg.key = builder_name(b, key);
	return builder_complete(b, stream, LATE_AT + number * MS, 1000 + number, EPP_KERNEL, builder_name(b, NAME),
	                        parent, &arg, key != NULL);
}

/* Five events of the device, each with another way to name its launch; the last one with none. */
static struct epp_builder *made_late(const char *label, uint32_t kind)
{
	struct epp_builder *b = builder_create();

	name_file(b, 'b');
	builder_producer(b, 0, label);
	builder_name(b, "another number for each name");
	uint32_t stream = device_of(b, 0, kind);
	put_late(b, stream, 0, NULL, 0, launches[0]);
	put_late(b, stream, 1, "token", launches[1], 0);
	put_late(b, stream, 2, "correlation", 102, 0);
	put_late(b, stream, 3, "correlation_id", 103, 0);
	put_late(b, stream, 4, "size", 77, 0);
	return b;
}

static char *write_late(struct epp_builder *b)
{
	char *path = check_path("late.epp");

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

static epp_status *try_amend(const char *from, const char *late, const char *to, const char *profiler,
                             epp_amend_counts *counts)
{
	const epp_amend_options options = { .struct_size = sizeof options, .profiler = profiler, .overwrite = 1 };
	epp_trace *trace, *other;

	merging_receipt[0] = 0;
	*counts = (epp_amend_counts){ .struct_size = sizeof *counts };
	check_ok(epp_trace_open(from, &trace));
	check_ok(epp_trace_open(late, &other));
	epp_status *status = epp_trace_amend(trace, &other, 1, to, &options, merging_keep, NULL, counts);
	epp_trace_close(other);
	epp_trace_close(trace);
	return status;
}

static epp_trace *amended(const char *from, const char *late, const char *profiler, epp_amend_counts *counts)
{
	char *to = check_path("amended.epp");

	check_ok(try_amend(from, late, to, profiler, counts));
	return open_valid(to);
}

static epp_trace_ledger_entry account_of(epp_trace *trace, const char *label)
{
	epp_trace_ledger_entry entry = { .struct_size = sizeof entry };

	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &entry));
		check_balance(&entry);
		if (entry.is_plugin && strcmp(entry.producer, label) == 0)
			return entry;
	}
	ck_abort_msg("no account %s", label);
	return entry;
}

static size_t events_named(const struct merged_events *events, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < events->count; i++)
		count += strcmp(events->list[i].event.name, name) == 0;
	return count;
}

/* The event with a number, which is in its duration. */
static const struct merged_event *late_event(const struct merged_events *events, unsigned number)
{
	for (size_t i = 0; i < events->count; i++)
		if (strcmp(events->list[i].event.name, NAME) == 0 && events->list[i].event.duration_ns == 1000 + number)
			return &events->list[i];
	ck_abort_msg("no late event %u", number);
	return NULL;
}

START_TEST(late_events_are_joined_and_counted)
{
	static const char *const args[] = { "", "token", "correlation=102 ", "correlation_id=103 ", "size=77 " };
	char *run = write_run();
	struct epp_builder *b = made_late("MyEP", EPF_TRACK_CLOCK_HOST);
	epp_amend_counts counts;

	/* Another process with the same counter, which was read when the events came: their times are better known. */
	if (_i)
		builder_host_pair(b, LATE_AT + 5 * MS, 50, 0);
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	struct merged_events events = merged_events(trace);

	ck_assert_uint_eq(counts.added, 5);
	ck_assert_uint_eq(counts.joined, 4);
	ck_assert_uint_eq(counts.recovered, 4);
	ck_assert_uint_eq(counts.durations + counts.ambiguous + counts.known + counts.left_out, 0);
	ck_assert_ptr_nonnull(strstr(merging_receipt, "late.epp: by the monotonic clock of the same machine\n"));
	for (unsigned i = 0; i < 5; i++) {
		const struct merged_event *found = late_event(&events, i);
		const epp_event *event = &found->event;
		int64_t true_ns = (int64_t)(LATE_AT - BUILDER_START + i * MS);
		ck_assert_uint_eq(event->parent, i < LAUNCHES ? launches[i] : 0);
		ck_assert(strncmp(found->args, args[i], strlen(args[i])) == 0);
		ck_assert_int_le(llabs(event->start_ns - true_ns), event->start_error_ns);
		ck_assert_int_gt(event->start_error_ns, 0);
		ck_assert_int_lt(event->start_error_ns, _i ? 10000 : 2 * (int64_t)MS);
		ck_assert_int_gt(event->start_error_ns, _i ? 0 : 10000);
		ck_assert_str_eq(event->track->name, "stream 3");
		ck_assert_int_eq(event->track->stream, 3);
		ck_assert_str_eq(epp_trace_track_plugin(trace, event->track), "MyEP");
	}
	/* Four of the five were missing, and one more came. */
	epp_trace_ledger_entry account = account_of(trace, "MyEP");
	ck_assert_uint_eq(account.emitted, 6);
	ck_assert_uint_eq(account.written, 6);
	ck_assert_uint_eq(account.lost[EPP_LOSS_AFTER_END], 0);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

START_TEST(the_rest_is_unchanged)
{
	char *run = write_run(), *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	epp_amend_counts counts;
	epp_trace *trace = amended(run, late, NULL, &counts), *before = open_valid(run);
	struct merged_events was = merged_events(before), is = merged_events(trace);

	ck_assert_uint_eq(is.count, was.count + 5);
	for (size_t i = 0; i < was.count; i++) {
		const epp_event *a = &was.list[i].event, *b = &is.list[i].event;
		ck_assert(a->id == b->id && a->parent == b->parent && a->start_ns == b->start_ns);
		ck_assert(a->duration_ns == b->duration_ns && a->start_error_ns == b->start_error_ns);
		ck_assert(!strcmp(a->name, b->name) && !strcmp(was.list[i].args, is.list[i].args));
		/* Events that have become parents are marked. */
		ck_assert_uint_eq(a->flags | EPP_FLAG_REFERENCED, b->flags | EPP_FLAG_REFERENCED);
	}
	ck_assert_str_eq(epp_trace_get_info(trace)->file_id, epp_trace_get_info(before)->file_id);
	free(was.list);
	free(is.list);
	epp_trace_close(before);
	epp_trace_close(trace);
}
END_TEST

/* In place, and packed between; the late file may grow. */
START_TEST(events_are_added_once)
{
	char *run = write_run(), *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	epp_amend_counts counts;
	epp_trace *trace;

	check_ok(try_amend(run, late, run, NULL, &counts));
	ck_assert_uint_eq(counts.added, 5);
	check_ok(epp_trace_open(run, &trace));
	check_ok(epp_trace_pack(trace, run, 1));
	epp_trace_close(trace);
	struct epp_builder *b = made_late("MyEP", EPF_TRACK_CLOCK_HOST);
	put_late(b, device_of(b, 0, EPF_TRACK_CLOCK_HOST), 5, NULL, 0, launches[3]);
	late = write_late(b);
	check_ok(try_amend(run, late, run, NULL, &counts));
	ck_assert_uint_eq(counts.known, 5);
	ck_assert_uint_eq(counts.added, 1);
	ck_assert_uint_eq(counts.recovered, 0);
	trace = open_valid(run);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(events_named(&events, NAME), 6);
	ck_assert_uint_eq(account_of(trace, "MyEP").written, 7);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

/* A device that counts cycles, and a clock that is unknown: only the durations are true, which is marked. */
START_TEST(durations_stay_marked)
{
	char *run = write_run();
	struct epp_builder *b = made_late("MyEP", _i ? EPF_TRACK_CLOCK_HOST : EPF_TRACK_CLOCK_DURATION);
	epp_amend_counts counts;

	if (_i) {
		memset(builder_header(b)->source.boot_id, 0, 16);
		memset(&builder_live(b)->run_start.realtime_ns, 0, 8);
	}
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(counts.durations, 5);
	ck_assert_uint_eq(counts.joined, 4);
	for (unsigned i = 0; i < LAUNCHES; i++) {
		const epp_event *event = &late_event(&events, i)->event;
		ck_assert_uint_eq(event->placement, EPP_PLACED_DURATION);
		ck_assert_uint_eq(event->parent, launches[i]);
		ck_assert_int_ge(event->start_ns, (int64_t)((1 + i) * MS));
		ck_assert_int_le(event->start_ns + event->duration_ns, (int64_t)((1 + i) * MS + MS / 2));
	}
	if (_i)
		ck_assert_ptr_nonnull(strstr(merging_receipt, "no common clock"));
	free(events.list);
	epp_trace_close(trace);
	/* They are recognized, too. */
	check_ok(try_amend(check_path("amended.epp"), check_path("late.epp"), check_path("again.epp"), NULL, &counts));
	ck_assert_uint_eq(counts.known, 5);
}
END_TEST

/* A device that counts cycles begins each event at 0: one that it reported in time is not the same as a late one. */
START_TEST(equal_durations_are_other_events)
{
	struct epp_builder *b = made_run("MyEP");
	epp_amend_counts counts;

	put_late(b, device_of(b, 0, EPF_TRACK_CLOCK_DURATION), 0, NULL, 0, launches[0]);
	builder_write(b, EPF_FINISHED, check_path("run.epp"));
	builder_destroy(b);
	char *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_DURATION));
	epp_trace_close(amended(check_path("run.epp"), late, NULL, &counts));
	ck_assert_uint_eq(counts.added, 5);
	ck_assert_uint_eq(counts.known, 0);
	/* Of another launch. */
	b = builder_create();
	name_file(b, 'c');
	put_late(b, device_of(b, -1, EPF_TRACK_CLOCK_DURATION), 0, NULL, 0, launches[1]);
	late = write_late(b);
	check_ok(try_amend(check_path("amended.epp"), late, check_path("again.epp"), NULL, &counts));
	ck_assert_uint_eq(counts.added, 1);
}
END_TEST

/* By wall-clock time of another boot: the change of the wall clock in the late trace is part of the error. */
START_TEST(wall_clocks_relate_boots)
{
	char *run = write_run();
	struct epp_builder *b = made_late("MyEP", EPF_TRACK_CLOCK_HOST);
	epp_amend_counts counts;

	memset(builder_header(b)->source.boot_id, 7, 16);
	builder_host_pair(b, BUILDER_START + 30 * MS, 50, (int64_t)MS);
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	struct merged_events events = merged_events(trace);
	const epp_event *event = &late_event(&events, 0)->event;
	ck_assert_ptr_nonnull(strstr(merging_receipt, "late.epp: by wall-clock time\n"));
	ck_assert_int_ge(event->start_error_ns, (int64_t)MS);
	ck_assert_int_le(llabs(event->start_ns - (int64_t)(LATE_AT - BUILDER_START)), event->start_error_ns);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

#define HOUR 3600000000000ll

/* Of one boot, but the difference between wall clock and monotonic clock has changed: the late trace is of a time
 * namespace, or the wall clock was set.  A counter that both traces read shows which. */
START_TEST(clocks_of_a_boot_that_differ)
{
	static const struct {
		int64_t monotonic_ns, realtime_ns; /* by how much the late trace's clocks differ */
		uint32_t clock;                    /* of the late trace; the other one reads the TSC */
		const char *receipt;
		int64_t error_ns; /* at least; at most 10 ms more; -1: the duration only */
	} cases[] = {
		{ HOUR, 0, EPF_CLOCK_TSC, "by wall-clock time\n", 0 },
		{ -HOUR, 0, EPF_CLOCK_TSC, "by wall-clock time\n", 0 },
		{ HOUR, HOUR / 3600, EPF_CLOCK_TSC, "by wall-clock time\n", HOUR / 3600 },
		{ 0, HOUR, EPF_CLOCK_TSC, "by the monotonic clock of the same machine\n", 0 },
		{ 0, HOUR / 360, EPF_CLOCK_MONOTONIC, "by wall-clock time\n", HOUR / 360 },
		{ HOUR / 360, 0, EPF_CLOCK_MONOTONIC, "by wall-clock time\n", HOUR / 360 },
		{ HOUR, 0, EPF_CLOCK_MONOTONIC, "no common clock: its events keep their duration only\n", -1 },
	};
	struct epp_builder *b = made_run("MyEP");
	char *run = check_path("run.epp");
	epp_amend_counts counts;

	builder_header(b)->source.clock = EPF_CLOCK_TSC;
	builder_run_end(b, BUILDER_START + 10 * MS);
	builder_write(b, EPF_FINISHED, run);
	builder_destroy(b);
	b = made_late("MyEP", EPF_TRACK_CLOCK_HOST);
	builder_header(b)->source.clock = cases[_i].clock;
	builder_set_clocks(b, cases[_i].monotonic_ns, cases[_i].realtime_ns);
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	ck_assert_msg(strstr(merging_receipt, cases[_i].receipt) != NULL, "%s", merging_receipt);
	struct merged_events events = merged_events(trace);
	const epp_event *event = &late_event(&events, 0)->event;
	int64_t off_ns = llabs(event->start_ns - (int64_t)(LATE_AT - BUILDER_START));
	ck_assert_int_eq(counts.durations > 0, cases[_i].error_ns == -1);
	if (cases[_i].error_ns >= 0) {
		ck_assert_int_le(off_ns, event->start_error_ns);
		ck_assert_int_ge(event->start_error_ns, cases[_i].error_ns);
		ck_assert_int_lt(event->start_error_ns, cases[_i].error_ns + 10 * (int64_t)MS);
	}
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

/* Of calls that enclose each other the innermost has launched the work; two others could both have. */
START_TEST(equal_numbers_are_joined_if_they_nest)
{
	struct epp_builder *b = made_run("MyEP");
	uint32_t thread = builder_thread(b, "other", 12);
	epp_arg number = { .key = builder_name(b, "correlation"), .type = EPP_ARG_I64, .value.i64 = 102 };
	epp_amend_counts counts;

	if (_i) {
		builder_event(b, thread, BUILDER_START + 8 * MS, 1000, EPP_API, builder_name(b, "reused"), &number, 1);
	} else {
		uint64_t outer = builder_begin(b, thread, BUILDER_START + 3 * MS + 100, EPP_API, builder_name(b, "outer"));
		launches[2] = builder_event(b, thread, BUILDER_START + 3 * MS + 200, 100, EPP_API,
		                            builder_name(b, "driver"), &number, 1);
		builder_end(b, thread, outer, BUILDER_START + 3 * MS + 1000, &number, 1);
	}
	builder_write(b, EPF_FINISHED, check_path("run.epp"));
	builder_destroy(b);
	char *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	epp_trace *trace = amended(check_path("run.epp"), late, NULL, &counts);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(counts.ambiguous, (unsigned)_i);
	ck_assert_uint_eq(late_event(&events, 2)->event.parent, _i ? 0 : launches[2]);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

/* Which account the events belong to. */
START_TEST(accounts_are_chosen)
{
	static const struct {
		const char *theirs, *other, *profiler, *expected;
		uint64_t recovered;
	} cases[] = {
		{ "MyEP", NULL, NULL, "MyEP", 4 },
		{ "a tool", NULL, NULL, "MyEP", 4 },    /* the only one that waits */
		{ "a tool", "Two", NULL, "a tool", 0 }, /* two wait */
		{ "Two", "Two", NULL, "Two", 5 },       /* by name */
		{ "a tool", "Two", "MyEP", "MyEP", 4 }, /* as the option says */
		{ "MyEP", "Two", "Two", "Two", 5 },
	};
	struct epp_builder *b = made_run("MyEP");
	epp_amend_counts counts;

	if (cases[_i].other) {
		struct epf_producer *other = builder_producer(b, 1, cases[_i].other);
		other->emitted = other->lost[EPP_LOSS_AFTER_END] = 7;
	}
	builder_write(b, EPF_FINISHED, check_path("run.epp"));
	builder_destroy(b);
	char *late = write_late(made_late(cases[_i].theirs, EPF_TRACK_CLOCK_HOST));
	epp_trace *trace = amended(check_path("run.epp"), late, cases[_i].profiler, &counts);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(counts.recovered, cases[_i].recovered);
	ck_assert_str_eq(epp_trace_track_plugin(trace, late_event(&events, 0)->event.track), cases[_i].expected);
	account_of(trace, cases[_i].expected);
	ck_assert_uint_eq(account_of(trace, "MyEP").lost[EPP_LOSS_AFTER_END],
	                  strcmp(cases[_i].expected, "MyEP") == 0 ? 0 : 4);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

/* The late trace of a program: its own host events are not added, and do not become parents by their ids. */
START_TEST(only_events_of_devices_are_added)
{
	char *run = write_run();
	struct epp_builder *b = made_late("MyEP", EPF_TRACK_CLOCK_HOST);
	uint32_t thread = builder_thread(b, "late host", 13);
	uint64_t own = builder_event(b, thread, LATE_AT, 100, EPP_API, builder_name(b, "launch"), NULL, 0);
	epp_amend_counts counts;

	ck_assert_uint_eq(own, launches[0]);
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(counts.left_out, 1);
	ck_assert_uint_eq(events_named(&events, "launch"), LAUNCHES);
	ck_assert_uint_eq(late_event(&events, 0)->event.parent, 0);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

/* Many events of two streams in turn: more than a block, and a switch before each.  Args of all types, and long ones. */
START_TEST(many_events_and_large_args)
{
	const unsigned count = 20000;
	char *run = write_run(), *text = malloc(40000);
	struct epp_builder *b = builder_create();
	epp_amend_counts counts;
	size_t found = 0;

	memset(text, '"', 40000);
	name_file(b, 'b');
	uint32_t streams[] = { builder_device(b, "stream 1", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST),
		               builder_device(b, "stream 2", "Accelerator", 0, 2, EPF_TRACK_CLOCK_HOST) };
	epp_arg args[] = { { .key = builder_name(b, "f"), .type = EPP_ARG_F64, .value.f64 = 0.5 },
		           { .key = builder_name(b, "i"), .type = EPP_ARG_I64, .value.i64 = -3 },
		           { .key = builder_name(b, "s"), .type = EPP_ARG_TEXT, .text_bytes = 32000, .value.text = text } };
	for (unsigned i = 0; i < count; i++)
		builder_complete(b, streams[i % 2], LATE_AT + i * 1000, 100, EPP_KERNEL, builder_name(b, NAME),
		                 launches[0], args, i % 1000 ? 2 : 3);
	epp_trace *trace = amended(run, write_late(b), NULL, &counts);
	ck_assert_uint_eq(counts.added, count);
	ck_assert_uint_eq(counts.joined, count);
	struct merged_events events = merged_events(trace);
	for (size_t i = 0; i < events.count; i++)
		found += !strcmp(events.list[i].event.name, NAME) && !strncmp(events.list[i].args, "f=", 2);
	ck_assert_uint_eq(found, count);
	free(text);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

START_TEST(a_full_disk_leaves_the_trace)
{
	char *run = write_run(), *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	struct rlimit whole, small;
	epp_amend_counts counts;
	size_t bytes, after;
	char *before = command_file(run, &bytes);

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
	for (rlim_t limit = 0; limit < 12000; limit += 3001) {
		small = whole;
		small.rlim_cur = limit;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
		epp_status *status = try_amend(run, late, run, NULL, &counts);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
		ck_assert_int_eq(epp_status_code(status), EPP_IO);
		epp_status_destroy(status);
		char *now = command_file(run, &after);
		ck_assert(after == bytes && memcmp(now, before, bytes) == 0);
		free(now);
	}
	free(before);
}
END_TEST

START_TEST(mistakes_are_told)
{
	char *run = write_run(), *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST)), *to = check_path("x.epp");
	const volatile int cancel = 1;
	const epp_amend_options cancelled = { .struct_size = sizeof cancelled, .cancel = &cancel };
	epp_amend_counts counts;
	epp_trace *trace, *other;
	struct stat st;

	check_ok(epp_trace_open(run, &trace));
	check_ok(epp_trace_open(late, &other));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_amend(trace, NULL, 0, to, NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_amend(trace, &trace, 1, to, NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_trace_amend(trace, &other, 1, to, &(epp_amend_options){ 0 }, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_trace_amend(trace, &other, 1, to, NULL, NULL, NULL, &(epp_amend_counts){ 0 }));
	check_fails(EPP_CANCELLED, epp_trace_amend(trace, &other, 1, to, &cancelled, NULL, NULL, NULL));
	check_fails(EPP_EXISTS, epp_trace_amend(trace, &other, 1, run, NULL, NULL, NULL, NULL));
	check_fails(EPP_NOT_FOUND, try_amend(run, late, to, "Nobody", &counts));
	ck_assert_int_ne(stat(to, &st), 0);
	epp_trace_close(trace);

	struct epp_builder *b = made_run("MyEP");
	builder_write(b, EPF_RECORDING, run);
	builder_destroy(b);
	check_fails(EPP_WRONG_STATE, try_amend(run, late, to, NULL, &counts));
	epp_session *session = recording_start(check_path("live.epp"));
	check_fails(EPP_BUSY, try_amend(check_path("live.epp"), late, to, NULL, &counts));
	recording_end(session);
	epp_session_destroy(session);
	run = write_run();
	check_ok(merging_try(check_path("m.epp"), NULL, NULL, (const char *const[]){ run, late }, 2));
	check_fails(EPP_INCOMPATIBLE, try_amend(check_path("m.epp"), late, to, NULL, &counts));
	check_fails(EPP_INCOMPATIBLE, try_amend(run, check_path("m.epp"), to, NULL, &counts));
	ck_assert_int_ne(stat(to, &st), 0);
	epp_trace_close(other);
}
END_TEST

/* A trace without events, and a late trace without any. */
/* Of a damaged trace. */
START_TEST(there_may_be_no_number_for_a_track)
{
	const struct epf_track last = { .track = UINT32_MAX, .kind = EPF_TRACK_CUSTOM, .device = -1, .producer = -1 };
	struct epp_builder *b = made_run("MyEP");
	char *path = check_path("last.epp"), *output = check_path("never.epp");
	epp_amend_counts counts;

	builder_define(b, EPF_DEFINE_TRACK, &last, sizeof last);
	builder_run_end(b, BUILDER_START + 10 * MS);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	char *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	check_fails(EPP_LIMIT, try_amend(path, late, output, NULL, &counts));
	ck_assert_int_ne(access(output, F_OK), 0);
}
END_TEST

START_TEST(empty_traces)
{
	struct epp_builder *b = builder_create();
	epp_amend_counts counts;

	name_file(b, 'a');
	builder_write(b, EPF_FINISHED, check_path("run.epp"));
	name_file(b, 'b');
	builder_write(b, EPF_FINISHED, check_path("none.epp"));
	builder_destroy(b);
	epp_trace_close(amended(check_path("run.epp"), check_path("none.epp"), NULL, &counts));
	ck_assert_uint_eq(counts.added, 0);
	launches[0] = 12345;
	char *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST));
	epp_trace *trace = amended(check_path("run.epp"), late, NULL, &counts);
	ck_assert_uint_eq(counts.added, 5);
	ck_assert_uint_eq(counts.joined, 0);
	ck_assert_uint_eq(account_of(trace, "MyEP").written, 5);
	epp_trace_close(trace);
	/* A session that was never started. */
	char *never = check_path("never.epp");
	epp_session *session;
	check_ok(epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options), .path = never },
	                            &session));
	epp_session_destroy(session);
	check_fails(EPP_INVALID_ARGUMENT, try_amend(never, late, check_path("x.epp"), NULL, &counts));
}
END_TEST

/* ---- the command ---- */

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(the_command)
{
	char *run = write_run(), *late = write_late(made_late("MyEP", EPF_TRACK_CLOCK_HOST)), *to = check_path("to.epp");
	struct command done = command_run(NULL, "amend", "-o", to, run, late, NULL);

	ck_assert_msg(done.code == 0, "%s", done.err);
	ck_assert_msg(strstr(done.err, "5 events added, 4 joined to host events; 4 no longer lost after the end\n") != NULL,
	              "%s", done.err);
	command_free(&done);
	done = command_run(NULL, "validate", to, NULL);
	ck_assert_msg(done.code == 0, "%s", done.out);
	command_free(&done);
	done = command_run(NULL, "amend", "-o", to, run, late, NULL);
	ck_assert_int_eq(done.code, 1);
	ck_assert_ptr_nonnull(strstr(done.err, "--force"));
	command_free(&done);
	done = command_run(NULL, "amend", "--force", "-o", run, run, late, NULL);
	ck_assert_int_eq(done.code, 2);
	ck_assert_ptr_nonnull(strstr(done.err, "--in-place replaces it"));
	command_free(&done);
	done = command_run(NULL, "amend", "--force", "-o", late, run, late, NULL);
	ck_assert_int_eq(done.code, 2);
	command_free(&done);
	done = command_run(NULL, "amend", run, late, NULL);
	ck_assert_int_eq(done.code, 2);
	command_free(&done);
	done = command_run(NULL, "amend", "--in-place", "-o", to, run, late, NULL);
	ck_assert_int_eq(done.code, 2);
	ck_assert_msg(strstr(done.err, "-o and --in-place exclude each other"), "%s", done.err);
	command_free(&done);
	done = command_run(NULL, "amend", "--in-place", run, NULL);
	ck_assert_int_eq(done.code, 2);
	ck_assert_ptr_nonnull(strstr(done.err, "which late files?"));
	command_free(&done);
	done = command_run(NULL, "amend", "--in-place", to, late, NULL);
	ck_assert_int_eq(done.code, 0);
	ck_assert_msg(strstr(done.err, "5 events left out, which the trace has already\n") != NULL, "%s", done.err);
	command_free(&done);
	struct epp_builder *b = made_run("MyEP");
	builder_write(b, EPF_RECORDING, run);
	builder_destroy(b);
	done = command_run(NULL, "amend", "--in-place", run, late, NULL);
	ck_assert_int_eq(done.code, 1);
	ck_assert_msg(strstr(done.err, "epprof recover") != NULL, "%s", done.err);
	command_free(&done);
}
END_TEST

/* A profile of the device's own tool, which has the number of each launch. */
START_TEST(profiles_of_other_tools)
{
	char *run = write_run(), *profile = check_path("late.json"), *to = check_path("profile.epp"), text[1024];

	setenv("TMPDIR", check_path("."), 1);
	snprintf(text, sizeof text,
	         "{\"traceEvents\": [\n"
	         "{\"ph\": \"X\", \"pid\": 7, \"tid\": 1, \"ts\": 10, \"dur\": 5, \"name\": \"%s\", \"cat\": \"kernel\","
	         " \"args\": {\"device\": 0, \"stream\": 4, \"correlation\": 102}},\n"
	         "{\"ph\": \"X\", \"pid\": 7, \"tid\": 1, \"ts\": 20, \"dur\": 5, \"name\": \"k\", \"cat\": \"kernel\","
	         " \"args\": {\"device\": 0, \"stream\": 4, \"token\": %llu}}\n]}\n",
	         "a \\\"quoted\\\" name", (unsigned long long)launches[1]);
	write_text(profile, text);
	struct command done = command_run(NULL, "amend", "-o", to, run, profile, NULL);
	ck_assert_msg(done.code == 0, "%s", done.err);
	ck_assert_msg(strstr(done.err, "2 events added, 2 joined to host events; 2 no longer lost after the end\n") != NULL,
	              "%s", done.err);
	command_free(&done);
	epp_trace *trace = open_valid(to);
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(merged_find(&events, 0, "a \"quoted\" name")->parent, launches[2]);
	ck_assert_uint_eq(merged_find(&events, 0, "k")->parent, launches[1]);
	free(events.list);
	epp_trace_close(trace);
	write_text(profile, "{\"traceEvents\": [");
	done = command_run(NULL, "amend", "--force", "-o", to, run, profile, NULL);
	ck_assert_int_eq(done.code, 5);
	command_free(&done);
	done = command_run(NULL, "amend", "--force", "-o", to, run, check_path("missing"), NULL);
	ck_assert_int_ne(done.code, 0);
	command_free(&done);
	done = command_run(NULL, "validate", to, NULL);
	ck_assert_int_eq(done.code, 0);
	command_free(&done);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_amend");
	TCase *tc = tcase_create("trace_amend");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, late_events_are_joined_and_counted, 0, 2);
	tcase_add_test(tc, the_rest_is_unchanged);
	tcase_add_test(tc, events_are_added_once);
	tcase_add_loop_test(tc, durations_stay_marked, 0, 2);
	tcase_add_test(tc, equal_durations_are_other_events);
	tcase_add_test(tc, wall_clocks_relate_boots);
	tcase_add_loop_test(tc, clocks_of_a_boot_that_differ, 0, 7);
	tcase_add_loop_test(tc, equal_numbers_are_joined_if_they_nest, 0, 2);
	tcase_add_loop_test(tc, accounts_are_chosen, 0, 6);
	tcase_add_test(tc, only_events_of_devices_are_added);
	tcase_add_test(tc, many_events_and_large_args);
	tcase_add_test(tc, a_full_disk_leaves_the_trace);
	tcase_add_test(tc, mistakes_are_told);
	tcase_add_test(tc, there_may_be_no_number_for_a_track);
	tcase_add_test(tc, empty_traces);
	tcase_add_test(tc, the_command);
	tcase_add_test(tc, profiles_of_other_tools);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
