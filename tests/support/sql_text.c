/* SQL results as text, and a trace with the difficult cases: see sql_text.h. */
#include "tests/support/sql_text.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "tests/support/check.h"

static void print_value(FILE *to, const epp_sql_value *value)
{
	char *real;

	if (value->type == EPP_SQL_TEXT) {
		MUST(value->text[value->text_bytes] == '\0');
		fputs(value->text, to);
	} else if (value->type == EPP_SQL_INTEGER) {
		fprintf(to, "%lld", (long long)value->integer);
	} else if (value->type == EPP_SQL_REAL) {
		real = sqlite3_mprintf("%!.15g", value->real);
		fputs(real, to);
		sqlite3_free(real);
	}
}

char *sql_text_query(epp_sql *sql, const char *statement)
{
	const epp_sql_value *values;
	size_t bytes, count = 0;
	epp_sql_rows *rows;
	const char *rest;
	char *answer;

	FILE *to = open_memstream(&answer, &bytes);
	check_ok(epp_sql_query(sql, statement, &rest, &rows));
	ck_assert_str_eq(rest, "");
	for (;;) {
		epp_status *status = epp_sql_rows_next(rows, &values);
		if (status)
			ck_abort_msg("%s: %s", statement, epp_status_message(status));
		if (!values)
			break;
		count = epp_sql_rows_columns_count(rows);
		for (size_t i = 0; i < count; i++) {
			fputs(i ? "|" : "", to);
			print_value(to, &values[i]);
		}
		fputc('\n', to);
	}
	epp_sql_rows_destroy(rows);
	fclose(to);
	return answer;
}

void sql_text_expect(epp_sql *sql, const char *statement, const char *expected)
{
	char *answer = sql_text_query(sql, statement);

	if (strcmp(answer, expected) != 0)
		ck_abort_msg("%s: '%s', not '%s'", statement, answer, expected);
	free(answer);
}

epp_status *sql_text_status(epp_sql *sql, const char *statement)
{
	const epp_sql_value *values;
	epp_sql_rows *rows;
	epp_status *status = epp_sql_query(sql, statement, NULL, &rows);

	while (!status && (status = epp_sql_rows_next(rows, &values)) == NULL && values)
		;
	epp_sql_rows_destroy(rows);
	return status;
}

struct epp_builder *sql_text_trace(unsigned events)
{
	struct epp_builder *b = builder_create();
	uint32_t threads[3], streams[2];
	epp_name names[] = { builder_name(b, "gemm"), builder_name(b, "o'p\xff"), builder_name(b, ""),
		             builder_name_bytes(b, "ze\0ro", 5) };

	for (unsigned i = 0; i < 3; i++)
		threads[i] = builder_thread(b, i ? "wor'ker\xfe" : "main", 10 + i);
	for (unsigned i = 0; i < 2; i++)
		streams[i] = builder_device(b, "stream", "A\"", 0, i, EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < events; i++) {
		epp_arg args[] = {
			{ .key = names[1], .type = EPP_ARG_F64, .value.f64 = i % 2 ? NAN : -0.5 * i },
			{ .key = names[0], .type = EPP_ARG_U64, .value.u64 = UINT64_MAX - i },
			{ .key = names[0], .type = EPP_ARG_TEXT, .value.text = "a'b\xff", .text_bytes = 4 },
		};
		uint64_t at = BUILDER_START + i / 3 * 100;
		uint64_t id = builder_event(b, threads[i % 3], at, i * 7 % 90, i % 4, names[i % 4], args, i % 5 ? 0 : 3);
		if (i % 4 == 0)
			builder_complete(b, streams[i / 4 % 2], at + 40, 50 + i % 100, EPP_KERNEL, names[i % 3], id,
			                 args, i % 8 ? 0 : 2);
		if (i % 100 == 0)
			builder_flow(b, threads[0], at + 95, id, id - 5);
	}
	return b;
}
