/* Stores all events in memory.  A self-join reads the events again for each row, and creating a timeline each time
 * would be too slow.  When a statement repeats queries, all events are therefore loaded, in order of start, with hashes
 * of their ids and of their parents. */
#include "sql/sql.h"

#include <stdlib.h>

#include "base/status.h"

#define NONE SIZE_MAX

void sql_memory_deinit(struct sql_memory *memory)
{
	free(memory->events);
	free(memory->ids);
	free(memory->parents);
	*memory = (struct sql_memory){ 0 };
}

static epp_status *add_event(struct sql_memory *memory, const epp_event *event)
{
	if (memory->count == memory->room) {
		size_t room = memory->room + memory->room / 2 + 4096;
		struct sql_event *larger = room > UINT32_MAX ? NULL : reallocarray(memory->events, room, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		memory->events = larger;
		memory->room = room;
	}
	memory->events[memory->count++] = (struct sql_event){ .start_ns = event->start_ns,
		                                              .duration_ns = event->duration_ns,
		                                              .start_error_ns = event->start_error_ns,
		                                              .end_error_ns = event->end_error_ns,
		                                              .id = event->id,
		                                              .parent = event->parent,
		                                              .track = event->track,
		                                              .name_number = event->name_number,
		                                              .run = event->run,
		                                              .depth = event->depth,
		                                              .lane = event->lane,
		                                              .kind = event->kind,
		                                              .category = event->category,
		                                              .placement = event->placement,
		                                              .flags = event->flags,
		                                              .requests = event->requests,
		                                              .weight = event->weight };
	return NULL;
}

static size_t bucket_of(const struct sql_memory *memory, uint64_t id)
{
	/* Blocks of 64 consecutive ids have adjacent buckets, because most joins look up ids in sequence. */
	uint64_t block = (id >> 6) * UINT64_C(0x9E3779B97F4A7C15);

	return (size_t)(block >> 32 << 6 | ((id ^ block >> 58) & 63)) & (memory->buckets_count - 1);
}

/* Adds the events from the last to the first, so that each chain is in order of start.  Events without a parent are in
 * no chain of parents. */
static epp_status *hash_ids(struct sql_memory *memory)
{
	memory->buckets_count = 64;
	while (memory->buckets_count < memory->count)
		memory->buckets_count *= 2;
	memory->ids = calloc(memory->buckets_count, sizeof *memory->ids);
	memory->parents = calloc(memory->buckets_count, sizeof *memory->parents);
	if (!memory->ids || !memory->parents)
		return epp_status_no_memory();
	for (size_t i = memory->count; i-- > 0;) {
		struct sql_event *event = &memory->events[i];
		uint32_t *bucket = &memory->ids[bucket_of(memory, event->id)];
		event->next_of_id = *bucket;
		*bucket = (uint32_t)i + 1;
		if (!event->parent)
			continue;
		bucket = &memory->parents[bucket_of(memory, event->parent)];
		event->next_of_parent = *bucket;
		*bucket = (uint32_t)i + 1;
	}
	return NULL;
}

epp_status *sql_memory_fill(struct epp_sql *sql)
{
	struct sql_scan scan = { 0 };
	epp_status *status;

	if (sql->memory.complete)
		return NULL;
	status = sql_scan_start(sql, &scan, INT64_MIN, INT64_MAX, true);
	while (!status && scan.event) {
		status = add_event(&sql->memory, scan.event);
		if (!status)
			status = sql_scan_next(&scan);
	}
	sql_scan_end(&scan);
	if (!status)
		status = hash_ids(&sql->memory);
	sql->memory.complete = !status;
	if (status)
		sql_memory_deinit(&sql->memory);
	return status;
}

static size_t first_of_id(const struct sql_memory *memory, uint32_t next, uint64_t id)
{
	while (next && memory->events[next - 1].id != id)
		next = memory->events[next - 1].next_of_id;
	return next ? next - 1 : NONE;
}

size_t sql_memory_of_id(const struct sql_memory *memory, uint64_t id)
{
	return first_of_id(memory, memory->ids[bucket_of(memory, id)], id);
}

size_t sql_memory_next_of_id(const struct sql_memory *memory, size_t index)
{
	return first_of_id(memory, memory->events[index].next_of_id, memory->events[index].id);
}

static size_t first_of_parent(const struct sql_memory *memory, uint32_t next, uint64_t parent)
{
	while (next && memory->events[next - 1].parent != parent)
		next = memory->events[next - 1].next_of_parent;
	return next ? next - 1 : NONE;
}

size_t sql_memory_of_parent(const struct sql_memory *memory, uint64_t parent)
{
	return first_of_parent(memory, memory->parents[bucket_of(memory, parent)], parent);
}

size_t sql_memory_next_of_parent(const struct sql_memory *memory, size_t index)
{
	return first_of_parent(memory, memory->events[index].next_of_parent, memory->events[index].parent);
}

size_t sql_memory_from(const struct sql_memory *memory, int64_t start_ns)
{
	size_t low = 0, high = memory->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (memory->events[middle].start_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sql_memory_event(const struct epp_sql *sql, size_t index, epp_event *event)
{
	const struct sql_event *kept = &sql->memory.events[index];

	*event = (epp_event){ .start_ns = kept->start_ns,
		              .duration_ns = kept->duration_ns,
		              .start_error_ns = kept->start_error_ns,
		              .end_error_ns = kept->end_error_ns,
		              .id = kept->id,
		              .parent = kept->parent,
		              .track = kept->track,
		              .name_number = kept->name_number,
		              .run = kept->run,
		              .depth = kept->depth,
		              .lane = kept->lane,
		              .kind = kept->kind,
		              .category = kept->category,
		              .placement = kept->placement,
		              .flags = kept->flags,
		              .requests = kept->requests,
		              .weight = kept->weight };
	event->name = epp_trace_name(sql->trace, kept->name_number, &event->name_bytes);
}
