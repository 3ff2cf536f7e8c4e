/* Reads SQL statements line by line from standard input.  Between two statements, a line that begins with a dot is a
 * command of the prompt itself.  After an error, the prompt continues with the next statement.  If standard input is
 * not a terminal, the exit status is a failure after any error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql.h"

static const char help[] = ".schema [TABLE]  list tables and their columns\n"
			   ".tables          list the tables\n"
			   ".help            print this text\n"
			   ".quit            quit, as does the end of the input\n"
			   "Anything else is SQL, up to a ';', over any number of lines.  Ctrl-C interrupts a query.\n";

struct text {
	char *bytes;
	size_t count, room;
};

static bool append(struct text *text, const char *line, size_t count)
{
	if (text->room - text->count <= count) {
		size_t room = (text->count + count) * 2 + 256;
		char *larger = realloc(text->bytes, room);
		if (!larger)
			return false;
		text->bytes = larger;
		text->room = room;
	}
	memcpy(text->bytes + text->count, line, count);
	text->count += count;
	text->bytes[text->count] = '\0';
	return true;
}

/* Prints a table as CREATE TABLE, with one column a line.  `columns` is the text in parentheses; it is split at the
 * commas that are not in inner parentheses. */
static void print_schema(const char *name, const char *columns)
{
	int depth = 0;

	printf("CREATE TABLE %s", name);
	for (const char *at = columns; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		putchar(*at);
		if ((*at == '(' || *at == ',') && depth == 1) {
			fputs("\n  ", stdout);
			at += at[1] == ' ';
		}
	}
	fputs(";\n", stdout);
}

/* Prints the schema of the table `wanted`; "": of all tables.  Returns false if there is no such table, which was
 * reported. */
static bool print_schemas(const char *wanted)
{
	const char *name, *columns;
	bool any = false;

	for (size_t i = 0; epp_sql_table_at(i, &name, &columns); i++) {
		if (*wanted && strcmp(name, wanted) != 0)
			continue;
		print_schema(name, columns);
		any = true;
	}
	if (!any)
		fprintf(stderr, "epprof: no table '%s'; .tables lists them\n", wanted);
	return any;
}

enum answer { GOOD, MISTAKE, QUIT };

static enum answer run_command(char *line)
{
	char *word = strsep(&line, " \t");
	const char *name, *columns, *rest = line ? line + strspn(line, " \t") : "";

	if (strcmp(word, ".quit") == 0 || strcmp(word, ".exit") == 0)
		return QUIT;
	if (strcmp(word, ".schema") == 0)
		return print_schemas(rest) ? GOOD : MISTAKE;
	if (strcmp(word, ".tables") == 0) {
		for (size_t i = 0; epp_sql_table_at(i, &name, &columns); i++)
			puts(name);
		return GOOD;
	}
	if (strcmp(word, ".help") == 0) {
		fputs(help, stdout);
		return GOOD;
	}
	fprintf(stderr, "epprof: '%s': unknown command; .help lists the commands\n", word);
	return MISTAKE;
}

bool sql_command(const char *text)
{
	char *line = strdup(text);

	if (!line) {
		cli_no_memory();
		return false;
	}
	bool good = run_command(line) != MISTAKE;
	free(line);
	return good;
}

/* Runs a line that begins with a dot as a command.  Otherwise adds the line to the current statement, and runs the
 * statement if it is complete. */
static enum answer take_line(epp_sql *sql, enum sql_format format, struct text *text, char *line, size_t count)
{
	if (!text->count && line[0] == '.') {
		line[strcspn(line, "\r\n")] = '\0';
		return run_command(line);
	}
	if (!append(text, line, count)) {
		fprintf(stderr, "epprof: out of memory\n");
		return QUIT;
	}
	bool blank = text->bytes[strspn(text->bytes, " \t\r\n")] == '\0';
	if (!blank && !epp_sql_is_complete(text->bytes))
		return GOOD;
	text->count = 0;
	return blank || sql_answer(sql, text->bytes, format) ? GOOD : MISTAKE;
}

int sql_prompt(epp_sql *sql, enum sql_format format)
{
	bool terminal = isatty(STDIN_FILENO), mistakes = false;
	struct text text = { 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t count;

	if (terminal)
		puts("SQL queries on the trace; .help shows the commands.");
	for (;;) {
		if (terminal)
			fputs(text.count ? "   ...> " : "epprof> ", stdout);
		if (!cli_flush() || (count = getline(&line, &room, stdin)) < 0)
			break;
		enum answer answer = take_line(sql, format, &text, line, (size_t)count);
		mistakes = mistakes || answer == MISTAKE;
		if (answer == QUIT)
			break;
	}
	if (terminal && feof(stdin))
		putchar('\n');
	if (text.count && !sql_answer(sql, text.bytes, format))
		mistakes = true;
	free(text.bytes);
	free(line);
	return mistakes && !terminal ? CLI_FAILURE : CLI_OK;
}
