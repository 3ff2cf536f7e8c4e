/* State and functions that the files of the XSpace importer share.
 *
 *   xplane.c        planes and lines, and the order in which they are read
 *   xplane_track.c  the kind of a plane, the track of a line
 *   xplane_event.c  converts an event and its stats to a record
 *   xplane_links.c  calls and their kernels, producers and consumers
 *   xplane_names.c  the tables of a plane
 *   xplane_file.c   bytes and fields */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H

#include "import/sorter.h"
#include "import/xspace/xplane_file.h"
#include "import/xspace/xplane_names.h"

/* Further planes, and lines of one plane or of all, are left out. */
#define XPLANE_PLANES_MAX 1024u
#define XPLANE_LINES_MAX 16384u
#define XPLANE_NAME_BYTES 128u
/* Binary values of one event; of further ones not even the size is kept. */
#define XPLANE_SIZES_MAX 16u

enum xplane_kind {
	XPLANE_HOST, /* lines are threads */
	XPLANE_DEVICE,
	XPLANE_ABOUT, /* not on the timeline: data about the session */
};

struct xplane {
	struct xplane_message message;
	enum xplane_kind kind;
	bool is_tpu;
	int32_t device;
	uint32_t group; /* planes with equal names share a group; so do all planes of hosts */
	char name[XPLANE_NAME_BYTES];
};

struct xplane_track {
	uint32_t track;
	uint32_t group;
	int64_t line_id;
	uint64_t last_start, last_end;
	uint64_t in_order_of_start, in_order_of_end; /* how many events came in this order */
};

struct xplane_line {
	struct xplane_message message;
	int64_t id, timestamp_ns;
	char name[XPLANE_NAME_BYTES];
	bool is_counters;
	bool is_derived; /* computed from other lines, so it has no work of its own */
};

/* The stats that the importer evaluates. */
enum xplane_key {
	XKEY_CORRELATION,
	XKEY_PRODUCER_TYPE,
	XKEY_PRODUCER,
	XKEY_CONSUMER_TYPE,
	XKEY_CONSUMER,
	XKEY_ROOT,
	XKEY_CATEGORY,
	XKEY_COUNT
};

struct xplane_reader {
	struct import *import;
	struct xplane_file file;
	struct xplane_window window; /* over planes, lines and events */
	struct xplane_names names;
	struct xplane planes[XPLANE_PLANES_MAX];
	uint32_t planes_count;
	struct xplane_line *lines; /* of the current plane */
	uint32_t lines_count;
	size_t lines_room;
	struct xplane_track *tracks;
	uint32_t tracks_count;
	size_t tracks_room;

	/* The current plane and line. */
	const struct xplane *plane;
	const struct xplane_line *line;
	struct xplane_track *track;
	int64_t base_ns; /* the origin of the line's offsets */

	epp_name keys[XKEY_COUNT];
	epp_name name_key;                /* key of the arg that the importer adds */
	char sizes[XPLANE_SIZES_MAX][32]; /* the texts that replace binary values of the current event */
	uint32_t sizes_count;
	bool is_own; /* whether epprof wrote the file */
	bool has_start;
	int64_t start_ns; /* Unix time of the session; origin of lines without Unix times */
	int64_t first_ns;

	struct sorter causes;    /* host events by their correlation */
	struct sorter flow_ends; /* producers and consumers */

	uint64_t damaged, nameless, aggregated, stats_lost, planes_left_out, lines_left_out, arrows_alone;
};

/* ---- xplane_track.c ---- */

/* Determines the kind of a plane from its name. */
void xplane_classify(struct xplane_reader *reader, struct xplane *plane);
/* Returns whether a line of the current plane is computed from others; `alone`: there are no others. */
bool xplane_is_derived(const struct xplane *plane, const char *name, int64_t id, bool alone);
/* Sets reader->track to that of the current line and creates it if needed; NULL: there is no room. */
epp_status *xplane_find_track(struct xplane_reader *reader) EPP_MUST_CHECK;
/* Returns a track for the facts about a plane. */
epp_status *xplane_about_track(struct xplane_reader *reader, const struct xplane *plane, uint32_t *track) EPP_MUST_CHECK;

/* ---- xplane_event.c ---- */

/* Takes an event of the current line. */
epp_status *xplane_take_event(struct xplane_reader *reader, const struct xplane_message *message) EPP_MUST_CHECK;
/* Adds a stat of a message to the args of the prepared record. */
epp_status *xplane_take_stat(struct xplane_reader *reader, struct protobuf_reader stat) EPP_MUST_CHECK;

/* ---- xplane_links.c ---- */

/* Registers the prepared record of a host event as a cause and as an end of an arrow; it may be written before or
 * after. */
epp_status *xplane_links_add(struct xplane_reader *reader) EPP_MUST_CHECK;
/* Finds the parent of the prepared record of a device.  All host events must be added and the causes sealed. */
epp_status *xplane_links_find_parent(struct xplane_reader *reader) EPP_MUST_CHECK;
/* Writes the arrows from producers to consumers. */
epp_status *xplane_links_write(struct xplane_reader *reader) EPP_MUST_CHECK;

/* Returns the arg of the prepared record with that key, or NULL. */
static inline const epp_arg *xplane_find_arg(const struct xplane_reader *reader, enum xplane_key key)
{
	const struct prepared *prepared = &reader->import->prepared;

	for (uint32_t i = 0; i < prepared->args_count; i++) {
		if (prepared->args[i].key == reader->keys[key])
			return &prepared->args[i];
	}
	return NULL;
}

#endif
