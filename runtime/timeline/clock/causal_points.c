/* Collects the limits that causes set for a clock's offset, in bounded memory: see causal_band.h. */
#include <stdlib.h>

#include "base/status.h"
#include "timeline/clock/causal_band.h"

#define WEIGHT_MAX ((1u << 30) - 1)

int causal_by_cause(const void *a, const void *b)
{
	const struct causal_point *left = a, *right = b;
	if (left->cause_ns != right->cause_ns)
		return left->cause_ns < right->cause_ns ? -1 : 1;
	return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* Thinning keeps half of a group of 2 * KINDS_COUNT points: the strongest lower limit, and the strongest upper limit
 * of each level. */
#define KINDS_COUNT ((size_t)CAUSAL_LEVELS + 1)

static bool is_stronger(const struct causal_point *point, const struct causal_point *other, size_t kind)
{
	if (kind == CAUSAL_LEVELS)
		return point->low_ns > (other ? other->low_ns : -CAUSAL_NS_MAX);
	return point->level == kind && point->high_ns < (other ? other->high_ns : CAUSAL_NS_MAX);
}

/* Moves the strongest points of [first, end) to `kept` and gives them the weight of all; returns their number. */
static size_t keep_strongest(const struct causal_point *first, const struct causal_point *end, struct causal_point *kept)
{
	const struct causal_point *best[KINDS_COUNT] = { NULL };
	struct causal_point taken[KINDS_COUNT];
	uint64_t weight = 0;
	size_t count = 0;

	for (const struct causal_point *point = first; point < end; point++) {
		weight += point->weight;
		for (size_t kind = 0; kind < KINDS_COUNT; kind++)
			best[kind] = is_stronger(point, best[kind], kind) ? point : best[kind];
	}
	for (const struct causal_point *point = first; point < end; point++) {
		for (size_t kind = 0; kind < KINDS_COUNT; kind++) {
			if (best[kind] != point)
				continue;
			taken[count++] = *point;
			break;
		}
	}
	for (size_t i = 0; i < count; i++) {
		kept[i] = taken[i];
		kept[i].weight = (weight / count < WEIGHT_MAX ? weight / count : WEIGHT_MAX) & WEIGHT_MAX;
	}
	return count;
}

/* Thins the points by groups of equal total weight, so that the loss is even over time, however often this is
 * repeated. */
static void thin(struct causal_points *points)
{
	struct causal_point *all = points->points;
	uint64_t total = 0, gathered = 0;
	size_t kept = 0, first = 0;

	qsort(all, points->count, sizeof(*all), causal_by_cause);
	for (size_t i = 0; i < points->count; i++)
		total += all[i].weight;
	uint64_t enough = total / (points->most / (2 * KINDS_COUNT)) + 1;
	for (size_t i = 0; i < points->count; i++) {
		gathered += all[i].weight;
		if (gathered < enough && i + 1 < points->count)
			continue;
		kept += keep_strongest(&all[first], &all[i + 1], &all[kept]);
		first = i + 1;
		gathered = 0;
	}
	points->count = kept;
}

epp_status *causal_points_add(struct causal_points *points, const struct causal_point *point)
{
	if (points->count == points->room && points->room < points->most) {
		size_t room = points->room ? points->room * 2 : 256;
		room = room < points->most ? room : points->most;
		struct causal_point *larger_one = reallocarray(points->points, room, sizeof(*larger_one));
		if (!larger_one)
			return epp_status_no_memory();
		points->points = larger_one;
		points->room = room;
	}
	if (points->count == points->room)
		thin(points);
	struct causal_point *added = &points->points[points->count++];
	*added = *point;
	added->sequence = points->sequence++;
	added->weight = 1;
	return NULL;
}

void causal_points_deinit(struct causal_points *points)
{
	free(points->points);
	*points = (struct causal_points){ .most = points->most };
}
