/* State and functions that the writers of Chrome's trace events and of Kineto's JSON share. */
#ifndef EPPROF_RUNTIME_EXPORT_CHROME_CHROME_H
#define EPPROF_RUNTIME_EXPORT_CHROME_CHROME_H

#include "export/json_object_keys.h"
#include "export/links/flows.h"
#include "export/links/launches.h"
#include "export/rows.h"
#include "export/writer.h"

#define CHROME_PIECES_COUNT 4096u
/* Size of the room that is reserved for the beginning of a record: the piece with the name, the numbers of the row, two
 * times, and the text between these. */
#define CHROME_HEAD_BYTES 512u

/* The beginning of a record up to its category, cached by name.  The phase in it is overwritten for each record. */
struct chrome_piece {
	uint32_t name;    /* number of the name; 0: the entry is free */
	uint8_t category; /* the category, as numbered by the dialect */
	uint8_t bytes;
	char text[122]; /* longer texts are not cached */
};

struct chrome;

/* The differences between the formats of the Chrome family. */
struct chrome_dialect {
	/* Returns the category of an event, as numbered by the dialect.  The number is an index of the texts that
	 * follow the name, such as `","cat":"Node",`. */
	unsigned (*category)(const epp_event *event);
	const char *const *category_ends;
	/* Writes the args that come before all others, as `"key":value,` with at most CHROME_IDS_BYTES in total, and
	 * adds their keys to `json_keys`.  NULL: the dialect has no such args. */
	char *(*put_ids)(struct chrome *chrome, char *at, const epp_event *event, struct json_keys *json_keys);
	/* The arg `device` is the number of the device in the file.  If the plugin's own number differs, it is the arg
	 * `plugin device`. */
	bool numbers_devices;
	const char *arrow; /* name and category of an arrow: `,"name":"launch","cat":"flow",` */
};
#define CHROME_IDS_BYTES 128u

struct chrome {
	const struct chrome_dialect *dialect;
	struct rows rows;
	void *moved;             /* tsearch tree of struct moved */
	struct flows user_flows; /* arrows that the program drew */
	struct launches launches;
	uint64_t next_flow;
	uint64_t flows_without_end, flows_back_in_time, counters_without_number, before_zero;
	struct json_keys json_keys;
	struct chrome_piece pieces[CHROME_PIECES_COUNT];
};

/* The writers of the Chrome family call chrome_start first, which sets the dialect, then chrome_event for each event,
 * then the functions below. */
void chrome_start(struct export_run *run, const struct chrome_dialect *dialect);
epp_status *chrome_event(struct export_run *run, const epp_event *event) EPP_MUST_CHECK;
/* Must be called after the last event: writes the arrows that the program drew, and counts those without an event at an
 * end. */
void chrome_write_user_flows(struct export_run *run);
void chrome_write_receipts(const struct export_run *run);
void chrome_deinit(struct export_run *run);

/* Returns the row of a lane.  The first call for a row writes its metadata.  Ownership: valid until the next call. */
epp_status *chrome_find_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
    EPP_MUST_CHECK;
static inline epp_status *chrome_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
{
	*row = rows_recent(&((const struct chrome *)run->state)->rows, track, lane);
	return *row ? NULL : chrome_find_row(run, track, lane, row);
}

/* Writes the name of a device and its plugin, as a JSON text. */
void chrome_write_device_name(const struct export_run *run, const epp_trace_track *track);

static inline bool chrome_on_device(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE;
}
/* Returns true if chrome_args would write nothing for an event, as for most host events. */
static inline bool chrome_is_plain(const epp_event *event)
{
	return !event->flags && !event->args_count && !export_has_placement(event);
}

#endif
