/* Finds the entry of a token in the table of tokens (tokens.h), and the token of an event. */
#ifndef EPPROF_EP_KIT_TOKEN_FIND_H
#define EPPROF_EP_KIT_TOKEN_FIND_H

#include "kit.h"

/* Returns the number of the block that contains an index.  Block `k` has 256 << k tokens. */
static inline unsigned kit_token_block(uint32_t index)
{
	unsigned block = 0;
	for (uint32_t blocks = index / KIT_TOKEN_BLOCK_FIRST + 1; blocks > 1; blocks /= 2)
		block++;
	return block;
}

static inline uint32_t kit_token_block_count(unsigned block)
{
	return KIT_TOKEN_BLOCK_FIRST << block;
}

static inline size_t kit_token_place(uint32_t index, unsigned block)
{
	return index + KIT_TOKEN_BLOCK_FIRST - kit_token_block_count(block);
}

/* Returns the entry of a token of this run, or NULL. */
static struct kit_token *kit_token_find(struct kit *kit, uint64_t token)
{
	uint32_t index = (uint32_t)token - 1;
	if (token >> 32 != kit->token_serial || index >= atomic_load_explicit(&kit->tokens_count, memory_order_relaxed))
		return NULL;
	unsigned block = kit_token_block(index);
	if (block >= KIT_TOKEN_BLOCKS)
		return NULL;
	struct kit_token *tokens = atomic_load_explicit(&kit->tokens[block], memory_order_acquire);
	return tokens ? &tokens[kit_token_place(index, block)] : NULL;
}

/* Changes an event that was submitted to the collector.  `clock`, which was 0, becomes the index of the token, or 0.
 * `parent` becomes the event's id in the collector's recording; 0 if the collector counted it as lost. */
static void kit_event_pushed(struct kit *kit, EpprofEvent *event, uint64_t recorded_id)
{
	event->clock = kit_token_find(kit, event->parent) ? (uint32_t)event->parent : 0;
	event->parent = recorded_id;
}

static uint64_t kit_event_token(const struct kit *kit, const EpprofEvent *event, bool is_pushed)
{
	if (!is_pushed)
		return event->parent;
	return event->clock ? (uint64_t)kit->token_serial << 32 | event->clock : 0;
}

/* Returns the parent's id in the collector's recording.  The entry of a token is written before any other thread gets
 * the token. */
static inline uint64_t kit_recorded_id(struct kit *kit, uint64_t token)
{
	const struct kit_token *entry = token ? kit_token_find(kit, token) : NULL;
	return entry ? entry->recorded_id : 0;
}

#endif
