/* epprof advise: prints what costs time in a trace, how much time a change could save, and what to try. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "epprof/advice.h"

static const char
    help[] = "usage: epprof advise [OPTION]... TRACE\n"
	     "       epprof advise --explain RULE\n"
	     "\n"
	     "Prints what costs time in a trace: for each finding of a rule, how much time could be gained at most and\n"
	     "the error of that, how sure the finding is, what to try, and the places with the largest gain.  The error\n"
	     "includes the error bounds of the clocks.  A finding is not printed if its gain is not larger than its\n"
	     "error, or below 1 % of the time from the first to the last event.  Gains of several findings may be the\n"
	     "same time, and do not add up.\n"
	     "\n"
	     "Options:\n"
	     "  --explain RULE  print how a rule finds its places and computes the gain, and an SQL query that finds the\n"
	     "                  same for 'epprof sql'\n"
	     "  --json          print JSON, times in nanoseconds\n"
	     "  --trace-id ID   only events of requests with this W3C trace id: a device that works for other requests\n"
	     "                  is idle then\n"
	     "  --quiet         show no progress\n"
	     "  --help          print this text\n"
	     "\n"
	     "Rules:\n";

static void print_rules(void)
{
	const epp_advice_rule *rule;

	for (size_t i = 0; (rule = epp_advice_rule_at(i)); i++)
		printf("  %-18s  %s\n", rule->name, rule->title);
}

static int explain(const char *name)
{
	const char *names[64] = { 0 };
	const epp_advice_rule *rule;

	for (size_t i = 0; (rule = epp_advice_rule_at(i)); i++) {
		if (strcmp(rule->name, name) == 0) {
			printf("%s: %s\n\n%s\nTry:\n%s\n", rule->name, rule->title, rule->documentation, rule->remedy);
			if (rule->sql)
				printf("\nSQL:\n%s", rule->sql);
			return CLI_OK;
		}
		if (i + 1 < sizeof names / sizeof *names)
			names[i] = rule->name;
	}
	const char *nearest = cli_nearest(name, names);
	if (nearest)
		return cli_misuse(&cli_advise, "no rule '%s'; did you mean '%s'?", name, nearest);
	return cli_misuse(&cli_advise, "no rule '%s'", name);
}

/* ---- text ---- */

static void print_places(const epp_advice_finding *finding)
{
	struct cli_table *table = cli_table_create("start|time|gain|event|<track|?<of");
	char text[CLI_NUMBER_BYTES];

	for (size_t i = 0; i < finding->places_count; i++) {
		const epp_advice_place *place = &finding->places[i];
		snprintf(text, sizeof text, "%.6f s", (double)place->start_ns / 1e9);
		cli_table_cell(table, text);
		cli_table_duration(table, (double)(place->end_ns - place->start_ns));
		cli_table_duration(table, (double)place->gain_ns);
		snprintf(text, sizeof text, "%" PRIu64, place->id);
		cli_table_cell(table, text);
		cli_table_text(table, place->track->name, strlen(place->track->name));
		cli_table_text(table, place->track->group, strlen(place->track->group));
	}
	cli_table_print(table);
	if (finding->count > finding->places_count)
		printf("  ... and %" PRIu64 " more\n", finding->count - finding->places_count);
}

static void print_finding(const epp_advice_finding *finding, int64_t total_ns)
{
	char gain[CLI_NUMBER_BYTES], error[CLI_NUMBER_BYTES], heading[128];

	snprintf(heading, sizeof heading, "%s: %s", finding->rule->name, finding->rule->title);
	cli_print_heading(heading);
	cli_print_bytes(finding->text, strlen(finding->text));
	cli_print("\n");
	if (finding->gain_ns)
		cli_print("Gain: at most %s +- %s (%.1f %% of the time).  ", cli_duration((double)finding->gain_ns, gain),
		          cli_duration((double)finding->gain_error_ns, error),
		          total_ns ? (double)finding->gain_ns * 100 / (double)total_ns : 0);
	cli_print("Confidence: %s.\n", epp_confidence_name(finding->confidence));
	cli_print("Try: %s\n\n", finding->rule->remedy);
	print_places(finding);
}

static void print_text(const char *path, const epp_advice *advice)
{
	int64_t total_ns = epp_advice_total_ns(advice);
	const epp_advice_finding *finding;
	char count[CLI_COUNTED_BYTES], total[CLI_NUMBER_BYTES];

	cli_print_bytes(path, strlen(path));
	cli_print(": %s in %s\n", cli_counted(epp_advice_findings_count(advice), "finding", count),
	          cli_duration((double)total_ns, total));
	for (size_t i = 0; (finding = epp_advice_finding_at(advice, i)); i++)
		print_finding(finding, total_ns);
}

/* ---- JSON ---- */

static void print_json_text(const char *key, const char *text)
{
	printf("\"%s\": ", key);
	cli_json_string(text, strlen(text));
}

static void print_json_place(const epp_advice_place *place)
{
	printf("{\"event\": %" PRIu64 ", \"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"gain_ns\": %" PRId64
	       ", \"source\": %u, ",
	       place->id, place->start_ns, place->end_ns, place->gain_ns, place->track->source);
	print_json_text("track", place->track->name);
	printf(", ");
	print_json_text("group", place->track->group);
	printf("}");
}

static void print_json_finding(const epp_advice_finding *finding)
{
	printf("    {");
	print_json_text("rule", finding->rule->name);
	printf(", ");
	print_json_text("title", finding->rule->title);
	printf(", ");
	print_json_text("text", finding->text);
	printf(", ");
	print_json_text("remedy", finding->rule->remedy);
	printf(", \"gain_ns\": %" PRId64 ", \"gain_error_ns\": %" PRId64 ", \"confidence\": \"%s\", \"count\": %" PRIu64
	       ",\n     \"places\": [",
	       finding->gain_ns, finding->gain_error_ns, epp_confidence_name(finding->confidence), finding->count);
	for (size_t i = 0; i < finding->places_count; i++) {
		printf(i ? ",\n                " : "");
		print_json_place(&finding->places[i]);
	}
	printf("]}");
}

static void print_json(const char *path, const epp_advice *advice)
{
	const epp_advice_finding *finding;

	printf("{\n  ");
	print_json_text("trace", path);
	printf(", \"wall_ns\": %" PRId64 ",\n  \"findings\": [", epp_advice_total_ns(advice));
	for (size_t i = 0; (finding = epp_advice_finding_at(advice, i)); i++) {
		printf(i ? ",\n" : "\n");
		print_json_finding(finding);
	}
	printf("\n  ]\n}\n");
}

/* ---- the command ---- */

static int advise(const char *path, const char *trace_id, bool json)
{
	const epp_timeline_options window = { .struct_size = sizeof window, .trace_id = trace_id };
	epp_advice *advice;
	epp_trace *trace;
	int code = cli_open(path, &trace);

	if (code != CLI_OK)
		return code;
	epp_status *status = epp_advice_create(trace, &window, &advice);
	if (status) {
		epp_trace_close(trace);
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	}
	cli_progress_end();
	if (json)
		print_json(path, advice);
	else
		print_text(path, advice);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "explain", required_argument, NULL, 'e' },
		                                      { "json", no_argument, NULL, 'j' },
		                                      { "trace-id", required_argument, NULL, 'Q' },
		                                      { 0 } };
	struct cli_options options = { &cli_advise, argc, argv, "", long_options, CLI_OK };
	const char *rule = NULL, *trace_id = NULL;
	bool json = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		json = json || option == 'j';
		if (option == 'e')
			rule = optarg;
		if (option == 'Q')
			trace_id = optarg;
	}
	if (rule && optind < argc)
		return cli_misuse(&cli_advise, "--explain has no trace");
	if (rule)
		return explain(rule);
	const char *path = cli_options_trace(&options);
	return path ? advise(path, trace_id, json) : options.exit;
}

const struct cli_command cli_advise = { .name = "advise",
	                                .summary = "advises what to change: what costs time, and what could be gained",
	                                .help = help,
	                                .help_list = print_rules,
	                                .run = run };
