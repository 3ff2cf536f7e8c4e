/* Reads an XSpace file through windows.  A window reads ahead from the requested position, so a pass over a message
 * reads each byte once. */
#include "import/xspace/xplane_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "containers/array.h"
#include "encoding/xspace.h"
#include "files/temp_file.h"

/* ---- the file ---- */

#define AHEAD_BYTES (64u << 10)
/* The maximum size of a field, without the content of a length-delimited field. */
#define HEAD_BYTES (2 * PROTOBUF_VARINT_BYTES)

/* ---- the file ---- */

static epp_status *copy(struct xplane_file *file, struct import *import)
{
	EPP_TRY(temp_file_open(&file->fd));
	file->is_copy = true;
	for (;;) {
		const char *bytes;
		size_t count;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(input_peek(&import->input, &bytes, &count));
		if (!count)
			return NULL;
		EPP_TRY(temp_file_write(file->fd, file->bytes, bytes, count));
		file->bytes += count;
		input_take(&import->input, count);
	}
}

epp_status *xplane_file_open(struct xplane_file *file, struct import *import)
{
	struct stat st;

	*file = (struct xplane_file){ .fd = import->input.fd, .path = import->input.path };
	if (fstat(file->fd, &st))
		return epp_status_errno(errno, "%s", file->path);
	/* Standard input may be a file whose beginning another program has read, so it is not read by position. */
	if (!S_ISREG(st.st_mode) || import->input.borrowed)
		return copy(file, import);
	file->bytes = (uint64_t)st.st_size;
	import->input.bytes = file->bytes;
	return NULL;
}

void xplane_file_close(struct xplane_file *file)
{
	if (file->is_copy)
		close(file->fd);
	*file = (struct xplane_file){ .fd = -1 };
}

/* ---- windows ---- */

void xplane_window_deinit(struct xplane_window *window)
{
	free(window->buffer);
	*window = (struct xplane_window){ 0 };
}

static epp_status *fill(struct xplane_window *window, uint64_t at, size_t count)
{
	const struct xplane_file *file = window->file;
	size_t room = count > AHEAD_BYTES ? count : AHEAD_BYTES;

	if (!array_reserve(&window->buffer, &window->room, room, 1))
		return epp_status_no_memory();
	window->from = at;
	window->count = 0;
	while (window->count < count) {
		uint64_t left = file->bytes - at - window->count;
		size_t wanted = left < room - window->count ? (size_t)left : room - window->count;
		ssize_t got = pread(file->fd, window->buffer + window->count, wanted, (off_t)(at + window->count));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return epp_status_errno(errno, "%s", file->path);
		if (!got)
			return epp_status_create(EPP_IO, "%s: the file was truncated while it was read", file->path);
		window->count += (size_t)got;
	}
	return NULL;
}

epp_status *xplane_view(struct xplane_window *window, uint64_t at, size_t count, const uint8_t **bytes)
{
	if (at < window->from || at - window->from > window->count || window->count - (at - window->from) < count)
		EPP_TRY(fill(window, at, count));
	*bytes = window->buffer + (at - window->from);
	return NULL;
}

/* ---- fields ---- */

static bool set_damaged(struct xplane_message *message)
{
	message->at = message->end;
	message->damaged = true;
	return false;
}

static bool take_fixed(struct protobuf_reader *head, struct xplane_field *field, size_t bytes)
{
	field->value = 0;
	if ((size_t)(head->end - head->at) < bytes)
		return false;
	memcpy(&field->value, head->at, bytes);
	head->at += bytes;
	return true;
}

/* Decodes the field at the beginning of `head`.  The field cannot be longer than the rest of the message. */
static bool take_field(struct protobuf_reader *head, struct xplane_message *message, struct xplane_field *field)
{
	const uint8_t *first = head->at;
	uint64_t tag, count = 0;

	if (!protobuf_next_varint(head, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
		return set_damaged(message);
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum protobuf_type)(tag & 7);
	bool whole = false;
	if (field->type == PROTOBUF_VARINT)
		whole = protobuf_next_varint(head, &field->value);
	else if (field->type == PROTOBUF_FIXED64 || field->type == PROTOBUF_FIXED32)
		whole = take_fixed(head, field, field->type == PROTOBUF_FIXED64 ? 8 : 4);
	else if (field->type == PROTOBUF_BYTES)
		whole = protobuf_next_varint(head, &count);
	if (!whole)
		return set_damaged(message);
	message->at += (uint64_t)(head->at - first);
	if (field->type != PROTOBUF_BYTES)
		return true;
	uint64_t left = message->end - message->at;
	field->message = (struct xplane_message){ message->at, message->at + (count < left ? count : left), count > left };
	message->at = field->message.end;
	message->damaged |= count > left;
	return true;
}

epp_status *xplane_next(struct xplane_window *window, struct xplane_message *message, struct xplane_field *field,
                        bool *found)
{
	uint64_t left = message->end - message->at;
	size_t count = left < HEAD_BYTES ? (size_t)left : HEAD_BYTES;
	const uint8_t *bytes;

	*found = false;
	if (!left)
		return NULL;
	EPP_TRY(xplane_view(window, message->at, count, &bytes));
	struct protobuf_reader head = protobuf_reader_of(bytes, count);
	*found = take_field(&head, message, field);
	return NULL;
}

/* ---- names ---- */

/* Looks up entries of a plane's tables.  The cache is filled from its start to its end, and is emptied only between two
 * events.  At the beginning of an event, at least half of the cache is free. */

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

epp_status *xplane_names_init(struct xplane_names *names, struct import *import, const struct xplane_file *file)
{
	names->import = import;
	names->window.file = file;
	names->events.has_stats = true;
	names->cache = malloc(XPLANE_CACHE_BYTES);
	return names->cache ? NULL : epp_status_no_memory();
}

void xplane_names_deinit(struct xplane_names *names)
{
	sorter_deinit(&names->events.index);
	sorter_deinit(&names->stats.index);
	xplane_window_deinit(&names->window);
	free(names->cache);
	names->cache = NULL;
}

static void clear_cache(struct xplane_names *names)
{
	memset(names->events.slots, 0, sizeof(names->events.slots));
	memset(names->stats.slots, 0, sizeof(names->stats.slots));
	names->cache_used = 0;
}

void xplane_names_clear(struct xplane_names *names)
{
	sorter_deinit(&names->events.index);
	sorter_deinit(&names->stats.index);
	names->events.index = names->stats.index = (struct sorter){ 0 };
	clear_cache(names);
}

epp_status *xplane_names_add(struct xplane_names *names, struct xplane_table *table, struct xplane_message entry,
                             bool *damaged)
{
	struct sorter_entry made = { 0 };
	struct xplane_field field;
	bool found;

	for (;;) {
		EPP_TRY(xplane_next(&names->window, &entry, &field, &found));
		if (!found)
			break;
		if (xplane_is(&field, ENTRY_KEY, PROTOBUF_VARINT)) {
			made.key = field.value;
		} else if (xplane_is(&field, ENTRY_VALUE, PROTOBUF_BYTES)) {
			made.start = field.message.at;
			made.end = field.message.end;
		}
	}
	*damaged = entry.damaged;
	return entry.damaged ? NULL : sorter_add(&table->index, &made);
}

epp_status *xplane_names_seal(struct xplane_names *names)
{
	EPP_TRY(sorter_seal(&names->events.index));
	return sorter_seal(&names->stats.index);
}

/* ---- the cache ---- */

void xplane_names_next_event(struct xplane_names *names)
{
	names->no_room = false;
	if (names->cache_used > XPLANE_CACHE_BYTES / 2)
		clear_cache(names);
}

/* Takes memory from the cache; NULL: there is not enough. */
static void *allocate_from_cache(struct xplane_names *names, size_t bytes)
{
	size_t needed = (bytes + 7) & ~(size_t)7;

	if (needed > XPLANE_CACHE_BYTES - names->cache_used) {
		names->no_room = true;
		return NULL;
	}
	void *room = names->cache + names->cache_used;
	names->cache_used += needed;
	return room;
}

const char *xplane_names_keep(struct xplane_names *names, const char *text, size_t bytes)
{
	char *room = allocate_from_cache(names, bytes);

	return room && bytes ? memcpy(room, text, bytes) : room;
}

/* Copies a text, up to the maximum length of a name. */
static epp_status *copy_text(struct xplane_names *names, const struct xplane_message *message, struct protobuf_string *text)
{
	uint64_t all = xplane_message_bytes(message);
	size_t bytes = all < XPLANE_TEXT_BYTES_MAX ? (size_t)all : XPLANE_TEXT_BYTES_MAX;
	char *room = allocate_from_cache(names, bytes);
	const uint8_t *from;

	*text = (struct protobuf_string){ 0 };
	if (!room || !bytes)
		return NULL;
	EPP_TRY(xplane_view(&names->window, message->at, bytes, &from));
	memcpy(room, from, bytes);
	*text = (struct protobuf_string){ room, bytes };
	return NULL;
}

/* Appends a stat with its head to the stats of the entry.  The stats of the entry must be the last data in the
 * cache. */
static epp_status *copy_stat(struct xplane_names *names, const struct xplane_message *message, struct xplane_entry *entry)
{
	uint64_t bytes = xplane_message_bytes(message);
	const uint8_t *from;

	if (bytes + PROTOBUF_FIELD_BYTES + entry->stats_bytes > XPLANE_STATS_BYTES_MAX) {
		names->too_large++;
		return NULL;
	}
	EPP_TRY(xplane_view(&names->window, message->at, (size_t)bytes, &from));
	char *stats = (char *)(uintptr_t)entry->stats, *at = stats + entry->stats_bytes;
	entry->stats_bytes = (uint32_t)(protobuf_bytes(at, XMETADATA_STATS, from, (size_t)bytes) - stats);
	return NULL;
}

/* Copies the stats of an entry: takes memory for the largest size from the cache, and returns the unused part. */
static epp_status *copy_stats(struct xplane_names *names, struct xplane_message message, struct xplane_entry *entry)
{
	size_t before = names->cache_used;
	struct xplane_field field;
	bool found;

	entry->stats = allocate_from_cache(names, XPLANE_STATS_BYTES_MAX);
	while (entry->stats) {
		EPP_TRY(xplane_next(&names->window, &message, &field, &found));
		if (!found)
			break;
		if (xplane_is(&field, XMETADATA_STATS, PROTOBUF_BYTES) && !field.message.damaged)
			EPP_TRY(copy_stat(names, &field.message, entry));
	}
	if (entry->stats)
		names->cache_used = before + ((entry->stats_bytes + 7) & ~(size_t)7);
	return NULL;
}

static epp_status *read_entry(struct xplane_names *names, const struct xplane_table *table,
                              struct xplane_message message, struct xplane_entry *entry)
{
	struct xplane_message walk = message;
	struct xplane_field field;
	bool found, any_stats = false;

	for (;;) {
		EPP_TRY(xplane_next(&names->window, &walk, &field, &found));
		if (!found)
			break;
		if (xplane_is(&field, XMETADATA_NAME, PROTOBUF_BYTES))
			EPP_TRY(copy_text(names, &field.message, &entry->text));
		else if (table->has_stats && xplane_is(&field, XMETADATA_DISPLAY_NAME, PROTOBUF_BYTES))
			EPP_TRY(copy_text(names, &field.message, &entry->display));
		any_stats |= table->has_stats && xplane_is(&field, XMETADATA_STATS, PROTOBUF_BYTES);
	}
	return any_stats ? copy_stats(names, message, entry) : NULL;
}

/* Finds the last entry with this number in the index. */
static epp_status *find_message(struct xplane_table *table, int64_t id, struct xplane_message *message, bool *found)
{
	struct sorter_entry entry = { 0 };
	uint64_t place;

	*found = false;
	EPP_TRY(sorter_find(&table->index, (uint64_t)id, UINT64_MAX, &place));
	if (!place)
		return NULL;
	EPP_TRY(sorter_at(&table->index, place - 1, &entry));
	*found = entry.key == (uint64_t)id;
	*message = (struct xplane_message){ .at = entry.start, .end = entry.end };
	return NULL;
}

epp_status *xplane_names_read(struct xplane_names *names, struct xplane_table *table, int64_t id,
                              const struct xplane_entry **found)
{
	struct xplane_entry *entry = allocate_from_cache(names, sizeof(*entry));
	struct xplane_message message;

	*found = NULL;
	if (!entry)
		return NULL;
	*entry = (struct xplane_entry){ .id = id };
	EPP_TRY(find_message(table, id, &message, &entry->is_known));
	if (entry->is_known)
		EPP_TRY(read_entry(names, table, message, entry));
	/* If there was not enough room, the entry is incomplete, so it must not stay in the cache. */
	if (names->no_room)
		return NULL;
	struct protobuf_string name = entry->display.bytes ? entry->display : entry->text;
	entry->name = epp_trace_writer_intern_name(names->import->writer, name.bytes ? name.text : "", name.bytes);
	table->slots[(uint64_t)id % XPLANE_SLOTS] = entry;
	*found = entry;
	return NULL;
}
