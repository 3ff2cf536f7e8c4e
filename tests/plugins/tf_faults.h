/* Shared by the faulty plugins for TensorFlow: the requested fault, and functions to write protobuf. */
#ifndef EPPROF_TESTS_PLUGINS_TF_FAULTS_H
#define EPPROF_TESTS_PLUGINS_TF_FAULTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *fault)
{
	const char *now = getenv("TF_FAULT");
	return now && strcmp(now, fault) == 0;
}

/* Both functions return the number of bytes written. */
static size_t varint(uint8_t *at, uint64_t value)
{
	size_t count = 0;
	for (; value > 0x7F; value >>= 7)
		at[count++] = (uint8_t)(value | 0x80);
	at[count++] = (uint8_t)value;
	return count;
}

static size_t field(uint8_t *at, unsigned number, const void *bytes, size_t count)
{
	size_t head = varint(at, number << 3 | 2);
	head += varint(at + head, count);
	memcpy(at + head, bytes, count);
	return head + count;
}

#endif
