/* Each fuzz target with its seeds, with random changes to them, the same in every run, and with the inputs of
 * tests/fuzz/corpus/, which libFuzzer found because they reach code that the seeds do not.  Covers all files of
 * tests/fuzz/ except fuzz_main.c, which `make fuzz` needs. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/check.h"
#include "tests/support/random_values.h"

#define ROUNDS (600 / CHECK_ONE_IN)

static size_t change(uint8_t *bytes, size_t count, size_t room)
{
	static const uint64_t edges[] = { 0, 1, 63, 64, 255, 65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };
	size_t at = count ? random_below((uint32_t)count) : 0, some = random_below(9);

	if (!count)
		return 0;
	some = some < count - at ? some : count - at;
	switch (random_below(6)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1:
		bytes[at] = (uint8_t)random_bits();
		break;
	case 2:
		memcpy(bytes + at, &edges[random_below(sizeof edges / sizeof *edges)], some < 8 ? some : 8);
		break;
	case 3: /* cut out; a change that must keep the size has no room */
		if (count == room)
			break;
		memmove(bytes + at, bytes + at + some, count - at - some);
		return count - some;
	case 4: /* repeat */
		if (count + some > room)
			break;
		memmove(bytes + at + some, bytes + at, count - at);
		return count + some;
	default:
		memset(bytes + at, random_below(2) ? 0xff : 0, some);
	}
	return count;
}

static void run_changed(const struct fuzz_target *target, const uint8_t *seed, size_t count)
{
	uint8_t *bytes = malloc(FUZZ_BYTES_MAX);

	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, seed, count);
	for (unsigned times = 1 + random_below(3); times; times--)
		count = target->mutate ? target->mutate(bytes, count, FUZZ_BYTES_MAX, (unsigned)random_bits(), change)
		                       : change(bytes, count, FUZZ_BYTES_MAX);
	/* A copy of the exact size, so that AddressSanitizer finds reads beyond it. */
	uint8_t *exact = malloc(count + 1);
	memcpy(exact, bytes, count);
	target->run(exact, count);
	free(exact);
	free(bytes);
}

START_TEST(seeds_and_random_changes)
{
	static uint8_t seed[FUZZ_BYTES_MAX];
	const struct fuzz_target *target = fuzz_target_at((size_t)_i);
	size_t count, seeds = 0;

	setenv("TMPDIR", check_directory_path, 1);
	while ((count = target->seed(seeds, seed)) != 0) {
		target->run(seed, count);
		seeds++;
	}
	ck_assert_uint_ge(seeds, 1);
	target->run(seed, 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		count = target->seed(i % seeds, seed);
		run_changed(target, seed, count);
	}
}
END_TEST

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

START_TEST(inputs_of_the_corpus)
{
	static uint8_t bytes[FUZZ_BYTES_MAX];
	const struct fuzz_target *target = fuzz_target_at((size_t)_i);
	struct dirent **entries = NULL;
	char folder[4096], path[8192];

	setenv("TMPDIR", check_directory_path, 1);
	snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", CHECK_SOURCE, target->name);
	int count = scandir(folder, &entries, is_input, alphasort);
	ck_assert_int_ge(count, 1);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		size_t size = fuzz_read(path, bytes);
		/* A copy of the exact size, so that AddressSanitizer finds reads beyond it. */
		uint8_t *exact = malloc(size + 1);
		memcpy(exact, bytes, size);
		target->run(exact, size);
		free(exact);
		free(entries[i]);
	}
	free(entries);
}
END_TEST

static Suite *fuzz_suite(void)
{
	Suite *suite = suite_create("fuzz");
	TCase *targets = tcase_create("targets");
	int count = 0;

	while (fuzz_target_at((size_t)count))
		count++;
	tcase_add_loop_test(targets, seeds_and_random_changes, 0, count);
	tcase_add_loop_test(targets, inputs_of_the_corpus, 0, count);
	suite_add_tcase(suite, targets);
	return suite;
}

CHECK_MAIN(fuzz_suite)
