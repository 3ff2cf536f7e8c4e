/* Searches an anonymised trace for texts of the input, before it gets its name.
 *
 * There are two searches, which do not depend on the code that wrote the file:
 *   - All texts of 8 bytes and more are searched at every byte of the file.  The output has no compressed blocks, so
 *     every text is visible.  A text is found by the 8 bytes in its middle.  A filter with one bit for each hash rejects
 *     almost every position quickly, whatever the number of texts.
 *   - Texts of 4 to 7 bytes occur by chance in numbers, and as letters of words.  So the file is opened as a trace, and
 *     each of its texts is compared with each text of the input, whole.
 * It reveals nothing if a text is part of an allowed one, for example if an event has the name "provider", which is
 * also the key of an arg. */
#include <stdlib.h>
#include <string.h>

#include "anonymize/anonymize.h"
#include "containers/array.h"
#include "files/temp_file.h"

#define SHORTEST 4u
#define WINDOW 8u
#define NEXT_NONE UINT32_MAX
/* The file is read in pieces.  MARGIN_BYTES, the length of the longest text, are also read before and after each piece,
 * because a text may begin or end outside the piece. */
#define PIECE_BYTES (1u << 20)
#define MARGIN_BYTES EPF_NAME_BYTES_MAX

struct secret {
	const char *text;
	uint32_t bytes;
	uint32_t next; /* index of the next secret with the same window, the 8 bytes in its middle */
	bool is_part;  /* the text is part of an allowed text, so finding it in the output proves nothing */
};

struct check {
	const struct anonymize *anonymize;
	struct secret *secrets;
	size_t count, room;
	struct hash_index by_text, by_window;
	uint64_t *filter; /* a bit for each hash value: set if a secret has a window with this hash */
	unsigned filter_shift;
	uint8_t *buffer;
	struct reader_decoded records;
};

static epp_status *cancelled(const struct check *check)
{
	const volatile int *cancel = check->anonymize->options.cancel;

	return cancel && *cancel ? epp_status_create(EPP_CANCELLED, "cancelled") : NULL;
}

/* ---- the texts of the input ---- */

static uint64_t window_of(const struct secret *secret)
{
	uint64_t window;

	memcpy(&window, secret->text + (secret->bytes - WINDOW) / 2, sizeof(window));
	return window;
}

static bool find(const struct check *check, const char *text, size_t bytes, uint32_t *number)
{
	for (struct hash_probe probe = hash_index_probe(&check->by_text, hash_bytes(text, bytes));
	     hash_index_next(&check->by_text, &probe, number);)
		if (check->secrets[*number].bytes == bytes && memcmp(check->secrets[*number].text, text, bytes) == 0)
			return true;
	return false;
}

/* Returns true for a text that is a number.  Such texts are not searched: the same number may be kept as the value of
 * one key and left out as that of another, so finding it proves nothing. */
static bool is_number(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || text[i] == '-'))
			return false;
	return true;
}

/* Returns true if the text is searched at every byte.  A window with a NUL is not: such bytes are common in any file,
 * so a match would prove nothing. */
static bool is_searched(const struct secret *secret)
{
	return secret->bytes >= WINDOW && !is_number(secret->text, secret->bytes) &&
	       !memchr(secret->text + (secret->bytes - WINDOW) / 2, 0, WINDOW);
}

static epp_status *add(struct check *check, const char *text, size_t bytes)
{
	uint32_t number = (uint32_t)check->count, other;

	if (bytes < SHORTEST || string_table_find(&check->anonymize->kept, text, bytes) != STRING_TABLE_NONE ||
	    find(check, text, bytes, &other))
		return NULL;
	if (!array_reserve(&check->secrets, &check->room, check->count + 1, sizeof(*check->secrets)) ||
	    !hash_index_add(&check->by_text, hash_bytes(text, bytes), number))
		return epp_status_no_memory();
	struct secret *secret = &check->secrets[check->count++];
	*secret = (struct secret){ .text = text, .bytes = (uint32_t)bytes, .next = NEXT_NONE };
	if (!is_searched(secret))
		return NULL;
	uint64_t window = window_of(secret), hash = hash_u64(window);
	for (struct hash_probe probe = hash_index_probe(&check->by_window, hash);
	     hash_index_next(&check->by_window, &probe, &other);) {
		if (window_of(&check->secrets[other]) == window) {
			secret->next = check->secrets[other].next;
			check->secrets[other].next = number;
			return NULL;
		}
	}
	return hash_index_add(&check->by_window, hash, number) ? NULL : epp_status_no_memory();
}

static epp_status *add_all(struct check *check, const struct string_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		size_t bytes;
		const char *text = string_table_bytes(table, i, &bytes);
		EPP_TRY(add(check, text, bytes));
	}
	return NULL;
}

static epp_status *collect_secrets(struct check *check)
{
	const struct anonymize *a = check->anonymize;

	EPP_TRY(add_all(check, &a->words.texts));
	EPP_TRY(add_all(check, &a->dropped));
	for (size_t i = 0; i < a->old_names_count; i++)
		if (a->old_names[i].text)
			EPP_TRY(add(check, a->old_names[i].text, a->old_names[i].bytes));
	return NULL;
}

/* ---- every byte ---- */

static epp_status *make_filter(struct check *check)
{
	unsigned bits = 16;

	while (bits < 32 && UINT64_C(1) << bits < (uint64_t)check->by_window.count * 16)
		bits++;
	check->filter_shift = 64 - bits;
	check->filter = calloc((size_t)1 << (bits - 6), sizeof(*check->filter));
	if (!check->filter)
		return epp_status_no_memory();
	for (size_t i = 0; i < check->count; i++) {
		if (!is_searched(&check->secrets[i]))
			continue;
		uint64_t bit = hash_u64(window_of(&check->secrets[i])) >> check->filter_shift;
		check->filter[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return NULL;
}

static bool is_part_of_kept_text(const struct check *check, struct secret *secret)
{
	const struct string_table *kept = &check->anonymize->kept;

	for (uint32_t i = 0; i < kept->count && !secret->is_part; i++) {
		size_t bytes;
		const char *text = string_table_bytes(kept, i, &bytes);
		secret->is_part = memmem(text, bytes, secret->text, secret->bytes) != NULL;
	}
	return secret->is_part;
}

static epp_status *leak_error(uint64_t offset)
{
	return epp_status_create(EPP_LOSSY, "not written: a text of the input would be at byte %llu of the output",
	                         (unsigned long long)offset);
}

/* Compares all texts that have this window with the bytes at `at`.  `begin` and `end` are the limits of the buffer,
 * which is at `offset` in the file. */
static epp_status *compare(const struct check *check, uint64_t hash, uint64_t window, const uint8_t *begin,
                           const uint8_t *end, const uint8_t *at, uint64_t offset)
{
	uint32_t number;

	for (struct hash_probe probe = hash_index_probe(&check->by_window, hash);
	     hash_index_next(&check->by_window, &probe, &number);) {
		if (window_of(&check->secrets[number]) != window)
			continue;
		for (; number != NEXT_NONE; number = check->secrets[number].next) {
			struct secret *secret = &check->secrets[number];
			size_t before = (secret->bytes - WINDOW) / 2;
			if ((size_t)(at - begin) < before || (size_t)(end - at) < secret->bytes - before ||
			    memcmp(at - before, secret->text, secret->bytes) != 0 || is_part_of_kept_text(check, secret))
				continue;
			return leak_error(offset + (uint64_t)(at - before - begin));
		}
		return NULL;
	}
	return NULL;
}

static epp_status *search_file(const struct check *check, int fd, uint64_t file_bytes)
{
	for (uint64_t from = 0; from < file_bytes; from += PIECE_BYTES) {
		EPP_TRY(cancelled(check));
		uint64_t first = from > MARGIN_BYTES ? from - MARGIN_BYTES : 0;
		uint64_t last = file_bytes - from > PIECE_BYTES + MARGIN_BYTES ? from + PIECE_BYTES + MARGIN_BYTES
		                                                               : file_bytes;
		uint64_t behind = file_bytes - from > PIECE_BYTES ? from + PIECE_BYTES : file_bytes;
		EPP_TRY(temp_file_read(fd, first, check->buffer, (size_t)(last - first)));
		const uint8_t *end = check->buffer + (last - first);
		for (const uint8_t *at = check->buffer + (from - first); at < check->buffer + (behind - first); at++) {
			uint64_t window, hash;
			if (end - at < (ptrdiff_t)WINDOW)
				break;
			memcpy(&window, at, sizeof(window));
			hash = hash_u64(window);
			if (check->filter[hash >> check->filter_shift >> 6] >> (hash >> check->filter_shift) % 64 & 1)
				EPP_TRY(compare(check, hash, window, check->buffer, end, at, first));
		}
	}
	return NULL;
}

/* ---- every text ---- */

static epp_status *check_text(const struct check *check, const char *text, size_t bytes, uint64_t offset)
{
	uint32_t number;

	return find(check, text, bytes, &number) && !is_part_of_kept_text(check, &check->secrets[number])
	           ? leak_error(offset)
	           : NULL;
}

static epp_status *check_string(const struct check *check, const char *text)
{
	return check_text(check, text, strlen(text), 0);
}

static epp_status *check_args(const struct check *check, const struct codec_record *record, uint64_t offset)
{
	uint32_t at = record->args_offset;
	struct codec_arg arg;

	for (uint32_t i = 0; i < record->args_count && at; i++) {
		at = codec_arg(check->records.args, check->records.args_bytes, at, &arg);
		if (at && arg.type == EPP_ARG_TEXT && !is_number((const char *)arg.text, arg.text_bytes))
			EPP_TRY(check_text(check, (const char *)arg.text, arg.text_bytes, offset));
	}
	return NULL;
}

static epp_status *check_trace(struct check *check, struct reader *reader)
{
	for (size_t i = 0; i < reader->names_count; i++)
		if (reader->names[i].text)
			EPP_TRY(check_text(check, reader->names[i].text, reader->names[i].bytes, 0));
	for (size_t i = 0; i < reader->tracks_count; i++) {
		EPP_TRY(check_string(check, reader->tracks[i].name));
		EPP_TRY(check_string(check, reader->tracks[i].group));
	}
	for (size_t i = 0; i < reader->sources_count; i++) {
		EPP_TRY(check_string(check, reader->sources[i].hostname));
		EPP_TRY(check_string(check, reader->sources[i].program));
		EPP_TRY(check_string(check, reader->sources[i].label));
	}
	for (size_t i = 0; i < reader->producers_count; i++) {
		EPP_TRY(check_string(check, reader->producers[i].label));
		EPP_TRY(check_string(check, reader->producers[i].note));
	}
	for (size_t i = 0; i < reader->blocks_count; i++) {
		EPP_TRY(cancelled(check));
		EPP_TRY(reader_block_decode(reader, &reader->blocks[i], &check->records));
		for (uint32_t r = 0; r < check->records.count; r++)
			EPP_TRY(check_args(check, &check->records.records[r], reader->blocks[i].offset));
	}
	return NULL;
}

static epp_status *check_texts(struct check *check, int fd)
{
	struct reader *reader;

	EPP_TRY(reader_open(&(struct reader_source){ reader_read_file, NULL, &fd }, NULL, &reader));
	epp_status *status = check_trace(check, reader);
	reader_close(reader);
	return status;
}

epp_status *anonymize_check(void *user, int fd, uint64_t file_bytes)
{
	struct check check = { .anonymize = user };

	check.buffer = malloc(PIECE_BYTES + 2 * MARGIN_BYTES);
	epp_status *status = check.buffer ? collect_secrets(&check) : epp_status_no_memory();
	if (!status)
		status = make_filter(&check);
	if (!status)
		status = search_file(&check, fd, file_bytes);
	if (!status)
		status = check_texts(&check, fd);
	reader_decoded_deinit(&check.records);
	hash_index_deinit(&check.by_text);
	hash_index_deinit(&check.by_window);
	free(check.secrets);
	free(check.filter);
	free(check.buffer);
	return status;
}
