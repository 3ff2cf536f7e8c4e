/* Where plugins are looked for by themselves. */
#include "tests/support/check.h"

#include <bsd/string.h>
#include <string.h>
#include <sys/stat.h>

#include "epprof/plugin.h"

#define PU1_PLUGIN CHECK_BUILD "/tests/plugins/scripted_pu1.so"

static char seen[2048]; /* file names, in order; "!" behind one that failed */

static void note(void *user, const char *path, epp_plugin *plugin, const epp_status *failure)
{
	ck_assert_ptr_eq(user, seen);
	ck_assert((plugin != NULL) != (failure != NULL));
	strlcat(seen, *seen ? " " : "", sizeof(seen));
	strlcat(seen, strrchr(path, '/') ? strrchr(path, '/') + 1 : path, sizeof(seen));
	if (failure)
		strlcat(seen, "!", sizeof(seen));
	check_ok(epp_plugin_unload(plugin));
}

static void check_finds(size_t count, const char *files)
{
	seen[0] = '\0';
	ck_assert_uint_eq(epp_plugin_load_kineto_path(note, seen), count);
	ck_assert_str_eq(seen, files);
}

static void make_file(const char *path)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

START_TEST(files_and_directories_in_order)
{
	char list[2048], empty[512], full[512];
	strlcpy(empty, check_path("empty"), sizeof(empty));
	strlcpy(full, check_path("full"), sizeof(full));
	ck_assert_int_eq(mkdir(empty, 0700), 0);
	ck_assert_int_eq(mkdir(full, 0700), 0);
	make_file(check_path("full/b.so"));
	make_file(check_path("full/B.so"));
	make_file(check_path("full/.so"));
	make_file(check_path("full/c.so.1"));
	make_file(check_path("full/so"));
	ck_assert_int_eq(symlink(PU1_PLUGIN, check_path("full/a.so")), 0);
	ck_assert_int_eq(symlink("nowhere", check_path("full/d.so")), 0);
	snprintf(list, sizeof(list), ":%s::%s:%s:missing.so:", empty, full, PU1_PLUGIN);
	setenv("KINETO_PLUGIN_PATH", list, 1);
	check_finds(2, "B.so! a.so b.so! d.so! scripted_pu1.so missing.so!");
}
END_TEST

START_TEST(an_empty_variable_finds_nothing)
{
	setenv("KINETO_PLUGIN_PATH", "", 1);
	check_finds(0, "");
	setenv("KINETO_PLUGIN_PATH", "::", 1);
	check_finds(0, "");
}
END_TEST

START_TEST(without_the_variable_the_standard_directories_count)
{
	unsetenv("KINETO_PLUGIN_PATH");
	setenv("HOME", check_path("home"), 1);
	seen[0] = '\0';
	size_t elsewhere = epp_plugin_load_kineto_path(note, seen);
	ck_assert_int_eq(mkdir(check_path("home"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("home/.local"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("home/.local/lib"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("home/.local/lib/kineto"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("home/.local/lib/kineto/plugins"), 0700), 0);
	ck_assert_int_eq(symlink(PU1_PLUGIN, check_path("home/.local/lib/kineto/plugins/mine.so")), 0);
	ck_assert_uint_eq(epp_plugin_load_kineto_path(note, seen), elsewhere + 1);
	ck_assert_ptr_nonnull(strstr(seen, "mine.so"));
	unsetenv("HOME");
	ck_assert_uint_eq(epp_plugin_load_kineto_path(note, seen), elsewhere);
}
END_TEST

/* ---- what bridges carry ---- */

static void note_named(void *user, const char *place, const char *path)
{
	ck_assert_ptr_eq(user, seen);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t used = strlen(seen);
	snprintf(seen + used, sizeof(seen) - used, "%s%c:%s", used ? " " : "", *place, name);
}

static void check_hosted(const char *profilers, const char *kineto, const char *wanted)
{
	seen[0] = '\0';
	unsetenv("EPPROF_PROFILERS");
	unsetenv("KINETO_PLUGIN_PATH");
	if (profilers)
		setenv("EPPROF_PROFILERS", profilers, 1);
	if (kineto)
		setenv("KINETO_PLUGIN_PATH", kineto, 1);
	epp_plugin_find_hosted(note_named, seen);
	ck_assert_str_eq(seen, wanted);
}

START_TEST(bridges_hear_both_variables)
{
	char folder[512], list[2048];
	strlcpy(folder, check_path("folder"), sizeof(folder));
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	make_file(check_path("folder/b.so"));
	ck_assert_int_eq(symlink(PU1_PLUGIN, check_path("folder/a.so")), 0);
	check_hosted("x.so::y.so", "z.so:x.so", "E:x.so E:y.so K:z.so K:x.so");
	check_hosted(folder, NULL, "E:a.so E:b.so");
	check_hosted(NULL, folder, "K:a.so K:b.so");
	/* A file once, whatever it is called. */
	snprintf(list, sizeof(list), "%s:%s/b.so", folder, folder);
	check_hosted(PU1_PLUGIN, list, "E:scripted_pu1.so K:b.so");
	check_hosted("", "", "");
	check_hosted("::", ":", "");
}
END_TEST

START_TEST(bridges_look_into_the_standard_directories_if_neither_says_anything)
{
	setenv("HOME", check_path("own"), 1);
	ck_assert_int_eq(mkdir(check_path("own"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("own/.local"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("own/.local/lib"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("own/.local/lib/kineto"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("own/.local/lib/kineto/plugins"), 0700), 0);
	make_file(check_path("own/.local/lib/kineto/plugins/mine.so"));
	unsetenv("EPPROF_PROFILERS");
	unsetenv("KINETO_PLUGIN_PATH");
	seen[0] = '\0';
	epp_plugin_find_hosted(note_named, seen);
	ck_assert_ptr_nonnull(strstr(seen, "~:mine.so"));
	check_hosted("x.so", NULL, "E:x.so");
	check_hosted(NULL, "", "");
}
END_TEST

/* A bare name is no path, although the working directory has a file or a folder of that name. */
START_TEST(the_working_directory_is_not_searched)
{
	char *working = check_path("working");
	ck_assert_int_eq(mkdir(working, 0700), 0);
	ck_assert_int_eq(mkdir(check_path("working/plugins"), 0700), 0);
	ck_assert_int_eq(symlink(PU1_PLUGIN, check_path("working/a.so")), 0);
	ck_assert_int_eq(symlink(PU1_PLUGIN, check_path("working/plugins/b.so")), 0);
	ck_assert_int_eq(chdir(working), 0);
	setenv("KINETO_PLUGIN_PATH", "a.so:plugins::", 1);
	check_finds(0, "a.so! plugins!");
	setenv("KINETO_PLUGIN_PATH", "./a.so:./plugins", 1);
	check_finds(2, "a.so b.so");
	/* Nor a home that is the working directory. */
	ck_assert_int_eq(mkdir(check_path("working/.local"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("working/.local/lib"), 0700), 0);
	ck_assert_int_eq(mkdir(check_path("working/.local/lib/kineto"), 0700), 0);
	ck_assert_int_eq(rename("plugins", ".local/lib/kineto/plugins"), 0);
	unsetenv("KINETO_PLUGIN_PATH");
	setenv("HOME", ".", 1);
	seen[0] = '\0';
	epp_plugin_load_kineto_path(note, seen);
	ck_assert_ptr_null(strstr(seen, "b.so"));
}
END_TEST

static Suite *plugin_path_suite(void)
{
	Suite *suite = suite_create("plugin_path");
	TCase *tests = tcase_create("plugin_path");
	tcase_add_test(tests, files_and_directories_in_order);
	tcase_add_test(tests, an_empty_variable_finds_nothing);
	tcase_add_test(tests, without_the_variable_the_standard_directories_count);
	tcase_add_test(tests, the_working_directory_is_not_searched);
	tcase_add_test(tests, bridges_hear_both_variables);
	tcase_add_test(tests, bridges_look_into_the_standard_directories_if_neither_says_anything);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(plugin_path_suite)
