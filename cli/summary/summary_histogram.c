/* Prints a histogram of the durations of one op or kernel in text.  The limits of its steps are 1, 2 and 5 times the
 * powers of ten, in ns. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "summary.h"

/* Number of steps: 1, 2, 5, 10, ... up to 2^63. */
#define STEPS_MAX 58u
#define BAR_COLUMNS 50u

static int64_t step_ns(unsigned step)
{
	int64_t ns = step % 3 == 0 ? 1 : step % 3 == 1 ? 2 : 5;

	for (; step >= 3; step -= 3)
		ns = ns < INT64_MAX / 10 ? ns * 10 : INT64_MAX;
	return ns;
}

/* Returns the step of a duration: the largest i with step_ns(i) <= ns.  Step 0 also includes shorter durations. */
static unsigned step_of(int64_t ns)
{
	unsigned step = 0;

	while (step + 1 < STEPS_MAX && step_ns(step + 1) <= ns)
		step++;
	return step;
}

/* Prints a bar whose length is proportional to `count`, in units of an eighth of a character.  A bar for `largest` has
 * BAR_COLUMNS characters. */
static void print_bar(uint64_t count, uint64_t largest)
{
	static const char *const parts[] = { "",
		                             "\xE2\x96\x8F",
		                             "\xE2\x96\x8E",
		                             "\xE2\x96\x8D",
		                             "\xE2\x96\x8C",
		                             "\xE2\x96\x8B",
		                             "\xE2\x96\x8A",
		                             "\xE2\x96\x89" };
	unsigned eighths = (unsigned)((double)count / (double)largest * BAR_COLUMNS * 8 + 0.5);

	/* The bar of a count above 0 is always visible. */
	eighths = eighths || !count ? eighths : 1;
	for (; eighths >= 8; eighths -= 8)
		printf("\xE2\x96\x88");
	printf("%s\n", parts[eighths]);
}

static void print_line(epp_summary_by by, const epp_summary_line *line)
{
	char from_text[CLI_NUMBER_BYTES], to_text[CLI_NUMBER_BYTES], count_text[CLI_NUMBER_BYTES];
	uint64_t counts[STEPS_MAX] = { 0 }, largest = 1, count;
	unsigned first = STEPS_MAX, last = 0;
	int64_t from, to;

	for (size_t cursor = 0; epp_histogram_next(line->durations, &cursor, &from, &to, &count);) {
		unsigned step = step_of(from + (to - from) / 2);
		counts[step] += count;
		largest = counts[step] > largest ? counts[step] : largest;
		first = step < first ? step : first;
		last = step;
	}
	putchar('\n');
	cli_print_clean(stdout, line->name, line->name_bytes);
	printf(", %s: %s, the middle half within %s\n", by == EPP_BY_OP ? "op" : "kernel",
	       cli_count(line->count, count_text),
	       cli_duration((double)epp_histogram_quantile(line->durations, 0.5), from_text));
	for (unsigned step = first; step <= last; step++) {
		printf("  %7s - %-7s  %9s  ", step ? cli_duration((double)step_ns(step), from_text) : "0 ns",
		       cli_duration((double)step_ns(step + 1), to_text), cli_count(counts[step], count_text));
		print_bar(counts[step], largest);
	}
}

bool summary_print_histograms(const struct summary *summary, const char *pattern)
{
	bool any = false;

	for (unsigned by = EPP_BY_OP; by <= EPP_BY_KERNEL; by++) {
		for (size_t i = 0; i < summary->tables[by].count; i++) {
			const epp_summary_line *line = summary->tables[by].lines[i];
			if (!line->count || fnmatch(pattern, line->name, 0) != 0)
				continue;
			print_line(by, line);
			any = true;
		}
	}
	return any;
}
