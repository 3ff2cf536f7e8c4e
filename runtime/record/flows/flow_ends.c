/* Implements flow_ends.h.  The ends are in a ring, in which a new end replaces the oldest one.  A hash table with
 * chains finds an end by its number. */
#include "record/flows/flow_ends.h"

#include <stdlib.h>

#define CHAINS 1024u

struct flow_end {
	uint64_t number; /* 0: the entry is free */
	uint64_t id;
	uint32_t next; /* the index + 1 of the next end in the same chain; 0: the last one */
	bool is_begin;
};

struct flow_ends {
	struct flow_end ends[FLOW_ENDS_MAX];
	uint32_t chains[CHAINS]; /* the index + 1 of the first end of each chain; 0: the chain is empty */
	uint32_t added;
};

struct flow_ends *flow_ends_create(void)
{
	return calloc(1, sizeof(struct flow_ends));
}

static uint32_t *chain_of(struct flow_ends *flows, uint64_t number)
{
	return &flows->chains[number * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

/* Returns the address of the link to an end in its chain, or NULL. */
static uint32_t *find(struct flow_ends *flows, uint64_t number, bool is_begin)
{
	for (uint32_t *link = chain_of(flows, number); *link; link = &flows->ends[*link - 1].next)
		if (flows->ends[*link - 1].number == number && flows->ends[*link - 1].is_begin == is_begin)
			return link;
	return NULL;
}

static void unlink_end(struct flow_ends *flows, uint32_t *link)
{
	struct flow_end *end = &flows->ends[*link - 1];
	*link = end->next;
	end->number = 0;
}

static void add(struct flow_ends *flows, uint64_t number, uint64_t id, bool is_begin)
{
	uint32_t place = flows->added++ % FLOW_ENDS_MAX;
	struct flow_end *end = &flows->ends[place];
	if (end->number) {
		uint32_t *link = chain_of(flows, end->number);
		while (*link != place + 1)
			link = &flows->ends[*link - 1].next;
		unlink_end(flows, link);
	}
	uint32_t *chain = chain_of(flows, number);
	*end = (struct flow_end){ .number = number, .id = id, .next = *chain, .is_begin = is_begin };
	*chain = place + 1;
}

void flow_ends_add_begin(struct flow_ends *flows, uint64_t number, uint64_t id)
{
	uint32_t *old = find(flows, number, true);
	if (old)
		unlink_end(flows, old);
	add(flows, number, id, true);
}

uint64_t flow_ends_take_end(struct flow_ends *flows, uint64_t number)
{
	uint32_t *link = find(flows, number, false);
	if (!link)
		return 0;
	uint64_t id = flows->ends[*link - 1].id;
	unlink_end(flows, link);
	return id;
}

uint64_t flow_ends_add_end(struct flow_ends *flows, uint64_t number, uint64_t id)
{
	uint32_t *begin = find(flows, number, true);
	if (begin)
		return flows->ends[*begin - 1].id;
	add(flows, number, id, false);
	return 0;
}
