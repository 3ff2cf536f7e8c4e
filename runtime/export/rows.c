/* Finds the row of a track and lane through a hash.  There are few rows (threads, streams, their lanes) and many
 * events. */
#include "export/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"

void rows_deinit(struct rows *rows)
{
	free(rows->processes);
	free(rows->rows);
	hash_index_deinit(&rows->index);
	memset(rows, 0, sizeof *rows);
}

static uint32_t make_synthetic_number(struct rows *rows)
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

/* Finds or adds the process of a track: the device for a track of a device, else the process that recorded the
 * track. */
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
		process->pid = is_numbered ? rows->next_device++ : make_synthetic_number(rows);
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
	uint32_t number;

	*found = rows_recent(rows, track, lane);
	if (*found)
		return NULL;
	uint64_t hash = hash_pair(track->track, lane);
	for (struct hash_probe probe = hash_index_probe(&rows->index, hash);
	     hash_index_next(&rows->index, &probe, &number);) {
		row = &rows->rows[number];
		if (row->track != track || row->lane != lane)
			continue;
		rows->recent[(track->track + lane * 61u) % ROWS_RECENT] = number;
		*found = row;
		return NULL;
	}

	EPP_TRY(process_of(rows, info, track, &process));
	if (!array_reserve(&rows->rows, &rows->rows_room, rows->rows_count + 1, sizeof *rows->rows) ||
	    !hash_index_add(&rows->index, hash, (uint32_t)rows->rows_count))
		return epp_status_no_memory();
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
	/* Only the first lane of a thread gets the thread's id, even if the thread's track of calls is added first. */
	if (lane || (track->kind != EPP_TRACK_THREAD && !numbered) || (!row->tid && !numbered) ||
	    tid_taken(rows, process, row->tid))
		row->tid = make_synthetic_number(rows);
	rows->rows_count++;
	*found = row;
	return NULL;
}

int64_t rows_sort_index(const struct row *row)
{
	int64_t lane = row->lane;
	/* Streams are sorted by their own number if it is small enough. */
	bool by_stream = row->track->kind == EPP_TRACK_DEVICE && row->track->stream >= 0 && row->track->stream < 1000000;
	const epp_trace_track *beside = row->track->thread ? row->track->thread : row->track;
	/* A track of calls is placed next to its thread. */
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
