/* A run: items in order of their start, with what their args need; most often what one block became.
 *
 * Runs are made by block_load.c and spill.c, consumed by merge.c, and their memory is used again by the next one.  The
 * merge goes through some hundred runs at once, so items lie in their order and nothing else is touched per event.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SORTED_RUN_H

#include <stddef.h>
#include <sys/queue.h>

#include "epprof/status.h"
#include "timeline/merging/merge_item.h"
#include "timeline/merging/start_order.h"

struct spill_run;

struct run {
	struct item *items;        /* each in a cache line */
	int64_t *starts;           /* theirs once the run is a source of the merge; behind them in their memory */
	struct item_extra *extras; /* beside items; only if has_extras */
	uint32_t room, extras_room;
	uint32_t at, end; /* the first that counts, and behind the last */
	bool has_extras;
	uint8_t *bytes; /* holds the payload that items' args_offset count from */
	size_t bytes_room;
	const uint8_t *payload;
	uint32_t payload_bytes;
	struct spill_run *spill; /* where more comes from; NULL: nowhere */
	SLIST_ENTRY(run) link;
};

#define RUN_ITEMS_MAX 65536u

/* Makes room for `count` items, RUN_ITEMS_MAX at most; what was there is lost. */
epp_status *run_reserve(struct run *run, uint32_t count, bool extras) EPP_MUST_CHECK;
epp_status *run_reserve_bytes(struct run *run, size_t bytes) EPP_MUST_CHECK;
void run_free(struct run *run);

/* How many bytes an item's args take in its run's payload. */
size_t run_args_bytes(const struct run *run, const struct item *item);

/* Item `index` of `to` becomes a copy of an item of another run; its args are copied behind to->payload_bytes.  There is
 * room for them. */
void run_append(struct run *to, uint32_t index, const struct run *from, uint32_t item);

/* Empties an order and makes room for `count`. */
epp_status *run_order_begin(struct start_order *order, uint32_t count) EPP_MUST_CHECK;

/* Makes `run` of the items (and extras) 0 to count of `from`, in order of start.  Of `from` nothing is left: where its items are
 * in order already, the two exchange their memory. */
epp_status *run_put_in_order(struct run *run, struct run *from, uint32_t count, struct start_order *order) EPP_MUST_CHECK;

#endif
