/* Which row of a viewer an event stands on: a process number and a thread number for each lane of each track.
 *
 * Viewers know processes and threads alone.  A thread's own lane keeps the numbers of the operating system; devices become
 * processes, their streams threads, and lanes that have no such number get one that no process or thread can have.  No two
 * lanes share a row, and no two sources a process, even if their numbers are equal. */
#ifndef EPPROF_RUNTIME_EXPORT_ROWS_H
#define EPPROF_RUNTIME_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/timeline.h"

/* Beyond the largest number that Linux gives to a process or thread (2^22). */
#define ROWS_FIRST_SYNTHETIC 10000000u

/* A process of the viewer. */
struct rows_process {
	uint32_t pid;
	uint32_t source;
	int32_t producer;  /* a device's; -1: a real process */
	const char *group; /* a device's; NULL: a real process */
	const char *name;
	bool announced; /* for the writer: its name was written */
};

struct row {
	const epp_trace_track *track;
	uint32_t lane;
	uint32_t process; /* index */
	uint32_t pid;
	uint32_t tid;
	bool announced;
	uint8_t text_bytes; /* for the writer: what it writes for each event of the row, */
	uint8_t more_bytes; /* and behind that, what it writes for some */
	char text[61];
};

#define ROWS_RECENT 256u

struct rows {
	struct rows_process *processes;
	size_t processes_count;
	struct row *rows;
	size_t rows_count, rows_room;
	struct hash_index index;      /* of rows */
	uint32_t recent[ROWS_RECENT]; /* indexes of rows found last, by a part of their hash */
	uint32_t next_synthetic;
	bool number_devices, number_streams; /* set at first: these keep their own numbers where nobody else has them */
	uint32_t next_device; /* set at first with number_devices: from here on devices get one that have none of their own */
};

void rows_deinit(struct rows *rows);

/* The row of a lane; made when it is first asked for.  `info` names the first process.
 * Errors: EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *rows_find(struct rows *rows, const epp_trace_info *info, const epp_trace_track *track, uint32_t lane,
                      struct row **row) EPP_MUST_CHECK;

/* The same if it was found not long ago, else NULL. */
static inline struct row *rows_recent(const struct rows *rows, const epp_trace_track *track, uint32_t lane)
{
	uint32_t index = rows->recent[(track->track + lane * 61u) % ROWS_RECENT];

	if (index >= rows->rows_count || rows->rows[index].track != track || rows->rows[index].lane != lane)
		return NULL;
	return &rows->rows[index];
}

/* Where a row stands among its process's. */
int64_t rows_sort_index(const struct row *row);

/* "stream 1 (lane 2)": behind the track's name, what tells its lanes apart; "" for the first.  Returns `text`. */
#define ROWS_LANE_BYTES 48
char *rows_lane_text(uint32_t lane, char text[ROWS_LANE_BYTES]);

#endif
