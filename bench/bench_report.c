/* Prints the lines of the bench: as a table, each as soon as it is measured, or as JSON. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

/* ---- the machine ---- */

/* Gets the value of the first line of a file that begins with `field`, without the characters between them; NULL: the
 * whole first line. */
static void read_fact(const char *path, const char *field, char *fact, size_t bytes)
{
	char line[256];
	snprintf(fact, bytes, "unknown");
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (field && strncmp(line, field, strlen(field)) != 0)
			continue;
		const char *value = line + (field ? strlen(field) : 0);
		value += strspn(value, " \t:");
		snprintf(fact, bytes, "%.*s", (int)strcspn(value, "\n"), value);
		break;
	}
	if (file)
		fclose(file);
}

struct machine {
	char processor[128];
	char clock_source[64];
	char load[64];
	struct utsname system;
	const char *clock;
	double clock_mhz;
	long cores;
};

static struct machine look_around(void)
{
	struct machine machine = { .clock = "the processor's counter" };
	read_fact("/proc/cpuinfo", "model name", machine.processor, sizeof(machine.processor));
	read_fact("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, machine.clock_source,
	          sizeof(machine.clock_source));
	read_fact("/proc/loadavg", NULL, machine.load, sizeof(machine.load));
	machine.load[strcspn(machine.load, " ")] = '\0';
	uname(&machine.system);
	machine.cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t per_second = epp_host_ticks_per_second();
	machine.clock_mhz = (double)per_second / 1e6;
	if (per_second == 1000000000u)
		machine.clock = "CLOCK_MONOTONIC";
	return machine;
}

/* ---- who else was there ---- */

struct load {
	double all, own, passed; /* processor seconds in use, by all and by this program; seconds */
};

static double seconds_of(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static struct load load_now(void)
{
	struct load load = { .passed = (double)bench_wall_ns() / 1e9 };
	char line[256];
	unsigned long long user, nice, system, idle, waiting, interrupts, soft, stolen;
	read_fact("/proc/stat", "cpu ", line, sizeof(line));
	if (sscanf(line, "%llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting, &interrupts,
	           &soft, &stolen) == 8)
		load.all = (double)(user + nice + system + interrupts + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	load.own = seconds_of(&self) + seconds_of(&children);
	return load;
}

static struct load load_at_begin;

/* Returns the share of processor time that other processes have used since the bench began. */
static double others_percent(void)
{
	struct load now = load_now();
	double others = (now.all - load_at_begin.all) - (now.own - load_at_begin.own);
	double room = (now.passed - load_at_begin.passed) * (double)sysconf(_SC_NPROCESSORS_ONLN);
	return others > 0 && room > 0 ? others / room * 100 : 0;
}

/* Prints a string without the characters that JSON would have to escape. */
static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
			putchar(*text);
	putchar('"');
}

void bench_report_begin(const struct bench *bench)
{
	struct machine machine = look_around();
	load_at_begin = load_now();
	if (bench->json) {
		printf("{\"machine\":{\"processor\":");
		print_text(machine.processor);
		printf(",\"cores\":%ld,\"architecture\":", machine.cores);
		print_text(machine.system.machine);
		printf(",\"kernel\":");
		print_text(machine.system.release);
		printf(",\"clock\":");
		print_text(machine.clock);
		printf(",\"clock_mhz\":%.3f,\"clock_source\":", machine.clock_mhz);
		print_text(machine.clock_source);
		printf(",\"load\":%s},\"repetitions\":%u,\"lines\":[", machine.load, bench->repetitions);
		return;
	}
	printf("%s, %ld cores, %s, Linux %s, load %s\n", machine.processor, machine.cores, machine.system.machine,
	       machine.system.release, machine.load);
	printf("events are stamped with %s, %.1f MHz (the kernel's clock source: %s)\n", machine.clock,
	       machine.clock_mhz, machine.clock_source);
	printf("the limit: two clock readings and one 32-byte store; it takes turns with each case; medians and their ratio\n\n");
	printf("%-42s %16s %7s %7s %6s  %-20s %-6s %s\n", "case", "median        ", "best", "limit", "ratio", "at most",
	       "", "events x repetitions");
}

/* ---- lines ---- */

static bool is_short(const struct bench_line *line)
{
	if (line->lost_count || isnan(line->value))
		return true;
	switch (line->kind) {
	case BENCH_NO_BOUND:
		return false;
	case BENCH_TIMES_LIMIT:
		return !(line->value <= line->bound * line->limit);
	case BENCH_LIMIT_PLUS:
		return !(line->value <= line->limit + line->bound);
	case BENCH_AT_MOST:
		return !(line->value <= line->bound);
	case BENCH_AT_LEAST:
		return !(line->value >= line->bound);
	}
	return true;
}

static const char *format_bound(const struct bench_line *line, char *text, size_t bytes)
{
	*text = '\0';
	if (line->kind == BENCH_TIMES_LIMIT)
		snprintf(text, bytes, "%g x the limit", line->bound);
	else if (line->kind == BENCH_LIMIT_PLUS)
		snprintf(text, bytes, "the limit + %g %s", line->bound, line->unit);
	else if (line->kind == BENCH_AT_MOST)
		snprintf(text, bytes, "%g %s", line->bound, line->unit);
	else if (line->kind == BENCH_AT_LEAST)
		snprintf(text, bytes, "(at least) %g %s", line->bound, line->unit);
	return text;
}

static void format_value(double value, char text[16])
{
	snprintf(text, 16, value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
}

static void format_count(uint64_t count, char text[16])
{
	if (count >= 1000000)
		snprintf(text, 16, "%.4g M", (double)count / 1e6);
	else if (count >= 1000)
		snprintf(text, 16, "%.4g k", (double)count / 1e3);
	else
		snprintf(text, 16, "%llu", (unsigned long long)count);
}

static void print_row(const struct bench *bench, const struct bench_line *line, bool shortfall)
{
	char title[64], value[16], best[16] = "", limit[16] = "", ratio[16] = "", bound[48], count[16] = "";
	if (line->figure && bench->case_begins)
		printf("%s\n", bench->case_name);
	snprintf(title, sizeof(title), "%s%s", line->figure ? "  " : "", line->figure ? line->figure : bench->case_name);
	format_value(line->value, value);
	if (line->best > 0)
		format_value(line->best, best);
	if (line->limit > 0) {
		format_value(line->limit, limit);
		format_value(line->value / line->limit, ratio);
	}
	if (line->count)
		format_count(line->count, count);
	printf("%-42s %7s %-8s %7s %7s %6s  %-20s %-6s", title, value, line->unit, best, limit, ratio,
	       format_bound(line, bound, sizeof(bound)),
	       shortfall    ? "SHORT"
	       : line->kind ? "ok"
	                    : "");
	if (line->repetitions)
		printf(" %s x %u", count, line->repetitions);
	else if (line->count)
		printf(" %s", count);
	if (line->lost_count)
		printf("  %llu %s LOST", (unsigned long long)line->lost_count, line->lost_of ? line->lost_of : "events");
	putchar('\n');
}

static void print_object(const struct bench *bench, const struct bench_line *line, bool shortfall)
{
	static const char *const kinds[] = { "none", "times limit", "limit plus", "at most", "at least" };
	printf("%s\n{\"case\":", bench->lines_count ? "," : "");
	print_text(bench->case_name);
	printf(",\"figure\":");
	print_text(line->figure ? line->figure : "");
	printf(",\"unit\":");
	print_text(line->unit);
	printf(",\"value\":%.6g,\"best\":%.6g,\"limit\":%.6g,\"bound_kind\":\"%s\",\"bound\":%g,\"count\":%llu,"
	       "\"repetitions\":%u,\"lost\":%llu,\"short\":%s}",
	       line->value, line->best, line->limit, kinds[line->kind], line->bound, (unsigned long long)line->count,
	       line->repetitions, (unsigned long long)line->lost_count, shortfall ? "true" : "false");
}

void bench_report(struct bench *bench, const struct bench_line *line)
{
	bool shortfall = is_short(line);
	if (bench->json)
		print_object(bench, line, shortfall);
	else
		print_row(bench, line, shortfall);
	fflush(stdout);
	bench->case_begins = false;
	bench->lines_count++;
	bench->short_count += shortfall;
}

/* Prints a text that belongs to no figure; in JSON as an object. */
static void print_line(struct bench *bench, const char *kind, const char *text, bool shortfall)
{
	if (bench->json) {
		printf("%s\n{\"case\":", bench->lines_count ? "," : "");
		print_text(bench->case_name);
		printf(",\"%s\":", kind);
		print_text(text);
		printf(",\"short\":%s}", shortfall ? "true" : "false");
		bench->lines_count++;
	} else {
		printf("%-42s %s%s: %s\n", bench->case_name, shortfall ? "SHORT, " : "", kind, text);
	}
	fflush(stdout);
	bench->short_count += shortfall;
}

void bench_note(struct bench *bench, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (bench->json)
		print_line(bench, "note", text, false);
	else
		printf("    %s\n", text);
}

void bench_skip(struct bench *bench, const char *why)
{
	print_line(bench, "left out", why, false);
}

void bench_fail(struct bench *bench, const char *step, epp_status *status)
{
	char text[512];
	snprintf(text, sizeof(text), "%s%s%s", step, status ? ": " : "", epp_status_message(status));
	epp_status_destroy(status);
	print_line(bench, "failed", text, true);
}

void bench_report_end(const struct bench *bench)
{
	double others = others_percent();
	if (bench->json) {
		printf("\n],\"others_percent\":%.1f,\"short_count\":%u}\n", others, bench->short_count);
		return;
	}
	printf("\n%u lines, %u SHORT; other programs took %.0f %% of the processors%s\n", bench->lines_count,
	       bench->short_count, others, others > 10 ? ": figures of a busy machine" : "");
}
