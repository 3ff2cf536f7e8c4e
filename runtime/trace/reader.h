/* Reads a .epp in any state: its definitions, an index of its record blocks, what its window still holds.
 *
 * reader_open scans the segments once (block headers and checksums; definition, run, pair, ledger and producer blocks are
 * taken in), then the window unless the file is finished: regions whose sequence stands in no block are encoded into
 * blocks in memory, so that whoever comes after sees blocks alone.  Nothing read is trusted: every offset, length and
 * count is checked against what holds it.  Findings (a bad checksum, a cut segment) are kept for validate, not errors.
 * A packed file is opened by its index: blocks of records are first read, and checked, when they are decoded; one that is
 * damaged is then an empty one, and a finding.
 * A live file: each region's sequence is read before and after copying; a region that moved is left to its block, which
 * is then read too.
 * Called by timeline/ and by the functions of epprof/trace_reader.h.  One thread at a time.
 */
#ifndef EPPROF_RUNTIME_TRACE_READER_H
#define EPPROF_RUNTIME_TRACE_READER_H

#include <stdbool.h>

#include "codec/codec.h"
#include "epprof/trace_reader.h"
#include "format/format_packed.h"

/* Where bytes come from: a file (pread), or a session of this process (epp_session_read). */
struct reader_source {
	/* Fewer only at the end, or with errno set at an error (the reader sets it to 0 before). */
	size_t (*read)(void *user, uint64_t offset, void *buffer, size_t bytes);
	void (*close)(void *user);
	void *user;
};

/* One records block, wherever it lies. */
struct reader_block {
	uint64_t offset;      /* of the struct epf_block in the file, or in reader->window_blocks if `in_window` */
	uint64_t first_ticks; /* as in struct epf_block: host kinds only */
	uint64_t own_first_ticks;
	uint64_t last_ticks;
	uint32_t payload_bytes;
	uint32_t record_count;
	uint32_t track; /* the region's own */
	uint32_t run;
	uint16_t kinds;
	uint16_t open_count;
	uint16_t source;
	uint8_t in_window;
	uint8_t is_packed;   /* columns */
	uint8_t is_lost;     /* it was damaged, and has no records */
	uint32_t args_bytes; /* what its args take at most once it is decoded */
};

/* What the index of a packed file says of a block, as in struct epf_index_entry. */
struct reader_summary {
	struct epf_index_reference all_ids; /* first > last: there are none */
	uint32_t flags;
	uint32_t spans_count, references_count, ids_count; /* 0: they lie close together */
	const struct epf_index_span *spans;
	const struct epf_index_reference *ids;
	const struct epf_index_reference *references;
};

struct reader_name {
	const char *text; /* NUL-terminated */
	uint32_t bytes;
};

/* An event that was open when the file was read or cut off.  One that ended on another thread while it stood on its stack
 * is not open: it is a record of `blocks`, marked EPF_FLAG_UNENDED, as its thread's exit would have stored it. */
struct reader_open {
	struct epf_open open;
	uint32_t track;
	uint32_t depth;
	uint64_t offset; /* where it stands */
};

struct reader_finding {
	epp_severity severity;
	uint64_t offset;
	char *text;
};

struct reader {
	struct reader_source source;
	struct epf_header header;
	struct epf_live live; /* zero for a finished file */
	epp_trace_info info;  /* strings belong to the reader */
	uint64_t file_bytes;

	struct epf_source *sources; /* sources[0] is header.source */
	size_t sources_count;
	struct epf_run *runs; /* in order; a run that never ended has end.ticks 0 */
	size_t runs_count;
	epp_trace_track *tracks;             /* sorted by track number; strings belong to the reader */
	struct epf_track *track_definitions; /* same order: what epp_trace_track does not say */
	size_t tracks_count;
	struct reader_name *names; /* by name number; text NULL: unknown */
	size_t names_count;
	struct epf_host_pair *pairs; /* source 0's, sorted by ticks: run starts and ends, helper's, the live page's latest */
	size_t pairs_count;
	struct epf_ledger_entry *ledger; /* blocks' entries, then those of slots that no block's entry supersedes */
	size_t ledger_count;
	struct epf_producer *producers; /* EPF_PRODUCER_COUNT of them, or more if the file is merged; label "" = unused */
	size_t producers_count;
	struct reader_open *open;
	size_t open_count;

	struct reader_block *blocks; /* in file order, the window's last */
	size_t blocks_count;
	struct reader_summary *summaries; /* beside blocks; NULL: the file was not opened by an index */
	struct epf_index_span *spans;     /* theirs */
	struct epf_index_reference *references;
	uint8_t *window_blocks; /* blocks made of the window's regions, headers and payloads, 8-aligned */
	size_t window_blocks_bytes;

	struct reader_finding *findings;
	size_t findings_count;
};

/* Ownership: takes `source` and closes it, on failure too.  Errors: as epp_trace_open says. */
epp_status *reader_open(const struct reader_source *source, const char *path, struct reader **reader) EPP_MUST_CHECK;
/* The same of the file that a reader has open, without its index: all of its blocks are looked at. */
epp_status *reader_open_again(const struct reader *of, struct reader **reader) EPP_MUST_CHECK;
void reader_close(struct reader *reader);

/* The header and payload of a block in one piece, as they stand: into *buffer, grown with realloc to *buffer_bytes.  The
 * checksum is checked again, so a file that changed under us gives EPP_CORRUPT; of a ring that is being recorded, a block
 * that was overwritten meanwhile is an empty one. */
epp_status *reader_block_read(struct reader *reader, const struct reader_block *block, uint8_t **buffer,
                              size_t *buffer_bytes) EPP_MUST_CHECK;

/* What decoding a block takes and gives.  `bytes` and `records` are the caller's, grown with realloc; the rest is valid
 * while they are, and until they are decoded into again. */
struct reader_decoded {
	uint8_t *bytes;
	size_t bytes_room;
	struct codec_record *records;
	size_t records_room;

	struct epf_block header;
	uint64_t open_ids[EPF_OPEN_MAX];
	const uint8_t *args; /* what the records' args_offset counts from: in `bytes` */
	uint32_t args_bytes;
	uint32_t count;
	bool whole; /* false: the payload is not what its header says; `count` records before that are good */
};

/* Reads a block, rows or columns, and decodes it.  `block` is one of reader->blocks; it is marked if it is damaged and the
 * file was opened by its index.  Errors: as reader_block_read says. */
epp_status *reader_block_decode(struct reader *reader, const struct reader_block *block, struct reader_decoded *decoded)
    EPP_MUST_CHECK;

/* Calls in ticks of the host's clock, as waits are: they nest exactly, so they are on their thread's own row. */
static inline bool reader_is_on_thread(const epp_trace_track *track)
{
	return track->kind == EPP_TRACK_CALLS && track->clock_kind == EPF_TRACK_CLOCK_HOST && track->thread;
}

/* By track number; NULL if there is none. */
const epp_trace_track *reader_track(const struct reader *reader, uint32_t track);
const struct epf_track *reader_track_definition(const struct reader *reader, uint32_t track);

/* struct epp_trace is a reader: epp_trace_open_* make one. */
struct epp_trace {
	struct reader *reader;
};

#endif
