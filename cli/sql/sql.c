/* epprof sql: runs SQL queries over a trace. */
#include "sql.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: epprof sql [OPTION]... TRACE [STATEMENT]\n"
    "\n"
    "Queries a trace with SQL (SQLite's dialect).  Without STATEMENT it reads statements from standard input, on a\n"
    "terminal with a prompt.  '.schema' as STATEMENT prints the tables and their columns, '.schema timeline' the\n"
    "columns of one table, '.tables' the names of the tables.  The trace is not loaded first; a condition on\n"
    "start_ns limits which part of the trace is read.  The main tables:\n"
    "\n"
    "  timeline  one row per event: name, category, start_ns, duration_ns, track_name, stream, parent, id, ...\n"
    "  events    the same with numeric keys into names, tracks, kinds, categories, placements\n"
    "  args      event, number, key, value\n"
    "  flows     from_id, to_id: which event caused which\n"
    "  ledger    counts and reasons of lost events; other tables: facts, runs, clock_pairs\n"
    "\n"
    "Example:\n"
    "  epprof sql run.epp \"SELECT name, count(*), avg(duration_ns) FROM timeline GROUP BY name ORDER BY 3 DESC\"\n"
    "\n"
    "Options:\n"
    "  --format FORMAT  table (the default; a line for each value where the table is too wide for the terminal), csv or\n"
    "                   json\n"
    "  --help           print this text\n";

/* The connection whose running query Ctrl-C interrupts; NULL: none. */
static epp_sql *volatile asked;

static void interrupt(int signal_number)
{
	(void)signal_number;
	if (asked)
		epp_sql_interrupt(asked);
	cli_signal = signal_number;
}

static void explain(epp_status *status)
{
	cli_progress_end();
	cli_message(epp_status_message(status), sql_suggestion(epp_status_message(status)));
	epp_status_destroy(status);
}

bool sql_answer(epp_sql *sql, const char *text, enum sql_format format)
{
	epp_status *status = NULL;
	bool any;

	do {
		epp_sql_rows *rows;
		cli_progress_begin();
		status = epp_sql_query(sql, text, &text, &rows);
		any = rows != NULL;
		if (!status && any)
			status = sql_print(rows, format);
		epp_sql_rows_destroy(rows);
	} while (!status && any && *text);
	cli_progress_end();
	if (!status)
		return cli_flush();
	cli_flush();
	explain(status);
	return false;
}

static int run_query(epp_trace *trace, const char *text, enum sql_format format)
{
	const struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int)SA_RESTART };
	int code = CLI_FAILURE;
	epp_sql *sql;

	epp_status *status = epp_sql_create(trace, &sql);
	if (status)
		return cli_failure(status);
	asked = sql;
	sigaction(SIGINT, &action, NULL);
	cli_progress_end();
	if (!text)
		code = sql_prompt(sql, format);
	else if (*text == '.' ? sql_command(text) : sql_answer(sql, text, format))
		code = CLI_OK;
	asked = NULL;
	epp_sql_destroy(sql);
	/* Ends this process by SIGINT, so that its parent process, for example a shell, can detect the interruption. */
	if (text && cli_signal) {
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "format", required_argument, NULL, 'f' }, { 0 } };
	static const char *const formats[] = { "table", "csv", "json", NULL };
	struct cli_options options = { &cli_sql, argc, argv, "", long_options, CLI_OK };
	int option, format = SQL_TABLE;
	epp_trace *trace;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'f' && (format = cli_choice(&cli_sql, "--format", formats)) < 0)
			return CLI_USAGE;
	}
	if (optind == argc)
		return cli_misuse(&cli_sql, "which trace?");
	if (optind + 2 < argc)
		return cli_misuse(&cli_sql, "'%s' is unexpected; is the statement in quotes?", argv[optind + 2]);
	int code = cli_open(argv[optind], &trace);
	if (code != CLI_OK)
		return code;
	code = run_query(trace, optind + 1 < argc ? argv[optind + 1] : NULL, (enum sql_format)format);
	epp_trace_close(trace);
	return code;
}

const struct cli_command cli_sql = { .name = "sql", .summary = "queries a trace with SQL", .help = help, .run = run };
