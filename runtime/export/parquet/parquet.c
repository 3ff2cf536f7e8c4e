/* Writes a Parquet file with a row for each event, in order of start (docs/formats.md describes the columns).  The
 * footer's key-value metadata has the facts and the ledger of the trace. */
#include "base/status.h"
#include "export/args_text.h"
#include "export/event_columns.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/parquet/parquet_file.h"
#include "export/writer.h"

struct parquet {
	struct parquet_file file;
	struct parquet_field fields[COLUMNS_COUNT];
	struct args_text args_text;
};

static const struct parquet_field fields[COLUMNS_COUNT] = {
	[COLUMN_KIND] = { .name = "kind", .is_text = true, .has_dictionary = true },
	[COLUMN_NAME] = { .name = "name", .is_text = true, .has_dictionary = true },
	[COLUMN_CATEGORY] = { .name = "category", .is_text = true, .has_dictionary = true },
	[COLUMN_START_NS] = { .name = "start_ns", .sorted = true },
	[COLUMN_DURATION_NS] = { .name = "duration_ns" },
	[COLUMN_SOURCE] = { .name = "source", .has_dictionary = true },
	[COLUMN_PID] = { .name = "pid", .has_dictionary = true, .optional = true },
	[COLUMN_GROUP_NAME] = { .name = "group_name", .is_text = true, .has_dictionary = true },
	[COLUMN_TID] = { .name = "tid", .has_dictionary = true, .optional = true },
	[COLUMN_TRACK] = { .name = "track", .has_dictionary = true },
	[COLUMN_TRACK_NAME] = { .name = "track_name", .is_text = true, .has_dictionary = true },
	[COLUMN_DEVICE] = { .name = "device", .has_dictionary = true, .optional = true },
	[COLUMN_STREAM] = { .name = "stream", .has_dictionary = true, .optional = true },
	[COLUMN_LANE] = { .name = "lane", .has_dictionary = true },
	[COLUMN_DEPTH] = { .name = "depth", .has_dictionary = true },
	[COLUMN_ID] = { .name = "id" },
	[COLUMN_PARENT] = { .name = "parent", .optional = true },
	[COLUMN_RUN] = { .name = "run", .has_dictionary = true },
	[COLUMN_PLACEMENT] = { .name = "placement", .is_text = true, .has_dictionary = true },
	[COLUMN_START_ERROR_NS] = { .name = "start_error_ns" },
	[COLUMN_END_ERROR_NS] = { .name = "end_error_ns" },
	[COLUMN_FLAGS] = { .name = "flags", .is_text = true, .has_dictionary = true },
	[COLUMN_ARGS] = { .name = "args", .is_text = true, .optional = true },
};

static epp_status *add_track(struct parquet_file *file, const epp_trace_track *track)
{
	EPP_TRY(parquet_integer(file, COLUMN_SOURCE, track->source));
	if (track->pid)
		EPP_TRY(parquet_integer(file, COLUMN_PID, track->pid));
	EPP_TRY(parquet_constant(file, COLUMN_GROUP_NAME, track->group));
	if (export_has_thread(track))
		EPP_TRY(parquet_integer(file, COLUMN_TID, track->thread_id));
	EPP_TRY(parquet_integer(file, COLUMN_TRACK, track->track));
	EPP_TRY(parquet_constant(file, COLUMN_TRACK_NAME, track->name));
	if (track->device >= 0)
		EPP_TRY(parquet_integer(file, COLUMN_DEVICE, track->device));
	return track->kind == EPP_TRACK_DEVICE ? parquet_integer(file, COLUMN_STREAM, track->stream) : NULL;
}

static epp_status *add_args(struct parquet *parquet, const epp_event *event)
{
	const struct sink_memory *text = &parquet->args_text.memory;

	args_text_put(&parquet->args_text, event);
	EPP_TRY(args_text_take(&parquet->args_text));
	return parquet_text(&parquet->file, COLUMN_ARGS, text->bytes, text->count);
}

static epp_status *parquet_event(struct export_run *run, const epp_event *event)
{
	struct parquet *parquet = run->state;
	struct parquet_file *file = &parquet->file;
	char flags[EXPORT_FLAGS_BYTES];

	EPP_TRY(parquet_constant(file, COLUMN_KIND, export_kind(event->kind)));
	EPP_TRY(parquet_keyed_text(file, COLUMN_NAME, (uintptr_t)event->name, event->name, event->name_bytes));
	EPP_TRY(parquet_constant(file, COLUMN_CATEGORY, export_category(event->category)));
	EPP_TRY(parquet_integer(file, COLUMN_START_NS, event->start_ns));
	EPP_TRY(parquet_integer(file, COLUMN_DURATION_NS, event->duration_ns));
	EPP_TRY(add_track(file, event->track));
	EPP_TRY(parquet_integer(file, COLUMN_LANE, event->lane));
	EPP_TRY(parquet_integer(file, COLUMN_DEPTH, event->depth));
	EPP_TRY(parquet_integer(file, COLUMN_ID, (int64_t)event->id));
	if (event->parent)
		EPP_TRY(parquet_integer(file, COLUMN_PARENT, (int64_t)event->parent));
	EPP_TRY(parquet_integer(file, COLUMN_RUN, event->run));
	EPP_TRY(parquet_constant(file, COLUMN_PLACEMENT, epp_placement_name(event->placement)));
	EPP_TRY(parquet_integer(file, COLUMN_START_ERROR_NS, event->start_error_ns));
	EPP_TRY(parquet_integer(file, COLUMN_END_ERROR_NS, event->end_error_ns));
	size_t flags_bytes = (size_t)(export_put_flags(flags, event->flags) - flags);
	EPP_TRY(parquet_keyed_text(file, COLUMN_FLAGS, event->flags, flags, flags_bytes));
	if (event->args_count)
		EPP_TRY(add_args(parquet, event));
	return parquet_end_row(file);
}

static epp_status *parquet_begin(struct export_run *run)
{
	struct parquet *parquet = run->state;

	memcpy(parquet->fields, fields, sizeof fields);
	if (run->options->partitioned)
		parquet->fields[COLUMN_RUN].name = "session";
	EPP_TRY(args_text_init(&parquet->args_text));
	return parquet_file_init(&parquet->file, run->sink, parquet->fields, COLUMNS_COUNT);
}

/* Makes two texts for the metadata, each ended by a NUL: the facts as a JSON object, the ledger as an array. */
static epp_status *make_account(struct export_run *run, struct args_text *text)
{
	size_t count = ledger_count(run);

	sink_text(&text->sink, "{");
	facts_write_json(run, &text->sink);
	sink_bytes(&text->sink, "}", sizeof "}");
	sink_text(&text->sink, "[");
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		sink_text(&text->sink, i ? "," : "");
		ledger_write_account(&text->sink, &account);
	}
	sink_bytes(&text->sink, "]", sizeof "]");
	return args_text_take(text);
}

static epp_status *parquet_end(struct export_run *run)
{
	struct parquet *parquet = run->state;

	EPP_TRY(make_account(run, &parquet->args_text));
	const char *facts = parquet->args_text.memory.bytes;
	const struct parquet_pair pairs[] = { { "epprof.facts", facts }, { "epprof.ledger", facts + strlen(facts) + 1 } };
	return parquet_file_end(&parquet->file, pairs, sizeof pairs / sizeof *pairs);
}

static void parquet_deinit(struct export_run *run)
{
	struct parquet *parquet = run->state;

	parquet_file_deinit(&parquet->file);
	args_text_deinit(&parquet->args_text);
}

const struct export_writer export_parquet = {
	.format = { "parquet", ".parquet",
	            "Apache Parquet: one row per event, in order of start; for DuckDB, Spark, pandas" },
	.state_bytes = sizeof(struct parquet),
	.begin = parquet_begin,
	.event = parquet_event,
	.end = parquet_end,
	.deinit = parquet_deinit,
};
