/* Parquet: a row for each event, in order of start (docs/formats.md describes the columns).  Ledger and facts stand in the
 * footer as key-value metadata, so that the account travels with the rows.
 *
 * Events are gathered column by column until a page is full.  What depends on the track alone is looked up when a track and
 * lane is first met in a row group, and each row has the number of its place; names and words are numbers from the start. */
#include <stdlib.h>

#include "base/status.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/parquet.h"

uint64_t parquet_group_rows = 1u << 20;

/* A row group ends early when it holds more than this, a page when its args are longer. */
#define GROUP_BYTES (64u << 20)
#define PAGE_ARGS_BYTES (1u << 20)

static const struct parquet_field fields[COLUMNS_COUNT] = {
	[KIND] = { .name = "kind", .kind = PARQUET_TEXT_DICTIONARY },
	[NAME] = { .name = "name", .kind = PARQUET_TEXT_DICTIONARY },
	[CATEGORY] = { .name = "category", .kind = PARQUET_TEXT_DICTIONARY },
	[START_NS] = { .name = "start_ns", .kind = PARQUET_INTEGER, .sorted = true },
	[DURATION_NS] = { .name = "duration_ns", .kind = PARQUET_INTEGER },
	[SOURCE] = { .name = "source", .kind = PARQUET_INTEGER_DICTIONARY },
	[PID] = { .name = "pid", .kind = PARQUET_INTEGER_DICTIONARY, .optional = true },
	[GROUP_NAME] = { .name = "group_name", .kind = PARQUET_TEXT_DICTIONARY },
	[TID] = { .name = "tid", .kind = PARQUET_INTEGER_DICTIONARY, .optional = true },
	[TRACK] = { .name = "track", .kind = PARQUET_INTEGER_DICTIONARY },
	[TRACK_NAME] = { .name = "track_name", .kind = PARQUET_TEXT_DICTIONARY },
	[DEVICE] = { .name = "device", .kind = PARQUET_INTEGER_DICTIONARY, .optional = true },
	[STREAM] = { .name = "stream", .kind = PARQUET_INTEGER_DICTIONARY, .optional = true },
	[LANE] = { .name = "lane", .kind = PARQUET_INTEGER_DICTIONARY },
	[DEPTH] = { .name = "depth", .kind = PARQUET_INTEGER },
	[ID] = { .name = "id", .kind = PARQUET_INTEGER },
	[PARENT] = { .name = "parent", .kind = PARQUET_INTEGER, .optional = true },
	[RUN] = { .name = "run", .kind = PARQUET_INTEGER },
	[PLACEMENT] = { .name = "placement", .kind = PARQUET_TEXT_DICTIONARY },
	[START_ERROR_NS] = { .name = "start_error_ns", .kind = PARQUET_INTEGER },
	[END_ERROR_NS] = { .name = "end_error_ns", .kind = PARQUET_INTEGER },
	[FLAGS] = { .name = "flags", .kind = PARQUET_TEXT_DICTIONARY },
	[ARGS] = { .name = "args", .kind = PARQUET_TEXT, .optional = true },
};

/* ---- pages ---- */

static epp_status *flush_integers(struct parquet *parquet, int column, const int64_t *values)
{
	const struct parquet_rows rows = { parquet->rows_count, parquet->rows_count, NULL };

	return parquet_page_integers(&parquet->file, (size_t)column, &rows, values);
}

static epp_status *flush_words(struct parquet *parquet, int column, struct words *words,
                               const char *(*text_of)(unsigned, char *))
{
	const struct parquet_rows rows = { parquet->rows_count, parquet->rows_count, NULL };
	char room[EXPORT_FLAGS_BYTES];
	uint32_t most = 0;

	for (size_t i = 0; i < parquet->rows_count; i++) {
		parquet->numbers[i] = words->numbers[words->page[i]] - 1;
		most |= parquet->numbers[i];
	}
	/* Some have no number yet, once or twice in a row group. */
	for (size_t i = 0; i < parquet->rows_count && most == UINT32_MAX; i++) {
		uint32_t *number = &words->numbers[words->page[i]];
		if (!*number) {
			const char *text = text_of(words->page[i], room);
			EPP_TRY(parquet_add_text(parquet, column, text, strlen(text), number));
			++*number;
		}
		parquet->numbers[i] = *number - 1;
	}
	return parquet_page_numbers(&parquet->file, (size_t)column, &rows, most ? parquet->numbers : NULL);
}

/* Most columns of places are simple: one value, or none, for all of them. */
static epp_status *flush_place_column(struct parquet *parquet, int column)
{
	const uint32_t *of_places = parquet->of_places[column - SOURCE];
	bool any = parquet->file.columns[column].dictionary.count > 0, all = !parquet->lacking[column - SOURCE];
	struct parquet_rows rows = { parquet->rows_count, any ? parquet->rows_count : 0, NULL };

	if (!any || (all && parquet->file.columns[column].dictionary.count == 1))
		return parquet_page_numbers(&parquet->file, (size_t)column, &rows, NULL);
	if (all) {
		for (size_t i = 0; i < parquet->rows_count; i++)
			parquet->numbers[i] = of_places[parquet->place[i]];
		return parquet_page_numbers(&parquet->file, (size_t)column, &rows, parquet->numbers);
	}
	rows.values_count = 0;
	rows.levels = parquet->levels;
	for (size_t i = 0; i < parquet->rows_count; i++) {
		uint32_t number = of_places[parquet->place[i]];
		parquet->numbers[rows.values_count] = number;
		parquet->levels[i] = number != PARQUET_NO_VALUE;
		rows.values_count += number != PARQUET_NO_VALUE;
	}
	return parquet_page_numbers(&parquet->file, (size_t)column, &rows, parquet->numbers);
}

static const char *kind_text(unsigned kind, char *room)
{
	(void)room;
	return export_kind(kind);
}

static const char *category_text(unsigned category, char *room)
{
	(void)room;
	return export_category(category);
}

static const char *placement_text(unsigned placement, char *room)
{
	(void)room;
	return epp_placement_name(placement);
}

static const char *flags_text(unsigned flags, char *room)
{
	*export_put_flags(room, flags) = '\0';
	return room;
}

static epp_status *flush_texts(struct parquet *parquet)
{
	const struct parquet_rows rows = { parquet->rows_count, parquet->args_count, parquet->has_args };

	EPP_TRY(parquet_page_texts(&parquet->file, ARGS, &rows, parquet->args_bytes, parquet->args.bytes,
	                           parquet->args.count));
	parquet->args_count = 0;
	parquet->args.count = 0;
	return NULL;
}

static epp_status *flush_page(struct parquet *parquet)
{
	const struct parquet_rows with_parent = { parquet->rows_count, parquet->parents_count, parquet->has_parent };
	const struct parquet_rows all = { parquet->rows_count, parquet->rows_count, NULL };

	if (!parquet->rows_count)
		return NULL;
	EPP_TRY(flush_words(parquet, KIND, &parquet->kind, kind_text));
	EPP_TRY(parquet_page_numbers(&parquet->file, NAME, &all, parquet->name));
	EPP_TRY(flush_words(parquet, CATEGORY, &parquet->category, category_text));
	EPP_TRY(flush_integers(parquet, START_NS, parquet->start_ns));
	EPP_TRY(flush_integers(parquet, DURATION_NS, parquet->duration_ns));
	for (int column = SOURCE; column <= LANE; column++)
		EPP_TRY(flush_place_column(parquet, column));
	EPP_TRY(flush_integers(parquet, DEPTH, parquet->depth));
	EPP_TRY(flush_integers(parquet, ID, parquet->id));
	EPP_TRY(parquet_page_integers(&parquet->file, PARENT, &with_parent, parquet->parent));
	EPP_TRY(flush_integers(parquet, RUN, parquet->run));
	EPP_TRY(flush_words(parquet, PLACEMENT, &parquet->placement, placement_text));
	EPP_TRY(flush_integers(parquet, START_ERROR_NS, parquet->start_error_ns));
	EPP_TRY(flush_integers(parquet, END_ERROR_NS, parquet->end_error_ns));
	EPP_TRY(flush_words(parquet, FLAGS, &parquet->flags, flags_text));
	EPP_TRY(flush_texts(parquet));
	parquet->group_rows_count += parquet->rows_count;
	parquet->rows_count = 0;
	parquet->parents_count = 0;
	return NULL;
}

static epp_status *flush_group(struct parquet *parquet)
{
	EPP_TRY(flush_page(parquet));
	EPP_TRY(parquet_group_end(&parquet->file));
	parquet_forget_numbers(parquet);
	parquet->group_rows_count = 0;
	return NULL;
}

/* ---- events ---- */

static epp_status *take_args(struct parquet *parquet, const epp_event *event)
{
	struct sink_memory *text = &parquet->args_text.memory;

	args_text_put(&parquet->args_text, event);
	EPP_TRY(args_text_take(&parquet->args_text));
	EPP_TRY(parquet_reserve(&parquet->args, text->count));
	memcpy(parquet->args.bytes + parquet->args.count, text->bytes, text->count);
	parquet->args.count += text->count;
	parquet->args_bytes[parquet->args_count++] = (int64_t)text->count;
	return NULL;
}

static epp_status *parquet_event(struct export_run *run, const epp_event *event)
{
	struct parquet *parquet = run->state;
	size_t row = parquet->rows_count;

	EPP_TRY(parquet_take_name(parquet, event, &parquet->name[row]));
	EPP_TRY(parquet_take_place(parquet, event, &parquet->place[row]));
	parquet->start_ns[row] = event->start_ns;
	parquet->duration_ns[row] = event->duration_ns;
	parquet->depth[row] = event->depth;
	parquet->id[row] = (int64_t)event->id;
	parquet->run[row] = event->run;
	parquet->start_error_ns[row] = event->start_error_ns;
	parquet->end_error_ns[row] = event->end_error_ns;
	parquet->kind.page[row] = event->kind;
	parquet->category.page[row] = event->category;
	parquet->placement.page[row] = event->placement;
	parquet->flags.page[row] = event->flags;
	parquet->parent[parquet->parents_count] = (int64_t)event->parent;
	parquet->has_parent[row] = event->parent != 0;
	parquet->parents_count += event->parent != 0;
	parquet->has_args[row] = event->args_count > 0;
	if (event->args_count)
		EPP_TRY(take_args(parquet, event));
	parquet->rows_count++;
	if (parquet->file.columns[NAME].dictionary.bytes_count > GROUP_BYTES)
		return flush_group(parquet);
	if (parquet->rows_count < PARQUET_PAGE_ROWS && parquet->args.count < PAGE_ARGS_BYTES)
		return NULL;
	EPP_TRY(flush_page(parquet));
	if (parquet->group_rows_count >= parquet_group_rows || parquet_held_bytes(&parquet->file) > GROUP_BYTES)
		return flush_group(parquet);
	return NULL;
}

/* ---- beginning and end ---- */

static epp_status *parquet_begin(struct export_run *run)
{
	struct parquet *parquet = run->state;

	memcpy(parquet->fields, fields, sizeof fields);
	if (run->options->partitioned)
		parquet->fields[RUN].name = "session";
	EPP_TRY(args_text_init(&parquet->args_text));
	return parquet_file_init(&parquet->file, run->sink, parquet->fields, COLUMNS_COUNT);
}

/* Texts with a zero behind each: the facts as a JSON object, the ledger as an array. */
static epp_status *make_account(struct export_run *run, struct args_text *text)
{
	size_t count = ledger_count(run);

	sink_text(&text->sink, "{");
	facts_write_json(run, &text->sink);
	sink_bytes(&text->sink, "}", sizeof "}");
	sink_text(&text->sink, "[");
	for (size_t i = 0; i < count; i++) {
		epp_trace_account account;
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

	EPP_TRY(flush_group(parquet));
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
	numbered_deinit(&parquet->places);
	for (int column = 0; column < PLACE_COLUMNS; column++)
		free(parquet->of_places[column]);
	free(parquet->args.bytes);
	free(parquet->mended.bytes);
}

const struct export_writer export_parquet = {
	.format = { "parquet", ".parquet",
	            "Apache Parquet: a row for each event, in order of start; for DuckDB, Spark, pandas" },
	.state_bytes = sizeof(struct parquet),
	.begin = parquet_begin,
	.event = parquet_event,
	.end = parquet_end,
	.deinit = parquet_deinit,
};
