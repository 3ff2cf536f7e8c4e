/* epprof diff: reports what became slower or faster from one trace, or set of traces, to another. */
#include <stdlib.h>
#include <string.h>

#include "diff.h"

static const char help[] =
    "usage: epprof diff [OPTION]... BEFORE AFTER\n"
    "       epprof diff [OPTION]... --before TRACE... --after TRACE...\n"
    "\n"
    "Compares the median durations of operator types (Conv, MatMul), ops and kernels.\n"
    "\n"
    "With two traces, the noise is that within each of them:\n"
    "\n"
    "  change   relative change of the median; '~' if it is not significant\n"
    "  within   95 % confidence interval of the change, computed from the variation within each trace; the\n"
    "           variation from run to run is not included.  With fewer than 6 events there is no interval\n"
    "  p99      99th percentile of the durations, within 1 %\n"
    "  total    sum of the durations\n"
    "\n"
    "With sets of traces, each the trace of one run of the program, the noise is that between the runs of a set.\n"
    "Record 5 or more of each, and alternate: before, after, before, after.\n"
    "\n"
    "  change   relative change of the mean over the traces; '~' if it is not significant\n"
    "  within   95 % bootstrap interval of that change\n"
    "  verdict  of two equal sets, at most 5 in 100 comparisons report any change: 4 for the time of a run (the\n"
    "           median of its events), 1 for all names together; if the runs of a program fall into groups, more\n"
    "\n"
    "The exit status is 3 beyond the limit of --limit.\n"
    "\n"
    "Options:\n"
    "  --before TRACE...  the traces before the change: all arguments up to --after\n"
    "  --after TRACE...   the traces after it: all arguments up to --before\n"
    "  --run NAME         the time of a run is the median of the events of this name; the default is model_run,\n"
    "                     or else the time from the first to the last event of a trace\n"
    "  --top N            at most N rows per table, those with the largest total difference; the default is\n"
    "                     20 for text and markdown, 0 (all) for csv and json\n"
    "  --format FORMAT    text, markdown, json or csv (times in ns); csv: only two traces, markdown and json: only sets\n"
    "  --trace-id ID      only events of requests with this W3C trace id; given twice, the first one is for the\n"
    "                     traces before the change and the second one for those after it, which may be the same\n"
    "  --warmup N         ignore the first N events of each op and kernel\n"
    "  --limit PERCENT    exit with status 3 if an entry is slower by more than that, with 95 % confidence for two\n"
    "                     traces, and with the false alarms of the verdict for sets\n"
    "  --quiet            show no progress\n"
    "  --help             print this text\n";

/* The arguments on the command line. */
struct arguments {
	struct diff_set sets[2]; /* [0]: before, [1]: after */
	struct diff_set pair;
	struct diff_set *current;
};

static void add_path(struct diff_set *set, char *path)
{
	set->paths[set->count++] = path;
}

static int misuse_format(enum diff_format format)
{
	return cli_misuse(&cli_diff, format == DIFF_CSV ? "--format csv is for two traces, not for sets"
	                                                : "--format markdown and json are for sets: --before, --after");
}

static int compare(struct arguments *arguments, const struct diff_options *options)
{
	struct diff_set *before = &arguments->sets[0], *after = &arguments->sets[1];
	bool any_set = before->count || after->count, is_single = before->count == 1 && after->count == 1;
	char *pair[2];

	if (any_set && arguments->pair.count)
		return cli_misuse(&cli_diff, "'%s' is in no set: it is in front of --before and --after",
		                  arguments->pair.paths[0]);
	if (any_set && (!before->count || !after->count))
		return cli_misuse(&cli_diff, "%s has no trace", before->count ? "--after" : "--before");
	if (any_set && !is_single)
		return options->format == DIFF_CSV ? misuse_format(DIFF_CSV) : diff_sets(arguments->sets, options);
	if (!any_set && arguments->pair.count != 2)
		return cli_misuse(&cli_diff, "two traces are needed: BEFORE and AFTER");
	if (options->format == DIFF_MARKDOWN || options->format == DIFF_JSON)
		return misuse_format(options->format);
	if (options->run)
		return cli_misuse(&cli_diff, "--run is for sets of traces");
	pair[0] = any_set ? before->paths[0] : arguments->pair.paths[0];
	pair[1] = any_set ? after->paths[0] : arguments->pair.paths[1];
	return diff_pair(pair, options);
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option long_options[] = { { "before", required_argument, NULL, 'b' },
		                                      { "after", required_argument, NULL, 'a' },
		                                      { "run", required_argument, NULL, 'r' },
		                                      { "top", required_argument, NULL, 'n' },
		                                      { "format", required_argument, NULL, 'f' },
		                                      { "warmup", required_argument, NULL, 'w' },
		                                      { "limit", required_argument, NULL, 'l' },
		                                      { "trace-id", required_argument, NULL, 'Q' },
		                                      { 0 } };
	static const char *const formats[] = { "text", "markdown", "json", "csv", NULL };
	/* With "-", getopt_long returns arguments in their order, as an option with the value 1. */
	struct cli_options options = { &cli_diff, argc, argv, "-", long_options, CLI_OK };
	long long top = -1, warmup_count = 0, limit = -1;
	struct diff_options diff = { 0 };
	int option, format = 0, ids_count = 0;

	arguments->current = &arguments->pair;
	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'b' || option == 'a')
			arguments->current = &arguments->sets[option == 'a'];
		if (option == 'b' || option == 'a' || option == 1)
			add_path(arguments->current, optarg);
		if (option == 'r')
			diff.run = optarg;
		if (option == 'Q' && ids_count == 2)
			return cli_misuse(&cli_diff, "--trace-id is given at most twice");
		if (option == 'Q')
			diff.trace_ids[ids_count++] = optarg;
		if (option == 'f' && (format = cli_choice(&cli_diff, "--format", formats)) < 0)
			return CLI_USAGE;
		if (option == 'n' && !cli_number(&cli_diff, "--top", 0, INT64_MAX, &top))
			return CLI_USAGE;
		if (option == 'w' && !cli_number(&cli_diff, "--warmup", 0, INT64_MAX, &warmup_count))
			return CLI_USAGE;
		if (option == 'l' && !cli_number(&cli_diff, "--limit", 0, 1000000, &limit))
			return CLI_USAGE;
	}
	while (optind < argc)
		add_path(arguments->current, argv[optind++]);
	if (ids_count == 1)
		diff.trace_ids[1] = diff.trace_ids[0];
	diff.format = (enum diff_format)format;
	diff.top = top > 0 ? (size_t)top : top < 0 && format <= DIFF_MARKDOWN ? 20 : SIZE_MAX;
	diff.has_limit = limit >= 0;
	diff.limit = (double)limit / 100;
	diff.warmup_count = (uint64_t)warmup_count;
	return compare(arguments, &diff);
}

static int run(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct diff_set *all[] = { &arguments.sets[0], &arguments.sets[1], &arguments.pair };
	bool is_complete = true;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		all[i]->paths = calloc((size_t)argc, sizeof *all[i]->paths);
		is_complete = is_complete && all[i]->paths;
	}
	int code = is_complete ? parse(argc, argv, &arguments) : cli_failure(epp_status_no_memory());
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]->paths);
	return code;
}

const struct cli_command cli_diff = { .name = "diff",
	                              .summary = "compares traces, or sets of them: what became slower or faster",
	                              .help = help,
	                              .run = run };
