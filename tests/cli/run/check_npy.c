/* NumPy's files as inputs of epprof run: what they hold arrives, and those that are cut off or lie are refused. */
#include <bsd/string.h>

#include "tests/cli/run/fake_run.h"

/* Makes a file of a version with a header and elements; returns its length. */
static size_t make_npy_of(uint8_t *bytes, int version, const char *header, const void *elements, size_t elements_bytes)
{
	size_t length = strlen(header), at = 8;

	memcpy(bytes, "\x93NUMPY\0\0", 8);
	bytes[6] = (uint8_t)version;
	for (int i = 0; i < (version == 1 ? 2 : 4); i++)
		bytes[at++] = (uint8_t)(length >> 8 * i);
	memcpy(bytes + at, header, length);
	memcpy(bytes + at + length, elements, elements_bytes);
	return at + length + elements_bytes;
}

/* The same with 8 bytes of elements. */
static size_t make_npy(uint8_t *bytes, int version, const char *header)
{
	return make_npy_of(bytes, version, header, "\1\2\3\4\5\6\7\x8", 8);
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
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", "in.npy: float64 of shape (1,1); the model's input"
		                                                               " 'x' is float32 of shape (N,2)" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "in.npy: float32 of shape (2); the model's" },
		{ "{'descr': '<U4', 'fortran_order': False, 'shape': (1, 2)}",
		  "it has 8 bytes of elements, its header promises 32" },
		{ "{'descr': '<U1', 'fortran_order': False, 'shape': (1, 2)}",
		  "in.npy: string of shape (1,2); the model's input 'x' "
		  "is float32" },
		{ "{'descr': '<U', 'fortran_order': False, 'shape': (1, 2)}", "is no number, boolean or text" },
		{ "{'descr': '<U4x', 'fortran_order': False, 'shape': (1, 2)}", "is no number, boolean or text" },
		{ "{'descr': '<U9999999999', 'fortran_order': False, 'shape': (1, 2)}", "is no number, boolean or text" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1, 2)}",
		  "holds Python objects; save array.astype(str)" },
		{ "{'descr': '<f4\n', 'fortran_order': False, 'shape': (1, 2)}", "is no number, boolean or text" },
		{ "{'descr': '', 'fortran_order': False, 'shape': (1, 2)}", "is no number, boolean or text" },
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
		{ FLOATS "x", "the header has text after" },
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

/* Runs a model with the input "x" from a file, and expects the value that arrives. */
static void expect_value(const char *model, const char *header, const void *elements, size_t bytes, const char *value)
{
	uint8_t file[2048];
	char line[512];

	write_model(MODEL, model);
	write_bytes("in.npy", file, make_npy_of(file, 1, header, elements, bytes));
	unlink(check_path("log"));
	EXPECT(0, "", "--force", MODEL, "--input", "x=in.npy");
	snprintf(line, sizeof line, "value x %s\n", value);
	ck_assert_msg(logged(line), "no '%s' for %s", line, header);
}

START_TEST(fortran_order_becomes_row_order)
{
	static const uint8_t bytes[] = { 0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
		                         2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23 };
	static const uint8_t halves[] = { 0, 10, 3, 13, 1, 11, 4, 14, 2, 12, 5, 15 };

	expect_value("input x 2 2,3,4\n", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", bytes, 24,
	             "type 2 dims 2,3,4 000102030405060708090a0b0c0d0e0f");
	expect_value("input x 10 2,3\n", "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3)}", halves, 12,
	             "type 10 dims 2,3 000a010b020c030d040e050f");
	expect_value("input x 2 4\n", "{'descr': '|u1', 'fortran_order': True, 'shape': (4,)}", bytes, 4,
	             "type 2 dims 4 000c0410");
	expect_value("input x 2 -\n", "{'descr': '|u1', 'fortran_order': True, 'shape': ()}", bytes + 1, 1,
	             "type 2 dims  0c");
	expect_value("input x 2 0,3\n", "{'descr': '|u1', 'fortran_order': True, 'shape': (0, 3)}", bytes, 0,
	             "type 2 dims 0,3 ");
}
END_TEST

START_TEST(big_endian_becomes_little)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

	expect_value("input x 5 3\n", "{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}", bytes, 6,
	             "type 5 dims 3 020104030605");
	expect_value("input x 1 2\n", "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", bytes, 8,
	             "type 1 dims 2 0403020108070605");
	expect_value("input x 11 2,1\n", "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1)}", bytes, 16,
	             "type 11 dims 2,1 0807060504030201100f0e0d0c0b0a09");
	expect_value("input x 1 2,2\n", "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2)}", bytes, 16,
	             "type 1 dims 2,2 040302010c0b0a0908070605100f0e0d");
	expect_value("input x 2 2\n", "{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", bytes, 2,
	             "type 2 dims 2 0102");
}
END_TEST

/* Zeros at the end of an element are padding; those before are part of the text. */
START_TEST(texts_arrive_as_utf8)
{
	static const uint32_t units[] = { 'a', 0x7f, 0, 0x80, 0x7ff, 0x800, 0, 'b', 0, 0xffff, 0x10000, 0x10ffff };
	static const uint8_t big[] = { 0, 0, 0, 'a', 0, 0, 0x20, 0xac };
	static const uint32_t columns[4] = { 'a', 'c', 'b', 'd' };

	expect_value("input x 8 4\n", "{'descr': '<U3', 'fortran_order': False, 'shape': (4,)}", units, sizeof units,
	             "type 8 dims 4 <617f><c280dfbfe0a080><0062><efbfbff0908080f48fbfbf>");
	expect_value("input x 8 1\n", "{'descr': '>U2', 'fortran_order': False, 'shape': (1,)}", big, sizeof big,
	             "type 8 dims 1 <61e282ac>");
	expect_value("input x 8 2,2\n", "{'descr': '<U1', 'fortran_order': True, 'shape': (2, 2)}", columns,
	             sizeof columns, "type 8 dims 2,2 <61><62><63><64>");
	expect_value("input x 8 3\n", "{'descr': '|S3', 'fortran_order': False, 'shape': (3,)}", "abca\0\0\0\0\0", 9,
	             "type 8 dims 3 <616263><61><>");
	expect_value("input x 8 2\n", "{'descr': '<U0', 'fortran_order': False, 'shape': (2,)}", "", 0,
	             "type 8 dims 2 <><>");
	expect_value("input x 8 0\n", "{'descr': '<U1', 'fortran_order': False, 'shape': (0,)}", "", 0, "type 8 dims 0 ");
}
END_TEST

START_TEST(texts_that_are_not_unicode_are_refused)
{
	static const uint32_t wrong[] = { 0xd800, 0xdfff, 0x110000, 0xffffffff };

	write_model(MODEL, "input x 8 2\n");
	for (size_t i = 0; i < 4; i++) {
		uint8_t file[256];
		uint32_t units[2] = { 'a', wrong[i] };
		size_t bytes = make_npy_of(file, 1, "{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}", units, 8);
		write_bytes("in.npy", file, bytes);
		EXPECT(1, "in.npy: element 1 is not Unicode", MODEL, "--input", "x=in.npy");
	}
}
END_TEST

START_TEST(inputs_are_named)
{
	write_model(MODEL, "input a 1 N,2\ninput b 1 N,2\n");
	write_npy(1, FLOATS);
	EXPECT(1, "the model has 2 inputs; use --input NAME=FILE.npy for each", MODEL, "--input", "in.npy");
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

/* Both the name of an input and that of a file may hold '=': the longest name of an input wins. */
START_TEST(names_hold_equals_signs_and_blanks)
{
	write_model(MODEL, "input 'a=b c' 1 1,2\ninput a 1 1,2\ninput 'a=b' 1 1,2\n");
	write_npy(1, FLOATS);
	EXPECT(0, "", MODEL, "--input", "a=b c=in.npy", "--input", "a=b=in.npy");
	ck_assert(logged("value a=b c type 1 dims 1,2 0102030405060708\n"));
	ck_assert(logged("value a=b type 1 dims 1,2 0102030405060708\n"));
	ck_assert(!logged("value a type 1 dims 1,2 0102030405060708\n"));
	ck_assert_int_eq(rename("in.npy", "b d=in.npy"), 0);
	unlink(check_path("log"));
	EXPECT(0, "", "--force", MODEL, "--input", "a=b d=in.npy");
	ck_assert(logged("value a type 1 dims 1,2 0102030405060708\n"));
	EXPECT(1, "--input: the model has no input 'd e=f'; it has 'a=b c', 'a', 'a=b'", "--force", MODEL, "--input",
	       "d e=f=in.npy");
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
	tcase_add_test(npy, fortran_order_becomes_row_order);
	tcase_add_test(npy, big_endian_becomes_little);
	tcase_add_test(npy, texts_arrive_as_utf8);
	tcase_add_test(npy, texts_that_are_not_unicode_are_refused);
	tcase_add_test(npy, inputs_are_named);
	tcase_add_test(npy, names_hold_equals_signs_and_blanks);
	suite_add_tcase(suite, npy);
	return suite;
}
CHECK_MAIN(npy_suite)
