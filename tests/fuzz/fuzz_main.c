/* The entry points of libFuzzer.  FUZZ_TARGET names the target; its seeds are written to the folder FUZZ_SEEDS. */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t room); /* of libFuzzer */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned random);

static const struct fuzz_target *target;

static void write_seeds(const char *folder)
{
	static uint8_t bytes[FUZZ_BYTES_MAX];
	char path[4096];
	size_t count;

	for (size_t i = 0; (count = target->seed(i, bytes)) != 0; i++) {
		snprintf(path, sizeof path, "%s/seed.%zu", folder, i);
		fuzz_write(path, bytes, count);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ_TARGET"), *seeds = getenv("FUZZ_SEEDS");

	(void)argc, (void)argv;
	for (size_t i = 0; (target = fuzz_target_at(i)) && name && strcmp(target->name, name) != 0; i++)
		continue;
	if (!target) {
		fprintf(stderr, "FUZZ_TARGET: no target '%s'\n", name);
		exit(2);
	}
	if (seeds)
		write_seeds(seeds);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	target->run(bytes, count);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned random)
{
	return target->mutate ? target->mutate(bytes, count, room, random, LLVMFuzzerMutate)
	                      : LLVMFuzzerMutate(bytes, count, room);
}
