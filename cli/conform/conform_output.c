/* Prints results as text, TAP, JUnit and JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "conform.h"
#include "epprof/epprof.h"

bool conform_is_failure(const struct conform_result *result)
{
	return result->verdict == CONFORM_FAIL || result->verdict == CONFORM_CRASH || result->verdict == CONFORM_HANG;
}

static const char *verdict_word(const struct conform_result *result)
{
	return conform_verdict_names[result->verdict];
}

static void print_clean(FILE *to, const char *text)
{
	cli_print_clean(to, text, strlen(text));
}

static void print_nothing(FILE *to, const struct conform_report *report)
{
	(void)to, (void)report;
}

/* ---- text ---- */

static void print_line(FILE *to, const char *title, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "         %-9s ", title);
	print_clean(to, text);
	putc('\n', to);
}

static void text_result(FILE *to, const struct conform_report *report, size_t index)
{
	const struct conform_result *result = &report->results[index];

	fprintf(to, "%-7s  %s", verdict_word(result), result->about->name);
	/* If the plugin cannot be loaded, all cases have the same reason, which can be long. */
	bool is_repeated = index > 0 && strcmp(result->reason, report->results[index - 1].reason) == 0;
	if (result->verdict == CONFORM_SKIP) {
		fputs(": ", to);
		print_clean(to, is_repeated ? "as above" : result->reason);
	}
	putc('\n', to);
	if (result->verdict == CONFORM_PASS && result->waiver)
		print_line(to, "waived", "but it passes: the waiver can be removed");
	if (result->verdict == CONFORM_PASS || result->verdict == CONFORM_SKIP)
		return;
	print_line(to, "expected", result->about->expected);
	print_line(to, "seen", result->reason);
	print_line(to, "printed", result->printed);
	print_line(to, "contract", result->about->contract);
	print_line(to, "hosts", result->about->hosts);
	print_line(to, "waived", result->waiver);
}

static void text_end(FILE *to, const struct conform_report *report)
{
	size_t counts[CONFORM_VERDICTS_COUNT] = { 0 }, waived_count = 0;

	for (size_t i = 0; i < report->results_count; i++) {
		counts[report->results[i].verdict]++;
		waived_count += conform_is_failure(&report->results[i]) && report->results[i].waiver;
	}
	fprintf(to, "%zu case%s:", report->results_count, report->results_count == 1 ? "" : "s");
	for (int i = 0; i < CONFORM_VERDICTS_COUNT; i++) {
		if (counts[i])
			fprintf(to, " %zu %s", counts[i], conform_verdict_names[i]);
	}
	if (waived_count)
		fprintf(to, ", %zu waived", waived_count);
	putc('\n', to);
}

/* ---- TAP 13 ---- */

static void tap_begin(FILE *to, const struct conform_report *report)
{
	fprintf(to, "TAP version 13\n1..%zu\n", report->results_count);
}

/* Prints a text with '.' in the place of '#', which begins a directive in TAP. */
static void print_tap(FILE *to, const char *text)
{
	char *clean = cli_clean(text, strlen(text));

	for (char *at = clean; at && *at; at++)
		putc(*at == '#' ? '.' : *at, to);
	free(clean);
}

static void tap_result(FILE *to, const struct conform_report *report, size_t index)
{
	const struct conform_result *result = &report->results[index];

	fprintf(to, "%s %zu - %s", conform_is_failure(result) && !result->waiver ? "not ok" : "ok", index + 1,
	        result->about->name);
	if (result->verdict == CONFORM_SKIP) {
		fputs(" # SKIP ", to);
		print_tap(to, result->reason);
	} else if (conform_is_failure(result) && result->waiver) {
		fputs(" # SKIP waived: ", to);
		print_tap(to, result->waiver);
	}
	putc('\n', to);
	if (result->verdict != CONFORM_PASS && result->verdict != CONFORM_SKIP) {
		fprintf(to, "# %s: ", verdict_word(result));
		print_clean(to, result->reason);
		fprintf(to, "\n# expected: %s\n", result->about->expected);
	}
}

/* ---- JUnit ---- */

static void print_xml(FILE *to, const char *text)
{
	char *clean = cli_clean(text, strlen(text));

	for (char *at = clean; at && *at; at++) {
		if (*at == '&')
			fputs("&amp;", to);
		else if (*at == '<')
			fputs("&lt;", to);
		else if (*at == '"')
			fputs("&quot;", to);
		else
			putc(*at, to);
	}
	free(clean);
}

/* The numbers of failures and skips are attributes of the element <testsuite>.  They are left out, because this element
 * is printed before the cases run. */
static void junit_begin(FILE *to, const struct conform_report *report)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"", to);
	print_xml(to, report->library);
	fprintf(to, "\" tests=\"%zu\">\n", report->results_count);
}

static void junit_element(FILE *to, const char *element, const struct conform_result *result, const char *message)
{
	fprintf(to, "><%s type=\"%s\" message=\"", element, verdict_word(result));
	print_xml(to, message);
	fputs("\">", to);
	if (strcmp(element, "skipped") != 0) {
		fputs("expected: ", to);
		print_xml(to, result->about->expected);
		fputs("\ncontract: ", to);
		print_xml(to, result->about->contract);
		fputs("\nhosts: ", to);
		print_xml(to, result->about->hosts);
	}
	fprintf(to, "</%s></testcase>\n", element);
}

static void junit_result(FILE *to, const struct conform_report *report, size_t index)
{
	const struct conform_result *result = &report->results[index];

	fprintf(to, "<testcase classname=\"level %c\" name=\"%s\" time=\"%.3f\"", result->about->name[0],
	        result->about->name, (double)result->duration_ns / 1e9);
	if (result->verdict == CONFORM_SKIP)
		junit_element(to, "skipped", result, result->reason);
	else if (conform_is_failure(result) && result->waiver)
		junit_element(to, "skipped", result, result->waiver);
	else if (conform_is_failure(result))
		junit_element(to, "failure", result, result->reason);
	else
		fputs("/>\n", to);
}

static void junit_end(FILE *to, const struct conform_report *report)
{
	(void)report;
	fputs("</testsuite>\n</testsuites>\n", to);
}

/* ---- JSON: one result a line, as conform_waivers.c expects it ---- */

static void print_json(FILE *to, const char *key, const char *text)
{
	fprintf(to, ", \"%s\": ", key);
	cli_json_string_to(to, text, strlen(text));
}

static void json_begin(FILE *to, const struct conform_report *report)
{
	fputs("{\"kit\": \"epprof conform\"", to);
	print_json(to, "version", epp_version());
	print_json(to, "library", report->library);
	print_json(to, "library_sha256", report->library_hash);
	fprintf(to, ", \"seed\": %" PRIu64 ", \"results\": [\n", report->seed);
}

static void json_result(FILE *to, const struct conform_report *report, size_t index)
{
	const struct conform_result *result = &report->results[index];

	fprintf(to, "  {\"case\": \"%s\", \"verdict\": \"%s\", \"ms\": %.1f", result->about->name, verdict_word(result),
	        (double)result->duration_ns / 1e6);
	print_json(to, "contract", result->about->contract);
	print_json(to, "expected", result->about->expected);
	print_json(to, "hosts", result->about->hosts);
	print_json(to, "seen", result->reason);
	print_json(to, "printed", result->printed);
	if (result->waiver)
		print_json(to, "waiver", result->waiver);
	fprintf(to, "}%s\n", index + 1 < report->results_count ? "," : "");
}

static void json_end(FILE *to, const struct conform_report *report)
{
	(void)report;
	fputs("]}\n", to);
}

const struct conform_format conform_formats[] = {
	[CONFORM_TEXT] = { "text", print_nothing, text_result, text_end },
	[CONFORM_TAP] = { "tap", tap_begin, tap_result, print_nothing },
	[CONFORM_JUNIT] = { "junit", junit_begin, junit_result, junit_end },
	[CONFORM_JSON] = { "json", json_begin, json_result, json_end },
};
