/* The accelerator's fills: what they clear, what they report, what is refused. */
#include "tests/support/check.h"

#include "ep_sample/accelerator.h"

static accelerator_completion last;

static void keep(void *user, const accelerator_completion *completion)
{
	(void)user;
	if (completion->op == ACCELERATOR_FILL)
		last = *completion;
}

static accelerator *device_create(void)
{
	accelerator *device;
	accelerator_options options = { .clock = ACCELERATOR_CLOCK_DEFAULT, .completed = keep };
	ck_assert_int_eq(accelerator_create(&options, &device), ACCELERATOR_OK);
	return device;
}

static void run(accelerator *device, accelerator_stream stream, accelerator_command command)
{
	ck_assert_int_eq(accelerator_submit(device, stream, &command, NULL), ACCELERATOR_OK);
	ck_assert_int_eq(accelerator_synchronise(device), ACCELERATOR_OK);
}

START_TEST(a_fill_clears_its_bytes_and_no_more)
{
	float values[4] = { 1, 2, 3, 4 };
	accelerator *device = device_create();
	accelerator_buffer *buffer;
	ck_assert_int_eq(accelerator_buffer_create(sizeof(values), &buffer), ACCELERATOR_OK);
	run(device, ACCELERATOR_COPY_ENGINE,
	    (accelerator_command){ .op = ACCELERATOR_COPY_IN, .out = buffer, .from_host = values, .bytes = sizeof(values) });
	run(device, ACCELERATOR_STREAM_1,
	    (accelerator_command){ .op = ACCELERATOR_FILL, .out = buffer, .bytes = 12, .tag = 5 });
	run(device, ACCELERATOR_COPY_ENGINE,
	    (accelerator_command){ .op = ACCELERATOR_COPY_OUT, .a = buffer, .to_host = values, .bytes = sizeof(values) });
	ck_assert(values[0] == 0 && values[1] == 0 && values[2] == 0 && values[3] == 4);
	ck_assert_str_eq(last.name, "fill");
	ck_assert_int_eq(last.stream, ACCELERATOR_STREAM_1);
	ck_assert_uint_eq(last.tag, 5);
	ck_assert_uint_eq(last.bytes, 12);
	ck_assert_uint_eq(last.flops, 0);
	accelerator_buffer_release(buffer);
	accelerator_destroy(device);
}
END_TEST

START_TEST(bad_fills_are_refused)
{
	accelerator *device = device_create();
	accelerator_buffer *buffer;
	ck_assert_int_eq(accelerator_buffer_create(16, &buffer), ACCELERATOR_OK);
	const accelerator_command good = { .op = ACCELERATOR_FILL, .out = buffer, .bytes = 16 };
	accelerator_command bad = good;
	bad.bytes = 17;
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &bad, NULL), ACCELERATOR_BAD_ARGUMENT);
	bad = good;
	bad.out = NULL;
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_STREAM_0, &bad, NULL), ACCELERATOR_BAD_ARGUMENT);
	ck_assert_int_eq(accelerator_submit(device, ACCELERATOR_COPY_ENGINE, &good, NULL), ACCELERATOR_BAD_ARGUMENT);
	accelerator_buffer_release(buffer);
	accelerator_destroy(device);
}
END_TEST

static Suite *accelerator_fill_suite(void)
{
	Suite *suite = suite_create("accelerator_fill");
	TCase *tests = tcase_create("fill");
	tcase_add_test(tests, a_fill_clears_its_bytes_and_no_more);
	tcase_add_test(tests, bad_fills_are_refused);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(accelerator_fill_suite)
