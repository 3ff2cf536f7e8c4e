/* The figures of epprof against their bounds: `bench [--quick] [--json] [CASE...]`.
 *
 * Exit status: 0, or 1 if a figure is SHORT of its bound, 2 for misuse.  The cases are in the parts bench_*.c; a new
 * one is a function there and a row in the table here. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const struct bench_case {
	const char *name;
	void (*run)(struct bench *bench);
} cases[] = {
	{ "begin + end, in memory", bench_begin_end },
	{ "begin + end, sustained into a file", bench_sustained },
	{ "2 integer args, sustained into a file", bench_sustained_integers },
	{ "a 16-byte string arg, sustained into a file", bench_sustained_string },
	{ "nested, two categories, sustained into a file", bench_sustained_nested },
	{ "begin + end, two threads at once, CPU time", bench_two_threads },
	{ "begin + end, lossless, eight threads at once", bench_lossless },
	{ "guest: 500 M events in limited memory", bench_guest },
	{ "guest: the disk synced every 200 ms", bench_synced },
	{ "begin + end, 2 integer args", bench_two_integers },
	{ "begin + end, a 16-byte string arg", bench_one_string },
	{ "begin + end, the kit attached", bench_kit_attached },
	{ "begin + end, a filter", bench_filter },
	{ "begin + end, a budget of 1 %, load 1,000 to 1", bench_budget },
	{ "begin + end, idle, EPPROF_ENABLED()", bench_idle_enabled },
	{ "begin, end, idle, a call of either", bench_idle_call },
	{ "begin + end, instructions", bench_instructions },
	{ "kit emit, 2 args", bench_kit_emit },
	{ "session create to release, in memory", bench_short_session },
	{ "session create and release, a file", bench_short_file_session },
	{ "helper while nothing happens", bench_helper },
	{ "timeline, 64 tracks", bench_timeline },
	{ "merge, 64 tracks each", bench_merge },
	{ "pack, 5 tracks", bench_pack },
	{ "anonymize, 5 tracks", bench_anonymize },
	{ "device clocks, 10 simulated minutes", bench_clocks },
	{ "import of Chrome JSON", bench_import_chrome },
	{ "import of ONNX Runtime JSON", bench_import_ort },
	{ "import of XSpace", bench_import_xspace },
	{ "Chrome JSON to /dev/null", bench_chrome },
	{ "ONNX Runtime JSON to /dev/null", bench_ort },
	{ "CSV to /dev/null", bench_csv },
	{ "NDJSON to /dev/null", bench_ndjson },
	{ "SQLite to /dev/null", bench_sqlite },
	{ "Perfetto to /dev/null", bench_perfetto },
	{ "Kineto JSON to /dev/null", bench_kineto },
	{ "XSpace to /dev/null", bench_xspace },
	{ "Parquet to /dev/null", bench_parquet },
	{ "report (HTML) to /dev/null", bench_html },
	{ "flame graph to /dev/null", bench_flame },
};

#define CASES_COUNT (sizeof(cases) / sizeof(cases[0]))

static bool is_wanted(const char *name, char **parts, int parts_count)
{
	for (int i = 0; i < parts_count; i++)
		if (strcasestr(name, parts[i]))
			return true;
	return parts_count == 0;
}

static void print_help(FILE *file)
{
	fprintf(file, "Usage: bench [--quick] [--json] [CASE...]\n"
	              "Measures the cases whose names contain one of CASE, all without, and marks what is past its bound SHORT.\n"
	              "  --quick  fewer events and repetitions\n"
	              "  --json   one JSON object instead of a table\n"
	              "  --list   the names of the cases\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },      { "json", no_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },       { "help", no_argument, NULL, 'h' },
		{ "spin", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 },
	};
	struct bench bench = { .repetitions = 25, .divisor = 1 };
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'q':
			bench.repetitions = 7;
			bench.divisor = 4;
			break;
		case 'j':
			bench.json = true;
			break;
		case 'l':
			for (size_t i = 0; i < CASES_COUNT; i++)
				puts(cases[i].name);
			return 0;
		case 's':
			return bench_spin(strtoull(optarg, NULL, 10));
		case 'h':
			print_help(stdout);
			return 0;
		default:
			print_help(stderr);
			return 2;
		}
	}
	bool any = false;
	for (size_t i = 0; i < CASES_COUNT; i++)
		any |= is_wanted(cases[i].name, argv + optind, argc - optind);
	if (!any) {
		fprintf(stderr, "bench: no case has such a name; --list prints them\n");
		return 2;
	}
	bench_report_begin(&bench);
	for (size_t i = 0; i < CASES_COUNT; i++) {
		if (!is_wanted(cases[i].name, argv + optind, argc - optind))
			continue;
		bench.case_name = cases[i].name;
		bench.case_begins = true;
		cases[i].run(&bench);
	}
	bench_report_end(&bench);
	return bench.short_count != 0;
}
