/* epprof ctl snapshot: copies the trace of a recording process.  The process is only asked for the path of its trace;
 * the events are read from this file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "epprof/trace_writer.h"

#define TIMEOUT_S 3

/* Returns the line of the session with a number; if `number` is 0, of the only session that writes a file.  NULL: there
 * is none, there are several, or the session records in memory; a message was printed. */
static const struct ctl_line *choose_session(const struct ctl_answer *answer, long long pid, long long number)
{
	const struct ctl_line *found = NULL;
	size_t count = 0;

	for (size_t i = 1; i < answer->count; i++) {
		const struct ctl_line *line = &answer->lines[i];
		bool has_file = *ctl_field(line, "output") != '\0';
		if (number ? ctl_number(line, "session") == (uint64_t)number : has_file) {
			found = line;
			count++;
		}
	}
	if (count == 1 && *ctl_field(found, "output"))
		return found;
	if (count == 1)
		fprintf(stderr, "epprof: process %lld: session %lld records in memory\n", pid, number);
	else if (count)
		fprintf(stderr, "epprof: process %lld has %zu sessions: --session N chooses one\n", pid, count);
	else
		fprintf(stderr, "epprof: process %lld has no such session with a file\n", pid);
	return NULL;
}

/* Opens the trace of a session.  The session's path may be relative to the working directory of its process.  Returns
 * an enum cli_exit. */
static int open_output(const struct ctl_line *session, long long pid, epp_trace **trace)
{
	const char *output = ctl_field(session, "output");
	char *path = NULL;

	*trace = NULL;
	if (output[0] == '/')
		path = strdup(output);
	else if (asprintf(&path, "/proc/%lld/cwd/%s", pid, output) < 0)
		path = NULL;
	if (!path)
		return cli_failure(epp_status_no_memory());
	int code = cli_open(path, trace);
	if (code == CLI_OK && epp_trace_get_info(*trace)->pid != (uint64_t)pid) {
		fprintf(stderr, "epprof: %s is not the trace of process %lld\n", path, pid);
		epp_trace_close(*trace);
		code = CLI_FAILURE;
	}
	free(path);
	return code;
}

int ctl_snapshot(const struct ctl_socket *socket, const struct ctl_snapshot *snapshot)
{
	struct ctl_answer answer;
	epp_trace *trace;
	epp_status *status = ctl_request(socket, "status", TIMEOUT_S, &answer);
	const struct ctl_line *session = NULL;

	if (status)
		cli_failure(status);
	else
		session = choose_session(&answer, socket->pid, snapshot->session);
	int code = session ? open_output(session, socket->pid, &trace) : CLI_FAILURE;
	ctl_answer_deinit(&answer);
	if (code != CLI_OK)
		return code;
	uint64_t last_ns = snapshot->last_ns == INT64_MAX ? UINT64_MAX : (uint64_t)snapshot->last_ns;
	status = epp_trace_snapshot(trace, snapshot->output, last_ns, snapshot->force);
	if (status)
		code = cli_not_written(status);
	else
		printf("process %lld: %s\n", socket->pid, snapshot->output);
	epp_trace_close(trace);
	cli_progress_end();
	return cli_exit_code(code);
}
