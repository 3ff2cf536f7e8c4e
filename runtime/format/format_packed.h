/* The parts of format/format.h that only packed files have: blocks of columns, and the index.
 *
 * A packed file (EPF_FEATURE_PACKED) is a finished one. Record blocks of the same track, run and source are joined and
 * stored as columns, in record order; their open ids are those of the first block. Clock samples are in blocks without
 * other kinds. A block that cannot be stored as columns may remain an EPF_BLOCK_RECORDS. The index gives the position
 * of every block and the information that a reader needs before it reads the block. Without an index the file can be
 * read as any other. */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_PACKED_H

#include "format/format.h"

/* The columns of a block; each one is a list of integers. `difference`: to the previous one, zigzag, modulo 2^64. */
enum epf_column {
	EPF_COLUMN_OPEN = 0,     /* ids open at the start: difference */
	EPF_COLUMN_END = 1,      /* start + duration: difference */
	EPF_COLUMN_DURATION = 2, /* unchanged */
	EPF_COLUMN_ID = 3,       /* difference to the previous id + 1 */
	EPF_COLUMN_TAIL = 4,     /* EPF_TAIL of name, bits and the record's number of args */
	EPF_COLUMN_KEY = 5,      /* of all args, record by record; the same for type and value */
	EPF_COLUMN_TYPE = 6,     /* epp_arg_type */
	EPF_COLUMN_VALUE = 7,    /* number's bits, text's size: difference to the last arg with equal key modulo 256 */
	EPF_COLUMN_COUNT = 8,
};

/* The head of the payload. The planes of each column follow: all lowest bytes, then all second bytes, up to the size of
 * the column's largest number. Each plane is preceded by a u32: its form in the 2 low bits, its size in bytes in the
 * others. Then follows one plane of the same form with the texts of all args. */
struct epf_columns {
	uint64_t open_base; /* base of the first difference */
	uint64_t end_base;
	uint64_t id_base;
	uint64_t value_base; /* for every key */
	uint32_t args_count;
	uint32_t text_bytes;
	uint8_t planes_count[EPF_COLUMN_COUNT];
};

enum epf_plane_form {
	EPF_PLANE_STORED = 0,
	EPF_PLANE_SAME = 1, /* all bytes are equal; stored once */
	EPF_PLANE_ZSTD = 2, /* a zstd frame */
	EPF_PLANE_BITS = 3, /* no longer written: a byte with the number of bits used, 1 to 7; then these bits of each byte, the lowest
                             * first, padded at the end to a multiple of eight values */
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
	uint64_t offset;       /* of the last EPF_BLOCK_INDEX */
	uint64_t blocks_count; /* in all parts of the index */
	uint64_t end;          /* size of the file */
};

/* A part of the index: this header, its entries in file order, then their spans and references in the same order. */
struct epf_index {
	uint64_t previous; /* offset of the previous part, which is smaller; 0: none */
	uint32_t entries_count;
	uint32_t spans_count;
	uint32_t references_count; /* including ranges of own ids */
	uint32_t reserved;
};

/* One block. All blocks are listed except those of the index itself. */
struct epf_index_entry {
	uint64_t offset;
	struct epf_block block;
	uint64_t first_id, last_id; /* of records that may be a parent; first > last: none */
	uint32_t args_bytes;        /* size of its args when decoded */
	uint32_t spans_count;
	uint32_t references_count;
	uint32_t ids_count; /* ranges of own ids, before the references; 0: one range, first_id to last_id */
	uint32_t flags;     /* EPF_INDEX_* */
	uint32_t reserved;
};
#define EPF_INDEX_PARENTS 1u /* some complete event has a parent arg */
#define EPF_INDEX_WIDE 2u    /* a span does not fit: the block must be read to find its times */

/* The time range of the complete events of one track in one block, in ticks of its clock relative to `base`, the start
 * of the first one. */
struct epf_index_span {
	uint32_t track;
	uint32_t reserved;
	uint64_t base;
	int64_t first, last; /* the earliest and the latest start */
	int64_t end;         /* the latest end */
};

/* A range of ids that a block's records refer to (parents, both ends of flows, events that ended), or of the block's
 * own ids. There are few ranges, because a thread assigns ids in ascending order, except for ids of events that enclose
 * many others. A block has at most EPF_INDEX_REFERENCES_MAX ranges of each kind, sorted and disjoint. */
struct epf_index_reference {
	uint64_t first, last;
};
/* Ids closer than this are in the same range. */
#define EPF_INDEX_NEAR 2048u
#define EPF_INDEX_REFERENCES_MAX 16u

_Static_assert(sizeof(struct epf_columns) == 48, "columns");
_Static_assert(sizeof(struct epf_index_place) == 32 && sizeof(struct epf_index) == 24, "index");
_Static_assert(sizeof(struct epf_index_entry) == 128 && sizeof(struct epf_index_span) == 40, "index entry");
_Static_assert(sizeof(struct epf_header) <= EPF_INDEX_PLACE_OFFSET, "the index's place lies behind the header");

#endif
