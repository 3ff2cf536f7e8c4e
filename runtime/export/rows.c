/* Rows are found through a hash of track and lane; they are few (threads, streams, their lanes), events are many. */
#include "export/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

void rows_deinit(struct rows *rows)
{
	free(rows->processes);
	free(rows->rows);
	free(rows->buckets);
	memset(rows, 0, sizeof *rows);
}

static size_t bucket_of(const struct rows *rows, uint32_t track, uint32_t lane)
{
	uint64_t hash = (track * UINT64_C(0x9E3779B97F4A7C15)) ^ (lane * UINT64_C(0xC2B2AE3D27D4EB4F));

	return (size_t)(hash ^ hash >> 32) & (rows->buckets_count - 1);
}

/* Room for one more row, in the table at most half full. */
static epp_status *grow(struct rows *rows)
{
	size_t room = rows->rows_room ? rows->rows_room * 2 : 64;
	struct row *larger;
	uint32_t *buckets;

	if (rows->rows_count < rows->rows_room)
		return NULL;
	larger = realloc(rows->rows, room * sizeof *larger);
	if (!larger)
		return epp_status_no_memory();
	rows->rows = larger;
	buckets = calloc(room * 2, sizeof *buckets);
	if (!buckets)
		return epp_status_no_memory();
	free(rows->buckets);
	rows->buckets = buckets;
	rows->buckets_count = room * 2;
	rows->rows_room = room;
	for (size_t i = 0; i < rows->rows_count; i++) {
		size_t at = bucket_of(rows, rows->rows[i].track->track, rows->rows[i].lane);
		while (buckets[at])
			at = (at + 1) & (rows->buckets_count - 1);
		buckets[at] = (uint32_t)i + 1;
	}
	return NULL;
}

static uint32_t synthetic(struct rows *rows)
{
	return ROWS_FIRST_SYNTHETIC + rows->next_synthetic++;
}

static bool pid_taken(const struct rows *rows, uint32_t pid)
{
	for (size_t i = 0; i < rows->processes_count; i++) {
		if (rows->processes[i].pid == pid)
			return true;
	}
	return false;
}

static bool tid_taken(const struct rows *rows, uint32_t process, uint32_t tid)
{
	for (size_t i = 0; i < rows->rows_count; i++) {
		if (rows->rows[i].process == process && rows->rows[i].tid == tid)
			return true;
	}
	return false;
}

/* Threads, and tracks that belong to no device, stand in their process. */
static epp_status *process_of(struct rows *rows, const epp_trace_info *info, const epp_trace_track *track, uint32_t *index)
{
	bool is_host = track->kind == EPP_TRACK_THREAD || track->kind == EPP_TRACK_CALLS;
	bool is_device = !is_host && track->group[0];
	struct rows_process *process;

	for (size_t i = 0; i < rows->processes_count; i++) {
		process = &rows->processes[i];
		if (process->source != track->source || !process->group != !is_device)
			continue;
		if (is_device && (process->producer != track->producer || strcmp(process->group, track->group) != 0))
			continue;
		*index = (uint32_t)i;
		return NULL;
	}

	process = reallocarray(rows->processes, rows->processes_count + 1, sizeof *process);
	if (!process)
		return epp_status_no_memory();
	rows->processes = process;
	process += rows->processes_count;
	memset(process, 0, sizeof *process);
	process->source = track->source;
	process->producer = is_device ? track->producer : -1;
	process->group = is_device ? track->group : NULL;
	if (track->group[0])
		process->name = track->group;
	else
		process->name = info->program ? info->program : "";
	process->pid = track->pid;
	bool is_numbered = is_device && rows->number_devices;
	if (is_numbered && track->device >= 0)
		process->pid = (uint32_t)track->device;
	bool has_own = is_device ? is_numbered && track->device >= 0 : track->pid != 0;
	while (!has_own || pid_taken(rows, process->pid)) {
		process->pid = is_numbered ? rows->next_device++ : synthetic(rows);
		has_own = true;
	}
	*index = (uint32_t)rows->processes_count++;
	return NULL;
}

epp_status *rows_find(struct rows *rows, const epp_trace_info *info, const epp_trace_track *track, uint32_t lane,
                      struct row **found)
{
	uint32_t process = 0;
	struct row *row;
	size_t at = 0;

	*found = rows_recent(rows, track, lane);
	if (*found)
		return NULL;
	if (rows->rows_count) {
		for (at = bucket_of(rows, track->track, lane); rows->buckets[at];
		     at = (at + 1) & (rows->buckets_count - 1)) {
			row = &rows->rows[rows->buckets[at] - 1];
			if (row->track != track || row->lane != lane)
				continue;
			rows->recent[(track->track + lane * 61u) % ROWS_RECENT] = rows->buckets[at] - 1;
			*found = row;
			return NULL;
		}
	}

	EPP_TRY(process_of(rows, info, track, &process));
	EPP_TRY(grow(rows));
	row = &rows->rows[rows->rows_count];
	memset(row, 0, sizeof *row);
	row->track = track;
	row->lane = lane;
	row->process = process;
	row->pid = rows->processes[process].pid;
	row->tid = track->thread_id;
	bool numbered = rows->number_streams && track->kind == EPP_TRACK_DEVICE && track->stream >= 0 &&
	                track->stream < ROWS_FIRST_SYNTHETIC;
	if (numbered)
		row->tid = (uint32_t)track->stream;
	/* A thread's own lane gets its number, wherever its calls are first met. */
	if (lane || (track->kind != EPP_TRACK_THREAD && !numbered) || (!row->tid && !numbered) ||
	    tid_taken(rows, process, row->tid))
		row->tid = synthetic(rows);
	at = bucket_of(rows, track->track, lane);
	while (rows->buckets[at])
		at = (at + 1) & (rows->buckets_count - 1);
	rows->buckets[at] = (uint32_t)++rows->rows_count;
	*found = row;
	return NULL;
}

int64_t rows_sort_index(const struct row *row)
{
	int64_t lane = row->lane;
	/* Streams by their own number, as far as that is one to sort by. */
	bool by_stream = row->track->kind == EPP_TRACK_DEVICE && row->track->stream >= 0 && row->track->stream < 1000000;
	const epp_trace_track *beside = row->track->thread ? row->track->thread : row->track;
	/* Calls are next to their thread. */
	lane += row->track->kind == EPP_TRACK_CALLS ? 800 : 0;
	int64_t index = (by_stream ? row->track->stream : beside->track) * 1000 + (lane < 999 ? lane : 999);

	return index < INT32_MAX ? index : INT32_MAX;
}

char *rows_lane_text(uint32_t lane, char text[ROWS_LANE_BYTES])
{
	text[0] = '\0';
	if (lane)
		snprintf(text, ROWS_LANE_BYTES, " (lane %u)", lane + 1);
	return text;
}
