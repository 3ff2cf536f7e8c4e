/* The command line of commands that rewrite a trace, into another file or in place. */
#ifndef EPPROF_CLI_SHARED_REWRITE_H
#define EPPROF_CLI_SHARED_REWRITE_H

#include "cli/cli.h"

#define REWRITE_HELP \
	"  -o, --output FILE  the output file\n" \
	"  --in-place         replace TRACE itself when the new file is complete\n" \
	"  --force            replace FILE if it exists\n" \
	"  --help             print this text\n"

/* Writes `input` to `output`, which may be the same file.  Returns an enum cli_exit. */
typedef int (*rewrite_fn)(const char *input, const char *output, bool overwrite);

/* Reads the command line and calls `rewrite`; returns an enum cli_exit. */
int rewrite_run(const struct cli_command *command, int argc, char **argv, rewrite_fn rewrite);

#endif
