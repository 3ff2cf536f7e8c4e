/* Compacts the oldest retained segment of a ring, and adds up the ledger entries of ended threads whose events are all
 * overwritten.
 *
 * The copy of a block may be smaller than the original. Small blocks of one type are joined, so the blocks are
 * processed type by type. If a block is damaged, there is no compaction, and the segment is not changed. */
#include "storage/blocks/retained_definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "containers/array.h"
#include "epprof/session.h"

/* Blocks of one type are joined up to this payload size, in bytes. A larger block is split, which adds headers;
 * HEADERS_MORE is the memory for these. */
#define PAYLOAD_MAX (128u << 10)
#define HEADERS_MORE (32 * sizeof(struct epf_block))

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

bool retained_init(struct retained *retained, uint32_t segments_max)
{
	*retained = (struct retained){ .segments_max = segments_max };
	retained->ended_threads.track = EPF_TRACK_GONE;
	retained->session.run = 1;
	retained->segments = calloc(segments_max, sizeof(*retained->segments));
	return retained->segments != NULL;
}

void retained_deinit(struct retained *retained)
{
	free(retained->segments);
	free(retained->threads);
	*retained = (struct retained){ 0 };
}

/* ---- threads with separate ledger entries ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static const uint32_t *find(const uint32_t *numbers, size_t count, uint32_t number)
{
	return count ? bsearch(&number, numbers, count, sizeof(number), by_number) : NULL;
}

/* Returns the next definition of a payload, or NULL. */
static const struct epf_definition *next_definition(const uint8_t *payload, size_t bytes, size_t *at)
{
	const struct epf_definition *head = (const struct epf_definition *)(const void *)(payload + *at);

	if (bytes - *at < sizeof(*head) || padded(head->bytes) > bytes - *at - sizeof(*head))
		return NULL;
	*at += sizeof(*head) + padded(head->bytes);
	return head;
}

/* Returns the track if the definition is that of a thread's track, else 0. */
static uint32_t thread_of(const struct epf_definition *head)
{
	const struct epf_track *track = (const struct epf_track *)(const void *)(head + 1);

	return head->type == EPF_DEFINE_TRACK && head->bytes >= sizeof(*track) && track->kind == EPF_TRACK_THREAD
	           ? track->track
	           : 0;
}

bool retained_reserve(struct retained *retained, const struct epf_block *block)
{
	size_t more = block->type == EPF_BLOCK_DEFINITIONS ? block->payload_bytes / sizeof(struct epf_track) : 0;

	return array_reserve(&retained->threads, &retained->threads_capacity, retained->threads_count + more,
	                     sizeof(*retained->threads));
}

static void note_thread(struct retained *retained, uint32_t track)
{
	size_t at = retained->threads_count;

	/* Tracks arrive in ascending order, except tracks whose write was repeated. */
	while (at && retained->threads[at - 1] >= track)
		if (retained->threads[--at] == track)
			return;
	memmove(retained->threads + at + 1, retained->threads + at,
	        (retained->threads_count - at) * sizeof(*retained->threads));
	retained->threads[at] = track;
	retained->threads_count++;
}

void retained_note(struct retained *retained, const struct epf_block *block)
{
	const uint8_t *payload = (const uint8_t *)(block + 1);
	const struct epf_definition *head;

	if (block->type == EPF_BLOCK_DEFINITIONS)
		for (size_t at = 0; (head = next_definition(payload, block->payload_bytes, &at));)
			if (thread_of(head))
				note_thread(retained, thread_of(head));
	if (block->type == EPF_BLOCK_PRODUCERS)
		retained->producers_number = retained->segments[retained->segments_count - 1].number;
	if (block->type == EPF_BLOCK_RUN)
		retained->last_run = ((const struct epf_run *)(const void *)payload)->run;
}

/* ---- selecting the parts to copy ---- */

/* State of the scan of one segment. */
struct visit {
	const struct retained *retained;
	const struct ring *ring;
	struct compaction *compaction;
	uint32_t *owners; /* sorted: the owners of events in overwritable segments */
	size_t owners_count;
	uint32_t first_run;
	struct epf_block *filling; /* the copied block to which pieces are appended; NULL: none of this type was
	                              begun */
};

/* Appends one piece of a block to the copies. The total never exceeds the size of the original. */
static void copy(struct visit *visit, const struct epf_block *of, const void *piece, size_t bytes)
{
	struct compaction *compaction = visit->compaction;

	if (!visit->filling || visit->filling->payload_bytes + bytes > PAYLOAD_MAX) {
		compaction->bytes = padded(compaction->bytes);
		visit->filling = (struct epf_block *)(void *)(compaction->blocks + compaction->bytes);
		*visit->filling = *of;
		visit->filling->payload_bytes = 0;
		compaction->bytes += sizeof(*of);
	}
	memcpy(compaction->blocks + compaction->bytes, piece, bytes);
	compaction->bytes += bytes;
	visit->filling->payload_bytes += (uint32_t)bytes;
}

static void visit_definitions(struct visit *visit, const struct epf_block *block)
{
	const struct epf_definition *head;
	const uint8_t *payload = (const uint8_t *)(block + 1);

	for (size_t at = 0; (head = next_definition(payload, block->payload_bytes, &at));) {
		uint32_t thread = thread_of(head);
		if (thread && !find(visit->retained->threads, visit->retained->threads_count, thread))
			continue;
		if (thread)
			visit->compaction->threads_bytes += sizeof(*head) + padded(head->bytes);
		copy(visit, block, head, sizeof(*head) + padded(head->bytes));
	}
}

static void add_up(struct epf_ledger_entry *sum, const struct epf_ledger_entry *entry)
{
	sum->ids_taken += entry->ids_taken;
	sum->lost_idless += entry->lost_idless;
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		sum->lost[reason] += entry->lost[reason];
}

/* The session's losses are cumulative from the start of the file, so the largest value is the latest. */
static void keep_largest(struct epf_ledger_entry *session, const struct epf_ledger_entry *entry)
{
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		if (entry->lost[reason] > session->lost[reason])
			session->lost[reason] = entry->lost[reason];
}

/* Adds a thread's ledger entry to the sum of ended threads. The thread's overwritten events become losses by policy in
 * the sum. */
static void add_ended_thread(struct visit *visit, const struct epf_ledger_entry *entry)
{
	struct compaction *compaction = visit->compaction;

	add_up(&compaction->ended_threads, entry);
	compaction->ended_threads.lost[EPP_LOSS_POLICY] += ring_overwritten(visit->ring, entry->track, entry->run);
	compaction->added[compaction->added_count++] = entry->track;
}

static void visit_accounts(struct visit *visit, const struct epf_block *block)
{
	const struct epf_ledger_entry *entry = (const struct epf_ledger_entry *)(const void *)(block + 1);

	for (size_t i = 0; i < block->payload_bytes / sizeof(*entry); i++, entry++) {
		bool known = find(visit->retained->threads, visit->retained->threads_count, entry->track);
		/* If `is_sum_frozen` is set, a copy of the entry may still be visible, and would be counted in addition
		 * to the sum. */
		bool stays = !known || visit->retained->is_sum_frozen ||
		             find(visit->owners, visit->owners_count, entry->track);
		if (!entry->track)
			keep_largest(&visit->compaction->session, entry);
		else if (stays)
			copy(visit, block, entry, sizeof(*entry)), visit->compaction->threads_bytes += sizeof(*entry);
		else
			add_ended_thread(visit, entry);
	}
}

static void visit_other(struct visit *visit, const struct epf_block *block)
{
	const struct retained *retained = visit->retained;
	const struct epf_run *run = (const struct epf_run *)(const void *)(block + 1);
	bool counts = true;

	if (block->type == EPF_BLOCK_RETAINED || block->type == EPF_BLOCK_OVERWRITTEN)
		counts = false;
	else if (block->type == EPF_BLOCK_PRODUCERS)
		counts = retained->producers_number == retained->segments[0].number;
	else if (block->type == EPF_BLOCK_RUN)
		counts = run->run >= visit->first_run || run->run >= retained->last_run;
	visit->filling = NULL;
	if (counts)
		copy(visit, block, block + 1, block->payload_bytes);
}

/* Returns the block at the offset `at`, or NULL if it is damaged. */
static const struct epf_block *block_at(const uint8_t *segment, size_t at, size_t used)
{
	const struct epf_block *block = (const struct epf_block *)(const void *)(segment + at);

	if (used - at < sizeof(*block) || block->magic != EPF_BLOCK_MAGIC ||
	    block->payload_bytes > used - at - sizeof(*block))
		return NULL;
	struct epf_block head = *block;
	head.checksum = 0;
	return checksum_crc32c(checksum_crc32c(0, &head, sizeof(head)), (const uint8_t *)(block + 1),
	                       block->payload_bytes) == block->checksum
	           ? block
	           : NULL;
}

/* Processes definitions first, then ledgers, then the other types, so that blocks of one type can be joined. */
static int visit_blocks(struct visit *visit, const uint8_t *segment, size_t used)
{
	for (int pass = 0; pass < 3; pass++) {
		visit->filling = NULL;
		for (size_t at = EPF_SEGMENT_HEADER_BYTES; at < used;) {
			const struct epf_block *block = block_at(segment, at, used);
			if (!block)
				return EIO;
			int kind = block->type == EPF_BLOCK_DEFINITIONS ? 0 : block->type == EPF_BLOCK_LEDGER ? 1 : 2;
			if (kind == pass && pass == 0)
				visit_definitions(visit, block);
			else if (kind == pass && pass == 1)
				visit_accounts(visit, block);
			else if (kind == pass)
				visit_other(visit, block);
			at += padded(sizeof(*block) + block->payload_bytes);
		}
	}
	visit->compaction->bytes = padded(visit->compaction->bytes);
	return 0;
}

/* ---- one compaction ---- */

/* Builds the EPF_BLOCK_RETAINED that makes the copies and sums valid and the old segment void. */
static void finish_compaction(struct visit *visit)
{
	struct compaction *compaction = visit->compaction;
	struct epf_retained head = { .through = visit->retained->segments[0].number, .entry_count = 2 };
	uint8_t *at = (uint8_t *)(compaction->retained + 1);

	*compaction->retained = (struct epf_block){ .type = EPF_BLOCK_RETAINED,
		                                    .payload_bytes = sizeof(head) + 2 * sizeof(compaction->ended_threads),
		                                    .first_ticks = UINT64_MAX,
		                                    .own_first_ticks = UINT64_MAX };
	at = mempcpy(at, &head, sizeof(head));
	at = mempcpy(at, &compaction->session, sizeof(compaction->session));
	memcpy(at, &compaction->ended_threads, sizeof(compaction->ended_threads));
	if (compaction->added_count)
		qsort(compaction->added, compaction->added_count, sizeof(*compaction->added), by_number);
}

int retained_scan(const struct retained *retained, const struct ring *ring, const uint8_t *segment,
                  struct compaction *compaction)
{
	struct visit visit = { .retained = retained, .ring = ring, .compaction = compaction };
	size_t used = retained->segments[0].used;

	*compaction = (struct compaction){ .session = retained->session, .ended_threads = retained->ended_threads };
	compaction->blocks = calloc(1, used + HEADERS_MORE);
	compaction->added = reallocarray(NULL, used / sizeof(struct epf_ledger_entry) + 1, sizeof(*compaction->added));
	compaction->retained = malloc(sizeof(*compaction->retained) + sizeof(struct epf_retained) +
	                              2 * sizeof(struct epf_ledger_entry));
	visit.owners = ring_owners(ring, &visit.owners_count, &visit.first_run);
	int error = compaction->blocks && compaction->added && compaction->retained && visit.owners ? 0 : ENOMEM;
	if (!error)
		error = visit_blocks(&visit, segment, used);
	if (!error)
		finish_compaction(&visit);
	free(visit.owners);
	if (error)
		compaction_deinit(compaction);
	return error;
}

void compaction_deinit(struct compaction *compaction)
{
	free(compaction->blocks);
	free(compaction->added);
	free(compaction->retained);
	*compaction = (struct compaction){ 0 };
}

uint64_t retained_remove_oldest(struct retained *retained, struct ring *ring, const struct compaction *compaction)
{
	uint64_t index = retained->segments[0].index;
	size_t left = 0;

	for (size_t i = 0; i < retained->threads_count; i++)
		if (!find(compaction->added, compaction->added_count, retained->threads[i]))
			retained->threads[left++] = retained->threads[i];
	retained->threads_count = left;
	ring_drop(ring, compaction->added, compaction->added_count);
	retained->session = compaction->session;
	retained->ended_threads = compaction->ended_threads;
	if (retained->producers_number == retained->segments[0].number)
		retained->producers_number = retained->segments[retained->segments_count - 1].number;
	retained->segments_count--;
	memmove(retained->segments, retained->segments + 1, retained->segments_count * sizeof(*retained->segments));
	return index;
}
