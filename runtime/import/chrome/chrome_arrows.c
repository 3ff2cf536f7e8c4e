/* Joins arrows: finds the slice of each point, sorts the points by id and time, and joins each point other than a start
 * to the one before it. */
#include "import/chrome/chrome_arrows.h"

#include <string.h>

#include "format/format.h"

#define TO_NEXT 0x100u /* flag in the phase: the point refers to the slice that begins there or next */

epp_status *chrome_arrows_add(struct chrome_arrows *arrows, const struct arrow_point *point)
{
	return temp_file_put(&arrows->points, point, sizeof(*point));
}

void chrome_arrows_deinit(struct chrome_arrows *arrows)
{
	temp_file_deinit(&arrows->points);
}

/* Makes the sorter entry of one end of an arrow.  Entries are first sorted by lane and time, so that slices are read in
 * order, and then by id and time. */
static struct sorter_entry entry_of(const struct arrow_point *point)
{
	return (struct sorter_entry){ .key = point->lane + 1ull,
		                      .start = point->ticks,
		                      .end = point->key,
		                      .track = point->lane,
		                      .name = point->phase | (point->to_next ? TO_NEXT : 0) };
}

static epp_status *sort_by_lane(struct chrome_arrows *arrows, struct import *import, struct sorter *points)
{
	const struct lanes *lanes = &import->lanes;

	EPP_TRY(temp_file_rewind(&arrows->points));
	for (;;) {
		struct arrow_point point;
		const void *piece;
		size_t bytes;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(temp_file_get(&arrows->points, &piece, &bytes));
		if (!piece)
			return sorter_seal(points);
		memcpy(&point, piece, sizeof(point));
		if (point.device_lane != LANE_NONE && lanes->lanes[point.device_lane].track)
			point.lane = point.device_lane;
		if (point.lane == LANE_NONE || !lanes->lanes[point.lane].track) {
			arrows->without_slice++;
			continue;
		}
		struct sorter_entry entry = entry_of(&point);
		EPP_TRY(sorter_add(points, &entry));
	}
}

/* The key of both slices and points is the lane + 1. */
static epp_status *find_slice(struct import *import, const struct sorter_entry *point, uint64_t *id)
{
	struct sorter_entry entry;
	bool found;

	*id = 0;
	if (point->name & TO_NEXT) {
		uint64_t place;
		EPP_TRY(sorter_find(&import->slices, point->key, point->start, &place));
		if (place < import->slices.count) {
			EPP_TRY(sorter_at(&import->slices, place, &entry));
			if (entry.key == point->key) {
				*id = entry.id;
				return NULL;
			}
		}
	}
	EPP_TRY(sorter_containing(&import->slices, point->key, point->start, 0, &entry, &found));
	if (found)
		*id = entry.id;
	return NULL;
}

static epp_status *resolve(struct chrome_arrows *arrows, struct import *import, struct sorter *points, struct sorter *ends)
{
	for (uint64_t place = 0; place < points->count; place++) {
		struct sorter_entry point;
		uint64_t id;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(sorter_at(points, place, &point));
		EPP_TRY(find_slice(import, &point, &id));
		if (!id) {
			arrows->without_slice++;
			continue;
		}
		/* At equal times a start comes first: the longer entry sorts first, and `end` encodes that order. */
		uint32_t phase = point.name & ~TO_NEXT;
		uint64_t order = phase == 's' ? 3 : phase == 't' ? 2 : 1;
		EPP_TRY(sorter_add(ends, &(struct sorter_entry){ .key = point.end,
		                                                 .start = point.start,
		                                                 .end = order,
		                                                 .id = id,
		                                                 .track = point.track,
		                                                 .name = phase }));
	}
	return sorter_seal(ends);
}

static epp_status *write_arrow(struct chrome_arrows *arrows, struct import *import, const struct sorter_entry *from,
                               const struct sorter_entry *to)
{
	epp_trace_record record = {
		.kind = EPP_RECORD_FLOW, .start_ticks = from->start, .id = to->id, .parent = from->id, .name = EPF_NAME_FLOW
	};

	if (lanes_source(&import->lanes, from->track) != lanes_source(&import->lanes, to->track)) {
		arrows->between_processes++;
		return NULL;
	}
	import->counts.events++;
	EPP_TRY(lanes_track(import, from->track, &record.track));
	return epp_trace_writer_record(import->writer, &record);
}

static epp_status *join(struct chrome_arrows *arrows, struct import *import, struct sorter *ends)
{
	struct sorter_entry before = { 0 }, entry;
	bool has_before = false;

	for (uint64_t place = 0; place < ends->count; place++) {
		EPP_TRY(sorter_at(ends, place, &entry));
		bool joined = has_before && before.key == entry.key && entry.name != 's';
		if (joined)
			EPP_TRY(write_arrow(arrows, import, &before, &entry));
		else if (entry.name != 's')
			arrows->without_other++;
		has_before = entry.name != 'f';
		before = entry;
	}
	return NULL;
}

epp_status *chrome_arrows_write(struct chrome_arrows *arrows, struct import *import)
{
	struct sorter points = { 0 }, ends = { 0 };

	if (!arrows->points.count)
		return NULL;
	EPP_TRY(sorter_seal(&import->slices));
	epp_status *status = sort_by_lane(arrows, import, &points);
	if (!status)
		status = resolve(arrows, import, &points, &ends);
	sorter_deinit(&points);
	if (!status)
		status = join(arrows, import, &ends);
	sorter_deinit(&ends);
	import_note_count(import, arrows->without_slice, "end%s of arrows left out: there is no slice where they point");
	import_note_count(import, arrows->without_other, "end%s of arrows left out: they have no beginning");
	import_note_count(import, arrows->between_processes, "arrow%s between processes left out: a trace has none");
	return status;
}
