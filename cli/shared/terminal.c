/* Properties of standard output: a terminal has a width and perhaps styles, other files have neither. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

bool cli_is_styled(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

int cli_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

void cli_print_heading(const char *text)
{
	bool styled = cli_is_styled();

	printf("\n%s%s%s\n", styled ? "\033[1m" : "", text, styled ? "\033[0m" : "");
}
