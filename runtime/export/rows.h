/* Maps events to the rows of a viewer: a process number and a thread number for each lane of each track.
 *
 * Viewers have only processes and threads.  A thread's own lane keeps the numbers of the operating system; devices
 * become processes and their streams become threads.  Lanes without such a number get a number that no process or
 * thread can have.  No two lanes share a row, and no two sources share a process, even if their numbers are equal. */
#ifndef EPPROF_RUNTIME_EXPORT_ROWS_H
#define EPPROF_RUNTIME_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/timeline.h"

/* The first number for processes and rows that have no number of their own.  It is above the largest pid of Linux
 * (2^22). */
#define ROWS_FIRST_SYNTHETIC 10000000u

/* A process of the viewer. */
struct rows_process {
	uint32_t pid;
	uint32_t source;
	int32_t producer;  /* producer of a device; -1: a process of the operating system */
	const char *group; /* the device's group; NULL: a process of the operating system */
	const char *name;
	bool announced; /* for the writer: the name of the process has been written */
	uint32_t gpu;   /* for the Perfetto writer: the number of the device (GPU) */
};

struct row {
	const epp_trace_track *track;
	uint32_t lane;
	uint32_t process; /* index of rows->processes */
	uint32_t pid;
	uint32_t tid;
	bool announced;
	uint8_t text_bytes; /* for the writer: length of the text that each event of the row has */
	uint8_t more_bytes; /* for the writer: length of the text after it, which some events have */
	char text[61];
};

#define ROWS_RECENT 256u

struct rows {
	struct rows_process *processes;
	size_t processes_count;
	struct row *rows;
	size_t rows_count, rows_room;
	struct hash_index index;      /* finds rows */
	uint32_t recent[ROWS_RECENT]; /* indexes of recently found rows, by a part of their hash */
	uint32_t next_synthetic;
	/* set before the first rows_find: true if devices (streams) keep the plugin's numbers, as far as these are
	 * free */
	bool number_devices, number_streams;
	/* if number_devices: the number of the next device that cannot keep its own; set before the first rows_find */
	uint32_t next_device;
};

void rows_deinit(struct rows *rows);

/* Finds the row of a lane, and creates it at the first call.  `info` has the name of the first process.  Errors:
 * EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *rows_find(struct rows *rows, const epp_trace_info *info, const epp_trace_track *track, uint32_t lane,
                      struct row **row) EPP_MUST_CHECK;

/* Returns the row of a lane if it was found recently, else NULL. */
static inline struct row *rows_recent(const struct rows *rows, const epp_trace_track *track, uint32_t lane)
{
	uint32_t index = rows->recent[(track->track + lane * 61u) % ROWS_RECENT];

	if (index >= rows->rows_count || rows->rows[index].track != track || rows->rows[index].lane != lane)
		return NULL;
	return &rows->rows[index];
}

/* Returns the sort position of a row within its process. */
int64_t rows_sort_index(const struct row *row);

/* Writes the suffix by which the lanes of a track differ: " (lane 2)", or "" for the first lane.  Returns `text`. */
#define ROWS_LANE_BYTES 48
char *rows_lane_text(uint32_t lane, char text[ROWS_LANE_BYTES]);

#endif
