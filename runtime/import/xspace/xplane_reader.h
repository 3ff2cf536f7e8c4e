/* What the files of the XSpace importer share.
 *
 *   xplane.c        planes and lines, in which order they are read
 *   xplane_track.c  what a plane is, the track of a line
 *   xplane_event.c  an event and its stats become a record
 *   xplane_links.c  calls and their kernels, producers and consumers
 *   xplane_names.c  the tables of a plane
 *   xplane_file.c   bytes and fields */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H

#include "import/sorter.h"
#include "import/xspace/xplane_file.h"
#include "import/xspace/xplane_names.h"

/* Planes, and lines of one plane or of all, beyond these are left out. */
#define XPLANE_PLANES_MAX 1024u
#define XPLANE_LINES_MAX 16384u
#define XPLANE_NAME_BYTES 128u
/* Binary values of one event; of further ones not even the size is kept. */
#define XPLANE_SIZES_MAX 16u

enum xplane_kind {
	XPLANE_HOST, /* lines are threads */
	XPLANE_DEVICE,
	XPLANE_ABOUT, /* no timeline: what the session was */
};

struct xplane {
	struct xplane_message message;
	enum xplane_kind kind;
	bool is_tpu;
	int32_t device;
	uint32_t group; /* planes with the same name, and all hosts', are one */
	char name[XPLANE_NAME_BYTES];
};

struct xplane_track {
	uint32_t track;
	uint32_t group;
	int64_t line_id;
	uint64_t last_start, last_end;
	uint64_t in_order_of_start, in_order_of_end; /* how often events came so */
};

struct xplane_line {
	struct xplane_message message;
	int64_t id, timestamp_ns;
	char name[XPLANE_NAME_BYTES];
	bool is_counters;
	bool is_derived; /* computed from other lines: no work of its own */
};

/* The stats that mean something to the importer. */
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
	struct xplane_window window; /* of planes, lines and events */
	struct xplane_names names;
	struct xplane planes[XPLANE_PLANES_MAX];
	uint32_t planes_count;
	struct xplane_line *lines; /* of the plane in hand */
	uint32_t lines_count;
	size_t lines_room;
	struct xplane_track *tracks;
	uint32_t tracks_count;
	size_t tracks_room;

	/* The plane and line in hand. */
	const struct xplane *plane;
	const struct xplane_line *line;
	struct xplane_track *track;
	int64_t base_ns; /* where the line's offsets count from */

	epp_name keys[XKEY_COUNT];
	epp_name name_key;                /* of the arg that the importer adds */
	char sizes[XPLANE_SIZES_MAX][32]; /* what stands for binary values of the event in hand */
	uint32_t sizes_count;
	bool is_own; /* epprof wrote the file */
	bool has_start;
	int64_t start_ns; /* unix time of the session; lines count from there unless they have unix times themselves */
	int64_t first_ns;

	struct sorter causes;    /* events of the host by their correlation */
	struct sorter flow_ends; /* producers and consumers */

	uint64_t damaged, nameless, aggregated, stats_lost, planes_left_out, lines_left_out, arrows_alone;
};

/* ---- xplane_track.c ---- */

/* What a plane of that name is. */
void xplane_classify(struct xplane_reader *reader, struct xplane *plane);
/* Whether a line of the plane in hand is computed from others; `alone`: it has no others. */
bool xplane_is_derived(const struct xplane *plane, const char *name, int64_t id, bool alone);
/* Sets reader->track to that of the line in hand, made if need be; NULL: there is no room. */
epp_status *xplane_find_track(struct xplane_reader *reader) EPP_MUST_CHECK;
/* A track for what a plane says of itself. */
epp_status *xplane_about_track(struct xplane_reader *reader, const struct xplane *plane, uint32_t *track) EPP_MUST_CHECK;

/* ---- xplane_event.c ---- */

/* An event of the line in hand. */
epp_status *xplane_take_event(struct xplane_reader *reader, const struct xplane_message *message) EPP_MUST_CHECK;
/* Adds a stat, as it is in a message, to the args of the prepared record. */
epp_status *xplane_take_stat(struct xplane_reader *reader, struct protobuf_reader stat) EPP_MUST_CHECK;

/* ---- xplane_links.c ---- */

/* The prepared record of a host, which was or will be written, as a cause and as an end of an arrow. */
epp_status *xplane_links_add(struct xplane_reader *reader) EPP_MUST_CHECK;
/* The parent of the prepared record of a device.  All hosts' events were added and the causes sealed. */
epp_status *xplane_links_find_parent(struct xplane_reader *reader) EPP_MUST_CHECK;
/* Arrows from producers to consumers. */
epp_status *xplane_links_write(struct xplane_reader *reader) EPP_MUST_CHECK;

/* The arg of the prepared record with that key, or NULL. */
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
