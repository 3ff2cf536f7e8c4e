/* What the parts of the trace writer share, and what merge/trace_merge.c needs of it, which writes blocks of its own.
 *
 *   trace_writer.c          create, tracks, producers, finish
 *   trace_writer_sources.c  processes
 *   trace_writer_names.c    the names
 *   trace_writer_records.c  records: collected, sorted, encoded
 *   trace_writer_blocks.c   the file: blocks into segments, the header, the name at last
 *   trace_writer_recover.c  what a trace's reader found, as a finished trace: recovery, snapshot, packing
 *   trace_writer_pack.c     the records of a packed file
 *   trace_writer_index.c    its index
 */
#ifndef EPPROF_RUNTIME_TRACE_WRITER_TRACE_WRITER_PRIVATE_H
#define EPPROF_RUNTIME_TRACE_WRITER_TRACE_WRITER_PRIVATE_H

#include <stdbool.h>

#include "base/status.h"
#include "containers/string_table.h"
#include "epprof/trace_writer.h"
#include "files/atomic_file.h"
#include "trace/columns/columns.h"

/* Names and their bytes; of a merged trace, whose names are those of all others. */
#define TRACE_WRITER_NAMES_MAX 65536u
#define TRACE_WRITER_TEXT_BYTES_MAX (3u << 20)
#define TRACE_WRITER_MERGED_NAMES_MAX (1u << 20)
#define TRACE_WRITER_MERGED_TEXT_BYTES_MAX (256u << 20)

struct reader;
struct reader_decoded;

struct trace_writer_names {
	struct string_table table; /* numbers plus EPF_NAME_FIRST_FREE */
	uint32_t count_max, text_bytes_max;
};

/* A record on its way into a block. */
struct trace_writer_entry {
	struct epf_record record;
	uint32_t track;
	uint32_t args; /* first slot */
};

#define TRACE_WRITER_ENTRIES 16384u
#define TRACE_WRITER_SLOTS 65536u /* of args */

struct trace_writer_track {
	struct epf_track definition;
	char *name, *group; /* NULL: empty */
	uint64_t ids_taken;
	uint64_t *lost; /* EPP_LOSS_ENTRY_COUNT of them, which took no id; NULL: none, as of nearly all tracks */
};

/* The index of a packed file. */
struct trace_writer_index {
	struct epf_index_entry *entries;
	size_t entries_count, entries_room;
	struct epf_index_span *spans;
	size_t spans_count, spans_room;
	struct epf_index_reference *references;
	size_t references_count, references_room;
	struct epf_index_entry next; /* of the block that is being made; its spans are the last ones */
	size_t span;                 /* of the track at hand; SIZE_MAX: not looked for */
	/* Its references so far, in the order in which they came up, and the one that was met last. */
	struct epf_index_reference next_references[EPF_INDEX_REFERENCES_MAX + 1];
	uint32_t reference;
	struct epf_index_reference next_ids[EPF_INDEX_REFERENCES_MAX]; /* its own, if they lie thin */
};

/* Kinds whose records have ids that others may name. */
#define TRACE_WRITER_OWN_KINDS (1u << EPF_EVENT | 1u << EPF_COMPLETE | 1u << EPF_ASYNC_BEGIN)

/* Sorts ids, in place, and tells the stretches they lie in, at most EPF_INDEX_REFERENCES_MAX: how many. */
uint32_t trace_writer_stretches(uint64_t *ids, size_t count, struct epf_index_reference *stretches);

struct epp_trace_writer {
	/* The file. */
	char *path;
	struct atomic_file file;
	bool overwrite, failed, finished;
	bool no_memory;   /* something that has no status of its own was left out: the file must not appear */
	uint8_t *segment; /* the one that is being filled */
	size_t segment_at;
	uint64_t segment_number; /* 0: none yet */
	uint64_t segment_first, segment_last;
	uint64_t block_offset;            /* of the last block, in the file */
	struct trace_writer_index *index; /* whoever packs: every block is noted there; NULL: none */
	struct epf_index_place index_place;

	struct epf_header header;
	struct trace_writer_source *sources; /* number - 1; 0 is in the header */
	uint32_t sources_count;              /* with that one */
	size_t sources_room;                 /* without it */
	struct trace_writer_track *tracks;   /* number - 1 */
	uint32_t tracks_count;
	size_t tracks_room;
	struct epf_producer *producers; /* EPF_PRODUCER_COUNT of them */
	uint32_t producers_count;
	uint64_t lost[EPP_LOSS_ENTRY_COUNT]; /* of the session */
	struct trace_writer_names names;

	struct trace_writer_entry *entries;
	uint32_t *order; /* of entries, and as much room again to sort in */
	uint64_t *keys;  /* by which they are sorted */
	uint32_t entries_count, slots_count;
	struct epf_arg *slots;
	uint8_t *block;                   /* header and payload being encoded */
	uint64_t first_ticks, last_ticks; /* UINT64_MAX, 0: nothing in host ticks yet */
	uint64_t first_id;
};

/* trace_writer.c */
/* What is lost of a track, to be counted up; the session's without memory for its own, and finish fails then. */
uint64_t *trace_writer_lost(struct epp_trace_writer *writer, struct trace_writer_track *track);
/* Appends a track; its number, name_bytes and group_bytes are filled in.  Nothing of it is checked. */
epp_status *trace_writer_add_track(struct epp_trace_writer *writer, const struct epf_track *definition,
                                   const char *name, const char *group, uint32_t *track) EPP_MUST_CHECK;
/* Names, tracks and sources. */
epp_status *trace_writer_definitions_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;

/* trace_writer_sources.c */
struct trace_writer_source;
/* All of it, to be changed, until the next one is added or described; NULL: no memory. */
struct epf_source *trace_writer_source(struct epp_trace_writer *writer, uint32_t number);
epp_status *trace_writer_sources_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;
void trace_writer_sources_deinit(struct epp_trace_writer *writer);

/* trace_writer_names.c */
void trace_writer_names_deinit(struct trace_writer_names *names);
/* Writes them as definitions. */
epp_status *trace_writer_names_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;

/* trace_writer_records.c */
epp_status *trace_writer_flush(struct epp_trace_writer *writer) EPP_MUST_CHECK;

/* trace_writer_blocks.c */
epp_status *trace_writer_open(struct epp_trace_writer *writer) EPP_MUST_CHECK;
/* `block` is a header with the payload right behind it. */
epp_status *trace_writer_append(struct epp_trace_writer *writer, struct epf_block *block) EPP_MUST_CHECK;
/* The same for a payload that lies elsewhere; it may be larger than a block, of elements of `element_bytes`. */
epp_status *trace_writer_append_payload(struct epp_trace_writer *writer, unsigned type, const void *payload,
                                        size_t bytes, size_t element_bytes) EPP_MUST_CHECK;
/* Accounts of profilers, of which only a merged trace may have more than EPF_PRODUCER_COUNT. */
epp_status *trace_writer_append_producers(struct epp_trace_writer *writer, const struct epf_producer *producers,
                                          size_t count) EPP_MUST_CHECK;
/* The last segment, the header, the name. */
epp_status *trace_writer_commit(struct epp_trace_writer *writer) EPP_MUST_CHECK;
/* Where the file ends. */
uint64_t trace_writer_end(const struct epp_trace_writer *writer);

/* trace_writer_recover.c */
/* What was decoded as a block of rows.  Ownership: malloc, the caller's. */
epp_status *trace_writer_rows(const struct reader_decoded *decoded, struct epf_block **block) EPP_MUST_CHECK;

/* epp_trace_pack with blocks of at most so many records, unless one had more; 0: epp_trace_recover. */
epp_status *trace_writer_pack(struct reader *reader, const char *path, int overwrite, uint32_t records_most)
    EPP_MUST_CHECK;
/* Regions of 64 KiB become blocks of four.  Twice as many records would take a hundredth less room, and twice the memory
 * where blocks of many tracks are merged. */
#define TRACE_WRITER_PACKED_RECORDS 8192u

/* trace_writer_pack.c */
struct trace_packer;
struct reader_impl;
/* Ownership: *packer is the caller's to destroy, on failure too. */
epp_status *trace_packer_create(struct epp_trace_writer *writer, struct reader_impl *impl, uint32_t records_most,
                                struct trace_packer **packer) EPP_MUST_CHECK;
void trace_packer_destroy(struct trace_packer *packer);
/* Writes all records blocks, and counts what they hold in the accounts. */
epp_status *trace_packer_blocks(struct trace_packer *packer) EPP_MUST_CHECK;
/* Writes one more, given as rows. */
epp_status *trace_packer_rows(struct trace_packer *packer, const struct epf_block *rows) EPP_MUST_CHECK;

/* trace_writer_index.c */
void trace_writer_index_init(struct trace_writer_index *index);
void trace_writer_index_deinit(struct trace_writer_index *index);
/* Records of the block that is being made, in their order.  `parents`: of those that have args; NULL: not known yet. */
epp_status *trace_writer_index_records(struct trace_writer_index *index, const struct reader_decoded *decoded,
                                       const uint64_t *parents) EPP_MUST_CHECK;
/* The same of a block of rows that columns_append_rows has taken; `parents`: of those that have args, in order. */
epp_status *trace_writer_index_rows(struct trace_writer_index *index, uint32_t track, const struct codec_fields *rows,
                                    const uint64_t *parents) EPP_MUST_CHECK;
/* Its references are all there: sorts and joins them. */
void trace_writer_index_settle(struct trace_writer_index *index);
/* Whether its own ids, of kinds TRACE_WRITER_OWN_KINDS, are to be told once they are all there, with the next call. */
bool trace_writer_index_ids_are_thin(const struct trace_writer_index *index, size_t records_count);
/* Those ids, in any order, which is another one then. */
void trace_writer_index_ids(struct trace_writer_index *index, uint64_t *ids, size_t count);
/* That block is not to be after all. */
void trace_writer_index_forget(struct trace_writer_index *index);
/* It was appended. */
epp_status *trace_writer_index_block(struct trace_writer_index *index, uint64_t offset, const struct epf_block *block)
    EPP_MUST_CHECK;
/* Appends the index: nothing comes behind it. */
epp_status *trace_writer_index_write(struct epp_trace_writer *writer) EPP_MUST_CHECK;

/* The most that a block's payload may have here. */
#define TRACE_WRITER_PAYLOAD_MAX (512u << 10)

#endif
