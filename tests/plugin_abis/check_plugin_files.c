/* Finding plugins: a file, a directory in sorted order, and the places where TensorFlow looks.  Covers file_set.c. */
#include <string.h>
#include <sys/stat.h>

#include "epprof/plugin.h"
#include "tests/support/check.h"

static char told[4096];
static char no_prefix[] = "";

static void tell(void *user, const char *path)
{
	const char *directory = user;
	ck_assert(!strncmp(path, directory, strlen(directory)));
	strncat(told, path + strlen(directory), sizeof(told) - strlen(told) - 1);
	strncat(told, "\n", sizeof(told) - strlen(told) - 1);
}

static void make_file(const char *path)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

START_TEST(a_directory_is_told_in_order)
{
	static const char *const names[] = { "b.so",      "a.so",     "c.so.1", "B.so",     "notes.txt", ".hidden.so",
		                             "so",        "d.so.1.2", "e.so.x", "f.so~",    ".so",       "g.so.old.so",
		                             "h.solo.so", "i.so.",    "z.so.9", "line\n.so" };
	char directory[512];
	snprintf(directory, sizeof(directory), "%s", check_path("plugins"));
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		make_file(check_path("plugins/%s", names[i]));
	*told = 0;
	check_ok(epp_plugin_find(directory, tell, directory));
	ck_assert_str_eq(told, "/B.so\n/a.so\n/b.so\n/c.so.1\n/g.so.old.so\n/h.solo.so\n/line\n.so\n/z.so.9\n");
	/* A file is told whatever it is called. */
	*told = 0;
	char *file = check_path("plugins/notes.txt");
	check_ok(epp_plugin_find(file, tell, directory));
	ck_assert_str_eq(told, "/notes.txt\n");
}
END_TEST

START_TEST(what_is_not_there_is_told)
{
	*told = 0;
	check_fails(EPP_NOT_FOUND, epp_plugin_find("/nowhere", tell, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_find(NULL, tell, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_find("/", NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_plugin_find_tf(NULL, NULL));
	char *empty = check_path("empty");
	ck_assert_int_eq(mkdir(empty, 0700), 0);
	check_ok(epp_plugin_find(empty, tell, empty));
	ck_assert_str_eq(told, "");
	setenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "/nowhere", 1);
	epp_status *status = epp_plugin_find_tf(tell, no_prefix);
	ck_assert_str_eq(epp_status_message(status),
	                 "TF_PLUGGABLE_DEVICE_LIBRARY_PATH: /nowhere: No such file or directory");
	epp_status_destroy(status);
}
END_TEST

START_TEST(tensorflow_s_places_are_searched)
{
	char root[512];
	snprintf(root, sizeof(root), "%s", check_path("tf"));
	static const char *const directories[] = { "",
		                                   "/venv",
		                                   "/venv/lib",
		                                   "/venv/lib/python3.11",
		                                   "/venv/lib/python3.11/site-packages",
		                                   "/venv/lib/python3.11/site-packages/tensorflow-plugins",
		                                   "/own" };
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		ck_assert_int_eq(mkdir(check_path("tf%s", directories[i]), 0700), 0);
	make_file(check_path("tf/venv/lib/python3.11/site-packages/tensorflow-plugins/libxpu.so"));
	make_file(check_path("tf/own/libown.so"));
	/* The same once more by another name. */
	ck_assert_int_eq(symlink(check_path("tf/own/libown.so"),
	                         check_path("tf/venv/lib/python3.11/site-packages/tensorflow-plugins/liba.so")),
	                 0);
	setenv("VIRTUAL_ENV", check_path("tf/venv"), 1);
	setenv("HOME", check_path("tf/nobody"), 1);
	setenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", check_path("tf/own"), 1);
	*told = 0;
	check_ok(epp_plugin_find_tf(tell, no_prefix));
	char expected[2048];
	snprintf(expected, sizeof(expected),
	         "%s/own/libown.so\n%s/venv/lib/python3.11/site-packages/tensorflow-plugins/libxpu.so\n", root, root);
	/* The system may have some of its own behind. */
	ck_assert_msg(!strncmp(told, expected, strlen(expected)), "%s", told);
	ck_assert_ptr_null(strstr(told, "liba.so"));
}
END_TEST

static Suite *plugin_find_suite(void)
{
	Suite *suite = suite_create("plugin_files");
	TCase *tests = tcase_create("find");
	tcase_add_test(tests, a_directory_is_told_in_order);
	tcase_add_test(tests, what_is_not_there_is_told);
	tcase_add_test(tests, tensorflow_s_places_are_searched);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(plugin_find_suite)
