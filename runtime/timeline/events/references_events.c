/* What is known of the events: see references.h.  A page's events are one piece of memory, behind them how much of each was used.
 * Where there are too many, a hand goes round the pages that have them: one that was asked for since it came by last stays. */
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"
#include "containers/array.h"
#include "files/temp_file.h"
#include "timeline/events/references.h"

static unsigned ids_in(const struct referred_page *page)
{
	return page->before[7] + (unsigned)__builtin_popcountll(page->bits[7]);
}

static size_t event_bytes(const struct referred *referred)
{
	return sizeof(struct referred_event) + (referred->has_used ? sizeof(int64_t) : 0);
}

static size_t page_bytes(const struct referred *referred, const struct referred_page *page)
{
	return ids_in(page) * event_bytes(referred);
}

void referred_deinit_events(struct referred *referred)
{
	for (size_t i = 0; i < referred->resident_count; i++)
		free(referred->pages[referred->resident[i]].events);
	free(referred->resident);
	if (referred->has_file)
		close(referred->file);
}

/* ---- which are in memory ---- */

static void leave(struct referred *referred, struct referred_page *page)
{
	uint32_t last = referred->resident[--referred->resident_count];

	referred->resident[page->resident_at] = last;
	referred->pages[last].resident_at = page->resident_at;
	referred->bytes -= page_bytes(referred, page);
	free(page->events);
	page->events = NULL;
}

static epp_status *put_away(struct referred *referred, struct referred_page *page)
{
	if (!referred->has_file)
		EPP_TRY(spool_open(&referred->file));
	referred->has_file = true;
	if (page->slot == REFERRED_NONE) {
		page->slot = referred->file_events;
		referred->file_events += ids_in(page);
		page->is_changed = true;
	}
	if (page->is_changed)
		EPP_TRY(spool_write(referred->file, page->slot * event_bytes(referred), page->events,
		                    page_bytes(referred, page)));
	leave(referred, page);
	return NULL;
}

static epp_status *make_room(struct referred *referred, size_t bytes)
{
	while (referred->resident_count && referred->bytes + bytes > referred->bytes_most) {
		if (referred->hand >= referred->resident_count)
			referred->hand = 0;
		struct referred_page *page = &referred->pages[referred->resident[referred->hand]];
		if (page->is_recent) {
			page->is_recent = false;
			referred->hand++;
		} else {
			EPP_TRY(put_away(referred, page));
		}
	}
	if (!array_reserve(&referred->resident, &referred->resident_room, referred->resident_count + 1,
	                   sizeof(*referred->resident)))
		return epp_status_no_memory();
	return NULL;
}

/* Gives a page its events: those in the file, else such that nothing is known of. */
static epp_status *come(struct referred *referred, struct referred_page *page)
{
	unsigned count = ids_in(page);
	size_t bytes = page_bytes(referred, page);

	EPP_TRY(make_room(referred, bytes));
	struct referred_event *events = malloc(bytes);
	if (!events)
		return epp_status_no_memory();
	if (page->slot != REFERRED_NONE) {
		epp_status *status = spool_read(referred->file, page->slot * event_bytes(referred), events, bytes);
		if (status) {
			free(events);
			return status;
		}
	} else {
		int64_t *used_ns = (int64_t *)(void *)(events + count);
		for (unsigned i = 0; i < count; i++) {
			events[i] = (struct referred_event){ .start_ns = INT64_MIN, .outer_end_ns = INT64_MIN };
			if (referred->has_used)
				used_ns[i] = 0;
		}
	}
	page->events = events;
	page->is_changed = false;
	page->resident_at = (uint32_t)referred->resident_count & 0x3fffffffu;
	referred->resident[referred->resident_count++] = (uint32_t)(page - referred->pages);
	referred->bytes += bytes;
	return NULL;
}

/* ---- what is asked ---- */

epp_status *referred_at_far(struct referred *referred, uint32_t number, struct referred_event **event)
{
	struct referred_page *page = &referred->pages[number / REFERRED_PAGE_IDS];

	*event = NULL;
	if (!page->references || page->slot == REFERRED_NONE)
		return NULL;
	EPP_TRY(come(referred, page));
	return referred_at(referred, number, event);
}

epp_status *referred_note_far(struct referred *referred, uint32_t number, struct referred_event **event)
{
	struct referred_page *page = &referred->pages[number / REFERRED_PAGE_IDS];

	*event = NULL;
	if (!page->references)
		return NULL;
	EPP_TRY(come(referred, page));
	return referred_note(referred, number, event);
}

epp_status *referred_used(struct referred *referred, uint32_t number, int64_t **used_ns)
{
	const struct referred_page *page = &referred->pages[number / REFERRED_PAGE_IDS];
	struct referred_event *event;

	*used_ns = NULL;
	EPP_TRY(referred_note(referred, number, &event));
	if (event)
		*used_ns = (int64_t *)(void *)(page->events + ids_in(page)) + number % REFERRED_PAGE_IDS;
	return NULL;
}

void referred_done(struct referred *referred, uint32_t number)
{
	struct referred_page *page = &referred->pages[number / REFERRED_PAGE_IDS];

	if (page->references == REFERRED_FOREVER || (page->references && --page->references))
		return;
	if (page->events)
		leave(referred, page);
}
