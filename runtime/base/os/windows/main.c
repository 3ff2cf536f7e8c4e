/* The beginning of a program for Windows: arguments in UTF-8, and output without carriage returns. The program's main is
 * compiled under the name program_main. */
#include <stdlib.h>

#include "base/os/windows/win32.h"

int program_main(int argc, char **argv);
int wmain(int argc, wchar_t **wide);

int wmain(int argc, wchar_t **wide)
{
	char **argv = calloc((size_t)argc + 1, sizeof(*argv));
	for (int i = 0; argv && i < argc; i++) {
		size_t bytes = wcslen(wide[i]) * 3 + 1;
		argv[i] = malloc(bytes);
		if (!argv[i] || !windows_narrow(wide[i], argv[i], bytes))
			return EXIT_FAILURE;
	}
	for (int fd = 0; fd < 3; fd++)
		_setmode(fd, _O_BINARY);
	SetConsoleOutputCP(CP_UTF8);
	return argv ? program_main(argc, argv) : EXIT_FAILURE;
}
