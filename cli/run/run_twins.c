/* A multiset of numbers: numbers are added, then sorted with a count each, then taken one by one. */
#include <stdlib.h>

#include "run.h"

static int by_number(const void *a, const void *b)
{
	const struct run_twin *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

epp_status *run_twins_add(struct run_twins *twins, uint64_t number)
{
	if (twins->count == twins->room) {
		size_t room = twins->room ? twins->room * 2 : 1024;
		struct run_twin *larger = reallocarray(twins->twins, room, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		twins->twins = larger;
		twins->room = room;
	}
	twins->twins[twins->count++] = (struct run_twin){ number, 1 };
	return NULL;
}

void run_twins_settle(struct run_twins *twins)
{
	size_t kept = 0;

	if (twins->count)
		qsort(twins->twins, twins->count, sizeof *twins->twins, by_number);
	for (size_t i = 0; i < twins->count; i++) {
		if (kept && twins->twins[kept - 1].number == twins->twins[i].number)
			twins->twins[kept - 1].count++;
		else
			twins->twins[kept++] = twins->twins[i];
	}
	twins->count = kept;
}

bool run_twins_take(struct run_twins *twins, uint64_t number)
{
	const struct run_twin key = { .number = number };
	struct run_twin *twin = NULL;

	if (twins->count)
		twin = bsearch(&key, twins->twins, twins->count, sizeof key, by_number);
	if (!twin || !twin->count)
		return false;
	twin->count--;
	return true;
}
