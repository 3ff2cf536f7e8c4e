/* Prints the recording processes and their sessions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/shared/accounts.h"
#include "ctl.h"

/* Time limit for the answer of a process. */
#define TIMEOUT_S 3
/* Time between the two answers from which the number of events a second is computed. */
#define RATE_NS 200000000
#define REASONS_BYTES 512

/* A session, from its line in the answer of its process. */
struct session {
	const struct ctl_line *process, *line;
	uint64_t events; /* number of events without those that were lost */
	uint64_t lost_total, lost[EPP_LOSS_ENTRY_COUNT];
	double events_per_second;
};

static void read_losses(struct session *session)
{
	const char *at = ctl_field(session->line, "lost");

	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && *at; reason++) {
		char *end;
		session->lost[reason] = strtoull(at, &end, 10);
		if (reason != EPP_LOSS_TOO_LARGE && reason != EPP_LOSS_RESTART_GAP)
			session->lost_total += session->lost[reason];
		at = *end == ',' ? end + 1 : "";
	}
}

static uint64_t kept_events(const struct session *session)
{
	uint64_t events = ctl_number(session->line, "events");

	return events > session->lost_total ? events - session->lost_total : 0;
}

uint64_t ctl_kept_events(const struct ctl_line *line)
{
	struct session session = { .line = line };

	read_losses(&session);
	return kept_events(&session);
}

/* Returns the line of the same session in an earlier answer, or NULL. */
static const struct ctl_line *find_earlier(const struct ctl_answer *earlier, const struct ctl_line *line)
{
	for (size_t i = 1; i < earlier->count; i++)
		if (ctl_number(&earlier->lines[i], "session") == ctl_number(line, "session"))
			return &earlier->lines[i];
	return NULL;
}

static struct session read_session(const struct ctl_answer *answer, size_t index, const struct ctl_answer *earlier)
{
	struct session session = { .process = answer->lines, .line = &answer->lines[index] };
	const struct ctl_line *before = earlier ? find_earlier(earlier, session.line) : NULL;
	uint64_t events = ctl_number(session.line, "events");

	read_losses(&session);
	session.events = kept_events(&session);
	if (before) {
		uint64_t events_before = ctl_number(before, "events");
		double ns = (double)ctl_number(session.line, "time_ns") - (double)ctl_number(before, "time_ns");
		session.events_per_second = ns > 0 && events > events_before ? (double)(events - events_before) / ns * 1e9
		                                                             : 0;
	}
	return session;
}

/* ---- JSON ---- */

static void print_text_member(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	cli_json_string(text, strlen(text));
}

static void print_figures_json(const struct session *session)
{
	const char *separator = "";

	printf(", \"events\": %" PRIu64 ", \"events_per_second\": %.1f, \"bytes\": %" PRIu64 ", \"lost\": {",
	       session->events, session->events_per_second, ctl_number(session->line, "bytes"));
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (!session->lost[reason])
			continue;
		printf("%s", separator);
		cli_json_string(epp_loss_name(reason), strlen(epp_loss_name(reason)));
		printf(": %" PRIu64, session->lost[reason]);
		separator = ", ";
	}
	putchar('}');
}

static void print_process_json(const struct ctl_answer *answer, const struct ctl_answer *earlier, bool is_first)
{
	printf("%s\n  {\"pid\": %" PRIu64 ", ", is_first ? "" : ",", ctl_number(answer->lines, "pid"));
	print_text_member("program", ctl_field(answer->lines, "program"));
	printf(", \"sessions\": [");
	for (size_t i = 1; i < answer->count; i++) {
		struct session session = read_session(answer, i, earlier);
		printf("%s\n    {\"session\": %" PRIu64 ", ", i > 1 ? "," : "", ctl_number(session.line, "session"));
		print_text_member("state", ctl_field(session.line, "state"));
		printf(", ");
		print_text_member("output", ctl_field(session.line, "output"));
		if (earlier)
			print_figures_json(&session);
		putchar('}');
	}
	printf("]}");
}

/* ---- tables ---- */

static void add_number(struct cli_table *table, const struct ctl_line *line, const char *name)
{
	const char *value = ctl_field(line, name);

	cli_table_text(table, value, strlen(value));
}

static void add_figures(struct cli_table *table, const struct session *session)
{
	char size[CLI_NUMBER_BYTES], reasons[REASONS_BYTES];

	cli_table_count(table, session->events);
	cli_table_count(table, (uint64_t)session->events_per_second);
	cli_table_cell(table, cli_bytes(ctl_number(session->line, "bytes"), size));
	accounts_reasons(session->lost, reasons, sizeof reasons);
	cli_table_cell(table, *reasons ? reasons : "none");
}

static void add_process(struct cli_table *table, const struct ctl_answer *answer, const struct ctl_answer *earlier)
{
	for (size_t i = 1; i < answer->count; i++) {
		struct session session = read_session(answer, i, earlier);
		add_number(table, session.process, "pid");
		add_number(table, session.process, "program");
		add_number(table, session.line, "session");
		add_number(table, session.line, "state");
		if (earlier)
			add_figures(table, &session);
		const char *output = ctl_field(session.line, "output");
		cli_table_text(table, *output ? output : "(memory)", *output ? strlen(output) : strlen("(memory)"));
	}
}

/* ---- commands ---- */

int ctl_list(const struct ctl_sockets *sockets, bool is_json)
{
	struct cli_table *table = NULL;
	int code = CLI_OK;
	size_t printed_count = 0;

	if (is_json)
		printf("{\"processes\": [");
	for (size_t i = 0; i < sockets->count; i++) {
		struct ctl_answer answer;
		epp_status *status = ctl_request(&sockets->items[i], "status", TIMEOUT_S, &answer);
		if (epp_status_code(status) == EPP_NOT_FOUND) {
			epp_status_destroy(status); /* the process has just ended, so its error is ignored */
		} else if (status) {
			code = cli_failure(status);
		} else if (is_json) {
			print_process_json(&answer, NULL, printed_count == 0);
			printed_count++;
		} else if (answer.count > 1) {
			if (printed_count == 0)
				table = cli_table_create("pid|<program|session|<state|<output");
			add_process(table, &answer, NULL);
			printed_count++;
		}
		ctl_answer_deinit(&answer);
	}
	if (is_json)
		printf("]}\n");
	else if (printed_count)
		cli_table_print(table);
	else
		fprintf(stderr, "epprof: no process that can be controlled is recording\n");
	return cli_exit_code(code);
}

int ctl_status(const struct ctl_socket *socket, bool is_json)
{
	const struct timespec pause = { .tv_nsec = RATE_NS };
	struct ctl_answer earlier, answer = { 0 };
	epp_status *status = ctl_request(socket, "status", TIMEOUT_S, &earlier);

	if (!status) {
		nanosleep(&pause, NULL);
		status = ctl_request(socket, "status", TIMEOUT_S, &answer);
	}
	if (!status && is_json) {
		printf("{\"processes\": [");
		print_process_json(&answer, &earlier, true);
		printf("]}\n");
	} else if (!status) {
		struct cli_table *table = cli_table_create("pid|<program|session|<state|events|a second|size|<lost|<output");
		add_process(table, &answer, &earlier);
		cli_table_print(table);
	}
	ctl_answer_deinit(&earlier);
	ctl_answer_deinit(&answer);
	return cli_exit_code(status ? cli_failure(status) : CLI_OK);
}
