/* libepprof_pjrt.so in a host of ours that calls it as JAX does: a profiler for each session, garbage for sizes, and
 * each call in a wrong place; plugins that are missing or fail, a second registration, a second thread; and epprof as
 * its host. Covers pjrt_bridge.c; tests/interop has JAX itself, check_jax_plugins the package that JAX finds it by. */
#include <sys/resource.h>

#include "epprof/abi/pjrt.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/recording.h"
#include "xspace_bridge_host.h"

static const char bridge_path[] = BRIDGE("pjrt");

static const PJRT_Profiler_Extension *extension;
static const PLUGIN_Profiler_Api *api;
static PLUGIN_Profiler *profiler; /* of the session */

/* Takes an error; its text, not terminated by the plugin, is left in `told`. */
static int code_of(PLUGIN_Profiler_Error *error)
{
	*told = 0;
	if (!error)
		return 0;
	PLUGIN_Profiler_Error_Message_Args message = { .struct_size = GARBAGE_SIZE, .error = error };
	PLUGIN_Profiler_Error_GetCode_Args code = { .struct_size = GARBAGE_SIZE, .error = error };
	api->error_message(&message);
	ck_assert_uint_lt(message.message_size, sizeof(told));
	memcpy(told, message.message, message.message_size);
	told[message.message_size] = 0;
	ck_assert_ptr_null(api->error_get_code(&code));
	api->error_destroy(&(PLUGIN_Profiler_Error_Destroy_Args){ .struct_size = GARBAGE_SIZE, .error = error });
	ck_assert_int_ne(code.code, 0);
	return code.code;
}

static PLUGIN_Profiler *create(void)
{
	PLUGIN_Profiler_Create_Args args = { .struct_size = GARBAGE_SIZE, .options = "\x28\x01", .options_size = 2 };
	ck_assert_ptr_null(api->create(&args));
	ck_assert_ptr_nonnull(args.profiler);
	return args.profiler;
}

static int start(PLUGIN_Profiler *of)
{
	return code_of(api->start(&(PLUGIN_Profiler_Start_Args){ GARBAGE_SIZE, of }));
}

static int stop(PLUGIN_Profiler *of)
{
	return code_of(api->stop(&(PLUGIN_Profiler_Stop_Args){ GARBAGE_SIZE, of }));
}

static size_t collect(PLUGIN_Profiler *of)
{
	PLUGIN_Profiler_CollectData_Args args = { GARBAGE_SIZE, of, NULL, GARBAGE_SIZE };
	ck_assert_int_eq(code_of(api->collect_data(&args)), 0);
	ck_assert_ptr_nonnull(args.buffer);
	see(args.buffer, args.buffer_size_in_bytes);
	return args.buffer_size_in_bytes;
}

static int destroy(PLUGIN_Profiler *of)
{
	return code_of(api->destroy(&(PLUGIN_Profiler_Destroy_Args){ GARBAGE_SIZE, of }));
}

static void host_load(const char *plugins)
{
	const PJRT_Api *(*get)(void);
	setenv("EPPROF_PROFILERS", plugins, 1);
	void *bridge = dlopen(BRIDGE("pjrt"), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(bridge != NULL, "%s", dlerror());
	find(bridge, "GetPjrtApi", &get);
	extension = (const PJRT_Profiler_Extension *)(const void *)get()->extension_start;
	api = extension->profiler_api;
}

static void host_start(void)
{
	profiler = create();
	ck_assert_int_eq(start(profiler), 0);
}

static void host_stop(void)
{
	ck_assert_int_eq(stop(profiler), 0);
}

static size_t host_collect(void)
{
	size_t count = collect(profiler);
	destroy(profiler);
	return count;
}

/* ---- tests ---- */

START_TEST(the_tables_are_what_jax_wants)
{
	const PJRT_Api *(*get)(void);
	host_load("");
	find(dlopen(BRIDGE("pjrt"), RTLD_NOW), "GetPjrtApi", &get);
	ck_assert_ptr_eq(get(), get());
	ck_assert_uint_ge(get()->struct_size, sizeof(EpprofPjrtApi));
	const EpprofPjrtApi *all = (const EpprofPjrtApi *)(const void *)get();
	for (size_t i = 0; i < sizeof(all->entries) / sizeof(all->entries[0]); i++)
		ck_assert_ptr_null(all->entries[i]);
	ck_assert_uint_eq(extension->base.struct_size, 40);
	ck_assert_int_eq((int)extension->base.type, PJRT_Extension_Type_Profiler);
	ck_assert_ptr_null(extension->base.next);
	ck_assert_uint_eq(api->struct_size, 80);
}
END_TEST

START_TEST(a_profile_stays_until_its_profiler_goes)
{
	host_load(SAMPLE("pu1"));
	host_start();
	work(SAMPLE("pu1"), 30);
	host_stop();
	PLUGIN_Profiler *older = profiler;
	size_t count = collect(older);
	host_start();
	work(SAMPLE("pu1"), 4);
	host_stop();
	host_collect();
	ck_assert_uint_eq(seen.relus_count, 4);
	ck_assert_uint_eq(collect(older), count);
	ck_assert_uint_eq(seen.relus_count, 30);
	ck_assert_int_eq(destroy(older), 0);
}
END_TEST

START_TEST(a_buffer_is_filled_if_its_size_was_asked_for)
{
	uint8_t nothing = 0x5A;
	host_load(SAMPLE("pu1"));
	host_start();
	work(SAMPLE("pu1"), 30);
	host_stop();
	PLUGIN_Profiler_CollectData_Args args = { GARBAGE_SIZE, profiler, &nothing, GARBAGE_SIZE };
	ck_assert_int_eq(code_of(api->collect_data(&args)), 9);
	ck_assert_uint_eq(nothing, 0x5A);
	ck_assert_uint_eq(args.buffer_size_in_bytes, 0);
	size_t count = collect(profiler);
	args.buffer = malloc(count);
	ck_assert_int_eq(code_of(api->collect_data(&args)), 0);
	ck_assert_uint_eq(args.buffer_size_in_bytes, count);
	see(args.buffer, count);
	ck_assert_uint_eq(seen.relus_count, 30);
	free(args.buffer);
	ck_assert_int_eq(destroy(profiler), 0);
}
END_TEST

/* As JAX does with a library that was registered twice. */
START_TEST(of_two_at_once_the_first_has_the_run)
{
	host_load(SAMPLE("pu1"));
	for (unsigned run = 0; run < 2; run++) {
		PLUGIN_Profiler *both[] = { create(), create() };
		for (unsigned i = 0; i < 2; i++)
			ck_assert_int_eq(start(both[i]), 0);
		work(SAMPLE("pu1"), 10);
		for (unsigned i = 0; i < 2; i++)
			ck_assert_int_eq(stop(both[i]), 0);
		ck_assert_uint_gt(collect(both[0]), 0);
		ck_assert_uint_eq(seen.relus_count, 10);
		ck_assert_uint_eq(collect(both[1]), 0);
		ck_assert_int_eq(destroy(both[0]), 0);
		ck_assert_int_eq(destroy(both[1]), 13);
		ck_assert_str_eq(told, "another profile of this process is active and receives all events");
	}
}
END_TEST

START_TEST(calls_out_of_order_do_no_harm)
{
	host_load(SAMPLE("pu1"));
	profiler = create();
	host_stop();
	ck_assert_uint_eq(host_collect(), 0);
	ck_assert_int_eq(destroy(NULL), 0);
	host_start();
	ck_assert_int_eq(start(profiler), 0);
	work(SAMPLE("pu1"), 3);
	/* While it runs there is nothing to be had. */
	ck_assert_uint_eq(collect(profiler), 0);
	host_stop();
	host_stop();
	collect(profiler);
	ck_assert_uint_eq(seen.relus_count, 3);
	/* It may be started again, and what was not asked for is gone then. */
	for (int count = 4; count < 6; count++) {
		ck_assert_int_eq(start(profiler), 0);
		work(SAMPLE("pu1"), count);
		host_stop();
	}
	collect(profiler);
	ck_assert_uint_eq(seen.relus_count, 5);
	/* Or go while it runs. */
	ck_assert_int_eq(start(profiler), 0);
	ck_assert_int_eq(destroy(profiler), 0);
	profile(SAMPLE("pu1"), 300);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Without address space the stack cannot grow either. */
static void grow_stack(void)
{
	volatile char room[256 * 1024];
	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 0;
}
#endif

START_TEST(without_memory_it_is_started_that_fails)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	host_load(SAMPLE("pu1"));
	grow_stack();
	setrlimit(RLIMIT_AS, &(struct rlimit){ 1, RLIM_INFINITY });
	for (size_t bytes = 1 << 20; bytes > 1024; bytes /= 2)
		while (malloc(bytes)) {}
	profiler = create();
	setrlimit(RLIMIT_AS, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	ck_assert_int_eq(start(profiler), 8);
	ck_assert_str_eq(told, "epprof: out of memory");
	host_stop();
	ck_assert_uint_eq(host_collect(), 0);
	profile(SAMPLE("pu1"), 300);
#endif
}
END_TEST

static void host_run_unseen(void)
{
	PLUGIN_Profiler_Create_Args created = { 0 };
	PLUGIN_Profiler_CollectData_Args collected = { 0 };
	api->create(&created);
	api->start(&(PLUGIN_Profiler_Start_Args){ GARBAGE_SIZE, created.profiler });
	api->stop(&(PLUGIN_Profiler_Stop_Args){ GARBAGE_SIZE, created.profiler });
	collected.profiler = created.profiler;
	api->collect_data(&collected);
	api->error_destroy(&(PLUGIN_Profiler_Error_Destroy_Args){
	    .error = api->destroy(&(PLUGIN_Profiler_Destroy_Args){ GARBAGE_SIZE, created.profiler }) });
}

/* epprof, the bridge, the plugin; and it is not hosted by itself when epprof's host has it from the same variable. */
START_TEST(epprof_itself_takes_it_for_a_plugin)
{
	epp_plugin *plugin;
	OrtEpProfilerImpl *impl;
	host_load(_i ? SAMPLE("pu1") : BRIDGE("pjrt") ":" SAMPLE("pu1"));
	check_ok(epp_plugin_load(BRIDGE("pjrt"), &plugin));
	ck_assert_str_eq(epp_plugin_kind(plugin), "pjrt");
	check_ok(epp_plugin_profiler_create(plugin, &impl));
	epp_session_options options = { .struct_size = sizeof(options) };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, impl, "hosted"));
	for (unsigned run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		work(SAMPLE("pu1"), 300);
		check_ok(epp_session_end(session));
		epp_status *status = epp_session_wait(session, 20000000000u);
		const char *message = epp_status_message(status);
		ck_assert_msg(_i || run ? !status : strstr(message, "is a bridge itself") != NULL, "%s", message);
		epp_status_destroy(status);
	}
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("relu")), 600);
	trace_scan_free(scan);
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

static Suite *pjrt_bridge_suite(void)
{
	Suite *suite = suite_create("pjrt_bridge");
	TCase *tests = tcase_create("pjrt_bridge");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, the_tables_are_what_jax_wants);
	shared_tests_add(tests);
	tcase_add_test(tests, a_profile_stays_until_its_profiler_goes);
	tcase_add_test(tests, a_buffer_is_filled_if_its_size_was_asked_for);
	tcase_add_test(tests, of_two_at_once_the_first_has_the_run);
	tcase_add_test(tests, calls_out_of_order_do_no_harm);
	tcase_add_test(tests, without_memory_it_is_started_that_fails);
	tcase_add_loop_test(tests, epprof_itself_takes_it_for_a_plugin, 0, 2);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(pjrt_bridge_suite)
