/* Prints aligned tables.  Cells are kept until all are known; then each column is as wide as its widest cell.  If the
 * terminal is too narrow for that, optional columns are left out one by one, then columns of texts are cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct column {
	bool left;
	bool optional, left_out;
	int width;
};

/* The width that the last column keeps, if it needs as much: below it optional columns are left out, and below
 * NAME_COLUMNS_MIN it is not cut further. */
#define NAME_COLUMNS 16
#define NAME_COLUMNS_MIN 8

struct cli_table {
	struct column *columns;
	size_t columns_count;
	char **cells; /* the titles are the first row */
	size_t cells_count, cells_room;
};

static void release(struct cli_table *table)
{
	for (size_t i = 0; i < table->cells_count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table->columns);
	free(table);
}

struct cli_table *cli_table_create_columns(size_t count, const char *const *titles, const bool *left)
{
	struct cli_table *table = calloc(1, sizeof *table);

	if (!table)
		return NULL;
	table->columns = calloc(count, sizeof *table->columns);
	if (!table->columns) {
		release(table);
		return NULL;
	}
	table->columns_count = count;
	for (size_t i = 0; i < count; i++) {
		table->columns[i].left = left[i];
		cli_table_cell(table, titles[i]);
	}
	return table;
}

struct cli_table *cli_table_create(const char *titles)
{
	enum { MAX = 16 };
	char *copy = strdup(titles), *rest = copy, *title;
	const char *names[MAX];
	bool left[MAX], optional[MAX];
	size_t count = 0;

	while (copy && (title = strsep(&rest, "|")) && count < MAX) {
		optional[count] = title[0] == '?';
		title += optional[count];
		left[count] = title[0] == '<';
		names[count] = title + left[count];
		count++;
	}
	struct cli_table *table = copy ? cli_table_create_columns(count, names, left) : NULL;
	for (size_t i = 0; table && i < count; i++)
		table->columns[i].optional = optional[i];
	free(copy);
	return table;
}

void cli_table_cell(struct cli_table *table, const char *text)
{
	cli_table_text(table, text, strlen(text));
}

void cli_table_text(struct cli_table *table, const char *text, size_t bytes)
{
	if (!table)
		return;
	if (table->cells_count == table->cells_room) {
		size_t room = table->cells_room ? table->cells_room * 2 : 64;
		char **larger = reallocarray(table->cells, room, sizeof *larger);
		if (!larger) {
			cli_no_memory();
			return;
		}
		table->cells = larger;
		table->cells_room = room;
	}
	char *clean = cli_clean(text, bytes);
	size_t column = table->cells_count % table->columns_count;
	int width = clean ? cli_columns(clean) : 0;
	if (width > table->columns[column].width)
		table->columns[column].width = width;
	table->cells[table->cells_count++] = clean;
}

void cli_table_count(struct cli_table *table, uint64_t count)
{
	char text[CLI_NUMBER_BYTES];

	cli_table_cell(table, cli_count(count, text));
}

void cli_table_duration(struct cli_table *table, double ns)
{
	char text[CLI_NUMBER_BYTES];

	cli_table_cell(table, cli_duration_aligned(ns, text));
}

static void print_cell(const struct cli_table *table, size_t column, const char *cell, bool last)
{
	int space = table->columns[column].width - cli_columns(cell);

	fputs("  ", stdout);
	if (!table->columns[column].left)
		printf("%*s", space, "");
	fputs(cell, stdout);
	if (table->columns[column].left && !last)
		printf("%*s", space, "");
}

/* The length of the text without its last character. */
static size_t shorter(const char *text, size_t bytes)
{
	while (--bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80)
		;
	return bytes;
}

/* `columns` is at least NAME_COLUMNS_MIN.  A clean text has room for the ellipsis: the characters removed were at least
 * as long, or were replacements of fewer bytes for which the buffer has room. */
void cli_cut(char *cell, int columns)
{
	size_t bytes = strlen(cell), most = (size_t)columns * 8;

	if (cli_columns(cell) <= columns)
		return;
	/* Cut a very long text first, so that it need not be measured character by character. */
	bytes = bytes > most ? shorter(cell, most) : bytes;
	cell[bytes] = '\0';
	while (cli_columns(cell) >= columns) {
		bytes = shorter(cell, bytes);
		cell[bytes] = '\0';
	}
	stpcpy(cell + bytes, "\xE2\x80\xA6");
}

static void cut_column(struct cli_table *table, size_t column, int width)
{
	for (size_t i = column; i < table->cells_count; i += table->columns_count) {
		if (table->cells[i])
			cli_cut(table->cells[i], width);
	}
	if (table->columns[column].width > width)
		table->columns[column].width = width;
}

/* Leaves out optional columns and cuts texts as needed: the last column to the remaining width, the others only if the
 * last one would get too little. */
static void fit(struct cli_table *table, int width)
{
	size_t last = table->columns_count - 1;
	int rest = width - 2, needed = table->columns[last].width;

	if (!width || !table->columns[last].left)
		return;
	for (size_t i = 0; i < last; i++)
		rest -= table->columns[i].width + 2;
	for (size_t i = 0; i < last && rest < (needed < NAME_COLUMNS ? needed : NAME_COLUMNS); i++) {
		table->columns[i].left_out = table->columns[i].optional;
		rest += table->columns[i].optional ? table->columns[i].width + 2 : 0;
	}
	for (size_t i = 0; i < last && rest < (needed < NAME_COLUMNS ? needed : NAME_COLUMNS); i++) {
		if (!table->columns[i].left || table->columns[i].width <= NAME_COLUMNS)
			continue;
		rest += table->columns[i].width - NAME_COLUMNS;
		cut_column(table, i, NAME_COLUMNS);
	}
	if (rest >= NAME_COLUMNS_MIN)
		cut_column(table, last, rest);
}

static void print_row(const struct cli_table *table, char *const *cells, bool faint)
{
	size_t count = table->columns_count;

	/* Print nothing, not even spaces, after the last text. */
	while (count && (!cells[count - 1] || !cells[count - 1][0]))
		count--;
	fputs(faint ? "\033[2m" : "", stdout);
	for (size_t i = 0; i < count; i++)
		if (!table->columns[i].left_out)
			print_cell(table, i, cells[i] ? cells[i] : "", i + 1 == count);
	fputs(faint ? "\033[0m\n" : "\n", stdout);
}

void cli_table_print(struct cli_table *table)
{
	if (!table) {
		cli_no_memory();
		return;
	}
	fit(table, cli_width());
	for (size_t i = 0; i + table->columns_count <= table->cells_count; i += table->columns_count)
		print_row(table, table->cells + i, i == 0 && cli_is_styled());
	release(table);
}
