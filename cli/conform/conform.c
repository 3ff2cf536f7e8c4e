/* epprof conform: tests whether a profiler plugin keeps the contract of its ABI. */
#include <errno.h>
#include <regex.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "conform.h"

#define LIMIT_NS 45000000000

static const char help[] =
    "usage: epprof conform [OPTION]... LIBRARY\n"
    "\n"
    "Tests whether a profiler plugin, of any kind that 'epprof probe' finds, keeps the contract of its ABI.  Each\n"
    "case runs in a process of its own: a crash and a hang are verdicts.\n"
    "\n"
    "  pass     the plugin does what its contract requires\n"
    "  fail     it does something else\n"
    "  crash    the process of the case was killed, or ended by itself\n"
    "  hang     the case was not over at the limit\n"
    "  skip     the case could not be checked; the reason is printed\n"
    "  warning  the plugin keeps the contract, but costs its host too much\n"
    "\n"
    "Levels: 1 loads and negotiates versions, 2 life cycle, 3 threads and ids, 4 clocks and units, 5 stress.\n"
    "\n"
    "The exit status is 1 if a case fails, crashes or hangs and is not waived.  docs/conform.md describes how to\n"
    "read a verdict.\n"
    "\n"
    "Options:\n"
    "  --work SYMBOL    call int SYMBOL(int count) of the library to give its device work; without it, cases\n"
    "                   that need events are skipped\n"
    "  --device TYPE[:vendor=0x8086][:id=N]\n"
    "                   the device that execution providers are offered, as in 'epprof probe'\n"
    "  --model MODEL.onnx\n"
    "                   run the model in ONNX Runtime for the cases with the subject 'model', which are skipped\n"
    "                   without it\n"
    "  --ort LIBRARY    ONNX Runtime's library; the default is as for 'epprof run'\n"
    "  --level N        run the cases of levels 1 to N; the default is 4\n"
    "  --case REGEX     run only the cases whose names match the extended regular expression, of any level\n"
    "  --exclude REGEX  leave out the cases whose names match\n"
    "  --only-failed    run only the cases that did not pass in FILE (of -o), which is left unchanged\n"
    "  --list           print the cases and what each expects, and run none\n"
    "  --format FORMAT  text, tap, junit or json\n"
    "  -o, --output FILE\n"
    "                   write the results as JSON, with the library's SHA-256; the default is conform.json.  An\n"
    "                   existing file is replaced\n"
    "  --waive FILE     known failures: each line has the name of a case and the reason; they are reported, but do\n"
    "                   not change the exit status\n"
    "  --limit TIME     the limit of a case; the default is 45s\n"
    "  --quick          fewer repetitions: a thousand events instead of a million, 20 restarts instead of 1,000\n"
    "  --seed N         the seed of random calls; the default is 1\n"
    "  --trace FILE     write the calls of the one case that --case selects as a trace: a host event for each call\n"
    "                   of an OrtEpProfilerImpl's entry, and for each call that a case of TensorFlow's, PU1's or\n"
    "                   PJRT's ABI makes itself, with its status.  An existing file is replaced; after a crash,\n"
    "                   'epprof recover' finishes it\n"
    "  --fuzz TIME      make random calls for that time, and run no other case: each seed, from --seed on, has a\n"
    "                   process of its own; a seed that crashes, hangs or fails is printed\n"
    "  --reproduce SEED\n"
    "                   make the random calls of that seed\n"
    "  --in-process     run the one case that --case selects in this process, for a debugger\n"
    "  --help           print this text\n";

struct options {
	struct conform conform;
	regex_t wanted, excluded;
	const char *wanted_text, *excluded_text; /* NULL: not given */
	const char *output, *waivers_path;
	long long level;
	int format;
	int64_t fuzz_ns; /* 0: not given */
	bool lists, only_failed, is_in_process, reproduces;
	bool lacks_memory; /* matching a name failed for lack of memory, so the selection of cases is incomplete */
};

/* ---- options ---- */

static bool compile(const char *option, regex_t *regex)
{
	char reason[128];
	int error = regcomp(regex, optarg, REG_EXTENDED | REG_NOSUB);

	if (error == REG_ESPACE) {
		cli_no_memory();
	} else if (error) {
		regerror(error, regex, reason, sizeof(reason));
		cli_misuse(&cli_conform, "%s '%s': %s", option, optarg, reason);
	}
	return !error;
}

/* Returns false after an error was reported. */
static bool take_option(struct options *options, int option)
{
	const char *names[CONFORM_FORMATS_COUNT + 1] = { NULL };
	long long number;
	int64_t limit_ns;

	switch (option) {
	case 'w':
		options->conform.work_name = optarg;
		return true;
	case 'm':
		options->conform.model = optarg;
		return true;
	case 'O':
		options->conform.ort_library = optarg;
		return true;
	case 'd':
		return cli_offer_device(&cli_conform);
	case 'l':
		return cli_number(&cli_conform, "--level", 1, 5, &options->level);
	case 'c':
		options->wanted_text = optarg;
		return compile("--case", &options->wanted);
	case 'x':
		options->excluded_text = optarg;
		return compile("--exclude", &options->excluded);
	case 'F':
		options->only_failed = true;
		return true;
	case 'L':
		options->lists = true;
		return true;
	case 'f':
		for (int i = 0; i < CONFORM_FORMATS_COUNT; i++)
			names[i] = conform_formats[i].name;
		options->format = cli_choice(&cli_conform, "--format", names);
		return options->format >= 0;
	case 'o':
		options->output = optarg;
		return true;
	case 'W':
		options->waivers_path = optarg;
		return true;
	case 't':
		if (!cli_time(&cli_conform, "--limit", &limit_ns))
			return false;
		options->conform.limit_ns = (uint64_t)limit_ns;
		return true;
	case 'q':
		options->conform.is_quick = true;
		return true;
	case 'z':
		return cli_time(&cli_conform, "--fuzz", &options->fuzz_ns);
	case 'r':
		options->reproduces = options->conform.is_quick = true;
		if (!cli_number(&cli_conform, "--reproduce", 0, INT64_MAX, &number))
			return false;
		options->conform.seed = (uint64_t)number;
		return true;
	case 's':
		if (!cli_number(&cli_conform, "--seed", 0, INT64_MAX, &number))
			return false;
		options->conform.seed = (uint64_t)number;
		return true;
	case 'T':
		options->conform.trace_path = optarg;
		return true;
	default:
		options->is_in_process = true;
		return true;
	}
}

static bool matches(struct options *options, const regex_t *regex, const char *name)
{
	/* If glibc's regexec has no memory, it returns REG_NOMATCH and sets errno. */
	errno = 0;
	bool is_match = regexec(regex, name, 0, NULL, 0) == 0;
	options->lacks_memory |= !is_match && errno == ENOMEM;
	return is_match;
}

static bool is_wanted(struct options *options, const struct conform_names *failed, const struct conform_case *about)
{
	if (options->excluded_text && matches(options, &options->excluded, about->name))
		return false;
	if (options->only_failed && !conform_names_find(failed, about->name))
		return false;
	if (options->reproduces && !conform_is_random(about))
		return false;
	if (options->wanted_text)
		return matches(options, &options->wanted, about->name);
	return options->only_failed || options->reproduces || about->name[0] - '0' <= options->level;
}

/* ---- the run ---- */

/* Sets `hash` to the SHA-256 of a file in hexadecimal digits, or to "" if the file cannot be read. */
static void hash_file(const char *path, char hash[SHA256_DIGEST_STRING_LENGTH])
{
	if (!SHA256File(path, hash))
		hash[0] = '\0';
}

static int write_results(const char *path, const struct conform_report *report)
{
	const struct conform_format *json = &conform_formats[CONFORM_JSON];
	struct cli_output output;
	epp_status *status = cli_output_open(&output, path);

	if (!status) {
		json->print_begin(output.file, report);
		for (size_t i = 0; i < report->results_count; i++)
			json->print_result(output.file, report, i);
		json->print_end(output.file, report);
		status = cli_output_close(&output);
	}
	return status ? cli_failure(status) : CLI_OK;
}

static void print_list(const struct conform_case *const *cases, size_t cases_count)
{
	for (size_t i = 0; i < cases_count; i++) {
		printf("%-26s", cases[i]->name);
		for (unsigned kind = 0; conform_kinds[kind]; kind++)
			printf(" %-4s", cases[i]->kinds & 1u << kind ? conform_kinds[kind] : "");
		printf("  %s\n", cases[i]->expected);
	}
}

static int run_cases(struct options *options, const struct conform_case *const *cases, size_t cases_count,
                     const struct conform_names *waivers)
{
	const struct conform_format *format = &conform_formats[options->format];
	char hash[SHA256_DIGEST_STRING_LENGTH];
	struct conform_result *results = calloc(cases_count, sizeof(*results));
	struct conform_report report = { options->conform.library, hash, results, cases_count, options->conform.seed };
	int code = CLI_OK;

	if (!results)
		return cli_failure(epp_status_no_memory());
	hash_file(options->conform.library, hash);
	format->print_begin(stdout, &report);
	for (size_t i = 0; i < cases_count; i++) {
		options->conform.about = cases[i];
		conform_run_case(&options->conform, &results[i]);
		if (cli_signal) {
			free(results);
			return cli_failure(epp_status_create(EPP_CANCELLED, "interrupted"));
		}
		const struct conform_name *waiver = conform_names_find(waivers, cases[i]->name);
		results[i].waiver = waiver ? waiver->text : NULL;
		if (conform_is_failure(&results[i]) && !waiver)
			code = CLI_FAILURE;
		format->print_result(stdout, &report, i);
		cli_flush();
	}
	format->print_end(stdout, &report);
	if (!options->only_failed && !options->reproduces && write_results(options->output, &report) != CLI_OK)
		code = CLI_FAILURE;
	free(results);
	return code;
}

static int select_and_run(struct options *options)
{
	const struct conform_case **cases = calloc(conform_cases_count, sizeof(*cases));
	struct conform_names failed = { 0 }, waivers = { 0 };
	size_t cases_count = 0;
	int code = CLI_FAILURE;

	if (!cases)
		return cli_failure(epp_status_no_memory());
	if (options->only_failed && !conform_failed_read(options->output, &failed))
		goto out;
	if (options->waivers_path && !conform_waivers_read(options->waivers_path, &waivers))
		goto out;
	for (size_t i = 0; i < conform_cases_count; i++) {
		if (is_wanted(options, &failed, &conform_cases[i]))
			cases[cases_count++] = &conform_cases[i];
	}
	if (options->lacks_memory) {
		code = cli_failure(epp_status_no_memory());
	} else if (options->lists) {
		print_list(cases, cases_count);
		code = CLI_OK;
	} else if (options->is_in_process && cases_count == 1) {
		options->conform.about = cases[0];
		conform_run_here(&options->conform);
	} else if (options->is_in_process) {
		code = cli_misuse(&cli_conform, "--in-process runs one case, but %zu are selected", cases_count);
	} else if (options->conform.trace_path && cases_count != 1) {
		code = cli_misuse(&cli_conform, "--trace has the calls of one case, but %zu are selected", cases_count);
	} else if (cases_count == 0 && options->only_failed) {
		fprintf(stderr, "epprof: %s: every case passed\n", options->output);
		code = CLI_OK;
	} else if (cases_count == 0) {
		code = cli_misuse(&cli_conform, "no case is selected; --list prints all");
	} else {
		code = run_cases(options, cases, cases_count, &waivers);
	}
out:
	conform_names_free(&failed);
	conform_names_free(&waivers);
	free(cases);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "work", required_argument, NULL, 'w' },    { "device", required_argument, NULL, 'd' },
		{ "model", required_argument, NULL, 'm' },   { "ort", required_argument, NULL, 'O' },
		{ "level", required_argument, NULL, 'l' },   { "case", required_argument, NULL, 'c' },
		{ "exclude", required_argument, NULL, 'x' }, { "only-failed", no_argument, NULL, 'F' },
		{ "list", no_argument, NULL, 'L' },          { "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },  { "waive", required_argument, NULL, 'W' },
		{ "limit", required_argument, NULL, 't' },   { "quick", no_argument, NULL, 'q' },
		{ "fuzz", required_argument, NULL, 'z' },    { "reproduce", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },    { "trace", required_argument, NULL, 'T' },
		{ "in-process", no_argument, NULL, 'i' },    { 0 }
	};
	struct cli_options command_line = { &cli_conform, argc, argv, "o:", long_options, CLI_OK };
	struct options options = { .conform = { .seed = 1, .limit_ns = LIMIT_NS, .result_fd = -1 },
		                   .output = "conform.json",
		                   .level = 4 };
	char *library = NULL;
	int option, code = CLI_USAGE;

	while ((option = cli_options_next(&command_line)) != CLI_END) {
		if (option == CLI_STOP) {
			code = command_line.exit;
			goto out;
		}
		if (!take_option(&options, option))
			goto out;
	}
	if (options.lists && optind == argc) {
		code = select_and_run(&options);
		goto out;
	}
	const char *named = cli_options_one(&command_line, "library");
	library = named ? cli_library_path(named) : NULL;
	options.conform.library = library;
	if (!named) {
		code = command_line.exit;
	} else if (!library) {
		code = CLI_FAILURE;
	} else if (access(options.conform.library, R_OK) != 0) {
		code = cli_failure(epp_status_errno(errno, "%s", options.conform.library));
	} else {
		if (!options.is_in_process)
			cli_warn_of_writers(library);
		cli_catch_signals();
		code = options.fuzz_ns ? conform_fuzz(options.conform, (uint64_t)options.fuzz_ns)
		                       : select_and_run(&options);
	}
out:
	free(library);
	if (options.wanted_text)
		regfree(&options.wanted);
	if (options.excluded_text)
		regfree(&options.excluded);
	return code;
}

const struct cli_command cli_conform = {
	.name = "conform", .summary = "tests whether a profiler plugin keeps its contract", .help = help, .run = run
};
