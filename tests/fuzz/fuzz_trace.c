/* Traces in memory: opened, validated, and read to the end by the timeline. */
#include <string.h>

#include "epprof/timeline.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/epp_builder.h"

static size_t touched; /* makes the reads of texts observable */

static void report(void *user, const epp_trace_finding *finding)
{
	(void)user;
	touched += strlen(finding->text);
}

static void read_tables(epp_trace *trace)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	epp_trace_ledger_entry entry = { .struct_size = sizeof entry };
	const epp_trace_track *track;
	epp_status *status = NULL;

	touched += strlen(info->program) + strlen(info->hostname);
	for (size_t i = 0; (track = epp_trace_track_at(trace, i)); i++)
		touched += strlen(track->name) + strlen(track->group) + (epp_trace_track_plugin(trace, track) != NULL);
	for (size_t i = 0; !status && i < epp_trace_ledger_count(trace); i++)
		status = epp_trace_ledger_at(trace, i, &entry);
	epp_status_destroy(status);
}

static void read_events(epp_trace *trace, int64_t from_ns, int64_t to_ns)
{
	epp_timeline_options options = { .struct_size = sizeof options, .from_ns = from_ns, .to_ns = to_ns };
	epp_timeline *timeline;
	const epp_event *event;
	epp_trace_arg arg;
	int64_t previous_ns = INT64_MIN;
	epp_status *status = epp_timeline_create(trace, &options, &timeline);

	while (!status && epp_timeline_next(timeline, &event)) {
		FUZZ_MUST(event->start_ns >= previous_ns && event->duration_ns >= 0);
		previous_ns = event->start_ns;
		touched += strlen(event->name);
		for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);)
			touched += strlen(arg.key) + (arg.type == EPP_ARG_TEXT && arg.text_bytes
			                                  ? (size_t)arg.value.text[arg.text_bytes - 1]
			                                  : 0);
	}
	if (!status) {
		status = epp_timeline_status(timeline);
		epp_timeline_destroy(timeline);
	}
	epp_status_destroy(status);
}

static void run(const uint8_t *bytes, size_t count)
{
	epp_trace *trace;
	uint64_t found;
	epp_status *status = builder_open_image(bytes, count, &trace);

	if (!status) {
		read_tables(trace);
		read_events(trace, 0, 0);
		read_events(trace, 1000, 4000);
		status = epp_trace_validate(trace, report, NULL, &found);
		epp_trace_close(trace);
	}
	epp_status_destroy(status);
}

const struct fuzz_target fuzz_trace = { "trace", run, fuzz_trace_seed, fuzz_trace_mutate };
