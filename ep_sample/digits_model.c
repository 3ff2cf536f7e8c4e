/* Reads the files of the model.  The files have no padding and are little-endian, as are the structs in memory on all
 * machines that this program supports.  A file with another byte order is recognised by its first numbers. */
#include "digits_model.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HIDDEN = 32 };

static struct {
	uint32_t pixels, hidden, answers;
	float w1[PIXELS][HIDDEN], b1[HIDDEN], w2[HIDDEN][ANSWERS], b2[ANSWERS];
} weights;

struct digits_test digits_test;

const struct digits_node digits_nodes[NODES] = {
	{ "MatMul", weights.w1[0], PIXELS, HIDDEN },
	{ "Add", weights.b1, HIDDEN, HIDDEN },
	{ "Relu", NULL, HIDDEN, HIDDEN },
	{ "MatMul", weights.w2[0], HIDDEN, ANSWERS },
	{ "Add", weights.b2, ANSWERS, ANSWERS },
	{ "Softmax", NULL, ANSWERS, ANSWERS },
};

static bool load(const char *directory, const char *name, void *data, size_t bytes)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	errno = 0;
	FILE *file = fopen(path, "rbe");
	size_t got_bytes = file ? fread(data, 1, bytes, file) : 0;
	bool longer = file && got_bytes == bytes && fgetc(file) != EOF;
	if (!file || ferror(file))
		fprintf(stderr, "digits: %s: %s\n", path, strerror(errno));
	else if (got_bytes < bytes)
		fprintf(stderr, "digits: %s: truncated: %zu of %zu bytes\n", path, got_bytes, bytes);
	else if (longer)
		fprintf(stderr, "digits: %s: longer than %zu bytes\n", path, bytes);
	bool loaded = file && !ferror(file) && got_bytes == bytes && !longer;
	if (file)
		fclose(file);
	return loaded;
}

static bool wrong_model(const char *directory, const char *name)
{
	fprintf(stderr, "digits: %s/%s: its first numbers are not those of this model\n", directory, name);
	return false;
}

const char *digits_beside(const char *name, char path[DIGITS_PATH_BYTES])
{
	char program[DIGITS_PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[length > 0 ? length : 0] = '\0';
	snprintf(path, DIGITS_PATH_BYTES, "%s/%s", dirname(program), name);
	return path;
}

bool digits_load(void)
{
	const char *const names[] = { "digits_weights.bin", "digits_test.bin" };
	char path[DIGITS_PATH_BYTES];
	const char *directory = digits_beside("../ep_sample/data", path);

	if (!load(directory, names[0], &weights, sizeof(weights)) ||
	    !load(directory, names[1], &digits_test, sizeof(digits_test)))
		return false;
	if (weights.pixels != PIXELS || weights.hidden != HIDDEN || weights.answers != ANSWERS)
		return wrong_model(directory, names[0]);
	if (digits_test.digits != DIGITS || digits_test.pixels != PIXELS)
		return wrong_model(directory, names[1]);
	return true;
}

unsigned digits_count_right(const float (*results)[ANSWERS], const int64_t *answers, size_t count)
{
	unsigned right = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t answer = 0;
		for (int64_t j = 1; j < ANSWERS; j++)
			if (results[i][j] > results[i][answer])
				answer = j;
		right += answer == answers[i];
	}
	return right;
}
