/* A reader of Thrift's compact protocol for tests.  Each field stores where its value begins and ends, so that structs
 * and lists are decoded only on demand. */
#include "tests/support/thrift_text.h"

#include <string.h>

#include "tests/support/check.h"

uint64_t thrift_read_varint(struct thrift_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		MUST(cursor->at < cursor->end && shift < 70);
		value |= (uint64_t)(*cursor->at & 0x7F) << shift;
		if (!(*cursor->at++ & 0x80))
			return value;
	}
}

int64_t thrift_read_zigzag(struct thrift_cursor *cursor)
{
	uint64_t value = thrift_read_varint(cursor);

	return (int64_t)(value >> 1 ^ -(value & 1));
}

static void skip_struct(struct thrift_cursor *cursor)
{
	struct thrift_field field;
	int last = 0;

	while (thrift_next(cursor, &last, &field))
		;
}

void thrift_read(struct thrift_cursor *cursor, struct thrift_field *field)
{
	field->bytes = cursor->at;
	if (field->type == 1 || field->type == 2) {
		field->integer = field->type == 1;
	} else if (field->type >= 3 && field->type <= 6) {
		field->integer = thrift_read_zigzag(cursor);
	} else if (field->type == 8) {
		field->count = thrift_read_varint(cursor);
		field->bytes = cursor->at;
		MUST(field->count <= (size_t)(cursor->end - cursor->at));
		cursor->at += field->count;
	} else if (field->type == 12) {
		skip_struct(cursor);
	} else {
		MUST(field->type == 9);
		MUST(cursor->at < cursor->end);
		field->element = *cursor->at & 15;
		field->count = *cursor->at++ >> 4;
		if (field->count == 15)
			field->count = thrift_read_varint(cursor);
		field->bytes = cursor->at;
		for (size_t i = 0; i < field->count; i++)
			thrift_read(cursor, &(struct thrift_field){ .type = field->element });
	}
	field->end = cursor->at;
}

bool thrift_next(struct thrift_cursor *cursor, int *last, struct thrift_field *field)
{
	MUST(cursor->at < cursor->end);
	uint8_t head = *cursor->at++;
	*field = (struct thrift_field){ .type = head & 15 };
	if (!head)
		return false;
	field->number = head >> 4 ? *last + (head >> 4) : (int)thrift_read_zigzag(cursor);
	MUST(field->number > *last);
	*last = field->number;
	thrift_read(cursor, field);
	return true;
}

struct thrift_field thrift_get(const struct thrift_field *within, int number)
{
	struct thrift_cursor cursor = { within->bytes, within->end };
	struct thrift_field field;
	int last = 0;

	MUST(within->type == 12);
	while (thrift_next(&cursor, &last, &field)) {
		if (field.number == number)
			return field;
	}
	return (struct thrift_field){ 0 };
}

int64_t thrift_integer(const struct thrift_field *within, int number)
{
	struct thrift_field field = thrift_get(within, number);

	MUST(field.type && field.type <= 6);
	return field.integer;
}

char *thrift_copy(const struct thrift_field *field)
{
	MUST(field->type == 8);
	return strndup((const char *)field->bytes, field->count);
}

struct thrift_field thrift_element(const struct thrift_field *list, size_t index)
{
	struct thrift_cursor cursor = { list->bytes, list->end };
	struct thrift_field field = { 0 };

	MUST(list->type == 9);
	MUST(index < list->count);
	for (size_t i = 0; i <= index; i++) {
		field = (struct thrift_field){ .type = list->element };
		thrift_read(&cursor, &field);
	}
	return field;
}
