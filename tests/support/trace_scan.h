/* Reads a whole .epp image strictly by the rules of format/format.h, for the tests of the write side.  It is
 * independent of the library's reader and shares only the codec with it.
 *
 * Records are reported in the order of the file: those of blocks, then those of window regions that no block has, then
 * the open entries that no record ended.  The image is assumed not to be hostile; a violation of a rule sets `error`.
 */
#ifndef EPPROF_TESTS_SUPPORT_TRACE_SCAN_H
#define EPPROF_TESTS_SUPPORT_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/codec.h"
#include "epprof/session.h"
#include "format/format.h"

struct scan_arg {
	uint32_t key;
	uint32_t type;
	uint64_t value; /* numbers as their bits */
	const uint8_t *text;
	uint32_t text_bytes;
};

struct scan_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id;
	uint32_t name;
	uint16_t bits;
	uint16_t args_count;
	uint32_t track; /* the track after track switches */
	uint32_t owner; /* the region's track: the thread that recorded it */
	uint32_t run;
	bool in_window;
	const struct scan_arg *args; /* with a callback, valid during the call */
};

/* An open entry of a slot. */
struct scan_open {
	uint64_t start_ticks;
	uint64_t id;
	uint32_t name;
	uint16_t bits;
	uint32_t slot;
	uint32_t track;
};

struct scan_name {
	const uint8_t *text;
	uint32_t bytes;
};

struct scan_track {
	struct epf_track definition; /* track 0: not defined */
	char name[256];
	char group[256];
};

struct trace_scan {
	const char *error; /* NULL: no rule was violated */
	struct epf_header header;
	struct epf_live live; /* only if the file is not finished */
	struct epf_slot *slots;
	size_t segments_count;
	size_t blocks_count[16]; /* by type */
	size_t window_regions_count;
	size_t dropped_regions_count; /* still in the window although a block has them */

	struct scan_record *records;
	size_t records_count;
	struct scan_open *open; /* open entries that no record ended */
	size_t open_count;
	struct epf_ledger_entry *ledger; /* from blocks; then, if not finished, from slots in use and the live page */
	size_t ledger_count;
	struct epf_run *runs;
	size_t runs_count;
	struct epf_host_pair *pairs;
	size_t pairs_count;
	struct epf_producer producers[EPF_PRODUCER_COUNT]; /* the newest version */
	struct scan_name *names;                           /* indexed by number */
	size_t names_count;
	struct scan_track *tracks; /* indexed by number */
	size_t tracks_count;

	uint8_t *bytes; /* the image, owned */
	size_t bytes_count;
	struct scan_arg *arg_pool[4096];
	size_t arg_pools_count, arg_pool_used;
	uint8_t **payloads; /* that texts of args point into */
	size_t payloads_count;
};

typedef void (*scan_record_fn)(void *user, const struct scan_record *record);

/* Scans `bytes`, and takes ownership of it (malloc).  With a callback, records are passed to it and not stored. */
struct trace_scan *trace_scan_bytes(uint8_t *bytes, size_t bytes_count, scan_record_fn tell, void *user);
struct trace_scan *trace_scan_file(const char *path);
struct trace_scan *trace_scan_file_each(const char *path, scan_record_fn tell, void *user);
/* Scans the bytes that epp_session_read returns. */
struct trace_scan *trace_scan_session(epp_session *session);
void trace_scan_free(struct trace_scan *scan);

/* ---- queries ---- */

/* Counts the records of this kind and, unless `name` is 0, of this name. */
size_t scan_count(const struct trace_scan *scan, enum epf_kind kind, epp_name name);
/* Returns the first such record at or after index `*from`, and sets `*from` to the index after it; NULL: none. */
const struct scan_record *scan_next(const struct trace_scan *scan, enum epf_kind kind, epp_name name, size_t *from);
const struct scan_record *scan_first(const struct trace_scan *scan, enum epf_kind kind, epp_name name);
const struct scan_record *scan_id(const struct trace_scan *scan, enum epf_kind kind, uint64_t id);
const struct scan_arg *scan_arg(const struct scan_record *record, epp_name key);
bool scan_name_is(const struct trace_scan *scan, uint32_t name, const char *text);
const struct scan_track *scan_track(const struct trace_scan *scan, uint32_t track);
/* Sums over the ledger. */
uint64_t scan_lost(const struct trace_scan *scan, epp_loss reason);
uint64_t scan_ids_taken(const struct trace_scan *scan);

/* Checks each thread's account: ids used = written + lost + open, and no id twice.  NULL, or a description of the error
 * (static text). */
const char *scan_balance(const struct trace_scan *scan);

#endif
