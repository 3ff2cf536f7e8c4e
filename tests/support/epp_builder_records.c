/* The records, tracks, runs and accounts of a builder; see epp_builder.h. */
#include "epp_builder_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tracks ---- */

static struct track *track_add(struct epp_builder *b)
{
	if (!(b->tracks_count & (b->tracks_count - 1))) /* room for twice as many, each time a power of two is full */
		b->tracks = realloc(b->tracks, (b->tracks_count ? b->tracks_count * 2 : 1) * sizeof *b->tracks);
	MUST(b->tracks);
	struct track *track = &b->tracks[b->tracks_count++];
	*track = (struct track){ .slot = UINT32_MAX };
	track->definition.track = b->tracks_count;
	return track;
}

uint32_t builder_track(struct epp_builder *b, const struct epf_track *definition, const char *name, const char *group)
{
	struct track *track = track_add(b);
	struct epf_track *d = &track->definition;
	size_t name_bytes = strlen(name), group_bytes = strlen(group);
	uint32_t number = d->track;

	*d = *definition;
	d->track = number;
	d->name_bytes = (uint32_t)name_bytes;
	d->group_bytes = (uint32_t)group_bytes;
	struct epf_definition head = { .bytes = (uint32_t)(sizeof *d + name_bytes + group_bytes),
		                       .type = EPF_DEFINE_TRACK };
	uint8_t *at = builder_grow(&b->definitions, sizeof head + builder_padded(head.bytes, 8));
	memcpy(at, &head, sizeof head);
	memcpy(at + sizeof head, d, sizeof *d);
	memcpy(at + sizeof head + sizeof *d, name, name_bytes);
	memcpy(at + sizeof head + sizeof *d + name_bytes, group, group_bytes);
	return number;
}

static void make_thread(struct epp_builder *b, struct track *track, const char *name)
{
	MUST(b->threads_count < b->header.slot_count);
	snprintf(track->thread_name, sizeof track->thread_name, "%s", name);
	track->is_thread = true;
	track->slot = b->threads_count++;
	track->id_block_first = track->next_id = b->next_id_block;
	b->next_id_block += 65536;
}

uint32_t builder_thread(struct epp_builder *b, const char *name, uint32_t thread_id)
{
	struct epf_track definition = { .kind = EPF_TRACK_THREAD, .thread_id = thread_id, .device = -1, .producer = -1 };
	uint32_t number = builder_track(b, &definition, name, "");
	make_thread(b, builder_find(b, number), name);
	return number;
}

uint32_t builder_thread_undefined(struct epp_builder *b, const char *name, uint32_t thread_id)
{
	struct track *track = track_add(b);
	track->definition.thread_id = thread_id;
	make_thread(b, track, name);
	return track->definition.track;
}

uint32_t builder_device(struct epp_builder *b, const char *name, const char *group, int32_t device, int64_t stream,
                        uint32_t clock_kind)
{
	struct epf_track definition = { .kind = EPF_TRACK_DEVICE,
		                        .clock_kind = clock_kind,
		                        .clock_bits = 64,
		                        .clock = clock_kind == EPF_TRACK_CLOCK_HOST ? 0 : b->tracks_count + 1,
		                        .ticks_per_second = 1000000000,
		                        .device = device,
		                        .stream = stream,
		                        .producer = b->producers[0].label[0] ? 0 : -1,
		                        .run = clock_kind == EPF_TRACK_CLOCK_OFFSET_US ? b->live.run : 0 };
	return builder_track(b, &definition, name, group);
}

/* ---- records ---- */

static size_t region_room(const struct epp_builder *b, const struct region *region)
{
	return b->header.chunk_bytes - sizeof(struct epf_region) -
	       builder_padded(region->header.open_count * sizeof(uint64_t), EPF_RECORD_BYTES);
}

static void region_begin(struct epp_builder *b, struct track *track)
{
	struct region *region = &track->region;
	uint64_t sequence = b->next_sequence++;

	region->header = (struct epf_region){ .sequence = sequence,
		                              .sequence_used = sequence,
		                              .run = b->live.run,
		                              .track = track->definition.track,
		                              .slot = track->slot,
		                              .open_count = track->depth,
		                              .first_id = track->next_id };
	for (uint32_t i = 0; i < track->depth; i++)
		region->open_ids[i] = track->open[i].id;
	region->records.used = 0;
}

static size_t args_slots(const epp_arg *args, size_t count)
{
	size_t slots = count;
	for (size_t i = 0; i < count; i++)
		if (args[i].type == EPP_ARG_TEXT)
			slots += (args[i].text_bytes + 15) / 16;
	return slots;
}

void builder_record(struct epp_builder *b, uint32_t number, const struct epf_record *given, const epp_arg *args,
                    size_t count)
{
	struct track *track = builder_find(b, number);
	struct epf_record record = *given;
	size_t slots = args_slots(args, count), bytes = sizeof record + slots * sizeof(struct epf_arg);

	MUST(slots <= UINT16_MAX);
	record.arg_slots = (uint16_t)slots;
	if (track->region.records.used && track->region.records.used + bytes > region_room(b, &track->region))
		builder_flush(b, number, BUILDER_TO_BLOCK);
	if (!track->region.records.used)
		region_begin(b, track);
	MUST(bytes <= region_room(b, &track->region));
	uint8_t *at = builder_grow(&track->region.records, bytes);
	memcpy(at, &record, sizeof record);
	at += sizeof record;
	for (size_t i = 0; i < count; i++) {
		struct epf_arg slot = { .key = args[i].key, .type_and_bytes = args[i].type };
		bool text = args[i].type == EPP_ARG_TEXT;
		if (text)
			slot.type_and_bytes |= (uint32_t)args[i].text_bytes << 8;
		else
			memcpy(&slot.value, &args[i].value, 8);
		memcpy(at, &slot, sizeof slot);
		at += sizeof slot;
		if (text && args[i].text_bytes) {
			memcpy(at, args[i].value.text, args[i].text_bytes);
			at += builder_padded(args[i].text_bytes, 16);
		}
	}

	unsigned kind = EPF_BITS_KIND(record.bits);
	uint64_t end = record.start_ticks + record.duration_ticks;
	if (kind != EPF_COMPLETE && kind != EPF_CLOCK_PAIR && kind != EPF_TRACK_SWITCH && end > b->last_ticks)
		b->last_ticks = end;
}

/* ---- events ---- */

static struct epf_record make_record(uint64_t start, uint64_t duration, uint64_t id, uint32_t name, unsigned bits)
{
	struct epf_record record = { .start_ticks = start, .duration_ticks = duration, .id = id };

	record.name = name;
	record.bits = (uint16_t)bits;
	return record;
}

static uint64_t take_id(struct track *track)
{
	uint64_t id = track->next_id++;

	MUST(track->is_thread);
	return id;
}

static void record_event(struct epp_builder *b, uint32_t thread, const struct epf_open *open, uint64_t end_ticks,
                         unsigned flags, const epp_arg *args, size_t count)
{
	struct epf_record record = make_record(open->start_ticks, end_ticks - open->start_ticks, open->id, open->name,
	                                       open->bits | flags << 11);
	builder_record(b, thread, &record, args, count);
}

uint64_t builder_begin(struct epp_builder *b, uint32_t thread, uint64_t ticks, unsigned category, epp_name name)
{
	struct track *track = builder_find(b, thread);

	MUST(track->depth < EPF_OPEN_MAX);
	struct epf_open *open = &track->open[track->depth++];
	open->start_ticks = ticks;
	open->id = take_id(track);
	open->name = name;
	open->bits = EPF_BITS(category, EPF_EVENT, 0, 0);
	return open->id;
}

void builder_end(struct epp_builder *b, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args, size_t count)
{
	struct track *track = builder_find(b, thread);

	for (bool found = false; !found;) {
		MUST(track->depth);
		struct epf_open open = track->open[track->depth - 1];
		found = open.id == id;
		record_event(b, thread, &open, ticks, found ? 0 : EPF_FLAG_UNENDED, found ? args : NULL, found ? count : 0);
		track->depth--;
	}
}

uint64_t builder_event(struct epp_builder *b, uint32_t thread, uint64_t start, uint64_t duration, unsigned category,
                       epp_name name, const epp_arg *args, size_t count)
{
	struct epf_record record = make_record(start, duration, take_id(builder_find(b, thread)), name,
	                                       EPF_BITS(category, EPF_EVENT, 0, 0));
	builder_record(b, thread, &record, args, count);
	return record.id;
}

uint64_t builder_instant(struct epp_builder *b, uint32_t thread, uint64_t ticks, unsigned category, epp_name name,
                         const epp_arg *args, size_t count)
{
	struct epf_record record = make_record(ticks, 0, take_id(builder_find(b, thread)), name,
	                                       EPF_BITS(category, EPF_INSTANT, 0, 0));
	builder_record(b, thread, &record, args, count);
	return record.id;
}

uint64_t builder_counter(struct epp_builder *b, uint32_t thread, uint64_t ticks, epp_name name, int64_t value)
{
	struct epf_record record = make_record(ticks, 0, take_id(builder_find(b, thread)), name,
	                                       EPF_BITS(0, EPF_COUNTER, 0, 0));
	epp_arg arg = { .key = name, .type = EPP_ARG_I64, .value.i64 = value };
	builder_record(b, thread, &record, &arg, 1);
	return record.id;
}

void builder_flow(struct epp_builder *b, uint32_t thread, uint64_t ticks, uint64_t from_id, uint64_t to_id)
{
	struct epf_record record = make_record(ticks, 0, to_id, EPF_NAME_FLOW, EPF_BITS(0, EPF_FLOW, 0, 0));
	epp_arg arg = { .key = EPF_NAME_PARENT, .type = EPP_ARG_U64, .value.u64 = from_id };
	take_id(builder_find(b, thread));
	builder_record(b, thread, &record, &arg, 1);
}

uint64_t builder_async_begin(struct epp_builder *b, uint32_t thread, uint64_t ticks, unsigned category, epp_name name)
{
	struct epf_record record = make_record(ticks, 0, take_id(builder_find(b, thread)), name,
	                                       EPF_BITS(category, EPF_ASYNC_BEGIN, 0, 0));
	builder_record(b, thread, &record, NULL, 0);
	return record.id;
}

void builder_async_end(struct epp_builder *b, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                       size_t count)
{
	struct epf_record record = make_record(ticks, 0, id, EPF_NAME_ORPHAN_END, EPF_BITS(0, EPF_ASYNC_END, 0, 0));
	builder_record(b, thread, &record, args, count);
}

void builder_orphan_end(struct epp_builder *b, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                        size_t count)
{
	struct epf_record record = make_record(ticks, 0, id, EPF_NAME_ORPHAN_END, EPF_BITS(0, EPF_ORPHAN_END, 0, 0));
	builder_record(b, thread, &record, args, count);
}

void builder_forget(struct epp_builder *b, uint32_t thread, uint64_t id)
{
	struct track *track = builder_find(b, thread);

	for (uint32_t i = 0; i < track->depth; i++) {
		if (track->open[i].id != id)
			continue;
		memmove(&track->open[i], &track->open[i + 1], (track->depth - i - 1) * sizeof *track->open);
		track->depth--;
		return;
	}
	MUST(!"open");
}

uint64_t builder_complete(struct epp_builder *b, uint32_t number, uint64_t start, uint64_t duration, unsigned category,
                          epp_name name, uint64_t parent, const epp_arg *args, size_t count)
{
	struct track *track = builder_find(b, number);
	epp_arg all[EPF_ARG_SLOTS_MAX] = { { .key = EPF_NAME_PARENT, .type = EPP_ARG_U64, .value.u64 = parent } };
	size_t first = parent ? 1 : 0;
	struct epf_record record = make_record(start, duration, track->is_thread ? take_id(track) : b->next_device_id++,
	                                       name, EPF_BITS(category, EPF_COMPLETE, 0, 0));

	MUST(first + count <= EPF_ARG_SLOTS_MAX);
	for (size_t i = 0; i < count; i++)
		all[first + i] = args[i];
	if (!track->is_thread && track->definition.producer >= 0)
		b->producers[track->definition.producer].emitted++;
	builder_record(b, number, &record, all, first + count);
	return record.id;
}

void builder_switch(struct epp_builder *b, uint32_t thread, uint32_t track)
{
	struct epf_record record = make_record(0, 0, track, EPF_NAME_TRACK_SWITCH, EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0));
	builder_record(b, thread, &record, NULL, 0);
}

void builder_device_pair(struct epp_builder *b, uint32_t track, uint64_t device_ticks, uint64_t host_ticks,
                         uint64_t half_width_ticks)
{
	struct epf_record record = make_record(device_ticks, host_ticks, half_width_ticks, EPF_NAME_CLOCK_PAIR,
	                                       EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0));
	builder_record(b, track, &record, NULL, 0);
}

/* ---- accounts, clock, runs, regions ---- */

struct epf_ledger_entry builder_account(const struct epp_builder *b, const struct track *track)
{
	struct epf_ledger_entry entry = { .track = track->definition.track,
		                          .run = b->live.run,
		                          .ids_taken = track->id_blocks * 65536 + track->next_id - track->id_block_first,
		                          .lost_idless = track->lost_idless };
	memcpy(entry.lost, track->lost, sizeof entry.lost);
	return entry;
}

void builder_lost(struct epp_builder *b, uint32_t thread, epp_loss reason, uint64_t count, uint64_t idless)
{
	struct track *track = builder_find(b, thread);

	track->lost[reason] += count;
	track->lost_idless += idless;
	track->next_id += count - idless;
}

static struct epf_host_pair pair_at(const struct epp_builder *b, uint64_t ticks)
{
	return (struct epf_host_pair){ ticks, 50, (int64_t)ticks + b->monotonic_off_ns,
		                       BUILDER_REALTIME_NS + (int64_t)(ticks - BUILDER_START) + b->realtime_off_ns };
}

void builder_set_clocks(struct epp_builder *b, int64_t monotonic_off_ns, int64_t realtime_off_ns)
{
	b->monotonic_off_ns = monotonic_off_ns;
	b->realtime_off_ns = realtime_off_ns;
	b->live.run_start = pair_at(b, b->live.run_start.ticks);
}

void builder_host_pair(struct epp_builder *b, uint64_t ticks, uint64_t half_width_ticks, int64_t realtime_error_ns)
{
	struct epf_host_pair pair = pair_at(b, ticks);

	pair.half_width_ticks = half_width_ticks;
	pair.realtime_ns += realtime_error_ns;
	memcpy(builder_grow(&b->pairs, sizeof pair), &pair, sizeof pair);
}

void builder_run_start(struct epp_builder *b, uint64_t ticks)
{
	b->live.run++;
	b->live.flags = EPF_LIVE_RECORDING;
	b->live.run_first_id = b->next_id_block;
	b->live.run_start = pair_at(b, ticks);
	b->live.run_end_ticks = 0;
}

void builder_run_end(struct epp_builder *b, uint64_t ticks)
{
	struct epf_run run = {
		.run = b->live.run, .first_id = b->live.run_first_id, .start = b->live.run_start, .end = pair_at(b, ticks)
	};
	struct bytes ledger = { 0 };

	for (uint32_t i = 0; i < b->tracks_count; i++) {
		struct track *track = &b->tracks[i];
		while (track->depth) {
			struct epf_open open = track->open[track->depth - 1];
			record_event(b, i + 1, &open, ticks, EPF_FLAG_UNENDED, NULL, 0);
			track->depth--;
		}
		builder_flush(b, i + 1, BUILDER_TO_BLOCK);
		if (!track->is_thread)
			continue;
		struct epf_ledger_entry account = builder_account(b, track);
		memcpy(builder_grow(&ledger, sizeof account), &account, sizeof account);
		track->id_blocks = 0;
		track->id_block_first = track->next_id;
		memset(track->lost, 0, sizeof track->lost);
		track->lost_idless = 0;
	}
	struct epf_ledger_entry own = { .run = b->live.run };
	memcpy(own.lost, b->live.lost, sizeof own.lost);
	memcpy(builder_grow(&ledger, sizeof own), &own, sizeof own);
	builder_append_plain(b, &b->stream, EPF_BLOCK_LEDGER, ledger.at, ledger.used);
	builder_append_plain(b, &b->stream, EPF_BLOCK_RUN, &run, sizeof run);
	free(ledger.at);
	b->live.flags = 0;
	b->live.run_end_ticks = ticks;
}

void builder_flush(struct epp_builder *b, uint32_t number, unsigned where)
{
	struct track *track = builder_find(b, number);
	struct region *region = &track->region;

	if (!region->records.used)
		return;
	if (where & BUILDER_TO_BLOCK)
		builder_append_region(b, &b->stream, region);
	if (where & BUILDER_TO_WINDOW) {
		b->kept = realloc(b->kept, (b->kept_count + 1) * sizeof *b->kept);
		MUST(b->kept);
		b->kept[b->kept_count] = *region;
		b->kept[b->kept_count++].in_block = (where & BUILDER_TO_BLOCK) != 0;
		region->records = (struct bytes){ 0 };
	}
	region->records.used = 0;
}
