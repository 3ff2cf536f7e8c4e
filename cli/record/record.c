/* epprof record: runs a program, records it, and prints a summary. */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "record_estimate.h"

#define RANK_DIGITS_MAX 9
#define STEPS_MAX 1000000000
#define YEAR_NS (INT64_C(365) * 24 * 3600 * 1000000000)

static const char help[] =
    "usage: epprof record [OPTION]... [--] PROGRAM [ARG]...\n"
    "\n"
    "Runs a program unchanged, records it, and prints a summary of the trace on standard error.  Programs that\n"
    "use libepprof or ONNX Runtime, and in Python those with TensorFlow, JAX or PyTorch, are recorded with all their\n"
    "processes: each writes a trace, and these are merged at the end.  Ctrl-C stops the program; the trace is\n"
    "finished all the same.\n"
    "\n"
    "The exit status is that of the program: 128 + n after signal n, 127 if it is not found, 126 if it cannot be\n"
    "started.  If the program succeeds and there is an error with its trace, the status is 1.\n"
    "\n"
    "In FILE, %pid% is replaced by the process id of this command, %hostname% by the name of the machine, and\n"
    "%rank% by the rank that MPI (PMI, PMIx, Open MPI), torchrun or SLURM set for this command.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE    the trace; the default is PROGRAM.%pid%.epp in the current folder\n"
    "  --max-bytes N        the newest N bytes of each process are kept: 64M, 10G (at least 4M)\n"
    "  --policy POLICY      what each process keeps: stream (all), ring:64M (the newest), stop:64M (the oldest)\n"
    "  --profilers LIST     plugins of accelerators, separated by colons; the same as EPPROF_PROFILERS\n"
    "  --no-follow          only the program itself is recorded, not the processes that it starts\n"
    "  --ranks-to-sample LIST\n"
    "                       only processes with these ranks are recorded: 0,7\n"
    "  --delay TIME         the recording begins after this time: 2s, 500ms, 1min\n"
    "  --duration TIME      the recording ends after this time; the program runs on\n"
    "  --start-paused       the recording begins when 'epprof ctl resume' is run for the process\n"
    "  --include PATTERN    only events whose names match this shell pattern are recorded; may be given several times\n"
    "  --exclude PATTERN    events whose names match are not recorded, but counted; may be given several times\n"
    "  --active N           only N steps of the program are recorded, then the same again after the warm-up\n"
    "  --skip N             before the first warm-up, N steps are left out\n"
    "  --warmup N           before the steps that are recorded, N steps are left out, each time\n"
    "  --repeat N           after N times nothing more is recorded; by default it goes on until the end\n"
    "  --step NAME          what is a step: an event with this name; the default is model_run\n"
    "  --max-overhead 1%    recording takes at most 1 % of the CPU time of each thread: where all would take more, args\n"
    "                       are left out, then, with device events, host events inside runs, then all but one run\n"
    "                       in N; with --step, runs are events with this name\n"
    "  --snapshot-when RULE 'model_run > 50ms': when an event of this name, or shell pattern, on a thread has lasted\n"
    "                       longer, write what its process has recorded, or its ring holds, into FILE.snapshot-1.epp\n"
    "                       (-2, ...); may be given several times\n"
    "  --every TIME         the least time between two such snapshots; the default is 10s\n"
    "  --snapshot-on-signal SIGUSR2 to this command writes a snapshot of each process\n"
    "  --report             write a report beside the trace, FILE.html\n"
    "  --force              replace FILE if it exists\n"
    "  --quiet              print errors only: no summary, no progress, no estimate of the size\n"
    "  --help               print this text\n";

/* ---- after the program has ended ---- */

/* Runs another command of epprof.  `argv` ends with NULL. */
static int run_command(const struct cli_command *command, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	optind = 0;
	return command->run(argc, argv);
}

static int print_results(const struct record_options *options, char *output)
{
	char force[] = "--force", *summary[] = { (char *)cli_summary.name, output, NULL };
	char *report[] = { (char *)cli_report.name, force, output, NULL };
	int code = CLI_OK;

	/* The results are printed on standard error, because standard output belongs to the program. */
	fflush(stdout);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return cli_failure(epp_status_errno(errno, "standard output"));
	if (!cli_quiet)
		code = run_command(&cli_summary, summary);
	if (code == CLI_OK && options->report)
		code = run_command(&cli_report, report);
	return code;
}

/* Returns true if the trace has a run.  A recording that was never resumed has none. */
static bool has_run(const char *output, size_t traces_count)
{
	epp_trace *trace = NULL;
	epp_status *status = traces_count ? epp_trace_open(output, &trace) : NULL;
	bool has = trace && epp_trace_get_info(trace)->runs_count > 0;

	epp_trace_close(trace);
	/* An error is ignored here, because the summary reports it. */
	epp_status_destroy(status);
	return has;
}

static int finish(const struct record_options *options, const char *folder, char *output)
{
	size_t count;

	cli_catch_signals();
	record_print_notes(folder);
	int code = record_join_traces(folder, output, options->force, &count);
	bool is_empty = code == CLI_OK && !has_run(output, count);
	bool is_early = (options->from_ns && record_now_ns() < options->from_ns) || (options->start_paused && is_empty);
	if (is_early && !cli_quiet)
		fprintf(stderr, "epprof: %s ended before the recording began\n", options->program[0]);
	if (count && is_empty && !is_early) {
		fprintf(stderr, "epprof: %s: the recording could not begin\n", options->program[0]);
		code = CLI_FAILURE;
	}
	if (count) {
		int printed = print_results(options, output);
		return code ? code : printed;
	}
	if (code == CLI_OK && !cli_quiet && !is_early)
		fprintf(stderr,
		        "epprof: no trace: %s used none of these%s: libepprof; ONNX Runtime; "
		        "in Python TensorFlow, JAX, PyTorch\n",
		        options->program[0], options->duration_ns ? " in the time range" : "");
	return code;
}

static int record(struct record_options *options, char *output)
{
	char *folder = NULL;

	if (!options->force && access(output, F_OK) == 0) {
		fprintf(stderr, "epprof: %s: %s; --force replaces it\n", output, strerror(EEXIST));
		return CLI_FAILURE;
	}
	epp_status *status = record_make_folder(output, &folder);
	if (!status)
		status = record_set_environment(options, folder);
	struct record_watch *watch = options->watch.triggers_count || options->watch.on_signal ? &options->watch : NULL;
	if (watch)
		record_watch_begin(watch, folder, output);
	struct record_estimate *estimate = status || cli_quiet ? NULL
	                                                       : record_estimate_create(folder, options->ring_bytes);
	int code = status ? cli_failure(status)
	                  : record_run_program(options->program, options->no_follow, watch, estimate);
	record_estimate_destroy(estimate);
	if (watch)
		record_watch_finish(watch);
	if (folder && !status) {
		int finish_code = finish(options, folder, output);
		if (watch && watch->any_failed && !finish_code)
			finish_code = CLI_FAILURE;
		code = code ? code : finish_code;
	} else if (folder) {
		rmdir(folder);
	}
	free(folder);
	return code;
}

/* ---- the command line ---- */

static bool is_ring_size(const char *option, uint64_t bytes)
{
	if (bytes < UINT64_C(4) << 20)
		cli_misuse(&cli_record, "%s: a ring has at least 4M", option);
	return bytes >= UINT64_C(4) << 20;
}

static bool is_policy(const char *policy)
{
	bool is_ring = strncmp(policy, "ring:", 5) == 0;
	uint64_t bytes;

	if (strcmp(policy, "stream") == 0)
		return true;
	if (!is_ring && strncmp(policy, "stop:", 5) != 0) {
		cli_misuse(&cli_record, "--policy '%s': must be stream, ring:64M or stop:64M", policy);
		return false;
	}
	optarg = (char *)policy + 5;
	if (!cli_size(&cli_record, "--policy", &bytes))
		return false;
	if (!is_ring && bytes < UINT64_C(1) << 20)
		cli_misuse(&cli_record, "--policy '%s': at least 1M", policy);
	return is_ring ? is_ring_size("--policy", bytes) : bytes >= UINT64_C(1) << 20;
}

/* Returns true if the text is a list of ranks: numbers with commas between them.  Otherwise an error was reported. */
static bool is_ranks(const char *list)
{
	size_t digits;
	const char *at = list;

	while ((digits = strspn(at, "0123456789")) && digits <= RANK_DIGITS_MAX && at[digits] == ',')
		at += digits + 1;
	if (digits && digits <= RANK_DIGITS_MAX && !at[digits])
		return true;
	cli_misuse(&cli_record, "--ranks-to-sample '%s': must be numbers with commas between them: 0,7", list);
	return false;
}

/* Returns false if this command has a rank that is not in the list.  `list` NULL: all ranks are in it. */
static bool has_rank_of(const char *list)
{
	const char *rank = record_find_rank();
	char *end;

	if (!list || !rank)
		return true;
	for (; *list; list = end + (*end == ',')) {
		if (strtol(list, &end, 10) == strtol(rank, NULL, 10))
			return true;
	}
	return false;
}

/* Adds optarg to the list of patterns in an environment variable.  The first pattern on the command line replaces the
 * value that the user's environment had. */
static bool add_pattern(const char *variable, bool *is_next)
{
	const char *before = *is_next ? secure_getenv(variable) : NULL;
	char *patterns = NULL;
	bool is_set = asprintf(&patterns, "%s%s%s", before ? before : "", before ? ";" : "", optarg) >= 0 &&
	              setenv(variable, patterns, 1) == 0;

	free(patterns);
	*is_next = true;
	if (!is_set)
		cli_failure(epp_status_no_memory());
	return is_set;
}

/* Returns true if the text is a percentage above 0% and at most 50%, such as "1%".  Otherwise an error was reported. */
static bool is_share(const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end != text && strcmp(end, "%") == 0 && percent > 0 && percent <= 50)
		return true;
	cli_misuse(&cli_record, "--max-overhead '%s': must be of the form 1%%, above 0%% and at most 50%%", text);
	return false;
}

/* Parses optarg as a number of steps, at least `low`.  Returns false if an error was reported. */
static bool is_steps(const char *option, int64_t low, int64_t *steps)
{
	const char *problem;

	*steps = strtonum(optarg, low, STEPS_MAX, &problem);
	if (problem)
		cli_misuse(&cli_record, "%s '%s': %s", option, optarg, problem);
	return !problem;
}

/* Returns false if `epprof ctl resume` could not start the recording, because EPPROF_CONTROL turns control off; an
 * error was reported. */
static bool can_be_resumed(void)
{
	const char *control = secure_getenv("EPPROF_CONTROL");

	if (!control || control[0] == '/' || strcmp(control, "1") == 0)
		return true;
	cli_misuse(&cli_record, "--start-paused: EPPROF_CONTROL=%s turns 'epprof ctl' off", control);
	return false;
}

/* Parses optarg as a time from `low_ns` to a year.  Returns false if an error was reported. */
static bool is_time(const char *option, int64_t low_ns, int64_t *ns)
{
	if (!cli_time(&cli_record, option, ns))
		return false;
	if (*ns >= low_ns && *ns <= YEAR_NS)
		return true;
	cli_misuse(&cli_record, "%s '%s': must be %s 0 and at most a year", option, optarg,
	           low_ns ? "more than" : "at least");
	return false;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "max-bytes", required_argument, NULL, 'm' },
		{ "policy", required_argument, NULL, 'p' },
		{ "profilers", required_argument, NULL, 'P' },
		{ "no-follow", no_argument, NULL, 'n' },
		{ "ranks-to-sample", required_argument, NULL, 'R' },
		{ "delay", required_argument, NULL, 'd' },
		{ "duration", required_argument, NULL, 'D' },
		{ "start-paused", no_argument, NULL, 'b' },
		{ "include", required_argument, NULL, 'i' },
		{ "exclude", required_argument, NULL, 'x' },
		{ "skip", required_argument, NULL, 'k' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "active", required_argument, NULL, 'a' },
		{ "repeat", required_argument, NULL, 't' },
		{ "step", required_argument, NULL, 'N' },
		{ "max-overhead", required_argument, NULL, 'O' },
		{ "snapshot-when", required_argument, NULL, 's' },
		{ "every", required_argument, NULL, 'e' },
		{ "snapshot-on-signal", no_argument, NULL, 'S' },
		{ "report", no_argument, NULL, 'r' },
		{ "force", no_argument, NULL, '!' },
		{ 0 },
	};
	struct cli_options options = { &cli_record, argc, argv, "+o:", long_options, CLI_OK };
	struct record_options record_options = { 0 };
	struct record_watch *watch = &record_options.watch;
	char by_default[NAME_MAX + 16], ring[32], *output;
	uint64_t ring_bytes;
	bool has_include = false, has_exclude = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			record_options.output = optarg;
		if (option == 'P')
			record_options.profilers = optarg;
		record_options.no_follow |= option == 'n';
		if (option == 'R') {
			record_options.ranks = optarg;
			if (!is_ranks(optarg))
				return CLI_USAGE;
		}
		if ((option == 'd' && !is_time("--delay", 0, &record_options.delay_ns)) ||
		    (option == 'D' && !is_time("--duration", 1, &record_options.duration_ns)))
			return CLI_USAGE;
		record_options.start_paused |= option == 'b';
		if ((option == 'i' && !add_pattern("EPPROF_INCLUDE", &has_include)) ||
		    (option == 'x' && !add_pattern("EPPROF_EXCLUDE", &has_exclude)))
			return CLI_FAILURE;
		struct record_schedule *schedule = &record_options.schedule;
		if ((option == 'k' && !is_steps("--skip", 0, &schedule->skip)) ||
		    (option == 'w' && !is_steps("--warmup", 0, &schedule->warmup)) ||
		    (option == 'a' && !is_steps("--active", 1, &schedule->active)) ||
		    (option == 't' && !is_steps("--repeat", 0, &schedule->repeat)))
			return CLI_USAGE;
		schedule->is_given |= option && strchr("kwat", option);
		if (option == 'O') {
			record_options.max_overhead = optarg;
			if (!is_share(optarg))
				return CLI_USAGE;
		}
		if (option == 'N')
			schedule->step = optarg;
		if ((option == 's' && !record_watch_add(watch, optarg)) ||
		    (option == 'e' && !is_time("--every", 1, &watch->every_ns)))
			return CLI_USAGE;
		watch->on_signal |= option == 'S';
		if (option == 'm') {
			if (!cli_size(&cli_record, "--max-bytes", &ring_bytes) || !is_ring_size("--max-bytes", ring_bytes))
				return CLI_USAGE;
			snprintf(ring, sizeof ring, "ring:%llu", (unsigned long long)ring_bytes);
			record_options.policy = ring;
			record_options.ring_bytes = ring_bytes;
		}
		if (option == 'p') {
			record_options.policy = optarg;
			record_options.ring_bytes = 0;
			if (!is_policy(optarg))
				return CLI_USAGE;
		}
		record_options.report |= option == 'r';
		record_options.force |= option == '!';
	}
	if (optind == argc)
		return cli_misuse(&cli_record, "which program?");
	if (record_options.start_paused && record_options.delay_ns)
		return cli_misuse(&cli_record, "--start-paused and --delay exclude each other");
	if (record_options.start_paused && !can_be_resumed())
		return CLI_USAGE;
	if (record_options.schedule.is_given && record_options.max_overhead)
		return cli_misuse(&cli_record, "--active and --max-overhead exclude each other");
	record_options.schedule.is_given |= record_options.schedule.step && !record_options.max_overhead;
	if (record_options.schedule.is_given && !record_options.schedule.active)
		return cli_misuse(&cli_record, "--skip, --warmup, --repeat and --step need --active");
	if (watch->every_ns && !watch->triggers_count)
		return cli_misuse(&cli_record, "--every needs --snapshot-when");
	watch->every_ns = watch->every_ns ? watch->every_ns : RECORD_EVERY_NS;
	record_options.program = argv + optind;
	if (!record_options.output) {
		snprintf(by_default, sizeof by_default, "%s.%%pid%%.epp", basename(argv[optind]));
		record_options.output = by_default;
	}
	if (!cli_takes_trace(&cli_record, record_options.output))
		return CLI_USAGE;
	if (!has_rank_of(record_options.ranks))
		return record_run_program(record_options.program, false, NULL, NULL);
	int code = record_check(&record_options);
	if (code != CLI_OK)
		return code;
	epp_status *status = record_expand_name(record_options.output, &output);
	if (status)
		return cli_failure(status);
	code = record(&record_options, output);
	free(output);
	return code;
}

const struct cli_command cli_record = {
	.name = "record", .summary = "runs a program, records it and prints a summary", .help = help, .run = run
};
