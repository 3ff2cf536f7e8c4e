/* State and functions that the importers of all formats share: the table of formats, the input, the trace that is
 * written.
 *
 *   import.c                the public function: opens, detects the format, finishes
 *   input.c                 the bytes and lines of the input
 *   json_event.c            one event
 *   json_events.c           JSON with yajl
 *   import_ort.c, repair.c         ONNX Runtime's profile, record by record; records that are not JSON
 *   import_chrome.c                the trace event format
 *   import_xplane.c, xplane_*.c    XSpace: the profiles of TensorFlow and JAX
 *   lanes.c                 processes and threads of the input: sources and tracks of the trace
 *   make_record.c           converts an event to a record, at once or later
 *   open_events.c           events that have begun and not ended
 *   device_events.c         events of devices; their host events are found when all are known
 *   sorter.c                sorts and searches slices, in temporary files
 *
 * Times.  The host clock of the trace is EPF_CLOCK_MONOTONIC at the input's own resolution: microsecond ticks for ONNX
 * Runtime's integers, nanosecond ticks for Chrome's decimals.  The input's time 0 is tick IMPORT_TICKS_AT_ZERO, so that
 * earlier times have a tick too.  A tick minus IMPORT_TICKS_AT_ZERO is the number in the file.  The clock pairs of the
 * run state the resolution: half-width 1 us if no time had a fraction.  Host events are therefore `measured` by a clock
 * with ticks of a microsecond, and the trace does not claim more precision than the file has. */
#ifndef EPPROF_RUNTIME_IMPORT_IMPORT_H
#define EPPROF_RUNTIME_IMPORT_IMPORT_H

#include "epprof/import.h"
#include "epprof/trace_writer.h"
#include "import/input.h"
#include "import/json_event.h"
#include "import/lanes.h"
#include "import/make_record.h"
#include "import/open_events.h"
#include "import/sorter.h"

#define IMPORT_TICKS_AT_ZERO 4000000000000000000ull
/* A time outside of these limits cannot be on a timeline. */
#define IMPORT_NS_MIN (-3900000000000000000ll)
#define IMPORT_NS_MAX 4500000000000000000ll

struct import {
	const struct import_format *format;
	epp_import_options options;
	epp_import_counts counts;
	struct input input;
	epp_trace_writer *writer;
	int64_t ns_per_tick;

	struct lanes lanes;
	struct open_events open_events;
	struct prepared prepared;    /* the record that is being made */
	struct sorter slices;        /* host slices, to which arrows may be bound */
	struct temp_file providers;  /* packed records that are written at the end: device events; of XSpace, plane
	                                properties */
	uint32_t slices_lanes_count; /* number of threads that have slices */
	char provider[64];           /* name of the first execution provider that ran a node, except ONNX Runtime's own
                                      * providers */
	bool has_more_providers;
	uint64_t next_id;      /* increasing ids: of nested events, the one that starts later is the inner one */
	uint64_t next_id_down; /* decreasing ids, for slices in order of end: the slice that ends later is the outer
                                * one */
	uint64_t first_id;     /* the smallest increasing id; all decreasing ids are smaller */

	int64_t epoch_ns;          /* Unix time of the input's time 0; 0: unknown */
	int64_t zero_ns;           /* the input's time that becomes time 0 of the timeline */
	uint64_t host_first_ticks; /* ONNX Runtime: the earliest start of a host event; UINT64_MAX: none */
	bool has_fractions;        /* true if some time was not a whole number of microseconds */
	char *notes;               /* the lines of the receipt */
	size_t notes_bytes;
	bool notes_lost; /* some notes are missing, because there was no memory */
	epp_receipt_fn receipt;
	void *receipt_user;
};

struct import_format {
	epp_import_format format;
	int64_t ns_per_tick;
	bool is_binary; /* white space at the beginning of the file is data */
	/* Detects the format from the first bytes of the file, without leading white space unless it is binary. */
	bool (*probe)(const char *bytes, size_t count);
	/* Reads the whole input. */
	epp_status *(*read)(struct import *import);
};

extern const struct import_format import_ort, import_chrome, import_xspace;

/* Adds a line to the receipt, which is also stored in the trace. */
void import_note(struct import *import, const char *format, ...) EPP_FORMAT(2, 3);
/* Adds a line to the receipt that begins with a count.  Does nothing if the count is 0.  `what` is such as "line%s left
 * out", where each %s (at most two) is replaced by the plural s. */
void import_note_count(struct import *import, uint64_t count, const char *what) EPP_FORMAT(3, 0);

/* Counts an event that cannot be kept as lost in the ledger. */
void import_count_lost(struct import *import, epp_loss reason);
/* Counts lost events of execution providers, in the ledger of import_producer. */
void import_count_provider_lost(struct import *import, epp_loss reason, uint64_t count);
/* Returns the producer to which the events of execution providers belong, and creates it at the first call; -1: there
 * is no room. */
int32_t import_producer(struct import *import);

/* Returns an error if the import was cancelled. */
epp_status *import_check_cancel(const struct import *import) EPP_MUST_CHECK;

static inline bool import_time_fits(int64_t ns)
{
	return ns >= IMPORT_NS_MIN && ns <= IMPORT_NS_MAX;
}

static inline uint64_t import_ticks(const struct import *import, int64_t ns)
{
	int64_t ticks = ns / import->ns_per_tick;
	ticks -= ticks * import->ns_per_tick > ns;
	return IMPORT_TICKS_AT_ZERO + (uint64_t)ticks;
}

#endif
