/* XSpace, the profile format of TensorFlow, JAX and XProf (xplane.proto): a reader for untrusted input.
 *
 *   XSpace { planes, errors, warnings }   a plane is a device or a host, a line a stream or a thread
 *   XPlane { lines, tables of names }     events and stats refer to entries of their plane's tables
 *   XLine { timestamp_ns, events }        XEvent { offset_ps, duration_ps, stats }
 *
 * The reader passes on planes, lines and events one by one, with names and references resolved. It reads each plane
 * twice, because its tables may follow their uses. Memory: the tables of one plane. */
#ifndef EPPROF_RUNTIME_ENCODING_XSPACE_H
#define EPPROF_RUNTIME_ENCODING_XSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "encoding/protobuf.h"

/* ---- field numbers ---- */

enum { XSPACE_PLANES = 1, XSPACE_ERRORS = 2, XSPACE_WARNINGS = 3, XSPACE_HOSTNAMES = 4 };
enum {
	XPLANE_ID = 1,
	XPLANE_NAME = 2,
	XPLANE_LINES = 3,
	XPLANE_EVENT_METADATA = 4,
	XPLANE_STAT_METADATA = 5,
	XPLANE_STATS = 6
};
enum {
	XLINE_ID = 1,
	XLINE_NAME = 2,
	XLINE_TIMESTAMP_NS = 3,
	XLINE_EVENTS = 4,
	XLINE_DURATION_PS = 9,
	XLINE_DISPLAY_ID = 10,
	XLINE_DISPLAY_NAME = 11
};
enum { XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4, XEVENT_OCCURRENCES = 5 };
enum {
	XSTAT_METADATA_ID = 1,
	XSTAT_F64 = 2,
	XSTAT_U64 = 3,
	XSTAT_I64 = 4,
	XSTAT_TEXT = 5,
	XSTAT_BYTES = 6,
	XSTAT_REF = 7
};
enum { XMETADATA_ID = 1, XMETADATA_NAME = 2, XMETADATA_DISPLAY_NAME = 4, XMETADATA_STATS = 5 };

/* ---- data for reading and writing ---- */

/* `type` is XSTAT_F64 to XSTAT_REF, or 0 without a value. When reading, references are resolved to texts, and a stat
 * whose name is not in the plane has the name "". */
struct xspace_stat {
	int64_t metadata_id;
	struct protobuf_string name; /* reading only */
	int type;
	union {
		double f64;
		uint64_t u64; /* also XSTAT_REF: the number of a stat whose name is the value */
		int64_t i64;
		struct protobuf_string text; /* XSTAT_TEXT, XSTAT_BYTES */
	} value;
};

struct xspace_event {
	int64_t metadata_id;
	struct protobuf_string name; /* reading only, as display_name */
	struct protobuf_string display_name;
	int64_t offset_ps; /* relative to its line's timestamp; 0 for an aggregated event */
	int64_t duration_ps;
	int64_t occurrences; /* 0: one event; otherwise the number of aggregated events */
	const struct xspace_stat *stats;
	size_t stats_count;
};

struct xspace_line {
	int64_t id;
	struct protobuf_string name;
	struct protobuf_string display_name;
	int64_t display_id;
	int64_t timestamp_ns; /* UNIX time; the origin of its events' offsets */
	int64_t duration_ps;
};

struct xspace_plane {
	int64_t id;
	struct protobuf_string name;
	const struct xspace_stat *stats;
	size_t stats_count;
};

/* ---- reading ---- */

/* The reader's callbacks. All pointers are borrowed for the call; entries may be NULL. */
struct xspace_reader {
	/* Returns false to skip the plane's lines. */
	bool (*plane)(void *user, const struct xspace_plane *plane);
	void (*line)(void *user, const struct xspace_line *line);
	void (*event)(void *user, const struct xspace_event *event);
	/* An error or warning in the XSpace. */
	void (*message)(void *user, bool is_error, struct protobuf_string text);
	void *user;
};

/* Counts of one read. */
struct xspace_account {
	uint64_t events_count;
	uint64_t nameless_count;      /* events whose number is not in their plane's table; their name is "" */
	uint64_t metadata_lost_count; /* entries beyond XSPACE_METADATA_MAX */
	uint64_t stats_lost_count;    /* stats beyond XSPACE_STATS_MAX of one event, or without a value */
	uint64_t damaged_count;       /* truncated or invalid messages: the part before the damage was passed on */
};

/* Maximum of stats of one event, and of entries of one plane's table. */
#define XSPACE_STATS_MAX 255
#define XSPACE_METADATA_MAX (1u << 20)

/* Reads an XSpace; zero bytes after it are not damage.
 * Errors: EPP_CORRUPT for damage, after all readable parts were passed on; EPP_OUT_OF_MEMORY. */
epp_status *xspace_read(const void *bytes, size_t count, const struct xspace_reader *reader,
                        struct xspace_account *account);

#endif
