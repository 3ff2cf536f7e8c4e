/* libepprof_preload.so with preload_ort.so in the place of ONNX Runtime: how sessions are created, versions, failures,
 * threads, and the ways in which a program gets OrtGetApiBase.  For the latter this program runs itself under
 * `epprof record`. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/plugins/preload_ort.h"
#include "tests/support/check.h"
#include "tests/support/command.h"

#define FAKE CHECK_BUILD "/tests/plugins/preload_ort.so"
#define USER CHECK_BUILD "/tests/plugins/preload_user.so"
#define THREADS_COUNT 4
#define THREAD_SESSIONS_COUNT 50

typedef const OrtApiBase *get_base_fn(void);
typedef void *dlsym_fn(void *library, const char *name);
typedef OrtStatus *create_from_model_fn(const OrtEnv *env, const void *model, const OrtSessionOptions *options,
                                        OrtSession **out);

static dlsym_fn *preloaded_dlsym;
static struct fake_state *fake;
static const OrtApi *api;
static const OrtEnv *const env = (const OrtEnv *)&api;

/* ---- the tables, as a program gets them by dlopen and dlsym ---- */

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

static const OrtApiBase *base_of(void *library)
{
	get_base_fn *get_base;

	*(void **)&get_base = preloaded_dlsym(library, "OrtGetApiBase");
	ck_assert_ptr_nonnull(*(void **)&get_base);
	return get_base();
}

static const OrtApiBase *open_fake(const char *version)
{
	void *library = open_library(FAKE);

	fake = dlsym(library, "fake_state");
	fake->version = version;
	return base_of(library);
}

static void begin(void)
{
	ck_assert_int_eq(chdir(check_directory_path), 0);
	unlink("notes");
	ck_assert_int_eq(setenv("EPPROF_RECORD", ".", 1), 0);
	*(void **)&preloaded_dlsym = dlsym(open_library(CHECK_BUILD "/libepprof_preload.so"), "dlsym");
}

static void begin_with_tables(void)
{
	begin();
	api = open_fake("1.29.0")->GetApi(EPPROF_ORT_API_VERSION);
	ck_assert_ptr_nonnull(api);
}

/* ---- the notes that the user sees at the end ---- */

static void expect_notes(const char *text)
{
	char found[1024] = "";
	FILE *file = fopen("notes", "re");

	if (file) {
		found[fread(found, 1, sizeof found - 1, file)] = '\0';
		fclose(file);
	}
	ck_assert_str_eq(found, text);
}

/* ---- sessions ---- */

static OrtSession *create(const OrtSessionOptions *options)
{
	OrtSession *session = NULL;
	OrtStatus *status = api->CreateSession(env, "model", options, &session);

	ck_assert_msg(!status, "%s", status ? api->GetErrorMessage(status) : "");
	ck_assert_ptr_nonnull(session);
	return session;
}

static void expect_session(OrtSession *session, const char *function, const char *prefix, unsigned collectors_count)
{
	ck_assert_str_eq(session->function, function);
	ck_assert_uint_eq(session->collectors_count, collectors_count);
	if (prefix[0])
		ck_assert_int_eq(strncmp(session->prefix, prefix, strlen(prefix)), 0);
	else
		ck_assert_str_eq(session->prefix, "");
	api->ReleaseSession(session);
}

#define PROFILED "path", "./onnxruntime_c_", 1
#define UNPROFILED "path", "", 0

static OrtSessionOptions *create_options(void)
{
	OrtSessionOptions *options = NULL;

	ck_assert_ptr_null(api->CreateSessionOptions(&options));
	return options;
}

START_TEST(sessions_are_profiled)
{
	OrtSessionOptions *options = create_options();

	expect_session(create(NULL), PROFILED);
	expect_session(create(options), PROFILED);
	OrtSession *one = create(options), *other = create(options);
	ck_assert_str_ne(one->prefix, other->prefix);
	expect_session(one, PROFILED);
	expect_session(other, PROFILED);
	ck_assert_uint_eq(fake->registrations_count, 1);
	ck_assert_str_eq(fake->registered, CHECK_BUILD "/libepprof_ort.so");
	/* The program's options are as they were, and clones are released. */
	ck_assert_uint_eq(fake->options_count, 1);
	fake->failing = "CloneSessionOptions";
	expect_session(create(options), UNPROFILED);
	api->ReleaseSessionOptions(options);
	expect_notes("a session of ONNX Runtime runs unprofiled: CloneSessionOptions fails\n");
}
END_TEST

START_TEST(each_function_that_creates_a_session)
{
	const epp_ort_slot *editor = (const epp_ort_slot *)(const void *)api->GetModelEditorApi();
	create_from_model_fn *create_from_model = (create_from_model_fn *)editor[14];
	OrtSession *session;

	ck_assert_ptr_null(api->CreateSessionFromArray(env, "", 0, NULL, &session));
	expect_session(session, "array", "./onnxruntime_c_", 1);
	ck_assert_ptr_null(api->CreateSessionWithPrepackedWeightsContainer(env, "model", NULL, NULL, &session));
	expect_session(session, "path and weights", "./onnxruntime_c_", 1);
	ck_assert_ptr_null(api->CreateSessionFromArrayWithPrepackedWeightsContainer(env, "", 0, NULL, NULL, &session));
	expect_session(session, "array and weights", "./onnxruntime_c_", 1);
	ck_assert_ptr_null(create_from_model(env, NULL, NULL, &session));
	expect_session(session, "model", "./onnxruntime_c_", 1);
	/* Without an environment ONNX Runtime alone answers. */
	ck_assert_ptr_null(api->CreateSession(NULL, "model", NULL, &session));
	expect_session(session, UNPROFILED);
	expect_notes("");
}
END_TEST

START_TEST(a_profile_of_the_program_itself)
{
	OrtSessionOptions *options = create_options(), *clone;

	ck_assert_ptr_null(api->EnableProfiling(options, "own"));
	expect_session(create(options), "path", "own", 1);
	ck_assert_ptr_null(api->CloneSessionOptions(options, &clone));
	expect_session(create(clone), "path", "own", 1);
	ck_assert_ptr_null(api->DisableProfiling(options));
	expect_session(create(options), PROFILED);
	ck_assert_ptr_null(api->EnableProfiling(options, "again"));
	expect_session(create(options), "path", "again", 1);
	api->ReleaseSessionOptions(options);
	api->ReleaseSessionOptions(clone);
}
END_TEST

START_TEST(a_program_that_attaches_the_collector_itself)
{
	OrtSessionOptions *options = create_options();
	const OrtEpDevice *const *devices;
	size_t count;

	ck_assert_ptr_null(api->RegisterExecutionProviderLibrary((OrtEnv *)env, "other", "libother.so"));
	/* Before it does, it is profiled; another provider makes no difference. */
	if (_i)
		expect_session(create(NULL), PROFILED);
	ck_assert_ptr_null(api->RegisterExecutionProviderLibrary((OrtEnv *)env, "mine", "libepprof_ort.so"));
	ck_assert_ptr_null(api->GetEpDevices(env, &devices, &count));
	ck_assert_ptr_null(api->SessionOptionsAppendExecutionProvider_V2(options, (OrtEnv *)env, devices + count - 1, 1,
	                                                                 NULL, NULL, 0));
	expect_session(create(options), "path", "", 1);
	expect_session(create(NULL), UNPROFILED);
	api->ReleaseSessionOptions(options);
	ck_assert_uint_eq(fake->registrations_count, 2 + (unsigned)_i);
	expect_notes("");
}
END_TEST

START_TEST(a_policy_that_selects_providers)
{
	OrtSessionOptions *options = create_options();

	if (_i)
		ck_assert_ptr_null(api->SessionOptionsSetEpSelectionPolicyDelegate(options, NULL, NULL));
	else
		ck_assert_ptr_null(
		    api->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_CPU));
	expect_session(create(options), UNPROFILED);
	api->ReleaseSessionOptions(options);
	ck_assert_uint_eq(fake->registrations_count, 0);
	expect_notes(
	    "a session of ONNX Runtime runs unprofiled: its options have a policy that selects execution providers\n");
}
END_TEST

/* ---- failures ---- */

START_TEST(a_session_that_cannot_be_created)
{
	OrtSession *session = (OrtSession *)&session;

	fake->failing = "CreateSession";
	OrtStatus *status = api->CreateSession(env, "model", NULL, &session);
	ck_assert_ptr_nonnull(status);
	ck_assert_str_eq(api->GetErrorMessage(status), "CreateSession\nfails");
	ck_assert_ptr_null(session);
	api->ReleaseStatus(status);
	ck_assert_uint_eq(fake->options_count, 0);
	expect_notes("");
}
END_TEST

START_TEST(a_session_that_fails_with_the_collector_runs_without)
{
	fake->failing = "CreateSession";
	fake->only_collector_fails = true;
	expect_session(create(NULL), UNPROFILED);
	ck_assert_uint_eq(fake->options_count, 0);
	expect_notes("a session of ONNX Runtime runs unprofiled: CreateSession fails\n");
}
END_TEST

START_TEST(a_collector_that_cannot_be_attached)
{
	static const char *const functions[] = { "RegisterExecutionProviderLibrary",
		                                 "SessionOptionsAppendExecutionProvider_V2" };
	char note[256];

	fake->failing = functions[_i];
	expect_session(create(NULL), UNPROFILED);
	snprintf(note, sizeof note, "a session of ONNX Runtime runs unprofiled: %s fails\n", functions[_i]);
	expect_notes(note);
	ck_assert_uint_eq(fake->options_count, 0);
	fake->failing = NULL;
	expect_session(create(NULL), PROFILED);
}
END_TEST

/* ---- threads ---- */

static void *create_sessions(void *prefixes)
{
	for (int i = 0; i < THREAD_SESSIONS_COUNT; i++) {
		OrtSession *session = create(NULL);
		memcpy((char *)prefixes + (size_t)i * FAKE_TEXT_BYTES, session->prefix, FAKE_TEXT_BYTES);
		expect_session(session, PROFILED);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

START_TEST(threads_create_sessions_at_once)
{
	static char prefixes[THREADS_COUNT * THREAD_SESSIONS_COUNT][FAKE_TEXT_BYTES];
	pthread_t threads[THREADS_COUNT];

	for (size_t i = 0; i < THREADS_COUNT; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, create_sessions, prefixes[i * THREAD_SESSIONS_COUNT]),
		                 0);
	for (size_t i = 0; i < THREADS_COUNT; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(fake->registrations_count, 1);
	ck_assert_uint_eq(fake->options_count, 0);
	/* No two sessions write one profile. */
	qsort(prefixes, THREADS_COUNT * THREAD_SESSIONS_COUNT, FAKE_TEXT_BYTES, compare);
	for (size_t i = 1; i < THREADS_COUNT * THREAD_SESSIONS_COUNT; i++)
		ck_assert_str_ne(prefixes[i - 1], prefixes[i]);
}
END_TEST

/* ---- versions ---- */

static const OrtApiBase *real_base(void)
{
	get_base_fn *get_base;

	*(void **)&get_base = dlsym(open_library(FAKE), "OrtGetApiBase");
	return get_base();
}

START_TEST(versions_with_profilers)
{
	static const char *const versions[] = { "1.26.0", "1.29.1", "1.30.0", "1.40.2-dev" };
	const OrtApiBase *base = open_fake(versions[_i]);
	uint32_t minor = (uint32_t)strtoul(versions[_i] + 2, NULL, 10);

	ck_assert_ptr_ne(base, real_base());
	ck_assert_str_eq(base->GetVersionString(), versions[_i]);
	/* A program asks for the version that it was compiled with. */
	api = base->GetApi(17);
	ck_assert_ptr_eq(api, base->GetApi(minor));
	ck_assert_ptr_null(base->GetApi(minor + 1));
	expect_session(create(NULL), PROFILED);
	if (minor > EPPROF_ORT_API_VERSION) {
		int (*newer)(void) = (int (*)(void))((const epp_ort_slot *)api)[FAKE_NEWER_SLOT];
		ck_assert_int_eq(newer(), FAKE_NEWER_RESULT);
	}
	expect_notes("");
}
END_TEST

START_TEST(versions_without_profilers_run_unprofiled)
{
	static const char *const versions[] = { "1.25.3", "1.9.0", "2.40.0" };
	char note[128];

	ck_assert_ptr_eq(open_fake(versions[_i]), real_base());
	snprintf(note, sizeof note, "ONNX Runtime %s runs unprofiled: profilers are there from 1.26 on\n", versions[_i]);
	expect_notes(note);
}
END_TEST

START_TEST(processes_that_are_not_recorded)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getppid());
	setenv("EPPROF_ONLY_PID", pid, 1);
	ck_assert_ptr_eq(open_fake("1.29.0"), real_base());
	unsetenv("EPPROF_RECORD");
	unsetenv("EPPROF_ONLY_PID");
	ck_assert_ptr_eq(open_fake("1.29.0"), real_base());
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("EPPROF_RECORD", ".", 1);
	setenv("EPPROF_ONLY_PID", pid, 1);
	ck_assert_ptr_ne(open_fake("1.29.0"), real_base());
}
END_TEST

START_TEST(a_second_onnx_runtime)
{
	get_base_fn *get_base;

	ck_assert_int_eq(system("cp '" FAKE "' second.so"), 0);
	ck_assert_ptr_ne(open_fake("1.29.0"), real_base());
	void *second = open_library("./second.so");
	*(void **)&get_base = dlsym(second, "OrtGetApiBase");
	ck_assert_ptr_eq(base_of(second), get_base());
	ck_assert_ptr_ne(get_base(), real_base());
	ck_assert_ptr_ne(open_fake("1.29.0"), real_base());
}
END_TEST

/* ---- programs under epprof record ---- */

static char self[512];

/* A program, and what it does: its exit status is 0 if that is as it is without the command, or as profiled. */
static int program(const char *scenario)
{
	void *library;

	/* The result of RTLD_NEXT depends on the caller: behind this program the first dlsym is the preloaded one. */
	if (strcmp(scenario, "next") == 0)
		return dlsym(RTLD_NEXT, "dlsym") == (void *)(uintptr_t)dlsym ? 0 : 1;
	if (strcmp(scenario, "none") == 0)
		return dlsym(RTLD_DEFAULT, "OrtGetApiBase") || dlsym(RTLD_NEXT, "OrtGetApiBase") ||
		               dlsym(dlopen(NULL, RTLD_NOW), "OrtGetApiBase") || !dlsym(RTLD_DEFAULT, "malloc")
		           ? 1
		           : 0;
	library = dlopen(FAKE, RTLD_NOW | (strcmp(scenario, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
	if (library)
		library = dlopen(USER, RTLD_NOW | RTLD_LOCAL);
	unsigned (*collectors)(void) = NULL;
	if (library)
		*(void **)&collectors = dlsym(library, "collectors_of_a_session");
	return collectors && collectors() == 1 ? 0 : 1;
}

/* A linked library is found by its dependencies or, if it is global, as the next one; a program without ONNX Runtime finds
 * none. */
START_TEST(programs_under_the_command)
{
	static const char *const scenarios[] = { "next", "none", "global", "local" };
	struct command run = command_run(NULL, "record", "--force", "-o", "a.epp", "--", self, scenarios[_i], NULL);

	ck_assert_msg(run.code == 0, "%s: %d: %s%s", scenarios[_i], run.code, run.out, run.err);
	ck_assert_str_eq(run.out, "");
	ck_assert_ptr_null(strstr(run.err, "unprofiled"));
	command_free(&run);
}
END_TEST

static Suite *preload_suite(void)
{
	Suite *suite = suite_create("preload");
	TCase *sessions = tcase_create("sessions"), *versions = tcase_create("versions");
	TCase *programs = tcase_create("programs");

	tcase_add_checked_fixture(sessions, begin_with_tables, NULL);
	tcase_add_test(sessions, sessions_are_profiled);
	tcase_add_test(sessions, each_function_that_creates_a_session);
	tcase_add_test(sessions, a_profile_of_the_program_itself);
	tcase_add_loop_test(sessions, a_program_that_attaches_the_collector_itself, 0, 2);
	tcase_add_loop_test(sessions, a_policy_that_selects_providers, 0, 2);
	tcase_add_test(sessions, a_session_that_cannot_be_created);
	tcase_add_test(sessions, a_session_that_fails_with_the_collector_runs_without);
	tcase_add_loop_test(sessions, a_collector_that_cannot_be_attached, 0, 2);
	tcase_add_test(sessions, threads_create_sessions_at_once);
	suite_add_tcase(suite, sessions);
	tcase_add_checked_fixture(versions, begin, NULL);
	tcase_add_loop_test(versions, versions_with_profilers, 0, 4);
	tcase_add_loop_test(versions, versions_without_profilers_run_unprofiled, 0, 3);
	tcase_add_test(versions, processes_that_are_not_recorded);
	tcase_add_test(versions, a_second_onnx_runtime);
	suite_add_tcase(suite, versions);
	tcase_add_checked_fixture(programs, begin, NULL);
	tcase_add_loop_test(programs, programs_under_the_command, 0, 4);
	suite_add_tcase(suite, programs);
	return suite;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return program(argv[1]);
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return EXIT_FAILURE;
	setenv("EPPROF", CHECK_BUILD "/epprof", 1);
	setenv("CK_DEFAULT_TIMEOUT", "120", 0);
	return check_main(preload_suite);
}
