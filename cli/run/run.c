/* epprof run: runs a model in ONNX Runtime, records it, and prints where the time went.
 *
 * The command creates the recording session and keeps it open.  The collector, an EP library that computes nothing,
 * joins this session from ONNX Runtime whenever a run is profiled. */
#include <bsd/string.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/epprof.h"
#include "run.h"

static const char help[] =
    "usage: epprof run [OPTION]... MODEL.onnx\n"
    "\n"
    "Runs a model in ONNX Runtime (1.25 or later), on execution providers from libraries and on the CPU, records a\n"
    "trace, and prints a summary: latencies, time by op and by kernel, host and device.  Ctrl-C ends the run and keeps\n"
    "the trace.  A run that records more than --max-bytes keeps the newest events; the others are counted.\n"
    "\n"
    "The events of providers are read from ONNX Runtime's profile.  Providers with epprof's kit, and those whose\n"
    "libraries EPPROF_PROFILERS lists, submit their events to the recording, with more accurate times.  A library is\n"
    "registered under its file name without 'lib' and '.so', and with a number if that name is in use.\n"
    "\n"
    "Inputs are random but the same in each run: floats from 0 to 1, integers 0 or 1, empty texts.  Free dimensions of a\n"
    "shape are 1 unless --shape sets them.  If the model fails with that, other sizes are tried, and the --shape with\n"
    "which it runs is printed.\n"
    "\n"
    "Options:\n"
    "  --ep LIBRARY[:NAME]     library of an execution provider, and which of its providers; several in order of preference\n"
    "  --input [NAME=]FILE     an input from a .npy file (numbers, booleans or texts), or 'random'; repeat for each input\n"
    "  --shape NAME=8,64       the shape of an input\n"
    "  --runs N                number of measured runs; the default is 10\n"
    "  --warmup N              number of runs before these; the default is 1\n"
    "  --threads N             number of threads that run the model at once; the default is 1\n"
    "  --parallel              let ONNX Runtime run independent nodes in parallel\n"
    "  --run-level             profile each run separately, not the session as a whole\n"
    "  --ort LIBRARY           ONNX Runtime's library.  The default is the first of: EPPROF_ORT, the library that the loader\n"
    "                          finds, the Python package onnxruntime, the one that 'make run HOST=onnxruntime' fetched\n"
    "  -o, --output FILE.epp   the trace; the default is MODEL.epp in the current folder\n"
    "  --max-bytes N           maximum size of the trace: 64M, 10G (at least 4M), or 0 for no limit; the default is 2G\n"
    "  --lossless              threads that record faster than epprof's helper thread writes also write, so that events are\n"
    "                          lost only if --max-bytes or the disk leaves no room; the runs may take longer\n"
    "  --force                 replace the trace if it exists\n"
    "  --help                  print this text\n";

#define RING_BYTES_MIN (UINT64_C(4) << 20)
#define RING_BYTES (UINT64_C(2) << 30)

/* The objects of one `epprof run`.  An object that was not created yet is zero. */
struct job {
	const struct run_options *options;
	struct ort ort;
	struct run_eps eps;
	struct run_inputs inputs;
	struct run_results results;
	OrtSessionOptions *session_options;
	OrtSession *session;
	epp_session *recording;
	unsigned kernels;           /* bits of enum run_kernels */
	bool suggests_shapes;       /* no run has succeeded, so other shapes are tried and suggested */
	struct run_folder profiles; /* the folder of ONNX Runtime's own profiles */
};

/* ---- one session of ONNX Runtime ---- */

static epp_status *set_options(struct job *job)
{
	const struct ort *ort = &job->ort;
	char prefix[sizeof job->profiles.path + 16];
	void *path;

	epp_status *status = ort_check(ort, ort->api->CreateSessionOptions(&job->session_options));
	if (!status)
		status = ort_check(ort, ort->api->AddSessionConfigEntry(job->session_options,
		                                                        "session.record_ep_graph_assignment_info", "1"));
	if (!status && job->options->parallel)
		status = ort_check(ort, ort->api->SetSessionExecutionMode(job->session_options, ORT_PARALLEL));
	if (status || job->options->run_level)
		return status;
	snprintf(prefix, sizeof prefix, "%s/session", job->profiles.path);
	if (!(path = ort_path(prefix)))
		return epp_status_no_memory();
	status = ort_check(ort, ort->api->EnableProfiling(job->session_options, path));
	free(path);
	return status;
}

static epp_status *load_model(struct job *job)
{
	const struct ort *ort = &job->ort;
	void *path = ort_path(job->options->model);

	if (!path)
		return epp_status_no_memory();
	epp_status *status = ort_check(ort, ort->api->CreateSession(ort->env, path, job->session_options, &job->session));
	free(path);
	if (!status)
		status = run_eps_count_nodes(&job->eps, ort, job->session);
	if (!status)
		status = run_inputs_create(&job->inputs, ort, job->session, job->options);
	return epp_status_prefix(status, "%s", job->options->model);
}

/* Ends profiling, adds the providers' events to the recording, and closes their ledger entries.  After this, the trace
 * has all events. */
static epp_status *end_profiling(struct job *job)
{
	const struct ort *ort = &job->ort;
	OrtAllocator *allocator;
	char *file = NULL;

	if (!job->options->run_level) {
		epp_status *status = ort_check(ort, ort->api->GetAllocatorWithDefaultOptions(&allocator));
		if (!status)
			status = ort_check(ort, ort->api->SessionEndProfiling(job->session, allocator, &file));
		free(ort_text(ort, file));
		if (status)
			return status;
	}
	epp_status *status = run_failures_find_recorded(&job->ort, job->recording);
	if (!status)
		status = run_kernels_append(&job->eps, job->recording, job->profiles.path, job->options->max_bytes,
		                            &job->kernels);
	run_eps_close_accounts(&job->eps);
	if (!status)
		status = run_failures_count(job->recording, &job->ort);
	return status;
}

static void print_limit(const struct run_options *options)
{
	char number[CLI_NUMBER_BYTES];

	if (options->max_bytes)
		fprintf(stderr, "epprof: the trace keeps the newest %s (--max-bytes sets the limit, 0 is none)\n",
		        cli_bytes(options->max_bytes, number));
}

static epp_status *record(struct job *job)
{
	const struct run_options *options = job->options;
	const epp_session_options recording = { .struct_size = sizeof recording,
		                                .path = options->output,
		                                .label = options->model,
		                                .policy = options->max_bytes ? EPP_POLICY_RING : EPP_POLICY_STREAM,
		                                .max_bytes = options->max_bytes,
		                                .overwrite = options->force,
		                                .lossless = options->lossless };

	/* The options of this command replace these variables, so they are removed. */
	unsetenv("EPPROF_POLICY");
	unsetenv("EPPROF_LOSSLESS");
	/* The collector reads EPPROF_OUTPUT.  It joins the session that is created below, because that has the same
	 * path. */
	if (setenv("EPPROF_OUTPUT", options->output, 1) != 0)
		return epp_status_no_memory();
	epp_status *status = ort_open(&job->ort, options->library);
	/* Without a '/', the dynamic linker has found the library in its search path, and there is no path to check. */
	if (!status && strchr(job->ort.path, '/'))
		cli_warn_of_writers(job->ort.path);
	if (!status)
		status = run_folder_make(&job->profiles);
	if (!status)
		status = epp_session_share(&recording, &job->recording);
	if (!status)
		status = set_options(job);
	if (!status)
		status = run_eps_register(&job->eps, &job->ort, options, job->session_options);
	if (!status)
		status = run_eps_expect_events(&job->eps, job->recording);
	if (!status)
		status = load_model(job);
	if (status)
		return status;
	print_limit(options);
	status = run_loop(&job->results, &job->ort, job->session, &job->inputs, options,
	                  options->run_level ? job->profiles.path : NULL);
	if (!status)
		return end_profiling(job);
	epp_status_destroy(end_profiling(job));
	if (!job->results.runs.count && !job->results.warmup.count)
		job->suggests_shapes = true;
	return status;
}

static void clean_up(struct job *job)
{
	const struct ort *ort = &job->ort;

	run_inputs_destroy(&job->inputs, ort);
	if (job->session)
		ort->api->ReleaseSession(job->session);
	if (job->session_options)
		ort->api->ReleaseSessionOptions(job->session_options);
	run_eps_close_accounts(&job->eps);
	epp_session_destroy(job->recording);
	run_folder_remove(&job->profiles);
}

/* ---- the command ---- */

/* With --force, renames an existing output, so that it is kept until the new one is complete.  `old` is set to its new
 * name; "": there was no output.  Returns false if an error was reported. */
static bool rename_existing(const char *output, char *old, size_t bytes)
{
	struct stat st;

	*old = 0;
	if (lstat(output, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	if ((size_t)snprintf(old, bytes, "%s.%ld.old", output, (long)getpid()) < bytes && rename(output, old) == 0)
		return true;
	fprintf(stderr, "epprof: %s: %s\n", output, strerror(errno));
	return false;
}

static void restore_existing(const char *output, const char *old)
{
	if (!*old)
		return;
	if (access(output, F_OK) == 0)
		unlink(old);
	else
		rename(old, output);
}

static int run_job(const struct run_options *options)
{
	struct job job = { .options = options };
	char old[PATH_MAX];
	int code = CLI_OK;

	/* The model is checked before the search for libraries, which takes longer. */
	if (access(options->model, R_OK) != 0)
		return cli_failure(epp_status_errno(errno, "%s", options->model));
	if (!options->force && access(options->output, F_OK) == 0) {
		fprintf(stderr, "epprof: %s: %s; --force replaces it\n", options->output, strerror(EEXIST));
		return CLI_FAILURE;
	}
	if (!rename_existing(options->output, old, sizeof old))
		return CLI_FAILURE;
	cli_catch_signals();
	epp_status *status = record(&job);
	bool ran = job.results.runs.count || job.results.warmup.count;
	bool made = job.recording;
	if (status)
		code = cli_failure(status);
	if (job.suggests_shapes)
		run_shapes_suggest(&job.inputs, &job.ort, job.session);
	clean_up(&job);
	if (code == CLI_OK)
		ort_print_logs(&job.ort);
	if (ran || (!status && made)) {
		int report_code = run_report(options, &job.ort, &job.eps, &job.results, job.kernels);
		code = code == CLI_OK ? report_code : code;
	} else if (made) {
		unlink(options->output);
	}
	restore_existing(options->output, old);
	if (access(options->output, F_OK) == 0)
		cli_warn_of_writers(options->output);
	run_eps_unregister(&job.eps, &job.ort);
	ort_close(&job.ort);
	run_results_deinit(&job.results);
	if (cli_signal && cli_flush())
		raise(cli_signal);
	return code;
}

/* Makes the name of the default output: MODEL.epp in the current directory. */
static void name_output(const char *model, char *path, size_t bytes)
{
	const char *name = basename(model);
	size_t length = strlen(name);

	if (length > 5 && strcmp(name + length - 5, ".onnx") == 0)
		length -= 5;
	snprintf(path, bytes, "%.*s.epp", (int)length, name);
}

/* Adds optarg to a list.  Returns false if an error was reported. */
static bool add_to_list(const char **list, size_t *count, const char *option)
{
	if (*count == RUN_LIST_MAX) {
		cli_misuse(&cli_run, "%s is given more than %d times", option, RUN_LIST_MAX);
		return false;
	}
	list[(*count)++] = optarg;
	return true;
}

static bool set_count(const char *option, long long low, size_t *count)
{
	long long number;

	if (!cli_number(&cli_run, option, low, 10000000, &number))
		return false;
	*count = (size_t)number;
	return true;
}

static bool set_limit(uint64_t *bytes)
{
	if (!cli_size(&cli_run, "--max-bytes", bytes))
		return false;
	if (*bytes && *bytes < RING_BYTES_MIN)
		cli_misuse(&cli_run, "--max-bytes '%s': at least 4M, or 0 for no limit", optarg);
	return !*bytes || *bytes >= RING_BYTES_MIN;
}

static bool take_option(struct run_options *run, int option)
{
	switch (option) {
	case 'L':
		run->library = optarg;
		return true;
	case 'e':
		return add_to_list(run->eps, &run->eps_count, "--ep");
	case 'i':
		return add_to_list(run->inputs, &run->inputs_count, "--input");
	case 's':
		return add_to_list(run->shapes, &run->shapes_count, "--shape");
	case 'n':
		return set_count("--runs", 1, &run->runs_count);
	case 'w':
		return set_count("--warmup", 0, &run->warmup_count);
	case 't':
		return set_count("--threads", 1, &run->threads_count);
	case 'p':
		run->parallel = true;
		return true;
	case 'r':
		run->run_level = true;
		return true;
	case 'm':
		return set_limit(&run->max_bytes);
	case 'l':
		run->lossless = true;
		return true;
	case 'o':
		run->output = optarg;
		return true;
	default:
		run->force = true;
		return true;
	}
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "ort", required_argument, NULL, 'L' },       { "ep", required_argument, NULL, 'e' },
		{ "input", required_argument, NULL, 'i' },     { "shape", required_argument, NULL, 's' },
		{ "runs", required_argument, NULL, 'n' },      { "warmup", required_argument, NULL, 'w' },
		{ "threads", required_argument, NULL, 't' },   { "parallel", no_argument, NULL, 'p' },
		{ "run-level", no_argument, NULL, 'r' },       { "output", required_argument, NULL, 'o' },
		{ "max-bytes", required_argument, NULL, 'm' }, { "lossless", no_argument, NULL, 'l' },
		{ "force", no_argument, NULL, '!' },           { 0 },
	};
	struct cli_options options = { &cli_run, argc, argv, "o:", long_options, CLI_OK };
	struct run_options run = { .runs_count = 10, .warmup_count = 1, .threads_count = 1, .max_bytes = RING_BYTES };
	char output[4096];
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (!take_option(&run, option))
			return CLI_USAGE;
	}
	if (optind == argc)
		return cli_misuse(&cli_run, "which model?");
	if (optind + 1 < argc)
		return cli_misuse(&cli_run, "one model at a time: '%s' is too much", argv[optind + 1]);
	run.model = argv[optind];
	name_output(run.model, output, sizeof output);
	if (!run.output)
		run.output = output;
	if (!cli_takes_trace(&cli_run, run.output))
		return CLI_USAGE;
	if (strchr(run.output, '%'))
		return cli_misuse(&cli_run, "-o '%s': a '%%' would be expanded; name the file without one", run.output);
	if (cli_is_same_file(run.model, run.output))
		return cli_misuse(&cli_run, "'%s' is the model itself", run.output);
	return run_job(&run);
}

const struct cli_command cli_run = {
	.name = "run", .summary = "runs a model in ONNX Runtime, records it and prints a summary", .help = help, .run = run
};
