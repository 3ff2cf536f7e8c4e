/* What the parts of the reader share; whoever uses a reader includes trace/reader.h.
 *
 *   reader.c              opening: the header, the order of things, what epp_trace_info says
 *   reader_scan.c         the segments and their blocks
 *   reader_ring.c         the same of a ring
 *   reader_index.c        the index of a packed file, instead
 *   reader_definitions.c  names, tracks, runs, pairs, ledger entries and producers, from blocks and from the log
 *   reader_window.c       what the window still holds: regions, made into blocks
 *   reader_external_window.c    a window that is a file of its own
 *   reader_open_events.c         events that are open
 *   reader_names_lost.c   names that a kill has lost
 *   reader_records.c      blocks and tracks of an opened trace
 *   reader_ledger.c     the ledger
 *   reader_process.c      whether the writer is alive
 */
#ifndef EPPROF_RUNTIME_TRACE_READER_PRIVATE_H
#define EPPROF_RUNTIME_TRACE_READER_PRIVATE_H

#include "base/status.h"
#include "containers/id_set.h"
#include "format/format_ring.h"
#include "trace/columns/columns.h"
#include "trace/reader.h"

/* Geometry that a header may claim at most; far beyond what is written. */
#define READER_SLOTS_MAX (1u << 16)
#define READER_CHUNKS_MAX (1u << 16)
#define READER_CHUNK_BYTES_MAX (1u << 24)
#define READER_LOG_BYTES_MAX (1u << 28)
#define READER_SEGMENT_BYTES_MAX (1u << 28)
#define READER_NAMES_MAX (1u << 21)
#define READER_PRODUCERS_MAX (1u << 20)
#define READER_FINDINGS_MAX 1000u
#define READER_ARGS_BYTES_MAX (EPF_COLUMNS_ARGS_MAX * 16u + EPF_COLUMNS_TEXT_MAX + 64u)

/* Strings that live as long as the reader. */
struct reader_texts {
	struct reader_texts *next;
	size_t used, room;
	char bytes[];
};

/* What of a slot is kept: all but its region. */
struct reader_slot {
	uint32_t index;
	struct epf_slot slot; /* `region` is not filled in */
};

/* A line of the ledger. */
struct reader_account {
	epp_trace_account account;
	char *producer;
	int32_t producer_index; /* of plugins */
};

/* A ring's segment, by its place in the file. */
struct reader_place {
	uint64_t number;
	size_t at;       /* where the next block is to be looked for */
	bool is_damaged; /* its header: the number is not known, so neither is whether its blocks count */
};

/* Entries of reader.ledger that came from a kept segment of a ring. */
struct reader_entries {
	size_t first, count;
	uint64_t number; /* the segment's */
};

/* Args that several records of the window have in common (EPF_DEFINE_ARGS). */
struct reader_args {
	uint32_t number, slots_count;
	struct epf_arg *slots;
};

/* Where something stands that is kept without its place. */
enum reader_saying_kind { READER_SAID_PAIR, READER_SAID_RUN, READER_SAID_ACCOUNT, READER_SAID_PRODUCER };
struct reader_saying {
	enum reader_saying_kind kind;
	uint64_t of; /* which: the pair's ticks, or a number */
	uint64_t offset;
};

/* An origin: the block was overwritten while the file was read. */
#define READER_GONE UINT64_MAX

struct reader_impl {
	struct reader reader; /* first: a struct reader * is one of these */

	struct reader_texts *texts;
	size_t blocks_capacity, names_capacity, tracks_capacity, definitions_capacity, runs_capacity, pairs_capacity;
	size_t ledger_capacity, findings_capacity, open_capacity, window_blocks_capacity, producers_capacity;
	uint64_t *origins; /* of reader.blocks: where each lies in the file, those of the window's regions too */
	size_t origins_capacity;
	struct id_set sequences; /* of the blocks */

	/* Where the scan of the segments stands. */
	uint8_t *segment;
	uint64_t segment_index;
	size_t segment_at;          /* the next block's place in it; 0: the segment was not there yet */
	struct reader_finding stop; /* why the last segment ends there; text NULL: cleanly */
	bool records_closed;
	struct reader_place *places; /* of a ring */
	size_t places_capacity;
	struct epf_overwritten_row *overwritten; /* the last account of what a ring gave up */
	size_t overwritten_count;
	uint64_t overwritten_through;
	struct reader_entries *entries; /* of a ring, in the order of reader.ledger */
	size_t entries_count, entries_capacity;
	struct epf_ledger_entry *kept; /* the accounts that were added up */
	size_t kept_count;
	uint64_t kept_through;
	uint64_t producers_number; /* the segment that they are from */

	bool never_started;         /* so it says itself */
	bool has_elsewhere;         /* the window is read from header.window_path, which is this trace's */
	size_t blocks_before_slots; /* how many blocks there were when the slots were copied */
	struct reader_slot *slots;  /* those in use */
	size_t slots_count, slots_capacity;

	struct reader_account *accounts; /* sessions by source, threads by track, plugins; NULL: not listed yet */
	bool accounts_missing;           /* there was no memory to list them */
	size_t accounts_count, accounts_sessions, accounts_threads; /* up to where each kind goes */
	bool accounts_counted;

	struct reader_saying *said;
	size_t said_count, said_capacity;

	struct reader_args *args; /* as they are defined; then by number, what was said first before the rest */
	size_t args_count, args_capacity;
	uint64_t args_lost; /* records of the window that lack some, since nothing defines them */

	struct epf_index_place index_place;
	uint64_t whole_bytes; /* of the file when it was finished; 0: not known */
	struct columns_decoder columns;
	uint8_t *packed; /* a block of columns as it stands */
	size_t packed_room;
};

static inline struct reader_impl *reader_impl(struct reader *reader)
{
	return (struct reader_impl *)(void *)reader;
}

/* Reads; `*got` is less than `bytes` only at the end of the file. */
epp_status *reader_read(struct reader_impl *impl, uint64_t offset, void *buffer, size_t bytes, size_t *got) EPP_MUST_CHECK;

/* A copy with a NUL behind it; NULL: no memory. */
char *reader_text(struct reader_impl *impl, const char *text, size_t bytes);

/* Keeps a finding for validate; beyond READER_FINDINGS_MAX, or without memory, it is dropped. */
void reader_find(struct reader_impl *impl, epp_severity severity, uint64_t offset, const char *format, ...)
    EPP_FORMAT(4, 5);

/* Notes where the file says something of `of`; of arrays in a block, where each element stands.  False: no memory. */
bool reader_said(struct reader_impl *impl, enum reader_saying_kind kind, uint64_t of, uint64_t offset);
bool reader_said_pairs(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset);
bool reader_said_accounts(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset);
bool reader_said_producers(struct reader_impl *impl, uint32_t first, size_t count, uint64_t offset);
/* Where it is said, the last time; UINT64_MAX: nowhere. */
uint64_t reader_said_at(const struct reader_impl *impl, enum reader_saying_kind kind, uint64_t of);

/* Takes in the blocks from where the last scan stopped; called again to see what a live file has got since.  Blocks of
 * records are passed over once impl->records_closed. */
epp_status *reader_scan(struct reader_impl *impl) EPP_MUST_CHECK;

/* The same of a ring, whose places are gone through again; what it was, once it was scanned for the last time. */
epp_status *reader_ring_scan(struct reader_impl *impl) EPP_MUST_CHECK;
epp_status *reader_ring_end(struct reader_impl *impl) EPP_MUST_CHECK;
/* Takes in an EPF_BLOCK_OVERWRITTEN. */
epp_status *reader_ring_define(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Takes in an EPF_BLOCK_KEPT. */
epp_status *reader_ring_keep(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* `count` ledger entries were taken in from the segment that is being scanned. */
epp_status *reader_ring_entries(struct reader_impl *impl, size_t count) EPP_MUST_CHECK;
/* The number of that segment; 0 where there is no ring. */
uint64_t reader_ring_number(const struct reader_impl *impl);
/* The blocks of the segment that impl->segment holds `bytes` of, from *at on. */
epp_status *reader_scan_place(struct reader_impl *impl, uint64_t index, size_t bytes, size_t *at) EPP_MUST_CHECK;

/* Opens a packed file by its index: all of its blocks are taken in, and reader->summaries is set; or none, and it is not. */
epp_status *reader_index(struct reader_impl *impl) EPP_MUST_CHECK;

/* Why there is no block at `at` of a segment of which `bytes` could be read: NULL if nothing was ever written there, "" if
 * there is one. */
const char *reader_block_flaw(const uint8_t *segment, size_t at, size_t bytes, size_t segment_bytes);

/* Takes in a block of records, if its header can be. */
epp_status *reader_take_records(struct reader_impl *impl, const struct epf_block *block, uint64_t offset,
                                uint32_t args_bytes) EPP_MUST_CHECK;
/* Takes in a block that is not of records. */
epp_status *reader_define_block(struct reader_impl *impl, const struct epf_block *block, const uint8_t *payload,
                                uint64_t offset) EPP_MUST_CHECK;
/* Takes in definitions up to the first that is not whole. */
epp_status *reader_define(struct reader_impl *impl, const uint8_t *definitions, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Takes in an EPF_DEFINE_ARGS. */
epp_status *reader_define_args(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Once all are taken in, and before any is asked for. */
epp_status *reader_order_args(struct reader_impl *impl) EPP_MUST_CHECK;
/* For codec_writer.defined, with a struct reader_impl. */
const struct epf_arg *reader_defined_args(const void *impl, uint32_t number, uint32_t *slots);
/* A track that nothing defined. */
epp_status *reader_define_thread(struct reader_impl *impl, const struct epf_slot *slot) EPP_MUST_CHECK;
/* Sorts and joins what was taken in. */
epp_status *reader_define_end(struct reader_impl *impl) EPP_MUST_CHECK;
/* What each track is, once all are sorted: reader_tracks.c. */
epp_status *reader_tracks_end(struct reader_impl *impl) EPP_MUST_CHECK;

/* Adds a records block to the index: one at `offset` in the file, or one made of the region at `origin`. */
epp_status *reader_add_block(struct reader_impl *impl, const struct epf_block *block, uint64_t offset, bool in_window,
                             uint64_t origin, uint32_t args_bytes) EPP_MUST_CHECK;

/* Has the window read from the file that the header names.  False: it is not there or another trace's (a finding). */
bool reader_elsewhere(struct reader_impl *impl);

/* The window of a file that is not finished: live page, log, slots, regions; rescans the segments behind it. */
epp_status *reader_window(struct reader_impl *impl) EPP_MUST_CHECK;

/* A block in reader->window_blocks, with room for records of so many bytes, and its keeping; NULL: no memory.  One at a
 * time. */
struct epf_block *reader_block_room(struct reader_impl *impl, size_t records_bytes);
epp_status *reader_block_keep(struct reader_impl *impl, struct epf_block *block, const struct codec_writer *writer,
                              uint64_t origin) EPP_MUST_CHECK;

/* Which entries of the open stacks count, as open events or as events that ended elsewhere. */
epp_status *reader_open_events(struct reader_impl *impl) EPP_MUST_CHECK;

/* Names that nothing defines, where the log was full, are lost ones. */
epp_status *reader_names_lost(struct reader_impl *impl) EPP_MUST_CHECK;

/* Frees what blocks were decoded into, one after the other; zero-initialised is ready to use. */
void reader_decoded_deinit(struct reader_decoded *decoded);

/* Kinds whose records took an id of their own from their thread. */
#define READER_OWN_ID_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_COMPLETE | 1u << EPF_FLOW | \
	 1u << EPF_ASYNC_BEGIN)

/* The ledger's lines without what was written, which takes reading the whole trace. */
epp_status *reader_account_lines(struct reader_impl *impl) EPP_MUST_CHECK;
/* All of them: the whole trace is read once. */
epp_status *reader_accounts(struct reader_impl *impl) EPP_MUST_CHECK;
/* The same in steps, for who reads all records anyway: begin, count for each block, end. */
void reader_account_begin(struct reader_impl *impl);
void reader_account_count(struct reader_impl *impl, const struct reader_block *block,
                          const struct codec_record *records, uint32_t count);
/* The same by the block's header; false: it does not say enough, and nothing is counted. */
bool reader_account_header(struct reader_impl *impl, const struct reader_block *block);
void reader_account_end(struct reader_impl *impl);

#endif
