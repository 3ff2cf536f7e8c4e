/* Reads a .epp file in any state: its definitions, a list of its record blocks, and the data that is still in its
 * window.
 *
 * reader_open scans the segments once: it checks block headers and checksums, and reads definition, run, clock pair,
 * ledger and producer blocks.  If the file is not finished, it then reads the window: regions whose sequence is in no
 * block are encoded into blocks in memory, so that later stages handle only blocks.  Nothing in the file is trusted:
 * every offset, length and count is checked against the size of the data that contains it.  Findings (a bad checksum, a
 * cut segment) are no errors; they are kept for validate.
 * A packed file is opened by its index.  Its record blocks are read and checked only when they are decoded.  If a block
 * is damaged, it becomes empty, and a finding reports it.
 * While a file is being recorded, each region's sequence is read before and after the region is copied.  If the
 * sequence has changed, the region is now in a block, and the block is read instead.
 * Called by timeline/ and by the functions of epprof/trace_reader.h.  Not thread-safe: one thread at a time. */
#ifndef EPPROF_RUNTIME_TRACE_READER_H
#define EPPROF_RUNTIME_TRACE_READER_H

#include <stdbool.h>
#include <string.h>

#include "codec/codec.h"
#include "epprof/trace_reader.h"
#include "format/format_packed.h"

/* The source of the bytes: a file (pread), or a session of this process (epp_session_read). */
struct reader_source {
	/* Returns fewer bytes only at the end, or on an error with errno set (the reader sets errno to 0 before the
	 * call). */
	size_t (*read)(void *user, uint64_t offset, void *buffer, size_t bytes);
	void (*close)(void *user);
	void *user;
};

/* The `read` function for an open file.  `user` points to an int, the file's descriptor. */
size_t reader_read_file(void *user, uint64_t offset, void *buffer, size_t bytes);

/* One records block, in the file or in memory. */
struct reader_block {
	uint64_t offset;      /* the offset of the struct epf_block: in the file or, if `in_window` is set, in
	                         reader->window_blocks */
	uint64_t first_ticks; /* as in struct epf_block: only of records with host times */
	uint64_t own_first_ticks;
	uint64_t last_ticks;
	uint32_t payload_bytes;
	uint32_t record_count;
	uint32_t track; /* the track of the block's region; records may switch to other tracks */
	uint32_t run;
	uint16_t kinds;
	uint16_t open_count;
	uint16_t source;
	uint8_t in_window;
	uint8_t is_packed;   /* the block is a block of columns */
	uint8_t is_lost;     /* the block is damaged and is treated as empty */
	uint32_t args_bytes; /* an upper bound of the size of the block's decoded args */
};

/* The data of a packed block's index entry, struct epf_index_entry. */
struct reader_summary {
	struct epf_index_reference all_ids; /* the range of the block's own ids; first > last: no ids */
	uint32_t flags;
	uint32_t spans_count, references_count, ids_count; /* ids_count is 0 if all_ids is precise enough */
	const struct epf_index_span *spans;
	const struct epf_index_reference *ids;
	const struct epf_index_reference *references;
};

struct reader_name {
	const char *text; /* NUL-terminated */
	uint32_t bytes;
};

/* An event that was open when the file was read or cut off.  If another thread has ended an event that is still on its
 * own thread's stack, the event is not open: it is a record in `blocks` with EPF_FLAG_UNENDED, as its thread would have
 * stored it at its exit. */
struct reader_open {
	struct epf_open open;
	uint32_t track;
	uint32_t depth;
	uint64_t offset; /* the file offset of the event's element in the slot's stack */
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
	epp_trace_info info;  /* the reader owns the strings */
	uint64_t file_bytes;

	struct epf_source *sources; /* sources[0] is header.source */
	size_t sources_count;
	struct epf_run *runs; /* in the order of their starts; a run that never ended has end.ticks 0 */
	size_t runs_count;
	epp_trace_track *tracks;             /* sorted by track number; the reader owns the strings */
	struct epf_track *track_definitions; /* in the same order: the fields that epp_trace_track does not have */
	size_t tracks_count;
	struct reader_name *names; /* indexed by the number of a name; text NULL: unknown */
	size_t names_count;
	/* The clock pairs of source 0, sorted by ticks: those at starts and ends of runs, and those that the helper
	 * thread took in between. */
	struct epf_host_pair *pairs;
	size_t pairs_count;
	struct epf_ledger_entry *ledger; /* one for each track and run, sorted by these; from blocks, or from a slot of
	                                    the window if no block has an entry */
	size_t ledger_count;
	struct epf_producer *producers; /* EPF_PRODUCER_COUNT of them, or more if the file is merged; an empty label
	                                   means that the entry is unused */
	size_t producers_count;
	struct reader_open *open;
	size_t open_count;

	struct reader_block *blocks; /* in file order; blocks made from the window are last */
	size_t blocks_count;
	struct reader_summary *summaries; /* one for each block; NULL: the file was not opened by its index */
	struct epf_index_span *spans;     /* the spans to which `summaries` refer */
	struct epf_index_reference *references;
	uint8_t *window_blocks; /* the blocks that were made from the window's regions: headers and payloads,
	                           8-aligned */
	size_t window_blocks_bytes;

	struct reader_finding *findings;
	size_t findings_count;
};

/* `path` is for messages and epp_trace_info, and may be NULL.  Ownership: the reader takes `source`; reader_close
 * closes it, and so does reader_open if it fails.  Errors: those of epp_trace_open. */
epp_status *reader_open(const struct reader_source *source, const char *path, struct reader **reader) EPP_MUST_CHECK;
/* Opens the file of an open reader again without its index, so that all blocks are scanned. */
epp_status *reader_open_again(const struct reader *of, struct reader **reader) EPP_MUST_CHECK;
void reader_close(struct reader *reader);

/* Reads the header and payload of a block unchanged into *buffer, which is grown with realloc to *buffer_bytes.  The
 * checksum is checked again: if the file changed since it was opened, the function returns EPP_CORRUPT.  If a ring that
 * is being recorded has overwritten the block meanwhile, the function returns an empty block. */
epp_status *reader_block_read(struct reader *reader, const struct reader_block *block, uint8_t **buffer,
                              size_t *buffer_bytes) EPP_MUST_CHECK;

/* Input and output of decoding a block.  `bytes` and `records` belong to the caller and are grown with realloc; the
 * other fields are valid until the next decoding into the same memory. */
struct reader_decoded {
	uint8_t *bytes;
	size_t bytes_room;
	struct codec_record *records;
	size_t records_room;

	struct epf_block header;
	uint64_t open_ids[EPF_OPEN_MAX];
	const uint8_t *args; /* base of the records' args_offset; points into `bytes` */
	uint32_t args_bytes;
	uint32_t count;
	bool is_complete; /* false: the payload does not match its header; only the first `count` records are valid */
};

/* Reads and decodes a block of rows or columns.  `block` is one of reader->blocks.  If it is damaged and the file was
 * opened by its index, it is marked as lost, and `decoded` has no records.  Errors: those of reader_block_read. */
epp_status *reader_block_decode(struct reader *reader, const struct reader_block *block, struct reader_decoded *decoded)
    EPP_MUST_CHECK;

/* Decodes the block of rows in decoded->bytes, whose header is also in decoded->header.  decoded->records must have
 * room. */
epp_status *reader_decode_rows(struct reader_decoded *decoded) EPP_MUST_CHECK;

/* Returns true for tracks with the calls of a thread that a plugin reported in host ticks, such as waits for a device.
 * These events nest exactly in those of the thread, so they are shown in the thread's row. */
static inline bool reader_is_on_thread(const epp_trace_track *track)
{
	return track->kind == EPP_TRACK_CALLS && track->clock_kind == EPF_TRACK_CLOCK_HOST && track->thread;
}

/* Return the track with this number, or NULL. */
const epp_trace_track *reader_track(const struct reader *reader, uint32_t track);
const struct epf_track *reader_track_definition(const struct reader *reader, uint32_t track);

/* The public type of an open trace, from epp_trace_open or epp_trace_open_session. */
struct epp_trace {
	struct reader *reader;
};

/* Returns true if a name with this text is defined. */
static inline bool reader_has_name(const struct reader *reader, const char *text)
{
	size_t bytes = strlen(text);

	for (size_t i = 0; i < reader->names_count; i++) {
		const struct reader_name *name = &reader->names[i];
		if (name->text && name->bytes == bytes && memcmp(name->text, text, bytes) == 0)
			return true;
	}
	return false;
}

#endif
