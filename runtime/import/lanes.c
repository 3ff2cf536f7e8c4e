/* Maps processes and threads of the input to sources and tracks of the trace.  Some writers use texts as pids or tids.
 * Such an id is replaced by its hash, and the text becomes the name. */
#include "import/lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "import/import.h"

void lanes_init(struct lanes *lanes)
{
	*lanes = (struct lanes){ .producer = -1 };
}

void lanes_deinit(struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->count; i++)
		free(lanes->lanes[i].name);
	for (uint32_t i = 0; i < lanes->processes_count; i++)
		free(lanes->processes[i].name);
	free(lanes->lanes);
	hash_index_deinit(&lanes->index);
	free(lanes->processes);
	*lanes = (struct lanes){ 0 };
}

/* Returns the number for an id that is a text.  It is above all pids and tids of operating systems. */
static int64_t number_of_text(const struct event *event, struct event_text text)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);
	for (uint32_t i = 0; i < text.bytes; i++)
		hash = (hash ^ (unsigned char)event_chars(event, text)[i]) * UINT64_C(0x100000001B3);
	return (int64_t)(hash >> 1 | UINT64_C(1) << 62);
}

static bool fits_u32(int64_t number)
{
	return number >= 0 && number <= UINT32_MAX;
}

/* ---- processes ---- */

static bool has_process(const struct lanes *lanes, int64_t pid, uint32_t *index)
{
	for (*index = 0; *index < lanes->processes_count; ++*index)
		if (lanes->processes[*index].pid == pid)
			return true;
	return false;
}

static epp_status *find_process(struct import *import, const struct event *event, int64_t pid, uint32_t *index)
{
	struct lanes *lanes = &import->lanes;

	if (has_process(lanes, pid, index))
		return NULL;
	if (!array_reserve(&lanes->processes, &lanes->processes_room, lanes->processes_count + (size_t)1,
	                   sizeof(*lanes->processes)))
		return epp_status_no_memory();
	struct lane_process *process = &lanes->processes[lanes->processes_count];
	*process = (struct lane_process){ .pid = pid };
	if (event->pid_text.bytes) {
		process->name = strndup(event_chars(event, event->pid_text), event->pid_text.bytes);
		if (!process->name)
			return epp_status_no_memory();
	}
	*index = lanes->processes_count++;
	return NULL;
}

static void describe(struct import *import, const struct lane_process *process)
{
	if (process->has_source)
		epp_trace_writer_describe_source(import->writer, process->source,
		                                 fits_u32(process->pid) ? (uint32_t)process->pid : 0, process->name, NULL);
}

static epp_status *assign_source(struct import *import, struct lane_process *process)
{
	struct lanes *lanes = &import->lanes;

	if (process->has_source)
		return NULL;
	if (lanes->sources_count)
		EPP_TRY(epp_trace_writer_add_source(import->writer, &process->source));
	lanes->sources_count++;
	process->has_source = true;
	describe(import, process);
	return NULL;
}

epp_status *lanes_name_process(struct import *import, const struct event *event, const char *name, size_t bytes, bool *fits)
{
	uint32_t index;
	int64_t pid = event->pid_text.bytes ? number_of_text(event, event->pid_text) : event->pid;

	/* At most LANES_MAX processes get a name, because no more processes can have events. */
	*fits = has_process(&import->lanes, pid, &index) || import->lanes.processes_count < LANES_MAX;
	if (!*fits)
		return NULL;
	EPP_TRY(find_process(import, event, pid, &index));
	struct lane_process *process = &import->lanes.processes[index];
	char *copy = strndup(name, bytes);
	if (!copy)
		return epp_status_no_memory();
	free(process->name);
	process->name = copy;
	describe(import, process);
	return NULL;
}

/* ---- lanes ---- */

static uint64_t hash_of(int64_t pid, int64_t tid, bool is_device)
{
	return hash_pair((uint64_t)tid, (uint64_t)pid * 2 + is_device);
}

static bool is_lane(const struct lane *lane, int64_t pid, int64_t tid, bool is_device)
{
	return lane->pid == pid && lane->tid == tid && lane->is_device == is_device;
}

epp_status *lanes_find(struct import *import, const struct event *event, bool is_device, uint32_t *index)
{
	struct lanes *lanes = &import->lanes;
	int64_t pid = event->pid_text.bytes ? number_of_text(event, event->pid_text) : event->pid;
	int64_t tid = event->tid_text.bytes ? number_of_text(event, event->tid_text) : event->tid;

	*index = lanes->last;
	if (lanes->count && is_lane(&lanes->lanes[lanes->last], pid, tid, is_device))
		return NULL;
	uint64_t hash = hash_of(pid, tid, is_device);
	for (struct hash_probe probe = hash_index_probe(&lanes->index, hash);
	     hash_index_next(&lanes->index, &probe, index);) {
		if (is_lane(&lanes->lanes[*index], pid, tid, is_device)) {
			lanes->last = *index;
			return NULL;
		}
	}
	*index = LANE_NONE;
	if (lanes->count == LANES_MAX)
		return NULL;
	uint32_t process;
	EPP_TRY(find_process(import, event, pid, &process));
	if (!array_reserve(&lanes->lanes, &lanes->room, lanes->count + (size_t)1, sizeof(*lanes->lanes)) ||
	    !hash_index_add(&lanes->index, hash, lanes->count))
		return epp_status_no_memory();
	struct lane *lane = &lanes->lanes[lanes->count];
	*lane = (struct lane){ .pid = pid, .tid = tid, .process = process, .is_device = is_device };
	if (event->tid_text.bytes) {
		lane->name = strndup(event_chars(event, event->tid_text), event->tid_text.bytes);
		if (!lane->name)
			return epp_status_no_memory();
	}
	*index = lanes->last = lanes->count++;
	return NULL;
}

/* Makes the track of a device.  The kit writes device 0 as pid -1 and device 1 as pid -2.  In Chrome files, the pids of
 * devices count from 0. */
static epp_status *make_device(struct import *import, struct lane *lane, const struct lane_process *process, uint32_t *track)
{
	char name[48], group[48];
	int64_t device = lane->pid < 0 ? -1 - lane->pid : lane->pid;

	if (import_producer(import) < 0)
		return epp_status_no_memory();
	snprintf(name, sizeof(name), lane->tid >= 0 ? "stream %" PRId64 : "events", lane->tid);
	snprintf(group, sizeof(group), "device %" PRId64, device);
	/* Clock 1 has the single clock pair of ONNX Runtime's formula (device_events.h), which all its device tracks
	 * share. */
	bool formula = import->format == &import_ort;
	return epp_trace_writer_add_track(
	    import->writer,
	    &(epp_trace_track){ .kind = EPP_TRACK_DEVICE,
	                        .device = device <= INT32_MAX ? (int32_t)device : -1,
	                        .stream = lane->tid,
	                        .producer = import->lanes.producer,
	                        .clock_kind = formula ? 1 : 0,
	                        .clock = formula ? 1 : 0,
	                        .ticks_per_second = 1000000000u / (uint64_t)import->ns_per_tick,
	                        .name = lane->name ? lane->name : name,
	                        .group = process->name && !formula ? process->name : group },
	    track);
}

epp_status *lanes_track(struct import *import, uint32_t index, uint32_t *track)
{
	struct lane *lane = &import->lanes.lanes[index];
	struct lane_process *process = &import->lanes.processes[lane->process];

	*track = lane->track;
	if (lane->track)
		return NULL;
	if (lane->is_device) {
		EPP_TRY(make_device(import, lane, process, &lane->track));
	} else {
		EPP_TRY(assign_source(import, process));
		EPP_TRY(epp_trace_writer_add_track(
		    import->writer,
		    &(epp_trace_track){ .kind = EPP_TRACK_THREAD,
		                        .source = process->source,
		                        .thread_id = fits_u32(lane->tid) ? (uint32_t)lane->tid : 0,
		                        .device = -1,
		                        .producer = -1,
		                        .name = lane->name },
		    &lane->track));
	}
	*track = lane->track;
	return NULL;
}

uint32_t lanes_source(const struct lanes *lanes, uint32_t index)
{
	const struct lane *lane = &lanes->lanes[index];
	return lane->is_device ? 0 : lanes->processes[lane->process].source;
}

epp_status *lanes_name_thread(struct import *import, uint32_t index, const char *name, size_t bytes)
{
	struct lane *lane = &import->lanes.lanes[index];
	char *copy = strndup(name, bytes);

	if (!copy)
		return epp_status_no_memory();
	free(lane->name);
	lane->name = copy;
	return lane->track ? epp_trace_writer_rename_track(import->writer, lane->track, copy, NULL) : NULL;
}
