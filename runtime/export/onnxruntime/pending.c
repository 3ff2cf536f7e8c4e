/* Implements pending.h: selects the texts before a time and sorts them.  A radix sort of 11 bits a pass needs few
 * passes, because the times of some thousand neighbouring events differ in few bits. */
#include "export/onnxruntime/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

void pending_deinit(struct pending *pending)
{
	free(pending->texts);
	free(pending->selected);
	free(pending->spare);
	free(pending->bytes);
	memset(pending, 0, sizeof *pending);
}

epp_status *pending_grow(struct pending *pending, size_t bytes)
{
	if (!array_reserve(&pending->texts, &pending->room, pending->count + 1, sizeof *pending->texts) ||
	    !array_reserve(&pending->bytes, &pending->bytes_room, pending->bytes_count + bytes, 1))
		return epp_status_no_memory();
	return NULL;
}

epp_status *pending_push(struct pending *pending, int64_t time_ns, const char *text, size_t bytes)
{
	char *room;

	EPP_TRY(pending_reserve(pending, bytes, &room));
	if (bytes)
		memcpy(room, text, bytes);
	pending_commit(pending, time_ns, bytes);
	return NULL;
}

/* ---- selecting ---- */

static epp_status *make_room_for_selected(struct pending *pending)
{
	if (pending->selected_room >= pending->count)
		return NULL;
	pending->selected_room = 0;
	free(pending->selected);
	free(pending->spare);
	pending->selected = reallocarray(NULL, pending->room, sizeof *pending->selected);
	pending->spare = reallocarray(NULL, pending->room, sizeof *pending->spare);
	if (!pending->selected || !pending->spare)
		return epp_status_no_memory();
	pending->selected_room = pending->room;
	return NULL;
}

/* Separates the texts before `before_ns` from the others.  Selected texts are stored in reverse order, so that of texts
 * with equal times the one that was added last comes first.  The others move up to close the gaps. */
static void split_selected(struct pending *pending, int64_t before_ns)
{
	size_t kept = 0, selected = pending->count;

	for (size_t i = 0; i < pending->count; i++) {
		struct pending_text text = pending->texts[i];
		bool goes = text.time_ns < before_ns;
		/* Without a branch: the text is stored in both arrays, and the copy in the wrong array is
		 * overwritten. */
		pending->selected[selected - 1] = text;
		pending->texts[kept] = text;
		selected -= goes;
		kept += !goes;
	}
	memmove(pending->selected, pending->selected + selected, (pending->count - selected) * sizeof *pending->selected);
	pending->selected_count = pending->count - selected;
	pending->selected_at = 0;
	pending->count = pending->kept_count = kept;
}

/* One pass of the sort, by the digit at `shift` of the time since `first_ns`. */
static void sort_by_digit(struct pending_text *restrict to, const struct pending_text *restrict from, size_t count,
                          int64_t first_ns, unsigned shift)
{
	uint32_t places[DIGITS] = { 0 }, place = 0;

	for (size_t i = 0; i < count; i++)
		places[((uint64_t)from[i].time_ns - (uint64_t)first_ns) >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		uint32_t of_digit = places[digit];
		places[digit] = place;
		place += of_digit;
	}
	for (size_t i = 0; i < count; i++)
		to[places[((uint64_t)from[i].time_ns - (uint64_t)first_ns) >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort(struct pending *pending)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

	for (size_t i = 0; i < pending->selected_count; i++) {
		int64_t time_ns = pending->selected[i].time_ns;
		first_ns = time_ns < first_ns ? time_ns : first_ns;
		last_ns = time_ns > last_ns ? time_ns : last_ns;
	}
	uint64_t most = pending->selected_count ? (uint64_t)last_ns - (uint64_t)first_ns : 0;
	for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
		struct pending_text *sorted = pending->spare;
		sort_by_digit(sorted, pending->selected, pending->selected_count, first_ns, shift);
		pending->spare = pending->selected;
		pending->selected = sorted;
	}
}

epp_status *pending_select(struct pending *pending, int64_t before_ns)
{
	if (!pending->count)
		return NULL;
	EPP_TRY(make_room_for_selected(pending));
	split_selected(pending, before_ns);
	sort(pending);
	return NULL;
}

void pending_compact(struct pending *pending)
{
	pending->selected_at = 0;
	if (!pending->selected_count)
		return;
	pending->selected_count = 0;
	pending->bytes_count = 0;
	for (size_t i = 0; i < pending->count; i++) {
		struct pending_text *text = &pending->texts[i];
		memmove(pending->bytes + pending->bytes_count, pending->bytes + text->offset, text->bytes);
		text->offset = pending->bytes_count;
		pending->bytes_count += text->bytes;
	}
	pending->kept_bytes = pending->bytes_count;
}
