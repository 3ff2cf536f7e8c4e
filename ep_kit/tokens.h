/* Tokens under ONNX Runtime: they identify the parents of events.
 *
 * ONNX Runtime's ids are not unique, so a token is the kit's own number: the run's serial and an index into a table
 * that grows by blocks.  An event is stored only if its token was taken: the id at once, the name and op when the event
 * stops.  In an epprof host ids are unique; the id is the token, and this file is not used.
 * Writers hold the thread's `busy`.  Only EndProfiling reads, when it has exclusive access. */
#ifndef EPPROF_EP_KIT_TOKENS_H
#define EPPROF_EP_KIT_TOKENS_H

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "collector.h"
#include "kit.h"
#include "profile_start.h"
#include "stack.h"

/* Reserves the memory of a block, once for all threads that need the block.  Returns false if buffer_bytes would be
 * exceeded. */
static bool kit_token_block_charge(struct kit *kit, unsigned block)
{
	size_t bytes = kit_token_block_count(block) * sizeof(struct kit_token);
	uint64_t before = atomic_load_explicit(&kit->charged, memory_order_relaxed);
	do {
		if (before / KIT_CHARGED_BLOCK > block)
			return true;
		if (bytes > kit->options.buffer_bytes - before % KIT_CHARGED_BLOCK)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&kit->charged, &before, before + KIT_CHARGED_BLOCK + bytes,
	                                                memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* Allocates a block if it does not exist.  Returns false if out of memory. */
static bool kit_token_block_make(struct kit *kit, unsigned block)
{
	if (block >= KIT_TOKEN_BLOCKS)
		return false;
	if (atomic_load_explicit(&kit->tokens[block], memory_order_acquire))
		return true;
	if (!kit_token_block_charge(kit, block))
		return false;
	struct kit_token *made = (struct kit_token *)calloc(kit_token_block_count(block), sizeof(*made));
	struct kit_token *none = NULL;
	if (made && atomic_compare_exchange_strong(&kit->tokens[block], &none, made))
		return true;
	free(made);
	return none != NULL;
}

/* Assigns a token to the innermost open event. */
static KIT_NOINLINE uint64_t kit_token_take(struct kit *kit, struct kit_thread *thread, struct kit_open *open)
{
	uint32_t index = atomic_load_explicit(&kit->tokens_count, memory_order_relaxed);
	/* The block is allocated before the index is taken: an index cannot be returned, because other threads may have
	 * taken later ones. */
	do {
		if (index >= UINT32_MAX / 2 || !kit_token_block_make(kit, kit_token_block(index))) {
			atomic_fetch_add_explicit(&kit->contexts_lost, 1, memory_order_relaxed);
			return 0;
		}
	} while (!atomic_compare_exchange_weak_explicit(&kit->tokens_count, &index, index + 1, memory_order_relaxed,
	                                                memory_order_relaxed));
	uint64_t token = (uint64_t)kit->token_serial << 32 | (index + 1);
	EpprofRecording *recording = kit_join_for_token(kit, open->id);
	struct kit_token *entry = kit_token_find(kit, token);
	entry->correlation_id = open->id;
	entry->recorded_id = recording ? kit->collector->EventId(recording, open->id) : 0;
	entry->thread_id = kit_owner_tid(kit_local.owner);
	entry->taken_ns = kit_has_clock(kit) ? 0 : kit_host_ticks(kit);
	open->token = token;
	/* The depth is stored again, with release, so that the next owner of this stack sees the token. */
	atomic_store_explicit(&thread->depth, atomic_load_explicit(&thread->depth, memory_order_relaxed),
	                      memory_order_release);
	return token;
}

static const char *kit_token_text(const struct kit *kit, const OrtProfilingEvent *event, const char *key)
{
	const char *text = NULL;
	kit_status_ignore(kit, kit->ep_api->ProfilingEvent_GetArgValue(event, key, &text));
	return text;
}

/* Called when the event of a token stops: stores its name, op and start. */
static KIT_NOINLINE void kit_token_complete(struct kit *kit, struct kit_thread *thread, uint64_t token,
                                            const OrtProfilingEvent *event)
{
	struct kit_token *entry = kit_token_find(kit, token);
	const char *texts[3] = { NULL, kit_token_text(kit, event, "op_name"), kit_token_text(kit, event, "node_index") };
	int64_t start_us = 0;
	kit_status_ignore(kit, kit->ep_api->ProfilingEvent_GetName(event, &texts[0]));
	kit_status_ignore(kit, kit->ep_api->ProfilingEvent_GetTimestampUs(event, &start_us));
	if (entry)
		kit_profile_start_learn(kit, entry->correlation_id, start_us);
	uint32_t texts_bytes[3] = { 0 };
	size_t bytes = sizeof(struct kit_context);
	for (int i = 0; i < 3; i++) {
		if (texts[i])
			bytes += (texts_bytes[i] = kit_string_bytes(texts[i])) + 1;
	}
	char *memory = entry ? kit_text_take(kit, thread, bytes) : NULL;
	if (!memory) {
		atomic_fetch_add_explicit(&kit->contexts_lost, 1, memory_order_relaxed);
		return;
	}
	struct kit_context *context = (struct kit_context *)(void *)memory;
	char *to = memory + sizeof(*context);
	for (int i = 0; i < 3; i++) {
		if (!texts[i])
			continue;
		char *copy = to;
		to = kit_string_copy(kit, to, texts[i], texts_bytes[i]);
		texts[i] = copy;
	}
	context->start_us = start_us;
	context->name = texts[0];
	context->op_name = texts[1];
	context->node_index = texts[2];
	entry->context = context;
}

/* Frees the table. */
static void kit_tokens_clear(struct kit *kit)
{
	uint64_t charged_blocks = atomic_load_explicit(&kit->charged, memory_order_relaxed) / KIT_CHARGED_BLOCK;
	for (unsigned block = 0; block < charged_blocks; block++) {
		free(atomic_load_explicit(&kit->tokens[block], memory_order_relaxed));
		atomic_store_explicit(&kit->tokens[block], NULL, memory_order_relaxed);
		size_t bytes = kit_token_block_count(block) * sizeof(struct kit_token);
		atomic_fetch_sub_explicit(&kit->charged, KIT_CHARGED_BLOCK + bytes, memory_order_relaxed);
	}
	atomic_store_explicit(&kit->tokens_count, 0, memory_order_relaxed);
}

#endif
