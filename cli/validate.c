/* epprof validate: whether a trace is what it says it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "cli.h"

static const char
    help[] = "usage: epprof validate [OPTION]... TRACE\n"
	     "\n"
	     "Reads a whole trace and checks its structure, checksums, order, the pairing of events, ids, clocks, and\n"
	     "that no producer's event is unaccounted for.  Prints what it finds, one finding a line: how grave, where\n"
	     "in the file, what.\n"
	     "\n"
	     "An event of a device cannot begin before the event that launched it.  If it does, by more than its bound,\n"
	     "that is an error where clock pairs placed it, since they claim the bound, and a warning where a formula\n"
	     "did.  If it ends after what waited for it, or after all around its launch, that is a warning.\n"
	     "\n"
	     "Exit status 3 if there is any error.  Warnings and notes tell of what a reader coped with, such as the\n"
	     "end of a process that was killed.\n"
	     "\n"
	     "Options:\n"
	     "  --strict  exit with status 3 also for warnings, and if any event was lost\n"
	     "  --help    this text\n";

struct findings {
	uint64_t warnings;
};

static void print_finding(void *user, const epp_trace_finding *finding)
{
	static const char *const names[] = { "note", "warning", "error" };
	struct findings *findings = user;
	char *text = cli_clean(finding->text, strlen(finding->text));

	findings->warnings += finding->severity == EPP_WARNING;
	printf("%s: ", names[finding->severity <= EPP_ERROR ? finding->severity : EPP_ERROR]);
	if (finding->offset != UINT64_MAX)
		printf("at byte %" PRIu64 ": ", finding->offset);
	printf("%s\n", text ? text : "");
	free(text);
}

/* ---- cause and effect ---- */

enum outside { BEFORE_BY_PAIRS, BEFORE_BY_OTHER, BEHIND, OUTSIDE_KINDS };

struct outsiders {
	uint64_t count[OUTSIDE_KINDS];
	char first[OUTSIDE_KINDS][256]; /* in words */
};

static void note_outsider(struct outsiders *outsiders, const epp_event *event)
{
	char off[CLI_NUMBER_BYTES], bound[CLI_NUMBER_BYTES];
	int64_t before_ns = event->parent_start_ns - event->start_ns;
	int64_t behind_ns = event->start_ns + event->duration_ns - event->parent_end_ns;
	bool before = before_ns > event->start_error_ns;
	enum outside kind = !before                                 ? BEHIND
	                    : event->placement == EPP_PLACED_FITTED ? BEFORE_BY_PAIRS
	                                                            : BEFORE_BY_OTHER;

	if (outsiders->count[kind]++)
		return;
	snprintf(outsiders->first[kind], sizeof outsiders->first[kind],
	         "id %" PRIu64 " (%.60s on %.60s) at %.9f s: %s %s, bound %s", event->id, event->name, event->track->name,
	         (double)event->start_ns / 1e9, cli_duration((double)(before ? before_ns : behind_ns), off),
	         before ? "before that began" : "behind its parent's end",
	         cli_duration((double)(before ? event->start_error_ns : event->end_error_ns), bound));
}

static epp_status *check_causes(epp_trace *trace, struct findings *findings, uint64_t *errors)
{
	static const char *const texts[OUTSIDE_KINDS] = {
		"placed by clock pairs begin before what launched them",
		"begin before what launched them",
		"end behind what waited for them or was around their launch",
	};
	struct outsiders outsiders = { 0 };
	epp_timeline *timeline;
	const epp_event *event;
	char text[512];

	epp_status *status = epp_timeline_create(trace, NULL, &timeline);
	if (status)
		return status;
	while (epp_timeline_next(timeline, &event)) {
		if (event->flags & EPP_FLAG_OUTSIDE_PARENT)
			note_outsider(&outsiders, event);
	}
	status = epp_timeline_status(timeline);
	epp_timeline_release(timeline);
	for (unsigned kind = 0; kind < OUTSIDE_KINDS && !status; kind++) {
		epp_severity severity = kind == BEFORE_BY_PAIRS ? EPP_ERROR : EPP_WARNING;
		if (!outsiders.count[kind])
			continue;
		snprintf(text, sizeof text, "%" PRIu64 " device events %s; the first: %s", outsiders.count[kind],
		         texts[kind], outsiders.first[kind]);
		*errors += severity == EPP_ERROR;
		print_finding(findings, &(epp_trace_finding){ severity, UINT64_MAX, text });
	}
	return status;
}

static int check(epp_trace *trace, const char *path, bool strict)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	struct findings findings = { 0 };
	struct accounts accounts;
	char records[CLI_NUMBER_BYTES], lost[CLI_NUMBER_BYTES];
	uint64_t errors = 0;

	epp_status *status = epp_trace_validate(trace, print_finding, &findings, &errors);
	if (!status && !errors)
		status = check_causes(trace, &findings, &errors);
	if (!status)
		status = accounts_add_up(&accounts, trace);
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	if (errors) {
		printf("invalid: %" PRIu64 " %s\n", errors, errors == 1 ? "error" : "errors");
		return CLI_INVALID;
	}
	printf("valid: %s records, %s lost, %s\n", cli_count(info->records_count, records),
	       accounts.lost_total ? cli_count(accounts.lost_total, lost) : "none", cli_state(info->state));
	return strict && (findings.warnings || accounts.lost_total) ? CLI_INVALID : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = { { "strict", no_argument, NULL, 'S' }, { 0 } };
	struct cli_options options = { &cli_validate, argc, argv, "", longs, CLI_OK };
	bool strict = false;
	epp_trace *trace;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		strict = strict || option == 'S';
	}
	const char *path = cli_options_trace(&options);
	if (!path)
		return options.exit;
	if (!cli_open(path, &trace))
		return CLI_UNREADABLE;
	int code = check(trace, path, strict);
	epp_trace_close(trace);
	return code;
}

const struct cli_command cli_validate = {
	.name = "validate", .summary = "checks a trace, from its structure to its accounts", .help = help, .run = run
};
