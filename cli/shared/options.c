/* Parses command lines with getopt_long.  If a word is unknown, the error message suggests a similar one. */
#include <bsd/stdlib.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

#define LONGS_MAX 32
/* The value that getopt_long returns for --quiet; no letter has this value. */
#define QUIET 256

void cli_print_help(const struct cli_command *command)
{
	fputs(command->help, stdout);
	if (command->help_list)
		command->help_list();
	if (command->help_rest)
		fputs(command->help_rest, stdout);
}

int cli_misuse(const struct cli_command *command, const char *format, ...)
{
	va_list args;

	cli_progress_end();
	fprintf(stderr, command ? "epprof %s: " : "epprof: ", command ? command->name : "");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, command ? "\nSee 'epprof help %s'.\n" : "\n'epprof help' lists the commands.\n",
	        command ? command->name : "");
	return CLI_USAGE;
}

/* ---- similar words ---- */

/* Returns the edit distance of two words: the smallest number of letters that must be added, removed, changed, or
 * swapped with a neighbour, to make one of the other. */
static unsigned distance(const char *a, const char *b)
{
	enum { MAX = 24 };
	unsigned rows[3][MAX + 1];
	size_t a_bytes = strlen(a), b_bytes = strlen(b);

	if (a_bytes > MAX || b_bytes > MAX)
		return MAX;
	for (size_t j = 0; j <= b_bytes; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_bytes; j++) {
			unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
				best = above2[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

const char *cli_nearest(const char *word, const char *const *candidates)
{
	/* The largest edit distance that counts as similar grows with the length of the word: a short word is within a
	 * small distance of too many others. */
	unsigned best = 1 + (unsigned)strlen(word) / 4;
	const char *nearest = NULL;

	for (; *candidates; candidates++) {
		unsigned letters = distance(word, *candidates);
		bool begins = strlen(word) >= 2 && strncmp(word, *candidates, strlen(word)) == 0;
		if (letters <= best || (begins && !nearest)) {
			nearest = *candidates;
			best = letters ? letters - 1 : 0;
		}
	}
	return nearest;
}

/* ---- options ---- */

static void explain_unknown_long(const struct cli_options *options, const struct option *long_options, const char *name)
{
	const char *names[LONGS_MAX + 1] = { NULL };
	size_t matches = 0;

	for (size_t i = 0; long_options[i].name; i++) {
		names[i] = long_options[i].name;
		matches += strncmp(long_options[i].name, name, strlen(name)) == 0;
	}
	const char *nearest = cli_nearest(name, names);
	if (matches > 1)
		cli_misuse(options->command, "option '--%s' is ambiguous", name);
	else if (nearest)
		cli_misuse(options->command, "unknown option '--%s'; did you mean '--%s'?", name, nearest);
	else
		cli_misuse(options->command, "unknown option '--%s'", name);
}

/* Reports why getopt_long rejected an option.  getopt_long sets optopt to 0 only for an unknown long option. */
static void explain(const struct cli_options *options, const struct option *long_options)
{
	const char *word = options->argv[optind - 1];
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
	if (!optopt) {
		explain_unknown_long(options, long_options, name + 2);
		return;
	}
	for (; long_options->name; long_options++) {
		bool given_value = strncmp(word, "--", 2) == 0 && strchr(word, '=');
		if (given_value && long_options->val == optopt && long_options->has_arg == no_argument) {
			cli_misuse(options->command, "option '%s' takes no value", name);
			return;
		}
	}
	cli_misuse(options->command, "unknown option '-%c'", optopt);
}

int cli_options_next(struct cli_options *options)
{
	struct option long_options[LONGS_MAX + 1] = { 0 };
	char shorts[64];
	size_t count = 0;

	for (const struct option *from = options->long_options; from->name && count < LONGS_MAX - 2; from++)
		long_options[count++] = *from;
	long_options[count++] = (struct option){ "help", no_argument, NULL, 'h' };
	long_options[count] = (struct option){ "quiet", no_argument, NULL, QUIET };
	bool has_mode = options->shorts[0] == '+' || options->shorts[0] == '-';
	snprintf(shorts, sizeof shorts, "%.*s:h%s", (int)has_mode, options->shorts, options->shorts + has_mode);

	opterr = 0;
	optopt = 0;
	int value;
	while ((value = getopt_long(options->argc, options->argv, shorts, long_options, NULL)) == QUIET)
		cli_quiet = true;
	switch (value) {
	case -1:
		return CLI_END;
	case 'h':
		cli_print_help(options->command);
		options->exit = CLI_OK;
		return CLI_STOP;
	case ':':
		options->exit = cli_misuse(options->command, "option '%s' needs a value", options->argv[optind - 1]);
		return CLI_STOP;
	case '?':
		explain(options, long_options);
		options->exit = CLI_USAGE;
		return CLI_STOP;
	default:
		return value;
	}
}

const char *cli_options_one(struct cli_options *options, const char *what)
{
	if (optind == options->argc) {
		options->exit = cli_misuse(options->command, "which %s?", what);
		return NULL;
	}
	if (optind + 1 < options->argc) {
		options->exit = cli_misuse(options->command, "only one %s is allowed: '%s' is unexpected", what,
		                           options->argv[optind + 1]);
		return NULL;
	}
	return options->argv[optind];
}

const char *cli_options_trace(struct cli_options *options)
{
	return cli_options_one(options, "trace");
}

bool cli_takes_trace(const struct cli_command *command, const char *output)
{
	if (!*output)
		cli_misuse(command, "-o '': the file name is empty");
	else if (strcmp(output, "-") == 0)
		cli_misuse(command, "a trace cannot be written to standard output");
	else
		return true;
	return false;
}

/* ---- values ---- */

int cli_choice(const struct cli_command *command, const char *option, const char *const *choices)
{
	char list[256] = "";

	for (int i = 0; choices[i]; i++) {
		if (strcmp(choices[i], optarg) == 0)
			return i;
		size_t used = strlen(list);
		snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choices[i]);
	}
	const char *nearest = cli_nearest(optarg, choices);
	if (nearest)
		cli_misuse(command, "%s '%s': did you mean '%s'?", option, optarg, nearest);
	else
		cli_misuse(command, "%s '%s': must be one of %s", option, optarg, list);
	return -1;
}

bool cli_parse_time(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "\xC2\xB5s", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 6e10 } };
	char *end;
	double value = strtod(text, &end);

	while (*end == ' ')
		end++;
	for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].name) == 0 && fabs(value * units[i].ns) < 9e18) {
			*ns = llround(value * units[i].ns);
			return true;
		}
	}
	*ns = 0;
	return strcmp(text, "0") == 0;
}

bool cli_time(const struct cli_command *command, const char *option, int64_t *ns)
{
	if (cli_parse_time(optarg, ns))
		return true;
	cli_misuse(command, "%s '%s': must be a number and a unit: 250us, 1.5ms, 2s", option, optarg);
	return false;
}

bool cli_number(const struct cli_command *command, const char *option, long long low, long long high, long long *number)
{
	const char *problem;

	*number = strtonum(optarg, low, high, &problem);
	if (problem)
		cli_misuse(command, "%s '%s': the number is %s (%lld to %lld)", option, optarg, problem, low, high);
	return !problem;
}

bool cli_size(const struct cli_command *command, const char *option, uint64_t *bytes)
{
	const char *unit = optarg + strspn(optarg, "0123456789");

	/* expand_number ignores text after the unit, so this checks that the text ends there. */
	if (unit > optarg && (!*unit || !unit[1]) && expand_number(optarg, bytes) == 0)
		return true;
	cli_misuse(command, "%s '%s': must be a number and a unit: 500K, 64M, 2G", option, optarg);
	return false;
}

bool cli_is_same_file(const char *a, const char *b)
{
	struct stat a_stat, b_stat;

	return stat(a, &a_stat) == 0 && stat(b, &b_stat) == 0 && a_stat.st_dev == b_stat.st_dev &&
	       a_stat.st_ino == b_stat.st_ino;
}

char *cli_library_path(const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s", basename(name) == name ? "./" : "", name) >= 0)
		return path;
	cli_no_memory();
	return NULL;
}
