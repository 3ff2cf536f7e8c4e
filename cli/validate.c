/* epprof validate: checks the structure and the content of a trace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli/shared/accounts.h"

static const char
    help[] = "usage: epprof validate [OPTION]... TRACE\n"
	     "\n"
	     "Reads a whole trace and checks its structure, checksums, order, the pairing of events, ids, clocks, and\n"
	     "that every event of every producer is accounted for.  Prints one finding per line: severity, position in the\n"
	     "file, description.\n"
	     "\n"
	     "A device event cannot begin before the event that launched it.  If it does, by more than its error bound,\n"
	     "this is an error if it was placed by clock pairs, which guarantee the bound, and a warning if it was placed\n"
	     "by a formula.  An event that ends after the event that waited for it is a warning.\n"
	     "\n"
	     "The exit status is 3 if there is an error or a warning.  Notes report normal conditions, such as the end of\n"
	     "a killed process, or device work that continued after all host events around its launch had ended.\n"
	     "\n"
	     "Options:\n"
	     "  --strict  exit with status 3 also if events were lost\n"
	     "  --help    print this text\n";

/* `user` points to a uint64_t, the number of errors so far. */
static void print_finding(void *user, const epp_trace_finding *finding)
{
	static const char *const names[] = { "note", "warning", "error" };

	cli_progress_hide();
	*(uint64_t *)user += finding->severity == EPP_ERROR;
	printf("%s: ", names[finding->severity <= EPP_ERROR ? finding->severity : EPP_ERROR]);
	if (finding->offset != UINT64_MAX)
		printf("at byte %" PRIu64 ": ", finding->offset);
	cli_print_clean(stdout, finding->text, strlen(finding->text));
	putchar('\n');
}

/* ---- cause and effect ---- */

/* How a device event's time contradicts its parent, the host event that launched it: it begins before the parent, with
 * times from clock pairs (comparisons of the two clocks) or from another source; or it ends after the host event that
 * waited for it; or it ends after the outermost host event around its parent, and no host event waited for it. */
enum outside { BEFORE_BY_PAIRS, BEFORE_BY_OTHER, BEHIND_WAIT, BEHIND, OUTSIDE_KINDS };

/* The device events with such times, by kind. */
struct outsiders {
	uint64_t count[OUTSIDE_KINDS];
	struct {
		uint32_t source;
		uint64_t id;
	} where[OUTSIDE_KINDS];         /* process and id of the first event of each kind */
	char first[OUTSIDE_KINDS][768]; /* description of this event */
};

static char *short_text(const char *text, size_t bytes)
{
	char *clean = cli_clean(text, bytes);

	if (clean)
		cli_cut(clean, 60);
	return clean;
}

static void report_outsider(struct outsiders *outsiders, const epp_event *event)
{
	char off[CLI_NUMBER_BYTES], bound[CLI_NUMBER_BYTES];
	int64_t before_ns = event->parent_start_ns - event->start_ns;
	int64_t behind_ns = event->start_ns + event->duration_ns - event->parent_end_ns;
	bool before = before_ns > event->start_error_ns;
	enum outside kind = before && event->placement == EPP_PLACED_FITTED ? BEFORE_BY_PAIRS
	                    : before                                        ? BEFORE_BY_OTHER
	                    : event->flags & EPP_FLAG_AFTER_WAIT            ? BEHIND_WAIT
	                                                                    : BEHIND;

	if (outsiders->count[kind]++)
		return;
	char *name = short_text(event->name, event->name_bytes);
	char *track = short_text(event->track->name, strlen(event->track->name));
	outsiders->where[kind].source = event->track->source;
	outsiders->where[kind].id = event->id;
	snprintf(outsiders->first[kind], sizeof outsiders->first[kind],
	         "id %" PRIu64 " (%s on %s) at %.9f s: %s %s, bound %s", event->id, name ? name : "", track ? track : "",
	         (double)event->start_ns / 1e9, cli_duration((double)(before ? before_ns : behind_ns), off),
	         before ? "before that began" : "after its parent's end",
	         cli_duration((double)(before ? event->start_error_ns : event->end_error_ns), bound));
	free(name);
	free(track);
}

/* Checks device clocks without clock pairs, that is, those that were compared with the host's clock only once.  Reports
 * clocks that jumped, clocks whose events have causes and effects that contradict each other, and clocks whose events
 * are at times when no model ran.  *found counts the warnings. */
static void check_clocks(const epp_timeline_counts *counts, uint64_t *found)
{
	uint64_t errors = 0;
	char text[256], counted[CLI_COUNTED_BYTES];

	if (counts->jumped_clocks) {
		snprintf(text, sizeof text, "%s without clock pairs jumped: the jump is derived from causes and effects",
		         cli_counted(counts->jumped_clocks, "device clock", counted));
		print_finding(&errors, &(epp_trace_finding){ EPP_NOTE, UINT64_MAX, text });
	}
	if (counts->contradicted_clocks) {
		snprintf(text, sizeof text,
		         "%s without clock pairs: the causes of the events contradict each other everywhere; "
		         "the bounds of these events are all that any cause allows",
		         cli_counted(counts->contradicted_clocks, "device clock", counted));
		print_finding(&errors, &(epp_trace_finding){ EPP_WARNING, UINT64_MAX, text });
		++*found;
	}
	if (counts->adrift_clocks) {
		snprintf(text, sizeof text,
		         "%" PRIu64
		         " device clocks without clock pairs show events when no model ran, or runs without events, and "
		         "nothing names the causes of these events: their bounds reach from the start of the recording's run to its end",
		         counts->adrift_clocks);
		print_finding(&errors, &(epp_trace_finding){ EPP_NOTE, UINT64_MAX, text });
	}
}

static epp_status *check_causes(epp_trace *trace, uint64_t *found)
{
	static const struct {
		epp_severity severity;
		const char *one, *text;
	} kinds[OUTSIDE_KINDS] = {
		[BEFORE_BY_PAIRS] = { EPP_ERROR, "placed by clock pairs begins before the event that launched it",
		                      "placed by clock pairs begin before the events that launched them" },
		[BEFORE_BY_OTHER] = { EPP_WARNING, "begins before the event that launched it",
		                      "begin before the events that launched them" },
		[BEHIND_WAIT] = { EPP_WARNING, "ends after the event that waited for it",
		                  "end after the events that waited for them" },
		[BEHIND] = { EPP_NOTE, "ends after every host event that encloses its launch, and no wait covers it",
		             "end after every host event that encloses their launch, and no wait covers them" },
	};
	const epp_timeline_options options = { .struct_size = sizeof options, .unweighted = 1 };
	struct outsiders outsiders = { 0 };
	uint64_t errors = 0;
	epp_timeline *timeline;
	const epp_event *event;
	char text[1024], counted[CLI_COUNTED_BYTES];

	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (status)
		return status;
	check_clocks(epp_timeline_get_counts(timeline), found);
	while (epp_timeline_next(timeline, &event)) {
		if (event->flags & EPP_FLAG_OUTSIDE_PARENT)
			report_outsider(&outsiders, event);
	}
	status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	for (unsigned kind = 0; kind < OUTSIDE_KINDS && !status; kind++) {
		if (!outsiders.count[kind])
			continue;
		uint64_t offset;
		status = epp_trace_find_record(trace, outsiders.where[kind].source, outsiders.where[kind].id, &offset);
		bool one = outsiders.count[kind] == 1;
		snprintf(text, sizeof text, "%s %s; the first: %s",
		         cli_counted(outsiders.count[kind], "device event", counted),
		         one ? kinds[kind].one : kinds[kind].text, outsiders.first[kind]);
		*found += kinds[kind].severity != EPP_NOTE;
		print_finding(&errors, &(epp_trace_finding){ kinds[kind].severity, offset, text });
	}
	return status;
}

static int check(epp_trace *trace, const char *path, bool strict)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	struct accounts accounts;
	char records[CLI_COUNTED_BYTES], lost[CLI_NUMBER_BYTES];
	uint64_t found = 0, errors = 0;

	epp_status *status = epp_trace_validate(trace, print_finding, &errors, &found);
	/* Causes are checked with a timeline, which a trace with errors may not allow. */
	if (!status && !errors)
		status = check_causes(trace, &found);
	if (!status)
		status = accounts_add_up(&accounts, trace);
	cli_progress_end();
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	if (found) {
		char missing[ACCOUNTS_MISSING_BYTES];
		printf("invalid: ");
		if (accounts.truncated)
			printf("cut off, %s; ", accounts_missing(&accounts, missing));
		printf("%" PRIu64 " %s\n", found, found == 1 ? "finding" : "findings");
		return CLI_INVALID;
	}
	printf("valid: %s, %s lost, %s\n", cli_counted(info->records_count, "record", records),
	       accounts.lost_total ? cli_count(accounts.lost_total, lost) : "none", cli_state(info->state));
	return strict && accounts.lost_total ? CLI_INVALID : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "strict", no_argument, NULL, 'S' }, { 0 } };
	struct cli_options options = { &cli_validate, argc, argv, "", long_options, CLI_OK };
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
	int code = cli_open(path, &trace);
	if (code != CLI_OK)
		return code;
	code = check(trace, path, strict);
	epp_trace_close(trace);
	return code;
}

const struct cli_command cli_validate = {
	.name = "validate",
	.summary = "checks a trace: structure, checksums, times, counts of recorded and lost events",
	.help = help,
	.run = run
};
