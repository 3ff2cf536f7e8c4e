/* Catches Ctrl-C and other signals for commands that write files.  The commands check cli_signal and stop. */
#include <signal.h>

#include "cli/cli.h"

volatile int cli_signal;

static void note(int signal_number)
{
	cli_signal = signal_number;
}

void cli_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND }, before;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int cli_interrupted(epp_status *status)
{
	epp_status_destroy(status);
	raise(cli_signal);
	return CLI_FAILURE;
}
