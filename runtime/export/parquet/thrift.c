/* Writes Thrift's compact protocol.  Numbers are zigzag varints.  The head of a field has the distance from the
 * previous field in its upper four bits if it fits; otherwise the field number follows the head. */
#include "export/parquet/thrift.h"

#include "encoding/protobuf.h"

/* A bool has no value after its head: its type is the value.  Lists never contain lists here, so LIST is never an
 * element type. */
enum { TRUE = 1, FALSE = 2, LIST = 9 };

#define DISTANCE_MAX 15
#define SHORT_LIST_MAX 14

struct thrift thrift_begin(char *at)
{
	return (struct thrift){ .at = at };
}

static void put_head(struct thrift *thrift, int field, int type)
{
	int distance = field - thrift->last[thrift->depth];

	if (!field)
		return;
	thrift->last[thrift->depth] = field;
	if (distance > 0 && distance <= DISTANCE_MAX) {
		*thrift->at++ = (char)(distance << 4 | type);
	} else {
		*thrift->at++ = (char)type;
		thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(field));
	}
}

void thrift_bool(struct thrift *thrift, int field, bool value)
{
	put_head(thrift, field, value ? TRUE : FALSE);
}

void thrift_i32(struct thrift *thrift, int field, int32_t value)
{
	put_head(thrift, field, THRIFT_I32);
	thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(value));
}

void thrift_i64(struct thrift *thrift, int field, int64_t value)
{
	put_head(thrift, field, THRIFT_I64);
	thrift->at = protobuf_varint(thrift->at, protobuf_zigzag(value));
}

void thrift_bytes(struct thrift *thrift, int field, const void *bytes, size_t count)
{
	put_head(thrift, field, THRIFT_TEXT);
	thrift->at = mempcpy(protobuf_varint(thrift->at, count), bytes, count);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
	thrift_bytes(thrift, field, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
	put_head(thrift, field, LIST);
	if (count <= SHORT_LIST_MAX) {
		*thrift->at++ = (char)(count << 4 | type);
	} else {
		*thrift->at++ = (char)(0xF0 | type);
		thrift->at = protobuf_varint(thrift->at, count);
	}
}

void thrift_struct(struct thrift *thrift, int field)
{
	put_head(thrift, field, THRIFT_STRUCT);
	thrift->last[++thrift->depth] = 0;
}

void thrift_end(struct thrift *thrift)
{
	*thrift->at++ = 0;
	if (thrift->depth)
		thrift->depth--;
}
