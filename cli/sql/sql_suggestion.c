/* Suggests a similar name if SQLite reports that a column or table does not exist. */
#include <stdio.h>
#include <string.h>

#include "sql.h"

#define NAMES_MAX 160u
#define NAME_BYTES 32u

struct names {
	char texts[NAMES_MAX][NAME_BYTES];
	const char *list[NAMES_MAX + 1]; /* ends with NULL */
	size_t count;
};

static void add_name(struct names *names, const char *text, size_t bytes)
{
	if (!bytes || bytes >= NAME_BYTES || names->count == NAMES_MAX)
		return;
	memcpy(names->texts[names->count], text, bytes);
	names->texts[names->count][bytes] = '\0';
	names->list[names->count] = names->texts[names->count];
	names->count++;
}

/* Adds the names of the columns in the parentheses of a CREATE TABLE.  Constraints there begin with words in capital
 * letters, names of columns have small letters, so only the latter are added. */
static void add_columns(struct names *names, const char *columns)
{
	int depth = 0;

	for (const char *at = columns; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		if (depth != 1 || (*at != '(' && *at != ','))
			continue;
		const char *name = at + 1 + strspn(at + 1, " ");
		add_name(names, name, strspn(name, "abcdefghijklmnopqrstuvwxyz_"));
	}
}

const char *sql_suggestion(const char *message)
{
	static const char no_column[] = "no such column: ", no_table[] = "no such table: ";
	static char suggestion[NAME_BYTES + 24];
	const char *table, *columns, *word = strstr(message, no_column);
	struct names names = { .count = 0 };
	bool is_column = word != NULL;

	if (!word)
		word = strstr(message, no_table);
	if (!word)
		return "";
	word += is_column ? strlen(no_column) : strlen(no_table);
	/* In "t.nme", "t" is a table, and "nme" the unknown column. */
	const char *dot = strrchr(word, '.');
	word = dot ? dot + 1 : word;
	for (size_t i = 0; epp_sql_table_at(i, &table, &columns); i++) {
		if (is_column)
			add_columns(&names, columns);
		else
			add_name(&names, table, strlen(table));
	}
	const char *nearest = cli_nearest(word, names.list);
	/* If the name itself was found, another table has a column with it, and suggesting it would not help. */
	if (!nearest || strcmp(nearest, word) == 0)
		return "";
	snprintf(suggestion, sizeof suggestion, "; did you mean '%s'?", nearest);
	return suggestion;
}
