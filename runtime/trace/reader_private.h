/* Internals shared by the files of the reader; users of a reader include trace/reader.h.
 *
 *   reader.c                  opening: the header, the sequence of steps, lost names, the fields of epp_trace_info
 *   reader_scan.c             the segments and their blocks
 *   reader_ring.c             the segments and blocks of a ring
 *   reader_index.c            the index of a packed file, instead of a scan
 *   reader_definitions.c      names, tracks, runs, pairs, ledger entries and producers, from blocks and from the log
 *   reader_window.c           the window, in this file or a separate one; encodes its regions as blocks
 *   reader_open_events.c      events that are open
 *   reader_records.c          blocks and tracks of an opened trace
 *   reader_ledger.c           the ledger
 *   reader_process.c          detects if the writer is alive
 *   reader_truncation.c       detects that the file was truncated */
#ifndef EPPROF_RUNTIME_TRACE_READER_PRIVATE_H
#define EPPROF_RUNTIME_TRACE_READER_PRIVATE_H

#include "base/status.h"
#include "containers/hash_map.h"
#include "containers/id_set.h"
#include "format/format_ring.h"
#include "trace/columns/columns.h"
#include "trace/reader.h"

/* Upper limits for the sizes in a header; far larger than those that are written. */
#define READER_SLOTS_MAX (1u << 16)
#define READER_CHUNKS_MAX (1u << 16)
#define READER_CHUNK_BYTES_MAX (1u << 24)
#define READER_LOG_BYTES_MAX (1u << 28)
#define READER_SEGMENT_BYTES_MAX (1u << 28)
#define READER_NAMES_MAX (1u << 21)
#define READER_PRODUCERS_MAX (1u << 20)
#define READER_FINDINGS_MAX 1000u
#define READER_ARGS_BYTES_MAX (EPF_COLUMNS_ARGS_MAX * 16u + EPF_COLUMNS_TEXT_MAX + 64u)

/* Memory for strings that live as long as the reader. */
struct reader_texts {
	struct reader_texts *next;
	size_t used, room;
	char bytes[];
};

/* A copy of a slot, without its region. */
struct reader_slot {
	uint32_t index;
	struct epf_slot slot; /* `region` is not filled in */
};

/* A line of the ledger: the account of a session, a thread or a plugin. */
struct reader_account {
	epp_trace_ledger_entry account;
	char *producer;
	int32_t producer_index; /* index of the plugin's struct epf_producer; only for plugins */
};

/* A segment of a ring.  The array index is the place of the segment in the file. */
struct reader_place {
	uint64_t number;
	size_t at;       /* the offset in the segment at which the search for the next block continues */
	bool is_damaged; /* the segment's header is damaged, so that its number and the validity of its blocks are
	                    unknown */
};

/* Entries of reader.ledger that came from one segment of a ring. */
struct reader_entries {
	size_t first, count;
	uint64_t number; /* the number of the segment */
};

/* Args that several records of the window share (EPF_DEFINE_ARGS). */
struct reader_args {
	uint32_t number, slots_count;
	struct epf_arg *slots;
};

/* Kinds of items whose structs have no member for their file offset. */
enum reader_item { READER_ITEM_PAIR, READER_ITEM_RUN, READER_ITEM_ACCOUNT, READER_ITEM_PRODUCER, READER_ITEM_COUNT };

/* A value of `origins`: the block was overwritten while the file was read. */
#define READER_GONE UINT64_MAX

struct reader_impl {
	struct reader reader; /* must be first, because a struct reader * is converted to a struct reader_impl * */

	struct reader_texts *texts;
	size_t blocks_capacity, names_capacity, tracks_capacity, definitions_capacity, runs_capacity, pairs_capacity;
	size_t ledger_capacity, findings_capacity, open_capacity, window_blocks_capacity, producers_capacity;
	size_t producers_end; /* one more than the largest number of a producer that was read */
	/* One for each of reader.blocks: the offset of the block in the file, or of the window's region from which it
	 * was made. */
	uint64_t *origins;
	size_t origins_capacity;
	struct id_set tracks; /* the tracks that are defined */
	/* The sequence numbers of the window's regions whose block was found in a segment: reader_window.c ignores the
	 * copy in the window, so that no event is read twice. */
	struct id_set sequences;

	/* State of the scan of the segments. */
	uint8_t *segment;
	uint64_t segment_index;
	size_t segment_at;          /* the offset of the next block in the segment; 0: the segment did not exist yet */
	struct reader_finding stop; /* the reason why the last scanned segment ends at segment_at; text NULL: it ends
	                               correctly */
	bool records_closed;
	struct reader_place *places; /* the places of a ring */
	size_t places_capacity;
	/* The rows of the latest EPF_BLOCK_OVERWRITTEN, which count the events that the ring has overwritten. */
	struct epf_overwritten_row *overwritten;
	size_t overwritten_count;
	uint64_t overwritten_through;
	struct reader_entries *entries; /* for a ring; in the order of reader.ledger */
	size_t entries_count, entries_capacity;
	struct epf_ledger_entry *retained; /* the entries of the latest EPF_BLOCK_RETAINED: the sums of the entries in
	                                      compacted segments */
	size_t retained_count;
	uint64_t retained_through;
	uint64_t producers_number; /* the number of the segment in which `producers` were found */

	bool never_started;         /* the file has a run block with number 0 */
	bool has_external_window;   /* the window is read from header.window_path, which belongs to this trace */
	size_t blocks_before_slots; /* number of blocks when the slots were copied; a later block may
	                               have the record of an event that is open in the copy */
	struct reader_slot *slots;  /* the slots in use */
	size_t slots_count, slots_capacity;

	struct reader_account *accounts; /* first the sessions, by source; then the threads, by track; then the plugins.
	                                    NULL: not built yet */
	bool accounts_missing;           /* there was no memory to build `accounts` */
	size_t accounts_count, accounts_sessions, accounts_threads; /* the end indexes of the plugins, the sessions and
	                                                               the threads in `accounts` */
	bool accounts_counted;

	/* For each kind of item: the file offset at which an item was defined last; used for findings.  The key is the
	 * ticks of a pair, the track of an account, or the number of a run or a producer. */
	struct hash_map item_offsets[READER_ITEM_COUNT];

	/* The shared args: in file order, and after reader_order_args sorted by number; equal numbers stay in file
	 * order. */
	struct reader_args *args;
	size_t args_count, args_capacity;
	uint64_t args_lost; /* the number of records of the window that lost args, because shared args are not defined
	                       or exceed a limit */

	struct epf_index_place index_place;
	uint64_t finished_bytes; /* the size of the file when it was finished; 0: unknown */
	struct columns_decoder columns;
	uint8_t *packed; /* a buffer for an encoded block of columns */
	size_t packed_room;
};

static inline struct reader_impl *reader_impl(struct reader *reader)
{
	return (struct reader_impl *)(void *)reader;
}

/* Reads bytes of the file; `*got` is less than `bytes` only at the end of the file. */
epp_status *reader_read(struct reader_impl *impl, uint64_t offset, void *buffer, size_t bytes, size_t *got) EPP_MUST_CHECK;

/* Returns a NUL-terminated copy, or NULL if out of memory. */
char *reader_text(struct reader_impl *impl, const char *text, size_t bytes);

/* Adds a finding for validate.  Drops it if there are READER_FINDINGS_MAX already, or if out of memory. */
void reader_find(struct reader_impl *impl, epp_severity severity, uint64_t offset, const char *format, ...)
    EPP_FORMAT(4, 5);

/* Records the file offset of an item; the array variants record the offset of each element in a block.  Return false if
 * out of memory. */
bool reader_note_offset(struct reader_impl *impl, enum reader_item kind, uint64_t of, uint64_t offset);
bool reader_note_producer_offsets(struct reader_impl *impl, uint32_t first, size_t count, uint64_t offset);
/* Returns the last recorded offset of an item; UINT64_MAX if there is none. */
uint64_t reader_find_offset(const struct reader_impl *impl, enum reader_item kind, uint64_t of);

/* Reads blocks, beginning where the last scan stopped.  Called again to read the blocks that were added to a live file
 * since.  Once impl->records_closed is set, record blocks are skipped. */
epp_status *reader_scan(struct reader_impl *impl) EPP_MUST_CHECK;

/* As reader_scan, for a ring: each scan visits all places again.  reader_ring_end is called once, after the last scan,
 * and sorts the result. */
epp_status *reader_ring_scan(struct reader_impl *impl) EPP_MUST_CHECK;
epp_status *reader_ring_end(struct reader_impl *impl) EPP_MUST_CHECK;
/* Reads an EPF_BLOCK_OVERWRITTEN. */
epp_status *reader_ring_define(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Reads an EPF_BLOCK_RETAINED. */
epp_status *reader_ring_retained(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Notes that the last `count` ledger entries are from the segment that is being scanned. */
epp_status *reader_ring_entries(struct reader_impl *impl, size_t count) EPP_MUST_CHECK;
/* Returns the number of the segment that is being scanned; 0 if the file is not a ring. */
uint64_t reader_ring_number(const struct reader_impl *impl);
/* Reads the blocks of a segment, beginning at *at.  impl->segment has the segment's first `bytes`. */
epp_status *reader_scan_place(struct reader_impl *impl, uint64_t index, size_t bytes, size_t *at) EPP_MUST_CHECK;

/* Opens a packed file by its index: adds all blocks and sets reader->summaries.  If the index is unusable, it changes
 * nothing. */
epp_status *reader_index(struct reader_impl *impl) EPP_MUST_CHECK;

/* Returns the reason why a segment, of which `bytes` were read, has no valid block at the offset `at`.  Returns "" if
 * the block is valid, and NULL if nothing was ever written there. */
const char *reader_block_flaw(const uint8_t *segment, size_t at, size_t bytes, size_t segment_bytes);

/* Adds a block of records, if its header is plausible. */
epp_status *reader_take_records(struct reader_impl *impl, const struct epf_block *block, uint64_t offset,
                                uint32_t args_bytes) EPP_MUST_CHECK;
/* Reads a block without records. */
epp_status *reader_define_block(struct reader_impl *impl, const struct epf_block *block, const uint8_t *payload,
                                uint64_t offset) EPP_MUST_CHECK;
/* Reads definitions up to the first incomplete one. */
epp_status *reader_define(struct reader_impl *impl, const uint8_t *definitions, size_t bytes, uint64_t offset)
    EPP_MUST_CHECK;
/* Sorts the shared args by number.  Must be called after the last reader_define and before the first
 * reader_defined_args. */
epp_status *reader_order_args(struct reader_impl *impl) EPP_MUST_CHECK;
/* The callback codec_writer.defined; `impl` is a struct reader_impl. */
const struct epf_arg *reader_defined_args(const void *impl, uint32_t number, uint32_t *slots);
/* Adds a thread's track that has no definition. */
epp_status *reader_define_thread(struct reader_impl *impl, const struct epf_slot *slot) EPP_MUST_CHECK;
/* Sorts and merges the definitions. */
epp_status *reader_define_end(struct reader_impl *impl) EPP_MUST_CHECK;

/* Adds findings if the file ends before its first segment or, if it is finished, is shorter than it was then or
 * contains no run.  Sets the fields of epp_trace_info that report a truncated file. */
epp_status *reader_check_end(struct reader_impl *impl, bool finished) EPP_MUST_CHECK;

/* Adds a records block to reader->blocks: one at `offset` in the file, or, if in_window is set, one that was made from
 * the region at `origin` and is at `offset` in reader->window_blocks. */
epp_status *reader_add_block(struct reader_impl *impl, const struct epf_block *block, uint64_t offset, bool in_window,
                             uint64_t origin, uint32_t args_bytes) EPP_MUST_CHECK;

/* Redirects reads of the window to the file that the header names.  Returns false, and adds a finding, if that file is
 * missing or belongs to another trace. */
bool reader_external_window(struct reader_impl *impl);

/* Reads the window of an unfinished file: live page, log, slots, regions; then rescans the segments. */
epp_status *reader_window(struct reader_impl *impl) EPP_MUST_CHECK;

/* reader_block_room returns a new block in reader->window_blocks with room for `records_bytes` bytes of records, or
 * NULL if out of memory.  reader_block_keep adds the block.  There can be only one such block at a time. */
struct epf_block *reader_block_room(struct reader_impl *impl, size_t records_bytes);
epp_status *reader_block_keep(struct reader_impl *impl, struct epf_block *block, const struct codec_writer *writer,
                              uint64_t origin) EPP_MUST_CHECK;

/* Divides the events on the stacks of the window into open events and events that another thread has ended. */
epp_status *reader_open_events(struct reader_impl *impl) EPP_MUST_CHECK;

/* Marks undefined names as lost if the log was full. */
epp_status *reader_names_lost(struct reader_impl *impl) EPP_MUST_CHECK;

/* Frees the buffers of a struct reader_decoded; a zero-initialised one is ready to use. */
void reader_decoded_deinit(struct reader_decoded *decoded);

/* The kinds of records that have an id of their own. */
#define READER_OWN_ID_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_COMPLETE | 1u << EPF_FLOW | \
	 1u << EPF_ASYNC_BEGIN)

/* Builds the ledger's lines without the `written` counts, which require reading the whole trace. */
epp_status *reader_account_lines(struct reader_impl *impl) EPP_MUST_CHECK;
/* Builds all lines with counts: reads the whole trace once. */
epp_status *reader_accounts(struct reader_impl *impl) EPP_MUST_CHECK;
/* As reader_accounts in steps, for callers that read all records anyway: begin, count for each block, end. */
void reader_account_begin(struct reader_impl *impl);
void reader_account_count(struct reader_impl *impl, const struct reader_block *block,
                          const struct codec_record *records, uint32_t count);
/* Counts a block by its header only.  Returns false, and counts nothing, if the header is not sufficient. */
bool reader_account_header(struct reader_impl *impl, const struct reader_block *block);
void reader_account_end(struct reader_impl *impl);

#endif
