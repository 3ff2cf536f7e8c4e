/* What the tests of the bridges that hand out an XSpace share: looking at one, and the tests that do not depend on who
 * asks for it.  A program defines its bridge's path and the five functions of its host below, and adds the tests with
 * shared_tests_add. */
#ifndef EPPROF_TESTS_BRIDGES_XSPACE_BRIDGE_HOST_H
#define EPPROF_TESTS_BRIDGES_XSPACE_BRIDGE_HOST_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "bridges/shared/hosted_plugins.h"
#include "encoding/utf8.h"
#include "encoding/xspace.h"
#include "tests/support/check.h"
#include "tests/support/hanging.h"
#include "tests/support/lives.h"

#define BRIDGE(kind) CHECK_BUILD "/libepprof_" kind ".so"
#define SAMPLE(kind) CHECK_BUILD "/libsample_" kind "_ep.so"
#define FAULT CHECK_BUILD "/tests/plugins/pjrt_fault.so"
#define GARBAGE_SIZE ((size_t)0xDEADBEEFDEADBEEF)

static const char bridge_path[];

/* ---- the host; all assert ---- */

/* Loads the bridge with these plugins, and takes it into use. */
static void host_load(const char *plugins);
static void host_start(void);
static void host_stop(void);

/* Ends what started: returns the profile's size, of which `seen` tells, and leaves in `told` what the bridge told. */
static size_t host_collect(void);

/* A run on any thread, beside others: asserts nothing, tells nothing. */
static void host_run_unseen(void);

static char told[4096];

static void find(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
	ck_assert_msg(*(void **)function != NULL, "%s", name);
}

static void work(const char *library, int count)
{
	int (*sample_work)(int);
	find(dlopen(library, RTLD_NOW), "epp_sample_work", &sample_work);
	ck_assert_int_eq(sample_work(count), 0);
}

/* ---- what comes back ---- */

static struct {
	unsigned relus_count, events_count;
	int64_t first_ns, last_ns; /* of relus, UNIX time */
	int64_t line_ns;
	bool is_device;
	char plane[64];
	unsigned gpus_count;
} seen;

static bool see_plane(void *user, const struct xspace_plane *plane)
{
	(void)user;
	size_t bytes = plane->name.bytes < sizeof(seen.plane) ? plane->name.bytes : sizeof(seen.plane) - 1;
	memcpy(seen.plane, plane->name.text, bytes);
	seen.plane[bytes] = 0;
	seen.is_device = !strncmp(seen.plane, "/device:CUSTOM:", 15) || !strncmp(seen.plane, "/device:GPU:", 12);
	seen.gpus_count += !strncmp(seen.plane, "/device:GPU:", 12);
	return true;
}

static void see_line(void *user, const struct xspace_line *line)
{
	(void)user;
	seen.line_ns = line->timestamp_ns;
}

/* One byte that is not UTF-8 ends the framework's reading of the profile, and nobody is told. */
static void see_text(struct protobuf_string text)
{
	ck_assert_uint_eq(utf8_valid_bytes(text.text, text.bytes), text.bytes);
}

static void see_event(void *user, const struct xspace_event *event)
{
	(void)user;
	seen.events_count += seen.is_device;
	see_text(event->name);
	for (size_t i = 0; i < event->stats_count; i++) {
		see_text(event->stats[i].name);
		if (event->stats[i].type == XSTAT_TEXT)
			see_text(event->stats[i].value.text);
	}
	if (event->name.bytes != 4 || memcmp(event->name.text, "relu", 4) != 0 || !seen.is_device)
		return;
	int64_t start_ns = seen.line_ns + event->offset_ps / 1000, end_ns = start_ns + event->duration_ps / 1000;
	if (!seen.relus_count++ || start_ns < seen.first_ns)
		seen.first_ns = start_ns;
	seen.last_ns = seen.last_ns > end_ns ? seen.last_ns : end_ns;
}

/* Reads a profile; behind it lies nothing. */
static void see(const uint8_t *bytes, size_t count)
{
	struct xspace_account account = { 0 };
	struct xspace_reader reader = { .plane = see_plane, .line = see_line, .event = see_event };
	uint8_t *copy = malloc(count ? count : 1);
	ck_assert_uint_le(count, INT32_MAX);
	memset(&seen, 0, sizeof(seen));
	memcpy(copy, bytes, count);
	check_ok(xspace_read(copy, count, &reader, &account));
	ck_assert_uint_eq(account.nameless_count, 0);
	free(copy);
}

static int64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void profile(const char *library, unsigned count)
{
	int64_t before_ns = unix_ns();
	host_start();
	work(library, (int)count);
	host_stop();
	work(library, 7);
	ck_assert_uint_gt(host_collect(), 0);
	ck_assert_str_eq(told, "");
	ck_assert_uint_eq(seen.relus_count, count);
	/* The device's clock is known to within a bound; the sample's is far below this. */
	ck_assert_int_ge(seen.first_ns, before_ns);
	ck_assert_int_le(seen.last_ns, unix_ns() + 1000000000);
}

/* ---- tests ---- */

static const char *const samples[] = { SAMPLE("pu1"), SAMPLE("pjrt"), SAMPLE("tf"), SAMPLE("tf_first") };

START_TEST(each_run_has_its_events_and_no_others)
{
	host_load(samples[_i]);
	for (unsigned run = 0; run < 4; run++)
		profile(samples[_i], 300);
}
END_TEST

/* One for ONNX Runtime records the work of events that it is shown; here there are none. */
START_TEST(plugins_of_all_kinds_run_together)
{
	host_load(SAMPLE("ort") ":" SAMPLE("pu1") ":" SAMPLE("pjrt") ":" SAMPLE("tf"));
	for (unsigned run = 0; run < 2; run++) {
		host_start();
		for (unsigned i = 0; i < 3; i++)
			work(samples[i], 300);
		host_stop();
		host_collect();
		ck_assert_str_eq(told, "");
		ck_assert_uint_eq(seen.relus_count, 900);
	}
}
END_TEST

START_TEST(a_shared_session_gives_the_run_s_window)
{
	setenv("EPPROF_OUTPUT", check_path("run.epp"), 1);
	host_load(SAMPLE("pu1") ":" SAMPLE("tf"));
	for (unsigned run = 0; run < 3; run++)
		profile(run & 1 ? SAMPLE("tf") : SAMPLE("pu1"), 300);
	ck_assert_int_eq(access(check_path("run.epp"), F_OK), 0);
}
END_TEST

START_TEST(an_output_that_cannot_be_written_costs_no_profile)
{
	setenv("EPPROF_OUTPUT", "/nowhere/run.epp", 1);
	host_load(SAMPLE("pu1"));
	host_start();
	work(SAMPLE("pu1"), 5);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 5);
	ck_assert_ptr_nonnull(strstr(told, "/nowhere/run.epp"));
}
END_TEST

START_TEST(without_plugins_nothing_happens_and_is_said_once)
{
	host_load("::");
	for (unsigned run = 0; run < 3; run++) {
		host_start();
		host_stop();
		ck_assert_uint_eq(host_collect(), 0);
		ck_assert_str_eq(told, run ? "" : HOSTED_NOTHING);
	}
}
END_TEST

START_TEST(a_plugin_may_be_named_as_for_pytorch)
{
	setenv("KINETO_PLUGIN_PATH", SAMPLE("pu1") ":" SAMPLE("tf") ":" BRIDGE("pjrt") ":/nowhere.so", 1);
	host_load(_i ? SAMPLE("pu1") : "");
	host_start();
	work(SAMPLE("pu1"), 30);
	work(SAMPLE("tf"), 40);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 70);
	ck_assert_ptr_nonnull(strstr(told, "KINETO_PLUGIN_PATH: " BRIDGE("pjrt") ": is a bridge itself"));
	ck_assert_ptr_nonnull(strstr(told, "KINETO_PLUGIN_PATH: /nowhere.so: "));
}
END_TEST

START_TEST(devices_are_gpus_on_request)
{
	static const char *const says[] = { "gpu", "custom", "" };
	host_load(SAMPLE("pu1") ":" SAMPLE("tf"));
	for (unsigned i = 0; i < 3; i++) {
		setenv("EPPROF_DEVICE_PLANES", says[i], 1);
		host_start();
		work(SAMPLE("pu1"), 30);
		work(SAMPLE("tf"), 40);
		host_stop();
		host_collect();
		ck_assert_str_eq(told, "");
		ck_assert_uint_eq(seen.relus_count, 70);
		ck_assert_uint_eq(seen.gpus_count, i ? 0 : 2);
	}
	setenv("EPPROF_DEVICE_PLANES", "GPU", 1);
	host_start();
	work(SAMPLE("pu1"), 30);
	host_stop();
	host_collect();
	ck_assert_str_eq(told, "EPPROF_DEVICE_PLANES: 'GPU' is not one of custom, gpu");
	ck_assert_uint_eq(seen.relus_count, 30);
}
END_TEST

START_TEST(a_run_without_work_is_empty)
{
	host_load(SAMPLE("pu1"));
	for (unsigned run = 0; run < 2; run++) {
		host_start();
		host_stop();
		ck_assert_uint_eq(host_collect(), 0);
		ck_assert_str_eq(told, "");
	}
	profile(SAMPLE("pu1"), 300);
}
END_TEST

START_TEST(what_fails_costs_only_itself_and_is_told)
{
	setenv("PJRT_FAULT", "stop", 1);
	host_load("/nowhere/\"no\tplugin\".so:" BRIDGE("tf") ":" BRIDGE("pjrt") ":" FAULT ":" SAMPLE("pu1"));
	host_start();
	work(SAMPLE("pu1"), 20);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 20);
	ck_assert_ptr_nonnull(strstr(told, "/nowhere/\"no\tplugin\".so"));
	ck_assert_ptr_nonnull(strstr(told, "libepprof_tf.so: is a bridge itself"));
	ck_assert_ptr_nonnull(strstr(told, "libepprof_pjrt.so: is a bridge itself"));
	ck_assert_ptr_nonnull(strstr(told, "pjrt_fault.so: EndProfiling: stop: code 13: no \"device\""));
	unsetenv("PJRT_FAULT");
	profile(SAMPLE("pu1"), 300);
}
END_TEST

#define NAMES CHECK_BUILD "/tests/plugins/names_pu1.so"

START_TEST(texts_of_any_bytes_are_mended)
{
	host_load(NAMES);
	host_start();
	work(NAMES, 10);
	host_stop();
	ck_assert_uint_gt(host_collect(), 0);
	ck_assert_str_eq(told, "");
	ck_assert_uint_eq(seen.events_count, 80);
}
END_TEST

START_TEST(more_than_can_be_told_is_cut)
{
	char list[8192] = "";
	for (unsigned i = 0; i < 100; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "/nowhere/a-library-with-a-long-name-%u.so:", i);
	snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s", SAMPLE("pu1"));
	host_load(list);
	host_start();
	work(SAMPLE("pu1"), 3);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 3);
	ck_assert_uint_lt(strlen(told), 2048);
}
END_TEST

/* The first ones are there, and how many are not is told. */
START_TEST(what_does_not_fit_is_left_out_and_counted)
{
	char text[32], expected[128];
	unsigned cut_count = 0;
	host_load(SAMPLE("pjrt"));
	for (size_t most = 1 << 20; most > 10; most /= 3) {
		snprintf(text, sizeof(text), "%zu", most);
		setenv("EPPROF_PROFILE_BYTES", text, 1);
		int64_t start_ns = unix_ns();
		host_start();
		work(SAMPLE("pjrt"), 300);
		host_stop();
		size_t count = host_collect();
		ck_assert_uint_le(count, most);
		if (seen.relus_count)
			ck_assert_int_ge(seen.first_ns, start_ns);
		if (seen.relus_count == 300) {
			ck_assert_str_eq(told, "");
			continue;
		}
		snprintf(expected, sizeof(expected), "the profile: %u of 300 events do not fit into %zu bytes",
		         300 - seen.relus_count, most);
		ck_assert_str_eq(told, expected);
		/* No more than that is left out; what each plane says of itself takes some room, too. */
		ck_assert(most < 4000 || count > most / 2);
		cut_count += seen.relus_count > 0;
	}
	ck_assert_uint_ge(cut_count, 2);
	ck_assert_uint_eq(seen.relus_count, 0);
	setenv("EPPROF_PROFILE_BYTES", "-1 byte", 1);
	host_start();
	work(SAMPLE("pjrt"), 300);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 300);
	ck_assert_str_eq(told, "EPPROF_PROFILE_BYTES: '-1 byte' is not a number");
}
END_TEST

static void whole_run(void)
{
	host_start();
	work(SAMPLE("pu1"), 2);
	work(SAMPLE("tf"), 2);
	host_stop();
	host_collect();
}

START_TEST(runs_leave_nothing_behind)
{
	host_load(SAMPLE("pu1") ":" SAMPLE("tf"));
	lives_leave_nothing(whole_run);
}
END_TEST

static void *run_again(void *user)
{
	(void)user;
	for (unsigned run = 0; run < 20; run++)
		host_run_unseen();
	return NULL;
}

START_TEST(threads_may_call_at_once)
{
	pthread_t threads[3];
	host_load(SAMPLE("pu1"));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_again, NULL), 0);
	work(SAMPLE("pu1"), 100);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	profile(SAMPLE("pu1"), 300);
}
END_TEST

static atomic_int runs_done, is_closed;

static void *run_while_it_is_closed(void *unused)
{
	while (!atomic_load(&is_closed)) {
		host_run_unseen();
		atomic_fetch_add(&runs_done, 1);
	}
	host_run_unseen();
	return unused;
}

/* A framework may let go of the library while threads are inside it, and others that were end later. */
START_TEST(closed_while_its_threads_live_on)
{
	pthread_t threads[2];
	setenv("EPPROF_OUTPUT", check_path("run.epp"), 1);
	host_load(SAMPLE("pu1"));
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_while_it_is_closed, NULL), 0);
	while (atomic_load(&runs_done) < 4)
		sched_yield();
	void *library = dlopen(bridge_path, RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	/* Ours and the host's. */
	ck_assert_int_eq(dlclose(library), 0);
	ck_assert_int_eq(dlclose(library), 0);
	int before = atomic_load(&runs_done);
	while (atomic_load(&runs_done) < before + 4)
		sched_yield();
	atomic_store(&is_closed, 1);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	profile(SAMPLE("pu1"), 300);
}
END_TEST

/* The accounts in a trace of plugins that hung, each of which names the step. */
static unsigned hung_count(const char *path)
{
	struct trace_scan *scan = trace_scan_file(path);
	unsigned count = 0;
	ck_assert_msg(!scan->error, "%s", scan->error);
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		count += scan->producers[i].lost[EPP_LOSS_HUNG] == 1 &&
		         strstr(scan->producers[i].note, "has not returned after " HANGING_LIMIT_MS " ms");
	trace_scan_free(scan);
	return count;
}

/* Named before a plugin that works, or after it. */
static void run_hanging_case(int number)
{
	const struct hanging_entry *entry = &hanging_entries[number / 2];
	char guilty[512], list[1200];
	hanging_set(entry);
	hanging_path(entry, guilty, sizeof(guilty));
	snprintf(list, sizeof(list), "%s:%s", number % 2 ? SAMPLE("pu1") : guilty, number % 2 ? guilty : SAMPLE("pu1"));
	setenv("EPPROF_OUTPUT", check_path("run-%d.epp", number), 1);
	host_load(list);
	RETURNS(host_start());
	work(SAMPLE("pu1"), 300);
	RETURNS(host_stop());
	RETURNS(host_collect());
	ck_assert_uint_eq(seen.relus_count, 300);
	if (entry->step == HANGING_EVENT || entry->step == HANGING_CLOSE)
		ck_assert_str_eq(told, "");
	else
		ck_assert_msg(strstr(told, "has not returned after " HANGING_LIMIT_MS " ms") &&
		                  (strstr(told, entry->plugin) || strstr(told, "XPU") || strstr(told, "official")),
		              "%s", told);
	bool is_hung = entry->step != HANGING_EVENT && entry->step != HANGING_CLOSE;
	ck_assert_uint_eq(hung_count(check_path("run-%d.epp", number)), is_hung);
	/* The next one is without it. */
	RETURNS(host_start());
	work(SAMPLE("pu1"), 30);
	RETURNS(host_stop());
	RETURNS(host_collect());
	ck_assert_uint_eq(seen.relus_count, 30);
}

START_TEST(one_that_hangs_costs_nothing_but_itself)
{
	hanging_run(_i, run_hanging_case);
}
END_TEST

/* Each step takes less than the limit, and all together more. */
START_TEST(steps_of_a_slow_plugin_share_the_limit)
{
	static const struct hanging_entry entry = { "tf_fault", "tf:TF_InitProfiler,tf:start", HANGING_START, "" };
	char guilty[512], list[1200];
	hanging_set(&entry);
	setenv("HANG_MS", "700", 1);
	hanging_path(&entry, guilty, sizeof(guilty));
	snprintf(list, sizeof(list), "%s:%s", guilty, SAMPLE("pu1"));
	setenv("EPPROF_OUTPUT", check_path("slow.epp"), 1);
	host_load(list);
	RETURNS(host_start());
	work(SAMPLE("pu1"), 300);
	RETURNS(host_stop());
	RETURNS(host_collect());
	ck_assert_uint_eq(seen.relus_count, 300);
	ck_assert_msg(strstr(told, "has not returned after " HANGING_LIMIT_MS " ms, earlier calls included") != NULL,
	              "%s", told);
	ck_assert_uint_eq(hung_count(check_path("slow.epp")), 1);
}
END_TEST

static void shared_tests_add(TCase *tests)
{
	tcase_add_loop_test(tests, each_run_has_its_events_and_no_others, 0, sizeof(samples) / sizeof(samples[0]));
	tcase_add_test(tests, plugins_of_all_kinds_run_together);
	tcase_add_test(tests, a_shared_session_gives_the_run_s_window);
	tcase_add_test(tests, an_output_that_cannot_be_written_costs_no_profile);
	tcase_add_test(tests, without_plugins_nothing_happens_and_is_said_once);
	tcase_add_loop_test(tests, a_plugin_may_be_named_as_for_pytorch, 0, 2);
	tcase_add_test(tests, devices_are_gpus_on_request);
	tcase_add_test(tests, a_run_without_work_is_empty);
	tcase_add_test(tests, what_fails_costs_only_itself_and_is_told);
	tcase_add_loop_test(tests, one_that_hangs_costs_nothing_but_itself, 0, HANGING_GROUPS);
	tcase_add_test(tests, steps_of_a_slow_plugin_share_the_limit);
	tcase_add_test(tests, texts_of_any_bytes_are_mended);
	tcase_add_test(tests, more_than_can_be_told_is_cut);
	tcase_add_test(tests, what_does_not_fit_is_left_out_and_counted);
	tcase_add_test(tests, runs_leave_nothing_behind);
	tcase_add_test(tests, threads_may_call_at_once);
	tcase_add_test(tests, closed_while_its_threads_live_on);
}

#endif
