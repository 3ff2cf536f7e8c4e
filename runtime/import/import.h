/* What the importers of all formats share: the table of formats, the input, the trace that is being made.
 *
 *   import.c                the public function: opens, finds the format, finishes
 *   input.c                 the input's bytes, and lines
 *   event.c, event_member.c one event
 *   json_events.c           JSON with yajl
 *   yajl_memory.c           memory for yajl
 *   ort.c, repair.c         ONNX Runtime's profile, record by record; records that are not JSON
 *   chrome.c, chrome_*.c    the trace event format
 *   xplane.c, xplane_*.c    XSpace: the profiles of TensorFlow and JAX
 *   lanes.c                 processes and threads of the input: sources and tracks of the trace
 *   record.c                an event becomes a record, at once or later
 *   open_events.c                 what has begun and not ended
 *   providers.c             events of devices, which find their host events when all are known
 *   temp_file.c, sorter.c       temporary files
 *
 * Times.  The host clock of the trace is EPF_CLOCK_MONOTONIC at the input's own resolution: microsecond ticks for ONNX
 * Runtime's integers, nanosecond ticks for Chrome's decimals.  The input's time 0 is tick IMPORT_TICKS_AT_ZERO, so that
 * times before it have a tick too; a tick less that number is the number that stood in the file.  The clock pairs of the
 * run say how coarse that is: half-width 1 us where no time had a fraction.  Thus host events are `measured`, by a clock
 * that ticks in microseconds, and nothing is claimed that the file does not tell. */
#ifndef EPPROF_RUNTIME_IMPORT_IMPORT_H
#define EPPROF_RUNTIME_IMPORT_IMPORT_H

#include "epprof/import.h"
#include "epprof/trace_writer.h"
#include "import/event.h"
#include "import/input.h"
#include "import/lanes.h"
#include "import/open_events.h"
#include "import/record.h"
#include "import/sorter.h"

#define IMPORT_TICKS_AT_ZERO 4000000000000000000ull
/* Times beyond have no place on a timeline. */
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
	struct sorter slices;        /* host slices, and where arrows may end */
	struct temp_file providers;  /* packed records of devices */
	uint32_t slices_lanes_count; /* threads that have slices */
	char provider[64];           /* the first that has nodes, but for ONNX Runtime's own */
	bool has_more_providers;
	uint64_t next_id;      /* counting up: what begins later is inner */
	uint64_t next_id_down; /* counting down, for slices that come in order of their end: what ends later is outer */
	uint64_t first_id;     /* just above all of the latter */

	int64_t epoch_ns;   /* unix time of the input's time 0; 0: not known */
	int64_t zero_ns;    /* the input's time that becomes time 0 of the timeline */
	bool has_fractions; /* some time was finer than a microsecond */
	char *notes;        /* what the receipt said, a line each */
	size_t notes_bytes;
	bool notes_lost; /* for want of memory */
	epp_receipt_fn receipt;
	void *receipt_user;
};

struct import_format {
	epp_import_format format;
	int64_t ns_per_tick;
	bool is_binary; /* blanks at the beginning of the file are part of it */
	/* Whether the file is of this format, by its first bytes, blanks left out unless it is binary. */
	bool (*probe)(const char *bytes, size_t count);
	/* Reads the whole input. */
	epp_status *(*read)(struct import *import);
};

extern const struct import_format import_ort, import_chrome, import_xspace;

/* A line of the receipt, kept for the trace too. */
void import_note(struct import *import, const char *format, ...) EPP_FORMAT(2, 3);
/* The same with a count in front, unless that is 0.  `what`: "line%s left out", with %s for the s of a plural, at most twice. */
void import_note_count(struct import *import, uint64_t count, const char *what) EPP_FORMAT(3, 0);

/* An event that cannot be kept; the ledger says so. */
void import_lose(struct import *import, epp_loss reason);
/* The same for events of execution providers, in their account. */
void import_lose_provided(struct import *import, epp_loss reason, uint64_t count);
/* The producer of execution providers' events, made if need be; -1: there is no room for one. */
int32_t import_producer(struct import *import);

/* Whether somebody wants it to end. */
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
