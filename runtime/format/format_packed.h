/* The part of format/format.h that packed files alone have: blocks of columns, and the index.
 *
 * A packed file (EPF_FEATURE_PACKED) is a finished one.  Records blocks of the same track, run and source are joined and
 * stand as columns, in record order; the ids open at their beginning are those of the first.  Clock pairs stand in blocks
 * without other kinds.  A block that columns do not fit may stand as EPF_BLOCK_RECORDS.  An index says of every block where
 * it is and what there is to know before it is read; without it the file is read as any other.
 */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H

#include "format/format.h"

/* The columns of a block, each of whole numbers.  `difference` is to the one before, zigzag, modulo 2^64. */
enum epf_column {
	EPF_COLUMN_OPEN = 0,     /* ids open at the beginning: difference */
	EPF_COLUMN_END = 1,      /* start + duration: difference */
	EPF_COLUMN_DURATION = 2, /* as it is */
	EPF_COLUMN_ID = 3,       /* difference to the one before + 1 */
	EPF_COLUMN_TAIL = 4,     /* EPF_TAIL of name, bits and how many args the record has */
	EPF_COLUMN_KEY = 5,      /* of all args, record by record, here and below */
	EPF_COLUMN_TYPE = 6,     /* epp_arg_type */
	EPF_COLUMN_VALUE = 7, /* a number's bits, a text's bytes: difference to the last arg whose key is the same modulo 256 */
	EPF_COLUMN_COUNT = 8,
};

/* The payload's head.  Behind it the planes of each column: all lowest bytes, then all second ones, as many as the column's
 * largest number needs, each with a u32 in front of it: its form in the 2 low bits, its bytes in the others.  Then, likewise,
 * one plane of the texts of all args. */
struct epf_columns {
	uint64_t open_base; /* what the first difference is to */
	uint64_t end_base;
	uint64_t id_base;
	uint64_t value_base; /* of every key */
	uint32_t args_count;
	uint32_t text_bytes;
	uint8_t planes_count[EPF_COLUMN_COUNT];
};

enum epf_plane_form {
	EPF_PLANE_STORED = 0,
	EPF_PLANE_SAME = 1, /* one byte, which all of them are */
	EPF_PLANE_ZSTD = 2, /* a zstd frame */
	EPF_PLANE_BITS = 3, /* a byte, how many bits are used: 1 to 7; then those of each byte, the lowest first, the last ones
	                     * filled up to a multiple of eight */
};

/* No block has more, however few bytes say so. */
#define EPF_COLUMNS_ARGS_MAX (1u << 19)
#define EPF_COLUMNS_TEXT_MAX (1u << 20)

/* Where the index begins: at EPF_INDEX_PLACE_OFFSET in the header page. */
#define EPF_INDEX_PLACE_OFFSET 2048u
#define EPF_INDEX_MAGIC 0x49465045u /* "EPFI" */
struct epf_index_place {
	uint32_t magic;
	uint32_t checksum;     /* CRC-32C of this struct with checksum 0 */
	uint64_t offset;       /* of the last EPF_BLOCK_INDEX */
	uint64_t blocks_count; /* listed by all of them */
	uint64_t end;          /* of the file */
};

/* A part of the index: this, its entries in the order of the file, then their spans and references, in that order too. */
struct epf_index {
	uint64_t previous; /* the offset of the part before this one, which is smaller; 0: none */
	uint32_t entries_count;
	uint32_t spans_count;
	uint32_t references_count; /* and stretches of own ids */
	uint32_t reserved;
};

/* One block: every one that is not of the index itself. */
struct epf_index_entry {
	uint64_t offset;
	struct epf_block block;
	uint64_t first_id, last_id; /* of what may be somebody's parent; first > last: there is nothing */
	uint32_t args_bytes;        /* what its args take once they are decoded */
	uint32_t spans_count;
	uint32_t references_count;
	uint32_t ids_count; /* if these ids lie thin (EPF_INDEX_THIN): as stretches, in front of the references */
	uint32_t flags;     /* EPF_INDEX_* */
	uint32_t reserved;
};
#define EPF_INDEX_PARENTS 1u /* some complete event names its parent */
#define EPF_INDEX_WIDE 2u    /* a span does not fit: the block must be read to know where it lies */

/* When the complete events of one track in one block are, in ticks of its clock from `base` on, which is where the first of
 * them starts. */
struct epf_index_span {
	uint32_t track;
	uint32_t reserved;
	uint64_t base;
	int64_t first, last; /* the earliest and the latest start */
	int64_t end;         /* the latest end */
};

/* Ids that a block's records name: parents, both ends of flows, events that ended; and the block's own.  They lie in few
 * stretches, since a thread counts its ids up, but for those of events that are around many others; a block has at most
 * EPF_INDEX_REFERENCES_MAX of each, sorted and apart. */
struct epf_index_reference {
	uint64_t first, last;
};
/* Those that lie so close belong together. */
#define EPF_INDEX_NEAR 2048u
/* So many times as many ids as records from the first to the last. */
#define EPF_INDEX_THIN 16u
#define EPF_INDEX_REFERENCES_MAX 16u

_Static_assert(sizeof(struct epf_columns) == 48, "columns");
_Static_assert(sizeof(struct epf_index_place) == 32 && sizeof(struct epf_index) == 24, "index");
_Static_assert(sizeof(struct epf_index_entry) == 128 && sizeof(struct epf_index_span) == 40, "index entry");
_Static_assert(sizeof(struct epf_header) <= EPF_INDEX_PLACE_OFFSET, "the index's place lies behind the header");

#endif
