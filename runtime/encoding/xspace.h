/* XSpace, the profile of TensorFlow, JAX and XProf (xplane.proto): reading what anybody wrote, and the pieces from which
 * an XSpace is written.
 *
 *   XSpace { planes, errors, warnings }   a plane is a device or a host, a line a stream or a thread
 *   XPlane { lines, tables of names }     events and stats carry numbers of their plane's tables
 *   XLine { timestamp_ns, events }        XEvent { offset_ps, duration_ps, stats }
 *
 * Reading hands out planes, lines and events one by one, with names and references resolved, in two walks over each plane,
 * whose tables may stand behind what uses them.  Memory: the tables of one plane.
 */
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

/* ---- what is read and written ---- */

/* `type` is XSTAT_F64 to XSTAT_REF, or 0 without a value.  Read: references are texts already, and a stat whose name the
 * plane does not tell is named "". */
struct xspace_stat {
	int64_t metadata_id;
	struct protobuf_string name; /* read only */
	int type;
	union {
		double f64;
		uint64_t u64; /* XSTAT_REF too: a stat's number, whose name is the value */
		int64_t i64;
		struct protobuf_string text; /* XSTAT_TEXT, XSTAT_BYTES */
	} value;
};

struct xspace_event {
	int64_t metadata_id;
	struct protobuf_string name; /* read only, as display_name */
	struct protobuf_string display_name;
	int64_t offset_ps; /* from its line's timestamp; of an aggregated event 0 */
	int64_t duration_ps;
	int64_t occurrences; /* 0: one event; else the sum of so many */
	const struct xspace_stat *stats;
	size_t stats_count;
};

struct xspace_line {
	int64_t id;
	struct protobuf_string name;
	struct protobuf_string display_name;
	int64_t display_id;
	int64_t timestamp_ns; /* UNIX time, where events start */
	int64_t duration_ps;
};

struct xspace_plane {
	int64_t id;
	struct protobuf_string name;
	const struct xspace_stat *stats;
	size_t stats_count;
};

/* ---- reading ---- */

/* The callbacks of a reading.  All pointers are borrowed for the call; entries may be NULL. */
struct xspace_reader {
	/* False: the plane's lines are left out. */
	bool (*plane)(void *user, const struct xspace_plane *plane);
	void (*line)(void *user, const struct xspace_line *line);
	void (*event)(void *user, const struct xspace_event *event);
	/* An error or warning that the XSpace itself carries. */
	void (*message)(void *user, bool is_error, struct protobuf_string text);
	void *user;
};

/* What one reading came upon. */
struct xspace_account {
	uint64_t events_count;
	uint64_t nameless_count;      /* events whose number their plane does not know; their name is "" */
	uint64_t metadata_lost_count; /* entries beyond XSPACE_METADATA_MAX */
	uint64_t stats_lost_count;    /* stats beyond XSPACE_STATS_MAX of one event, or without a value */
	uint64_t damaged_count;       /* messages that ended early: what stood in front of the damage was handed out */
};

/* The most stats of one event, and entries of one plane's table. */
#define XSPACE_STATS_MAX 255
#define XSPACE_METADATA_MAX (1u << 20)

/* Reads an XSpace; zero bytes behind it are not seen as damage.
 * Errors: EPP_CORRUPT for damage, when all that is readable was handed out; EPP_OUT_OF_MEMORY. */
epp_status *xspace_read(const void *bytes, size_t count, const struct xspace_reader *reader,
                        struct xspace_account *account);

/* ---- writing: for each piece its size and its bytes, without the field that it stands in ---- */

size_t xspace_stat_bytes(const struct xspace_stat *stat);
char *xspace_stat_write(char *at, const struct xspace_stat *stat);

size_t xspace_event_bytes(const struct xspace_event *event);
char *xspace_event_write(char *at, const struct xspace_event *event);

/* An entry of XPLANE_EVENT_METADATA or XPLANE_STAT_METADATA: a number and its name. */
size_t xspace_metadata_bytes(int64_t id, struct protobuf_string name);
char *xspace_metadata_write(char *at, int64_t id, struct protobuf_string name);

/* A line's fields but its events, which follow as XLINE_EVENTS. */
size_t xspace_line_bytes(const struct xspace_line *line);
char *xspace_line_write(char *at, const struct xspace_line *line);

#endif
