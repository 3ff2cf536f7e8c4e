/* Converts records to events.  The events are collected in a batch, which all profilers share.  Each session gets a
 * copy of the events that are in its run, with its own parents.  The texts of a batch are stored and freed with the
 * batch. */
#include "plugins/pu1/pu1_reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/name.h"
#include "ort_abi/profiler_registry.h"
#include "plugins/pu1/pu1_pool.h"
#include "plugins/untrusted_text.h"

#define BATCH_EVENTS 256u
#define EVENT_ARGS 5u
#define TEXT_BYTES_MAX 32768u
#define TEXTS_BYTES (2 * TEXT_BYTES_MAX)
#define NAMES_BITS 10
#define LINKS_BITS 16 /* log2 of the number of rows in `links` */
#define LINKS_ROW 4u
#define CLOCK_TRIES 3
#define NS_PER_SECOND UINT64_C(1000000000)

struct link {
	uint64_t correlation_id; /* 0: the row is empty */
	uint64_t external_id;
};

struct pu1_reading {
	EpprofEvent events[BATCH_EVENTS];
	EpprofArg args[BATCH_EVENTS][EVENT_ARGS];
	uint64_t external_ids[BATCH_EVENTS]; /* 0: the record has no external id */
	uint32_t count;
	uint32_t texts_used;
	EpprofEvent own[BATCH_EVENTS]; /* copies of the batch's events for one profiler */
	char texts[TEXTS_BYTES];
	char name[65537];
	struct {
		const char *place; /* address of the text in the library; NULL: none */
		const char *text;
	} names[1u << NAMES_BITS];
	struct link links[1u << LINKS_BITS][LINKS_ROW];
	uint32_t link_next;
};

struct pu1_reading *pu1_reading_create(void)
{
	return calloc(1, sizeof(struct pu1_reading));
}

/* Returns the error of the records' clock as the library reports it, in host ticks, at most those of one second; 0 if
 * the library does not report it. */
static uint64_t clock_error_ticks(const struct pu1_library *library)
{
	uint64_t error_ns = 0;
	if (!library->calls.clock_error || library->calls.clock_error(&error_ns) != PU1_SUCCESS)
		return 0;
	if (error_ns > NS_PER_SECOND)
		error_ns = NS_PER_SECOND;
	return error_ns * (clock_ticks_per_second() / 1000) / (NS_PER_SECOND / 1000);
}

void pu1_read_clock(struct pu1_library *library, struct pu1_profiler *only)
{
	EpprofClockPair pair = { .clock = PU1_CLOCK, .half_width_ticks = UINT64_MAX };
	uint64_t before = clock_ticks();
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t now_ns;
		if (!pu1_library_now(library, &now_ns))
			continue;
		uint64_t after = clock_ticks(), width = after - before;
		if (width / 2 + 1 < pair.half_width_ticks) {
			pair.device_ticks = now_ns;
			pair.host_ticks = before + width / 2;
			pair.half_width_ticks = width / 2 + 1;
		}
		before = after;
	}
	if (pair.half_width_ticks == UINT64_MAX)
		return;
	pair.half_width_ticks += clock_error_ticks(library);
	struct pu1_profiler *profiler;
	LIST_FOREACH(profiler, &library->profilers, link) {
		if (only ? profiler == only : pu1_is_on(profiler))
			profiler_registry_push(
			    &profiler->impl,
			    &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .pairs = &pair, .pairs_count = 1 });
	}
}

/* ---- batches ---- */

static bool contains_time(const struct pu1_profiler *profiler, uint64_t start_ns)
{
	return start_ns >= profiler->start_ns && start_ns <= profiler->end_ns;
}

static bool is_for_profiler(const struct pu1_profiler *profiler, uint64_t start_ns)
{
	if (!contains_time(profiler, start_ns))
		return false;
	for (const struct pu1_profiler *older = profiler; (older = pu1_next_of_session(older));)
		if (contains_time(older, start_ns))
			return false;
	return true;
}

/* Returns the event to which a token leads, among the events of any profiler of the session. */
static uint64_t parent_of(const struct pu1_profiler *profiler, uint64_t external_id, bool *inferred)
{
	const struct pu1_library *library = profiler->library;
	uint64_t parent = pu1_tokens_find(library->tokens, external_id, profiler->owner, inferred);
	const struct pu1_profiler *other;
	LIST_FOREACH(other, &library->profilers, link) {
		if (parent && !*inferred)
			break;
		if (other == profiler || !other->session || other->session != profiler->session)
			continue;
		bool is_inferred;
		uint64_t found = pu1_tokens_find(library->tokens, external_id, other->owner, &is_inferred);
		if (found && (!parent || !is_inferred)) {
			parent = found;
			*inferred = is_inferred;
		}
	}
	return parent;
}

static void push_to(struct pu1_library *library, struct pu1_profiler *profiler)
{
	struct pu1_reading *reading = library->reading;
	uint32_t count = 0;
	for (uint32_t i = 0; i < reading->count; i++) {
		if (!is_for_profiler(profiler, reading->events[i].start_ticks))
			continue;
		bool inferred;
		EpprofEvent *event = &reading->own[count++];
		*event = reading->events[i];
		event->parent = parent_of(profiler, reading->external_ids[i], &inferred);
		if (event->parent && inferred)
			event->category |= EPPROF_PARENT_INFERRED;
	}
	if (!count)
		return;
	/* The session takes late events until it is released, and counts them itself. */
	if (!pu1_is_on(profiler)) {
		profiler_registry_push_late(
		    &profiler->impl,
		    &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .events = reading->own, .events_count = count });
		return;
	}
	profiler->ledger.emitted += count;
	profiler_registry_push(&profiler->impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
	                                                        .events = reading->own,
	                                                        .events_count = count,
	                                                        .ledger = &profiler->ledger });
}

static void push_batch(struct pu1_library *library)
{
	struct pu1_profiler *profiler;
	LIST_FOREACH(profiler, &library->profilers, link)
		push_to(library, profiler);
	library->reading->count = 0;
	library->reading->texts_used = 0;
}

/* ---- records ---- */

bool pu1_record_next(const uint8_t **at, const uint8_t *end, pu1ActivityRecord *record, const char **wrong)
{
	size_t left = (size_t)(end - *at);
	*wrong = NULL;
	if (left == 0)
		return false;
	/* From here on only the copy is used, because the library may still write to the buffer. */
	memset(record, 0, sizeof(*record));
	if (left >= PU1_RECORD_BYTES_MIN)
		memcpy(record, *at, left < sizeof(*record) ? left : sizeof(*record));
	uint32_t bytes = record->struct_size;
	if (left < PU1_RECORD_BYTES_MIN || (bytes > left && bytes % PU1_RECORD_ALIGNMENT == 0))
		*wrong = "a record extends beyond its buffer";
	else if (bytes < PU1_RECORD_BYTES_MIN)
		*wrong = bytes ? "a record is too small" : "a record of size 0";
	else if (bytes % PU1_RECORD_ALIGNMENT)
		*wrong = "a record's size is not a multiple of 8";
	if (*wrong)
		return false;
	if (bytes < sizeof(*record))
		memset((char *)record + bytes, 0, sizeof(*record) - bytes);
	*at += bytes;
	return true;
}

static bool has_field(const pu1ActivityRecord *record, size_t end)
{
	return record->struct_size >= end;
}
#define HAS(record, field) has_field(record, offsetof(pu1ActivityRecord, field) + sizeof((record)->field))

static bool is_host_call(const pu1ActivityRecord *record)
{
	return record->kind == PU1_KIND_PRIVATEUSE1_RUNTIME || record->kind == PU1_KIND_PRIVATEUSE1_DRIVER;
}

static struct link *row_of(struct pu1_reading *reading, uint64_t correlation_id)
{
	return reading->links[correlation_id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LINKS_BITS)];
}

/* Stores the external id of a runtime record, for the device record with the same correlation id. */
static void link_store(struct pu1_reading *reading, uint64_t correlation_id, uint64_t external_id)
{
	struct link *row = row_of(reading, correlation_id);
	uint32_t at = 0;
	while (at < LINKS_ROW && row[at].correlation_id && row[at].correlation_id != correlation_id)
		at++;
	if (at == LINKS_ROW)
		at = reading->link_next++ % LINKS_ROW;
	row[at] = (struct link){ correlation_id, external_id };
}

static bool external_id_of(struct pu1_reading *reading, const pu1ActivityRecord *record, uint64_t *external_id)
{
	*external_id = 0;
	if (!HAS(record, external_id)) {
		*external_id = record->correlation_id;
		return record->correlation_id != 0;
	}
	*external_id = record->external_id;
	if (record->flags & PU1_FLAG_EXTERNAL_ID)
		return true;
	if (is_host_call(record) || !record->correlation_id)
		return false;
	const struct link *row = row_of(reading, record->correlation_id);
	for (uint32_t i = 0; i < LINKS_ROW; i++) {
		if (row[i].correlation_id == record->correlation_id) {
			*external_id = row[i].external_id;
			return true;
		}
	}
	return false;
}

static const char *name_of(struct pu1_library *library, const char *place)
{
	struct pu1_reading *reading = library->reading;
	size_t at = (uintptr_t)place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NAMES_BITS);
	if (reading->names[at].place == place)
		return reading->names[at].text;
	if (untrusted_text_copy(place, reading->name, sizeof(reading->name)) == UNTRUSTED_TEXT_UNREADABLE) {
		pu1_fault(library, "a record's name cannot be read");
		return "(name unreadable)";
	}
	reading->names[at].place = place;
	reading->names[at].text = epp_name_text(epp_name_intern(reading->name));
	return reading->names[at].text;
}

static EpprofArg *add_arg(EpprofEvent *event, EpprofArg *args, const char *key)
{
	EpprofArg *arg = &args[event->args_count++];
	*arg = (EpprofArg){ .key = key, .type = EPP_ARG_U64 };
	return arg;
}

static void add_text(EpprofEvent *event, EpprofArg *args, const char *key, const char *text, size_t bytes)
{
	EpprofArg *arg = add_arg(event, args, key);
	arg->type = EPP_ARG_TEXT;
	arg->text = text;
	arg->text_bytes = (uint32_t)bytes;
}

static void add_metadata(struct pu1_library *library, EpprofEvent *event, EpprofArg *args, const char *metadata)
{
	struct pu1_reading *reading = library->reading;
	char *copy = reading->texts + reading->texts_used;
	size_t bytes = untrusted_text_copy(metadata, copy, TEXT_BYTES_MAX);
	if (bytes == UNTRUSTED_TEXT_UNREADABLE) {
		pu1_fault(library, "a record's metadata cannot be read");
		return;
	}
	add_text(event, args, "metadata", copy, bytes);
	reading->texts_used += (uint32_t)bytes + 1;
}

static const struct {
	const char *name; /* the name if the record has none */
	const char *kind; /* value of the arg `kind`; NULL: no arg, because calls of the runtime are the default */
} kinds[] = {
	[PU1_KIND_CONCURRENT_KERNEL] = { "(kernel)", "kernel" },
	[PU1_KIND_GPU_MEMCPY] = { "(copy)", "memcpy" },
	[PU1_KIND_GPU_MEMSET] = { "(fill)", "memset" },
	[PU1_KIND_PRIVATEUSE1_RUNTIME] = { "(runtime)", NULL },
	[PU1_KIND_PRIVATEUSE1_DRIVER] = { "(driver)", "driver" },
};

static void add_event(struct pu1_library *library, const pu1ActivityRecord *record)
{
	struct pu1_reading *reading = library->reading;
	if (reading->count == BATCH_EVENTS || TEXTS_BYTES - reading->texts_used < TEXT_BYTES_MAX)
		push_batch(library);
	EpprofEvent *event = &reading->events[reading->count];
	EpprofArg *args = reading->args[reading->count];
	bool host_call = is_host_call(record);
	uint64_t external_id;
	bool has_external_id = external_id_of(reading, record, &external_id);
	*event = (EpprofEvent){
		.start_ticks = record->start_time,
		.end_ticks = record->end_time,
		.name = record->name ? name_of(library, record->name) : kinds[record->kind].name,
		.args = args,
		.category = host_call ? EPP_API : EPP_KERNEL,
		.device = host_call ? -1 : record->device_id,
		.clock = PU1_CLOCK,
		.stream = record->stream_id,
	};
	reading->external_ids[reading->count++] = has_external_id ? external_id : 0;
	if (HAS(record, external_id))
		add_arg(event, args, "correlation")->number.u64 = record->correlation_id;
	if (kinds[record->kind].kind)
		add_text(event, args, "kind", kinds[record->kind].kind, strlen(kinds[record->kind].kind));
	if (record->bytes)
		add_arg(event, args, "bytes")->number.u64 = record->bytes;
	if (has_external_id && !pu1_tokens_is_own(external_id))
		add_arg(event, args, "external_id")->number.u64 = external_id;
	if (record->metadata)
		add_metadata(library, event, args, record->metadata);
}

static void read_record(struct pu1_library *library, const pu1ActivityRecord *record)
{
	struct pu1_profiler *profiler;
	bool held = false;
	const char *wrong = NULL;
	if (record->kind < PU1_KIND_CONCURRENT_KERNEL || record->kind > PU1_KIND_PRIVATEUSE1_DRIVER)
		wrong = "a record has an unknown kind";
	else if (!record->start_time)
		wrong = "a record without a time";
	else if (record->end_time < record->start_time)
		wrong = "a record ends before it starts";
	if (wrong) {
		pu1_fault(library, "%s", wrong);
		PU1_LOSE(library, refused, 1);
		return;
	}
	LIST_FOREACH(profiler, &library->profilers, link)
		held |= contains_time(profiler, record->start_time);
	if (held)
		add_event(library, record);
	else
		PU1_LOSE(library, outside_run, 1);
}

/* ---- buffers ---- */

struct full {
	const uint8_t *bytes;
	size_t valid_bytes;
};

static void read_links(struct pu1_library *library, const struct full *full)
{
	const uint8_t *at = full->bytes;
	const char *wrong;
	pu1ActivityRecord record;
	while (pu1_record_next(&at, full->bytes + full->valid_bytes, &record, &wrong))
		if (is_host_call(&record) && record.flags & PU1_FLAG_EXTERNAL_ID && HAS(&record, external_id))
			link_store(library->reading, record.correlation_id, record.external_id);
}

static void read_buffer(struct pu1_library *library, const struct full *full)
{
	const uint8_t *at = full->bytes;
	const char *wrong;
	pu1ActivityRecord record;
	while (pu1_record_next(&at, full->bytes + full->valid_bytes, &record, &wrong))
		read_record(library, &record);
	if (!wrong)
		return;
	/* It is unknown how many records follow the damaged one. */
	pu1_fault(library, "%s, at byte %zu of %zu; the rest is lost", wrong, (size_t)(at - full->bytes),
	          full->valid_bytes);
	PU1_LOSE(library, refused, 1);
}

void pu1_read(struct pu1_library *library)
{
	struct full full[PU1_BUFFERS_COUNT];
	size_t count = 0;
	struct pu1_profiler *profiler;
	if (!library->reading)
		return;
	pu1_look_up_sessions(library);
	pu1_count_dropped(library);
	while (count < PU1_BUFFERS_COUNT && (full[count].bytes = pu1_pool_next(library->number, &full[count].valid_bytes)))
		read_links(library, &full[count++]);
	for (size_t i = 0; i < count; i++) {
		read_buffer(library, &full[i]);
		pu1_pool_put_back(full[i].bytes);
	}
	push_batch(library);
	LIST_FOREACH(profiler, &library->profilers, link)
		if (pu1_is_on(profiler))
			pu1_push_ledger(profiler);
}
