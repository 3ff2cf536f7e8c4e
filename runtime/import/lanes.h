/* The processes and threads of an input, by the pids and tids of the input, and their sources and tracks in the trace.
 * A lane is a thread of the input, or a stream of a device.
 *
 * A process becomes a source, and a thread a track, at its first event.  A process or thread that only has a name is
 * not in the trace.  Devices are in source 0, with the host events that launched them, because the id of a parent is
 * relative to a source.  Names may come before or after events. */
#ifndef EPPROF_RUNTIME_IMPORT_LANES_H
#define EPPROF_RUNTIME_IMPORT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/hash_index.h"

#define LANES_MAX 16384u

struct import;

struct lane {
	int64_t pid, tid;
	uint32_t process;
	uint32_t track; /* 0: the lane has no event yet, so no track */
	bool is_device, has_slices;
	char *name;                    /* malloc; NULL: no name is known */
	uint64_t last_start, last_end; /* times of the last slice, in the order of the input */
};

struct lane_process {
	int64_t pid;
	char *name;
	uint32_t source;
	bool has_source;
};

struct lanes {
	struct lane *lanes;
	uint32_t count;
	size_t room;
	struct hash_index index; /* index of `lanes` */
	uint32_t last;
	struct lane_process *processes;
	uint32_t processes_count;
	size_t processes_room;
	uint32_t sources_count; /* number of sources so far */
	int32_t producer;       /* producer of the device events; -1: none yet */
};

struct event;

void lanes_init(struct lanes *lanes);
void lanes_deinit(struct lanes *lanes);

/* Finds the lane of an event, and adds it if it is new.  *index is LANE_NONE if there are too many lanes.  Keep the
 * index and no pointer, because adding a lane may move the array. */
#define LANE_NONE UINT32_MAX
epp_status *lanes_find(struct import *import, const struct event *event, bool is_device, uint32_t *index) EPP_MUST_CHECK;
/* Returns the track of a lane and creates it at the first call. */
epp_status *lanes_track(struct import *import, uint32_t index, uint32_t *track) EPP_MUST_CHECK;
uint32_t lanes_source(const struct lanes *lanes, uint32_t index);

/* Sets a name from the input's metadata.  *fits is false if too many processes have names. */
epp_status *lanes_name_process(struct import *import, const struct event *event, const char *name, size_t bytes,
                               bool *fits) EPP_MUST_CHECK;
epp_status *lanes_name_thread(struct import *import, uint32_t index, const char *name, size_t bytes) EPP_MUST_CHECK;

#endif
