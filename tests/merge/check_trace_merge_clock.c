/* One clock out of many: processes of one boot, machines whose times of day are known, machines with events in common,
 * and traces without any of these.  The true time of every event is known here, and its place must be within its error
 * bound of it.  Covers trace_merge_clock.c. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/session.h"
#include "epprof/trace_writer.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"
#include "tests/support/recording.h"

#define UNIX_NS 1700000000000000000ll
#define SECOND 1000000000ll

/* ---- two processes of this machine ---- */

#define TURNS 200

/* Records a short event, then passes the turn on.  The child goes second. */
static void take_turns(const char *path, const char *name, int from, int to, bool first)
{
	epp_session *session = recording_start(path);
	epp_name number = epp_name_intern(name);
	char token = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		if ((!first || turn) && read(from, &token, 1) != 1)
			_exit(2);
		epp_event_end(session, epp_event_begin(session, EPP_NODE, number), NULL, 0);
		if (write(to, &token, 1) != 1)
			_exit(3);
	}
	recording_end(session);
	epp_session_destroy(session);
}

START_TEST(what_happened_first_comes_first)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp");
	int there[2], back[2], status;

	ck_assert(pipe(there) == 0 && pipe(back) == 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		take_turns(b, "pong", there[0], back[1], false);
		_exit(0);
	}
	take_turns(a, "ping", back[0], there[1], true);
	ck_assert(waitpid(child, &status, 0) == child && status == 0);
	/* Given in either order. */
	for (int turned = 0; turned < 2; turned++) {
		epp_trace *merged = merging(check_path("m.epp"), NULL, turned ? b : a, turned ? a : b);
		struct merged_events events = merged_events(merged);
		epp_trace_source source = { .struct_size = sizeof(source) };
		ck_assert_uint_eq(events.count, 2 * TURNS);
		for (size_t i = 0; i < events.count; i++) {
			const epp_event *event = &events.list[i].event;
			ck_assert_str_eq(event->name, i % 2 ? "pong" : "ping");
			ck_assert_int_eq(event->start_error_ns, epp_trace_source_at(merged, event->track->source, &source)
			                                            ? source.clock_error_ns
			                                            : -1);
			const epp_event *before = i ? &events.list[i - 1].event : event;
			ck_assert_int_ge(event->start_ns, i ? before->start_ns + before->duration_ns : 0);
		}
		ck_assert(epp_trace_source_at(merged, 1, &source));
		epp_trace *single;
		check_ok(epp_trace_open(a, &single));
		if (!strcmp(epp_trace_get_info(single)->clock, "monotonic"))
			ck_assert_uint_eq(source.relation, EPP_RELATED_MONOTONIC);
		else
			ck_assert_uint_eq(source.relation, EPP_RELATED_COUNTER);
		epp_trace_close(single);
		free(events.list);
		epp_trace_close(merged);
	}
}
END_TEST

/* ---- simulated machines ---- */

/* What a machine's clocks show at a true time, ns since the experiment's beginning. */
struct machine {
	double drift;        /* of its counter and CLOCK_MONOTONIC */
	int64_t boot_ns;     /* CLOCK_MONOTONIC at true 0 */
	int64_t time_of_day; /* its error */
	int64_t set_ns;      /* by how much the time of day is set during the recording */
	uint64_t half_width_ns;
	bool knows_no_time;
};

static int64_t monotonic_at(const struct machine *machine, int64_t true_ns)
{
	return machine->boot_ns + true_ns + (int64_t)((double)true_ns * machine->drift);
}

static epp_trace_pair pair_at(const struct machine *machine, int64_t true_ns, int64_t set_ns)
{
	int64_t monotonic = monotonic_at(machine, true_ns);
	return (epp_trace_pair){ .ticks = (uint64_t)monotonic * 3,
		                 .half_width_ticks = machine->half_width_ns * 3,
		                 .monotonic_ns = monotonic,
		                 .realtime_ns = machine->knows_no_time ? true_ns
		                                                       : UNIX_NS + monotonic - machine->boot_ns +
		                                                             machine->time_of_day + set_ns };
}

struct recorded {
	epp_trace_writer *writer;
	const struct machine *machine;
	uint32_t track;
	uint64_t id;
	const char *path;
};

/* Three ticks a nanosecond. */
static struct recorded record(const struct machine *machine, const char *path)
{
	struct recorded recorded = { .machine = machine, .path = path };

	check_ok(epp_trace_writer_create(&(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options),
	                                                              .path = path,
	                                                              .overwrite = 1,
	                                                              .ticks_per_second = 3000000000 },
	                                 &recorded.writer));
	check_ok(epp_trace_writer_add_track(
	    recorded.writer,
	    &(epp_trace_track){ .kind = EPP_TRACK_THREAD, .thread_id = 1, .device = -1, .producer = -1, .name = "main" },
	    &recorded.track));
	return recorded;
}

/* The event's arg is its true start. */
static void happen(struct recorded *to, const char *name, int64_t start_ns, int64_t duration_ns)
{
	uint64_t start = (uint64_t)monotonic_at(to->machine, start_ns) * 3;
	epp_arg arg = { .key = epp_trace_writer_intern_name(to->writer, "true", 4), .type = EPP_ARG_I64 };

	arg.value.i64 = start_ns;
	check_ok(epp_trace_writer_add_record(
	    to->writer,
	    &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
	                         .track = to->track,
	                         .id = ++to->id,
	                         .name = epp_trace_writer_intern_name(to->writer, name, strlen(name)),
	                         .category = EPP_NODE,
	                         .start_ticks = start,
	                         .duration_ticks = (uint64_t)monotonic_at(to->machine, start_ns + duration_ns) * 3 - start,
	                         .args = &arg,
	                         .args_count = 1 }));
}

static void finish(struct recorded *recorded, int64_t start_ns, int64_t end_ns)
{
	epp_trace_pair start = pair_at(recorded->machine, start_ns, 0);
	epp_trace_pair end = pair_at(recorded->machine, end_ns, recorded->machine->set_ns);

	check_ok(epp_trace_writer_finish(recorded->writer, &start, &end));
	epp_trace_writer_destroy(recorded->writer);
}

/* How far the worst event of a source lies from where it belongs, and whether all errors say so.  The reference's true
 * time is that of the merged trace; the bound leaves out `unknown_ns`. */
static int64_t worst_of(epp_trace *merged, uint32_t of, const struct machine *reference, int64_t unknown_ns)
{
	struct merged_events events = merged_events(merged);
	int64_t worst_ns = 0, zero_ns = 0;
	size_t seen = 0;

	for (size_t i = 0; i < events.count; i++)
		if (!events.list[i].event.track->source) {
			int64_t true_ns = atoll(events.list[i].args + 5);
			zero_ns = events.list[i].event.start_ns -
			          (monotonic_at(reference, true_ns) - monotonic_at(reference, 0));
			break;
		}
	for (size_t i = 0; i < events.count; i++) {
		const epp_event *event = &events.list[i].event;
		if (event->track->source != of)
			continue;
		seen++;
		int64_t true_ns = monotonic_at(reference, atoll(events.list[i].args + 5)) - monotonic_at(reference, 0);
		int64_t off_ns = llabs(event->start_ns - zero_ns - true_ns);
		worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
		if (off_ns > event->start_error_ns + unknown_ns)
			ck_abort_msg("%s at %" PRId64 ": %" PRId64 " ns off, said to be %" PRId64, event->name, true_ns,
			             off_ns, event->start_error_ns);
	}
	ck_assert_uint_gt(seen, 0);
	free(events.list);
	return worst_ns;
}

static epp_trace_source source_of(epp_trace *merged, uint32_t number)
{
	epp_trace_source source = { .struct_size = sizeof(source) };
	ck_assert(epp_trace_source_at(merged, number, &source));
	return source;
}

START_TEST(machines_by_the_time_of_day)
{
	struct machine here = { .boot_ns = 500 * SECOND, .half_width_ns = 40 };
	struct machine there = { .boot_ns = 90000 * SECOND, .half_width_ns = 60, .set_ns = 0 };
	char *a = check_path("a.epp"), *b = check_path("b.epp");

	for (int set = 0; set < 2; set++) {
		there.set_ns = set ? 5000000 : 0;
		struct recorded one = record(&here, a), two = record(&there, b);
		for (int64_t i = 0; i < 1000; i++) {
			happen(&one, "here", SECOND + i * 3000000, 1000);
			happen(&two, "there", 2 * SECOND + i * 3000000, 1000);
		}
		finish(&one, SECOND / 2, 5 * SECOND);
		finish(&two, 3 * SECOND / 2, 6 * SECOND);
		epp_trace *merged = merging(check_path("m.epp"), NULL, a, b);
		/* Which of the two times of day was right nobody knows: it was set by 5 ms. */
		ck_assert_int_le(worst_of(merged, 1, &here, 0), set ? 5000000 : 1);
		epp_trace_source source = source_of(merged, 1);
		ck_assert_uint_eq(source.relation, EPP_RELATED_REALTIME);
		ck_assert_int_ge(source.clock_error_ns, set ? 4999000 : 100);
		ck_assert_int_le(source.clock_error_ns, set ? 5001000 : 400);
		ck_assert(strstr(merging_receipt, "plus the unknown difference"));
		epp_trace_close(merged);
	}
}
END_TEST

/* Barriers: each enters when it likes, all leave when the last one has come, and notice it a little later. */
static void barriers(struct recorded *recorded, uint64_t *random, int count, int64_t step_ns, int64_t jitter_ns)
{
	uint64_t shared = 12345;

	for (int i = 0; i < count; i++) {
		shared = shared * 6364136223846793005u + 1442695040888963407u;
		*random = *random * 6364136223846793005u + 1442695040888963407u;
		int64_t release_ns = SECOND + i * step_ns + (int64_t)(shared >> 44);
		int64_t enter_ns = release_ns - (int64_t)(*random >> 33) % 200000;
		int64_t leave_ns = release_ns + (int64_t)(*random >> 20) % (jitter_ns + 1);
		happen(recorded, "work", enter_ns - 300000, 300000);
		happen(recorded, "barrier", enter_ns, leave_ns - enter_ns);
	}
}

/* Writes into the header of a trace which boot of a machine it is of.  The writer leaves that out. */
static void set_boot(const char *path, uint8_t boot)
{
	struct epf_header header;
	FILE *file = fopen(path, "r+b");

	ck_assert_uint_eq(fread(&header, sizeof header, 1, file), 1);
	memset(header.source.boot_id, boot, sizeof(header.source.boot_id));
	builder_seal_header((uint8_t *)&header);
	rewind(file);
	ck_assert_uint_eq(fwrite(&header, sizeof header, 1, file), 1);
	ck_assert_int_eq(fclose(file), 0);
}

/* Two processes on each of two machines: a machine's barrier ended after the last of its processes entered it and before
 * the first one left it.  Alone, no process of a machine has a short barrier, so only both together are precise. */
START_TEST(machines_by_barriers_of_several_processes)
{
	const struct machine machines[2] = {
		{ .boot_ns = 1000 * SECOND, .half_width_ns = 40 },
		{ .boot_ns = 70 * SECOND, .half_width_ns = 40, .time_of_day = 3 * SECOND, .drift = 40e-6 },
	};
	const epp_merge_options align = { .struct_size = sizeof align, .align = "barrier", .strict = 1 };
	const char *paths[4];

	for (int i = 0; i < 4; i++) {
		paths[i] = check_path("%d.epp", i);
		struct recorded recorded = record(&machines[i / 2], paths[i]);
		for (int64_t k = 0; k < 100; k++) {
			/* The first process of a machine waits long and leaves at once, the second the other way round. */
			int64_t release_ns = SECOND + k * 10000000, wait_ns = i % 2 ? 500 : 800000,
				late_ns = i % 2 ? 900000 : 700;
			happen(&recorded, "barrier", release_ns - wait_ns, wait_ns + late_ns);
		}
		finish(&recorded, SECOND / 2, 3 * SECOND);
		set_boot(paths[i], (uint8_t)(1 + i / 2));
	}
	epp_trace *merged = merging(check_path("m.epp"), &align, paths[0], paths[2]);
	ck_assert_int_gt(source_of(merged, 1).clock_error_ns, 800000);
	epp_trace_close(merged);
	merged = merging_ok(check_path("m.epp"), &align, paths, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_lt(worst_of(merged, i, &machines[0], 0), 2000);
		ck_assert_int_lt(source_of(merged, i).clock_error_ns, 50000);
	}
	ck_assert_uint_eq(source_of(merged, 1).relation, EPP_RELATED_MONOTONIC);
	ck_assert_uint_eq(source_of(merged, 2).relation, EPP_RELATED_EVENTS);
	epp_trace_close(merged);
}
END_TEST

/* Not barriers: in one process of a machine the event ends before it begins in the other, so it is at best known to the
 * time between them.  Starts: the common start is the earliest one, and is as uncertain as the starts are apart. */
START_TEST(events_of_several_processes_that_are_apart)
{
	const struct machine here = { .boot_ns = 1000 * SECOND, .half_width_ns = 40 },
			     there = { .boot_ns = 70 * SECOND, .half_width_ns = 40, .time_of_day = SECOND };
	epp_merge_options align = { .struct_size = sizeof align, .align = "step" };
	const char *paths[3];

	for (int i = 0; i < 3; i++) {
		paths[i] = check_path("%d.epp", i);
		struct recorded recorded = record(i < 2 ? &here : &there, paths[i]);
		for (int64_t k = 0; k < 10 + i; k++)
			happen(&recorded, "step", SECOND + k * 100000000 + (i == 1 ? 5000000 : 0), 1000000);
		finish(&recorded, SECOND / 2, 4 * SECOND);
		set_boot(paths[i], i < 2 ? 1 : 2);
	}
	for (align.align_starts = 0; align.align_starts < 2; align.align_starts++) {
		epp_trace *merged = merging_ok(check_path("m.epp"), &align, paths, 3);
		worst_of(merged, 2, &here, 0);
		int64_t error_ns = source_of(merged, 2).clock_error_ns, apart_ns = align.align_starts ? 5000000 : 4000000;
		ck_assert_int_ge(error_ns, apart_ns);
		ck_assert_int_lt(error_ns, apart_ns + 1500000);
		ck_assert(strstr(merging_receipt, "the first 10 are taken"));
		epp_trace_close(merged);
	}
	align.strict = 1;
	check_fails(EPP_INCOMPATIBLE, merging_try(check_path("m.epp"), &align, NULL, paths, 3));
}
END_TEST

START_TEST(machines_by_barriers)
{
	const struct machine machines[3] = {
		{ .boot_ns = 1000 * SECOND, .half_width_ns = 40 },
		{ .boot_ns = 70 * SECOND, .half_width_ns = 40, .time_of_day = 3 * SECOND, .drift = 40e-6 },
		{ .boot_ns = 5 * SECOND, .half_width_ns = 40, .time_of_day = -SECOND / 7, .drift = -25e-6 },
	};
	const epp_merge_options align = { .struct_size = sizeof align, .align = "barrier", .strict = 1 };
	const char *paths[3];
	uint64_t random = 7;

	for (int i = 0; i < 3; i++) {
		paths[i] = check_path("%d.epp", i);
		struct recorded recorded = record(&machines[i], paths[i]);
		barriers(&recorded, &random, 400, 10000000, 3000);
		finish(&recorded, SECOND / 2, 6 * SECOND);
	}
	/* By the time of day they are as wrong as that is. */
	epp_trace *merged = merging_ok(check_path("m.epp"), NULL, paths, 3);
	ck_assert_int_gt(worst_of(merged, 1, &machines[0], 4 * SECOND), 2 * SECOND);
	epp_trace_close(merged);
	merged = merging_ok(check_path("m.epp"), &align, paths, 3);
	for (uint32_t i = 1; i < 3; i++) {
		ck_assert_int_lt(worst_of(merged, i, &machines[0], 0), 5000);
		epp_trace_source source = source_of(merged, i);
		ck_assert_uint_eq(source.relation, EPP_RELATED_EVENTS);
		ck_assert_int_lt(source.clock_error_ns, 50000);
	}
	ck_assert(strstr(merging_receipt, "a drift of"));
	epp_trace_close(merged);
}
END_TEST

/* One event: no drift can be told, and the error grows with the distance. */
START_TEST(one_event_tells_no_drift)
{
	const struct machine here = { .boot_ns = 1000 * SECOND, .half_width_ns = 40 };
	const struct machine there = { .boot_ns = 70 * SECOND, .half_width_ns = 40, .knows_no_time = true, .drift = 90e-6 };
	epp_merge_options align = { .struct_size = sizeof align, .align = "go", .align_starts = 1 };
	char *a = check_path("a.epp"), *b = check_path("b.epp");
	struct recorded one = record(&here, a), two = record(&there, b);

	happen(&one, "go", SECOND, SECOND);
	happen(&two, "go", SECOND, SECOND / 2);
	happen(&two, "late", 10 * SECOND, 5);
	finish(&one, SECOND / 2, 3 * SECOND);
	finish(&two, SECOND / 2, 11 * SECOND);
	epp_trace *merged = merging(check_path("m.epp"), &align, a, b);
	worst_of(merged, 1, &here, 0);
	ck_assert_int_gt(source_of(merged, 1).clock_error_ns, 9 * SECOND / 2000);
	epp_trace_close(merged);
	/* Ends are no better than the events are long. */
	align.align_starts = 0;
	merged = merging(check_path("m.epp"), &align, a, b);
	worst_of(merged, 1, &here, 0);
	ck_assert_int_gt(source_of(merged, 1).clock_error_ns, SECOND);
	epp_trace_close(merged);
}
END_TEST

START_TEST(events_that_are_missing)
{
	const struct machine here = { .boot_ns = 1000 * SECOND }, there = { .boot_ns = 70 * SECOND };
	epp_merge_options align = { .struct_size = sizeof align, .align = "barrier" };
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("m.epp");
	struct recorded one = record(&here, a), two = record(&there, b);

	happen(&one, "barrier", SECOND, 100);
	happen(&one, "barrier", 2 * SECOND, 100);
	happen(&two, "barrier", SECOND, 100);
	finish(&one, SECOND / 2, 3 * SECOND);
	finish(&two, SECOND / 2, 3 * SECOND);
	epp_trace *merged = merging(m, &align, a, b);
	ck_assert_uint_eq(source_of(merged, 1).relation, EPP_RELATED_EVENTS);
	epp_trace_close(merged);
	align.strict = 1;
	check_fails(EPP_INCOMPATIBLE, merging_try(m, &align, NULL, (const char *const[]){ a, b }, 2));
	align.align = "nothing";
	check_fails(EPP_INCOMPATIBLE, merging_try(m, &align, NULL, (const char *const[]){ a, b }, 2));
	align.strict = 0;
	merged = merging(m, &align, a, b);
	ck_assert_uint_eq(source_of(merged, 1).relation, EPP_RELATED_REALTIME);
	ck_assert(strstr(merging_receipt, "no event nothing"));
	epp_trace_close(merged);
}
END_TEST

/* Two processes of the first machine differ, and the second machine is not to blame. */
START_TEST(the_machine_whose_processes_differ_is_named)
{
	const struct machine here = { .boot_ns = 1000 * SECOND }, there = { .boot_ns = 70 * SECOND };
	const epp_merge_options align = { .struct_size = sizeof align, .align = "barrier", .strict = 1 };
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *c = check_path("c.epp");
	struct recorded one = record(&here, a), two = record(&here, b), three = record(&there, c);

	happen(&one, "barrier", SECOND, 100);
	happen(&one, "barrier", 2 * SECOND, 100);
	happen(&two, "barrier", SECOND, 100);
	happen(&three, "barrier", SECOND, 100);
	finish(&one, SECOND / 2, 3 * SECOND);
	finish(&two, SECOND / 2, 3 * SECOND);
	finish(&three, SECOND / 2, 3 * SECOND);
	epp_status *status = merging_try(check_path("m.epp"), &align, NULL, (const char *const[]){ a, b, c }, 3);
	ck_assert_msg(status && strstr(epp_status_message(status), "the number of events") &&
	                  !strstr(epp_status_message(status), "c.epp"),
	              "%s", status ? epp_status_message(status) : "none");
	epp_status_destroy(status);
}
END_TEST

START_TEST(clocks_that_cannot_be_related)
{
	const struct machine here = { .boot_ns = 1000 * SECOND }, nowhere = { .boot_ns = 7, .knows_no_time = true };
	const epp_merge_options strict = { .struct_size = sizeof strict, .strict = 1 };
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("unrelated.epp");
	struct recorded one = record(&here, a), two = record(&nowhere, b);
	epp_merge_counts counts = { .struct_size = sizeof(counts) };
	struct stat st;

	happen(&one, "here", SECOND, 100);
	happen(&two, "nowhere", SECOND, 100);
	finish(&one, SECOND / 2, 3 * SECOND);
	finish(&two, SECOND / 2, 3 * SECOND);
	check_fails(EPP_INCOMPATIBLE, merging_try(m, &strict, NULL, (const char *const[]){ a, b }, 2));
	ck_assert_int_ne(stat(m, &st), 0);
	/* The one that knows its time is the reference, wherever it stands. */
	for (int turned = 0; turned < 2; turned++) {
		check_ok(merging_try(m, NULL, &counts, (const char *const[]){ turned ? b : a, turned ? a : b }, 2));
		ck_assert_uint_eq(counts.unrelated, 1);
		ck_assert(strstr(merging_receipt, "unaligned"));
		epp_trace *merged = open_valid(m);
		struct merged_events events = merged_events(merged);
		ck_assert_uint_eq(source_of(merged, 0).relation, EPP_RELATED_SELF);
		ck_assert_uint_eq(source_of(merged, 1).relation, EPP_RELATED_NOT);
		ck_assert_int_eq(source_of(merged, 1).clock_error_ns, INT64_MAX);
		/* Both begin half a second after the beginning. */
		ck_assert_int_le(llabs(merged_find(&events, 0, "here")->start_ns - SECOND / 2), 1);
		ck_assert_int_le(llabs(merged_find(&events, 1, "nowhere")->start_ns - SECOND / 2), 1);
		free(events.list);
		epp_trace_close(merged);
		/* Nor can they be in a trace that has it. */
		check_ok(merging_try(check_path("again.epp"), NULL, NULL, (const char *const[]){ m }, 1));
		merged = open_valid(check_path("again.epp"));
		ck_assert_uint_eq(source_of(merged, 1).relation, EPP_RELATED_NOT);
		epp_trace_close(merged);
	}
}
END_TEST

/* Errors add up from merge to merge. */
START_TEST(what_is_merged_twice_is_off_by_both)
{
	const struct machine machines[3] = { { .boot_ns = 1000 * SECOND, .half_width_ns = 100 },
		                             { .boot_ns = 70 * SECOND, .half_width_ns = 1000 },
		                             { .boot_ns = 5 * SECOND, .half_width_ns = 10000 } };
	const char *paths[3];

	for (int i = 0; i < 3; i++) {
		paths[i] = check_path("%d.epp", i);
		struct recorded recorded = record(&machines[i], paths[i]);
		for (int64_t k = 0; k < 10; k++)
			happen(&recorded, "event", SECOND + k * SECOND / 10, 100);
		finish(&recorded, SECOND / 2, 3 * SECOND);
	}
	epp_trace_close(merging(check_path("12.epp"), NULL, paths[1], paths[2]));
	epp_trace *merged = merging(check_path("m.epp"), NULL, paths[0], check_path("12.epp"));
	int64_t one = source_of(merged, 1).clock_error_ns, two = source_of(merged, 2).clock_error_ns;
	ck_assert_int_ge(one, 1100);
	ck_assert_int_ge(two, one + 10000);
	worst_of(merged, 1, &machines[0], 0);
	worst_of(merged, 2, &machines[0], 0);
	epp_trace_close(merged);
}
END_TEST

/* Whatever a file claims of its clocks, something comes out that can be read. */
START_TEST(clocks_that_cannot_be)
{
	static const int64_t extremes[] = { INT64_MIN, INT64_MIN / 2, -1, 0, 1, UNIX_NS, INT64_MAX / 2, INT64_MAX };
	static const uint64_t ticks[] = { 1, 1000, UINT64_MAX / 2, UINT64_MAX - 1 };
	const epp_merge_options align = { .struct_size = sizeof align, .align = "barrier" };
	const struct machine here = { .boot_ns = 1000 * SECOND, .half_width_ns = 40 };
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("m.epp");
	uint64_t random = 5;
	struct recorded one = record(&here, a);

	happen(&one, "barrier", SECOND, 100);
	finish(&one, SECOND / 2, 3 * SECOND);
	for (unsigned i = 0; i < 300; i++) {
		struct recorded two = record(&here, b);
		uint64_t drawn[8];
		for (unsigned k = 0; k < 8; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			drawn[k] = random >> 40;
		}
		uint64_t start = ticks[drawn[0] % 4], end = ticks[drawn[1] % 4];
		epp_trace_pair first = { start < end ? start : end, drawn[2] % 3 ? 10 : UINT64_MAX,
			                 extremes[drawn[3] % 8], extremes[drawn[4] % 8] };
		epp_trace_pair last = { start < end ? end : start, drawn[5] % 3 ? 10 : UINT64_MAX,
			                extremes[drawn[6] % 8], extremes[drawn[7] % 8] };
		for (unsigned k = 0; k < 3; k++)
			check_ok(epp_trace_writer_add_record(
			    two.writer,
			    &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
			                         .track = two.track,
			                         .id = k + 1,
			                         .name = epp_trace_writer_intern_name(two.writer, "barrier", 7),
			                         .start_ticks = ticks[drawn[k] % 4],
			                         .duration_ticks = drawn[k + 1] % 2 ? UINT64_MAX : drawn[k + 1] }));
		check_ok(epp_trace_writer_finish(two.writer, &first, &last));
		epp_trace_writer_destroy(two.writer);
		for (int turned = 0; turned < 2; turned++) {
			const char *const paths[] = { turned ? b : a, turned ? a : b };
			epp_trace *merged;
			check_ok(merging_try(m, i % 2 ? &align : NULL, NULL, paths, 2));
			check_ok(epp_trace_open(m, &merged));
			struct merged_events events = merged_events(merged);
			ck_assert_uint_eq(events.count, 4);
			free(events.list);
			epp_trace_close(merged);
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_merge_clock");
	TCase *tc = tcase_create("trace_merge_clock");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_happened_first_comes_first);
	tcase_add_test(tc, machines_by_the_time_of_day);
	tcase_add_test(tc, machines_by_barriers);
	tcase_add_test(tc, machines_by_barriers_of_several_processes);
	tcase_add_test(tc, events_of_several_processes_that_are_apart);
	tcase_add_test(tc, one_event_tells_no_drift);
	tcase_add_test(tc, events_that_are_missing);
	tcase_add_test(tc, the_machine_whose_processes_differ_is_named);
	tcase_add_test(tc, clocks_that_cannot_be_related);
	tcase_add_test(tc, what_is_merged_twice_is_off_by_both);
	tcase_add_test(tc, clocks_that_cannot_be);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
