/* Loading plugins, whatever their kind: files that are none, and what a loaded one lets the host do. */
#include "tests/support/check.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "epprof/plugin.h"
#include "ort_abi/profiler_registry.h"

/* The thread sanitizer does not know the locks inside dlopen, and reports those who rely on them. */
#ifdef __SANITIZE_THREAD__
#define LOADING_THREADS 1
#else
#define LOADING_THREADS 4
#endif

#define PLUGIN CHECK_BUILD "/tests/plugins/plain_ep.so"

static void check_load(const char *path, epp_code code, const char *message)
{
	epp_plugin *plugin = (epp_plugin *)&plugin;
	epp_status *status = epp_plugin_load(path, &plugin);
	ck_assert_msg(status != NULL, "%s was loaded", path);
	ck_assert_ptr_null(plugin);
	ck_assert_msg(strstr(epp_status_message(status), message) != NULL, "%s", epp_status_message(status));
	ck_assert_msg(epp_status_code(status) == code, "%d: %s", (int)epp_status_code(status), epp_status_message(status));
	epp_status_destroy(status);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

START_TEST(a_missing_file_is_not_found)
{
	char path[] = "/nowhere/libmissing.so";
	check_load(path, EPP_NOT_FOUND, "/nowhere/libmissing.so: No such file");
	/* Neither in the system's directories nor in the working directory. */
	check_load("libm.so.6", EPP_INVALID_ARGUMENT, "libm.so.6: not a path");
	check_load("", EPP_INVALID_ARGUMENT, "not a path");
}
END_TEST

START_TEST(a_file_that_is_no_library_is_refused)
{
	char *path = check_path("notes.so");
	write_file(path, "not an ELF file\n", 16);
	check_load(path, EPP_INCOMPATIBLE, "notes.so: not a shared library");
	write_file(path, "", 0);
	check_load(path, EPP_INCOMPATIBLE, "notes.so: not a shared library");
	check_load("/tmp", EPP_INCOMPATIBLE, "/tmp: not a regular file");
	/* A pipe that nobody writes must not hold up the caller. */
	path = check_path("pipe.so");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	check_load(path, EPP_INCOMPATIBLE, "not a regular file");
}
END_TEST

/* Any cut: dlopen by itself would take the process down with it (check_elf tries all lengths). */
START_TEST(a_truncated_library_is_refused)
{
	static char bytes[1500];
	char *path = check_path("cut.so");
	FILE *file = fopen(PLUGIN, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	fclose(file);
	write_file(path, bytes, sizeof(bytes));
	check_load(path, EPP_CORRUPT, "cut.so: the file is truncated: ");
}
END_TEST

/* A library whose headers hold together and which is not for this machine: dlopen's words come through. */
START_TEST(what_dlopen_says_is_told)
{
	static char bytes[4096];
	char *path = check_path("empty.so");
	ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)bytes;
	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_phentsize = sizeof(ElfW(Phdr));
	write_file(path, bytes, sizeof(bytes));
	check_load(path, EPP_INCOMPATIBLE, "empty.so: dlopen: ");
}
END_TEST

START_TEST(an_unreadable_file_is_an_io_error)
{
	char *path = check_path("secret.so");
	write_file(path, "secret", 6);
	ck_assert_int_eq(chmod(path, 0), 0);
	if (!access(path, R_OK))
		return; /* root reads everything */
	check_load(path, EPP_IO, "secret.so: Permission denied");
}
END_TEST

START_TEST(a_library_that_is_no_plugin_is_refused)
{
	Dl_info info;
	void *library = dlopen("libm.so.6", RTLD_NOW);
	ck_assert_ptr_nonnull(library);
	ck_assert_int_ne(dladdr(dlsym(library, "cos"), &info), 0);
	check_load(info.dli_fname, EPP_INCOMPATIBLE, ": not a plugin: it exports no symbol of any known kind");
	check_load(info.dli_fname, EPP_INCOMPATIBLE, "'CreateEpFactories'");
	dlclose(library);
}
END_TEST

START_TEST(nulls_are_refused)
{
	epp_plugin *plugin = NULL;
	OrtEpProfilerImpl *profiler = NULL;
	check_load(NULL, EPP_INVALID_ARGUMENT, "path is NULL");
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_load(PLUGIN, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_profiler_create(NULL, &profiler));
	check_ok(epp_plugin_unload(NULL));
	ck_assert_str_eq(epp_plugin_name(NULL), "");
	ck_assert_str_eq(epp_plugin_path(NULL), "");
	ck_assert_str_eq(epp_plugin_kind(NULL), "");
	ck_assert_ptr_null(epp_plugin_symbol(NULL, "CreateEpFactories"));
	check_ok(epp_plugin_load(PLUGIN, &plugin));
	ck_assert_ptr_null(epp_plugin_symbol(plugin, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_profiler_create(plugin, NULL));
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(a_path_may_be_relative_or_a_link)
{
	epp_plugin *plugin = NULL;
	char *link = check_path("libvendor.so");
	char *resolved = realpath(PLUGIN, NULL);
	ck_assert_int_eq(symlink(resolved, link), 0);
	check_ok(epp_plugin_load(link, &plugin));
	ck_assert_str_eq(epp_plugin_path(plugin), resolved);
	ck_assert_str_eq(epp_plugin_kind(plugin), "ort");
	ck_assert_ptr_nonnull(epp_plugin_symbol(plugin, "ReleaseEpFactory"));
	ck_assert_ptr_null(epp_plugin_symbol(plugin, "no_such_symbol"));
	check_ok(epp_plugin_unload(plugin));
	ck_assert_int_eq(chdir(CHECK_BUILD "/tests/plugins"), 0);
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_load("plain_ep.so", &plugin));
	check_ok(epp_plugin_load("./plain_ep.so", &plugin));
	ck_assert_str_eq(epp_plugin_path(plugin), resolved);
	check_ok(epp_plugin_unload(plugin));
	free(resolved);
}
END_TEST

START_TEST(a_plugin_with_live_profilers_stays)
{
	epp_plugin *plugin = NULL;
	OrtEpProfilerImpl *first = NULL;
	OrtEpProfilerImpl *second = NULL;
	check_ok(epp_plugin_load(PLUGIN, &plugin));
	check_ok(epp_plugin_profiler_create(plugin, &first));
	check_ok(epp_plugin_profiler_create(plugin, &second));
	epp_status *status = epp_plugin_unload(plugin);
	ck_assert_int_eq((int)epp_status_code(status), EPP_BUSY);
	ck_assert_str_eq(epp_status_message(status), "plain_ep.so: 2 of its profilers are not released");
	epp_status_destroy(status);
	epp_plugin_profiler_destroy(first);
	check_fails(EPP_BUSY, epp_plugin_unload(plugin));
	/* As a session releases it. */
	profiler_release(second);
	check_ok(epp_plugin_unload(plugin));
}
END_TEST

START_TEST(the_same_library_may_be_loaded_twice)
{
	epp_plugin *first = NULL;
	epp_plugin *second = NULL;
	OrtEpProfilerImpl *profiler = NULL;
	check_ok(epp_plugin_load(PLUGIN, &first));
	check_ok(epp_plugin_load(PLUGIN, &second));
	check_ok(epp_plugin_unload(first));
	check_ok(epp_plugin_profiler_create(second, &profiler));
	epp_plugin_profiler_destroy(profiler);
	check_ok(epp_plugin_unload(second));
}
END_TEST

static void *fail_to_load(void *path)
{
	for (int i = 0; i < 50; i++)
		check_load(path, EPP_INCOMPATIBLE, "half_ep.so: no symbol 'ReleaseEpFactory'");
	return NULL;
}

START_TEST(threads_may_load_at_once)
{
	static char path[] = CHECK_BUILD "/tests/plugins/half_ep.so";
	pthread_t threads[LOADING_THREADS];
	for (int i = 0; i < LOADING_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fail_to_load, path), 0);
	for (int i = 0; i < LOADING_THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

static Suite *plugin_suite(void)
{
	Suite *suite = suite_create("plugin");
	TCase *tests = tcase_create("plugin");
	tcase_add_test(tests, a_missing_file_is_not_found);
	tcase_add_test(tests, a_file_that_is_no_library_is_refused);
	tcase_add_test(tests, a_truncated_library_is_refused);
	tcase_add_test(tests, what_dlopen_says_is_told);
	tcase_add_test(tests, an_unreadable_file_is_an_io_error);
	tcase_add_test(tests, a_library_that_is_no_plugin_is_refused);
	tcase_add_test(tests, nulls_are_refused);
	tcase_add_test(tests, a_path_may_be_relative_or_a_link);
	tcase_add_test(tests, a_plugin_with_live_profilers_stays);
	tcase_add_test(tests, the_same_library_may_be_loaded_twice);
	tcase_add_test(tests, threads_may_load_at_once);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(plugin_suite)
