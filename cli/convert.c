/* epprof convert: writes a trace in the format of a viewer. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "accounts.h"
#include "epprof/export.h"

static const char help[] = "usage: epprof convert [OPTION]... -o FILE TRACE\n"
			   "\n"
			   "Writes a trace in another format.  FILE appears when it is complete; what the format cannot hold is told\n"
			   "on standard error.\n"
			   "\n"
			   "Formats:\n";
static const char help_rest[] = "\n"
				"Options:\n"
				"  -o, --output FILE  where to; '-' is standard output\n"
				"  -t, --type FORMAT  which format; without it the one that FILE's ending fits best, else chrome\n"
				"  --from TIME        only events that end after this time since the trace's beginning: 250us, 1.5ms, 2s\n"
				"  --to TIME          only events that start before this time\n"
				"  --min-duration TIME  only slices that last so long\n"
				"  --name PATTERN     only events of such a name; patterns are the shell's: 'gemm*'\n"
				"  --track PATTERN    only events of threads and streams of such a name\n"
				"  --process PATTERN  only events of a process (its number, program, label or host) or device\n"
				"  --lossless         what the format cannot hold is an error\n"
				"  --rank N           kineto: which process of a distributed job this is\n"
				"  --world-size N     kineto: of how many\n"
				"  --gpu-planes       xspace: devices are named as GPUs, which more tools know\n"
				"  --force            replaces FILE if it exists\n"
				"  --help             this text\n";

static void print_formats(void)
{
	const epp_export_format *format;

	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++)
		printf("  %-8s %s\n", format->name, format->description);
}

/* The format of optarg, or NULL and the mistake explained. */
static const char *choose_format(void)
{
	const char *names[64] = { NULL };

	for (size_t i = 0; i < 63 && epp_export_format_at(i); i++)
		names[i] = epp_export_format_at(i)->name;
	int index = cli_choice(&cli_convert, "--type", names);
	return index < 0 ? NULL : names[index];
}

static const char *format_of(const char *path)
{
	const epp_export_format *format;
	size_t length = strlen(path), longest = 0;
	const char *name = "chrome";

	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++) {
		size_t ending = strlen(format->extension);
		if (ending > longest && length > ending && strcmp(path + length - ending, format->extension) == 0) {
			name = format->name;
			longest = ending;
		}
	}
	return name;
}

/* ---- the conversion ---- */

static void print_receipt(void *user, const char *text)
{
	*(bool *)user = true;
	fprintf(stderr, "epprof: %s\n", text);
}

/* An error of the trace, not of the output. */
static bool is_of_trace(epp_code code)
{
	return code == EPP_CORRUPT || code == EPP_INCOMPATIBLE;
}

struct conversion {
	const char *input, *output, *format;
	epp_timeline_options window;
	long long rank, world_size;
	int64_t min_duration_ns;
	const char *name, *track, *process;
	bool force, strict, gpu_planes, lossless;
};

static int explain_failure(epp_status *status)
{
	epp_code code = epp_status_code(status);

	if (cli_signal) {
		epp_status_release(status);
		raise(cli_signal);
		return CLI_FAILURE;
	}
	if (is_of_trace(code))
		return cli_unreadable(status);
	if (code != EPP_UNAVAILABLE)
		return cli_failure(status);
	fprintf(stderr, "epprof: %s; --force replaces it\n", epp_status_message(status));
	epp_status_release(status);
	return CLI_FAILURE;
}

static int judge_strictly(epp_trace *trace, bool left_out)
{
	struct accounts accounts;
	epp_status *status = accounts_add_up(&accounts, trace);

	if (status)
		return cli_unreadable(status);
	return accounts_strict(&accounts) == CLI_OK && !left_out ? CLI_OK : CLI_INVALID;
}

static int convert(const struct conversion *conversion)
{
	const epp_export_options options = { .struct_size = sizeof options,
		                             .timeline = &conversion->window,
		                             .cancel = &cli_signal,
		                             .rank = (uint32_t)conversion->rank,
		                             .world_size = (uint32_t)conversion->world_size,
		                             .gpu_planes = conversion->gpu_planes,
		                             .lossless = conversion->lossless,
		                             .min_duration_ns = conversion->min_duration_ns,
		                             .name = conversion->name,
		                             .track = conversion->track,
		                             .process = conversion->process };
	const char *output = conversion->output;
	char size[CLI_NUMBER_BYTES];
	bool left_out = false;
	int code = CLI_OK;
	struct stat st;
	epp_trace *trace;

	if (!cli_open(conversion->input, &trace))
		return CLI_UNREADABLE;
	cli_catch_signals();
	epp_status *status = epp_export_file(trace, conversion->format, &options, output, conversion->force,
	                                     print_receipt, &left_out);
	if (status)
		code = explain_failure(status);
	else if (strcmp(output, "-") != 0 && stat(output, &st) == 0 && S_ISREG(st.st_mode))
		fprintf(stderr, "epprof: wrote %s: %s, %s\n", output, conversion->format,
		        cli_bytes((uint64_t)st.st_size, size));
	if (code == CLI_OK && conversion->strict)
		code = judge_strictly(trace, left_out);
	epp_trace_close(trace);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "type", required_argument, NULL, 't' },
		{ "from", required_argument, NULL, 'F' },
		{ "to", required_argument, NULL, 'T' },
		{ "rank", required_argument, NULL, 'R' },
		{ "world-size", required_argument, NULL, 'W' },
		{ "min-duration", required_argument, NULL, 'D' },
		{ "name", required_argument, NULL, 'N' },
		{ "track", required_argument, NULL, 'K' },
		{ "process", required_argument, NULL, 'P' },
		{ "lossless", no_argument, NULL, 'L' },
		{ "gpu-planes", no_argument, NULL, 'G' },
		{ "force", no_argument, NULL, '!' },
		{ "strict", no_argument, NULL, 'S' },
		{ 0 },
	};
	struct cli_options options = { &cli_convert, argc, argv, "o:t:", longs, CLI_OK };
	struct conversion conversion = { .window = { .struct_size = sizeof(epp_timeline_options) } };
	int64_t from_ns = 0, to_ns = INT64_MAX;
	bool has_window = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			conversion.output = optarg;
		if (option == 't' && !(conversion.format = choose_format()))
			return CLI_USAGE;
		if (option == 'F' && !cli_time(&cli_convert, "--from", &from_ns))
			return CLI_USAGE;
		if (option == 'T' && !cli_time(&cli_convert, "--to", &to_ns))
			return CLI_USAGE;
		if (option == 'R' && !cli_number(&cli_convert, "--rank", 0, 1 << 24, &conversion.rank))
			return CLI_USAGE;
		if (option == 'W' && !cli_number(&cli_convert, "--world-size", 1, 1 << 24, &conversion.world_size))
			return CLI_USAGE;
		has_window = has_window || option == 'F' || option == 'T';
		if (option == 'D' && !cli_time(&cli_convert, "--min-duration", &conversion.min_duration_ns))
			return CLI_USAGE;
		if (option == 'N')
			conversion.name = optarg;
		if (option == 'K')
			conversion.track = optarg;
		if (option == 'P')
			conversion.process = optarg;
		conversion.lossless = conversion.lossless || option == 'L';
		conversion.gpu_planes = conversion.gpu_planes || option == 'G';
		conversion.force = conversion.force || option == '!';
		conversion.strict = conversion.strict || option == 'S';
	}
	conversion.input = cli_options_trace(&options);
	if (!conversion.input)
		return options.exit;
	if (!conversion.output)
		return cli_misuse(&cli_convert, "where to?  -o FILE, or -o - for standard output");
	if (to_ns <= from_ns)
		return cli_misuse(&cli_convert, "--to must lie behind --from");
	if (cli_is_same_file(conversion.input, conversion.output))
		return cli_misuse(&cli_convert, "'%s' is the trace itself", conversion.output);
	if (has_window) {
		conversion.window.from_ns = from_ns;
		conversion.window.to_ns = to_ns;
	}
	if (!conversion.format)
		conversion.format = format_of(conversion.output);
	return convert(&conversion);
}

const struct cli_command cli_convert = {
	.name = "convert",
	.summary = "writes a trace for a viewer or a table: Chrome JSON, Perfetto, Kineto, Parquet, SQLite, CSV, ...",
	.help = help,
	.help_list = print_formats,
	.help_rest = help_rest,
	.run = run,
};
