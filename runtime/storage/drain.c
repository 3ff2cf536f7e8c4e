/* Turns regions into blocks, in an order that leaves the file readable after a kill at any instant: the block is
 * written completely, then the region's records are zeroed, then its sequence advances, then it is free. A thread's
 * ledger entry is in a block before its slot is cleared.
 *
 * After a failed write the region is kept for the next visit while enough chunks are free, because a full disk may be
 * emptied. After that its events are counted as lost and the recorder continues. At the end of a run, a file keeps in
 * its window what could not be written, and the file is then never marked as finished. */
#include "storage/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "format/format_slot.h"
#include "record/full.h"
#include "record/region_block.h"
#include "record/tracks.h"
#include "storage/drop_region.h"
#include "storage/sync.h"
#include "storage/window/chunk_pool.h"
#include "storage/window/page_faults.h"

#define PAIR_INTERVAL_PER_SECOND 10u
#define SPARE_PART 4u

/* One write call costs as much as writing some 20 KiB. */
#define BATCH_BYTES ((size_t)256 << 10)
#define BATCH_MAX 32u

_Static_assert(BATCH_BYTES + sizeof(struct epf_block) + CODEC_BOUND_DEFINED(EPF_CHUNK_BYTES) <= SESSION_SCRATCH_BYTES,
               "another region's block fits behind a batch");

static struct epf_block *scratch_block(struct session *session)
{
	return (struct epf_block *)(void *)session->scratch;
}

/* Reports a write error. EPP_BLAME_SYSTEM for errors such as a full disk; a configured limit (ENOBUFS) is not an
 * error. */
static int report(struct session *session, int error)
{
	if (error && error != ENOBUFS)
		session_fail(session, EPP_BLAME_SYSTEM,
		             epp_status_errno(error, "%s", session->path ? session->path : "memory"));
	return error;
}

static int append(struct session *session, struct epf_block *block)
{
	return report(session, block_writer_append(&session->writer, block));
}

static int append_plain(struct session *session, enum epf_block_type type, size_t payload_bytes)
{
	struct epf_block *block = scratch_block(session);
	*block = (struct epf_block){
		.type = type,
		.payload_bytes = (uint32_t)payload_bytes,
		.run = session->window.live->run,
		.first_ticks = UINT64_MAX,
		.own_first_ticks = UINT64_MAX,
	};
	return append(session, block);
}

/* ---- one region ---- */

/* Clears the open events of a slot. Their records, or their loss, were stored before. A kill in between leaves them in
 * both places, which readers handle. */
static void close_open(struct epf_slot *slot)
{
	for (struct epf_open *open = slot->open; open < slot->open + EPF_OPEN_MAX; open++)
		if (open->tail)
			STORE_RELEASE(&open->tail, 0);
}

static void count_producer_written(struct session *session, uint32_t producer, uint32_t run)
{
	(void)run;
	/* A producer's ledger continues across runs, so its run is 0. */
	block_writer_count(&session->writer, EPF_OVERWRITTEN_PRODUCER | producer, 0, 1);
}

/* Ring only: counts the owners of the events, which are needed when the segment is overwritten. */
static void count_written(struct session *session, const struct epf_block *block, uint64_t events,
                          const struct epf_region *region, const uint8_t *end)
{
	block_writer_count(&session->writer, block->track, block->run, events);
	if (region && (block->kinds & 1u << EPF_COMPLETE))
		each_handed_over(session, region, end, count_producer_written);
}

/* What happens to a region that cannot be written. */
enum failed {
	FAILED_WAITS, /* kept for another visit while enough chunks are free, otherwise lost */
	FAILED_STAYS, /* kept in the window */
	FAILED_IS_LOST,
};

static enum failed at_end(const struct session *session)
{
	return window_is_shared(&session->window) ? FAILED_STAYS : FAILED_IS_LOST;
}

/* True while more than a quarter of the first chunks is free. */
static bool has_chunks_to_spare(const struct session *session)
{
	uint32_t count = session->window.chunks_count;
	uint32_t first = count < WINDOW_FIRST_CHUNKS ? count : WINDOW_FIRST_CHUNKS;
	return LOAD_RELAXED(&session->chunks_free) > first / SPARE_PART;
}

/* Completes a region whose block was written (`error` is 0) or failed: counts its events and frees it. Returns false if
 * the region stays in the window: neither written nor lost. */
static bool settle(struct session *session, const struct region_block *of, int error, const struct recorder *ending,
                   enum failed failed)
{
	struct epf_region *region = of->region;
	struct epf_slot *slot = &session->window.slots[of->slot];
	bool stays = failed == FAILED_STAYS && error && error != ENOBUFS;
	bool waits = failed == FAILED_WAITS && error && has_chunks_to_spare(session);
	session->accounts_due |= stays;
	if (stays || waits)
		return false;
	if (error)
		give_up(session, slot, error, of->events, region, of->end, ending != NULL);
	else if (session->writer.ring && of->records)
		count_written(session, of->block, of->events, region, of->end);
	session->drained_records += of->records;
	if (ending)
		close_open(ending->slot);
	if (region) {
		memset(region + 1, 0, (size_t)(of->end - (const uint8_t *)(region + 1)));
		STORE_RELEASE(&region->sequence, ADD_RELAXED(&session->next_sequence, 1));
	}
	give_up_end(session, slot);
	return true;
}

/* Encodes a region, writes the block and settles it. */
static bool drain_region(struct session *session, struct epf_region *region, size_t region_bytes,
                         const struct recorder *ending, uint64_t end_ticks, enum failed failed)
{
	struct region_block encoded = region_block_encode(scratch_block(session), region, region_bytes, ending, end_ticks);
	return settle(session, &encoded, encoded.records ? append(session, encoded.block) : 0, ending, failed);
}

static struct epf_region *chunk_region(const struct session *session, uint32_t chunk)
{
	return (struct epf_region *)(void *)(session->window.chunks + (size_t)chunk * EPF_CHUNK_BYTES);
}

/* Returns an emptied chunk to the pool. */
static void put_back(struct session *session, uint32_t chunk)
{
	if (chunk >= session->chunks_used)
		session->chunks_used = chunk + 1;
	chunks_put_back(session, chunk);
}

/* Drains the full regions inside slots. A thread's first region is in its slot and is filled before any of the thread's
 * chunks. The caller collects the full chunks first, so that a slot's region is always drained before them. */
static unsigned drain_slots(struct session *session, enum failed failed, bool *stuck)
{
	unsigned emptied = 0;
	for (uint32_t slot = 0; slot < LOAD_RELAXED(&session->slots_used) && !*stuck; slot++) {
		if (LOAD_ACQUIRE(&session->slot_region_state[slot]) != REGION_FULL)
			continue;
		struct epf_region *region = (struct epf_region *)(void *)session->window.slots[slot].region;
		*stuck = !drain_region(session, region, EPF_SLOT_REGION_BYTES, NULL, 0, failed);
		if (!*stuck) {
			STORE_RELAXED(&session->slot_region_state[slot], REGION_FREE);
			emptied++;
		}
	}
	return emptied;
}

/* Encodes as many of these chunks as fit into one write, at least one. Returns how many; `*bytes` is the size of the
 * blocks. */
static size_t encode_chunks(struct session *session, const struct full_chunk *full, size_t count,
                            struct region_block *encoded, size_t *bytes)
{
	size_t room = block_writer_room(&session->writer), done = 0;
	if (room > BATCH_BYTES)
		room = BATCH_BYTES;
	*bytes = 0;
	do {
		struct epf_block *block = (struct epf_block *)(void *)(session->scratch + *bytes);
		encoded[done] = region_block_encode(block, chunk_region(session, full[done].chunk), EPF_CHUNK_BYTES,
		                                    NULL, 0);
		size_t more = encoded[done].records ? (sizeof(*block) + block->payload_bytes + 7) & ~(size_t)7 : 0;
		if (done && *bytes + more > room)
			break;
		*bytes += more;
	} while (++done < count && done < BATCH_MAX && *bytes < room);
	return done;
}

/* Drains chunks with one write or, if that fails, one by one. Returns how many were emptied. */
static size_t drain_chunks(struct session *session, const struct full_chunk *full, size_t count, enum failed failed,
                           bool *stuck)
{
	struct region_block encoded[BATCH_MAX];
	size_t bytes, emptied = 0;
	count = encode_chunks(session, full, count, encoded, &bytes);
	bool together = count > 1 && bytes &&
	                !block_writer_append_several(&session->writer, scratch_block(session), bytes);
	for (size_t i = 0; i < count && !*stuck; i++) {
		int error = together || !encoded[i].records ? 0 : append(session, encoded[i].block);
		*stuck = !settle(session, &encoded[i], error, NULL, failed);
		if (!*stuck) {
			put_back(session, full[i].chunk);
			emptied++;
		}
	}
	return emptied;
}

/* Drains all full regions. Sets `*stuck` if one could not be written. */
static unsigned drain_full(struct session *session, enum failed failed, bool *stuck)
{
	struct full_chunk full[EPF_CHUNK_COUNT];
	size_t count = full_collect(session, full), done = 0;
	unsigned emptied = drain_slots(session, failed, stuck);
	while (done < count && !*stuck)
		done += drain_chunks(session, full + done, count - done, failed, stuck);
	return emptied + (unsigned)done;
}

bool drain_oldest(struct session *session)
{
	struct full_chunk oldest;
	bool stuck = false, found = full_oldest(session, &oldest);
	if (drain_slots(session, FAILED_WAITS, &stuck))
		return true;
	return !stuck && found && drain_chunks(session, &oldest, 1, FAILED_WAITS, &stuck);
}

/* ---- recorders of threads that have left, or all recorders ---- */

static void fill_account(struct epf_ledger_entry *entry, const struct epf_slot *slot)
{
	*entry = (struct epf_ledger_entry){
		.track = slot->track,
		.run = slot->run,
		.ids_taken = epf_slot_ids_taken(slot),
		.lost_idless = slot->lost_idless,
	};
	memcpy(entry->lost, slot->lost, sizeof(entry->lost));
	entry->lost[EPP_LOSS_DISK] += epf_slot_lost_disk(slot);
	entry->lost[EPP_LOSS_POLICY] += epf_slot_lost_policy(slot);
}

/* Writes a recorder's last region as a block and makes its ledger final, or leaves both in the window. */
static void close_account(struct session *session, struct recorder *recorder, uint64_t end_ticks, enum failed failed)
{
	struct epf_region *region = recorder->region;
	bool in_slot = recorder->chunk == RECORDER_NO_CHUNK;
	recorder->region = NULL;
	if ((region || epf_slot_open_count(recorder->slot)) &&
	    !drain_region(session, region, in_slot ? EPF_SLOT_REGION_BYTES : EPF_CHUNK_BYTES, recorder, end_ticks, failed)) {
		if (region)
			STORE_RELAXED(in_slot ? &session->slot_region_state[recorder->slot_index]
			                      : &session->chunk_state[recorder->chunk],
			              REGION_FULL);
		return;
	}
	if (region && !in_slot)
		put_back(session, recorder->chunk);
	STORE_RELEASE(&recorder->slot->state, EPF_SLOT_LEFT);
}

/* Frees a slot whose ledger entry is in a block. session->lock is held. */
static void slot_clear(struct session *session, uint32_t index)
{
	struct epf_slot *slot = &session->window.slots[index];
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		session->lost_before[reason] += slot->lost[reason];
	session->lost_before[EPP_LOSS_DISK] += slot->drain_lost_disk;
	session->lost_before[EPP_LOSS_POLICY] += slot->drain_lost_policy;
	STORE_RELEASE(&slot->state, EPF_SLOT_FREE);
	memset((uint8_t *)slot + sizeof(slot->state), 0, offsetof(struct epf_slot, region) - sizeof(slot->state));
	STORE_RELAXED(&session->slot_region_state[index], REGION_FREE);
	session->slot_taken[index] = 0;
	STORE_RELAXED(&session->slots_free, session->slots_free + 1);
}

#define GONE_MAX 64

struct gone {
	struct recorder *recorder;
	uint64_t end_ticks; /* end time for the events that it left open */
};

static size_t collect_gone(struct session *session, bool final, struct gone *gone)
{
	size_t count = 0;
	uint64_t run_end_ticks = LOAD_ACQUIRE(&session->run_end_ticks);
	struct recorder *recorder;
	pthread_mutex_lock(&session->lock);
	LIST_FOREACH(recorder, &session->recorders, session_link) {
		if (!final && !recorder->owner_gone)
			continue;
		gone[count].recorder = recorder;
		gone[count].end_ticks = recorder->owner_gone && recorder->left_ticks < run_end_ticks ? recorder->left_ticks
		                                                                                     : run_end_ticks;
		if (++count == GONE_MAX)
			break;
	}
	pthread_mutex_unlock(&session->lock);
	return count;
}

/* Writes the ledger entries of threads that have left, and frees their slots. Until then a slot keeps its entry for
 * readers of the file; a failed write is repeated on each visit. */
static void drain_accounts(struct session *session)
{
	struct epf_ledger_entry entries[GONE_MAX];
	uint32_t slots[GONE_MAX];
	uint32_t next = 0, used = LOAD_RELAXED(&session->slots_used);
	while (next < used) {
		size_t count = 0;
		for (; next < used && count < GONE_MAX; next++) {
			const struct epf_slot *slot = &session->window.slots[next];
			if (LOAD_RELAXED(&slot->state) != EPF_SLOT_LEFT)
				continue;
			fill_account(&entries[count], slot);
			slots[count++] = next;
		}
		if (!count)
			return;
		memcpy(scratch_block(session) + 1, entries, count * sizeof(entries[0]));
		if (append_plain(session, EPF_BLOCK_LEDGER, count * sizeof(entries[0])))
			return;
		pthread_mutex_lock(&session->lock);
		for (size_t i = 0; i < count; i++)
			slot_clear(session, slots[i]);
		pthread_mutex_unlock(&session->lock);
	}
}

/* Closes the recorders of threads that have left or, with `final`, all. A recorder stays listed, so that it is not
 * freed, until all its data is in blocks. The session's lock is not held meanwhile, because threads that start or end
 * must not wait for a disk. */
static void drain_recorders(struct session *session, bool final, bool *stuck)
{
	struct gone gone[GONE_MAX];
	for (size_t count; (count = collect_gone(session, final, gone)) > 0;) {
		/* Regions filled since the last visit must become blocks before their slots are cleared. */
		enum failed failed = final ? at_end(session) : FAILED_WAITS;
		drain_full(session, failed, stuck);
		if (*stuck && !final)
			break;
		for (size_t i = 0; i < count; i++)
			close_account(session, gone[i].recorder, gone[i].end_ticks, final ? failed : FAILED_IS_LOST);
		pthread_mutex_lock(&session->lock);
		for (size_t i = 0; i < count; i++)
			recorder_unlist(gone[i].recorder);
		pthread_mutex_unlock(&session->lock);
	}
	drain_accounts(session);
}

/* ---- clock pairs and runs ---- */

static void drain_host_pair(struct session *session, bool final)
{
	uint64_t now = clock_ticks(), interval = clock_ticks_per_second() / PAIR_INTERVAL_PER_SECOND;
	/* A due time more than one interval ahead means that the counter was reset. */
	if (!final && session->pair_due_ticks - now - 1 < interval)
		return;
	session->pair_due_ticks = now + interval;
	faults_look(session);
	struct epf_host_pair pair;
	clock_pair_read(&pair);
	memcpy(scratch_block(session) + 1, &pair, sizeof(pair));
	append_plain(session, EPF_BLOCK_HOST_PAIRS, sizeof(pair));
}

void drain_begin_run(struct session *session, const struct epf_host_pair *start)
{
	struct epf_live *live = session->window.live;
	STORE_RELAXED(&session->run_end_ticks, UINT64_MAX);
	session->pair_due_ticks = 0;
	session->quiet_visits = 0;
	live->run_start = *start;
	live->run_end_ticks = 0;
	STORE_RELAXED(&live->faults, 0);
	live->run_first_id = session->run_first_id;
	STORE_RELEASE(&live->run, live->run + 1);
	__atomic_fetch_or(&live->flags, EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
	/* The log is not emptied while nothing is recorded, so it may be full. */
	if (LOAD_RELAXED(&live->flags) & EPF_LIVE_LOG_FULL)
		report(session, tracks_drain(session));
}

void drain_own_losses(struct session *session)
{
	struct epf_live *live = session->window.live;
	struct epf_ledger_entry own = { .track = 0, .run = 1 };
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++) {
		own.lost[reason] = LOAD_RELAXED(&live->lost[reason]);
		own.lost_idless += EPF_LOSS_IS_OF_EVENTS(reason) ? own.lost[reason] : 0;
	}
	if (!memcmp(own.lost, session->own_written, sizeof(own.lost)))
		return;
	memcpy(scratch_block(session) + 1, &own, sizeof(own));
	if (append_plain(session, EPF_BLOCK_LEDGER, sizeof(own)))
		session->accounts_due = true;
	else
		memcpy(session->own_written, own.lost, sizeof(own.lost));
}

void drain_without_run(struct session *session)
{
	if (session->window.fd < 0 || session->window.live->run)
		return;
	memset(scratch_block(session) + 1, 0, sizeof(struct epf_run));
	session->accounts_due |= append_plain(session, EPF_BLOCK_RUN, sizeof(struct epf_run)) != 0;
}

static void finish_run(struct session *session)
{
	struct epf_live *live = session->window.live;
	uint8_t *payload = (uint8_t *)(scratch_block(session) + 1);
	drain_own_losses(session);
	if (LOAD_ACQUIRE(&session->profilers_count)) {
		size_t bytes = session->profilers_count * sizeof(struct epf_producer);
		/* Pushes that arrive after the end of the run still count in these words. */
		const uint64_t *words = (const uint64_t *)(const void *)session->window.producers;
		for (size_t i = 0; i < bytes / sizeof(*words); i++)
			((uint64_t *)(void *)payload)[i] = LOAD_RELAXED(&words[i]);
		session->accounts_due |= append_plain(session, EPF_BLOCK_PRODUCERS, bytes) != 0;
	}
	struct epf_run run = { .run = live->run, .first_id = live->run_first_id, .start = live->run_start };
	clock_pair_read(&run.end);
	run.faults = LOAD_RELAXED(&live->faults);
	memcpy(payload, &run, sizeof(run));
	session->accounts_due |= append_plain(session, EPF_BLOCK_RUN, sizeof(run)) != 0;
	__atomic_fetch_and(&live->flags, ~EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
}

unsigned drain_visit(struct session *session, bool final)
{
	bool stuck = false;
	unsigned emptied = drain_full(session, final ? at_end(session) : FAILED_WAITS, &stuck);
	if (!stuck || final)
		drain_recorders(session, final, &stuck);
	report(session, tracks_drain(session));
	report(session, sync_take_error(session->sync));
	drain_host_pair(session, final);
	if (final)
		finish_run(session);
	return emptied;
}
