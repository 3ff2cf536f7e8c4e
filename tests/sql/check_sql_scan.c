/* Where SQL reads a trace: a range reads its part and no more, damage is an error wherever it is met, and an answer
 * that takes too long can be stopped. */
#include "sql/sql.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/sql_text.h"

static struct epp_builder *builder;
static epp_trace *trace;
static epp_sql *sql;

static void teardown(void)
{
	epp_sql_destroy(sql);
	epp_trace_close(trace);
	builder_destroy(builder);
}

struct counted {
	const uint8_t *image;
	size_t bytes;
	uint64_t read;
};

static size_t read_counted(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	struct counted *counted = user;

	if (offset >= counted->bytes)
		return 0;
	bytes = bytes < counted->bytes - offset ? bytes : counted->bytes - (size_t)offset;
	memcpy(buffer, counted->image + offset, bytes);
	counted->read += bytes;
	return bytes;
}

START_TEST(a_range_reads_its_part)
{
	struct counted counted = { 0 };
	struct reader_source source = { .read = read_counted, .user = &counted };

	builder = builder_create();
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name name = builder_name(builder, "op");
	for (unsigned i = 0; i < 300000; i++)
		builder_event(builder, thread, BUILDER_START + i * 100, 90, EPP_NODE, name, NULL, 0);
	uint8_t *image = builder_image(builder, EPF_FINISHED, &counted.bytes);
	counted.image = image;
	struct epp_trace opened;
	check_ok(reader_open(&source, "image", &opened.reader));
	check_ok(epp_sql_create(&opened, &sql));

	counted.read = 0;
	sql_text_expect(sql, "SELECT count(*), sum(duration_ns) FROM events", "300000|27000000\n");
	uint64_t whole = counted.read;
	counted.read = 0;
	sql_text_expect(sql,
	                "SELECT count(*), min(start_ns), max(start_ns) FROM timeline WHERE start_ns >= 15000000"
	                " AND start_ns < 15001000",
	                "10|15000000|15000900\n");
	ck_assert_uint_gt(counted.read, 0);
	ck_assert_uint_lt(counted.read, whole / 20);
	/* An answer that is not asked for to its end reads no further. */
	counted.read = 0;
	sql_text_expect(sql, "SELECT start_ns FROM events ORDER BY start_ns LIMIT 2", "0\n100\n");
	ck_assert_uint_lt(counted.read, whole / 20);
	/* Numbers cost one pass, once. */
	sql_text_expect(sql, "SELECT event FROM events WHERE start_ns = 15000000", "150001\n");
	counted.read = 0;
	sql_text_expect(sql, "SELECT event, start_ns FROM events WHERE start_ns = 20000000", "200001|20000000\n");
	sql_text_expect(sql, "SELECT start_ns FROM events WHERE event = 100001", "10000000\n");
	ck_assert_uint_lt(counted.read, whole / 10);
	/* The names, the schema: nothing. */
	counted.read = 0;
	sql_text_expect(sql, "SELECT text FROM names WHERE text = 'op'", "op\n");
	ck_assert_uint_eq(counted.read, 0);
	epp_sql_destroy(sql);
	sql = NULL;
	reader_close(opened.reader);
	free(image);
}
END_TEST

/* Every block damaged in its turn, after the trace was opened. */
START_TEST(a_damaged_trace_is_an_error)
{
	size_t bytes;

	builder = sql_text_trace(6000);
	uint8_t *image = builder_image(builder, EPF_FINISHED, &bytes);
	check_ok(builder_open_image(image, bytes, &trace));
	for (size_t i = 0; i < trace->reader->blocks_count; i++) {
		uint8_t *byte = image + trace->reader->blocks[i].offset + sizeof(struct epf_block) + 5;
		check_ok(epp_sql_create(trace, &sql));
		*byte ^= 0x55;
		check_fails(EPP_CORRUPT, sql_text_status(sql, "SELECT count(*) FROM events"));
		check_fails(EPP_CORRUPT, sql_text_status(sql, "SELECT * FROM args"));
		check_fails(EPP_CORRUPT, sql_text_status(sql, "SELECT * FROM facts"));
		check_fails(EPP_CORRUPT,
		            sql_text_status(sql, "SELECT count(*) FROM events a JOIN events b ON a.id = b.parent"));
		check_fails(EPP_CORRUPT, sql_text_status(sql, "SELECT * FROM events WHERE event = 7000"));
		*byte ^= 0x55;
		/* And then it is well again. */
		sql_text_expect(sql, "SELECT count(*) FROM events", "7560\n");
		sql_text_expect(sql, "SELECT count(*) FROM facts", "21\n");
		epp_sql_destroy(sql);
		sql = NULL;
	}
	epp_trace_close(trace);
	trace = NULL;
	free(image);
}
END_TEST

static _Atomic int ended;

static void *interrupt_until_ended(void *user)
{
	(void)user;
	while (!ended) {
		epp_sql_interrupt(sql);
		usleep(1000);
	}
	return NULL;
}

START_TEST(an_answer_can_be_interrupted)
{
	static const char *const endless[] = {
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
		" SELECT count(*) FROM c CROSS JOIN events WHERE id = -1",
	};
	pthread_t thread;

	builder = sql_text_trace(20000);
	trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_sql_create(trace, &sql));
	for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
		ended = 0;
		pthread_create(&thread, NULL, interrupt_until_ended, NULL);
		check_fails(EPP_CANCELLED, sql_text_status(sql, endless[i]));
		ended = 1;
		pthread_join(thread, NULL);
	}
	sql_text_expect(sql, "SELECT count(*) FROM events", "25200\n");
}
END_TEST

/* A subquery that looks up an id or a parent for each row reads the trace once more, not once a row. */
START_TEST(a_repeated_lookup_reads_memory)
{
	static const char *const lookups[] = {
		"SELECT (SELECT count(*) FROM events c WHERE c.parent = p.id) FROM events p WHERE p.event < 4",
		"SELECT (SELECT p.start_ns FROM events p WHERE p.id = c.parent) FROM events c WHERE c.parent IS NOT NULL LIMIT 3",
	};
	struct counted counted = { 0 };
	struct reader_source source = { .read = read_counted, .user = &counted };

	builder = sql_text_trace(100000);
	uint8_t *image = builder_image(builder, EPF_FINISHED, &counted.bytes);
	counted.image = image;
	struct epp_trace opened;
	check_ok(reader_open(&source, "image", &opened.reader));
	for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++) {
		check_ok(epp_sql_create(&opened, &sql));
		counted.read = 0;
		free(sql_text_query(sql, "SELECT count(*), max(duration_ns) FROM events"));
		uint64_t whole = counted.read;
		counted.read = 0;
		free(sql_text_query(sql, lookups[i]));
		/* The rows, one lookup, and all events into memory. */
		ck_assert_uint_le(counted.read, whole * 7 / 2);
		ck_assert(sql->memory.complete);
		epp_sql_destroy(sql);
		sql = NULL;
	}
	reader_close(opened.reader);
	free(image);
}
END_TEST

/* Children are found whatever the ids are: in sequence, far apart, and with equal low bits. */
START_TEST(ids_of_any_kind)
{
	static const uint64_t steps[] = { 1, 64, 65536, UINT64_C(1) << 32, UINT64_C(0x9E3779B97F4A7C15) };

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		builder = builder_create();
		uint32_t thread = builder_thread(builder, "main", 1);
		uint32_t stream = builder_device(builder, "stream", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
		epp_name name = builder_name(builder, "op");
		for (uint64_t event = 1; event <= 3000; event++) {
			struct epf_record record = { .start_ticks = BUILDER_START + event * 100,
				                     .duration_ticks = 90,
				                     .id = event * steps[i] + 7,
				                     .name = name,
				                     .bits = EPF_BITS(EPP_NODE, EPF_EVENT, 0, 0) };
			builder_record(builder, thread, &record, NULL, 0);
			builder_complete(builder, stream, record.start_ticks + 10, 20, EPP_KERNEL, name, record.id,
			                 NULL, 0);
		}
		trace = builder_open(builder, EPF_FINISHED);
		check_ok(epp_sql_create(trace, &sql));
		sql_text_expect(sql, "SELECT sum((SELECT count(*) FROM events c WHERE c.parent = p.id)) FROM events p",
		                "3000\n");
		teardown();
		sql = NULL, trace = NULL, builder = NULL;
	}
}
END_TEST

static Suite *sql_scan_suite(void)
{
	Suite *suite = suite_create("sql_scan");
	TCase *tests = tcase_create("sql_scan");

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, a_range_reads_its_part);
	tcase_add_test(tests, a_damaged_trace_is_an_error);
	tcase_add_test(tests, an_answer_can_be_interrupted);
	tcase_add_test(tests, a_repeated_lookup_reads_memory);
	tcase_add_test(tests, ids_of_any_kind);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(sql_scan_suite)
