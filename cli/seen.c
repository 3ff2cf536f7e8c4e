/* Ids are counted up by each thread within blocks of its own, so neighbours are near in time and pages fill up. */
#include "seen.h"

#include <stdlib.h>

#define PAGE_IDS 4096u

bool seen_before(struct seen *seen, uint64_t id)
{
	uint64_t *page = map_find(&seen->pages, id / PAGE_IDS);
	unsigned bit = (unsigned)(id % PAGE_IDS);

	if (!page) {
		page = calloc(PAGE_IDS / 64, sizeof *page);
		if (page && map_add(&seen->pages, id / PAGE_IDS, page) < 0) {
			free(page);
			page = NULL;
		}
		if (!page)
			return false;
	}
	bool before = page[bit / 64] >> (bit % 64) & 1;
	page[bit / 64] |= UINT64_C(1) << (bit % 64);
	return before;
}

void seen_deinit(struct seen *seen)
{
	for (size_t i = 0; i < seen->pages.room; i++)
		free(seen->pages.values[i]);
	map_deinit(&seen->pages);
}
