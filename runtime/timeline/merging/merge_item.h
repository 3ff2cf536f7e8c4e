/* An item: one recorded event in the timeline, placed on the host's clock.
 *
 * Items of a run are made once, from one block, and do not change afterwards.  Fields that only device events and
 * flows have are in a second, parallel array (struct item_extra).  An item has 64 bytes: one cache line per event.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_MERGE_ITEM_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_MERGE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

struct item {
	int64_t start_ns;
	int64_t end_ns;
	uint64_t start_ticks; /* as recorded, by the clock of the track */
	uint64_t end_ticks;
	uint64_t id;
	uint64_t sequence; /* recording order and number of args: ITEM_SEQUENCE */
	uint32_t name;
	uint32_t args_offset; /* offset in the run's payload; ITEM_ARGS_SEPARATE: the args are in the separate record of
                               * the end */
	uint32_t line;        /* key of the line (tracks/track_state.h): index | LINE_OTHER */
	struct item_class {
		uint8_t kind;      /* epp_event_kind */
		uint8_t category;  /* epp_category */
		uint8_t placement; /* epp_placement */
		uint8_t flags;     /* those of epp_event_flags that are recorded */
	} class;
};

_Static_assert(sizeof(struct item) == 64, "item");

struct item_extra {
	uint64_t parent; /* the parent that the record names; 0: none */
	int64_t start_error_ns;
	int64_t end_error_ns;
};

#define ITEM_ARGS_SEPARATE UINT32_MAX

/* Identifies a record by the rank of its block in recording order and its index in the block.  Of two records of one
 * thread, the one recorded first has the smaller sequence. */
#define ITEM_SEQUENCE(rank, index, args_count) ((uint64_t)(rank) << 24 | (uint64_t)(index) << 8 | (args_count))
#define ITEM_RANK(sequence) ((sequence) >> 24)
#define ITEM_ARGS_COUNT(sequence) ((uint8_t)(sequence))
#define ITEM_RANK_OPEN \
	0xffffffffffu /* rank of an event that has no record because it was open when the trace was
                                      * read */

/* Flag in the key of a line that is no thread.  Such keys sort after those of threads, so at equal starts a host event
 * comes before the kernels that it caused. */
#define LINE_OTHER 0x80000000u

/* Limit of valid times and of error bounds: +-73 years.  64 bits hold the sum of any three of them. */
#define ITEM_NS_MAX ((int64_t)1 << 61)

/* Compares two items with equal starts, so that the order does not depend on the division into blocks.  The ids of a
 * thread increase, so the event with the smaller id began first and is the outer one.  On other lines the longer event
 * is the outer one. */
static inline bool item_before_equal_start(const struct item *a, const struct item *b)
{
	if (a->line != b->line)
		return a->line < b->line;
	if (!(a->line & LINE_OTHER)) {
		if (a->start_ticks != b->start_ticks)
			return a->start_ticks < b->start_ticks;
	} else if (a->end_ns != b->end_ns) {
		return a->end_ns > b->end_ns;
	}
	return a->id != b->id ? a->id < b->id : a->sequence < b->sequence;
}

/* Orders items by start; at equal starts the outer event comes first. */
static inline bool item_before(const struct item *a, const struct item *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : item_before_equal_start(a, b);
}

#endif
