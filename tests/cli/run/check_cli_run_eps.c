/* epprof run, with a library that only plays ONNX Runtime (tests/fake_ort): the names of EP libraries. */
#include "epprof/ep_push.h"
#include "tests/cli/run/fake_run.h"

/* A provider may call itself as its library was registered, and its nodes after that. */
START_TEST(a_library_is_registered_under_its_files_name)
{
	const char *plain = CHECK_BUILD "/tests/plugins/plain_ep.so";
	char text[1024], path[600];

	begin();
	ck_assert_int_eq(mkdir("second", 0700), 0);
	snprintf(text, sizeof text, "cp %s second/plain_ep.so && cp %s second/libother.so.1.2", plain, plain);
	ck_assert_int_eq(system(text), 0);
	write_model(MODEL, "node gemm plain_ep\nnode add plain_ep_2\nnode relu other\n");
	struct command run = command_run(NULL, "run", MODEL, "--ep", plain, "--ep", "second/plain_ep.so", "--ep",
	                                 "second/libother.so.1.2", NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_msg(strstr(run.out, "1 on plain_ep, 1 on plain_ep_2, 1 on other") != NULL, "%s", run.out);
	command_free(&run);
	snprintf(path, sizeof path, "%s/second/plain_ep.so", check_directory_path);
	snprintf(text, sizeof text, "%s as plain_ep_2\n", path);
	ck_assert(logged(text));
	ck_assert(logged("libepprof_ort.so as " EPPROF_COLLECTOR_NAME_OF_READER "\n"));
	ck_assert(logged("unregister\nunregister\nunregister\nunregister\n"));
}
END_TEST

static Suite *cli_run_eps_suite(void)
{
	Suite *suite = suite_create("cli_run_eps");
	TCase *eps = tcase_create("eps");

	tcase_add_test(eps, a_library_is_registered_under_its_files_name);
	suite_add_tcase(suite, eps);
	return suite;
}

CHECK_MAIN(cli_run_eps_suite)
