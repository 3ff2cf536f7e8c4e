/* Implements spill.h.  In the file, a run is a sequence of chunks: struct chunk_header, items, extras, args.  Of each
 * run, one chunk is in memory during the merge. */
#include "timeline/merging/spill.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "containers/array.h"
#include "files/temp_file.h"

#define CHUNK_ITEMS 1024u
#define CHUNK_ARGS_BYTES (256u << 10)

struct spill_entry {
	struct item item; /* its args_offset is the offset in spill->entries */
	struct item_extra extra;
	uint32_t args_bytes;
	uint32_t unused;
};

struct chunk_header {
	uint32_t items;
	uint32_t args_bytes;
};

static const struct spill_entry *entry_at(const struct spill *spill, uint32_t offset)
{
	return (const struct spill_entry *)(const void *)(spill->entries + offset);
}

void spill_init(struct spill *spill)
{
	*spill = (struct spill){ .bytes_most = SPILL_BYTES_MOST, .file = -1 };
}

void spill_deinit(struct spill *spill)
{
	free(spill->entries);
	free(spill->sorted);
	free(spill->runs);
	free(spill->chunk.items);
	free(spill->chunk.extras);
	free(spill->chunk.bytes);
	if (spill->file >= 0)
		close(spill->file);
	spill_init(spill);
}

/* ---- the file ---- */

static epp_status *file_write(struct spill *spill, const void *data, size_t bytes)
{
	EPP_TRY(temp_file_write(spill->file, spill->file_bytes, data, bytes));
	spill->file_bytes += bytes;
	return NULL;
}

/* ---- chunks ---- */

/* Fills a run with the next sorted entries.  If copy_args is false, the payload of the run is spill->entries itself. */
static epp_status *chunk_of_entries(struct spill *spill, size_t *at, size_t end, bool copy_args, struct run *run)
{
	uint32_t count = 0;
	size_t args_bytes = 0;

	while (*at + count < end && count < CHUNK_ITEMS && args_bytes < CHUNK_ARGS_BYTES)
		args_bytes += entry_at(spill, spill->sorted[*at + count++])->args_bytes;
	EPP_TRY(run_reserve(run, CHUNK_ITEMS, true));
	if (copy_args)
		EPP_TRY(run_reserve_bytes(run, args_bytes));
	run->payload = copy_args ? run->bytes : spill->entries;
	run->payload_bytes = copy_args ? 0 : (uint32_t)spill->entries_bytes;
	for (uint32_t i = 0; i < count; i++) {
		const struct spill_entry *entry = entry_at(spill, spill->sorted[*at + i]);
		run->items[i] = entry->item;
		run->starts[i] = entry->item.start_ns;
		run->extras[i] = entry->extra;
		if (copy_args && entry->args_bytes) {
			memcpy(run->bytes + run->payload_bytes, spill->entries + entry->item.args_offset,
			       entry->args_bytes);
			run->items[i].args_offset = run->payload_bytes;
			run->payload_bytes += entry->args_bytes;
		}
	}
	run->end = count;
	*at += count;
	return NULL;
}

static epp_status *chunk_of_file(struct spill *spill, struct spill_run *from, struct run *run)
{
	struct chunk_header header;

	EPP_TRY(temp_file_read(spill->file, from->at, &header, sizeof(header)));
	if (header.items > CHUNK_ITEMS)
		return epp_status_create(EPP_IO, "temporary file for sorting: modified by another program");
	EPP_TRY(run_reserve(run, CHUNK_ITEMS, true));
	EPP_TRY(run_reserve_bytes(run, header.args_bytes));
	uint64_t at = from->at + sizeof(header);
	EPP_TRY(temp_file_read(spill->file, at, run->items, header.items * sizeof(*run->items)));
	at += header.items * sizeof(*run->items);
	EPP_TRY(temp_file_read(spill->file, at, run->extras, header.items * sizeof(*run->extras)));
	at += header.items * sizeof(*run->extras);
	EPP_TRY(temp_file_read(spill->file, at, run->bytes, header.args_bytes));
	from->at = at + header.args_bytes;
	for (uint32_t i = 0; i < header.items; i++)
		run->starts[i] = run->items[i].start_ns;
	run->payload = run->bytes;
	run->payload_bytes = header.args_bytes;
	run->end = header.items;
	return NULL;
}

/* ---- collecting ---- */

static int compare(const void *a, const void *b, void *user)
{
	const struct spill_entry *left = entry_at(user, *(const uint32_t *)a),
				 *right = entry_at(user, *(const uint32_t *)b);
	return item_before(&left->item, &right->item) ? -1 : left != right;
}

static void sort(struct spill *spill)
{
	qsort_r(spill->sorted, spill->sorted_count, sizeof(*spill->sorted), compare, spill);
}

static int64_t first_ns(const struct spill *spill)
{
	return entry_at(spill, spill->sorted[0])->item.start_ns;
}

static epp_status *add_run(struct spill *spill, const struct spill_run *run)
{
	struct spill_run *runs = reallocarray(spill->runs, spill->runs_count + 1, sizeof(*runs));
	if (!runs)
		return epp_status_no_memory();
	spill->runs = runs;
	runs[spill->runs_count++] = *run;
	return NULL;
}

/* Writes the collected entries as one run to the file. */
static epp_status *flush(struct spill *spill)
{
	if (!spill->sorted_count)
		return NULL;
	if (spill->file < 0)
		EPP_TRY(temp_file_open(&spill->file));
	sort(spill);
	struct spill_run made = { .first_ns = first_ns(spill), .in_file = true, .at = spill->file_bytes };
	for (size_t at = 0; at < spill->sorted_count;) {
		struct run *chunk = &spill->chunk;
		EPP_TRY(chunk_of_entries(spill, &at, spill->sorted_count, true, chunk));
		struct chunk_header header = { .items = chunk->end, .args_bytes = chunk->payload_bytes };
		EPP_TRY(file_write(spill, &header, sizeof(header)));
		EPP_TRY(file_write(spill, chunk->items, chunk->end * sizeof(*chunk->items)));
		EPP_TRY(file_write(spill, chunk->extras, chunk->end * sizeof(*chunk->extras)));
		EPP_TRY(file_write(spill, chunk->bytes, chunk->payload_bytes));
	}
	made.end = spill->file_bytes;
	spill->sorted_count = 0;
	spill->entries_bytes = 0;
	return add_run(spill, &made);
}

static epp_status *make_room(struct spill *spill, size_t bytes)
{
	if (spill->entries_bytes && spill->entries_bytes + bytes > spill->bytes_most)
		EPP_TRY(flush(spill));
	if (!array_reserve(&spill->entries, &spill->entries_room, spill->entries_bytes + bytes, 1) ||
	    !array_reserve(&spill->sorted, &spill->sorted_room, spill->sorted_count + 1, sizeof(*spill->sorted)))
		return epp_status_no_memory();
	return NULL;
}

epp_status *spill_add(struct spill *spill, const struct run *run)
{
	for (uint32_t i = run->at; i < run->end; i++) {
		const struct item *item = &run->items[i];
		size_t args_bytes = run_args_bytes(run, item);
		size_t bytes = (sizeof(struct spill_entry) + args_bytes + 7) / 8 * 8;
		EPP_TRY(make_room(spill, bytes));
		struct spill_entry *entry = (struct spill_entry *)(void *)(spill->entries + spill->entries_bytes);
		*entry = (struct spill_entry){ .item = *item, .args_bytes = (uint32_t)args_bytes };
		if (run->has_extras)
			entry->extra = run->extras[i];
		if (args_bytes) {
			entry->item.args_offset = (uint32_t)(spill->entries_bytes + sizeof(*entry));
			memcpy(entry + 1, run->payload + item->args_offset, args_bytes);
		}
		spill->sorted[spill->sorted_count++] = (uint32_t)spill->entries_bytes;
		spill->entries_bytes += bytes;
	}
	return NULL;
}

epp_status *spill_finish(struct spill *spill)
{
	if (spill->file >= 0) {
		EPP_TRY(flush(spill));
		free(spill->entries);
		free(spill->sorted);
		spill->entries = NULL;
		spill->sorted = NULL;
		spill->entries_room = spill->sorted_room = 0;
		return NULL;
	}
	if (!spill->sorted_count)
		return NULL;
	sort(spill);
	return add_run(spill, &(struct spill_run){ .first_ns = first_ns(spill), .end = spill->sorted_count });
}

/* ---- reading ---- */

epp_status *spill_begin(struct spill *spill, size_t index, struct run *run)
{
	run->spill = &spill->runs[index];
	return spill_refill(spill, run);
}

epp_status *spill_refill(struct spill *spill, struct run *run)
{
	struct spill_run *from = run->spill;

	run->at = run->end = 0;
	if (from->at == from->end)
		return NULL;
	if (from->in_file)
		return chunk_of_file(spill, from, run);
	size_t at = from->at;
	EPP_TRY(chunk_of_entries(spill, &at, from->end, false, run));
	from->at = at;
	return NULL;
}
