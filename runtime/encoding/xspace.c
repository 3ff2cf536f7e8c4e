/* Reads an XSpace. A plane is read in two passes. The first one reads its tables and sorts them by number; of entries
 * with the same number the last one is used, as in any protobuf map. The second one passes on its lines and events. A
 * line is read in two passes as well, because its name may follow its events. Nothing is copied: texts and metadata
 * point into the input. */
#include "encoding/xspace.h"

#include <stdlib.h>
#include <string.h>

#include "containers/array.h"

/* An entry of a plane's tables. */
struct metadata {
	int64_t id;
	size_t position; /* index among the table's entries, in file order */
	struct protobuf_string name;
	struct protobuf_string display_name;
	struct protobuf_reader stats_from; /* the message, to read again; only if it has stats */
};

struct table {
	struct metadata *entries;
	size_t count;
	size_t room;
};

struct reading {
	const struct xspace_reader *reader;
	struct xspace_account *account;
	struct table events;
	struct table stats;
	size_t found_count;
	struct xspace_stat found[XSPACE_STATS_MAX]; /* of the current plane or event */
};

static void count_damage(struct reading *reading, const struct protobuf_reader *walk)
{
	reading->account->damaged_count += walk->damaged;
}

/* ---- tables ---- */

static int metadata_compare(const void *a, const void *b)
{
	const struct metadata *left = a, *right = b;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->position < right->position ? -1 : left->position > right->position;
}

/* Sorts the table and keeps the last entry of each number. */
static void table_finish(struct table *table)
{
	size_t kept = 0;
	if (table->count)
		qsort(table->entries, table->count, sizeof(table->entries[0]), metadata_compare);
	for (size_t i = 0; i < table->count; i++) {
		if (i + 1 < table->count && table->entries[i].id == table->entries[i + 1].id)
			continue;
		table->entries[kept++] = table->entries[i];
	}
	table->count = kept;
}

static const struct metadata *table_find(const struct table *table, int64_t id)
{
	/* Most writers number from 1. */
	uint64_t guess = (uint64_t)id - 1;
	if (guess < table->count && table->entries[guess].id == id)
		return &table->entries[guess];
	size_t low = 0, high = table->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->entries[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->count && table->entries[low].id == id ? &table->entries[low] : NULL;
}

static bool table_add(struct reading *reading, struct table *table, struct protobuf_reader entry)
{
	struct protobuf_field field;
	struct metadata made = { .position = table->count };
	if (table->count == XSPACE_METADATA_MAX) {
		reading->account->metadata_lost_count++;
		return true;
	}
	if (!array_reserve(&table->entries, &table->room, table->count + 1, sizeof(*table->entries)))
		return false;
	while (protobuf_next(&entry, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_VARINT))
			made.id = (int64_t)field.value;
		if (!protobuf_is(&field, 2, PROTOBUF_BYTES))
			continue;
		struct protobuf_reader message = protobuf_reader_in(&field);
		made.name = made.display_name = (struct protobuf_string){ 0 };
		made.stats_from = (struct protobuf_reader){ 0 };
		struct protobuf_reader stats = message;
		while (protobuf_next(&message, &field)) {
			if (protobuf_is(&field, XMETADATA_NAME, PROTOBUF_BYTES))
				made.name = protobuf_as_string(&field);
			else if (protobuf_is(&field, XMETADATA_DISPLAY_NAME, PROTOBUF_BYTES))
				made.display_name = protobuf_as_string(&field);
			else if (protobuf_is(&field, XMETADATA_STATS, PROTOBUF_BYTES))
				made.stats_from = stats;
		}
		count_damage(reading, &message);
	}
	count_damage(reading, &entry);
	table->entries[table->count++] = made;
	return true;
}

/* ---- stats ---- */

static void stat_add(struct reading *reading, struct protobuf_reader message)
{
	struct protobuf_field field;
	struct xspace_stat stat = { 0 };
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, XSTAT_METADATA_ID, PROTOBUF_VARINT)) {
			stat.metadata_id = (int64_t)field.value;
		} else if (protobuf_is(&field, XSTAT_F64, PROTOBUF_FIXED64)) {
			stat.value.f64 = protobuf_as_f64(field.value);
			stat.type = XSTAT_F64;
		} else if (protobuf_is(&field, XSTAT_U64, PROTOBUF_VARINT) ||
		           protobuf_is(&field, XSTAT_I64, PROTOBUF_VARINT) ||
		           protobuf_is(&field, XSTAT_REF, PROTOBUF_VARINT)) {
			stat.value.u64 = field.value;
			stat.type = (int)field.number;
		} else if (protobuf_is(&field, XSTAT_TEXT, PROTOBUF_BYTES) ||
		           protobuf_is(&field, XSTAT_BYTES, PROTOBUF_BYTES)) {
			stat.value.text = protobuf_as_string(&field);
			stat.type = (int)field.number;
		}
	}
	count_damage(reading, &message);
	if (stat.type == XSTAT_REF) {
		const struct metadata *value = table_find(&reading->stats, (int64_t)stat.value.u64);
		stat.value.text = value ? value->name : (struct protobuf_string){ 0 };
		stat.type = value ? XSTAT_TEXT : 0;
	}
	if (!stat.type || reading->found_count == XSPACE_STATS_MAX) {
		reading->account->stats_lost_count++;
		return;
	}
	const struct metadata *metadata = table_find(&reading->stats, stat.metadata_id);
	if (metadata)
		stat.name = metadata->name;
	reading->found[reading->found_count++] = stat;
}

/* Adds all stats of a message; they are in field `number`. */
static void stats_add(struct reading *reading, struct protobuf_reader message, uint32_t number)
{
	struct protobuf_field field;
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, number, PROTOBUF_BYTES))
			stat_add(reading, protobuf_reader_in(&field));
	}
}

/* ---- events and lines ---- */

static void event_read(struct reading *reading, struct protobuf_reader message)
{
	struct protobuf_field field;
	struct xspace_event event = { 0 };
	reading->found_count = 0;
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, XEVENT_METADATA_ID, PROTOBUF_VARINT)) {
			event.metadata_id = (int64_t)field.value;
		} else if (protobuf_is(&field, XEVENT_OFFSET_PS, PROTOBUF_VARINT)) {
			event.offset_ps = (int64_t)field.value;
			event.occurrences = 0;
		} else if (protobuf_is(&field, XEVENT_DURATION_PS, PROTOBUF_VARINT)) {
			event.duration_ps = (int64_t)field.value;
		} else if (protobuf_is(&field, XEVENT_STATS, PROTOBUF_BYTES)) {
			stat_add(reading, protobuf_reader_in(&field));
		} else if (protobuf_is(&field, XEVENT_OCCURRENCES, PROTOBUF_VARINT)) {
			event.occurrences = (int64_t)field.value;
			event.offset_ps = 0;
		}
	}
	/* The times of a truncated event are unreliable. */
	if (message.damaged) {
		count_damage(reading, &message);
		return;
	}
	const struct metadata *metadata = table_find(&reading->events, event.metadata_id);
	reading->account->events_count++;
	if (metadata) {
		event.name = metadata->name;
		event.display_name = metadata->display_name;
		if (metadata->stats_from.at)
			stats_add(reading, metadata->stats_from, XMETADATA_STATS);
	} else {
		reading->account->nameless_count++;
	}
	event.stats = reading->found;
	event.stats_count = reading->found_count;
	if (reading->reader->event)
		reading->reader->event(reading->reader->user, &event);
}

static void line_read(struct reading *reading, const struct protobuf_reader message)
{
	struct protobuf_field field;
	struct xspace_line line = { 0 };
	struct protobuf_reader walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, XLINE_ID, PROTOBUF_VARINT))
			line.id = (int64_t)field.value;
		else if (protobuf_is(&field, XLINE_NAME, PROTOBUF_BYTES))
			line.name = protobuf_as_string(&field);
		else if (protobuf_is(&field, XLINE_TIMESTAMP_NS, PROTOBUF_VARINT))
			line.timestamp_ns = (int64_t)field.value;
		else if (protobuf_is(&field, XLINE_DURATION_PS, PROTOBUF_VARINT))
			line.duration_ps = (int64_t)field.value;
		else if (protobuf_is(&field, XLINE_DISPLAY_ID, PROTOBUF_VARINT))
			line.display_id = (int64_t)field.value;
		else if (protobuf_is(&field, XLINE_DISPLAY_NAME, PROTOBUF_BYTES))
			line.display_name = protobuf_as_string(&field);
	}
	count_damage(reading, &walk);
	if (reading->reader->line)
		reading->reader->line(reading->reader->user, &line);
	walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, XLINE_EVENTS, PROTOBUF_BYTES))
			event_read(reading, protobuf_reader_in(&field));
	}
}

/* ---- planes ---- */

static epp_status *plane_read(struct reading *reading, const struct protobuf_reader message)
{
	struct protobuf_field field;
	struct xspace_plane plane = { 0 };
	struct protobuf_reader walk = message;
	reading->events.count = reading->stats.count = 0;
	while (protobuf_next(&walk, &field)) {
		struct table *table = NULL;
		if (protobuf_is(&field, XPLANE_ID, PROTOBUF_VARINT))
			plane.id = (int64_t)field.value;
		else if (protobuf_is(&field, XPLANE_NAME, PROTOBUF_BYTES))
			plane.name = protobuf_as_string(&field);
		else if (protobuf_is(&field, XPLANE_EVENT_METADATA, PROTOBUF_BYTES))
			table = &reading->events;
		else if (protobuf_is(&field, XPLANE_STAT_METADATA, PROTOBUF_BYTES))
			table = &reading->stats;
		if (table && !table_add(reading, table, protobuf_reader_in(&field)))
			return epp_status_no_memory();
	}
	count_damage(reading, &walk);
	table_finish(&reading->events);
	table_finish(&reading->stats);
	reading->found_count = 0;
	stats_add(reading, message, XPLANE_STATS);
	plane.stats = reading->found;
	plane.stats_count = reading->found_count;
	if (reading->reader->plane && !reading->reader->plane(reading->reader->user, &plane))
		return NULL;
	walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, XPLANE_LINES, PROTOBUF_BYTES))
			line_read(reading, protobuf_reader_in(&field));
	}
	return NULL;
}

static bool is_all_zeros(const struct protobuf_reader *walk)
{
	for (const uint8_t *at = walk->at; at < walk->end; at++) {
		if (*at)
			return false;
	}
	return true;
}

static epp_status *space_read(struct reading *reading, const void *bytes, size_t count)
{
	struct protobuf_field field;
	struct protobuf_reader walk = protobuf_reader_of(bytes, count);
	while (walk.at < walk.end) {
		/* No field begins with a zero byte. Some hosts pass a whole buffer that is only partly filled. */
		if (!*walk.at && is_all_zeros(&walk))
			break;
		if (!protobuf_next(&walk, &field))
			break;
		bool is_error = protobuf_is(&field, XSPACE_ERRORS, PROTOBUF_BYTES);
		if (protobuf_is(&field, XSPACE_PLANES, PROTOBUF_BYTES))
			EPP_TRY(plane_read(reading, protobuf_reader_in(&field)));
		else if ((is_error || protobuf_is(&field, XSPACE_WARNINGS, PROTOBUF_BYTES)) && reading->reader->message)
			reading->reader->message(reading->reader->user, is_error, protobuf_as_string(&field));
	}
	count_damage(reading, &walk);
	return NULL;
}

epp_status *xspace_read(const void *bytes, size_t count, const struct xspace_reader *reader, struct xspace_account *account)
{
	*account = (struct xspace_account){ 0 };
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return epp_status_no_memory();
	reading->reader = reader;
	reading->account = account;
	epp_status *status = space_read(reading, bytes, count);
	free(reading->events.entries);
	free(reading->stats.entries);
	free(reading);
	if (!status && account->damaged_count)
		status = epp_status_create(EPP_CORRUPT, "XSpace: truncated messages: %llu; %llu events were read",
		                           (unsigned long long)account->damaged_count,
		                           (unsigned long long)account->events_count);
	return status;
}
