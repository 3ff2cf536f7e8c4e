/* Who can change a library or a trace: epp_path_check. */
#include "tests/support/check.h"
#include "tests/support/emulated.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/plugin.h"

static char *folder, *file;

/* Ownership: malloc, the caller's. */
static char *in_folder(const char *name)
{
	char *path;
	ck_assert_int_ge(asprintf(&path, "%s/%s", folder, name), 0);
	return path;
}

static void make(void)
{
	folder = mkdtemp(check_path("folderXXXXXX"));
	ck_assert_ptr_nonnull(folder);
	file = in_folder("libx.so");
	ck_assert_int_eq(mknod(file, S_IFREG | 0600, 0), 0);
}

static void check_warns(const char *path, const char *wanted)
{
	epp_status *status = epp_path_check(path);
	ck_assert_int_eq(epp_status_code(status), wanted ? EPP_INVALID_ARGUMENT : EPP_OK);
	if (wanted)
		ck_assert_msg(strstr(epp_status_message(status), wanted) != NULL, "%s", epp_status_message(status));
	epp_status_destroy(status);
}

START_TEST(modes)
{
	make();
	check_warns(file, NULL);
	check_warns(folder, NULL);
	ck_assert_int_eq(chmod(file, 0602), 0);
	check_warns(file, "libx.so: every user can write to it");
	ck_assert_int_eq(chmod(file, 0755), 0);
	check_warns(file, NULL);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	check_warns(file, ": every user can write to it");
	/* Others cannot replace a file of this user there. */
	ck_assert_int_eq(chmod(folder, 01777), 0);
	check_warns(file, NULL);
	/* The sticky bit of a file has no such meaning. */
	ck_assert_int_eq(chmod(file, 01777), 0);
	check_warns(file, "libx.so: every user can write to it");
}
END_TEST

START_TEST(a_file_that_does_not_exist_yet)
{
	make();
	char *path = in_folder("new.epp");
	check_warns(path, NULL);
	check_warns(check_path("nowhere/new.epp"), NULL);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	check_warns(path, ": every user can write to it");
	free(path);
	ck_assert_int_eq(chdir(folder), 0);
	check_warns("new.epp", ".: every user can write to it");
	check_warns("/dev/null", NULL);
	check_warns("", "NULL or empty");
	check_warns(NULL, "NULL or empty");
}
END_TEST

/* The file behind a link counts, and its folder. */
START_TEST(a_link)
{
	make();
	char *link_path = check_path("link.so");
	ck_assert_int_eq(symlink(file, link_path), 0);
	check_warns(link_path, NULL);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	check_warns(link_path, ": every user can write to it");
}
END_TEST

/* Root alone can give a file to somebody else. */
START_TEST(owners_and_groups)
{
	make();
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chown(file, 4242, 4242), 0);
	check_warns(file, "libx.so: belongs to user 4242");
	ck_assert_int_eq(chown(file, 0, 4242), 0);
	ck_assert_int_eq(chmod(file, 0664), 0);
	check_warns(file, "libx.so: its group can write to it");
	ck_assert_int_eq(chown(file, 0, 0), 0);
	check_warns(file, NULL);
	ck_assert_int_eq(chown(folder, 4242, 0), 0);
	check_warns(file, ": belongs to user 4242");
}
END_TEST

static Suite *path_check_suite(void)
{
	Suite *suite = suite_create("path_check");
	TCase *tests = tcase_create("path_check");
	tcase_add_test(tests, modes);
	tcase_add_test(tests, a_file_that_does_not_exist_yet);
	tcase_add_test(tests, a_link);
	if (!emulated_without("there is one user"))
		tcase_add_test(tests, owners_and_groups);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(path_check_suite)
