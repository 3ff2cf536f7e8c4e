/* Printing to standard output in lines that fit its width.  A terminal has a width and may support styles; a file has
 * neither. */
#include <bsd/stdlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

/* Smallest value of COLUMNS; smaller ones are ignored. */
#define COLUMNS_MIN 20
#define COLUMNS_MAX 10000
/* Continuation lines begin in this column, where most values begin after a label. */
#define CONTINUATION_INDENT 10

bool cli_is_styled(void)
{
	const char *no_color = secure_getenv("NO_COLOR"), *term = secure_getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

int cli_width(void)
{
	const char *columns = secure_getenv("COLUMNS");
	struct winsize size;

	if (columns && *columns) {
		const char *problem;
		long long width = strtonum(columns, COLUMNS_MIN, COLUMNS_MAX, &problem);
		if (!problem)
			return (int)width;
	}
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

/* ---- lines that fit ---- */

/* Returns how many bytes of a clean text fit into a line, up to a space if there is one. */
static size_t fitting_bytes(const char *text, int columns)
{
	size_t fit = cli_fitting_bytes(text, columns), indent = strspn(text, " ");

	for (size_t space = fit; text[fit] && space > indent; space--)
		if (text[space] == ' ')
			return space;
	return fit;
}

static void print_line(const char *text, int columns)
{
	int room = columns;

	for (;;) {
		size_t bytes = fitting_bytes(text, room);
		printf("%.*s\n", (int)bytes, text);
		text += bytes;
		text += strspn(text, " ");
		if (!*text || !bytes)
			return;
		printf("%*s", CONTINUATION_INDENT, "");
		room = columns - CONTINUATION_INDENT;
	}
}

static char *begun_line; /* the current line, which is not complete */

/* Adds a text to the current line, and prints the lines that are complete. */
static void add_text(const char *text)
{
	int columns = cli_width();
	char *lines;

	if (!columns) {
		fputs(text, stdout);
		return;
	}
	if (asprintf(&lines, "%s%s", begun_line ? begun_line : "", text) < 0) {
		cli_no_memory();
		return;
	}
	free(begun_line);
	char *rest = lines, *line = strsep(&rest, "\n");
	for (; rest; line = strsep(&rest, "\n"))
		print_line(line, columns);
	begun_line = *line ? strdup(line) : NULL;
	if (*line && !begun_line)
		cli_no_memory();
	free(lines);
}

void cli_print(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	int bytes = vasprintf(&text, format, args);
	va_end(args);
	if (bytes < 0) {
		cli_no_memory();
		return;
	}
	add_text(text);
	free(text);
}

void cli_print_bytes(const char *text, size_t bytes)
{
	char *clean = cli_clean(text, bytes);

	if (clean)
		add_text(clean);
	free(clean);
}

void cli_print_heading(const char *text)
{
	int columns = cli_width();
	bool styled = cli_is_styled() && (!columns || cli_columns(text) <= columns);

	if (styled)
		printf("\n\033[1m%s\033[0m\n", text);
	else
		cli_print("\n%s\n", text);
}

void cli_print_legend(const char *text)
{
	int columns = cli_width(), used = 0;

	if (columns <= 0 || columns > CLI_LEGEND_COLUMNS)
		columns = CLI_LEGEND_COLUMNS;
	while (*text) {
		int bytes = (int)strcspn(text, " ");
		if (used && used + 1 + bytes > columns) {
			putchar('\n');
			used = 0;
		}
		used += printf("%s%.*s", used ? " " : "  ", bytes, text);
		text += bytes + strspn(text + bytes, " ");
	}
	putchar('\n');
}
