/* Internals shared by the files of the trace writer.  merge/ uses them, too, because it writes blocks itself.
 *
 *   trace_writer.c            create, names, sources, tracks, producers, finish
 *   trace_writer_blocks.c     records: collecting, sorting, encoding; the file: blocks into segments, the header,
 *                             the final rename
 *   trace_writer_copy.c    writes an opened trace as a finished one: recovery, snapshot, packing
 *   trace_writer_pack.c       the records of a packed file
 *   trace_writer_index.c      the index of a packed file */
#ifndef EPPROF_RUNTIME_TRACE_WRITER_TRACE_WRITER_PRIVATE_H
#define EPPROF_RUNTIME_TRACE_WRITER_TRACE_WRITER_PRIVATE_H

#include <stdbool.h>

#include "base/status.h"
#include "containers/string_table.h"
#include "epprof/trace_writer.h"
#include "files/atomic_file.h"
#include "trace/columns/columns.h"

/* The limits for names and their bytes.  A merged trace has higher limits, because it contains the names of all its
 * inputs. */
#define TRACE_WRITER_NAMES_MAX 65536u
#define TRACE_WRITER_TEXT_BYTES_MAX (3u << 20)
#define TRACE_WRITER_MERGED_NAMES_MAX (1u << 20)
#define TRACE_WRITER_MERGED_TEXT_BYTES_MAX (256u << 20)

struct reader;
struct reader_decoded;

struct trace_writer_names {
	struct string_table table; /* the number of a name is its index + EPF_NAME_FIRST_FREE */
	uint32_t count_max, text_bytes_max;
};

/* A record that is not encoded yet. */
struct trace_writer_entry {
	struct epf_record record;
	uint32_t track;
	uint32_t args; /* the index of its first slot of args */
};

#define TRACE_WRITER_ENTRIES 16384u
#define TRACE_WRITER_SLOTS 65536u /* the number of slots of args */

struct trace_writer_track {
	struct epf_track definition;
	char *name, *group; /* NULL: empty */
	uint64_t ids_taken;
	uint64_t *lost; /* losses without an id: one counter for each reason (EPP_LOSS_ENTRY_COUNT); NULL: all are 0 */
};

/* The kinds of records whose ids other records may reference. */
#define TRACE_WRITER_OWN_KINDS (1u << EPF_EVENT | 1u << EPF_COMPLETE | 1u << EPF_ASYNC_BEGIN)

/* A set of ids as a few ranges.  Until the ranges are joined, they are in the order of their first use. */
struct trace_writer_ids {
	struct epf_index_reference ranges[EPF_INDEX_REFERENCES_MAX + 1];
	uint32_t count, current; /* `current` is the range of the last id */
};

/* The index of a packed file. */
struct trace_writer_index {
	struct epf_index_entry *entries;
	size_t entries_count, entries_room;
	struct epf_index_span *spans;
	size_t spans_count, spans_room;
	struct epf_index_reference *references;
	size_t references_count, references_room;
	struct epf_index_entry next; /* the entry of the block that is being built; its spans are the last ones in
	                                `spans` */
	size_t span;                 /* the index of the span of the current track; SIZE_MAX: not looked up yet */
	struct trace_writer_ids ids_next, references_next; /* of the block that is being built: its own ids, and the ids
	                                                      that it references */
};

/* Callbacks that change a trace while trace_writer_copy.c writes it as a finished one. */
struct trace_rewrite {
	void *user;
	/* Writes the records of a block.  Called instead of writing the block; NULL: it is written. */
	epp_status *(*block)(void *user, struct epp_trace_writer *writer, const struct reader_decoded *decoded);
	/* Called after all blocks were written, and before anything else is written.  May change the reader's
	 * definitions, clock samples, accounts and open events, and append blocks of its own. */
	epp_status *(*definitions)(void *user, struct epp_trace_writer *writer);
	/* Called when the file is complete and does not have its name yet; NULL: nothing is called. */
	epp_status *(*check)(void *user, int fd, uint64_t file_bytes);
	uint64_t base_ticks; /* subtracted from all host ticks */
};

struct epp_trace_writer {
	/* The file. */
	char *path;
	struct atomic_file file;
	bool overwrite, failed, finished;
	bool no_memory;   /* an allocation failed in a function that returns no status, so the file must not appear */
	uint8_t *segment; /* the current segment, in memory */
	size_t segment_at;
	uint64_t segment_number; /* 0: there is no segment yet */
	uint64_t segment_first, segment_last;
	uint64_t block_offset;               /* the offset of the last block in the file */
	struct trace_writer_index *index;    /* for packing: every block that is appended is added to the index; NULL:
	                                        no index */
	const struct trace_rewrite *rewrite; /* NULL: none */
	struct epf_index_place index_place;

	struct epf_header header;
	struct trace_writer_source *sources; /* indexed by number - 1; source 0 is in the header */
	uint32_t sources_count;              /* including source 0 */
	size_t sources_room;                 /* the capacity without source 0 */
	struct trace_writer_track *tracks;   /* indexed by number - 1 */
	uint32_t tracks_count;
	size_t tracks_room;
	struct epf_producer *producers; /* EPF_PRODUCER_COUNT of them */
	uint32_t producers_count;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT]; /* losses of the session */
	struct trace_writer_names names;

	struct trace_writer_entry *entries;
	uint32_t *order; /* indexes into `entries` in sorted order, followed by scratch memory of the same size */
	uint64_t *keys;  /* sort keys */
	uint32_t entries_count, slots_count;
	struct epf_arg *slots;
	uint8_t *block;                   /* header and payload of the block that is being encoded */
	uint64_t first_ticks, last_ticks; /* UINT64_MAX and 0: there is no record in host ticks yet */
	uint64_t first_id;
};

/* trace_writer.c */
/* Returns the loss counters of a track, which the caller increments.  If out of memory, returns the session's counters,
 * and epp_trace_writer_finish fails. */
uint64_t *trace_writer_lost(struct epp_trace_writer *writer, struct trace_writer_track *track);
/* Appends a track without checking it.  Fills in its number, name_bytes and group_bytes. */
epp_status *trace_writer_add_track(struct epp_trace_writer *writer, const struct epf_track *definition,
                                   const char *name, const char *group, uint32_t *track) EPP_MUST_CHECK;
/* Writes names, tracks and sources. */
epp_status *trace_writer_definitions_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;

struct trace_writer_source;
/* Returns a source with all its fields, which the caller may change.  The pointer is valid until the next source is
 * added or described.  Returns NULL if out of memory. */
struct epf_source *trace_writer_source(struct epp_trace_writer *writer, uint32_t number);

/* trace_writer_blocks.c */
epp_status *trace_writer_flush(struct epp_trace_writer *writer) EPP_MUST_CHECK;
epp_status *trace_writer_open(struct epp_trace_writer *writer) EPP_MUST_CHECK;
/* Appends a block; its payload must directly follow the header in memory. */
epp_status *trace_writer_append(struct epp_trace_writer *writer, struct epf_block *block) EPP_MUST_CHECK;
/* Appends a payload from any place in memory.  If it is too large for one block, it is divided into several, between
 * elements of `element_bytes`. */
epp_status *trace_writer_append_payload(struct epp_trace_writer *writer, unsigned type, const void *payload,
                                        size_t bytes, size_t element_bytes) EPP_MUST_CHECK;
/* Writes producers; only a merged trace may have more than EPF_PRODUCER_COUNT. */
epp_status *trace_writer_append_producers(struct epp_trace_writer *writer, const struct epf_producer *producers,
                                          size_t count) EPP_MUST_CHECK;
/* Writes the last segment and the header, and renames the file. */
epp_status *trace_writer_commit(struct epp_trace_writer *writer) EPP_MUST_CHECK;
/* Returns the offset of the end of the file so far. */
uint64_t trace_writer_end(const struct epp_trace_writer *writer);

/* trace_writer_copy.c */
/* Encodes decoded records as a block of rows.  Ownership: the caller frees *block. */
epp_status *trace_writer_rows(const struct reader_decoded *decoded, struct epf_block **block) EPP_MUST_CHECK;

/* Implements epp_trace_pack.  Blocks have at most records_most records, unless an input block has more.  If
 * records_most is 0, implements epp_trace_recover. */
epp_status *trace_writer_pack(struct reader *reader, const char *path, int overwrite, uint32_t records_most)
    EPP_MUST_CHECK;
/* As epp_trace_recover, with the changes of `rewrite`. */
epp_status *trace_writer_rewrite(struct reader *reader, const char *path, int overwrite,
                                 const struct trace_rewrite *rewrite) EPP_MUST_CHECK;
/* The number of records of about four blocks from regions of 64 KiB.  Twice as many records would save one percent of
 * space and double the memory for merging blocks of many tracks. */
#define TRACE_WRITER_PACKED_RECORDS 8192u

/* trace_writer_pack.c */
struct trace_packer;
struct reader_impl;
/* Creates a packer.  Ownership: the caller destroys *packer, also on failure. */
epp_status *trace_packer_create(struct epp_trace_writer *writer, struct reader_impl *impl, uint32_t records_most,
                                struct trace_packer **packer) EPP_MUST_CHECK;
void trace_packer_destroy(struct trace_packer *packer);
/* Writes all blocks of records, and counts the records in the ledger. */
epp_status *trace_packer_blocks(struct trace_packer *packer) EPP_MUST_CHECK;
/* Packs one more block, which is given as rows. */
epp_status *trace_packer_rows(struct trace_packer *packer, const struct epf_block *rows) EPP_MUST_CHECK;

/* trace_writer_index.c */
void trace_writer_index_init(struct trace_writer_index *index);
void trace_writer_index_deinit(struct trace_writer_index *index);
/* Adds records of the block that is being built, in their order.  `parents` has the parent of each record, valid for
 * records with args; NULL: they are read from the args. */
epp_status *trace_writer_index_records(struct trace_writer_index *index, const struct reader_decoded *decoded,
                                       const uint64_t *parents) EPP_MUST_CHECK;
/* Completes the index entry of the block when all records of the block have been added. */
void trace_writer_index_settle(struct trace_writer_index *index);
/* Discards the block that is being built. */
void trace_writer_index_forget(struct trace_writer_index *index);
/* Adds the index entry of the block that was appended at `offset`. */
epp_status *trace_writer_index_block(struct trace_writer_index *index, uint64_t offset, const struct epf_block *block)
    EPP_MUST_CHECK;
/* Appends the index; it must be the last part of the file. */
epp_status *trace_writer_index_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;

/* The maximum size of a block's payload in this writer. */
#define TRACE_WRITER_PAYLOAD_MAX (512u << 10)

#endif
