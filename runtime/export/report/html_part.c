/* Chooses the part of a long trace that the page shows.  Time is divided into pieces of equal length; when an event is
 * beyond the last piece, the length doubles.  Only the outermost events of a lane count as busy time; they do not
 * overlap, so the total number of pieces visited is small. */
#include <string.h>

#include "export/report/html.h"

#define FIRST_PIECE_NS 1024

static void double_pieces(struct html_part *part)
{
	for (size_t i = 0; i < HTML_PIECES_COUNT / 2; i++) {
		uint64_t events = (uint64_t)part->events[2 * i] + part->events[2 * i + 1];
		part->events[i] = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
		part->device_ns[i] = part->device_ns[2 * i] + part->device_ns[2 * i + 1];
		part->thread_ns[i] = part->thread_ns[2 * i] + part->thread_ns[2 * i + 1];
	}
	memset(part->events + HTML_PIECES_COUNT / 2, 0, sizeof part->events / 2);
	memset(part->device_ns + HTML_PIECES_COUNT / 2, 0, sizeof part->device_ns / 2);
	memset(part->thread_ns + HTML_PIECES_COUNT / 2, 0, sizeof part->thread_ns / 2);
	part->piece_ns *= 2;
}

/* Returns the piece of a time and sets the time since the first event; doubles the pieces until the time is in one. */
static size_t piece_of(struct html_part *part, int64_t ns, uint64_t *since_ns)
{
	*since_ns = (uint64_t)ns - (uint64_t)part->first_ns;
	/* 4096 pieces cover 2^64 ns before the length of one can overflow. */
	while (*since_ns / (uint64_t)part->piece_ns >= HTML_PIECES_COUNT)
		double_pieces(part);
	return (size_t)(*since_ns / (uint64_t)part->piece_ns);
}

static void add_busy(struct html_part *part, const epp_event *event, bool device)
{
	int64_t *busy_ns = device ? part->device_ns : part->thread_ns;
	uint64_t at_ns, end_ns, until_ns;

	if (event->duration_ns <= 0)
		return;
	size_t last = piece_of(part, event->start_ns + event->duration_ns - 1, &end_ns);
	for (size_t piece = piece_of(part, event->start_ns, &at_ns); piece <= last; piece++, at_ns = until_ns) {
		until_ns = piece < last ? (piece + 1) * (uint64_t)part->piece_ns : end_ns + 1;
		busy_ns[piece] += (int64_t)(until_ns - at_ns);
	}
}

void html_part_add(struct html_part *part, const epp_event *event)
{
	bool device = event->track->kind == EPP_TRACK_DEVICE;

	if (!part->any) {
		part->any = true;
		part->first_ns = event->start_ns;
		part->piece_ns = FIRST_PIECE_NS;
	}
	uint64_t since_ns;
	size_t piece = piece_of(part, event->start_ns, &since_ns);
	part->events[piece] += part->events[piece] < UINT32_MAX;
	if (event->kind != EPP_EVENT_SLICE || event->depth)
		return;
	part->any_device = part->any_device || device;
	add_busy(part, event, device);
}

void html_part_choose(const struct html_part *part, uint64_t limit, int64_t *from_ns, int64_t *to_ns)
{
	const int64_t *busy_ns = part->any_device ? part->device_ns : part->thread_ns;
	size_t best_first = 0, best_end = 0, first = 0;
	int64_t busy = 0, best = -1;
	uint64_t events = 0;

	for (size_t end = 1; end <= HTML_PIECES_COUNT; end++) {
		events += part->events[end - 1];
		busy += busy_ns[end - 1];
		for (; events > limit && first + 1 < end; first++) {
			events -= part->events[first];
			busy -= busy_ns[first];
		}
		if (busy <= best)
			continue;
		best = busy;
		best_first = first;
		best_end = end;
	}
	*from_ns = part->first_ns + (int64_t)best_first * part->piece_ns;
	*to_ns = best_end < HTML_PIECES_COUNT ? part->first_ns + (int64_t)best_end * part->piece_ns : INT64_MAX;
}
