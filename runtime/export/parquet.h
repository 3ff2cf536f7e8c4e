/* What the parts of the Parquet writer share: the rows of a page, column by column, and what they are numbers of. */
#ifndef EPPROF_EXPORT_PARQUET_H
#define EPPROF_EXPORT_PARQUET_H

#include "export/args_text.h"
#include "export/parquet_file.h"
#include "export/writer.h"

#define PARQUET_PAGE_ROWS 16384u
/* Whole pages of a row group, at least so many rows.  For tests: fewer. */
extern uint64_t parquet_group_rows;

/* Columns, in their order. */
enum {
	KIND,
	NAME,
	CATEGORY,
	START_NS,
	DURATION_NS,
	SOURCE,
	PID,
	GROUP_NAME,
	TID,
	TRACK,
	TRACK_NAME,
	DEVICE,
	STREAM,
	LANE,
	DEPTH,
	ID,
	PARENT,
	RUN,
	PLACEMENT,
	START_ERROR_NS,
	END_ERROR_NS,
	FLAGS,
	ARGS,
	COLUMNS_COUNT
};

/* What depends on the track and the lane: SOURCE to LANE. */
#define PLACE_COLUMNS (LANE - SOURCE + 1)

/* Words of a byte of the event, their numbers in the dictionary + 1. */
struct words {
	uint32_t numbers[1u << EXPORT_FLAGS_COUNT]; /* flags have the most values */
	uint16_t page[PARQUET_PAGE_ROWS];
};

struct place_key {
	const epp_trace_track *track;
	uint64_t lane;
};

#define RECENT_COUNT 1024u

struct parquet {
	struct parquet_file file;
	struct parquet_field fields[COLUMNS_COUNT];
	struct args_text args_text;
	size_t rows_count; /* of the page */
	uint64_t group_rows_count;

	int64_t start_ns[PARQUET_PAGE_ROWS], duration_ns[PARQUET_PAGE_ROWS], depth[PARQUET_PAGE_ROWS],
	    id[PARQUET_PAGE_ROWS], run[PARQUET_PAGE_ROWS];
	int64_t start_error_ns[PARQUET_PAGE_ROWS], end_error_ns[PARQUET_PAGE_ROWS];
	uint32_t name[PARQUET_PAGE_ROWS], place[PARQUET_PAGE_ROWS];
	struct words kind, category, placement, flags;
	int64_t parent[PARQUET_PAGE_ROWS], args_bytes[PARQUET_PAGE_ROWS]; /* of those that have any */
	uint32_t has_parent[PARQUET_PAGE_ROWS], has_args[PARQUET_PAGE_ROWS];
	size_t parents_count, args_count;
	struct sink_memory args;

	/* Of the row group: */
	struct numbered places;
	uint32_t *of_places[PLACE_COLUMNS]; /* the numbers of each column for each place */
	size_t of_places_room;
	bool lacking[PLACE_COLUMNS]; /* some place has none */
	struct {
		struct place_key key;
		uint32_t number;
	} recent_places[RECENT_COUNT];
	struct {
		const char *text;
		uint32_t number;
	} recent_names[RECENT_COUNT];

	uint32_t numbers[PARQUET_PAGE_ROWS], levels[PARQUET_PAGE_ROWS]; /* the column that is being written */
	struct sink_memory mended;
};

/* ---- parquet_numbers.c ---- */

#define PARQUET_NO_VALUE UINT32_MAX

/* A text's number in the dictionary of a column. */
epp_status *parquet_add_text(struct parquet *parquet, int column, const char *text, size_t bytes, uint32_t *number)
    EPP_MUST_CHECK;
epp_status *parquet_find_name(struct parquet *parquet, const epp_event *event, uint32_t *number) EPP_MUST_CHECK;
epp_status *parquet_find_place(struct parquet *parquet, const epp_event *event, uint32_t *number) EPP_MUST_CHECK;

/* Those of an event's name, and of its track and lane: what was found last is found again at once. */
EPP_MUST_CHECK static inline epp_status *parquet_take_name(struct parquet *parquet, const epp_event *event, uint32_t *number)
{
	size_t at = event->name_number % RECENT_COUNT;

	/* The texts of names stay where they are until the trace is closed. */
	if (parquet->recent_names[at].text != event->name)
		return parquet_find_name(parquet, event, number);
	*number = parquet->recent_names[at].number;
	return NULL;
}

static inline size_t parquet_recent_place(const epp_event *event)
{
	return (event->track->track + event->lane * 61u) % RECENT_COUNT;
}

EPP_MUST_CHECK static inline epp_status *parquet_take_place(struct parquet *parquet, const epp_event *event,
                                                            uint32_t *number)
{
	size_t at = parquet_recent_place(event);

	if (parquet->recent_places[at].key.track != event->track || parquet->recent_places[at].key.lane != event->lane)
		return parquet_find_place(parquet, event, number);
	*number = parquet->recent_places[at].number;
	return NULL;
}
/* A new row group has none of them. */
void parquet_forget_numbers(struct parquet *parquet);

#endif
