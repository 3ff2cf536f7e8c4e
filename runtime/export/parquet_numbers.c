/* What rows have numbers for: texts, and places, which are a track and a lane with all the columns that follow from them. */
#include <stdlib.h>

#include "base/status.h"
#include "export/parquet.h"
#include "wire/utf8.h"

epp_status *parquet_add_text(struct parquet *parquet, int column, const char *text, size_t bytes, uint32_t *number)
{
	struct numbered *dictionary = &parquet->file.columns[column].dictionary;

	if (utf8_valid_bytes(text, bytes) < bytes) {
		parquet->mended.count = 0;
		EPP_TRY(parquet_reserve(&parquet->mended, bytes * 3));
		bytes = (size_t)(utf8_mend(parquet->mended.bytes, text, bytes) - parquet->mended.bytes);
		text = parquet->mended.bytes;
	}
	return numbered_add(dictionary, text, bytes, number);
}

/* The number that a column has for a place. */
static uint32_t *of_place(struct parquet *parquet, int column, uint32_t place)
{
	return &parquet->of_places[column - SOURCE][place];
}

static epp_status *add_integer(struct parquet *parquet, int column, uint32_t place, bool known, int64_t value)
{
	if (known)
		return numbered_add(&parquet->file.columns[column].dictionary, &value, sizeof value,
		                    of_place(parquet, column, place));
	parquet->lacking[column - SOURCE] = true;
	*of_place(parquet, column, place) = PARQUET_NO_VALUE;
	return NULL;
}

static epp_status *describe_place(struct parquet *parquet, const epp_trace_track *track, uint32_t lane, uint32_t place)
{
	bool is_thread = export_has_thread(track), is_device = track->kind == EPP_TRACK_DEVICE;

	EPP_TRY(add_integer(parquet, SOURCE, place, true, track->source));
	EPP_TRY(add_integer(parquet, PID, place, track->pid, track->pid));
	EPP_TRY(parquet_add_text(parquet, GROUP_NAME, track->group, strlen(track->group),
	                         of_place(parquet, GROUP_NAME, place)));
	EPP_TRY(add_integer(parquet, TID, place, is_thread, track->thread_id));
	EPP_TRY(add_integer(parquet, TRACK, place, true, track->track));
	EPP_TRY(parquet_add_text(parquet, TRACK_NAME, track->name, strlen(track->name),
	                         of_place(parquet, TRACK_NAME, place)));
	EPP_TRY(add_integer(parquet, DEVICE, place, track->device >= 0, track->device));
	EPP_TRY(add_integer(parquet, STREAM, place, is_device, track->stream));
	return add_integer(parquet, LANE, place, true, lane);
}

static epp_status *grow_places(struct parquet *parquet)
{
	size_t room = parquet->places.count * 2ul;

	for (int column = 0; column < PLACE_COLUMNS; column++) {
		uint32_t *larger = reallocarray(parquet->of_places[column], room, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		parquet->of_places[column] = larger;
	}
	parquet->of_places_room = room;
	return NULL;
}

static epp_status *add_place(struct parquet *parquet, const epp_event *event, uint32_t *number)
{
	const struct place_key key = { event->track, event->lane };
	uint32_t before = parquet->places.count;

	EPP_TRY(numbered_add(&parquet->places, &key, sizeof key, number));
	if (*number < before)
		return NULL;
	if (parquet->places.count > parquet->of_places_room)
		EPP_TRY(grow_places(parquet));
	return describe_place(parquet, event->track, event->lane, *number);
}

epp_status *parquet_find_place(struct parquet *parquet, const epp_event *event, uint32_t *number)
{
	size_t at = parquet_recent_place(event);

	EPP_TRY(add_place(parquet, event, number));
	parquet->recent_places[at].key = (struct place_key){ event->track, event->lane };
	parquet->recent_places[at].number = *number;
	return NULL;
}

epp_status *parquet_find_name(struct parquet *parquet, const epp_event *event, uint32_t *number)
{
	size_t at = event->name_number % RECENT_COUNT;

	EPP_TRY(parquet_add_text(parquet, NAME, event->name, event->name_bytes, number));
	parquet->recent_names[at].text = event->name;
	parquet->recent_names[at].number = *number;
	return NULL;
}

void parquet_forget_numbers(struct parquet *parquet)
{
	numbered_clear(&parquet->places);
	memset(parquet->lacking, 0, sizeof parquet->lacking);
	memset(parquet->recent_places, 0, sizeof parquet->recent_places);
	memset(parquet->recent_names, 0, sizeof parquet->recent_names);
	memset(parquet->kind.numbers, 0, sizeof parquet->kind.numbers);
	memset(parquet->category.numbers, 0, sizeof parquet->category.numbers);
	memset(parquet->placement.numbers, 0, sizeof parquet->placement.numbers);
	memset(parquet->flags.numbers, 0, sizeof parquet->flags.numbers);
}
