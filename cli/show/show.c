/* epprof show: prints one event with the events around it. */
#include "show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/sql.h"

static const char
    help[] = "usage: epprof show [OPTION]... TRACE\n"
	     "\n"
	     "Prints one event of a trace: its times, its thread or stream, its args, and the tree around it: the events\n"
	     "that enclose it or caused it, those that it encloses, and the device events that these launched.\n"
	     "\n"
	     "  start    in seconds since the trace's beginning\n"
	     "  queued   device events: from the earliest possible launch, the start of the host event or the end of\n"
	     "           the last wait under it, to the start\n"
	     "\n"
	     "Options:\n"
	     "  --id N         the event with this id, as 'epprof sql' and the report print it\n"
	     "  --where EXPR   the longest event for which EXPR holds, as in SQL's WHERE over the table timeline, whose\n"
	     "                 columns 'epprof sql TRACE .schema' prints: \"name = 'gemm' AND duration_ns > 1e6\"; the\n"
	     "                 key of an arg is a column too: \"batch = 16\"\n"
	     "  --trace-id ID  the event, and those below it, belong to requests with this W3C trace id; alone, the\n"
	     "                 longest event of these requests\n"
	     "  --depth N      levels of the tree below the event; the default is 3\n"
	     "  --top N        at most N children of each event, the first ones; the default is 20, 0: all\n"
	     "  --help         this text\n";

/* The key of an arg can be the name of a column in an expression if it has only these characters. */
#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* The result of a search: the number of events that meet the condition, and the longest of them. */
struct match {
	uint64_t count, id;
	int64_t start_ns, duration_ns;
	uint32_t source;
};

static epp_status *take_matches(epp_sql_rows *rows, struct match *match)
{
	const epp_sql_value *values;
	epp_status *status;

	while (!(status = epp_sql_rows_next(rows, &values)) && values) {
		if (match->count++ && values[3].integer <= match->duration_ns)
			continue;
		match->id = (uint64_t)values[0].integer;
		match->source = (uint32_t)values[1].integer;
		match->start_ns = values[2].integer;
		match->duration_ns = values[3].integer;
	}
	return status;
}

/* The condition that the event must meet. */
struct condition {
	const char *expression; /* in SQL */
	const char *trace_id;   /* W3C trace id of a request: hex digits without a prefix; NULL: any event */
	bool by_id;             /* the command line has --id; the expression compares the id */
};

/* Finds the events of a table that meet a condition.  The expression is followed by a line feed, which ends an SQL
 * comment that it may contain. */
static epp_status *select_matches(epp_sql *sql, const char *table, const struct condition *condition, struct match *match)
{
	epp_sql_rows *rows = NULL;
	const char *rest;
	char *text;

	if (asprintf(&text, "SELECT id, source, start_ns, duration_ns FROM %s WHERE (%s\n)%s%s%s", table,
	             condition->expression, condition->trace_id ? " AND trace_id LIKE '%" : "",
	             condition->trace_id ? condition->trace_id : "", condition->trace_id ? "%'" : "") < 0)
		return epp_status_no_memory();
	epp_status *status = epp_sql_query(sql, text, &rest, &rows);
	if (!status && (*rest || epp_sql_rows_columns_count(rows) != 4))
		status = epp_status_create(EPP_INVALID_ARGUMENT, "one expression, without ';'");
	if (!status)
		status = take_matches(rows, match);
	epp_sql_rows_destroy(rows);
	free(text);
	return status;
}

static bool some_event_has_arg(epp_sql *sql, const char *key)
{
	const epp_sql_value *values = NULL;
	epp_sql_rows *rows = NULL;
	const char *rest;
	char *text;

	if (asprintf(&text, "SELECT 1 FROM args WHERE key = '%s' LIMIT 1", key) < 0)
		return false;
	epp_status *status = epp_sql_query(sql, text, &rest, &rows);
	if (!status)
		status = epp_sql_rows_next(rows, &values);
	bool found = !status && values;
	epp_status_destroy(status);
	epp_sql_rows_destroy(rows);
	free(text);
	return found;
}

/* If a query failed because a name is not a column of the table but the key of an arg, extends *table by a column with
 * the value of this arg, and returns true. */
static bool add_column_of_arg(epp_sql *sql, char **table, const epp_status *failure)
{
	static const char no_column[] = "no such column: ";
	const char *message = epp_status_message(failure), *key = message + strlen(no_column);
	char *joined;

	if (strncmp(message, no_column, strlen(no_column)) != 0 || key[strspn(key, KEY_LETTERS)] ||
	    !some_event_has_arg(sql, key))
		return false;
	if (asprintf(&joined, "%s LEFT JOIN (SELECT event, value AS \"%s\" FROM args WHERE key = '%s') USING (event)",
	             *table, key, key) < 0)
		return false;
	free(*table);
	*table = joined;
	return true;
}

/* Returns an error if the text is no trace id, or if no request has it. */
static epp_status *check_trace_id(epp_trace *trace, const char *trace_id)
{
	const epp_timeline_options window = { .struct_size = sizeof window, .trace_id = trace_id };
	epp_timeline *timeline;

	epp_status *status = epp_timeline_create(trace, &window, &timeline);
	epp_timeline_destroy(timeline);
	return status;
}

/* Finds the longest event that meets a condition.  A name in the condition that is not a column of the table `timeline`
 * is taken for the key of an arg. */
static epp_status *find(epp_trace *trace, const struct condition *condition, struct match *match)
{
	epp_sql *sql = NULL;
	char *table = strdup("timeline");

	epp_status *status = table ? epp_sql_create(trace, &sql) : epp_status_no_memory();
	if (!status)
		status = select_matches(sql, table, condition, match);
	while (status && sql && add_column_of_arg(sql, &table, status)) {
		epp_status_destroy(status);
		status = select_matches(sql, table, condition, match);
	}
	epp_sql_destroy(sql);
	free(table);
	return status;
}

static int show(struct show_tree *tree, const char *path, const struct condition *condition)
{
	bool by_id = condition->by_id;
	struct match match = { 0 };
	char others[CLI_COUNTED_BYTES];

	epp_status *status = condition->trace_id ? check_trace_id(tree->trace, condition->trace_id) : NULL;
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	status = find(tree->trace, condition, &match);
	if (status && epp_status_code(status) == EPP_INVALID_ARGUMENT)
		return cli_failure(epp_status_prefix(status, "--where"));
	if (!status && !match.count) {
		cli_progress_end();
		fprintf(stderr, "epprof: %s: no event %s %s\n", path, by_id ? "with" : "where", condition->expression);
		return CLI_FAILURE;
	}
	if (!status)
		status = show_tree_read(tree, match.source, match.id, match.start_ns);
	cli_progress_end();
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	show_print(tree);
	if (match.count > 1 && by_id)
		fprintf(stderr, "epprof: %s with this id, in other processes; --where 'id = N AND source = S' chooses\n",
		        cli_counted(match.count - 1, "more event", others));
	else if (match.count > 1)
		fprintf(stderr, "epprof: the longest of %s\n", cli_counted(match.count, "event", others));
	return CLI_OK;
}

/* Parses optarg as an event id, and writes an SQL expression that selects it.  Returns false if an error was
 * reported. */
static bool parse_id(char *expression, size_t bytes)
{
	char *end;

	errno = 0;
	unsigned long long id = strtoull(optarg, &end, 10);
	if (errno || *end || *optarg < '0' || *optarg > '9') {
		cli_misuse(&cli_show, "--id '%s': an id is a number", optarg);
		return false;
	}
	snprintf(expression, bytes, "id = %" PRId64, (int64_t)id);
	return true;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "id", required_argument, NULL, 'i' },       { "where", required_argument, NULL, 'w' },
		{ "trace-id", required_argument, NULL, 'Q' }, { "depth", required_argument, NULL, 'd' },
		{ "top", required_argument, NULL, 'n' },      { 0 }
	};
	struct cli_options options = { &cli_show, argc, argv, "", long_options, CLI_OK };
	const char *where = NULL, *trace_id = NULL;
	long long depth = 3, top = 20;
	char id[48] = "";
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'i' && !parse_id(id, sizeof id))
			return CLI_USAGE;
		if (option == 'w')
			where = optarg;
		if (option == 'Q')
			trace_id = optarg;
		if (option == 'd' && !cli_number(&cli_show, "--depth", 0, 1000, &depth))
			return CLI_USAGE;
		if (option == 'n' && !cli_number(&cli_show, "--top", 0, INT64_MAX, &top))
			return CLI_USAGE;
	}
	const char *path = cli_options_trace(&options);
	if (!path)
		return options.exit;
	if (*id ? where != NULL : !where && !trace_id)
		return cli_misuse(&cli_show, "which event?  --id N, or --where EXPR");
	const struct condition condition = { .expression = where ? where
		                                           : *id ? id
		                                                 : "1",
		                             .trace_id = trace_id,
		                             .by_id = *id };
	struct show_tree tree = { .depth = (unsigned)depth, .top = top ? (size_t)top : SIZE_MAX, .trace_id = trace_id };
	int code = cli_open(path, &tree.trace);
	if (code != CLI_OK)
		return code;
	code = show(&tree, path, &condition);
	show_tree_deinit(&tree);
	epp_trace_close(tree.trace);
	return code;
}

const struct cli_command cli_show = {
	.name = "show", .summary = "prints one event with what encloses it, and what it launched", .help = help, .run = run
};
