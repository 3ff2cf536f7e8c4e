/* State and functions that the files of the XSpace writer share.  xplane.c collects the events of planes and lines
 * until all are known, xplane_document.c writes them. */
#ifndef EPPROF_RUNTIME_EXPORT_XSPACE_XPLANE_H
#define EPPROF_RUNTIME_EXPORT_XSPACE_XPLANE_H

#include <sys/queue.h>

#include "containers/id_set.h"
#include "encoding/xspace.h"
#include "export/message.h"
#include "export/rows.h"

/* The maximum size of an entry of a metadata map without its text. */
#define XPLANE_ENTRY_BYTES 32u

/* The fields of a map entry. */
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* The number of the host's plane, above those of devices. */
#define XPLANE_HOST_PLANE 1000u

/* Readers load the whole file into memory and refuse files of 2 GiB. */
#define XPLANE_PART_BYTES 1900000000u

/* Stats that every plane defines.  The number of a stat is its position, from 1. */
enum xplane_known {
	KNOWN_CORRELATION = 1,
	KNOWN_PLACEMENT,
	KNOWN_START_ERROR,
	KNOWN_END_ERROR,
	KNOWN_STREAM,
	KNOWN_KERNEL_DETAILS,
	KNOWN_FLAGS,
	KNOWN_CATEGORY,
	KNOWN_NO_DETAILS, /* from here on: texts to which stats refer */
	KNOWN_CATEGORIES,
	KNOWN_PLACEMENTS = KNOWN_CATEGORIES + EPP_API + 1,
	KNOWN_OWN = KNOWN_PLACEMENTS + EPP_PLACEMENT_COUNT
};
/* Returns the text of a stat from enum xplane_known. */
const char *xplane_stat(uint32_t stat);

/* The encoded events of one row, in order of arrival. */
struct xplane_line {
	char *bytes; /* the last events, which are not in the temporary file */
	size_t count, room;
	uint64_t in_file_bytes;
	uint32_t first_chunk, last_chunk; /* indexes of the first and last chunk in xplane_lines.chunks, plus 1; 0:
	                                     none */
};

struct xplane_chunk {
	uint64_t offset;
	uint32_t bytes;
	uint32_t next; /* index of the line's next chunk + 1 */
};

struct xplane_lines {
	struct xplane_line *lines; /* lines[i] belongs to rows.rows[i] */
	size_t lines_room;
	struct xplane_chunk *chunks;
	size_t chunks_count, chunks_room;
	bool has_file;
	int fd;
	uint64_t file_bytes;
	uint64_t total_bytes;
};

static inline void xplane_line_commit(struct xplane_lines *lines, size_t row, size_t bytes)
{
	struct xplane_line *line = &lines->lines[row];

	line->count += bytes;
	lines->total_bytes += bytes;
	/* Prefetches the next bytes of the line, because many other lines are written before this line is used
	 * again. */
	__builtin_prefetch((const void *)((uintptr_t)line->bytes + line->count + 64), 1);
}
static inline uint64_t xplane_line_bytes(const struct xplane_line *line)
{
	return line->in_file_bytes + line->count;
}
/* Returns the size of a row's events; 0: the row has no events. */
static inline uint64_t xplane_row_bytes(const struct xplane_lines *lines, size_t row)
{
	return row < lines->lines_room ? xplane_line_bytes(&lines->lines[row]) : 0;
}
/* Writes the events of a line into a sink. */
epp_status *xplane_line_send(struct xplane_lines *lines, size_t row, struct sink *sink) EPP_MUST_CHECK;

#define XPLANE_CACHE_COUNT 1024u

struct xplane_key {
	SLIST_ENTRY(xplane_key) link;
	uint32_t number;
	size_t bytes;
	char text[];
};

/* The content of one file: the events of a time range. */
struct xplane_part {
	struct xplane_lines lines;
	struct id_set names; /* pairs of a process of `rows` and a name that its plane must define */
	uint64_t names_bytes;
};

/* The properties of a device, encoded as stats of its plane. */
struct xplane_properties {
	char *bytes;
	size_t count;
};

struct xplanes {
	struct rows rows;
	struct xplane_properties *properties; /* by process of `rows` */
	size_t properties_count;
	struct message message;    /* buffer for an event that is moved to the next part */
	struct xplane_part *parts; /* events are added to the last part */
	size_t parts_count;
	void *keys;                         /* tsearch tree of struct xplane_key: keys of args, defined in all planes */
	SLIST_HEAD(, xplane_key) keys_list; /* the same keys as a list, the last one first */
	uint32_t keys_count;
	uint64_t keys_bytes;
	struct {
		const char *text; /* address of the text in the trace */
		uint32_t number;
	} recent[XPLANE_CACHE_COUNT];
	int64_t base_ns, base_unix_ns; /* time 0 of all lines: as a time of the timeline, and as a Unix time */
	uint64_t counters, flows, asyncs, outside;
};

/* Returns true if a device's name is the name of a GPU plane. */
bool xplane_is_gpu(const char *name);

epp_status *xplane_write_document(struct export_run *run, struct xplane_part *part) EPP_MUST_CHECK;

#endif
