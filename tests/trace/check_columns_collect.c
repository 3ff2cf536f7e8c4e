/* What columns are collected from (columns_collect.c): rows that are taken as they stand give the same block, and the same
 * index of it, as the records that they are decoded to. */
#include "trace/columns/columns.h"

#include "tests/trace/rows.h"
#include "trace/reader.h"
#include "trace/writer/trace_writer_private.h"

struct packed {
	struct epf_block block;
	uint8_t *payload;
};

enum { ALONE, WITH_PARENTS, WITH_ARGS };

/* Blocks of events, or of complete ones, of a thread or a device. */
static struct rows *rows_of_kind(unsigned kind, uint32_t count, uint32_t open_count, unsigned args_are)
{
	struct rows *rows = rows_create(0);
	uint64_t now = 1000000 + random_below(5000), id = 1700000000000000000u;
	struct epf_arg args[SLOTS_MAX] = { 0 };

	for (uint32_t i = 0; i < open_count; i++)
		rows->open_ids[i] = id + i * 9; /* those in between were not */
	codec_begin(&rows->writer, rows->payload, rows->open_ids, open_count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t duration = random_below(i % 50 ? 8000 : 1u << 30);
		uint32_t slots = 0;
		now += random_below(500) + (kind == EPF_EVENT ? duration : 0);
		if (args_are != ALONE && i % 3) {
			args[0] = (struct epf_arg){ EPF_NAME_PARENT, EPP_ARG_U64,
				                    random_below(4) ? id + i * 7 : random_width() };
			slots = args_are == WITH_ARGS && i % 5 == 0 ? random_args(args) : 1;
		}
		rows_add(rows, now - (kind == EPF_EVENT ? duration : 0), duration, id + random_below(open_count + 60),
		         16 + random_below(400), EPF_BITS(i % 3, kind, 0, 0), args, slots);
	}
	rows_finish(rows);
	rows->block.track = 9;
	return rows;
}

/* What an index holds that was told of these blocks, by way of records or as they stand. */
static void put_together(struct rows *const *rows, uint32_t count, bool as_they_stand, struct packed *packed,
                         struct trace_writer_index *index)
{
	struct columns_encoder encoder;
	const struct codec_fields *taken = NULL;

	trace_writer_index_init(index);
	packed->payload = malloc(ROOM);
	MUST(packed->payload && columns_encoder_init(&encoder));
	MUST(columns_begin(&encoder, rows[0]->open_ids, rows[0]->block.open_count));
	for (uint32_t i = 0; i < count; i++) {
		struct reader_decoded decoded = { .records = rows[i]->records,
			                          .header = rows[i]->block,
			                          .args = rows[i]->payload,
			                          .args_bytes = rows[i]->block.payload_bytes,
			                          .count = rows[i]->block.record_count };
		if (as_they_stand) {
			MUST(columns_append_rows(&encoder, &rows[i]->block, rows[i]->payload, &taken));
			MUST(taken);
			check_ok(trace_writer_index_rows(index, rows[i]->block.track, taken, encoder.parents));
		} else {
			MUST(columns_append(&encoder, rows[i]->records, rows[i]->block.record_count, rows[i]->payload,
			                    rows[i]->block.payload_bytes));
			check_ok(trace_writer_index_records(index, &decoded, encoder.parents));
		}
	}
	MUST(columns_finish(&encoder, &packed->block, packed->payload, ROOM));
	columns_encoder_deinit(&encoder);
}

/* The first start of those that were not open before the first of these blocks. */
static uint64_t own_first_ticks(struct rows *const *rows, uint32_t count)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t r = 0; r < rows[i]->block.record_count; r++) {
			const struct codec_record *record = &rows[i]->records[r];
			bool is_own = EPF_BITS_KIND(record->bits) == EPF_EVENT;
			for (uint32_t open = 0; open < rows[0]->block.open_count; open++)
				is_own = is_own && rows[0]->open_ids[open] != record->id;
			if (is_own && record->start_ticks < first)
				first = record->start_ticks;
		}
	return first;
}

static void check_both_ways(struct rows *const *rows, uint32_t count)
{
	struct packed packed[2] = { 0 };
	struct trace_writer_index index[2];

	for (int way = 0; way < 2; way++)
		put_together(rows, count, way, &packed[way], &index[way]);
	ck_assert_mem_eq(&packed[0].block, &packed[1].block, sizeof(struct epf_block));
	ck_assert_uint_eq(packed[0].block.own_first_ticks, own_first_ticks(rows, count));
	ck_assert_uint_eq(rows[0]->block.own_first_ticks, own_first_ticks(rows, 1));
	ck_assert_mem_eq(packed[0].payload, packed[1].payload, packed[0].block.payload_bytes);
	ck_assert_mem_eq(&index[0].next, &index[1].next, sizeof(index->next));
	ck_assert_mem_eq(index[0].next_references, index[1].next_references, sizeof(index->next_references));
	ck_assert_uint_eq(index[0].spans_count, index[1].spans_count);
	if (index[0].spans_count)
		ck_assert_mem_eq(index[0].spans, index[1].spans, index[0].spans_count * sizeof(*index->spans));
	for (int way = 0; way < 2; way++) {
		trace_writer_index_deinit(&index[way]);
		free(packed[way].payload);
	}
}

START_TEST(rows_become_what_their_records_do)
{
	for (uint32_t round = 0; round < 30; round++) {
		unsigned kind = round % 2 ? EPF_EVENT : EPF_COMPLETE, args_are = round / 2 % 3;
		struct rows *rows[] = { rows_of_kind(kind, 1 + random_below(2000), round % 4, args_are),
			                rows_of_kind(kind, 1, 0, args_are),
			                rows_of_kind(kind, 1 + random_below(2000), round % 7, args_are) };
		check_both_ways(rows, 3);
		for (size_t i = 0; i < 3; i++)
			free(rows[i]);
	}
}
END_TEST

/* Whatever they hold, it is not taken or it is taken right. */
START_TEST(rows_that_are_not_plain_are_left_alone)
{
	struct columns_encoder encoder;
	const struct codec_fields *taken;
	struct rows *plain = rows_of_kind(EPF_EVENT, 100, 2, WITH_PARENTS);

	ck_assert(columns_encoder_init(&encoder));
	for (uint32_t what = 0; what < 8; what++) {
		struct rows *rows = rows_create(0);
		uint16_t bits = EPF_BITS(1, what == 0 ? EPF_INSTANT : EPF_EVENT, 0, 0);
		rows_add(rows, 1000, 100, 5, 16, bits, NULL, 0);
		rows_add(rows, what == 1 ? 1ull << 62 : 2000,
		         what == 2   ? 1ull << 62
		         : what == 3 ? UINT64_MAX
		                     : 100,
		         6, 16, what == 4 ? EPF_BITS(1, EPF_COMPLETE, 0, 0) : bits, NULL, 0);
		rows_add(rows, what == 5 ? UINT64_MAX - 10 : 3000, what == 5 ? 20 : 100, 7, 16, bits, NULL, 0);
		rows_finish(rows);
		rows->block.record_count += what == 6;
		rows->block.payload_bytes -= what == 7;
		ck_assert(columns_begin(&encoder, plain->open_ids, 2));
		ck_assert(columns_append_rows(&encoder, &plain->block, plain->payload, &taken) && taken);
		ck_assert(columns_append_rows(&encoder, &rows->block, rows->payload, &taken));
		ck_assert_msg(!taken, "%u", what);
		ck_assert_uint_eq(encoder.columns[EPF_COLUMN_END].count, 100);
		ck_assert_uint_eq(encoder.times.kinds, 1u << EPF_EVENT);
		free(rows);
	}
	columns_encoder_deinit(&encoder);
	free(plain);
}
END_TEST

static Suite *columns_collect_suite(void)
{
	Suite *suite = suite_create("columns_collect");
	TCase *tcase = tcase_create("columns_collect");

	tcase_add_test(tcase, rows_become_what_their_records_do);
	tcase_add_test(tcase, rows_that_are_not_plain_are_left_alone);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(columns_collect_suite)
