/* Commands and parts of the command that epprof.exe leaves out. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/shared/post.h"

#define LEFT_OUT(command) \
	static int run_##command(int argc, char **argv); \
	const struct cli_command cli_##command = { \
		.name = #command, \
		.summary = "not available on Windows", \
		.help = "epprof " #command " is not available on Windows: use epprof on Linux.\n", \
		.run = run_##command, \
	}; \
	static int run_##command(int argc, char **argv) \
	{ \
		(void)argc, (void)argv; \
		return cli_misuse(NULL, "%s: not available on Windows", #command); \
	}

LEFT_OUT(conform)
LEFT_OUT(ctl)
LEFT_OUT(view)

/* ---- convert --post ---- */

int post_check(const struct cli_command *command)
{
	return cli_misuse(command, "--post: not available on Windows");
}

epp_status *post_create(const char *url, bool is_protobuf, int64_t limit_ns, struct post **post)
{
	(void)url, (void)is_protobuf, (void)limit_ns;
	*post = NULL;
	return epp_status_create(EPP_UNAVAILABLE, "--post: not available on Windows");
}

void post_destroy(struct post *post)
{
	(void)post;
}

epp_status *post_status(struct post *post)
{
	(void)post;
	return NULL;
}

size_t post_write(const void *bytes, size_t count, void *of)
{
	(void)bytes, (void)count, (void)of;
	errno = ENOSYS;
	return 0;
}

/* ---- the progress of long commands: conditions have no monotonic clock ---- */

bool cli_quiet;

void cli_progress_begin(void)
{
}

void cli_progress_hide(void)
{
}

void cli_progress_end(void)
{
}
