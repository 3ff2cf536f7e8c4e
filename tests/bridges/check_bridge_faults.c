/* Bridges whose system calls or allocations fail: one of them, or one and all after it.  The process goes on; a profile
 * or a trace that lacks an event counts it, or the framework got a message; no other file is left.
 *
 * The frameworks are stand-ins: this program itself, started again with plugins/failing_calls or plugins/failing_malloc
 * preloaded, which calls a bridge as TensorFlow, JAX or ONNX Runtime does.  The plugin is scripted_pu1, which allocates
 * nothing: what is lost is the bridge's.
 *
 * CHECK_FAULTS_ALL=1: each call, which takes an hour. */
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "encoding/xspace.h"
#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/abi/pjrt.h"
#include "epprof/abi/pu1.h"
#include "epprof/abi/tf.h"
#include "epprof/epprof.h"
#include "epprof/plugin.h"
#include "epprof/trace_reader.h"
#include "ort_abi/ort_event.h"
#include "tests/plugins/scripted_pu1.h"
#include "tests/support/failing_process.h"
#include "tests/support/lives.h"

#define HOST "BRIDGE_FAULTS" /* an environment variable: the name of the host to be */
#define RECORDS 40u          /* of the plugin, in each run */
#define NODES 5u             /* of ONNX Runtime */
#define RUNS 2u
#define ONE_IN 6u /* of the calls with different callers */
#define PLUGIN CHECK_BUILD "/tests/plugins/scripted_pu1.so"

/* ---- hosts, in a process of their own ---- */

/* Printed at the end. */
static unsigned recorded_count; /* events that a started bridge was given */
static unsigned profile_count;  /* of these, in the profiles that it returned */

static void *symbol(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static void report(const char *step, const char *text)
{
	fprintf(stderr, "%s: %s\n", step, text);
}

/* The plugin's work: records in one buffer of the host. */
static void emit_records(void)
{
	struct pu1_script *script = symbol(dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD), "script");
	uint8_t *buffer = NULL;
	size_t bytes = 0, most = 0;
	struct timespec now;

	if (!script || !script->request || !script->kinds_enabled)
		return;
	script->request(&buffer, &bytes, &most);
	if (!buffer || bytes < RECORDS * sizeof(pu1ActivityRecord)) {
		/* It was refused a buffer: the plugin reports the loss. */
		script->dropped_count += RECORDS;
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t at_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (uint32_t i = 0; i < RECORDS; i++) {
		pu1ActivityRecord record = { .kind = PU1_KIND_CONCURRENT_KERNEL,
			                     .struct_size = sizeof record,
			                     .start_time = at_ns + i,
			                     .end_time = at_ns + i + 1,
			                     .stream_id = i % 3,
			                     .name = "kernel" };
		memcpy(buffer + i * sizeof record, &record, sizeof record);
	}
	script->complete(buffer, bytes, RECORDS * sizeof(pu1ActivityRecord));
}

static bool count_kernel_plane(void *user, const struct xspace_plane *plane)
{
	(void)user, (void)plane;
	return true;
}

static void count_kernel(void *user, const struct xspace_event *event)
{
	(void)user;
	profile_count += event->name.bytes == 6 && memcmp(event->name.text, "kernel", 6) == 0;
}

static void pause_faults(bool pause)
{
	void (*failing_pause)(bool);

	*(void **)&failing_pause = dlsym(RTLD_DEFAULT, "failing_pause");
	failing_pause(pause);
}

/* Makes the variables of the plugin: if the loader has no memory for them later, it ends the process. */
static void touch_plugin(void)
{
	pause_faults(true);
	struct pu1_script *script = symbol(dlopen(PLUGIN, RTLD_NOW), "script");
	script->depth();
	pause_faults(false);
}

static void count_kernels(const void *bytes, size_t count)
{
	struct xspace_reader reader = { .plane = count_kernel_plane, .event = count_kernel };
	struct xspace_account account = { 0 };

	pause_faults(true);
	epp_status *status = xspace_read(bytes, count, &reader, &account);
	if (status)
		exit(3);
	pause_faults(false);
}

static struct {
	TF_Status *(*create)(void);
	TF_Code (*code)(const TF_Status *);
	const char *(*message)(const TF_Status *);
	void (*delete)(TF_Status *);
} tf;

static bool is_right(const char *step, const TF_Status *status)
{
	if (tf.code(status) == TF_OK && !*tf.message(status))
		return true;
	report(step, tf.message(status));
	return tf.code(status) == TF_OK;
}

static void collect(const TP_ProfilerFns *fns, TP_Profiler *profiler, TF_Status *status)
{
	size_t count = 0;

	fns->collect_data_xspace(profiler, NULL, &count, status);
	uint8_t *bytes = is_right("collect", status) ? malloc(count + 1) : NULL;
	if (bytes && count) {
		fns->collect_data_xspace(profiler, bytes, &count, status);
		if (is_right("collect again", status))
			count_kernels(bytes, count);
	} else if (!bytes) {
		report("collect", "no memory");
	}
	free(bytes);
}

static int be_tensorflow(void)
{
	static TP_Profiler profiler = { .struct_size = TP_PROFILER_STRUCT_SIZE };
	static TP_ProfilerFns fns = { .struct_size = TP_PROFILER_FNS_STRUCT_SIZE };
	TF_ProfilerRegistrationParams params = { .struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		                                 .profiler = &profiler,
		                                 .profiler_fns = &fns };
	void (*init)(TF_ProfilerRegistrationParams *, TF_Status *);
	void *shim = dlopen(CHECK_BUILD "/libepprof_tf_shim.so", RTLD_NOW | RTLD_GLOBAL);
	void *bridge = dlopen(CHECK_BUILD "/libepprof_tf.so", RTLD_NOW | RTLD_LOCAL);

	*(void **)&tf.create = symbol(shim, "TF_NewStatus");
	*(void **)&tf.code = symbol(shim, "TF_GetCode");
	*(void **)&tf.message = symbol(shim, "TF_Message");
	*(void **)&tf.delete = symbol(shim, "TF_DeleteStatus");
	*(void **)&init = symbol(bridge, "TF_InitProfiler");
	TF_Status *status = init && tf.delete ? tf.create() : NULL;
	if (!status) {
		report("load", "not loaded");
		return 1;
	}
	init(&params, status);
	for (unsigned i = 0; fns.start && i < RUNS; i++) {
		fns.start(&profiler, status);
		if (!is_right("start", status))
			continue;
		emit_records();
		recorded_count += RECORDS;
		fns.stop(&profiler, status);
		is_right("stop", status);
		collect(&fns, &profiler, status);
	}
	is_right("end", status);
	tf.delete(status);
	return 0;
}

static const PLUGIN_Profiler_Api *pjrt;

static bool is_success(const char *step, PLUGIN_Profiler_Error *error)
{
	PLUGIN_Profiler_Error_Message_Args message = { .struct_size = sizeof message, .error = error };

	if (!error)
		return true;
	pjrt->error_message(&message);
	fprintf(stderr, "%s: %.*s\n", step, (int)message.message_size, message.message);
	pjrt->error_destroy(&(PLUGIN_Profiler_Error_Destroy_Args){ .error = error });
	return false;
}

static void profile_of_jax(void)
{
	PLUGIN_Profiler_Create_Args create = { .struct_size = sizeof create };
	PLUGIN_Profiler_CollectData_Args collected = { .struct_size = sizeof collected };

	if (!is_success("create", pjrt->create(&create)))
		return;
	if (is_success("start", pjrt->start(&(PLUGIN_Profiler_Start_Args){ sizeof(PLUGIN_Profiler_Start_Args),
	                                                                   create.profiler }))) {
		emit_records();
		recorded_count += RECORDS;
		is_success("stop",
		           pjrt->stop(&(PLUGIN_Profiler_Stop_Args){ sizeof(PLUGIN_Profiler_Stop_Args), create.profiler }));
		collected.profiler = create.profiler;
		if (is_success("collect", pjrt->collect_data(&collected)))
			count_kernels(collected.buffer, collected.buffer_size_in_bytes);
	}
	/* Reports what was lost. */
	is_success("destroy", pjrt->destroy(&(PLUGIN_Profiler_Destroy_Args){ sizeof(PLUGIN_Profiler_Destroy_Args),
	                                                                     create.profiler }));
}

static int be_jax(void)
{
	const PJRT_Api *(*get)(void);

	*(void **)&get = symbol(dlopen(CHECK_BUILD "/libepprof_pjrt.so", RTLD_NOW | RTLD_LOCAL), "GetPjrtApi");
	const PJRT_Api *api = get ? get() : NULL;
	if (!api || !api->extension_start) {
		report("load", "not loaded");
		return 1;
	}
	pjrt = ((const PJRT_Profiler_Extension *)(const void *)api->extension_start)->profiler_api;
	for (unsigned i = 0; i < RUNS; i++)
		profile_of_jax();
	return 0;
}

/* ---- the host with ONNX Runtime's tables, which are libepprof's ---- */

static OrtApi ort;
static const OrtEpApi *ort_ep;

static OrtStatus *log_message(const OrtLogger *logger, OrtLoggingLevel level, const char *message, const char *file,
                              int line, const char *function)
{
	(void)logger, (void)level, (void)file, (void)line, (void)function;
	report("log", message);
	return NULL;
}

static const OrtApi *get_api(uint32_t version)
{
	return version <= EPPROF_ORT_API_VERSION ? &ort : NULL;
}

static const char *get_version_string(void)
{
	return "1.29.0";
}

static bool is_done(const char *step, OrtStatus *status)
{
	if (!status)
		return true;
	report(step, ort.GetErrorMessage(status));
	ort.ReleaseStatus(status);
	return false;
}

static OrtStatus *add_events(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	(void)self, (void)events;
	profile_count += (unsigned)count;
	return NULL;
}

/* A node; the plugin works in the last one. */
static void run_node(OrtEpProfilerImpl *profiler, uint64_t id, bool works)
{
	OrtProfilingEvent *event;

	is_done("StartEvent", profiler->StartEvent(profiler, id));
	if (works)
		emit_records();
	if (!is_done("event", ort_ep->CreateProfilingEvent(OrtProfilingEventCategory_NODE, 1, 2, "node", (int64_t)id, 7,
	                                                   NULL, NULL, 0, &event)))
		return;
	is_done("StopEvent", profiler->StopEvent(profiler, id, event));
	ort_ep->ReleaseProfilingEvent(event);
}

static void profile_of_ort(OrtEp *ep)
{
	struct OrtProfilingEventsContainer container = { add_events, NULL };
	OrtEpProfilerImpl *profiler = NULL;

	if (!is_done("CreateProfiler", ep->CreateProfiler(ep, &profiler)) || !profiler)
		return;
	if (is_done("StartProfiling", profiler->StartProfiling(profiler, 0))) {
		for (unsigned i = 0; i < NODES; i++)
			run_node(profiler, 1000 + i, i + 1 == NODES);
		recorded_count += RECORDS + NODES;
		is_done("EndProfiling", profiler->EndProfiling(profiler, &container));
		profile_count += NODES; /* ONNX Runtime has these itself */
	}
	profiler->Release(profiler);
}

static void use_factory(OrtEpFactory *factory, const OrtLogger *logger)
{
	OrtHardwareDevice *cpu;
	OrtEpDevice *device = NULL;
	OrtSessionOptions *options;
	OrtEp *ep = NULL;
	size_t count = 0;

	if (!is_done("device", ort_ep->CreateHardwareDevice(OrtHardwareDeviceType_CPU, 0, 0, "cpu", NULL, &cpu)))
		return;
	const OrtHardwareDevice *found = cpu;
	if (is_done("GetSupportedDevices", factory->GetSupportedDevices(factory, &found, 1, &device, 1, &count)) && count)
		ort_ep->ReleaseEpDevice(device);
	if (is_done("options", ort.CreateSessionOptions(&options))) {
		if (is_done("CreateEp", factory->CreateEp(factory, &found, NULL, 1, options, logger, &ep)) && ep) {
			for (unsigned i = 0; i < RUNS; i++)
				profile_of_ort(ep);
			factory->ReleaseEp(factory, ep);
		}
		ort.ReleaseSessionOptions(options);
	}
}

static int be_ort(void)
{
	static const OrtApiBase base = { get_api, get_version_string };
	CreateEpApiFactoriesFn create;
	ReleaseEpApiFactoryFn release;
	OrtEpFactory *factory = NULL;
	size_t count = 0;

	touch_plugin();
	ort = *epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	ort_ep = ort.GetEpApi();
	ort.Logger_LogMessage = log_message;
	void *library = dlopen(CHECK_BUILD "/libepprof_ort.so", RTLD_NOW | RTLD_LOCAL);
	*(void **)&create = symbol(library, "CreateEpFactories");
	*(void **)&release = symbol(library, "ReleaseEpFactory");
	if (!create || !release) {
		report("load", "not loaded");
		return 1;
	}
	const OrtLogger *logger = (const OrtLogger *)&base;
	if (is_done("CreateEpFactories", create("epprof", &base, logger, &factory, 1, &count)) && count == 1) {
		use_factory(factory, logger);
		is_done("ReleaseEpFactory", release(factory));
	}
	return 0;
}

/* A program of its own, for `epprof record`: it records into its default session, and makes a session of ONNX Runtime,
 * which is preload_ort. */
static int be_program(void)
{
	unsigned (*use)(void) = NULL;

	for (unsigned i = 0; i < NODES; i++)
		epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, epp_name_intern("node")), NULL, 0);
	if (dlopen(CHECK_BUILD "/tests/plugins/preload_ort.so", RTLD_NOW | RTLD_GLOBAL))
		*(void **)&use = symbol(dlopen(CHECK_BUILD "/tests/plugins/preload_user.so", RTLD_NOW),
		                        "collectors_of_a_session");
	return use ? (int)(use() & 0) : 0;
}

static const struct host {
	const char *name;
	int (*be)(void);
	bool has_trace;
} hosts[] = {
	{ "tensorflow", be_tensorflow, true },    { "jax", be_jax, true },          { "onnxruntime", be_ort, true },
	{ "jax without a trace", be_jax, false }, { "program", be_program, false },
};
#define HOSTS_COUNT (sizeof hosts / sizeof *hosts - 1) /* without the program */

/* ---- one run ---- */

static void make_folders(void)
{
	nftw("out", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	nftw("tmp", check_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	MUST(mkdir("out", 0700) == 0 && mkdir("tmp", 0700) == 0);
}

static int run_host(const struct host *host, uint64_t first, uint64_t last, bool observe)
{
	char *argv[] = { (char *)"/proc/self/exe", NULL };

	make_folders();
	setenv(HOST, host->name, 1);
	setenv("EPPROF_PROFILERS", PLUGIN, 1);
	failing->observe = observe;
	return failing_run(argv, first, last);
}

static void add_finding(void *user, const epp_trace_finding *finding)
{
	if (finding->severity == EPP_ERROR)
		snprintf(user, 200, "%s", finding->text);
}

/* Returns what is wrong with out/x.epp, or NULL, and the number of events in its ledger, and of lost ones. */
static const char *judge_trace(uint64_t *emitted, uint64_t *lost)
{
	static char text[200];
	epp_trace_ledger_entry entry = { .struct_size = sizeof entry };
	epp_trace *trace;
	uint64_t found;
	epp_status *status = epp_trace_open("out/x.epp", &trace);

	text[0] = '\0';
	*emitted = *lost = 0;
	if (status) {
		snprintf(text, sizeof text, "%s", epp_status_message(status));
		epp_status_destroy(status);
		return text;
	}
	check_ok(epp_trace_validate(trace, add_finding, text, &found));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &entry));
		*emitted += entry.emitted;
		*lost += entry.lost_total;
		if (!entry.balanced)
			snprintf(text, sizeof text, "an account that does not balance");
	}
	epp_trace_close(trace);
	return text[0] ? text : NULL;
}

static bool has_messages(void)
{
	struct stat st;

	MUST(stat("stderr", &st) == 0);
	return st.st_size > 0;
}

/* Returns what is wrong with files, or NULL. */
static const char *judge_files(bool *has_trace)
{
	*has_trace = access("out/x.epp", F_OK) == 0;
	if (lives_count_in("out") - 2 != *has_trace)
		return "another file was left";
	return lives_count_in("tmp") != 2 ? "a temporary file was left" : NULL;
}

/* Returns what is wrong with a run, or NULL. */
static const char *judge_host(int code)
{
	unsigned recorded = 0, in_profile = 0;
	uint64_t emitted = 0, lost = 0;
	bool has_trace;

	if (code != 0 && code != 1)
		return "crashed, or hung";
	FILE *out = fopen("stdout", "r");
	MUST(out && fscanf(out, "%u %u", &recorded, &in_profile) == 2);
	fclose(out);
	const char *wrong = judge_files(&has_trace);
	if (!wrong && has_trace)
		wrong = judge_trace(&emitted, &lost);
	if (wrong || has_messages())
		return wrong;
	if (in_profile + lost < recorded)
		return "the profile lacks events, without a message";
	return has_trace && emitted < recorded ? "the trace lacks events, without a message" : NULL;
}

static const char *const libraries[] = { CHECK_BUILD "/tests/plugins/failing_calls.so",
	                                 CHECK_BUILD "/tests/plugins/failing_malloc.so" };

START_TEST(faults_in_a_bridge)
{
	const struct host *host = &hosts[_i % HOSTS_COUNT];
	unsigned failures = 0, runs = 0;

	failing_library = libraries[_i / HOSTS_COUNT];
	ck_assert_int_eq(run_host(host, 0, 0, true), 0);
	uint64_t count = failing->count;
	const char *wrong = judge_host(0);
	ck_assert_msg(!wrong && !has_messages(), "without faults: %s", wrong ? wrong : "a message");
	ck_assert_int_eq(access("out/x.epp", F_OK) == 0, host->has_trace);
	ck_assert_uint_ge(count, 10);
	bool *chosen = failing_choose(ONE_IN);
	for (uint64_t i = 1; i <= count; i++) {
		for (int all_after = 0; chosen[i] && all_after < 2; all_after++, runs++) {
			int code = run_host(host, i, all_after ? UINT64_MAX : i, false);
			wrong = judge_host(code);
			if (wrong && failures++ < 10)
				printf("%s (%d): FAILING %llu%s: %s\n", wrong, code, (unsigned long long)i,
				       all_after ? " and all after" : "", host->name);
		}
	}
	free(chosen);
	printf("%s: %u runs of %llu calls\n", host->name, runs, (unsigned long long)count);
	ck_assert_msg(!failures, "%u failures of %u runs", failures, runs);
}
END_TEST

static bool has_message_of_command(void)
{
	char text[8192] = "";
	FILE *file = fopen("stderr", "r");

	MUST(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	return strstr(text, "epprof: ") != NULL;
}

/* Of `epprof record`.  Traces that cannot be read stay in a folder.  Returns what is wrong, or NULL. */
static const char *judge_record(int code)
{
	uint64_t emitted = 0, lost;
	bool has_trace;

	if (code < 0)
		return "crashed, or hung";
	/* The stand-in for ONNX Runtime had no memory. */
	if (code == 128 + SIGABRT)
		return NULL;
	const char *wrong = judge_files(&has_trace);
	bool has_message = has_message_of_command();
	if (wrong)
		return code && has_message ? NULL : wrong;
	if (has_trace)
		wrong = judge_trace(&emitted, &lost);
	if (wrong || has_message)
		return wrong;
	return code || emitted < NODES ? "no message" : NULL;
}

static int run_record(uint64_t first, uint64_t last, bool observe)
{
	static char self[512];
	char *argv[] = { (char *)CHECK_BUILD "/epprof",
		         (char *)"record",
		         (char *)"-o",
		         (char *)"out/x.epp",
		         (char *)"--",
		         self,
		         NULL };

	MUST(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	make_folders();
	setenv(HOST, "program", 1);
	failing->observe = observe;
	return failing_run(argv, first, last);
}

START_TEST(faults_in_a_recorded_program)
{
	unsigned failures = 0, runs = 0;

	failing_library = libraries[_i];
	ck_assert_int_eq(run_record(0, 0, true), 0);
	uint64_t count = failing->count;
	const char *wrong = judge_record(0);
	ck_assert_msg(!wrong && !has_message_of_command(), "without faults: %s", wrong ? wrong : "a message");
	bool *chosen = failing_choose(4);
	for (uint64_t i = 1; i <= count; i++) {
		for (int all_after = 0; chosen[i] && all_after < 2; all_after++, runs++) {
			int code = run_record(i, all_after ? UINT64_MAX : i, false);
			wrong = judge_record(code);
			if (wrong && failures++ < 10)
				printf("%s (%d): FAILING %llu%s\n", wrong, code, (unsigned long long)i,
				       all_after ? " and all after" : "");
		}
	}
	free(chosen);
	printf("record: %u runs of %llu calls\n", runs, (unsigned long long)count);
	ck_assert_msg(!failures, "%u failures of %u runs", failures, runs);
}
END_TEST

static void set_up(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	setenv("TMPDIR", "tmp", 1);
	ck_assert_ptr_nonnull((failing = failing_map(O_CREAT)));
}

static Suite *bridge_faults_suite(void)
{
	Suite *suite = suite_create("bridge_faults");
	TCase *tcase = tcase_create("faults");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP("a sanitizer's own calls would fail");
#endif
	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, faults_in_a_bridge, 0, 2 * HOSTS_COUNT);
	tcase_add_loop_test(tcase, faults_in_a_recorded_program, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	const char *wanted = getenv(HOST);

	for (size_t i = 0; wanted && i <= HOSTS_COUNT; i++) {
		if (strcmp(hosts[i].name, wanted) != 0)
			continue;
		/* Not before: the program itself has a session, too. */
		if (hosts[i].has_trace && setenv("EPPROF_OUTPUT", "out/x.epp", 1) != 0)
			report("setenv", "no memory");
		int code = hosts[i].be();
		if (hosts[i].be != be_program)
			printf("%u %u\n", recorded_count, profile_count);
		return code;
	}
	return check_main(bridge_faults_suite);
}
