/* Prints aligned tables.  Cells are kept until all are known; then each column is as wide as its widest cell.  If the
 * terminal is too narrow for that, optional columns are left out one by one, then columns of texts are cut, then other
 * columns are left out.  A table that must not leave out columns is printed as records instead: a line for each
 * value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct column {
	bool left;
	bool optional, left_out;
	int width;
};

/* Width that the last column, which usually has names, should keep if its texts need as much: optional columns are left
 * out for this.  The last column is never cut below NAME_COLUMNS_MIN. */
#define NAME_COLUMNS 16
#define NAME_COLUMNS_MIN 8

struct cli_table {
	struct column *columns;
	size_t columns_count;
	bool may_leave_out; /* columns that are not optional may be left out too */
	char **cells;       /* the titles are the first row */
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
	if (table)
		table->may_leave_out = true;
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

/* Returns the length of a text without its last character. */
static size_t without_last_character(const char *text, size_t bytes)
{
	while (--bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80)
		;
	return bytes;
}

/* The buffer has room for the ellipsis: cli_clean has allocated three bytes for each byte of the original text, at
 * least one character is removed, and the ellipsis has three bytes. */
void cli_cut(char *cell, int columns)
{
	size_t bytes = strlen(cell), most = (size_t)columns * 8;

	if (cli_columns(cell) <= columns)
		return;
	/* A very long text is first cut to 8 bytes a column, because measuring it character by character takes long. */
	bytes = bytes > most ? without_last_character(cell, most) : bytes;
	cell[bytes] = '\0';
	while (cli_columns(cell) >= columns) {
		bytes = without_last_character(cell, bytes);
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

/* Returns the width that is left for the last column: `width` without the other columns that are printed. */
static int columns_left(const struct cli_table *table, size_t last, int width)
{
	int rest = width - 2;

	for (size_t i = 0; i < last; i++)
		rest -= table->columns[i].left_out ? 0 : table->columns[i].width + 2;
	return rest;
}

/* Returns the width that a column should have: that of its widest cell, but at most `most` if it has texts. */
static int wanted_columns(const struct cli_table *table, size_t column, int most)
{
	int needed = table->columns[column].width;

	return table->columns[column].left && needed > most ? most : needed;
}

/* Cuts the texts in columns before the last one, as far as the last one needs, but not below a width of `most`. */
static void cut_others(struct cli_table *table, size_t last, int width, int most)
{
	for (size_t i = 0; i < last; i++) {
		int missing = wanted_columns(table, last, most) - columns_left(table, last, width);
		int target = table->columns[i].width - missing;
		if (missing > 0 && table->columns[i].left)
			cut_column(table, i, target > most ? target : most);
	}
}

/* Leaves out columns of texts (`texts` is true) or of numbers, from right to left, until the last column has
 * NAME_COLUMNS_MIN.  The last column itself stays. */
static void leave_out_others(struct cli_table *table, size_t last, int width, bool texts)
{
	for (size_t i = last;
	     i-- > 0 && columns_left(table, last, width) < wanted_columns(table, last, NAME_COLUMNS_MIN);) {
		if (table->columns[i].left == texts)
			table->columns[i].left_out = true;
	}
}

/* Makes the table as narrow as the width, in the steps that cli.h describes. */
static void fit_to_width(struct cli_table *table, int width)
{
	size_t last = table->columns_count - 1;

	if (!width)
		return;
	for (size_t i = 0; i < last && columns_left(table, last, width) < wanted_columns(table, last, NAME_COLUMNS); i++)
		table->columns[i].left_out = table->columns[i].optional;
	if (last && table->columns[last].optional && columns_left(table, last, width) < NAME_COLUMNS_MIN)
		table->columns[last--].left_out = true;
	cut_others(table, last, width, NAME_COLUMNS);
	if (table->may_leave_out) {
		cut_others(table, last, width, NAME_COLUMNS_MIN);
		leave_out_others(table, last, width, false);
		leave_out_others(table, last, width, true);
	}
	if (table->columns[last].left && columns_left(table, last, width) >= NAME_COLUMNS_MIN)
		cut_column(table, last, columns_left(table, last, width));
}

/* Returns true if the table fits when texts are cut but no column is left out. */
static bool can_fit(const struct cli_table *table, int width)
{
	size_t last = table->columns_count - 1;
	int least = wanted_columns(table, last, NAME_COLUMNS_MIN) + 2;

	for (size_t i = 0; i < last; i++)
		least += wanted_columns(table, i, NAME_COLUMNS) + 2;
	return !width || least <= width;
}

/* Prints each row as lines of a title and a value.  Both are cut to fit. */
static void print_records(struct cli_table *table, int width)
{
	size_t count = table->columns_count;
	int titles_width = 0;

	for (size_t i = 0; i < table->cells_count; i++) {
		if (!table->cells[i])
			table->cells[i] = strdup("");
		if (!table->cells[i]) {
			cli_no_memory();
			return;
		}
		int most = i < count ? width / 2 : width - titles_width - 4;
		cli_cut(table->cells[i], most > NAME_COLUMNS_MIN ? most : NAME_COLUMNS_MIN);
		if (i < count && cli_columns(table->cells[i]) > titles_width)
			titles_width = cli_columns(table->cells[i]);
	}
	for (size_t i = count; i < table->cells_count / count * count; i++) {
		const char *title = table->cells[i % count], *cell = table->cells[i];
		fputs(i % count || i == count ? "" : "\n", stdout);
		printf("  %s%*s%s\n", title, *cell ? titles_width - cli_columns(title) + 2 : 0, "", cell);
	}
}

static void print_row(const struct cli_table *table, char *const *cells, bool faint)
{
	size_t count = table->columns_count;

	/* Empty cells at the end of a row are not printed, so that the line does not end with spaces. */
	while (count && (!cells[count - 1] || !cells[count - 1][0] || table->columns[count - 1].left_out))
		count--;
	fputs(faint ? "\033[2m" : "", stdout);
	for (size_t i = 0; i < count; i++)
		if (!table->columns[i].left_out)
			print_cell(table, i, cells[i] ? cells[i] : "", i + 1 == count);
	fputs(faint ? "\033[0m\n" : "\n", stdout);
}

static void print_rows(struct cli_table *table, int width)
{
	fit_to_width(table, width);
	for (size_t i = 0; i + table->columns_count <= table->cells_count; i += table->columns_count)
		print_row(table, table->cells + i, i == 0 && cli_is_styled());
}

void cli_table_print(struct cli_table *table)
{
	if (!table) {
		cli_no_memory();
		return;
	}
	int width = cli_width();
	if (table->may_leave_out || can_fit(table, width))
		print_rows(table, width);
	else
		print_records(table, width);
	release(table);
}
