/* Memory does not grow with the trace: the command's peak, for each format, is the same for eight times as many events,
 * but for what so many blocks and ids cost.  So it is for what else goes over all events. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "epprof/export.h"
#include "epprof/trace_writer.h"
#include "epprof/track.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/recording.h"

/* Two bits an id and 64 bytes a block come to 3 MiB at most; the rest is what two runs of one command differ by. */
#define MARGIN_KIB 4096

/* Those are the sizes of traces: what is kept in a row group, say, is full in the second. */
enum {
	SMALL,
	LARGE,
	HUGE_ONE,
	EARLY_SMALL,
	EARLY_LARGE,
	LOST_SMALL,
	LOST_LARGE,
	DURATIONS_SMALL,
	DURATIONS_LARGE,
	TRACES
};
static char paths[TRACES][512];
static const unsigned counts[TRACES] = { 150000, 1200000, 9600000, 150000, 1200000, 150000, 1200000, 2100000, 4200000 };

static void add(epp_trace_writer *writer, const epp_trace_record *record)
{
	epp_status *status = epp_trace_writer_add_record(writer, record);
	if (status)
		ck_abort_msg("%s", epp_status_message(status));
}

/* Ops with a launch in each, and the kernel of each launch on a stream, behind it or, by its clock's error, before:
 * three events a round.  Every fourth launch may be lost, or the kernels may have durations alone. */
static void make_trace(const char *path, unsigned events, int trace)
{
	const bool is_early = trace == EARLY_SMALL || trace == EARLY_LARGE;
	const bool has_losses = trace == LOST_SMALL || trace == LOST_LARGE;
	const bool has_durations = trace == DURATIONS_SMALL || trace == DURATIONS_LARGE;
	enum { THREADS = 4, NAMES = 40 };
	uint32_t threads[THREADS], streams[THREADS];
	epp_name names[NAMES];
	epp_trace_writer *writer;

	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options), .path = path }, &writer));
	for (int i = 0; i < THREADS; i++) {
		check_ok(epp_trace_writer_add_track(writer,
		                                    &(epp_trace_track){ .kind = EPP_TRACK_THREAD,
		                                                        .thread_id = 7 + (uint32_t)i,
		                                                        .device = -1,
		                                                        .producer = -1,
		                                                        .name = "thread" },
		                                    &threads[i]));
		check_ok(epp_trace_writer_add_track(
		    writer,
		    &(epp_trace_track){ .kind = EPP_TRACK_DEVICE,
		                        .stream = i,
		                        .producer = -1,
		                        .clock_kind = has_durations ? EPP_CLOCK_DURATION_ONLY : EPP_CLOCK_HOST,
		                        .name = "stream",
		                        .group = "device" },
		    &streams[i]));
	}
	for (int i = 0; i < NAMES; i++) {
		char name[32];
		names[i] = epp_trace_writer_intern_name(writer, name, (size_t)snprintf(name, sizeof name, "name %d", i));
	}
	uint64_t ticks = 1000;
	for (uint64_t id = 1; id + 2 <= events; id += 3, ticks += 300) {
		unsigned of = (unsigned)(id / 3 % THREADS);
		epp_arg arg = { .key = names[0], .type = EPP_ARG_I64, .value.i64 = (int64_t)id };
		add(writer, &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
		                                 .track = threads[of],
		                                 .id = id,
		                                 .name = names[id / 3 % 13],
		                                 .category = EPP_NODE,
		                                 .start_ticks = ticks,
		                                 .duration_ticks = 200 + id % 64,
		                                 .args = &arg,
		                                 .args_count = 1 });
		if (!has_losses || id / 3 % 4)
			add(writer, &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
			                                 .track = threads[of],
			                                 .id = id + 1,
			                                 .name = names[20],
			                                 .category = EPP_API,
			                                 .start_ticks = ticks + 10,
			                                 .duration_ticks = 50 });
		add(writer, &(epp_trace_record){ .kind = EPP_RECORD_COMPLETE,
		                                 .track = streams[of],
		                                 .id = id + 2,
		                                 .parent = id + 1,
		                                 .name = names[30 + id % 10],
		                                 .category = EPP_KERNEL,
		                                 .start_ticks = is_early ? ticks - 100 : ticks + 400,
		                                 .duration_ticks = 100 + id % 128 });
	}
	check_ok(epp_trace_writer_finish(writer, &(epp_trace_pair){ 500, 0, 500, 500 },
	                                 &(epp_trace_pair){ ticks, 0, (int64_t)ticks, (int64_t)ticks }));
	epp_trace_writer_destroy(writer);
}

static void make_traces(void)
{
	for (int i = 0; i < TRACES; i++) {
		snprintf(paths[i], sizeof paths[i], "%s", check_path("%d.epp", i));
		make_trace(paths[i], counts[i], i);
	}
}

/* The peak of the command's memory; arguments up to NULL stand before the trace. */
static long peak_kib(int trace, const char *const *args)
{
	const char *argv[12] = { NULL };
	struct rusage usage;
	int status, count = 0;

	while (args[count]) {
		argv[count] = args[count];
		count++;
	}
	argv[count] = paths[trace];
	pid_t pid = command_start("/dev/null", check_path("err %d", getpid()), argv[0], argv[1], argv[2], argv[3],
	                          argv[4], argv[5], argv[6], argv[7], NULL);
	ck_assert_int_eq(wait4(pid, &status, 0, &usage), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s",
	              command_file(check_path("err %d", getpid()), &(size_t){ 0 }));
	return usage.ru_maxrss;
}

static void check_peaks(int trace, const char *const *args)
{
	long before = peak_kib(trace, args), after = peak_kib(trace + 1, args);

	ck_assert_msg(after <= before + MARGIN_KIB, "%s %s: %ld KiB for %u events, %ld KiB for %u", args[0],
	              args[2] ? args[2] : "", before, counts[trace], after, counts[trace + 1]);
}

START_TEST(formats)
{
	const epp_export_format *format = epp_export_format_at((size_t)_i);

	/* A page keeps the events of its timeline, as many as it is told; a row group has a million; SQLite's cache is
	 * full later than with so few. */
	if (strcmp(format->name, "html") == 0)
		check_peaks(SMALL, (const char *[]){ "report", "--events", "10000", "--force", "-o", "/dev/null", NULL });
	else
		check_peaks(strcmp(format->name, "parquet") == 0 || strcmp(format->name, "sqlite") == 0 ? LARGE : SMALL,
		            (const char *[]){ "convert", "-t", format->name, "-o", "/dev/null", NULL });
}
END_TEST

START_TEST(kernels_before_their_launches)
{
	check_peaks(EARLY_SMALL, (const char *[]){ "convert", "-t", "ndjson", "-o", "/dev/null", NULL });
}
END_TEST

START_TEST(kernels_whose_launches_are_lost)
{
	check_peaks(LOST_SMALL, (const char *[]){ "convert", "-t", "flame", "-o", "/dev/null", NULL });
}
END_TEST

/* The launches before the range are looked for, and nothing says where. */
START_TEST(a_range)
{
	check_peaks(SMALL, (const char *[]){ "convert", "-t", "flame", "--from", "3ms", "-o", "/dev/null", NULL });
}
END_TEST

/* They are placed in their launches, and sorted through a file: what is in memory until then is as much for any trace.
 * */
START_TEST(kernels_with_durations_alone)
{
	check_peaks(DURATIONS_SMALL, (const char *[]){ "summary", "--top", "5", NULL });
}
END_TEST

START_TEST(what_else_goes_over_all_events)
{
	check_peaks(SMALL, (const char *[]){ "summary", "--top", "5", NULL });
	check_peaks(SMALL, (const char *[]){ "validate", NULL });
	check_peaks(SMALL,
	            (const char *[]){ "merge", "--force", "-o", check_path("merged.epp"), paths[EARLY_SMALL], NULL });
	check_peaks(SMALL, (const char *[]){ "pack", "--force", "-o", check_path("packed.epp"), NULL });
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("export_memory");
	TCase *tc = tcase_create("export_memory");
	int count = 0;

	while (epp_export_format_at((size_t)count))
		count++;
	tcase_add_unchecked_fixture(tc, make_traces, NULL);
	tcase_add_loop_test(tc, formats, 0, count);
	tcase_add_test(tc, kernels_before_their_launches);
	tcase_add_test(tc, kernels_whose_launches_are_lost);
	tcase_add_test(tc, a_range);
	tcase_add_test(tc, kernels_with_durations_alone);
	tcase_add_test(tc, what_else_goes_over_all_events);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	if (RECORDING_SLOW > 1)
		CHECK_SKIP("a sanitizer's memory is not the command's");
	setenv("CK_DEFAULT_TIMEOUT", "300", 0);
	return check_main(suite);
}
