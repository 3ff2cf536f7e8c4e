/* Sets a locale whose numbers have a decimal comma: one of the system's, or one made in the test's directory. */
#ifndef EPPROF_TESTS_SUPPORT_DECIMAL_COMMA_H
#define EPPROF_TESTS_SUPPORT_DECIMAL_COMMA_H

#include "check.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns true if the locale was set; if none is available, prints the skip. */
static inline bool set_decimal_comma(int category)
{
	char command[1024];

	if (setlocale(category, "de_DE.UTF-8"))
		return true;
	snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' 2>/dev/null", check_path("de_DE.UTF-8"));
	if (system(command) == 0 && setenv("LOCPATH", check_path("."), 1) == 0 && setlocale(category, "de_DE.UTF-8"))
		return true;
	printf("SKIP: no locale with a decimal comma, nor the sources to make one (./setup --dev)\n");
	return false;
}

#endif
