/* Maps events to the rows of a viewer: a process number and a thread number for each lane of each track.
 *
 * Viewers have only processes and threads.  A thread's own lane keeps the numbers of the operating system; devices
 * become processes and their streams become threads.  Lanes without such a number get one that no process or thread can
 * have.  No two lanes share a row, and no two sources share a process, even if their numbers are equal. */
#ifndef EPPROF_RUNTIME_EXPORT_ROWS_H
#define EPPROF_RUNTIME_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/timeline.h"

/* Above the largest number that Linux gives to a process or thread (2^22). */
#define ROWS_FIRST_SYNTHETIC 10000000u

/* A process of the viewer. */
struct rows_process {
	uint32_t pid;
	uint32_t source;
	int32_t producer;  /* of a device; -1: an operating system process */
	const char *group; /* the device's group; NULL: a process of the operating system */
	const char *name;
	bool announced; /* for the writer: whether its name was written */
	uint32_t gpu;   /* for the writer: the number of a device */
};

struct row {
	const epp_trace_track *track;
	uint32_t lane;
	uint32_t process; /* index */
	uint32_t pid;
	uint32_t tid;
	bool announced;
	uint8_t text_bytes; /* for the writer: length of the text written for each event of the row, */
	uint8_t more_bytes; /* and of the text after it, written for some events */
	char text[61];
};

#define ROWS_RECENT 256u

struct rows {
	struct rows_process *processes;
	size_t processes_count;
	struct row *rows;
	size_t rows_count, rows_room;
	struct hash_index index;      /* of rows */
	uint32_t recent[ROWS_RECENT]; /* indexes of recently found rows, by a part of their hash */
	uint32_t next_synthetic;
	bool number_devices, number_streams; /* set at first: devices, streams keep their numbers if these are free */
	uint32_t next_device; /* set at first with number_devices: the next number for devices without their own */
};

void rows_deinit(struct rows *rows);

/* Returns the row of a lane and creates it at the first call. `info` has the name of the first process.  Errors:
 * EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *rows_find(struct rows *rows, const epp_trace_info *info, const epp_trace_track *track, uint32_t lane,
                      struct row **row) EPP_MUST_CHECK;

/* Returns the row if it is in the cache of recent rows, else NULL. */
static inline struct row *rows_recent(const struct rows *rows, const epp_trace_track *track, uint32_t lane)
{
	uint32_t index = rows->recent[(track->track + lane * 61u) % ROWS_RECENT];

	if (index >= rows->rows_count || rows->rows[index].track != track || rows->rows[index].lane != lane)
		return NULL;
	return &rows->rows[index];
}

/* Returns the sort position of a row within its process. */
int64_t rows_sort_index(const struct row *row);

/* Writes " (lane 2)", a suffix for the track's name that distinguishes its lanes; "" for the first lane.  Returns
 * `text`. */
#define ROWS_LANE_BYTES 48
char *rows_lane_text(uint32_t lane, char text[ROWS_LANE_BYTES]);

#endif
