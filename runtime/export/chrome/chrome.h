/* What the parts of the Chrome writer share: its state, the head of a record (chrome_head.c), its args (chrome_args.c). */
#ifndef EPPROF_RUNTIME_EXPORT_CHROME_CHROME_H
#define EPPROF_RUNTIME_EXPORT_CHROME_CHROME_H

#include "export/arrows/flows.h"
#include "export/arrows/launches.h"
#include "export/json_object_keys.h"
#include "export/rows.h"
#include "export/writer.h"

#define CHROME_PIECES_COUNT 4096u
/* Room for a name's piece, a row's numbers, two times and what stands between them. */
#define CHROME_HEAD_BYTES 512u

/* A record's beginning up to its category, kept by name; its phase is put in each time. */
struct chrome_piece {
	uint32_t name;    /* 0: free */
	uint8_t category; /* the dialect's number */
	uint8_t bytes;
	char text[122]; /* longer ones are written anew each time */
};

struct chrome;

/* What the members of the family differ in. */
struct chrome_dialect {
	/* A category's number, and by that what stands from behind a name to the next key: `","cat":"Node",`. */
	unsigned (*category)(const epp_event *event);
	const char *const *category_ends;
	/* Args that come before all others: writes `"key":value` and a comma behind each, at most CHROME_IDS_BYTES, and tells
	 * `members` of the keys; NULL: there are none. */
	char *(*put_ids)(struct chrome *chrome, char *at, const epp_event *event, struct json_keys *json_keys);
	/* The arg `device` is the number that the device has in the file; its own, where that differs, is `plugin device`. */
	bool numbers_devices;
	const char *arrow; /* an arrow's name and category: `,"name":"launch","cat":"flow",` */
};
#define CHROME_IDS_BYTES 128u

struct chrome {
	const struct chrome_dialect *dialect;
	struct rows rows;
	void *moved;        /* tsearch tree of struct moved */
	struct flows drawn; /* by the program */
	struct launches launches;
	uint64_t next_flow;
	uint64_t flows_without_end, flows_back_in_time, counters_without_number, before_zero;
	struct json_keys json_keys;
	struct chrome_piece pieces[CHROME_PIECES_COUNT];
};

/* The parts of a writer of the family; chrome_start sets the dialect and comes first. */
void chrome_start(struct export_run *run, const struct chrome_dialect *dialect);
epp_status *chrome_event(struct export_run *run, const epp_event *event) EPP_MUST_CHECK;
/* Arrows that the program drew, behind the last event; what was left out. */
void chrome_write_drawn(struct export_run *run);
void chrome_write_receipts(const struct export_run *run);
void chrome_deinit(struct export_run *run);

/* The row of a lane, made known to the viewer.  Ownership: valid until the next call. */
epp_status *chrome_find_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
    EPP_MUST_CHECK;
static inline epp_status *chrome_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
{
	*row = rows_recent(&((const struct chrome *)run->state)->rows, track, lane);
	return *row ? NULL : chrome_find_row(run, track, lane, row);
}

/* The name of a device and its plugin, as a JSON text. */
void chrome_write_device_name(const struct export_run *run, const epp_trace_track *track);

/* A record's beginning, up to and with its time.  Returns where it goes on, in room for a duration and some words; the
 * caller commits. */
char *chrome_head(struct export_run *run, const epp_event *event, const struct row *row, char phase, int64_t time_ns);

static inline bool chrome_on_device(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE;
}
/* Whether an event has nothing for chrome_args to write, as most host events. */
static inline bool chrome_is_plain(const epp_event *event)
{
	return !event->flags && !event->args_count && !export_tells_place(event);
}
/* What epprof knows of an event, then the event's own args; the record is left open. */
void chrome_args(struct export_run *run, const epp_event *event);

#endif
