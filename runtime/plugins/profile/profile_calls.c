/* Implements profile_calls.h: an array of calls, sorted by correlation id. */
#include "plugins/profile/profile_calls.h"

#include <stdlib.h>

#include "containers/array.h"

void profile_calls_add(struct profile_calls *calls, uint64_t correlation, uint64_t id)
{
	if (!array_reserve(&calls->all, &calls->room, calls->count + 1, sizeof(*calls->all)))
		return;
	calls->all[calls->count] = (struct profile_call){ correlation, id, calls->count };
	calls->count++;
}

static int compare(const void *a, const void *b)
{
	const struct profile_call *left = a, *right = b;

	if (left->correlation != right->correlation)
		return left->correlation < right->correlation ? -1 : 1;
	return left->position < right->position ? -1 : left->position > right->position;
}

void profile_calls_seal(struct profile_calls *calls)
{
	if (calls->count)
		qsort(calls->all, calls->count, sizeof(*calls->all), compare);
}

uint64_t profile_calls_find(const struct profile_calls *calls, uint64_t correlation)
{
	size_t low = 0, high = calls->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (calls->all[middle].correlation <= correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low && calls->all[low - 1].correlation == correlation ? calls->all[low - 1].id : 0;
}

void profile_calls_deinit(struct profile_calls *calls)
{
	free(calls->all);
	*calls = (struct profile_calls){ 0 };
}
