/* libepprof_tf.so in a host of ours that calls it as TensorFlow does: registration with room and without, two calls for
 * a profile, runs one after the other, plugins that are missing or fail, a second thread.  Covers tf_bridge.c,
 * hosted_plugins.c, xspace_plugin_run.c and xspace_profile.c; tests/interop has TensorFlow itself. */

#include "epprof/abi/tf.h"
#include "epprof/plugin.h"
#include "xspace_bridge_host.h"

static const char bridge_path[] = BRIDGE("tf");

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
	void *bridge = dlopen(BRIDGE("tf"), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(bridge != NULL, "%s", dlerror());
	find(bridge, "TF_InitProfiler", &init);
}

static void host_load(const char *plugins)
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

static void host_start(void)
{
	tf.set(status, TF_OK, "");
	host.fns.start(&host.profiler, status);
	ck_assert_msg(tf.code(status) == TF_OK, "%s", tf.message(status));
}

static void host_stop(void)
{
	host.fns.stop(&host.profiler, status);
	ck_assert_msg(tf.code(status) == TF_OK, "%s", tf.message(status));
}

/* TensorFlow's two calls: garbage for a size, one status for both. */
static size_t host_collect(void)
{
	size_t count = GARBAGE_SIZE;
	tf.set(status, TF_OK, "");
	host.fns.collect_data_xspace(&host.profiler, NULL, &count, status);
	size_t asked = count;
	uint8_t *bytes = calloc(1, count + 1);
	host.fns.collect_data_xspace(&host.profiler, count ? bytes : NULL, &count, status);
	ck_assert_uint_eq(count, asked);
	ck_assert_uint_eq(bytes[asked], 0);
	see(bytes, count);
	ck_assert((tf.code(status) == TF_OK) == (*tf.message(status) == 0));
	snprintf(told, sizeof(told), "%s", tf.message(status));
	free(bytes);
	return asked;
}

/* ---- registration ---- */

START_TEST(registration_is_whole_and_in_bounds)
{
	host_load("");
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
	check_ok(epp_plugin_load(BRIDGE("tf"), &plugin));
	ck_assert_str_eq(epp_plugin_kind(plugin), "tf");
	ck_assert_str_eq(epp_plugin_name(plugin), "EPPROF");
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

/* ---- calls that come otherwise ---- */

START_TEST(a_second_registration_counts_nothing_twice)
{
	TP_ProfilerFns first;
	size_t count;
	host_load(SAMPLE("pu1"));
	first = host.fns;
	params_fill();
	init(&host.params, status);
	ck_assert_int_eq(tf.code(status), TF_OK);
	for (unsigned run = 0; run < 2; run++) {
		first.start(NULL, status);
		host_start();
		work(SAMPLE("pu1"), 10);
		first.stop(NULL, status);
		host_stop();
		host_collect();
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
	host_load(SAMPLE("pu1"));
	host_stop();
	ck_assert_uint_eq(host_collect(), 0);
	host_start();
	work(SAMPLE("pu1"), 3);
	/* While it runs there is nothing to be had. */
	ck_assert_uint_eq(host_collect(), 0);
	host_stop();
	host_stop();
	host.fns.collect_data_xspace(&host.profiler, bytes, NULL, status);
	/* A buffer too small stays as it is, and the profile too. */
	memset(bytes, 0x5A, sizeof(bytes));
	count = 1;
	host.fns.collect_data_xspace(&host.profiler, bytes, &count, status);
	ck_assert_int_eq(tf.code(status), TF_OUT_OF_RANGE);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		ck_assert_uint_eq(bytes[i], 0x5A);
	tf.set(status, TF_OK, "");
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 3);
	/* What nobody collects is gone with the next start. */
	host_start();
	work(SAMPLE("pu1"), 4);
	host_stop();
	profile(SAMPLE("pu1"), 300);
	/* Nor does it come twice. */
	ck_assert_uint_eq(host_collect(), 0);
}
END_TEST

static void host_run_unseen(void)
{
	size_t count = 1;
	uint8_t byte;
	host.fns.start(NULL, NULL);
	host.fns.stop(NULL, NULL);
	host.fns.collect_data_xspace(NULL, &byte, &count, NULL);
}

static Suite *tf_bridge_suite(void)
{
	Suite *suite = suite_create("tf_bridge");
	TCase *tests = tcase_create("tf_bridge");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, registration_is_whole_and_in_bounds);
	tcase_add_test(tests, where_there_is_no_room_nothing_is_written);
	tcase_add_test(tests, epprof_itself_takes_it_for_a_plugin);
	shared_tests_add(tests);
	tcase_add_test(tests, a_second_registration_counts_nothing_twice);
	tcase_add_test(tests, calls_out_of_order_do_no_harm);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(tf_bridge_suite)
