/* Snapshots of epprof record: triggers (--snapshot-when, --every) and SIGUSR2 (--snapshot-on-signal).  This program runs
 * itself under the command; its arguments are the steps that it takes ("event slow 30 wait FILE"). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "epprof/epprof.h"
#include "epprof/timeline.h"
#include "tests/support/command_expect.h"
#include "tests/support/epp_builder.h"

#define RULE "slow > 5ms"
#define SLOW "event", "slow", "10"

static char self[512];

/* ---- the recorded program ---- */

/* An event that lasts at least so long. */
static void record_event(const char *name, unsigned ms)
{
	uint64_t id = epp_event_begin(NULL, EPP_SESSION, epp_name_intern(name));

	usleep(ms * 1000);
	epp_event_end(NULL, id, NULL, 0);
}

static void record_burst(long count)
{
	epp_name name = epp_name_intern("fast");

	for (long i = 0; i < count; i++)
		epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, name), NULL, 0);
}

static void *record_slow(void *name)
{
	record_event(name, 10);
	return NULL;
}

static void record_in_thread(char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, record_slow, name) == 0)
		pthread_join(thread, NULL);
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 10000 && access(path, F_OK) != 0; i++)
		usleep(10000);
}

static int program(char **steps)
{
	for (; *steps; steps += strcmp(*steps, "event") == 0 ? 3 : 2) {
		char *value = steps[1];
		if (strcmp(*steps, "event") == 0)
			record_event(value, (unsigned)strtol(steps[2], NULL, 10));
		else if (strcmp(*steps, "thread") == 0)
			record_in_thread(value);
		else if (strcmp(*steps, "burst") == 0)
			record_burst(strtol(value, NULL, 10));
		else if (strcmp(*steps, "make") == 0)
			make_file(value);
		else if (strcmp(*steps, "wait") == 0)
			wait_for_file(value);
		else if (strcmp(*steps, "kill") == 0)
			raise((int)strtol(value, NULL, 10));
	}
	return 0;
}

/* ---- checks ---- */

static void begin(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	ck_assert(system("rm -rf ./*") == 0);
	unsetenv("EPPROF_OUTPUT");
	unsetenv("EPPROF_POLICY");
}

/* The number of events with this name in a trace, which is valid and finished. */
static unsigned events_in(const char *path, const char *name)
{
	struct command run = command_run(NULL, "validate", path, NULL);
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;

	ck_assert_msg(run.code == 0, "%s%s", run.out, run.err);
	command_free(&run);
	check_ok(epp_trace_open(path, &trace));
	ck_assert_uint_eq(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		count += strcmp(event->name, name) == 0;
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return count;
}

/* The number of snapshots of a.epp; their numbers are consecutive. */
static unsigned snapshots_count(void)
{
	char path[64];

	for (unsigned number = 1;; number++) {
		snprintf(path, sizeof path, "a.snapshot-%u.epp", number);
		if (access(path, F_OK) != 0)
			return number - 1;
	}
}

/* The number before a text in the messages; 0: the text is missing. */
static unsigned number_before(const char *messages, const char *text)
{
	const char *at = strstr(messages, text);

	while (at && at > messages && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

/* ---- triggers ---- */

START_TEST(a_slow_event_takes_a_snapshot_while_the_program_runs)
{
	EXPECT(0, "a.snapshot-1.epp: 'slow' took ", "record", "-o", "a.epp", "--snapshot-when", RULE, self, "event",
	       "before", "10", SLOW, "wait", "a.snapshot-1.epp", "event", "after", "0");
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "slow"), 1);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "before"), 1);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "after"), 0);
	/* The recording has lost nothing. */
	ck_assert_uint_eq(events_in("a.epp", "before") + events_in("a.epp", "slow") + events_in("a.epp", "after"), 3);
	ck_assert_uint_eq(snapshots_count(), 1);
	struct stat st;
	ck_assert_int_eq(stat("a.snapshot-1.epp", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END_TEST

/* A trace with an event that lasts exactly so long. */
static void write_trace(const char *path, uint64_t duration_ns)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_event(b, thread, BUILDER_START + 1000, duration_ns, EPP_NODE, builder_name(b, "slow"), NULL, 0);
	builder_complete(b, stream, BUILDER_START + 1000, 1000000000, EPP_KERNEL, builder_name(b, "slow"), 0, NULL, 0);
	builder_event(b, thread, BUILDER_START + 2000000000, 1000000000, EPP_NODE, builder_name(b, "other"), NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
}

START_TEST(the_limit_itself_is_not_too_long)
{
	static const char script[] = "cd \"$(dirname \"$EPPROF_OUTPUT\")\" && cp \"$0\" copy && mv copy copy.epp";

	write_trace("exactly.epp", 50000000);
	write_trace("longer.epp", 50000001);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(0, "", "record", "--quiet", "--force", "-o", "a.epp", "--snapshot-when", "slow > 50ms", "--",
		       "sh", "-c", script, check_path("%s", i ? "longer.epp" : "exactly.epp"));
		ck_assert_uint_eq(snapshots_count(), i);
	}
	/* Another unit, and a pattern. */
	EXPECT(0, "", "record", "--quiet", "--force", "-o", "a.epp", "--snapshot-when", "sl?w>50000000ns",
	       "--snapshot-when", "slo[w] > 0.05 s", "--", "sh", "-c", script, check_path("exactly.epp"));
	ck_assert_uint_eq(snapshots_count(), 1);
	EXPECT(0, "a.snapshot-2.epp: 'slow' took 50.0 ms", "record", "--force", "-o", "a.epp", "--snapshot-when",
	       "sl?w > 50000us", "--", "sh", "-c", script, check_path("longer.epp"));
	ck_assert_uint_eq(events_in("a.snapshot-2.epp", "slow"), 2);
}
END_TEST

START_TEST(one_snapshot_in_a_period)
{
	struct command run = command_run(NULL, "record", "-o", "a.epp", "--snapshot-when", RULE, "--every", "1min",
	                                 self, SLOW, SLOW, SLOW, "wait", "a.snapshot-1.epp", SLOW, SLOW, NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_uint_eq(snapshots_count(), 1);
	ck_assert_uint_eq(number_before(run.err, " long events without a snapshot of its own"), 4);
	command_free(&run);
	ck_assert_uint_ge(events_in("a.snapshot-1.epp", "slow"), 1);
	ck_assert_uint_eq(events_in("a.epp", "slow"), 5);
}
END_TEST

START_TEST(a_further_snapshot_after_the_period)
{
	EXPECT(0, "a.snapshot-2.epp: 'slow' took ", "record", "-o", "a.epp", "--snapshot-when", RULE, "--every", "1ns",
	       self, SLOW, "wait", "a.snapshot-1.epp", SLOW, "wait", "a.snapshot-2.epp");
	ck_assert_uint_eq(snapshots_count(), 2);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "slow"), 1);
	ck_assert_uint_eq(events_in("a.snapshot-2.epp", "slow"), 2);
}
END_TEST

START_TEST(two_threads)
{
	EXPECT(0, "a.snapshot-2.epp: 'second' took ", "record", "-o", "a.epp", "--snapshot-when", "first > 5ms",
	       "--snapshot-when", "second > 5ms", "--every", "1ns", self, "thread", "first", "wait", "a.snapshot-1.epp",
	       "thread", "second", "wait", "a.snapshot-2.epp");
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "first"), 1);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "second"), 0);
	ck_assert_uint_eq(events_in("a.snapshot-2.epp", "second"), 1);
}
END_TEST

/* The ring has wrapped before the slow event, and wraps again after the snapshot. */
START_TEST(a_ring_that_has_wrapped)
{
	/* Events that are lost for want of room would not wrap it. */
	setenv("EPPROF_LOSSLESS", "1", 1);
	EXPECT(0, "a.snapshot-1.epp: 'slow' took ", "record", "-o", "a.epp", "--max-bytes", "4M", "--snapshot-when", RULE,
	       self, "event", "first", "0", "burst", "1500000", SLOW, "wait", "a.snapshot-1.epp", "burst", "1500000");
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "first"), 0);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "slow"), 1);
	ck_assert_uint_ge(events_in("a.snapshot-1.epp", "fast"), 1);
	ck_assert_uint_eq(events_in("a.epp", "slow"), 0);
}
END_TEST

/* While the command is stopped, the whole ring is overwritten. */
START_TEST(a_ring_that_is_overwritten_between_two_looks)
{
	size_t bytes;

	setenv("EPPROF_LOSSLESS", "1", 1);
	pid_t pid = command_start("out", "err", "record", "-o", "a.epp", "--max-bytes", "4M", "--snapshot-when", RULE,
	                          self, SLOW, "wait", "go on", "burst", "1500000", "make", "done", "wait", "end", NULL);
	wait_for_file("a.snapshot-1.epp");
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	make_file("go on");
	wait_for_file("done");
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	make_file("end");
	ck_assert_int_eq(command_wait(pid), 0);
	char *err = command_file("err", &bytes);
	ck_assert_msg(strstr(err, "long events may have been missed: a ring was overwritten"), "%s", err);
	free(err);
}
END_TEST

START_TEST(a_program_that_is_killed)
{
	EXPECT(128 + SIGKILL, "a.snapshot-1.epp: 'slow' took ", "record", "-o", "a.epp", "--snapshot-when", RULE, self,
	       SLOW, "kill", "9");
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "slow"), 1);
	ck_assert_uint_eq(events_in("a.epp", "slow"), 1);
}
END_TEST

START_TEST(any_name)
{
	static const char name[] = "it's \"quoted\" > 1";

	ck_assert_int_eq(mkdir("it's a \"folder\"", 0700), 0);
	ck_assert_int_eq(chdir("it's a \"folder\""), 0);
	EXPECT(0, "a.snapshot-1.epp: 'it's \"quoted\" > 1' took ", "record", "-o", "a.epp", "--snapshot-when",
	       " it's \"quoted\" > 1 > 5ms", self, "event", name, "10");
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", name), 1);
	/* The name itself, though it is no pattern that matches it. */
	EXPECT(0, "b.snapshot-1.epp: 'a[b' took ", "record", "-o", "b", "--snapshot-when", "a[b>5ms", self, "event",
	       "a[b", "10");
}
END_TEST

START_TEST(child_processes)
{
	static const char script[] = "\"$0\" event slow 10 wait a.snapshot-1.epp; \"$0\" event slow 10 event child 0";

	EXPECT(0, "a.snapshot-2.epp: 'slow' took ", "record", "-o", "a.epp", "--snapshot-when", RULE, "--every", "1ns",
	       "--", "sh", "-c", script, self);
	ck_assert_uint_eq(snapshots_count(), 2);
	ck_assert_uint_eq(events_in("a.snapshot-2.epp", "slow"), 1);
	ck_assert_uint_eq(events_in("a.epp", "slow"), 2);
}
END_TEST

/* ---- files ---- */

START_TEST(no_file_is_replaced)
{
	make_file("a.snapshot-1.epp");
	EXPECT(0, "a.snapshot-2.epp: 'slow' took ", "record", "--force", "-o", "a.epp", "--snapshot-when", RULE, self,
	       SLOW);
	EXPECT(0, "a.snapshot-3.epp: 'slow' took ", "record", "--force", "-o", "a.epp", "--snapshot-when", RULE, self,
	       SLOW);
	struct stat st;
	ck_assert_int_eq(stat("a.snapshot-1.epp", &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_uint_eq(events_in("a.snapshot-2.epp", "slow"), 1);
}
END_TEST

/* The snapshot's name is longer than a file system allows, the trace's is not. */
START_TEST(a_snapshot_that_cannot_be_written)
{
	char output[256];

	snprintf(output, sizeof output, "%0242d.epp", 0);
	EXPECT(1, "File name too long", "record", "-o", output, "--snapshot-when", RULE, self, SLOW);
	ck_assert_uint_eq(events_in(output, "slow"), 1);
	EXPECT(128 + SIGTERM, "File name too long", "record", "--force", "-o", output, "--snapshot-when", RULE, self,
	       SLOW, "kill", "15");
}
END_TEST

/* ---- on a signal ---- */

START_TEST(a_signal_takes_a_snapshot_of_each_process)
{
	pid_t pid = command_start("out", "err", "record", "-o", "a.epp", "--snapshot-on-signal", "--", "sh", "-c",
	                          "\"$0\" event one 0 make first wait end & \"$0\" event two 0 make second wait end; wait",
	                          self, NULL);

	wait_for_file("first");
	wait_for_file("second");
	ck_assert_int_eq(kill(pid, SIGUSR2), 0);
	wait_for_file("a.snapshot-2.epp");
	make_file("end");
	ck_assert_int_eq(command_wait(pid), 0);
	ck_assert_uint_eq(snapshots_count(), 2);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "one") + events_in("a.snapshot-2.epp", "one"), 1);
	ck_assert_uint_eq(events_in("a.snapshot-1.epp", "two") + events_in("a.snapshot-2.epp", "two"), 1);
}
END_TEST

/* The signal has its usual effect on the program itself, and on the command without the option. */
START_TEST(the_signal_without_the_option)
{
	pid_t pid = command_start("out", "err", "record", "-o", "a.epp", "--snapshot-when", RULE, self, "make", "first",
	                          "wait", "end", NULL);

	wait_for_file("first");
	ck_assert_int_eq(kill(pid, SIGUSR2), 0);
	ck_assert_int_eq(command_wait(pid), -SIGUSR2);
	make_file("end");
	EXPECT(128 + SIGUSR2, "By op", "record", "-o", "b.epp", "--snapshot-on-signal", self, "event", "one", "0",
	       "kill", "12");
}
END_TEST

START_TEST(a_signal_without_a_trace)
{
	EXPECT(0, "no snapshot: no process records", "record", "--snapshot-on-signal", "sh", "-c", "kill -USR2 $PPID");
}
END_TEST

START_TEST(mistakes_on_the_command_line)
{
	static const char *const wrong[] = { "model_run",        "model_run > 50",   "> 50ms",  "model_run >= 50ms", "",
		                             "model_run < 50ms", "model_run > -1ms", " > 50ms", "model_run > ",      ">" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		EXPECT(2, "': must be NAME > TIME, for example 'model_run > 50ms'", "record", "--snapshot-when",
		       wrong[i], "true");
	EXPECT(2, "--every needs --snapshot-when", "record", "--every", "1s", "true");
	EXPECT(2, "--every '0': must be more than 0", "record", "--every", "0", "--snapshot-when", RULE, "true");
	EXPECT(2, "--every '10': must be a number and a unit", "record", "--every", "10", "true");
}
END_TEST

static Suite *record_watch_suite(void)
{
	Suite *suite = suite_create("record_watch");
	TCase *tests = tcase_create("record_watch");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, a_slow_event_takes_a_snapshot_while_the_program_runs);
	tcase_add_test(tests, the_limit_itself_is_not_too_long);
	tcase_add_test(tests, one_snapshot_in_a_period);
	tcase_add_test(tests, a_further_snapshot_after_the_period);
	tcase_add_test(tests, two_threads);
	tcase_add_test(tests, a_ring_that_has_wrapped);
	tcase_add_test(tests, a_ring_that_is_overwritten_between_two_looks);
	tcase_add_test(tests, a_program_that_is_killed);
	tcase_add_test(tests, any_name);
	tcase_add_test(tests, child_processes);
	tcase_add_test(tests, no_file_is_replaced);
	tcase_add_test(tests, a_snapshot_that_cannot_be_written);
	tcase_add_test(tests, a_signal_takes_a_snapshot_of_each_process);
	tcase_add_test(tests, the_signal_without_the_option);
	tcase_add_test(tests, a_signal_without_a_trace);
	tcase_add_test(tests, mistakes_on_the_command_line);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return program(argv + 1);
	ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
	if (bytes < 0)
		return EXIT_FAILURE;
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(record_watch_suite);
}
