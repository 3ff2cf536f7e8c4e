/* Allocates memory for yajl.  All blocks are in a list, because after a failed allocation yajl's own structures are
 * inconsistent and cannot be freed by yajl. */
#include "import/yajl_memory.h"

#include <stddef.h>
#include <stdlib.h>

struct yajl_memory_block {
	LIST_ENTRY(yajl_memory_block) link;
	_Alignas(max_align_t) char bytes[];
};

static struct yajl_memory_block *block_of(void *bytes)
{
	return (struct yajl_memory_block *)((char *)bytes - offsetof(struct yajl_memory_block, bytes));
}

/* `block` must have been removed from the list. */
static void *resize(struct yajl_memory *memory, struct yajl_memory_block *block, size_t bytes)
{
	struct yajl_memory_block *resized = realloc(block, sizeof(*resized) + bytes);

	if (!resized) {
		free(block);
		longjmp(memory->no_memory, 1);
	}
	LIST_INSERT_HEAD(&memory->blocks, resized, link);
	return resized->bytes;
}

static void *on_malloc(void *memory, size_t bytes)
{
	return resize(memory, NULL, bytes);
}

static void *on_realloc(void *memory, void *old, size_t bytes)
{
	if (!old)
		return resize(memory, NULL, bytes);
	LIST_REMOVE(block_of(old), link);
	return resize(memory, block_of(old), bytes);
}

static void on_free(void *memory, void *bytes)
{
	(void)memory;
	if (bytes) {
		LIST_REMOVE(block_of(bytes), link);
		free(block_of(bytes));
	}
}

void yajl_memory_init(struct yajl_memory *memory)
{
	memory->functions = (yajl_alloc_funcs){ .malloc = on_malloc, .realloc = on_realloc, .free = on_free, .ctx = memory };
	LIST_INIT(&memory->blocks);
}

void yajl_memory_release(struct yajl_memory *memory)
{
	struct yajl_memory_block *block;

	while ((block = LIST_FIRST(&memory->blocks)) != NULL)
		on_free(memory, block->bytes);
}
