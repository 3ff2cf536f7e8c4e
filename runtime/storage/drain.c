/* Turns full regions into blocks.  In a lossless session a recording thread that finds no free chunk drains one itself
 * (drain_take_chunk).  record/recorder.c changes the region of a thread.
 *
 * The order of the steps leaves the file readable after a kill at any instant: first the block is written completely,
 * then the region's records are zeroed, then the region's sequence advances, then the region is free. A thread's ledger
 * entry is in a block before its slot is cleared.
 *
 * After a failed write the region is kept for the next visit as long as enough chunks are free, because room may become
 * free on a full disk. If few chunks are free, the region's events are counted as lost, and the recorder continues. At
 * the end of a run, regions that could not be written stay in the window of the file, and the file is never marked as
 * finished. */
#include "storage/drain.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "base/thread.h"
#include "codec/codec.h"
#include "format/format_slot.h"
#include "storage/drop_region.h"
#include "storage/region_block.h"
#include "storage/window/page_faults.h"

#define PAIR_INTERVAL_PER_SECOND 10u
#define SPARE_PART 4u

#define BUSY_SLEEP_NS 2000000
#define IDLE_SLEEP_NS 110000000      /* fewer than 10 visits per second */
#define QUIET_VISITS_BEFORE_IDLE 50u /* number of visits at intervals of BUSY_SLEEP_NS */
#define POPULATE_PER_SECOND 1000u    /* calls of window_populate per second, at most */

/* Several blocks are written with one call, because the call itself costs as much as writing some 20 KiB. */
#define BATCH_BYTES ((size_t)256 << 10)
#define BATCH_MAX 32u

_Static_assert(BATCH_BYTES + sizeof(struct epf_block) + CODEC_BOUND_DEFINED(EPF_CHUNK_BYTES) <= STORAGE_SCRATCH_BYTES,
               "another region's block fits behind a batch");

static struct epf_block *scratch_block(struct storage *storage)
{
	return (struct epf_block *)(void *)storage->scratch;
}

/* Reports a write error. The blame is EPP_BLAME_SYSTEM for errors such as a full disk. A configured limit (ENOBUFS) is
 * not an error. */
static int report(struct storage *storage, int error)
{
	if (error && error != ENOBUFS)
		run_error_set(&storage->error, EPP_BLAME_SYSTEM,
		              epp_status_errno(error, "%s", storage->path ? storage->path : "memory"));
	return error;
}

static int append(struct storage *storage, struct epf_block *block)
{
	return report(storage, block_writer_append(&storage->writer, block));
}

static int append_plain(struct storage *storage, enum epf_block_type type, size_t payload_bytes)
{
	struct epf_block *block = scratch_block(storage);
	*block = (struct epf_block){
		.type = type,
		.payload_bytes = (uint32_t)payload_bytes,
		.run = storage->window.live->run,
		.first_ticks = UINT64_MAX,
		.own_first_ticks = UINT64_MAX,
	};
	return append(storage, block);
}

/* ---- one region ---- */

/* Clears the open events of a slot. Their records, or their loss, were stored before. After a kill in between the
 * events are in both places; readers handle this. */
static void close_open(struct epf_slot *slot)
{
	for (struct epf_open *open = slot->open; open < slot->open + EPF_OPEN_MAX; open++)
		if (open->tail)
			STORE_RELEASE(&open->tail, 0);
}

static void count_producer_written(struct storage *storage, uint32_t producer)
{
	/* The ledger of a producer continues across runs, so its events are counted under the run number 0. */
	block_writer_count(&storage->writer, EPF_OVERWRITTEN_PRODUCER | producer, 0, 1);
}

/* Rings only: counts the events of each owner in the block. The counts are needed when the segment is overwritten. */
static void count_written(struct storage *storage, const struct epf_block *block, uint64_t events,
                          const struct epf_region *region, const uint8_t *end)
{
	block_writer_count(&storage->writer, block->track, block->run, events);
	if (region && (block->kinds & 1u << EPF_COMPLETE))
		drop_region_each_submitted(storage, region, end, count_producer_written);
}

/* The treatment of a region that cannot be written. */
enum failed {
	FAILED_WAITS, /* kept for the next visit if enough chunks are free, otherwise lost */
	FAILED_STAYS, /* kept in the window of the file, even after the trace is closed; but lost if the size limit was
	                 reached */
	FAILED_IS_LOST,
};

static enum failed failure_mode_at_end(const struct storage *storage)
{
	return window_is_shared(&storage->window) ? FAILED_STAYS : FAILED_IS_LOST;
}

/* Returns true if the number of free chunks is more than a quarter of the number of chunks that exist from the
 * start. */
static bool has_chunks_to_spare(const struct storage *storage)
{
	uint32_t count = window_chunks_count(&storage->window);
	uint32_t first = count < WINDOW_FIRST_CHUNKS ? count : WINDOW_FIRST_CHUNKS;
	return LOAD_RELAXED(&storage->chunks.free) > first / SPARE_PART;
}

/* Completes a region whose block was written (`error` is 0) or failed: counts its events and frees it. Returns false if
 * the region stays in the window, neither written nor lost. */
static bool complete_region(struct storage *storage, const struct region_block *of, int error, struct epf_slot *ending,
                            enum failed failed)
{
	struct epf_region *region = of->region;
	struct epf_slot *slot = &storage->window.slots[of->slot];
	bool stays = failed == FAILED_STAYS && error && error != ENOBUFS;
	bool waits = failed == FAILED_WAITS && error && has_chunks_to_spare(storage);
	storage->drain.ledger_due |= stays;
	if (stays || waits)
		return false;
	if (error)
		drop_region_begin(storage, slot, error, of->events, region, of->end, ending != NULL);
	else if (storage->writer.ring && of->records)
		count_written(storage, of->block, of->events, region, of->end);
	if (ending)
		close_open(ending);
	if (region) {
		memset(region + 1, 0, (size_t)(of->end - (const uint8_t *)(region + 1)));
		STORE_RELEASE(&region->sequence, ADD_RELAXED(&storage->next_sequence, 1));
	}
	drop_region_end(storage, slot);
	return true;
}

/* Encodes a region, writes the block and settles it. */
static bool drain_region(struct storage *storage, struct epf_region *region, size_t region_bytes, uint32_t slot,
                         struct epf_slot *ending, uint64_t end_ticks, enum failed failed)
{
	struct region_block encoded = region_block_encode(scratch_block(storage), region, region_bytes, slot, ending,
	                                                  end_ticks);
	return complete_region(storage, &encoded, encoded.records ? append(storage, encoded.block) : 0, ending, failed);
}

/* Drains the full regions inside slots. A thread's first region is in its slot and is filled before any of the thread's
 * chunks. The caller collects the full chunks before it calls this function, so that a slot's region is always drained
 * before the chunks of the same thread. */
static unsigned drain_slots(struct storage *storage, enum failed failed, bool *stuck)
{
	unsigned emptied = 0;
	for (uint32_t slot = 0; slot < LOAD_RELAXED(&storage->slots.used) && !*stuck; slot++) {
		if (LOAD_ACQUIRE(&storage->slots.uses[slot].region_state) != REGION_FULL)
			continue;
		struct epf_region *region = (struct epf_region *)(void *)storage->window.slots[slot].region;
		*stuck = !drain_region(storage, region, EPF_SLOT_REGION_BYTES, slot, NULL, 0, failed);
		if (!*stuck) {
			STORE_RELAXED(&storage->slots.uses[slot].region_state, REGION_FREE);
			emptied++;
		}
	}
	return emptied;
}

/* Encodes as many of these chunks as fit into one write, at least one. Returns their number; `*bytes` is the size of
 * the blocks. Stops when the segment has no room for another block as large as the last one, because a block that does
 * not fit must be encoded again for the next write. */
static size_t encode_chunks(struct storage *storage, const struct full_chunk *full, size_t count,
                            struct region_block *encoded, size_t *bytes)
{
	size_t room = block_writer_room(&storage->writer), done = 0, more;
	*bytes = 0;
	do {
		struct epf_block *block = (struct epf_block *)(void *)(storage->scratch + *bytes);
		struct epf_region *region = chunk_region(&storage->chunks, full[done].chunk);
		encoded[done] = region_block_encode(block, region, EPF_CHUNK_BYTES, region->slot, NULL, 0);
		more = encoded[done].records ? (sizeof(*block) + block->payload_bytes + 7) & ~(size_t)7 : 0;
		if (done && *bytes + more > room)
			break;
		*bytes += more;
	} while (++done < count && done < BATCH_MAX && *bytes < BATCH_BYTES && *bytes + more <= room);
	return done;
}

/* Drains chunks with one write or, if that fails, one by one. Returns the number of chunks that were emptied. */
static size_t drain_chunks(struct storage *storage, const struct full_chunk *full, size_t count, enum failed failed,
                           bool *stuck)
{
	struct region_block encoded[BATCH_MAX];
	size_t bytes, emptied = 0;
	count = encode_chunks(storage, full, count, encoded, &bytes);
	bool together = count > 1 && bytes &&
	                !block_writer_append_several(&storage->writer, scratch_block(storage), bytes);
	for (size_t i = 0; i < count && !*stuck; i++) {
		int error = together || !encoded[i].records ? 0 : append(storage, encoded[i].block);
		*stuck = !complete_region(storage, &encoded[i], error, NULL, failed);
		if (!*stuck) {
			chunks_put_back(&storage->chunks, full[i].chunk);
			emptied++;
		}
	}
	return emptied;
}

/* Drains all full regions. Sets `*stuck` if one could not be written. */
static unsigned drain_full(struct storage *storage, enum failed failed, bool *stuck)
{
	struct full_chunk *full = storage->chunks.full;
	size_t count = chunks_collect_full(&storage->chunks, full), done = 0;
	unsigned emptied = drain_slots(storage, failed, stuck);
	while (done < count && !*stuck)
		done += drain_chunks(storage, full + done, count - done, failed, stuck);
	return emptied + (unsigned)done;
}

bool drain_oldest(struct storage *storage)
{
	struct full_chunk oldest;
	bool stuck = false, found = chunks_oldest_full(&storage->chunks, &oldest);
	if (drain_slots(storage, FAILED_WAITS, &stuck))
		return true;
	return !stuck && found && drain_chunks(storage, &oldest, 1, FAILED_WAITS, &stuck);
}

/* ---- getting a chunk for a recording thread ---- */

/* The thread that holds the lock frees about one chunk every 20 us. */
#define WAIT_NS 50000

/* Tries to make a chunk free. The drain lock is held. Returns false on failure. */
static bool make_free(struct storage *storage)
{
	struct chunk_pool *chunks = &storage->chunks;
	/* `free` is checked again, because another thread may have put back a chunk since. */
	return LOAD_RELAXED(&chunks->free) || drain_oldest(storage) || LOAD_RELAXED(&chunks->free) || chunks_grow(chunks);
}

static uint32_t take_or_drain(struct storage *storage)
{
	uint32_t chunk;
	bool hopeless = false;
	int before;
	/* If the thread were cancelled during the write, the lock would never be released. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	while ((chunk = chunks_take(&storage->chunks)) == CHUNK_NONE && !hopeless) {
		/* The thread that holds the lock frees one chunk after the other, so this thread tries to take a chunk
		 * instead of waiting for the lock. */
		if (pthread_mutex_trylock(&storage->drain_lock) == 0) {
			hopeless = !make_free(storage);
			pthread_mutex_unlock(&storage->drain_lock);
		} else {
			nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
		}
	}
	pthread_setcancelstate(before, NULL);
	return chunk;
}

uint32_t drain_take_chunk(struct storage *storage)
{
	return storage->is_lossless ? take_or_drain(storage) : chunks_take(&storage->chunks);
}

/* ---- closing slots ---- */

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

/* Writes a slot's last region as a block and makes its ledger entry final, or leaves both in the window. */
static void close_slot(struct storage *storage, uint32_t index, uint64_t end_ticks, enum failed failed)
{
	struct slot_use *use = &storage->slots.uses[index];
	struct epf_slot *slot = &storage->window.slots[index];
	size_t bytes = use->chunk == CHUNK_NONE ? EPF_SLOT_REGION_BYTES : EPF_CHUNK_BYTES;
	if ((use->region || epf_slot_open_count(slot)) &&
	    !drain_region(storage, use->region, bytes, index, slot, end_ticks, failed)) {
		slots_fill_region(&storage->slots, &storage->chunks, index);
		return;
	}
	if (use->region && use->chunk != CHUNK_NONE)
		chunks_put_back(&storage->chunks, use->chunk);
	use->region = NULL;
	STORE_RELEASE(&slot->state, EPF_SLOT_LEFT);
}

#define EXITED_MAX 64

struct exited {
	uint32_t slot;
	uint64_t end_ticks; /* the end time of the events that the thread left open */
};

static size_t collect_exited(struct storage *storage, bool final, struct exited *exited)
{
	size_t count = 0;
	uint64_t run_end_ticks = LOAD_ACQUIRE(&storage->run_end_ticks);
	pthread_mutex_lock(&storage->lock);
	for (uint32_t i = 0; i < storage->slots.used && count < EXITED_MAX; i++) {
		const struct slot_use *use = &storage->slots.uses[i];
		if (!use->to_close || !(final || use->has_exited))
			continue;
		bool left_before = use->has_exited && use->left_ticks < run_end_ticks;
		exited[count++] = (struct exited){ i, left_before ? use->left_ticks : run_end_ticks };
	}
	pthread_mutex_unlock(&storage->lock);
	return count;
}

/* Writes the ledger entries of threads that have left, and frees their slots. Until then a slot keeps its entry, for
 * readers of the file. A failed write is repeated on each visit. */
static void drain_accounts(struct storage *storage)
{
	struct epf_ledger_entry entries[EXITED_MAX];
	uint32_t slots[EXITED_MAX];
	uint32_t next = 0, used = LOAD_RELAXED(&storage->slots.used);
	while (next < used) {
		size_t count = 0;
		for (; next < used && count < EXITED_MAX; next++) {
			const struct epf_slot *slot = &storage->window.slots[next];
			if (LOAD_RELAXED(&slot->state) != EPF_SLOT_LEFT)
				continue;
			fill_account(&entries[count], slot);
			slots[count++] = next;
		}
		if (!count)
			return;
		memcpy(scratch_block(storage) + 1, entries, count * sizeof(entries[0]));
		if (append_plain(storage, EPF_BLOCK_LEDGER, count * sizeof(entries[0])))
			return;
		pthread_mutex_lock(&storage->lock);
		for (size_t i = 0; i < count; i++)
			slots_clear(&storage->slots, slots[i]);
		pthread_mutex_unlock(&storage->lock);
	}
}

/* Closes the slots of threads that have left or, if `final` is set, all slots. The storage's lock is not held during
 * writes, because threads that start or end must not wait for the disk. */
static void close_slots(struct storage *storage, bool final, bool *stuck)
{
	struct exited exited[EXITED_MAX];
	for (size_t count; (count = collect_exited(storage, final, exited)) > 0;) {
		/* Regions filled since the last visit must become blocks before their slots are cleared. */
		enum failed failed = final ? failure_mode_at_end(storage) : FAILED_WAITS;
		drain_full(storage, failed, stuck);
		if (*stuck && !final)
			break;
		for (size_t i = 0; i < count; i++)
			close_slot(storage, exited[i].slot, exited[i].end_ticks, final ? failed : FAILED_IS_LOST);
		pthread_mutex_lock(&storage->lock);
		for (size_t i = 0; i < count; i++)
			storage->slots.uses[exited[i].slot].to_close = false;
		pthread_mutex_unlock(&storage->lock);
	}
	drain_accounts(storage);
}

/* ---- clock pairs and runs ---- */

static void drain_host_pair(struct storage *storage, bool final)
{
	uint64_t now = clock_ticks(), interval = clock_ticks_per_second() / PAIR_INTERVAL_PER_SECOND;
	/* If the due time is more than one interval ahead, the counter was reset. */
	if (!final && storage->drain.pair_due_ticks - now - 1 < interval)
		return;
	storage->drain.pair_due_ticks = now + interval;
	pthread_mutex_lock(&storage->lock);
	faults_look(&storage->slots);
	pthread_mutex_unlock(&storage->lock);
	struct epf_host_pair pair;
	clock_pair_read(&pair);
	memcpy(scratch_block(storage) + 1, &pair, sizeof(pair));
	append_plain(storage, EPF_BLOCK_HOST_PAIRS, sizeof(pair));
}

/* Writes the run blocks of ended runs whose write failed before. Until a run block is written, the live page has the
 * run, so that readers can interpret the run's blocks and its rest in the window. Returns true if there is room for
 * another run whose write fails. */
static bool write_runs(struct storage *storage)
{
	bool has_room = false;
	for (unsigned i = 0; i < EPF_UNWRITTEN_RUNS; i++) {
		struct epf_run *run = &storage->window.live->unwritten[i];
		memcpy(scratch_block(storage) + 1, run, sizeof(*run));
		if (run->run && append_plain(storage, EPF_BLOCK_RUN, sizeof(*run)) == 0)
			STORE_RELEASE(&run->run, 0);
		has_room |= !run->run;
	}
	return has_room;
}

static void store_unwritten_run(struct epf_live *live, struct epf_run run)
{
	uint32_t number = run.run;
	struct epf_run *place = live->unwritten;
	while (place->run && place < live->unwritten + EPF_UNWRITTEN_RUNS - 1)
		place++;
	run.run = 0;
	*place = run;
	STORE_RELEASE(&place->run, number);
}

bool drain_may_begin_run(struct storage *storage)
{
	return write_runs(storage);
}

void drain_begin_run(struct storage *storage, const struct epf_host_pair *start, uint64_t first_id)
{
	struct epf_live *live = storage->window.live;
	STORE_RELAXED(&storage->run_end_ticks, UINT64_MAX);
	storage->drain.pair_due_ticks = 0;
	storage->drain.quiet_visits = 0;
	live->run_start = *start;
	STORE_RELAXED(&live->run_end_ticks, 0);
	STORE_RELAXED(&live->faults, 0);
	STORE_RELAXED(&live->write_cpu_ns, 0);
	live->run_first_id = first_id;
	STORE_RELEASE(&live->run, live->run + 1);
	__atomic_fetch_or(&live->flags, EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
	/* While nothing is recorded, the log is not emptied, so it may be full now. */
	if (LOAD_RELAXED(&live->flags) & EPF_LIVE_LOG_FULL)
		report(storage, definitions_drain(storage));
}

static void drain_own_losses(struct storage *storage)
{
	struct epf_live *live = storage->window.live;
	struct epf_ledger_entry own = { .track = 0, .run = 1 };
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++) {
		own.lost[reason] = LOAD_RELAXED(&live->lost[reason]);
		own.lost_idless += EPF_LOSS_IS_OF_EVENTS(reason) ? own.lost[reason] : 0;
	}
	if (!memcmp(own.lost, storage->drain.own_written, sizeof(own.lost)))
		return;
	memcpy(scratch_block(storage) + 1, &own, sizeof(own));
	if (append_plain(storage, EPF_BLOCK_LEDGER, sizeof(own)))
		storage->drain.ledger_due = true;
	else
		memcpy(storage->drain.own_written, own.lost, sizeof(own.lost));
}

void drain_end_run(struct storage *storage)
{
	uint64_t now = clock_ticks();
	STORE_RELEASE(&storage->run_end_ticks, now);
	STORE_RELAXED(&storage->window.live->run_end_ticks, now);
}

void drain_rest(struct storage *storage)
{
	drain_own_losses(storage);
	write_runs(storage);
	if (storage->window.fd < 0 || storage->window.live->run)
		return;
	/* If the session was never started, writes an empty run. Without a run a reader would report that the file is
	 * cut off. */
	memset(scratch_block(storage) + 1, 0, sizeof(struct epf_run));
	storage->drain.ledger_due |= append_plain(storage, EPF_BLOCK_RUN, sizeof(struct epf_run)) != 0;
}

static unsigned visit(struct storage *storage, bool final)
{
	bool stuck = false;
	unsigned emptied = drain_full(storage, final ? failure_mode_at_end(storage) : FAILED_WAITS, &stuck);
	if (!stuck || final)
		close_slots(storage, final, &stuck);
	report(storage, definitions_drain(storage));
	report(storage, sync_take_error(storage->sync));
	drain_host_pair(storage, final);
	return emptied;
}

unsigned drain_visit(struct storage *storage)
{
	return visit(storage, false);
}

/* Adds the CPU time that the calling thread has used since `from_ns` to the run. */
static void count_cpu(struct storage *storage, int64_t from_ns)
{
	struct epf_live *live = storage->window.live;
	STORE_RELAXED(&live->write_cpu_ns, live->write_cpu_ns + (uint64_t)(thread_cpu_ns() - from_ns));
}

static void write_producers(struct storage *storage, uint32_t producers_count)
{
	size_t bytes = producers_count * sizeof(struct epf_producer);
	uint64_t *payload = (uint64_t *)(void *)(scratch_block(storage) + 1);
	/* Read word by word with atomic loads, because events that profilers push after the end of the run still change
	 * these words. */
	const uint64_t *words = (const uint64_t *)(const void *)storage->window.producers;
	if (!producers_count)
		return;
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		payload[i] = LOAD_RELAXED(&words[i]);
	storage->drain.ledger_due |= append_plain(storage, EPF_BLOCK_PRODUCERS, bytes) != 0;
}

static void finish_run(struct storage *storage, uint32_t producers_count)
{
	struct epf_live *live = storage->window.live;
	drain_own_losses(storage);
	write_producers(storage, producers_count);
	struct epf_run run = { .run = live->run, .first_id = live->run_first_id, .start = live->run_start };
	clock_pair_read(&run.end);
	run.faults = LOAD_RELAXED(&live->faults);
	run.event_cost_ps = live->event_cost_ps;
	run.write_cpu_ns = live->write_cpu_ns;
	memcpy(scratch_block(storage) + 1, &run, sizeof(run));
	int error = append_plain(storage, EPF_BLOCK_RUN, sizeof(run));
	storage->drain.ledger_due |= error != 0;
	/* At a configured limit (ENOBUFS) nothing more will be written, so the run is not kept for a later write. */
	if (error && error != ENOBUFS)
		store_unwritten_run(live, run);
	__atomic_fetch_and(&live->flags, ~EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
}

void drain_finish_run(struct storage *storage, uint32_t producers_count)
{
	int64_t began_ns = thread_cpu_ns();
	visit(storage, true);
	count_cpu(storage, began_ns);
	finish_run(storage, producers_count);
}

void drain_begin_late(struct storage *storage)
{
	__atomic_fetch_or(&storage->window.live->flags, EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
}

void drain_finish_late(struct storage *storage, uint32_t producers_count)
{
	visit(storage, true);
	drain_own_losses(storage);
	write_producers(storage, producers_count);
	__atomic_fetch_and(&storage->window.live->flags, ~EPF_LIVE_RECORDING, __ATOMIC_RELEASE);
}

int64_t drain_and_grow(struct storage *storage)
{
	struct drain *drain = &storage->drain;
	int64_t began_ns = thread_cpu_ns();
	bool grown = chunks_grow_if_short(&storage->chunks, storage->writer.error != 0);
	unsigned emptied = drain_visit(storage);
	STORE_RELAXED(&storage->chunks.free_at_visit, LOAD_RELAXED(&storage->chunks.free));
	drain->quiet_visits = emptied ? 0 : drain->quiet_visits + 1;
	uint64_t now = clock_ticks();
	if (emptied && now >= drain->populate_due_ticks) {
		drain->populate_at = window_populate(&storage->window, drain->populate_at);
		drain->populate_due_ticks = now + clock_ticks_per_second() / POPULATE_PER_SECOND;
	}
	count_cpu(storage, began_ns);
	if (emptied || grown)
		return 0;
	return drain->quiet_visits < QUIET_VISITS_BEFORE_IDLE ? BUSY_SLEEP_NS : IDLE_SLEEP_NS;
}
