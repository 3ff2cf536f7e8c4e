/* A set of event ids.  In a recording, each thread takes blocks of consecutive ids and uses them in ascending order.
 * So ids that are close in value are also close in time, and a page of the set usually contains many ids. */
#include "id_set.h"

#include <search.h>
#include <stdlib.h>

#include "cli.h"

#define PAGE_IDS 4096u

struct page {
	uint64_t number; /* id / PAGE_IDS */
	uint64_t bits[PAGE_IDS / 64];
};

static int by_number(const void *a, const void *b)
{
	uint64_t left = ((const struct page *)a)->number, right = ((const struct page *)b)->number;

	return (left > right) - (left < right);
}

static struct page *page_of(struct cli_id_set *set, uint64_t number)
{
	struct page *const *found = tfind(&number, &set->pages, by_number);
	struct page *page;

	if (found)
		return *found;
	page = calloc(1, sizeof *page);
	if (!page)
		return NULL;
	page->number = number;
	if (!tsearch(page, &set->pages, by_number)) {
		free(page);
		page = NULL;
	}
	return page;
}

bool cli_id_set_test_and_add(struct cli_id_set *set, uint64_t id)
{
	struct page *page = page_of(set, id / PAGE_IDS);
	uint64_t bit = UINT64_C(1) << id % 64, *word;

	if (!page) {
		cli_no_memory();
		return false;
	}
	word = &page->bits[id % PAGE_IDS / 64];
	bool before = *word & bit;
	*word |= bit;
	return before;
}

bool cli_id_set_has(const struct cli_id_set *set, uint64_t id)
{
	uint64_t number = id / PAGE_IDS;
	struct page *const *found = tfind(&number, &set->pages, by_number);

	return found && (*found)->bits[id % PAGE_IDS / 64] >> id % 64 & 1;
}

void cli_id_set_deinit(struct cli_id_set *set)
{
	tdestroy(set->pages, free);
	set->pages = NULL;
}
