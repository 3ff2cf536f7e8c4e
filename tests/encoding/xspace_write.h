/* Writes the parts of an XSpace for its test: the size and the bytes of each part, without the head of its field.
 * Members of a oneof are written even if they are zero: readers would drop a stat
 * without a value, and take an event without an offset as aggregated. Other zeros are omitted. */
#ifndef EPPROF_TESTS_ENCODING_XSPACE_WRITE_H
#define EPPROF_TESTS_ENCODING_XSPACE_WRITE_H

#include "encoding/xspace.h"

static inline size_t xspace_stat_bytes(const struct xspace_stat *stat)
{
	size_t bytes = protobuf_i64_bytes(XSTAT_METADATA_ID, stat->metadata_id);
	switch (stat->type) {
	case XSTAT_F64:
		return bytes + protobuf_fixed64_bytes(XSTAT_F64);
	case XSTAT_U64:
	case XSTAT_I64:
	case XSTAT_REF:
		return bytes + protobuf_u64_bytes((uint32_t)stat->type, stat->value.u64);
	case XSTAT_TEXT:
		return bytes + protobuf_text_bytes(XSTAT_TEXT, stat->value.text.text, stat->value.text.bytes);
	case XSTAT_BYTES:
		return bytes + protobuf_bytes_bytes(XSTAT_BYTES, stat->value.text.bytes);
	default:
		return bytes;
	}
}

static inline char *xspace_stat_write(char *at, const struct xspace_stat *stat)
{
	at = protobuf_i64(at, XSTAT_METADATA_ID, stat->metadata_id);
	switch (stat->type) {
	case XSTAT_F64:
		return protobuf_f64(at, XSTAT_F64, stat->value.f64);
	case XSTAT_U64:
	case XSTAT_I64:
	case XSTAT_REF:
		return protobuf_u64(at, (uint32_t)stat->type, stat->value.u64);
	case XSTAT_TEXT:
		return protobuf_text(at, XSTAT_TEXT, stat->value.text.text, stat->value.text.bytes);
	case XSTAT_BYTES:
		return protobuf_bytes(at, XSTAT_BYTES, stat->value.text.text, stat->value.text.bytes);
	default:
		return at;
	}
}

static inline size_t xspace_event_bytes(const struct xspace_event *event)
{
	size_t bytes = protobuf_i64_bytes(XEVENT_METADATA_ID, event->metadata_id);
	if (event->occurrences)
		bytes += protobuf_i64_bytes(XEVENT_OCCURRENCES, event->occurrences);
	else
		bytes += protobuf_i64_bytes(XEVENT_OFFSET_PS, event->offset_ps);
	if (event->duration_ps)
		bytes += protobuf_i64_bytes(XEVENT_DURATION_PS, event->duration_ps);
	for (size_t i = 0; i < event->stats_count; i++)
		bytes += protobuf_bytes_bytes(XEVENT_STATS, xspace_stat_bytes(&event->stats[i]));
	return bytes;
}

static inline char *xspace_event_write(char *at, const struct xspace_event *event)
{
	at = protobuf_i64(at, XEVENT_METADATA_ID, event->metadata_id);
	if (event->occurrences)
		at = protobuf_i64(at, XEVENT_OCCURRENCES, event->occurrences);
	else
		at = protobuf_i64(at, XEVENT_OFFSET_PS, event->offset_ps);
	if (event->duration_ps)
		at = protobuf_i64(at, XEVENT_DURATION_PS, event->duration_ps);
	for (size_t i = 0; i < event->stats_count; i++) {
		at = protobuf_head(at, XEVENT_STATS, xspace_stat_bytes(&event->stats[i]));
		at = xspace_stat_write(at, &event->stats[i]);
	}
	return at;
}

static size_t metadata_bytes(int64_t id, struct protobuf_string name)
{
	return protobuf_i64_bytes(XMETADATA_ID, id) + protobuf_text_bytes(XMETADATA_NAME, name.text, name.bytes);
}

static inline size_t xspace_metadata_bytes(int64_t id, struct protobuf_string name)
{
	return protobuf_i64_bytes(1, id) + protobuf_bytes_bytes(2, metadata_bytes(id, name));
}

static inline char *xspace_metadata_write(char *at, int64_t id, struct protobuf_string name)
{
	at = protobuf_i64(at, 1, id);
	at = protobuf_head(at, 2, metadata_bytes(id, name));
	at = protobuf_i64(at, XMETADATA_ID, id);
	return protobuf_text(at, XMETADATA_NAME, name.text, name.bytes);
}

static size_t text_bytes(uint32_t field, struct protobuf_string text)
{
	return text.bytes ? protobuf_text_bytes(field, text.text, text.bytes) : 0;
}

static inline char *text_write(char *at, uint32_t field, struct protobuf_string text)
{
	return text.bytes ? protobuf_text(at, field, text.text, text.bytes) : at;
}

static inline size_t xspace_line_bytes(const struct xspace_line *line)
{
	return protobuf_i64_bytes(XLINE_ID, line->id) + text_bytes(XLINE_NAME, line->name) +
	       protobuf_i64_bytes(XLINE_TIMESTAMP_NS, line->timestamp_ns) +
	       (line->duration_ps ? protobuf_i64_bytes(XLINE_DURATION_PS, line->duration_ps) : 0) +
	       (line->display_id ? protobuf_i64_bytes(XLINE_DISPLAY_ID, line->display_id) : 0) +
	       text_bytes(XLINE_DISPLAY_NAME, line->display_name);
}

static inline char *xspace_line_write(char *at, const struct xspace_line *line)
{
	at = protobuf_i64(at, XLINE_ID, line->id);
	at = text_write(at, XLINE_NAME, line->name);
	at = protobuf_i64(at, XLINE_TIMESTAMP_NS, line->timestamp_ns);
	if (line->duration_ps)
		at = protobuf_i64(at, XLINE_DURATION_PS, line->duration_ps);
	if (line->display_id)
		at = protobuf_i64(at, XLINE_DISPLAY_ID, line->display_id);
	return text_write(at, XLINE_DISPLAY_NAME, line->display_name);
}

#endif
