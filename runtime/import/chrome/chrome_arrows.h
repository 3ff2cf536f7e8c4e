/* Arrows of the trace event format (s, t, f): points on threads at a time, joined by an id.  A point can be matched to
 * its slice only when all slices are known, so points wait in a temporary file. */
#ifndef EPPROF_RUNTIME_IMPORT_CHROME_CHROME_ARROWS_H
#define EPPROF_RUNTIME_IMPORT_CHROME_CHROME_ARROWS_H

#include "import/import.h"

struct arrow_point {
	uint64_t key;
	uint64_t ticks;
	uint32_t lane, device_lane; /* of the thread, and of the stream with the same numbers; LANE_NONE: too many */
	uint16_t phase;             /* 's', 't', 'f' */
	uint16_t to_next;           /* an end that refers to the next slice, not to the enclosing one */
};

struct chrome_arrows {
	struct temp_file points;
	uint64_t without_slice, without_other, between_processes;
};

epp_status *chrome_arrows_add(struct chrome_arrows *arrows, const struct arrow_point *point) EPP_MUST_CHECK;
/* Joins the points and writes the arrows; seals import->slices, which is sorted by lane. */
epp_status *chrome_arrows_write(struct chrome_arrows *arrows, struct import *import) EPP_MUST_CHECK;
void chrome_arrows_deinit(struct chrome_arrows *arrows);

#endif
