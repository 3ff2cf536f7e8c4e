/* Slices are sorted by row and time, then put on a stack. */
#include "tests/export/playback.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

static const struct json *events;

static bool is_phase(const struct json *event, const char *phase)
{
	return strcmp(json_text(event, "ph"), phase) == 0;
}

static const char *number_of(const struct json *event, const char *key)
{
	const struct json *member = json_get(event, key);

	if (!member || member->kind != JSON_NUMBER)
		ck_abort_msg("no number '%s'", key);
	return member->text;
}

struct slice {
	uint64_t row; /* pid and tid */
	int64_t start, end;
	size_t index;
};

static uint64_t row_of(const struct json *event)
{
	return (uint64_t)strtoull(number_of(event, "pid"), NULL, 10) << 32 | strtoull(number_of(event, "tid"), NULL, 10);
}

static int by_row_and_time(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->index < right->index ? -1 : 1;
}

static size_t take_slices(struct slice **slices)
{
	size_t count = 0;

	*slices = calloc(events->count, sizeof **slices);
	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i];
		if (!is_phase(event, "X"))
			continue;
		int64_t start = json_thousandths(event, "ts"), duration = json_thousandths(event, "dur");
		MUST(duration >= 0);
		(*slices)[count++] = (struct slice){ row_of(event), start, start + duration, i };
	}
	qsort(*slices, count, sizeof **slices, by_row_and_time);
	return count;
}

/* On each row: every slice lies inside the one around it. */
static void slices_nest(const struct slice *slices, size_t count)
{
	struct slice stack[256];
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		while (depth && (stack[depth - 1].row != slices[i].row || stack[depth - 1].end <= slices[i].start))
			depth--;
		if (depth && slices[i].end > stack[depth - 1].end)
			ck_abort_msg("'%s' and '%s' overlap in part", json_text(&events->items[slices[i].index], "name"),
			             json_text(&events->items[stack[depth - 1].index], "name"));
		MUST(depth < 256);
		stack[depth++] = slices[i];
	}
}

/* The innermost slice of a row at a time, or NULL. */
static const struct json *slice_at(const struct slice *slices, size_t count, uint64_t row, int64_t time)
{
	const struct slice *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (slices[i].row == row && slices[i].start <= time && (time < slices[i].end || time == slices[i].start))
			found = &slices[i];
	}
	return found ? &events->items[found->index] : NULL;
}

/* The ends of the arrows by their numbers, which begin at 1 and are all used. */
struct arrow {
	const struct json *start, *end;
};

static size_t take_arrows(struct arrow **arrows)
{
	size_t starts = 0, ends = 0;

	*arrows = calloc(events->count + 1, sizeof **arrows);
	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i];
		bool starting = is_phase(event, "s");
		if (!starting && !is_phase(event, "f"))
			continue;
		size_t number = strtoull(number_of(event, "id"), NULL, 10);
		MUST(number >= 1 && number <= events->count);
		const struct json **place = starting ? &(*arrows)[number].start : &(*arrows)[number].end;
		MUST(!*place);
		*place = event;
		starts += starting;
		ends += !starting;
	}
	MUST(starts == ends);
	return starts;
}

static size_t arrows_join(const struct slice *slices, size_t count, bool parents)
{
	struct arrow *arrows;
	size_t arrows_count = take_arrows(&arrows);

	for (size_t i = 1; i <= arrows_count; i++) {
		const struct json *start = arrows[i].start, *end = arrows[i].end;
		if (!start || !end)
			ck_abort_msg("arrow %zu is not whole", i);
		MUST(strcmp(json_text(end, "bp"), "e") == 0);
		MUST(json_thousandths(start, "ts") <= json_thousandths(end, "ts"));
		const struct json *from = slice_at(slices, count, row_of(start), json_thousandths(start, "ts"));
		const struct json *to = slice_at(slices, count, row_of(end), json_thousandths(end, "ts"));
		MUST(from && to);
		if (parents)
			MUST(strcmp(json_text(json_get(from, "args"), "id"), json_text(json_get(to, "args"), "parent")) ==
			     0);
	}
	free(arrows);
	return arrows_count;
}

static unsigned names_of(const char *what, uint64_t row, bool whole_process)
{
	unsigned count = 0;

	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i];
		if (!is_phase(event, "M") || strcmp(json_text(event, "name"), what) != 0)
			continue;
		if (whole_process)
			count += strtoull(number_of(event, "pid"), NULL, 10) == row >> 32;
		else
			count += row_of(event) == row;
	}
	return count;
}

static void rows_have_names(void)
{
	uint64_t known[64];
	size_t known_count = 0, k;

	for (size_t i = 0; i < events->count; i++) {
		if (is_phase(&events->items[i], "M"))
			continue;
		uint64_t row = row_of(&events->items[i]);
		for (k = 0; k < known_count && known[k] != row; k++)
			;
		if (k < known_count)
			continue;
		MUST(known_count < 64);
		known[known_count++] = row;
		MUST(names_of("thread_name", row, false) == 1);
		MUST(names_of("process_name", row, true) == 1);
	}
}

size_t playback(const struct json *of, bool parents)
{
	struct slice *slices;

	events = of;
	size_t count = take_slices(&slices);

	slices_nest(slices, count);
	size_t arrows = arrows_join(slices, count, parents);
	rows_have_names();
	free(slices);
	return arrows;
}
