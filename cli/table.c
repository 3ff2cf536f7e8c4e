/* Tables for people: cells are kept until all are known, then columns are as wide as their widest cell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define COLUMNS_MAX 16

struct cli_table {
	size_t columns_count;
	bool left[COLUMNS_MAX];
	int width[COLUMNS_MAX];
	char **cells; /* the titles first */
	size_t cells_count, cells_room;
};

struct cli_table *cli_table_create(const char *titles)
{
	struct cli_table *table = calloc(1, sizeof *table);
	char *copy = strdup(titles), *rest = copy, *title;

	while (table && copy && (title = strsep(&rest, "|")) && table->columns_count < COLUMNS_MAX) {
		bool left = title[0] == '<';
		table->left[table->columns_count++] = left;
		cli_table_cell(table, title + left);
	}
	free(copy);
	return table;
}

void cli_table_cell(struct cli_table *table, const char *text)
{
	if (!table)
		return;
	if (table->cells_count == table->cells_room) {
		size_t room = table->cells_room ? table->cells_room * 2 : 64;
		char **larger = reallocarray(table->cells, room, sizeof *larger);
		if (!larger)
			return;
		table->cells = larger;
		table->cells_room = room;
	}
	char *clean = cli_clean(text, strlen(text));
	size_t column = table->cells_count % table->columns_count;
	int width = clean ? cli_columns(clean) : 0;
	if (width > table->width[column])
		table->width[column] = width;
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

	cli_table_cell(table, cli_duration(ns, text));
}

static void print_cell(const struct cli_table *table, size_t column, const char *cell, bool last)
{
	int space = table->width[column] - cli_columns(cell);

	fputs("  ", stdout);
	if (!table->left[column])
		printf("%*s", space, "");
	fputs(cell, stdout);
	if (table->left[column] && !last)
		printf("%*s", space, "");
}

static void print_row(const struct cli_table *table, char *const *cells)
{
	size_t count = table->columns_count;

	/* Nothing, not even spaces, behind the last text. */
	while (count && (!cells[count - 1] || !cells[count - 1][0]))
		count--;
	for (size_t i = 0; i < count; i++)
		print_cell(table, i, cells[i] ? cells[i] : "", i + 1 == count);
	putchar('\n');
}

void cli_table_print(struct cli_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i + table->columns_count <= table->cells_count; i += table->columns_count)
		print_row(table, table->cells + i);
	for (size_t i = 0; i < table->cells_count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}
