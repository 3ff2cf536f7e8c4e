/* Stores the events of a set of references: see references.h.  The events of a page are one allocation, followed by
 * the used durations.
 * If the limit is exceeded, a clock hand walks the resident pages and evicts the first one that was not used since
 * its last pass. */
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"
#include "containers/array.h"
#include "files/temp_file.h"
#include "timeline/events/references.h"

static unsigned ids_in(const struct references_page *page)
{
	return page->before[7] + (unsigned)__builtin_popcountll(page->bits[7]);
}

static size_t event_bytes(const struct references *references)
{
	return sizeof(struct referenced_event) + (references->has_used ? sizeof(int64_t) : 0);
}

static size_t page_bytes(const struct references *references, const struct references_page *page)
{
	return ids_in(page) * event_bytes(references);
}

void references_deinit_events(struct references *references)
{
	for (size_t i = 0; i < references->resident_count; i++)
		free(references->pages[references->resident[i]].events);
	free(references->resident);
	if (references->has_file)
		close(references->file);
}

/* ---- which pages are in memory ---- */

static void leave(struct references *references, struct references_page *page)
{
	uint32_t last = references->resident[--references->resident_count];

	references->resident[page->resident_at] = last;
	references->pages[last].resident_at = page->resident_at;
	references->bytes -= page_bytes(references, page);
	free(page->events);
	page->events = NULL;
}

static epp_status *put_away(struct references *references, struct references_page *page)
{
	if (!references->has_file)
		EPP_TRY(temp_file_open(&references->file));
	references->has_file = true;
	if (page->slot == REFERENCES_NONE) {
		page->slot = references->file_events;
		references->file_events += ids_in(page);
		page->is_changed = true;
	}
	if (page->is_changed)
		EPP_TRY(temp_file_write(references->file, page->slot * event_bytes(references), page->events,
		                        page_bytes(references, page)));
	leave(references, page);
	return NULL;
}

static epp_status *make_room(struct references *references, size_t bytes)
{
	while (references->resident_count && references->bytes + bytes > references->bytes_most) {
		if (references->hand >= references->resident_count)
			references->hand = 0;
		struct references_page *page = &references->pages[references->resident[references->hand]];
		if (page->is_recent) {
			page->is_recent = false;
			references->hand++;
		} else {
			EPP_TRY(put_away(references, page));
		}
	}
	if (!array_reserve(&references->resident, &references->resident_room, references->resident_count + 1,
	                   sizeof(*references->resident)))
		return epp_status_no_memory();
	return NULL;
}

/* Loads the events of a page from the file, or creates them as not found. */
static epp_status *come(struct references *references, struct references_page *page)
{
	unsigned count = ids_in(page);
	size_t bytes = page_bytes(references, page);

	EPP_TRY(make_room(references, bytes));
	struct referenced_event *events = malloc(bytes);
	if (!events)
		return epp_status_no_memory();
	if (page->slot != REFERENCES_NONE) {
		epp_status *status = temp_file_read(references->file, page->slot * event_bytes(references), events, bytes);
		if (status) {
			free(events);
			return status;
		}
	} else {
		int64_t *used_ns = (int64_t *)(void *)(events + count);
		for (unsigned i = 0; i < count; i++) {
			events[i] = (struct referenced_event){ .start_ns = INT64_MIN, .outer_end_ns = INT64_MIN };
			if (references->has_used)
				used_ns[i] = 0;
		}
	}
	page->events = events;
	page->is_changed = false;
	page->resident_at = (uint32_t)references->resident_count & 0x3fffffffu;
	references->resident[references->resident_count++] = (uint32_t)(page - references->pages);
	references->bytes += bytes;
	return NULL;
}

/* ---- queries ---- */

epp_status *references_at_far(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	*event = NULL;
	if (!page->references || page->slot == REFERENCES_NONE)
		return NULL;
	EPP_TRY(come(references, page));
	return references_at(references, number, event);
}

epp_status *references_note_far(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	*event = NULL;
	if (!page->references)
		return NULL;
	EPP_TRY(come(references, page));
	return references_note(references, number, event);
}

epp_status *references_used(struct references *references, uint32_t number, int64_t **used_ns)
{
	const struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];
	struct referenced_event *event;

	*used_ns = NULL;
	EPP_TRY(references_note(references, number, &event));
	if (event)
		*used_ns = (int64_t *)(void *)(page->events + ids_in(page)) + number % REFERENCES_PAGE_IDS;
	return NULL;
}

void references_done(struct references *references, uint32_t number)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	if (page->references == REFERENCES_FOREVER || (page->references && --page->references))
		return;
	if (page->events)
		leave(references, page);
}
