/* A multiset of numbers.  Numbers are added, then sorted, each with its count, then removed one at a time. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "provider_events/provider_events.h"

static int by_number(const void *a, const void *b)
{
	const struct multiset_entry *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

epp_status *multiset_add(struct multiset *set, uint64_t number)
{
	if (!array_reserve(&set->entries, &set->room, set->count + 1, sizeof *set->entries))
		return epp_status_no_memory();
	set->entries[set->count++] = (struct multiset_entry){ number, 1 };
	return NULL;
}

void multiset_sort(struct multiset *set)
{
	size_t kept = 0;

	if (set->count)
		qsort(set->entries, set->count, sizeof *set->entries, by_number);
	for (size_t i = 0; i < set->count; i++) {
		if (kept && set->entries[kept - 1].number == set->entries[i].number)
			set->entries[kept - 1].count++;
		else
			set->entries[kept++] = set->entries[i];
	}
	set->count = kept;
}

bool multiset_take(struct multiset *set, uint64_t number)
{
	const struct multiset_entry key = { .number = number };
	struct multiset_entry *entry = NULL;

	if (set->count)
		entry = bsearch(&key, set->entries, set->count, sizeof key, by_number);
	if (!entry || !entry->count)
		return false;
	entry->count--;
	return true;
}

void multiset_deinit(struct multiset *set)
{
	free(set->entries);
	memset(set, 0, sizeof *set);
}
