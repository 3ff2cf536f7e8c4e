/* libepprof_tf.so in a host of ours that calls it as TensorFlow does: registration with room and without, two calls for a
 * profile, runs one after the other, plugins that are missing or fail, a second thread.  Covers tf_bridge.c and
 * xspace_carried.c; tests/interop has TensorFlow itself. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "epprof/plugin.h"
#include "epprof/tf.h"
#include "wire/xspace.h"

#define BRIDGE CHECK_BUILD "/libepprof_tf.so"
#define SAMPLE(kind) CHECK_BUILD "/libsample_" kind "_ep.so"
#define FAULT CHECK_BUILD "/tests/plugins/tf_fault.so"

/* As TensorFlow has it, with what must not be written behind. */
static struct {
	TF_ProfilerRegistrationParams params;
	uint64_t behind_params;
	TP_Profiler profiler;
	uint64_t behind_profiler;
	TP_ProfilerFns fns;
	uint64_t behind_fns;
} host;

static struct {
	TF_Status *(*create)(void);
	void (*set)(TF_Status *, TF_Code, const char *);
	TF_Code (*code)(const TF_Status *);
	const char *(*message)(const TF_Status *);
} tf;
static TF_Status *status;
static void (*init)(TF_ProfilerRegistrationParams *, TF_Status *);

static void find(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
	ck_assert_msg(*(void **)function != NULL, "%s", name);
}

static void params_fill(void)
{
	host.behind_params = host.behind_profiler = host.behind_fns = UINT64_C(0xA5A5A5A5A5A5A5A5);
	host.profiler = (TP_Profiler){ .struct_size = TP_PROFILER_STRUCT_SIZE };
	host.fns = (TP_ProfilerFns){ .struct_size = TP_PROFILER_FNS_STRUCT_SIZE };
	host.params = (TF_ProfilerRegistrationParams){ .struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		                                       .patch_version = TP_PATCH,
		                                       .profiler = &host.profiler,
		                                       .profiler_fns = &host.fns };
}

static void bridge_load(const char *plugins)
{
	setenv("EPPROF_PROFILERS", plugins, 1);
	/* What the bridge and the plugins find in TensorFlow. */
	void *shim = dlopen(CHECK_BUILD "/libepprof_tf_shim.so", RTLD_NOW | RTLD_GLOBAL);
	ck_assert_msg(shim != NULL, "%s", dlerror());
	find(shim, "TF_NewStatus", &tf.create);
	find(shim, "TF_SetStatus", &tf.set);
	find(shim, "TF_GetCode", &tf.code);
	find(shim, "TF_Message", &tf.message);
	status = tf.create();
	void *bridge = dlopen(BRIDGE, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(bridge != NULL, "%s", dlerror());
	find(bridge, "TF_InitProfiler", &init);
}

static void registered(const char *plugins)
{
	bridge_load(plugins);
	params_fill();
	init(&host.params, status);
	ck_assert_int_eq(tf.code(status), TF_OK);
	host.params.destroy_profiler(&host.profiler);
	host.params.destroy_profiler(&host.profiler);
	host.params.destroy_profiler_fns(&host.fns);
	host.params.destroy_profiler_fns(&host.fns);
}

static void work(const char *library, int count)
{
	int (*sample_work)(int);
	find(dlopen(library, RTLD_NOW), "epp_sample_work", &sample_work);
	ck_assert_int_eq(sample_work(count), 0);
}

static void start(void)
{
	tf.set(status, TF_OK, "");
	host.fns.start(&host.profiler, status);
	ck_assert_msg(tf.code(status) == TF_OK, "%s", tf.message(status));
}

static void stop(void)
{
	host.fns.stop(&host.profiler, status);
	ck_assert_msg(tf.code(status) == TF_OK, "%s", tf.message(status));
}

/* ---- what comes back ---- */

static struct {
	unsigned relus_count, others_count, planes_count;
	int64_t first_ns, last_ns; /* of relus, UNIX time */
	int64_t line_ns;
	bool is_device;
} seen;

static void see_plane(void *user, const struct xspace_plane *plane)
{
	(void)user;
	seen.planes_count++;
	seen.is_device = plane->name.bytes > 15 && memcmp(plane->name.text, "/device:CUSTOM:", 15) == 0;
}

static void see_line(void *user, const struct xspace_line *line)
{
	(void)user;
	seen.line_ns = line->timestamp_ns;
}

static void see_event(void *user, const struct xspace_event *event)
{
	(void)user;
	if (event->name.bytes != 4 || memcmp(event->name.text, "relu", 4) != 0 || !seen.is_device) {
		seen.others_count++;
		return;
	}
	int64_t start_ns = seen.line_ns + event->offset_ps / 1000, end_ns = start_ns + event->duration_ps / 1000;
	if (!seen.relus_count++ || start_ns < seen.first_ns)
		seen.first_ns = start_ns;
	seen.last_ns = seen.last_ns > end_ns ? seen.last_ns : end_ns;
}

/* TensorFlow's two calls: garbage for a size, one status for both.  Returns the size. */
static size_t collect(void)
{
	size_t count = (size_t)0xDEADBEEFDEADBEEF;
	memset(&seen, 0, sizeof(seen));
	tf.set(status, TF_OK, "");
	host.fns.collect_data_xspace(&host.profiler, NULL, &count, status);
	size_t asked = count;
	ck_assert_uint_le(count, INT32_MAX);
	uint8_t *bytes = count ? malloc(count + 1) : NULL;
	if (bytes)
		bytes[count] = 0x5A;
	host.fns.collect_data_xspace(&host.profiler, bytes, &count, status);
	ck_assert_uint_eq(count, asked);
	if (bytes) {
		struct xspace_account account = { 0 };
		struct xspace_reader reader = { .plane = see_plane, .line = see_line, .event = see_event };
		check_ok(xspace_read(bytes, count, &reader, &account));
		ck_assert_uint_eq(account.nameless_count, 0);
		ck_assert_uint_eq(bytes[asked], 0x5A);
	}
	free(bytes);
	return asked;
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
	start();
	work(library, 300);
	stop();
	work(library, 7);
	ck_assert_uint_gt(collect(), 0);
	ck_assert_str_eq(tf.message(status), "");
	ck_assert_uint_eq(seen.relus_count, count);
	/* The device's clock is known to within a bound; the sample's is far below this. */
	ck_assert_int_ge(seen.first_ns, before_ns);
	ck_assert_int_le(seen.last_ns, unix_ns() + 1000000000);
	ck_assert_uint_eq(collect(), 0);
}

/* ---- registration ---- */

START_TEST(registration_is_whole_and_in_bounds)
{
	registered("");
	ck_assert_uint_eq(host.params.struct_size, 64);
	ck_assert_uint_eq(host.profiler.struct_size, 24);
	ck_assert_uint_eq(host.fns.struct_size, 40);
	ck_assert_str_eq(host.profiler.device_type, "EPPROF");
	ck_assert(host.fns.start && host.fns.stop && host.fns.collect_data_xspace);
	ck_assert_uint_eq(host.behind_params & host.behind_profiler & host.behind_fns, UINT64_C(0xA5A5A5A5A5A5A5A5));
}
END_TEST

START_TEST(where_there_is_no_room_nothing_is_written)
{
	bridge_load(SAMPLE("pu1"));
	for (unsigned i = 0; i < 6; i++) {
		params_fill();
		host.params.struct_size = i == 0 ? 63 : i == 1 ? 0 : host.params.struct_size;
		host.profiler.struct_size = i == 2 ? 23 : host.profiler.struct_size;
		host.fns.struct_size = i == 3 ? 39 : host.fns.struct_size;
		host.params.profiler = i == 4 ? NULL : host.params.profiler;
		host.params.profiler_fns = i == 5 ? NULL : host.params.profiler_fns;
		tf.set(status, TF_OK, "");
		init(&host.params, status);
		ck_assert_int_eq(tf.code(status), TF_FAILED_PRECONDITION);
		ck_assert_ptr_null(host.profiler.device_type);
		ck_assert(!host.fns.start && !host.fns.stop && !host.fns.collect_data_xspace);
		ck_assert(!host.params.destroy_profiler && !host.params.destroy_profiler_fns);
	}
	init(NULL, status);
	init(NULL, NULL);
}
END_TEST

START_TEST(epprof_itself_takes_it_for_a_plugin)
{
	epp_plugin *plugin;
	setenv("EPPROF_PROFILERS", "", 1);
	check_ok(epp_plugin_load(BRIDGE, &plugin));
	ck_assert_str_eq(epp_plugin_kind(plugin), "tf");
	ck_assert_str_eq(epp_plugin_name(plugin), "EPPROF");
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* ---- profiles ---- */

static const char *const samples[] = { SAMPLE("pu1"), SAMPLE("pjrt"), SAMPLE("tf"), SAMPLE("tf_first") };

START_TEST(each_run_has_its_events_and_no_others)
{
	registered(samples[_i]);
	for (unsigned run = 0; run < 4; run++)
		profile(samples[_i], 300);
}
END_TEST

/* One for ONNX Runtime records the work of events that it is shown; here there are none. */
START_TEST(plugins_of_all_kinds_run_together)
{
	registered(SAMPLE("ort") ":" SAMPLE("pu1") ":" SAMPLE("pjrt") ":" SAMPLE("tf"));
	for (unsigned run = 0; run < 2; run++) {
		start();
		for (unsigned i = 0; i < 3; i++)
			work(samples[i], 300);
		stop();
		collect();
		ck_assert_str_eq(tf.message(status), "");
		ck_assert_uint_eq(seen.relus_count, 900);
	}
}
END_TEST

START_TEST(a_shared_session_gives_the_run_s_window)
{
	setenv("EPPROF_OUTPUT", check_path("run.epp"), 1);
	registered(SAMPLE("pu1") ":" SAMPLE("tf"));
	for (unsigned run = 0; run < 3; run++)
		profile(run & 1 ? SAMPLE("tf") : SAMPLE("pu1"), 300);
	ck_assert_int_eq(access(check_path("run.epp"), F_OK), 0);
}
END_TEST

START_TEST(an_output_that_cannot_be_written_costs_no_profile)
{
	setenv("EPPROF_OUTPUT", "/nowhere/run.epp", 1);
	registered(SAMPLE("pu1"));
	start();
	work(SAMPLE("pu1"), 5);
	stop();
	collect();
	ck_assert_uint_eq(seen.relus_count, 5);
	ck_assert_ptr_nonnull(strstr(tf.message(status), "/nowhere/run.epp"));
}
END_TEST

START_TEST(without_plugins_nothing_happens_and_is_said_once)
{
	registered("::");
	for (unsigned run = 0; run < 3; run++) {
		start();
		stop();
		ck_assert_uint_eq(collect(), 0);
		ck_assert_int_eq(tf.code(status), run ? TF_OK : TF_INTERNAL);
		if (!run)
			ck_assert_ptr_nonnull(strstr(tf.message(status), "EPPROF_PROFILERS names no plugin"));
	}
}
END_TEST

START_TEST(a_run_without_work_is_empty)
{
	registered(SAMPLE("pu1"));
	for (unsigned run = 0; run < 2; run++) {
		start();
		stop();
		ck_assert_uint_eq(collect(), 0);
		ck_assert_int_eq(tf.code(status), TF_OK);
	}
	profile(SAMPLE("pu1"), 300);
}
END_TEST

START_TEST(what_fails_costs_only_itself_and_is_told)
{
	setenv("TF_FAULT", "stop", 1);
	registered("/nowhere/\"no\tplugin\".so:" BRIDGE ":" FAULT ":" SAMPLE("pu1"));
	start();
	work(SAMPLE("pu1"), 20);
	stop();
	collect();
	ck_assert_uint_eq(seen.relus_count, 20);
	ck_assert_int_eq(tf.code(status), TF_INTERNAL);
	ck_assert_ptr_nonnull(strstr(tf.message(status), "/nowhere/\"no\tplugin\".so"));
	ck_assert_ptr_nonnull(strstr(tf.message(status), "libepprof_tf.so: is a bridge itself"));
	ck_assert_ptr_nonnull(strstr(tf.message(status), "XPU: EndProfiling: stop: code 13"));
	unsetenv("TF_FAULT");
	profile(SAMPLE("pu1"), 300);
}
END_TEST

START_TEST(more_than_can_be_told_is_cut)
{
	char list[8192] = "";
	for (unsigned i = 0; i < 100; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "/nowhere/a-library-with-a-long-name-%u.so:", i);
	snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s", SAMPLE("pu1"));
	registered(list);
	start();
	work(SAMPLE("pu1"), 3);
	stop();
	collect();
	ck_assert_uint_eq(seen.relus_count, 3);
	ck_assert_uint_lt(strlen(tf.message(status)), 2048);
}
END_TEST

/* ---- calls that come otherwise ---- */

START_TEST(a_second_registration_counts_nothing_twice)
{
	TP_ProfilerFns first;
	size_t count;
	registered(SAMPLE("pu1"));
	first = host.fns;
	params_fill();
	init(&host.params, status);
	ck_assert_int_eq(tf.code(status), TF_OK);
	for (unsigned run = 0; run < 2; run++) {
		first.start(NULL, status);
		start();
		work(SAMPLE("pu1"), 10);
		first.stop(NULL, status);
		stop();
		collect();
		ck_assert_uint_eq(seen.relus_count, 10);
		first.collect_data_xspace(NULL, NULL, &count, status);
		ck_assert_uint_eq(count, 0);
	}
}
END_TEST

START_TEST(calls_out_of_order_do_no_harm)
{
	uint8_t bytes[64];
	size_t count = 0;
	registered(SAMPLE("pu1"));
	stop();
	ck_assert_uint_eq(collect(), 0);
	start();
	work(SAMPLE("pu1"), 3);
	/* While it runs there is nothing to be had. */
	ck_assert_uint_eq(collect(), 0);
	stop();
	stop();
	host.fns.collect_data_xspace(&host.profiler, bytes, NULL, status);
	/* A buffer too small stays as it is, and the profile too. */
	memset(bytes, 0x5A, sizeof(bytes));
	count = 1;
	host.fns.collect_data_xspace(&host.profiler, bytes, &count, status);
	ck_assert_int_eq(tf.code(status), TF_OUT_OF_RANGE);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		ck_assert_uint_eq(bytes[i], 0x5A);
	tf.set(status, TF_OK, "");
	collect();
	ck_assert_uint_eq(seen.relus_count, 3);
	/* What nobody collects is gone with the next start. */
	start();
	work(SAMPLE("pu1"), 4);
	stop();
	profile(SAMPLE("pu1"), 300);
}
END_TEST

static void *run_again(void *user)
{
	(void)user;
	for (unsigned run = 0; run < 20; run++) {
		size_t count = 1;
		uint8_t byte;
		host.fns.start(NULL, NULL);
		host.fns.stop(NULL, NULL);
		host.fns.collect_data_xspace(NULL, &byte, &count, NULL);
	}
	return NULL;
}

START_TEST(threads_may_call_at_once)
{
	pthread_t threads[3];
	registered(SAMPLE("pu1"));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_again, NULL), 0);
	work(SAMPLE("pu1"), 100);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	collect();
	profile(SAMPLE("pu1"), 300);
}
END_TEST

static Suite *tf_bridge_suite(void)
{
	Suite *suite = suite_create("tf_bridge");
	TCase *tests = tcase_create("tf_bridge");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, registration_is_whole_and_in_bounds);
	tcase_add_test(tests, where_there_is_no_room_nothing_is_written);
	tcase_add_test(tests, epprof_itself_takes_it_for_a_plugin);
	tcase_add_loop_test(tests, each_run_has_its_events_and_no_others, 0, sizeof(samples) / sizeof(samples[0]));
	tcase_add_test(tests, plugins_of_all_kinds_run_together);
	tcase_add_test(tests, a_shared_session_gives_the_run_s_window);
	tcase_add_test(tests, an_output_that_cannot_be_written_costs_no_profile);
	tcase_add_test(tests, without_plugins_nothing_happens_and_is_said_once);
	tcase_add_test(tests, a_run_without_work_is_empty);
	tcase_add_test(tests, what_fails_costs_only_itself_and_is_told);
	tcase_add_test(tests, more_than_can_be_told_is_cut);
	tcase_add_test(tests, a_second_registration_counts_nothing_twice);
	tcase_add_test(tests, calls_out_of_order_do_no_harm);
	tcase_add_test(tests, threads_may_call_at_once);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(tf_bridge_suite)
