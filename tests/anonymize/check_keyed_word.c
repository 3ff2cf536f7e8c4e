/* The parts of anonymising: the hash, words, the allow-list, shapes. */
#include "anonymize/allowed.h"
#include "anonymize/keyed_word.h"
#include "anonymize/shapes.h"
#include "tests/support/check.h"

/* ---- BLAKE2b ---- */

static void is_hash(const uint8_t *hash, size_t bytes, const char *expected)
{
	char text[2 * BLAKE2B_BYTES + 1];

	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	ck_assert_str_eq(text, expected);
}

/* Appendix A of RFC 7693. */
START_TEST(the_vector_of_the_rfc)
{
	uint8_t hash[BLAKE2B_BYTES];
	struct blake2b state;

	blake2b_begin(&state, NULL, 0, sizeof(hash));
	blake2b_add(&state, "abc", 3);
	blake2b_end(&state, hash);
	is_hash(hash, sizeof(hash),
	        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
	        "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}
END_TEST

/* Of blake2-kat.h, which comes with the reference implementation: the key is 00 01 ... 3f, the input 00 01 02 ... */
static const struct {
	size_t bytes;
	const char *hash;
} keyed[] = {
	{ 0, "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568" },
	{ 1, "961f6dd1e4dd30f63901690c512e78e4b45e4742ed197c3c5e45c549fd25f2e4187b0bc9fe30492b16b0d0bc4ef9b0f34c7003fac09a5ef1532e69430234cebd" },
	{ 64, "65676d800617972fbd87e4b9514e1c67402b7a331096d3bfac22f1abb95374abc942f16e9ab0ead33b87c91968a6e509e119ff07787b3ef483e1dcdccf6e3022" },
	{ 127,
	  "76d2d819c92bce55fa8e092ab1bf9b9eab237a25267986cacf2b8ee14d214d730dc9a5aa2d7b596e86a1fd8fa0804c77402d2fcd45083688b218b1cdfa0dcbcb" },
	{ 128,
	  "72065ee4dd91c2d8509fa1fc28a37c7fc9fa7d5b3f8ad3d0d7a25626b57b1b44788d4caf806290425f9890a3a2a35a905ab4b37acfd0da6e4517b2525c9651e4" },
	{ 129,
	  "64475dfe7600d7171bea0b394e27c9b00d8e74dd1e416a79473682ad3dfdbb706631558055cfc8a40e07bd015a4540dcdea15883cbbf31412df1de1cd4152b91" },
	{ 255,
	  "142709d62e28fcccd0af97fad0f8465b971e82201dc51070faa0372aa43e92484be1c1e73ba10906d5d1853db6a4106e0a7bf9800d373d6dee2d46d62ef2a461" },
};

START_TEST(the_vectors_of_the_reference_implementation)
{
	uint8_t key[64], input[256], hash[BLAKE2B_BYTES];
	struct blake2b state;

	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	/* At once, byte by byte, and from a copy of the state after the key. */
	for (size_t step = 1; step <= 256; step *= 16) {
		blake2b_begin(&state, key, sizeof(key), sizeof(hash));
		struct blake2b copy = state;
		for (size_t at = 0; at < keyed[_i].bytes; at += step)
			blake2b_add(&copy, input + at, keyed[_i].bytes - at < step ? keyed[_i].bytes - at : step);
		blake2b_end(&copy, hash);
		is_hash(hash, sizeof(hash), keyed[_i].hash);
	}
}
END_TEST

/* ---- words ---- */

static const char key_text[] = "sixteen bytes...";

START_TEST(words_depend_on_key_and_text)
{
	struct words words, same, other;
	char a[WORD_LETTERS_MAX + 1], b[WORD_LETTERS_MAX + 1];

	words_init(&words, key_text, sizeof(key_text));
	words_init(&same, key_text, sizeof(key_text));
	words_init(&other, "another one.....", sizeof(key_text));
	ck_assert(words_find_or_add(&words, "before", 6, a) && words_find_or_add(&words, "matmul", 6, a));
	ck_assert_uint_eq(strlen(a), WORD_LETTERS);
	ck_assert(words_find_or_add(&same, "matmul", 6, b));
	ck_assert_str_eq(a, b);
	ck_assert(words_find_or_add(&words, "matmul", 6, b));
	ck_assert_str_eq(a, b);
	ck_assert(words_find_or_add(&words, "matmul2", 7, b));
	ck_assert_str_ne(a, b);
	ck_assert(words_find_or_add(&other, "matmul", 6, b));
	ck_assert_str_ne(a, b);
	words_deinit(&words);
	words_deinit(&same);
	words_deinit(&other);
}
END_TEST

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* With one letter to begin with, most of them are taken. */
START_TEST(two_texts_never_have_the_same_word)
{
	enum { COUNT = 20000 };
	struct words words;
	char **made = calloc(COUNT, sizeof(*made)), text[24], letters[WORD_LETTERS_MAX + 1];

	words_letters_count = 1;
	words_init(&words, key_text, sizeof(key_text));
	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		MUST(words_find_or_add(&words, text, strlen(text), letters));
		made[i] = strdup(letters);
	}
	for (int i = 0; i < COUNT; i++) { /* and they stay */
		snprintf(text, sizeof(text), "text %d", i);
		MUST(words_find_or_add(&words, text, strlen(text), letters) && !strcmp(letters, made[i]));
	}
	qsort(made, COUNT, sizeof(*made), by_text);
	for (int i = 1; i < COUNT; i++)
		MUST(strcmp(made[i - 1], made[i]) != 0);
	for (int i = 0; i < COUNT; i++)
		free(made[i]);
	free(made);
	words_deinit(&words);
	words_letters_count = WORD_LETTERS;
}
END_TEST

/* ---- the allow-list ---- */

START_TEST(operators_are_sorted_and_found)
{
	static const char *const some[] = { "Abs", "Conv", "MatMul", "Xor", "ZipMap" };

	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		ck_assert_ptr_nonnull(allowed_operator(some[i], strlen(some[i])));
	ck_assert_ptr_null(allowed_operator("Conv_12", 7));
	ck_assert_ptr_null(allowed_operator("conv", 4));
	ck_assert_ptr_null(allowed_operator("", 0));
	ck_assert_ptr_null(allowed_operator("Conv\0x", 6));
	static const char *const all[] = {
#include "anonymize/onnx_ops.def"
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		ck_assert_ptr_nonnull(allowed_operator(all[i], strlen(all[i])));
		MUST(!i || strcmp(all[i - 1], all[i]) < 0);
	}
}
END_TEST

START_TEST(every_text_has_a_reason)
{
	for (size_t i = 0; i < allowed_count; i++) {
		MUST(*allowed_texts[i].reason);
		for (size_t j = 0; j < i; j++)
			MUST(allowed_texts[i].use != allowed_texts[j].use ||
			     strcmp(allowed_texts[i].text, allowed_texts[j].text));
	}
}
END_TEST

/* ---- shapes ---- */

static const struct {
	const char *text, *taken, *rounded; /* NULL: refused */
} shapes[] = {
	{ "[{\"float\":[1,64,56,57]}]", "[{\"float\":[1,64,56,57]}]", "[{\"float\":[1,64,64,64]}]" },
	{ "[[2, 3], []]", "[[2, 3], []]", "[[2, 4], []]" },
	{ "1x3x224", "1x3x224", "1x4x256" },
	{ "float16[0,1,2,3]", "float16[0,1,2,3]", "float16[0,1,2,4]" },
	{ "-1", "-1", "-1" },
	{ "999999999999999999", "999999999999999999", "1152921504606846976" },
	{ "9999999999999999999", NULL, NULL },
	{ "", NULL, NULL },
	{ "[{\"secret\":[1]}]", NULL, NULL },
	{ "[batch,3]", NULL, NULL },
	{ "[1,3]\n/home/someone", NULL, NULL },
	{ "x", "x", "x" },
	{ "1xsecret", NULL, NULL },
};

START_TEST(shapes_of_tensors)
{
	size_t bytes = strlen(shapes[_i].text);
	char output[SHAPES_ROOM(64)];

	for (int round = 0; round < 2; round++) {
		const char *expected = round ? shapes[_i].rounded : shapes[_i].taken;
		size_t used = shapes_take(shapes[_i].text, bytes, round, output);
		output[used] = 0;
		ck_assert_str_eq(output, expected ? expected : "");
	}
	ck_assert_uint_eq(shapes_take("1\0"
	                              "2",
	                              3, false, output),
	                  0);
}
END_TEST

START_TEST(powers_of_two)
{
	ck_assert_uint_eq(shapes_round(0), 0);
	ck_assert_uint_eq(shapes_round(1), 1);
	ck_assert_uint_eq(shapes_round(2), 2);
	ck_assert_uint_eq(shapes_round(3), 4);
	ck_assert_uint_eq(shapes_round(1000), 1024);
	ck_assert_uint_eq(shapes_round((UINT64_C(1) << 63) - 1), UINT64_C(1) << 63);
	ck_assert_uint_eq(shapes_round(UINT64_C(1) << 63), UINT64_C(1) << 63);
	ck_assert_uint_eq(shapes_round(UINT64_MAX), UINT64_MAX);
}
END_TEST

static Suite *words_suite(void)
{
	Suite *suite = suite_create("words");
	TCase *tests = tcase_create("words");

	tcase_add_test(tests, the_vector_of_the_rfc);
	tcase_add_loop_test(tests, the_vectors_of_the_reference_implementation, 0, sizeof(keyed) / sizeof(*keyed));
	tcase_add_test(tests, words_depend_on_key_and_text);
	tcase_add_test(tests, two_texts_never_have_the_same_word);
	tcase_add_test(tests, operators_are_sorted_and_found);
	tcase_add_test(tests, every_text_has_a_reason);
	tcase_add_loop_test(tests, shapes_of_tensors, 0, sizeof(shapes) / sizeof(*shapes));
	tcase_add_test(tests, powers_of_two);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(words_suite)
