/* epprof convert: writes a trace in the format of a viewer. */
#include <stdio.h>
#include <string.h>

#include "cli/shared/conversion.h"
#include "cli/shared/post.h"
#include "dataset.h"

#define POST_LIMIT_NS INT64_C(30000000000)

static const char help[] = "usage: epprof convert [OPTION]... -o FILE TRACE\n"
			   "       epprof convert --post URL [OPTION]... TRACE\n"
			   "       epprof convert -t parquet --run RUN [OPTION]... -o FOLDER TRACE...\n"
			   "\n"
			   "Converts a trace to another format.  FILE appears when it is complete.  What the format cannot represent\n"
			   "is reported on standard error.\n"
			   "\n"
			   "Formats:\n";
static const char
    help_rest[] = "\n"
		  "Options:\n"
		  "  -o, --output FILE  the output file; '-' is standard output\n"
		  "  -t, --type FORMAT  the format; by default it follows from FILE's extension; chrome if there is\n"
		  "                     no extension\n" CONVERSION_HELP
		  "  --lossless         fail if the format cannot represent all of the trace\n"
		  "  --run RUN          parquet: write FOLDER/run=RUN/host=HOST/part-N.parquet, for engines that query\n"
		  "                     many runs at once; several traces are merged first\n"
		  "  --rank N           kineto: rank of this process in a distributed job\n"
		  "  --world-size N     kineto: number of processes in the job\n"
		  "  --kernels          otlp, otlp-proto: write spans for device events, too\n"
		  "  --post URL         otlp, otlp-proto (the default): send the spans to a collector,\n"
		  "                     http://127.0.0.1:4318, instead of writing a file\n"
		  "  --post-limit TIME  with --post: give up if one request takes longer than this; the default is 30s\n"
		  "  --gpu-planes       xspace: name devices as GPUs, which more tools recognise\n"
		  "  --gpu-stages       perfetto: write device events as stages of GPUs, for the viewer's views of GPUs\n"
		  "  --part-bytes N     xspace: maximum size of a file; the rest goes into FILE_part2 and so on, which are\n"
		  "                     listed on standard error; the default is 1,900,000,000\n"
		  "  --force            replace FILE if it exists\n"
		  "  --strict           exit with status 3 if events were lost or the format cannot represent all\n"
		  "  --help             print this text\n";

static void print_formats(void)
{
	const epp_export_format *format;

	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++)
		printf("  %-10s  %s\n", format->name, format->description);
}

/* Returns the format that optarg names; NULL: there is none, which was reported. */
static const char *choose_format(void)
{
	const char *names[64] = { NULL };

	for (size_t i = 0; i < 63 && epp_export_format_at(i); i++)
		names[i] = epp_export_format_at(i)->name;
	int index = cli_choice(&cli_convert, "--type", names);
	return index < 0 ? NULL : names[index];
}

/* Reports that no format has the ending of a file's name, and lists the formats and their endings. */
static int unknown_ending(const char *path)
{
	const epp_export_format *format;

	fprintf(stderr, "epprof convert: no format has the ending of '%s'; -t FORMAT chooses one:\n", path);
	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++)
		fprintf(stderr, "  %-10s %s\n", format->name, format->extension);
	return CLI_USAGE;
}

/* Returns the format whose ending fits a file's name best; NULL: no format has its ending.  A name without an ending,
 * for example that of standard output, means chrome. */
static const char *format_of(const char *path)
{
	const epp_export_format *format;
	const char *slash = strrchr(path, '/'), *ending_at = strrchr(slash ? slash + 1 : path, '.');
	size_t length = strlen(path), longest = 0;
	const char *name = ending_at && ending_at[1] ? NULL : "chrome";

	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++) {
		size_t ending = strlen(format->extension);
		if (ending > longest && length > ending && strcmp(path + length - ending, format->extension) == 0) {
			name = format->name;
			longest = ending;
		}
	}
	return name;
}

/* Returns CLI_OK if `format` is the format `meant`, to which an option applies.  Otherwise reports a usage error,
 * because the option would have no effect. */
static int check_option_applies(const char *format, const char *option, const char *meant)
{
	return strcmp(format, meant) == 0 ? CLI_OK : cli_misuse(&cli_convert, "%s is for -t %s", option, meant);
}

static bool is_otlp(const char *format)
{
	return strcmp(format, "otlp") == 0 || strcmp(format, "otlp-proto") == 0;
}

/* Returns true if the path ends like that of a trace.  No format has this ending, and this command does not write
 * traces. */
static bool is_trace_name(const char *path)
{
	size_t bytes = strlen(path);

	return bytes > 4 && strcmp(path + bytes - 4, ".epp") == 0;
}

static int convert_run(struct conversion *conversion, const char *name, char *const *traces, size_t count)
{
	if (conversion->format && check_option_applies(conversion->format, "--run", "parquet") != CLI_OK)
		return CLI_USAGE;
	if (!*name || *name == '.' || name[strspn(name, EPP_RUN_LETTERS)])
		return cli_misuse(&cli_convert,
		                  "--run '%s': only letters, digits, '.', '_' and '-' are allowed in a folder's name",
		                  name);
	if (!count)
		return cli_misuse(&cli_convert, "which traces?");
	if (!conversion->output || strcmp(conversion->output, "-") == 0)
		return cli_misuse(&cli_convert, "where to?  -o FOLDER");
	conversion->input = traces[0];
	return conversion_check(conversion) == CLI_OK ? dataset_run(conversion, name, traces, count) : CLI_USAGE;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		CONVERSION_LONGS,
		{ "type", required_argument, NULL, 't' },
		{ "run", required_argument, NULL, 'U' },
		{ "rank", required_argument, NULL, 'R' },
		{ "world-size", required_argument, NULL, 'W' },
		{ "lossless", no_argument, NULL, 'L' },
		{ "kernels", no_argument, NULL, 'J' },
		{ "post", required_argument, NULL, 'Y' },
		{ "post-limit", required_argument, NULL, 'Z' },
		{ "gpu-planes", no_argument, NULL, 'G' },
		{ "gpu-stages", no_argument, NULL, 'A' },
		{ "part-bytes", required_argument, NULL, 'B' },
		{ 0 },
	};
	struct cli_options options = { &cli_convert, argc, argv, "o:t:", long_options, CLI_OK };
	struct conversion conversion;
	long long rank = 0, world_size = 0, part_bytes = 0;
	const char *run = NULL, *job = NULL, *planes = NULL;
	bool is_limited = false;
	int option;

	conversion_init(&conversion, &cli_convert);
	conversion.post_limit_ns = POST_LIMIT_NS;
	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (!conversion_option(&conversion, option))
			return CLI_USAGE;
		if (option == 't' && !(conversion.format = choose_format()))
			return CLI_USAGE;
		if (option == 'R' && !cli_number(&cli_convert, "--rank", 0, 1 << 24, &rank))
			return CLI_USAGE;
		if (option == 'W' && !cli_number(&cli_convert, "--world-size", 1, 1 << 24, &world_size))
			return CLI_USAGE;
		if (option == 'R' || option == 'W')
			job = option == 'R' ? "--rank" : "--world-size";
		if (option == 'B' && !cli_number(&cli_convert, "--part-bytes", 100000, 1900000000, &part_bytes))
			return CLI_USAGE;
		if (option == 'G' || option == 'B')
			planes = option == 'G' ? "--gpu-planes" : "--part-bytes";
		if (option == 'U')
			run = optarg;
		conversion.options.lossless |= option == 'L';
		conversion.options.gpu_planes |= option == 'G';
		conversion.options.gpu_stages |= option == 'A';
		conversion.options.kernels |= option == 'J';
		if (option == 'Y')
			conversion.post = optarg;
		if (option != 'Z')
			continue;
		if (!cli_time(&cli_convert, "--post-limit", &conversion.post_limit_ns))
			return CLI_USAGE;
		if (conversion.post_limit_ns <= 0)
			return cli_misuse(&cli_convert, "--post-limit: must be more than 0");
		is_limited = true;
	}
	conversion.options.part_bytes = (uint32_t)part_bytes;
	conversion.options.rank = (uint32_t)rank;
	conversion.options.world_size = (uint32_t)world_size;
	if (run && conversion.post)
		return cli_misuse(&cli_convert, "--run and --post exclude each other");
	if (conversion.post && post_check(&cli_convert) != CLI_OK)
		return CLI_USAGE;
	if (run)
		return convert_run(&conversion, run, argv + optind, (size_t)(argc - optind));
	conversion.input = cli_options_trace(&options);
	if (!conversion.input)
		return options.exit;
	if (conversion.post && conversion.output)
		return cli_misuse(&cli_convert, "--post and -o exclude each other");
	if (conversion.post) {
		conversion.output = "-";
		conversion.format = conversion.format ? conversion.format : "otlp-proto";
	}
	if (!conversion.output)
		return cli_misuse(&cli_convert, "-o is missing: use -o FILE, or -o - for standard output");
	if (!conversion.format && is_trace_name(conversion.output) &&
	    !cli_is_same_file(conversion.input, conversion.output))
		return cli_misuse(&cli_convert,
		                  "'%s' would be a trace: 'epprof pack' writes a smaller one, 'epprof recover' a finished "
		                  "one; -t chooses another format",
		                  conversion.output);
	/* A name that ends in ".epp" is that of the input here.  It is rejected below, so the format does not
	 * matter. */
	if (!conversion.format)
		conversion.format = is_trace_name(conversion.output) ? "chrome" : format_of(conversion.output);
	if (!conversion.format)
		return unknown_ending(conversion.output);
	if ((job && check_option_applies(conversion.format, job, "kineto") != CLI_OK) ||
	    (planes && check_option_applies(conversion.format, planes, "xspace") != CLI_OK) ||
	    (conversion.options.gpu_stages &&
	     check_option_applies(conversion.format, "--gpu-stages", "perfetto") != CLI_OK) ||
	    (!is_otlp(conversion.format) &&
	     ((conversion.options.kernels && check_option_applies(conversion.format, "--kernels", "otlp") != CLI_OK) ||
	      (conversion.post && check_option_applies(conversion.format, "--post", "otlp") != CLI_OK))))
		return CLI_USAGE;
	if (is_limited && !conversion.post)
		return cli_misuse(&cli_convert, "--post-limit is for --post");
	return conversion_check(&conversion) == CLI_OK ? conversion_run(&conversion) : CLI_USAGE;
}

const struct cli_command cli_convert = {
	.name = "convert",
	.summary = "converts a trace to Chrome JSON, Perfetto, Kineto, Parquet, SQLite, CSV, ...",
	.help = help,
	.help_list = print_formats,
	.help_rest = help_rest,
	.run = run,
};
