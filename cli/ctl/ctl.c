/* epprof ctl: controls processes that record. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

static const char help[] =
    "usage: epprof ctl list [OPTION]...\n"
    "       epprof ctl status|pause|resume|stop [OPTION]... [PID]\n"
    "       epprof ctl snapshot [OPTION]... -o FILE [PID]\n"
    "\n"
    "Controls programs of the same user while they record.  A program can be controlled if it was started by 'epprof\n"
    "record', or with EPPROF_CONTROL=1 in its environment.  PID may be left out if there is only one.\n"
    "\n"
    "Actions:\n"
    "  list      prints the programs that can be controlled, with their sessions and outputs, and removes the sockets\n"
    "            that killed programs have left\n"
    "  status    prints how many events the program has recorded and lost so far, how many it records a second, and\n"
    "            the size of its trace\n"
    "  pause     ends the recording for now; events that are open at that moment become 'unended'\n"
    "  resume    continues a paused recording as a further run of the same trace\n"
    "  stop      finishes the trace, while the program goes on; it records no more\n"
    "  snapshot  writes what the trace, for example a ring, holds at present, while the recording goes on\n"
    "\n"
    "Options:\n"
    "  --format FORMAT    of list and status: text or json\n"
    "  -o, --output FILE  of snapshot: the trace to write\n"
    "  --last TIME        of snapshot: only the last TIME: 500ms, 5s (blocks that begin earlier are kept whole)\n"
    "  --session N        of snapshot: the session, if the program has several with a file\n"
    "  --force            of snapshot: replace FILE if it exists\n"
    "  --help             print this text\n";

/* Time limit of pause, resume and stop.  A process answers `stop` only after its profilers have ended and its trace is
 * written. */
#define ACT_TIMEOUT_S 60

static const char *const actions[] = { "list", "status", "pause", "resume", "stop", "snapshot", NULL };
enum { LIST, STATUS, PAUSE, RESUME, STOP, SNAPSHOT };

/* Returns the socket of a process; if `pid` is 0, of the only process that has one.  NULL: there is no such process, or
 * there are several; a message was printed. */
static const struct ctl_socket *choose_socket(const struct ctl_sockets *sockets, long long pid)
{
	for (size_t i = 0; pid && i < sockets->count; i++)
		if (sockets->items[i].pid == pid)
			return &sockets->items[i];
	if (pid)
		fprintf(stderr,
		        "epprof: process %lld cannot be controlled: it has no socket of this user; 'epprof ctl list' prints those that have\n",
		        pid);
	else if (!sockets->count)
		fprintf(stderr, "epprof: no process that can be controlled is recording\n");
	else if (sockets->count == 1)
		return sockets->items;
	else
		fprintf(stderr, "epprof: %zu processes are recording: give a PID; 'epprof ctl list' prints them\n",
		        sockets->count);
	return NULL;
}

static int send_action(const struct ctl_socket *socket, int action)
{
	static const char *const done[] = { [PAUSE] = "paused", [RESUME] = "resumed", [STOP] = "finished" };
	char sessions[CLI_COUNTED_BYTES];
	struct ctl_answer answer;
	epp_status *status = ctl_request(socket, actions[action], ACT_TIMEOUT_S, &answer);

	if (!status)
		printf("process %lld: %s %s\n", socket->pid,
		       cli_counted(ctl_number(answer.lines, "sessions"), "session", sessions), done[action]);
	ctl_answer_deinit(&answer);
	return cli_exit_code(status ? cli_failure(status) : CLI_OK);
}

static int run_action(int action, long long pid, bool is_json, const struct ctl_snapshot *snapshot)
{
	struct ctl_sockets sockets;
	epp_status *status = ctl_sockets_find(&sockets, action == LIST);
	int code = CLI_FAILURE;

	if (status)
		return cli_failure(status);
	const struct ctl_socket *socket = action == LIST ? NULL : choose_socket(&sockets, pid);
	if (action == LIST)
		code = ctl_list(&sockets, is_json);
	else if (socket && action == STATUS)
		code = ctl_status(socket, is_json);
	else if (socket && action == SNAPSHOT)
		code = ctl_snapshot(socket, snapshot);
	else if (socket)
		code = send_action(socket, action);
	ctl_sockets_deinit(&sockets);
	return code;
}

static int find_action(const char *word)
{
	for (int i = 0; actions[i]; i++)
		if (strcmp(actions[i], word) == 0)
			return i;
	const char *nearest = cli_nearest(word, actions);
	if (nearest)
		cli_misuse(&cli_ctl, "unknown action '%s'; did you mean '%s'?", word, nearest);
	else
		cli_misuse(&cli_ctl, "unknown action '%s'", word);
	return -1;
}

static int run(int argc, char **argv)
{
	static const char *const formats[] = { "text", "json", NULL };
	static const struct option long_options[] = {
		{ "format", required_argument, NULL, 'f' }, { "output", required_argument, NULL, 'o' },
		{ "last", required_argument, NULL, 'l' },   { "session", required_argument, NULL, 's' },
		{ "force", no_argument, NULL, '!' },        { 0 },
	};
	struct cli_options options = { &cli_ctl, argc, argv, "o:", long_options, CLI_OK };
	struct ctl_snapshot snapshot = { .last_ns = INT64_MAX };
	const char *problem = NULL;
	int option, format = 0;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'f' && (format = cli_choice(&cli_ctl, "--format", formats)) < 0)
			return CLI_USAGE;
		if (option == 'l' && !cli_time(&cli_ctl, "--last", &snapshot.last_ns))
			return CLI_USAGE;
		if (option == 's' && !cli_number(&cli_ctl, "--session", 1, INT32_MAX, &snapshot.session))
			return CLI_USAGE;
		if (option == 'o')
			snapshot.output = optarg;
		snapshot.force |= option == '!';
	}
	if (optind == argc)
		return cli_misuse(&cli_ctl, "which action: list, status, pause, resume, stop or snapshot?");
	int action = find_action(argv[optind]);
	if (action < 0)
		return CLI_USAGE;
	const char *pid_text = argv[optind + 1];
	if (pid_text && (action == LIST || optind + 2 < argc))
		return cli_misuse(&cli_ctl, "'%s' is unexpected", argv[action == LIST ? optind + 1 : optind + 2]);
	long long pid = pid_text ? strtonum(pid_text, 1, INT32_MAX, &problem) : 0;
	if (problem)
		return cli_misuse(&cli_ctl, "'%s' is no process id", pid_text);
	if (snapshot.last_ns < 0)
		return cli_misuse(&cli_ctl, "--last: the time is negative");
	if (action == SNAPSHOT && !snapshot.output)
		return cli_misuse(&cli_ctl, "which file? -o FILE names it");
	if (action == SNAPSHOT && !cli_takes_trace(&cli_ctl, snapshot.output))
		return CLI_USAGE;
	return run_action(action, pid, format == 1, &snapshot);
}

const struct cli_command cli_ctl = {
	.name = "ctl", .summary = "controls programs while they record", .help = help, .run = run
};
