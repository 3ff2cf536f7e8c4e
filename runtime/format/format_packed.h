/* The parts of format/format.h that only packed files have: blocks of columns, and the index.
 *
 * A packed file (EPF_FEATURE_PACKED) is always finished. Record blocks of the same track, run and source are joined and
 * stored as columns, in record order; their open ids are those of the first block. Clock samples (EPF_CLOCK_PAIR) are
 * in blocks that contain nothing else. A block that cannot be stored as columns may remain an EPF_BLOCK_RECORDS. The
 * index has the position of every block, and the data that a reader needs before it reads the block. If the index is
 * damaged, the file can be read like a file without an index. */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H

#include "format/format.h"

/* The columns of a block. Each column is a list of integers. `difference` means the difference to the previous integer,
 * zigzag, modulo 2^64. */
enum epf_column {
	EPF_COLUMN_OPEN = 0,     /* ids that are open at the start: difference */
	EPF_COLUMN_END = 1,      /* start + duration: difference */
	EPF_COLUMN_DURATION = 2, /* the duration itself */
	EPF_COLUMN_ID = 3,       /* the id minus (previous id + 1), zigzag, modulo 2^64 */
	EPF_COLUMN_TAIL = 4,     /* EPF_TAIL of the name, the bits and the record's number of args */
	EPF_COLUMN_KEY = 5,      /* the keys of all args, record by record; types and values have the same order */
	EPF_COLUMN_TYPE = 6,     /* epp_arg_type */
	EPF_COLUMN_VALUE = 7,    /* the bits of a number or the size of a text: difference to the last arg whose key is
	                            equal modulo 256 */
	EPF_COLUMN_COUNT = 8,
};

/* The head of the payload. The planes of each column follow: all lowest bytes, then all second bytes, up to the size of
 * the column's largest number. Each plane is preceded by a u32: the 2 low bits are its form, the others its size in
 * bytes. If there are texts, one more plane with the texts of all args follows the last column. */
struct epf_columns {
	uint64_t open_base; /* the value to which the first difference of the open ids refers */
	uint64_t end_base;
	uint64_t id_base;
	uint64_t value_base; /* the value to which the first difference of each key refers */
	uint32_t args_count;
	uint32_t text_bytes;
	uint8_t planes_count[EPF_COLUMN_COUNT];
};

enum epf_plane_form {
	EPF_PLANE_STORED = 0,
	EPF_PLANE_SAME = 1, /* all bytes are equal; the byte is stored once */
	EPF_PLANE_ZSTD = 2, /* a zstd frame */
	EPF_PLANE_BITS = 3, /* not written any more: a byte with the number of bits used, 1 to 7; then these bits of each
	                       byte, the lowest first; padded at the end to a multiple of eight values */
};

/* Limits of a block, checked before memory is allocated: a few bytes can encode a large count. */
#define EPF_COLUMNS_ARGS_MAX (1u << 19)
#define EPF_COLUMNS_TEXT_MAX (1u << 20)

/* The position of the index, stored at EPF_INDEX_PLACE_OFFSET in the header page. */
#define EPF_INDEX_PLACE_OFFSET 2048u
#define EPF_INDEX_MAGIC 0x49465045u /* "EPFI" */
struct epf_index_place {
	uint32_t magic;
	uint32_t checksum;     /* CRC-32C of this struct with checksum 0 */
	uint64_t offset;       /* the offset of the last EPF_BLOCK_INDEX */
	uint64_t blocks_count; /* the number of blocks in all parts of the index */
	uint64_t end;          /* the size of the file */
};

/* A part of the index: this header, its entries in file order, then their spans and references in the same order. */
struct epf_index {
	uint64_t previous; /* the offset of the previous part, which is smaller than this one's; 0: this is the first
	                      part */
	uint32_t entries_count;
	uint32_t spans_count;
	uint32_t references_count; /* the number of struct epf_index_reference, including the ranges of own ids */
	uint32_t reserved;
};

/* The index entry of one block. All blocks have one, except those of the index itself. */
struct epf_index_entry {
	uint64_t offset;
	struct epf_block block;
	uint64_t first_id, last_id; /* the range of the ids of records that may be a parent; first > last: there are
	                               none */
	uint32_t args_bytes;        /* an upper bound of the size of the block's args when decoded */
	uint32_t spans_count;
	uint32_t references_count;
	uint32_t ids_count; /* the number of ranges of own ids, which precede the references; 0: one range, from
	                       first_id to last_id */
	uint32_t flags;     /* EPF_INDEX_* */
	uint32_t reserved;
};
#define EPF_INDEX_PARENTS 1u /* a complete event in the block has a parent arg */
#define EPF_INDEX_WIDE \
	2u /* a time is more than 2^61 ticks from the base of its span, so the block must be read to
                                find its times */

/* The time range of the complete events of one track in one block, in ticks of the track's clock relative to `base`,
 * the start of the first of these events. */
struct epf_index_span {
	uint32_t track;
	uint32_t reserved;
	uint64_t base;
	int64_t first, last; /* the earliest and the latest start */
	int64_t end;         /* the latest end */
};

/* A range of ids to which a block's records refer (parents, both ends of flows, events that ended), or of the block's
 * own ids. There are few ranges, because a thread assigns ids in ascending order; only the ids of events that enclose
 * many others are far from the rest. A block has at most EPF_INDEX_REFERENCES_MAX ranges of each kind, sorted and
 * disjoint. */
struct epf_index_reference {
	uint64_t first, last;
};
/* Ids that are closer than this are in the same range. */
#define EPF_INDEX_NEAR 2048u
#define EPF_INDEX_REFERENCES_MAX 16u

_Static_assert(sizeof(struct epf_columns) == 48, "columns");
_Static_assert(sizeof(struct epf_index_place) == 32 && sizeof(struct epf_index) == 24, "index");
_Static_assert(sizeof(struct epf_index_entry) == 128 && sizeof(struct epf_index_span) == 40, "index entry");
_Static_assert(sizeof(struct epf_header) <= EPF_INDEX_PLACE_OFFSET, "the index's place lies behind the header");

#endif
