/* Blocks of rows at random, for the tests of columns. */
#ifndef EPPROF_TESTS_TRACE_ROWS_H
#define EPPROF_TESTS_TRACE_ROWS_H

#include <string.h>

#include "codec/codec.h"
#include "epprof/session.h"
#include "tests/support/check.h"
#include "tests/support/random_values.h"

#define RECORDS_MAX 3000u
#define SLOTS_MAX 64u
#define ROOM (1u << 20)

/* Rows, as a recorder writes them, and what the codec gives of them. */
struct rows {
	struct epf_block block;
	uint64_t open_ids[EPF_OPEN_MAX];
	struct codec_record records[RECORDS_MAX];
	uint8_t payload[2 * CODEC_BOUND(RECORDS_MAX * (EPF_RECORD_BYTES + SLOTS_MAX * 16))];
	uint32_t args_bytes; /* of the payload with the args that codec_decode appended */
	struct codec_writer writer;
};

static inline struct rows *rows_create(uint32_t open_count)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	MUST(rows);
	for (uint32_t i = 0; i < open_count; i++)
		rows->open_ids[i] = random_width();
	codec_begin(&rows->writer, rows->payload, rows->open_ids, open_count);
	return rows;
}

static inline uint32_t random_args(struct epf_arg *args)
{
	uint32_t slots = 0;

	for (uint32_t left = random_bits() % 5; left && slots < SLOTS_MAX - 20; left--) {
		uint32_t type = random_bits() % (EPP_ARG_TEXT + 1);
		struct epf_arg *arg = &args[slots++];
		*arg = (struct epf_arg){ .key = (uint32_t)random_width() | 1, .type_and_bytes = type };
		if (type != EPP_ARG_TEXT) {
			arg->value = random_width();
			continue;
		}
		uint32_t bytes = random_bits() % 200;
		arg->type_and_bytes |= bytes << 8;
		for (uint32_t i = 0; i < bytes; i++)
			((uint8_t *)&args[slots])[i] = (uint8_t)random_bits();
		slots += (bytes + 15) / 16;
	}
	return slots;
}

static inline void rows_add(struct rows *rows, uint64_t start, uint64_t duration, uint64_t id, uint32_t name,
                            uint16_t bits, const struct epf_arg *args, uint32_t slots)
{
	struct epf_record record = { .start_ticks = start, .duration_ticks = duration, .id = id };
	MUST(rows->writer.state.record_count < RECORDS_MAX);
	record.name = name;
	record.bits = bits;
	record.arg_slots = (uint16_t)slots;
	codec_append(&rows->writer, &record, args);
}

static inline void rows_finish(struct rows *rows)
{
	uint32_t decoded;
	codec_finish(&rows->writer, &rows->block);
	struct codec_payload payload = { rows->payload, rows->block.payload_bytes, sizeof(rows->payload) };
	MUST(codec_decode(&rows->block, &payload, rows->open_ids, rows->records, &decoded));
	rows->args_bytes = payload.count;
	MUST(decoded == rows->block.record_count);
}

static inline struct rows *rows_random(uint32_t count, uint32_t open_count)
{
	struct rows *rows = rows_create(open_count);
	struct epf_arg args[SLOTS_MAX] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slots = random_bits() % 4 ? 0 : random_args(args);
		rows_add(rows, random_width(), random_width(), random_width(), (uint32_t)random_width() | 1,
		         (uint16_t)random_width(), args, slots);
	}
	rows_finish(rows);
	return rows;
}

/* A thread's plain events. */
static inline struct rows *rows_plain(uint32_t count)
{
	struct rows *rows = rows_create(0);
	uint64_t now = 1000000;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = now += random_bits() % 500, duration = random_bits() % 8000;
		now += duration;
		rows_add(rows, start, duration, 1700000000000000000u + i, 16 + i % 40,
		         EPF_BITS(EPP_NODE, EPF_EVENT, 0, 0), NULL, 0);
	}
	rows_finish(rows);
	return rows;
}

#endif
