/* Collects the facts: data about the recording and its clock, counts of the timeline, and the filters of the export. */
#include "export/facts.h"

#include "encoding/json.h"
#include "epprof/epprof.h"

struct list {
	struct fact *facts;
	size_t count;
};

static void add_text(struct list *list, const char *key, const char *text)
{
	list->facts[list->count++] = (struct fact){ .key = key, .kind = FACT_TEXT, .value.text = text ? text : "" };
}

static void add_u64(struct list *list, const char *key, uint64_t value)
{
	list->facts[list->count++] = (struct fact){ .key = key, .kind = FACT_U64, .value.u64 = value };
}

static void add_i64(struct list *list, const char *key, int64_t value)
{
	list->facts[list->count++] = (struct fact){ .key = key, .kind = FACT_I64, .value.i64 = value };
}

static void add_clock(struct list *list, const struct export_run *run)
{
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	epp_trace_get_clock(run->trace, &clock);
	add_text(list, "clock", run->info->clock);
	add_u64(list, "ticks_per_second", run->info->ticks_per_second);
	add_i64(list, "epoch_unix_ns", run->info->epoch_unix_ns);
	add_u64(list, "clock_readings", clock.pairs_count);
	add_i64(list, "largest_half_width_ns", clock.largest_half_width_ns);
	add_i64(list, "rate_error_ppb", clock.rate_error_ppb);
	add_i64(list, "largest_step_ns", clock.largest_step_ns);
}

size_t facts_collect(const struct export_run *run, struct fact facts[FACTS_MAX])
{
	static const char *const states[] = { "unknown", "finished", "recording", "cut off" };
	const epp_timeline_counts *counts = epp_timeline_get_counts(run->timeline);
	const epp_trace_info *info = run->info;
	struct list list = { facts, 0 };

	add_text(&list, "writer", "epprof " EPPROF_VERSION);
	add_text(&list, "program", info->program);
	add_text(&list, "label", info->label);
	add_text(&list, "hostname", info->hostname);
	add_u64(&list, "pid", info->pid);
	add_text(&list, "state", states[info->state < 4 ? info->state : 0]);
	add_text(&list, "file_id", info->file_id);
	add_clock(&list, run);
	add_u64(&list, "events", counts->events);
	add_u64(&list, "correlated", counts->correlated);
	add_u64(&list, "inferred", counts->inferred);
	add_u64(&list, "ambiguous", counts->ambiguous);
	add_u64(&list, "uncorrelated", counts->uncorrelated);
	add_u64(&list, "outside_parent", counts->outside_parent);
	add_i64(&list, "largest_error_ns", counts->largest_error_ns);
	if (run->from_ns != INT64_MIN)
		add_i64(&list, "from_ns", run->from_ns);
	if (run->to_ns != INT64_MAX)
		add_i64(&list, "to_ns", run->to_ns);
	return list.count;
}

void facts_write_json(const struct export_run *run, struct sink *sink)
{
	struct fact facts[FACTS_MAX];
	size_t count = facts_collect(run, facts);

	for (size_t i = 0; i < count; i++) {
		sink_text(sink, i ? "," : "");
		sink_json_string(sink, facts[i].key);
		sink_text(sink, ":");
		char *at = sink_reserve(sink, JSON_NUMBER_BYTES);
		if (facts[i].kind == FACT_TEXT)
			sink_json_string(sink, facts[i].value.text);
		else if (facts[i].kind == FACT_U64)
			sink_commit(sink, json_u64_exact(at, facts[i].value.u64));
		else
			sink_commit(sink, json_i64_exact(at, facts[i].value.i64));
	}
}
