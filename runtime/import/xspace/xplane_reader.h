/* State and functions that the files of the XSpace importer share.
 *
 *   import_xplane.c planes, lines and links, and the order in which they are read
 *   xplane_event.c  converts an event and its stats to a record
 *   xplane_file.c   bytes and fields, and the tables of a plane */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_READER_H

#include "encoding/protobuf.h"
#include "import/import.h"
#include "import/sorter.h"

/* Reads the bytes of an XSpace file of any size by position through small windows, and decodes its protobuf fields one
 * by one.
 *
 * A plane's tables may come after the lines that use them, so the reader moves back and forth: an input without seek,
 * such as a pipe, is copied to a temporary file first.  The file is not mapped, so that a file that is truncated during
 * the read gives an error instead of a signal. */

/* The maximum size of one view.  Larger data is read in parts or left out. */
#define XPLANE_VIEW_BYTES_MAX (1u << 20)

struct xplane_file {
	int fd;
	bool is_copy;
	const char *path;
	uint64_t bytes;
};

struct xplane_window {
	const struct xplane_file *file;
	uint8_t *buffer;
	uint64_t from;
	size_t count, room;
};

/* A message in the file, or the part of it that is not read yet. */
struct xplane_message {
	uint64_t at, end;
	bool damaged; /* the message is cut or invalid */
};

struct xplane_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;                /* value of a field that is not of type PROTOBUF_BYTES */
	struct xplane_message message; /* position of a PROTOBUF_BYTES field; `damaged`: the file or the outer message
                                        * ends before it */
};

/* Opens the input of an import at its current position.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
epp_status *xplane_file_open(struct xplane_file *file, struct import *import) EPP_MUST_CHECK;
void xplane_file_close(struct xplane_file *file);

void xplane_window_deinit(struct xplane_window *window);
/* Gets `count` bytes from position `at`, at most XPLANE_VIEW_BYTES_MAX.  All of them must be inside the file.
 * Ownership: valid until the next call for this window. */
epp_status *xplane_view(struct xplane_window *window, uint64_t at, size_t count, const uint8_t **bytes) EPP_MUST_CHECK;

/* Reads the next field of a message and removes it from the message.  *found is false at the end and if the message is
 * damaged. */
epp_status *xplane_next(struct xplane_window *window, struct xplane_message *message, struct xplane_field *field,
                        bool *found) EPP_MUST_CHECK;

static inline bool xplane_is(const struct xplane_field *field, uint32_t number, enum protobuf_type type)
{
	return field->number == number && field->type == type;
}

static inline uint64_t xplane_message_bytes(const struct xplane_message *message)
{
	return message->end - message->at;
}

/* The tables of one plane of an XSpace: the meaning of the numbers of its events and stats.
 *
 * An index of all entries is sorted by number, in bounded memory; an entry is read from the file when an event needs
 * it, and kept in a cache.  If several entries have the same number, the last one is used, as in any protobuf map. */

#define XPLANE_SLOTS 4096u
#define XPLANE_CACHE_BYTES (1u << 20)
/* The maximum size of an entry's name, and of the stats that all events with this number share. */
#define XPLANE_TEXT_BYTES_MAX (64u << 10)
#define XPLANE_STATS_BYTES_MAX (16u << 10)

struct xplane_entry {
	int64_t id;
	epp_name name; /* interned: the short name if there is one, else the name */
	struct protobuf_string text;
	struct protobuf_string display; /* the short name, which viewers show if there is one */
	const uint8_t *stats;           /* XMETADATA_STATS fields, one after the other */
	uint32_t stats_bytes;
	bool is_known; /* false: the plane has no entry with this number */
};

struct xplane_table {
	struct sorter index;
	bool has_stats; /* the table's entries may have stats */
	struct xplane_entry *slots[XPLANE_SLOTS];
};

struct xplane_names {
	struct import *import;
	struct xplane_window window;
	struct xplane_table events, stats;
	char *cache;
	size_t cache_used;
	uint64_t too_large; /* number of entries whose stats were left out because they were too large */
	bool no_room;       /* true if a request did not fit into the cache */
};

epp_status *xplane_names_init(struct xplane_names *names, struct import *import, const struct xplane_file *file)
    EPP_MUST_CHECK;
void xplane_names_deinit(struct xplane_names *names);

/* Starts a new plane: empties the tables. */
void xplane_names_clear(struct xplane_names *names);
/* Adds an entry as it is in the file: a number and a message.  *damaged is set if the entry has no message. */
epp_status *xplane_names_add(struct xplane_names *names, struct xplane_table *table, struct xplane_message entry,
                             bool *damaged) EPP_MUST_CHECK;
/* Must be called after the last xplane_names_add. */
epp_status *xplane_names_seal(struct xplane_names *names) EPP_MUST_CHECK;

/* Begins the next event: the cache may now drop the entries of earlier events. */
void xplane_names_next_event(struct xplane_names *names);
/* Finds an entry.  *entry is NULL if the cache has no more room for this event.  Ownership: valid until
 * xplane_names_next_event. */
epp_status *xplane_names_read(struct xplane_names *names, struct xplane_table *table, int64_t id,
                              const struct xplane_entry **entry) EPP_MUST_CHECK;

/* Copies a text into the cache.  The copy is valid until xplane_names_next_event; NULL: no room. */
const char *xplane_names_keep(struct xplane_names *names, const char *text, size_t bytes);

static inline epp_status *xplane_names_find(struct xplane_names *names, struct xplane_table *table, int64_t id,
                                            const struct xplane_entry **entry)
{
	*entry = table->slots[(uint64_t)id % XPLANE_SLOTS];
	return *entry && (*entry)->id == id ? NULL : xplane_names_read(names, table, id, entry);
}

/* Limits: further planes, further lines of a plane, and further lines of all planes are left out. */
#define XPLANE_PLANES_MAX 1024u
#define XPLANE_LINES_MAX 16384u
#define XPLANE_NAME_BYTES 128u
/* For up to so many binary values of an event, the size is kept; further ones are left out. */
#define XPLANE_SIZES_MAX 16u

enum xplane_kind {
	XPLANE_HOST, /* lines are threads */
	XPLANE_DEVICE,
	XPLANE_ABOUT, /* the plane has no events: it has data about the session */
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
	uint64_t in_order_of_start, in_order_of_end; /* how many events start (end) no earlier than the event before
	                                                them on this track */
};

struct xplane_line {
	struct xplane_message message;
	int64_t id, timestamp_ns;
	char name[XPLANE_NAME_BYTES];
	bool is_counters;
	bool is_derived; /* computed from other lines, so its events are no work of a device */
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
	struct xplane_window window; /* the window for planes, lines and events */
	struct xplane_names names;
	struct xplane planes[XPLANE_PLANES_MAX];
	uint32_t planes_count;
	struct xplane_line *lines; /* the lines of the current plane */
	uint32_t lines_count;
	size_t lines_room;
	struct xplane_track *tracks;
	uint32_t tracks_count;
	size_t tracks_room;

	/* The current plane and line. */
	const struct xplane *plane;
	const struct xplane_line *line;
	struct xplane_track *track;
	int64_t base_ns; /* the time to which the offsets of the line's events are relative, in ns */

	epp_name keys[XKEY_COUNT];
	epp_name name_key;                /* the key `name`: its value is the full name of an event with a short name */
	char sizes[XPLANE_SIZES_MAX][32]; /* texts with the sizes of the current event's binary values, which replace
	                                     the values */
	uint32_t sizes_count;
	bool is_own; /* epprof wrote the file */
	bool has_start;
	int64_t start_ns; /* Unix time of the session's start, to which lines without Unix times are relative */
	int64_t first_ns;

	struct sorter causes;    /* host events by their correlation id */
	struct sorter flow_ends; /* the ends of arrows: producers and consumers */

	uint64_t damaged, nameless, aggregated, stats_lost, planes_left_out, lines_left_out, arrows_alone;
};

/* ---- xplane_event.c ---- */

/* Imports one event of the current XLine. */
epp_status *xplane_take_event(struct xplane_reader *reader, const struct xplane_message *message) EPP_MUST_CHECK;
/* Adds a stat of a message to the args of the prepared record. */
epp_status *xplane_take_stat(struct xplane_reader *reader, struct protobuf_reader stat) EPP_MUST_CHECK;

/* ---- import_xplane.c ---- */

/* Stores the prepared record of a host event as a possible cause and as an end of an arrow.  The record itself may be
 * written before or after this call. */
epp_status *xplane_links_add(struct xplane_reader *reader) EPP_MUST_CHECK;
/* Sets the parent of the prepared record of a device.  All host events must have been added, and `causes` sealed. */
epp_status *xplane_links_find_parent(struct xplane_reader *reader) EPP_MUST_CHECK;

/* Returns the arg of the prepared record with this key, or NULL. */
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
