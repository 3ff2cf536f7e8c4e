#include "tests/export/html_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/check.h"

static const char begin_mark[] = "<script id=\"data\" type=\"text/plain\">";

static int digit_of(char letter)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = letter ? strchr(letters, letter) : NULL;

	return found ? (int)(found - letters) : -1;
}

/* Strict: only letters of base64, in fours, padded. */
static uint8_t *decode(const char *text, size_t count, size_t *bytes_count)
{
	uint8_t *bytes = malloc(count / 4 * 3 + 1);

	ck_assert_uint_eq(count % 4, 0);
	*bytes_count = 0;
	for (size_t i = 0; i < count; i += 4) {
		unsigned padding = i + 4 == count ? (text[i + 3] == '=') + (text[i + 2] == '=') : 0, word = 0;
		for (unsigned j = 0; j < 4; j++) {
			int digit = j + padding >= 4 ? 0 : digit_of(text[i + j]);
			ck_assert_int_ge(digit, 0);
			word = word << 6 | (unsigned)digit;
		}
		for (unsigned j = 0; j < 3 - padding; j++)
			bytes[(*bytes_count)++] = (uint8_t)(word >> (16 - 8 * j));
	}
	return bytes;
}

static char *unpack(const uint8_t *packed, size_t packed_count, size_t *count)
{
	z_stream stream = { .next_in = (uint8_t *)(uintptr_t)packed, .avail_in = (uInt)packed_count };
	size_t room = 1u << 16;
	char *bytes = malloc(room);
	int result = Z_OK;

	ck_assert_int_eq(inflateInit(&stream), Z_OK);
	for (*count = 0; result == Z_OK; *count = stream.total_out) {
		if (room - *count < room / 2)
			bytes = realloc(bytes, room *= 2);
		stream.next_out = (uint8_t *)bytes + *count;
		stream.avail_out = (uInt)(room - *count);
		result = inflate(&stream, Z_NO_FLUSH);
	}
	ck_assert_int_eq(result, Z_STREAM_END);
	ck_assert_uint_eq(stream.avail_in, 0);
	inflateEnd(&stream);
	return bytes;
}

static const uint8_t *section(const char *bytes, size_t bytes_count, size_t *at, size_t *count)
{
	const uint8_t *head = (const uint8_t *)bytes + *at;

	ck_assert_uint_le(*at + 4, bytes_count);
	*count = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	*at += 4 + *count;
	ck_assert_uint_le(*at, bytes_count);
	return head + 4;
}

struct html_text html_text_open(const char *page, size_t count)
{
	struct html_text text = { 0 };
	const char *begin = memmem(page, count, begin_mark, sizeof begin_mark - 1);
	size_t packed_count, bytes_count, at = 0, facts_count;

	ck_assert_ptr_nonnull(begin);
	begin += sizeof begin_mark - 1;
	const char *end = strchr(begin, '<');
	uint8_t *packed = decode(begin, (size_t)(end - begin), &packed_count);
	text.bytes = unpack(packed, packed_count, &bytes_count);
	free(packed);
	const uint8_t *facts = section(text.bytes, bytes_count, &at, &facts_count);
	text.facts = strndup((const char *)facts, facts_count);
	text.names.bytes = section(text.bytes, bytes_count, &at, &text.names.count);
	text.args.bytes = section(text.bytes, bytes_count, &at, &text.args.count);
	for (unsigned i = 0; i < HTML_COLUMNS_COUNT; i++)
		text.columns[i].bytes = section(text.bytes, bytes_count, &at, &text.columns[i].count);
	ck_assert_uint_eq(at, bytes_count);
	return text;
}

void html_text_close(struct html_text *text)
{
	free(text->bytes);
	free(text->facts);
	memset(text, 0, sizeof *text);
}

uint64_t *html_text_numbers(const struct html_text *text, enum html_column column, size_t *count)
{
	const uint8_t *at = text->columns[column].bytes, *end = at + text->columns[column].count;
	uint64_t *numbers = calloc((size_t)(end - at) + 1, sizeof *numbers);

	for (*count = 0; at < end; at++) {
		uint64_t number = *at & 127;
		for (unsigned shift = 7; *at & 128; shift += 7) {
			ck_assert(++at < end && shift < 64);
			number |= (uint64_t)(*at & 127) << shift;
		}
		numbers[(*count)++] = number;
	}
	return numbers;
}

char *html_text_dump(const char *page, size_t page_count)
{
	static const char *const names[HTML_COLUMNS_COUNT] = { "start",      "duration", "row",         "depth",
		                                               "name",       "what",     "start_error", "end_error",
		                                               "args",       "value",    "caused",      "cause",
		                                               "arrow_from", "arrow_to" };
	struct html_text text = html_text_open(page, page_count);
	char *dump = NULL;
	size_t dump_bytes;
	FILE *file = open_memstream(&dump, &dump_bytes);

	/* A line for each member of the facts, so that a difference is short. */
	for (const char *at = text.facts; *at; at++) {
		fputc(*at, file);
		if (*at == ',' && (at[1] == '"' || at[1] == '{'))
			fputc('\n', file);
	}
	fprintf(file, "\n\n%.*s\n%.*s", (int)text.names.count, text.names.bytes, (int)text.args.count, text.args.bytes);
	for (unsigned i = 0; i < HTML_COLUMNS_COUNT; i++) {
		size_t count = text.columns[i].count;
		fprintf(file, "\n%s:", names[i]);
		if (i == HTML_VALUE) {
			for (size_t j = 0; j < count; j++)
				fprintf(file, " %02x", text.columns[i].bytes[j]);
			continue;
		}
		uint64_t *numbers = html_text_numbers(&text, i, &count);
		for (size_t j = 0; j < count; j++)
			fprintf(file, " %" PRIu64, numbers[j]);
		free(numbers);
	}
	fputc('\n', file);
	fclose(file);
	html_text_close(&text);
	return dump;
}
