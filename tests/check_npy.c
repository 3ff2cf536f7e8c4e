/* NumPy's files as inputs of epprof run: what they hold arrives, and those that are cut off or lie are refused. */
#include <bsd/string.h>

#include "tests/fake_run.h"

/* Makes a file of a version with a header and 8 bytes of elements; returns its length. */
static size_t make_npy(uint8_t *bytes, int version, const char *header)
{
	size_t length = strlen(header), at = 8;

	memcpy(bytes, "\x93NUMPY\0\0", 8);
	bytes[6] = (uint8_t)version;
	for (int i = 0; i < (version == 1 ? 2 : 4); i++)
		bytes[at++] = (uint8_t)(length >> 8 * i);
	memcpy(bytes + at, header, length);
	memcpy(bytes + at + length, "\1\2\3\4\5\6\7\x8", 8);
	return at + length + 8;
}

static void write_npy(int version, const char *header)
{
	uint8_t bytes[2048];

	write_bytes("in.npy", bytes, make_npy(bytes, version, header));
}

#define FLOATS "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"

START_TEST(files_are_read)
{
	static const char *const headers[] = {
		FLOATS "      \n",
		"{\"shape\": (1,2), \"fortran_order\":False,\"descr\":\"<f4\"}",
		"{'descr': '=f4', 'shape': (1L, 2L,), 'fortran_order': False}",
	};

	write_model(MODEL, "input x 1 N,2\n");
	for (int version = 1; version <= 3; version++) {
		for (size_t i = 0; i < 3; i++) {
			unlink(check_path("log"));
			write_npy(version, headers[i]);
			EXPECT(0, "", "--force", MODEL, "--input", i ? "x=in.npy" : "in.npy");
			ck_assert(logged("value x type 1 dims 1,2 0102030405060708\n"));
		}
	}
}
END_TEST

START_TEST(files_that_are_cut_off)
{
	uint8_t bytes[2048];
	size_t length = make_npy(bytes, 1, FLOATS);

	write_model(MODEL, "input x 1 N,2\n");
	for (size_t i = 0; i < length; i++) {
		write_bytes("in.npy", bytes, i);
		EXPECT(1, "in.npy: ", MODEL, "--input", "in.npy");
	}
	write_bytes("in.npy", bytes, length);
	EXPECT(0, "", MODEL, "--input", "in.npy");
}
END_TEST

START_TEST(files_that_lie)
{
	static const struct {
		const char *header, *message;
	} cases[] = {
		{ "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", "in Fortran order" },
		{ "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2)}", "has the other byte order" },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", "in.npy: float64 of shape (1,1); the model's input"
		                                                               " 'x' is float32 of shape (N,2)" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "in.npy: float32 of shape (2); the model's" },
		{ "{'descr': '<U4', 'fortran_order': False, 'shape': (1, 2)}", "is no number or boolean" },
		{ "{'descr': '<f4\n', 'fortran_order': False, 'shape': (1, 2)}", "is no number or boolean" },
		{ "{'descr': '', 'fortran_order': False, 'shape': (1, 2)}", "is no number or boolean" },
		{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2)}", "an array of records" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3)}", "it has 8 bytes of elements, its header "
		                                                               "promises 12" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}", "larger than any memory" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}", "is not a number" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}", "is not a number" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2 3", "is not a tuple" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "is not a tuple" },
		{ "{'descr': '<f4', 'fortran_order': False}", "lacks 'descr', 'fortran_order' or 'shape'" },
		{ "{'descr': '<f4', 'descr': '<f4'}", "unknown or there twice" },
		{ "{'descr': '<f4', 'extra': 1}", "unknown or there twice" },
		{ "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 2)}", "no order" },
		{ "{'descr': '<f4", "no type" },
		{ "[]", "not a dictionary" },
		{ "", "not a dictionary" },
		{ FLOATS "x", "something stands behind" },
	};
	char ones[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";

	write_model(MODEL, "input x 1 N,2\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_npy(1, cases[i].header);
		EXPECT(1, cases[i].message, MODEL, "--input", "in.npy");
	}
	for (int i = 0; i < 33; i++)
		strlcat(ones, "1,", sizeof ones);
	strlcat(ones, ")}", sizeof ones);
	write_npy(1, ones);
	EXPECT(1, "more than 32 dimensions", MODEL, "--input", "in.npy");
	write_npy(4, FLOATS);
	EXPECT(1, "version 4 of the format; 1 to 3 are read", MODEL, "--input", "in.npy");
	write_bytes("in.npy", "\x93NUMPY\2\0\xff\xff\xff\xff", 12);
	EXPECT(1, "its header is too long", MODEL, "--input", "in.npy");
	write_bytes("in.npy", "\x93NUMPY\1\0\4\0{'\0}", 14);
	EXPECT(1, "a zero byte", MODEL, "--input", "in.npy");
	EXPECT(1, "/tmp: not a .npy file", MODEL, "--input", "/tmp");
}
END_TEST

START_TEST(inputs_are_named)
{
	write_model(MODEL, "input a 1 N,2\ninput b 1 N,2\n");
	write_npy(1, FLOATS);
	EXPECT(1, "the model has 2 inputs; say --input NAME=FILE.npy for each", MODEL, "--input", "in.npy");
	EXPECT(1, "--input: the model has no input 'c'; it has 'a', 'b'", MODEL, "--input", "c=in.npy");
	EXPECT(1, "input 'a' has a file already", MODEL, "--input", "a=in.npy", "--input", "a=in.npy");
	EXPECT(1, "nothere.npy: No such file", MODEL, "--input", "a=nothere.npy");
	EXPECT(1, "in.npy: float32 of shape (1,2)", MODEL, "--input", "a=in.npy", "--shape", "a=5,2");
	EXPECT(0, "input 'b' has the shape N,2; it is taken as 1,2", MODEL, "--input", "a=in.npy", "--input", "b=random");
	ck_assert(logged("value a type 1 dims 1,2 0102030405060708\n"));
	EXPECT(0, "", "--force", MODEL, "--input", "random", "--shape", "a=2,2", "--shape", "b=2,2");
	write_model(MODEL, "input x=y 1 N,2\n");
	EXPECT(0, "", "--force", MODEL, "--shape", "x=y=2,2");
}
END_TEST

static Suite *npy_suite(void)
{
	Suite *suite = suite_create("npy");
	TCase *npy = tcase_create("npy");

	tcase_add_checked_fixture(npy, begin, NULL);
	tcase_add_test(npy, files_are_read);
	tcase_add_test(npy, files_that_are_cut_off);
	tcase_add_test(npy, files_that_lie);
	tcase_add_test(npy, inputs_are_named);
	suite_add_tcase(suite, npy);
	return suite;
}
CHECK_MAIN(npy_suite)
