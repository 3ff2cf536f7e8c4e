/* Bridges where users put them: a copy or a symbolic link, alone in a folder of a framework's; and together in one
 * process, whose one libepprof gives all of them one trace.  Covers no_zstd.c and formats_xspace.c.  tests/interop has
 * the frameworks themselves. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/abi/pjrt.h"
#include "epprof/abi/tf.h"
#include "epprof/epprof.h"
#include "epprof/timeline.h"
#include "tests/support/check.h"

#define SAMPLE(kind) CHECK_BUILD "/libsample_" kind "_ep.so"

static void *symbol_of(void *library, const char *name)
{
	void *found = dlsym(library, name);
	ck_assert_msg(found != NULL, "%s", name);
	return found;
}

/* The path of the bridge as a copy, or as a link, with another name in an empty folder. */
static const char *moved(const char *kind, bool is_link)
{
	char command[1024], *folder = check_path("%s %s", is_link ? "link" : "copy", kind);
	ck_assert(mkdir(folder, 0700) == 0 || errno == EEXIST);
	snprintf(command, sizeof(command), "%s '%s/libepprof_%s.so' '%s/bridge.so'", is_link ? "ln -sf" : "cp",
	         CHECK_BUILD, kind, folder);
	ck_assert_int_eq(system(command), 0);
	return check_path("%s %s/bridge.so", is_link ? "link" : "copy", kind);
}

static int find_trace_library(struct dl_phdr_info *info, size_t bytes, void *found)
{
	(void)bytes;
	*(bool *)found |= strstr(info->dlpi_name, "libepprof-trace") != NULL;
	return 0;
}

START_TEST(a_bridge_can_be_loaded_from_anywhere)
{
	static const struct {
		const char *kind, *entry;
	} bridges[] = { { "ort", "CreateEpFactories" }, { "tf", "TF_InitProfiler" }, { "pjrt", "GetPjrtApi" } };
	bool found = false;
	void *library = dlopen(moved(bridges[_i / 2].kind, _i % 2), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	symbol_of(library, bridges[_i / 2].entry);
	dl_iterate_phdr(find_trace_library, &found);
	ck_assert(!found);
}
END_TEST

/* ---- in one process ---- */

static void work(const char *library, int count)
{
	int (*sample_work)(int);
	*(void **)&sample_work = symbol_of(dlopen(library, RTLD_NOW), "epp_sample_work");
	ck_assert_int_eq(sample_work(count), 0);
}

static TP_ProfilerFns tensorflow = { .struct_size = TP_PROFILER_FNS_STRUCT_SIZE };

static void tensorflow_load(void)
{
	static TP_Profiler profiler = { .struct_size = TP_PROFILER_STRUCT_SIZE };
	TF_ProfilerRegistrationParams params = { .struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		                                 .profiler = &profiler,
		                                 .profiler_fns = &tensorflow };
	void (*init)(TF_ProfilerRegistrationParams *, TF_Status *);
	void *library = dlopen(moved("tf", false), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	*(void **)&init = symbol_of(library, "TF_InitProfiler");
	init(&params, NULL);
	ck_assert(tensorflow.start && tensorflow.stop && tensorflow.collect_data_xspace);
}

static void tensorflow_profile(int count)
{
	size_t bytes = 0;
	tensorflow.start(NULL, NULL);
	work(SAMPLE("pu1"), count);
	tensorflow.stop(NULL, NULL);
	tensorflow.collect_data_xspace(NULL, NULL, &bytes, NULL);
	uint8_t *buffer = malloc(bytes);
	tensorflow.collect_data_xspace(NULL, buffer, &bytes, NULL);
	ck_assert_uint_gt(bytes, 0);
	free(buffer);
}

static void jax_profile(int count)
{
	const PJRT_Api *(*get)(void);
	void *library = dlopen(moved("pjrt", false), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	*(void **)&get = symbol_of(library, "GetPjrtApi");
	const PLUGIN_Profiler_Api *api = ((const PJRT_Profiler_Extension *)(const void *)get()->extension_start)->profiler_api;
	PLUGIN_Profiler_Create_Args create = { .struct_size = sizeof(create) };
	ck_assert_ptr_null(api->create(&create));
	ck_assert_ptr_null(
	    api->start(&(PLUGIN_Profiler_Start_Args){ sizeof(PLUGIN_Profiler_Start_Args), create.profiler }));
	work(SAMPLE("tf"), count);
	ck_assert_ptr_null(api->stop(&(PLUGIN_Profiler_Stop_Args){ sizeof(PLUGIN_Profiler_Stop_Args), create.profiler }));
	PLUGIN_Profiler_CollectData_Args collect = { .struct_size = sizeof(collect), .profiler = create.profiler };
	ck_assert_ptr_null(api->collect_data(&collect));
	ck_assert_uint_gt(collect.buffer_size_in_bytes, 0);
	ck_assert_ptr_null(
	    api->destroy(&(PLUGIN_Profiler_Destroy_Args){ sizeof(PLUGIN_Profiler_Destroy_Args), create.profiler }));
}

/* An application that links libepprof, and records into its default session. */
static void record_as_program(int count)
{
	epp_name (*intern)(const char *);
	uint64_t (*begin)(epp_session *, epp_category, epp_name);
	void (*end)(epp_session *, uint64_t, const epp_arg *, size_t);
	void *library = dlopen(CHECK_BUILD "/libepprof.so.0", RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	*(void **)&intern = symbol_of(library, "epp_name_intern");
	*(void **)&begin = symbol_of(library, "epp_event_begin");
	*(void **)&end = symbol_of(library, "epp_event_end");
	for (int i = 0; i < count; i++)
		end(NULL, begin(NULL, EPP_NODE, intern("program's")), NULL, 0);
}

/* Runs `child` in a process of its own, whose exit finishes what it recorded.  Returns the trace's path. */
static const char *in_process(const char *folder, void (*child)(void))
{
	int result;
	ck_assert_int_eq(mkdir(check_path("%s", folder), 0700), 0);
	const char *output = check_path("%s/run.epp", folder);
	pid_t pid = fork();
	if (!pid) {
		setenv("EPPROF_OUTPUT", output, 1);
		setenv("EPPROF_PROFILERS", SAMPLE("pu1") ":" SAMPLE("tf"), 1);
		child();
		exit(0);
	}
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
	return output;
}

/* It is the only file in its folder, and as it should be. */
static void look_at(const char *folder, const char *output)
{
	char command[1024];
	snprintf(command, sizeof(command), "test \"$(ls -A '%s')\" = run.epp", check_path("%s", folder));
	ck_assert_int_eq(system(command), 0);
	snprintf(command, sizeof(command), CHECK_BUILD "/epprof validate '%s' >/dev/null", output);
	ck_assert_int_eq(system(command), 0);
}

static unsigned count_runs(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	unsigned count = epp_trace_get_info(trace)->runs_count;
	epp_trace_close(trace);
	return count;
}

static unsigned count_events(const char *path, const char *name)
{
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		count += event->name_bytes == strlen(name) && !memcmp(event->name, name, event->name_bytes);
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return count;
}

static void tensorflow_and_jax(void)
{
	tensorflow_load();
	tensorflow_profile(300);
	jax_profile(200);
	tensorflow_profile(100);
}

START_TEST(two_bridges_have_one_trace)
{
	const char *path = in_process("together", tensorflow_and_jax);
	look_at("together", path);
	ck_assert_uint_eq(count_events(path, "relu"), 600);
	ck_assert_uint_eq(count_runs(path), 3);
}
END_TEST

static void program_and_tensorflow(void)
{
	record_as_program(10);
	tensorflow_load();
	tensorflow_profile(300);
	record_as_program(20);
}

START_TEST(a_program_and_a_bridge_have_one_trace)
{
	const char *path = in_process("program", program_and_tensorflow);
	look_at("program", path);
	ck_assert_uint_eq(count_events(path, "relu"), 300);
	ck_assert_uint_eq(count_events(path, "program's"), 30);
}
END_TEST

static void tensorflow_without_plugins(void)
{
	setenv("EPPROF_PROFILERS", "", 1);
	tensorflow_load();
	tensorflow.start(NULL, NULL);
	tensorflow.stop(NULL, NULL);
}

START_TEST(what_records_nothing_leaves_no_file)
{
	ck_assert_int_eq(access(in_process("loaded", tensorflow_load), F_OK), -1);
	ck_assert_int_eq(access(in_process("no plugin", tensorflow_without_plugins), F_OK), -1);
}
END_TEST

static Suite *bridges_suite(void)
{
	Suite *suite = suite_create("bridges");
	TCase *tests = tcase_create("bridges");
	tcase_add_loop_test(tests, a_bridge_can_be_loaded_from_anywhere, 0, 6);
	tcase_add_test(tests, two_bridges_have_one_trace);
	tcase_add_test(tests, a_program_and_a_bridge_have_one_trace);
	tcase_add_test(tests, what_records_nothing_leaves_no_file);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(bridges_suite)
