/* Prints the rows of a query as an aligned table, as CSV, or as JSON with one object a line.  A table is printed in
 * parts of PART_ROWS rows, each with its own column widths, so that it need not be in memory as a whole. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"

#define PART_ROWS 1000u
/* Larger integers lose digits in readers of JSON that store numbers as doubles. */
#define EXACT_MAX (INT64_C(1) << 53)

/* Gets the next row, and ends the progress.  The first row may take long, so the progress is shown until then. */
static epp_status *next_row(epp_sql_rows *rows, const epp_sql_value **values)
{
	epp_status *status = epp_sql_rows_next(rows, values);

	cli_progress_end();
	return status;
}

/* Formats a number with the fewest digits, at least 6, from which exactly this number can be read again. */
static const char *real_text(double real, char text[CLI_NUMBER_BYTES])
{
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, CLI_NUMBER_BYTES, "%.*g", digits, real);
		if (strtod(text, NULL) == real)
			break;
	}
	return text;
}

/* Formats a value that is not a text; "" for NULL of SQL. */
static const char *number_text(const epp_sql_value *value, char text[CLI_NUMBER_BYTES])
{
	text[0] = '\0';
	if (value->type == EPP_SQL_INTEGER)
		snprintf(text, CLI_NUMBER_BYTES, "%" PRId64, value->integer);
	else if (value->type == EPP_SQL_REAL)
		real_text(value->real, text);
	return text;
}

/* ---- a table ---- */

/* Begins a part of a table.  `values` is its first row; NULL: the result has no rows.  Columns in which this row has a
 * text are aligned to the left, the others to the right. */
static struct cli_table *begin_part(const epp_sql_rows *rows, const epp_sql_value *values)
{
	size_t count = epp_sql_rows_columns_count(rows);
	const char **titles = calloc(count, sizeof *titles);
	bool *left = calloc(count, sizeof *left);
	struct cli_table *table = NULL;

	for (size_t i = 0; titles && left && i < count; i++) {
		titles[i] = epp_sql_rows_column_name(rows, i);
		left[i] = !values || values[i].type == EPP_SQL_TEXT;
	}
	if (titles && left)
		table = cli_table_create_columns(count, titles, left);
	free(titles);
	free(left);
	if (!table)
		cli_no_memory();
	return table;
}

static void table_cell(struct cli_table *table, const epp_sql_value *value)
{
	char number[CLI_NUMBER_BYTES];

	cli_table_cell(table, value->type == EPP_SQL_TEXT ? value->text : number_text(value, number));
}

static epp_status *print_table(epp_sql_rows *rows)
{
	size_t count = epp_sql_rows_columns_count(rows), rows_count = 0;
	struct cli_table *table = NULL;
	const epp_sql_value *values;
	epp_status *status;

	while (!(status = next_row(rows, &values)) && values) {
		if (!table)
			table = begin_part(rows, values);
		for (size_t i = 0; i < count; i++)
			table_cell(table, &values[i]);
		if (++rows_count % PART_ROWS == 0) {
			cli_table_print(table);
			table = NULL;
		}
		if (!cli_flush())
			break;
	}
	if (!status && !rows_count && count)
		table = begin_part(rows, NULL);
	if (table)
		cli_table_print(table);
	return status;
}

/* ---- csv ---- */

static void csv_value(const epp_sql_value *value)
{
	char number[CLI_NUMBER_BYTES];

	if (value->type == EPP_SQL_TEXT)
		cli_csv_string(value->text, value->text_bytes);
	else
		fputs(number_text(value, number), stdout);
}

static epp_status *print_csv(epp_sql_rows *rows)
{
	size_t count = epp_sql_rows_columns_count(rows);
	const epp_sql_value *values;
	epp_status *status;

	for (size_t i = 0; i < count; i++) {
		const char *name = epp_sql_rows_column_name(rows, i);
		fputs(i ? "," : "", stdout);
		cli_csv_string(name, strlen(name));
	}
	fputs(count ? "\n" : "", stdout);
	while (!(status = next_row(rows, &values)) && values && !ferror(stdout)) {
		for (size_t i = 0; i < count; i++) {
			fputs(i ? "," : "", stdout);
			csv_value(&values[i]);
		}
		putchar('\n');
	}
	return status;
}

/* ---- json ---- */

/* Prints a column's name as a JSON key.  If an earlier column has the same name, a number is appended. */
static void json_key(const epp_sql_rows *rows, size_t column)
{
	const char *name = epp_sql_rows_column_name(rows, column);
	unsigned same = 1;
	char *numbered;

	for (size_t i = 0; i < column; i++)
		same += strcmp(epp_sql_rows_column_name(rows, i), name) == 0;
	if (same == 1) {
		cli_json_string(name, strlen(name));
	} else if (asprintf(&numbered, "%s#%u", name, same) >= 0) {
		cli_json_string(numbered, strlen(numbered));
		free(numbered);
	} else {
		cli_no_memory();
	}
}

/* Prints a value as JSON.  Infinity, NaN and integers that are not exact in a double (EXACT_MAX) are printed as
 * strings. */
static void json_value(const epp_sql_value *value)
{
	char number[CLI_NUMBER_BYTES];
	bool exact = value->type == EPP_SQL_REAL ? isfinite(value->real)
	                                         : value->integer <= EXACT_MAX && value->integer >= -EXACT_MAX;

	if (value->type == EPP_SQL_TEXT)
		cli_json_string(value->text, value->text_bytes);
	else if (value->type == EPP_SQL_NULL)
		fputs("null", stdout);
	else
		printf(exact ? "%s" : "\"%s\"", number_text(value, number));
}

static epp_status *print_json(epp_sql_rows *rows)
{
	size_t count = epp_sql_rows_columns_count(rows), rows_count = 0;
	const epp_sql_value *values;
	epp_status *status;

	putchar('[');
	while (!(status = next_row(rows, &values)) && values && !ferror(stdout)) {
		fputs(rows_count++ ? ",\n{" : "\n{", stdout);
		for (size_t i = 0; i < count; i++) {
			fputs(i ? "," : "", stdout);
			json_key(rows, i);
			putchar(':');
			json_value(&values[i]);
		}
		putchar('}');
	}
	puts("\n]");
	return status;
}

epp_status *sql_print(epp_sql_rows *rows, enum sql_format format)
{
	return format == SQL_CSV ? print_csv(rows) : format == SQL_JSON ? print_json(rows) : print_table(rows);
}
