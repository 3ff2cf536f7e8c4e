/* An event on its way through the timeline: one record, placed on the host's clock.
 *
 * Items of a run are made once, from one block, and are not changed afterwards.  What only events of devices and flows
 * have stands in a second array beside them.  64 bytes: one cache line an event.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_MERGE_ITEM_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_MERGE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

struct item {
	int64_t start_ns;
	int64_t end_ns;
	uint64_t start_ticks; /* as recorded, of the track's clock */
	uint64_t end_ticks;
	uint64_t id;
	uint64_t sequence; /* where it was recorded, and how many args it has: ITEM_SEQUENCE */
	uint32_t name;
	uint32_t args_offset; /* in the run's payload; ITEM_ARGS_ELSEWHERE: with the end's record */
	uint32_t line;        /* the line's key: index, and LINE_OTHER */
	struct item_class {
		uint8_t kind;      /* epp_event_kind */
		uint8_t category;  /* epp_category */
		uint8_t placement; /* epp_placement */
		uint8_t flags;     /* epp_event_flags that are recorded */
	} is;
};

_Static_assert(sizeof(struct item) == 64, "item");

struct item_extra {
	uint64_t parent; /* what the record itself names; 0: nothing */
	int64_t start_error_ns;
	int64_t end_error_ns;
};

#define ITEM_ARGS_ELSEWHERE UINT32_MAX

/* The block's rank in the order in which blocks were recorded, then the record's index, which both tell records apart: of
 * two records of one thread the one recorded first has the smaller number. */
#define ITEM_SEQUENCE(rank, index, args_count) ((uint64_t)(rank) << 24 | (uint64_t)(index) << 8 | (args_count))
#define ITEM_RANK(sequence) ((sequence) >> 24)
#define ITEM_ARGS_COUNT(sequence) ((uint8_t)(sequence))
#define ITEM_RANK_OPEN 0xffffffffffu /* not recorded: the event was open when the trace was read */

/* Lines that are no thread's stand behind those of threads, so that at equal starts a parent comes before its kernels. */
#define LINE_OTHER 0x80000000u

/* Beyond any time: +-146 years. */
#define ITEM_NS_MAX ((int64_t)1 << 62)

/* The order at equal starts, the same for any division into blocks.  A thread counts its ids up, so they tell what began
 * first, which is the outer one; elsewhere the longer one is. */
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

/* In order of start; at equal starts the outer event first. */
static inline bool item_before(const struct item *a, const struct item *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : item_before_equal_start(a, b);
}

#endif
