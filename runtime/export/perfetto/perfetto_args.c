/* Writes args as debug annotations.  Keys are interned at their first use.  The cache of interned keys compares the
 * addresses of their texts, which do not change while the trace is open.  A key that was evicted from the cache is
 * interned again. */
#include "export/perfetto/perfetto.h"

/* Room for epprof's own data about an event: fewer than 16 annotations with short texts. */
#define KNOWN_BYTES 1024u
/* The maximum size of an arg without its key and text. */
#define ARG_BYTES 48u

/* The texts of enum perfetto_key, in its order. */
static const char *const known_keys[] = { "id",           "parent", "placement", "start_error_ns",
	                                  "end_error_ns", "device", "stream" };
#define FIRST_KEY_IID 64u

static char *put_interned(char *at, uint32_t field, uint32_t iid, const char *text, size_t bytes)
{
	char *key = protobuf_begin(at, field);

	at = protobuf_u64(key, INTERNED_IID, iid);
	at = protobuf_text(at, INTERNED_TEXT, text, bytes);
	protobuf_end(key, at);
	return at;
}

/* Writes the key of an annotation or of a stage's arg.  The two kinds have separate iids; here a key has the same iid
 * in both. */
static char *put_key(char *at, uint32_t iid, const char *text, size_t bytes, bool gpu_stages)
{
	at = put_interned(at, INTERNED_ANNOTATION_NAME, iid, text, bytes);
	return gpu_stages ? put_interned(at, INTERNED_KERNEL_ARG_NAME, iid, text, bytes) : at;
}

char *perfetto_put_known_keys(char *at, bool gpu_stages)
{
	for (uint32_t i = PERFETTO_KEY_ID; i < PERFETTO_KEY_FLAGS; i++)
		at = put_key(at, i, known_keys[i - 1], strlen(known_keys[i - 1]), gpu_stages);
	for (uint32_t i = 0; i < EXPORT_FLAGS_COUNT; i++)
		at = put_key(at, PERFETTO_KEY_FLAGS + i, export_flags[i], strlen(export_flags[i]), gpu_stages);
	return at;
}

static size_t slot_of(const char *key)
{
	return (size_t)(((uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % PERFETTO_CACHE_COUNT;
}

epp_status *perfetto_intern_keys(struct export_run *run, const epp_event *event)
{
	struct perfetto *perfetto = run->state;
	const epp_trace_arg *args = export_args(event);
	char *at, *interned;

	for (uint32_t i = 0; i < event->args_count; i++) {
		size_t slot = slot_of(args[i].key);
		if (perfetto->keys[slot].text == args[i].key)
			continue;
		perfetto->keys[slot].text = args[i].key;
		perfetto->keys[slot].iid = FIRST_KEY_IID + perfetto->next_key_iid++;
		EPP_TRY(perfetto_packet_begin(run, 2 * (ARG_BYTES + message_text_bytes(args[i].key_bytes)), &at));
		interned = protobuf_begin(at, PACKET_INTERNED_DATA);
		at = put_key(interned, perfetto->keys[slot].iid, args[i].key, args[i].key_bytes, perfetto->gpu_stages);
		protobuf_end(interned, at);
		perfetto_packet_end(run, at);
	}
	return NULL;
}

size_t perfetto_args_bytes(const epp_event *event)
{
	return KNOWN_BYTES + message_args_bytes(event, ARG_BYTES);
}

static char *put_id(char *at, uint32_t key, uint64_t id)
{
	char *annotation = protobuf_begin_short(at, EVENT_ANNOTATION);

	at = protobuf_u64(annotation, ANNOTATION_NAME_IID, key);
	at = protobuf_u64_roomy(at, ANNOTATION_U64, id);
	protobuf_end_short(annotation, at);
	return at;
}

static char *put_number(char *at, uint32_t key, int64_t value)
{
	char *annotation = protobuf_begin_short(at, EVENT_ANNOTATION);

	at = protobuf_u64(annotation, ANNOTATION_NAME_IID, key);
	at = protobuf_i64(at, ANNOTATION_I64, value);
	protobuf_end_short(annotation, at);
	return at;
}

void perfetto_make_placements(struct perfetto *perfetto)
{
	for (unsigned placement = 0; placement <= EPP_PLACEMENT_COUNT; placement++) {
		struct perfetto_placement *made = &perfetto->placements[placement];
		const char *name = epp_placement_name(placement);
		char *annotation = protobuf_begin_short(made->text, EVENT_ANNOTATION), *at;
		at = protobuf_u64(annotation, ANNOTATION_NAME_IID, PERFETTO_KEY_PLACEMENT);
		at = protobuf_bytes(at, ANNOTATION_TEXT, name, strlen(name));
		protobuf_end_short(annotation, at);
		made->bytes = (uint8_t)(at - made->text);
	}
}

void perfetto_make_device(struct row *row)
{
	char *text = row->text + PERFETTO_ROW_DEVICE, *at = text;

	if (row->track->kind == EPP_TRACK_DEVICE) {
		if (row->track->device >= 0)
			at = put_number(at, PERFETTO_KEY_DEVICE, row->track->device);
		at = put_number(at, PERFETTO_KEY_STREAM, row->track->stream);
	}
	row->more_bytes = (uint8_t)(at - text);
}

static char *put_own_args(const struct perfetto *perfetto, char *at, const epp_event *event, const struct row *row)
{
	bool device = event->track->kind == EPP_TRACK_DEVICE;

	if (event->flags & EXPORT_FLAGS_NAMED)
		at = put_id(at, PERFETTO_KEY_ID, event->id);
	if (event->parent && (device || event->placement != EPP_PLACED_MEASURED))
		at = put_id(at, PERFETTO_KEY_PARENT, event->parent);
	if (export_has_placement(event)) {
		unsigned known = event->placement < EPP_PLACEMENT_COUNT ? event->placement : EPP_PLACEMENT_COUNT;
		const struct perfetto_placement *placement = &perfetto->placements[known];
		memcpy(at, placement->text, sizeof(placement->text));
		at += placement->bytes;
		at = put_number(at, PERFETTO_KEY_START_ERROR, event->start_error_ns);
		at = put_number(at, PERFETTO_KEY_END_ERROR, event->end_error_ns);
	}
	memcpy(at, row->text + PERFETTO_ROW_DEVICE, PERFETTO_ROW_DEVICE_BYTES);
	at += row->more_bytes;
	for (unsigned flags = event->flags & ~EXPORT_FLAGS_NAMED; flags; flags &= flags - 1) {
		char *annotation = protobuf_begin(at, EVENT_ANNOTATION);
		at = protobuf_u64(annotation, ANNOTATION_NAME_IID, PERFETTO_KEY_FLAGS + (uint32_t)__builtin_ctz(flags));
		at = protobuf_u64(at, ANNOTATION_BOOL, 1);
		protobuf_end(annotation, at);
	}
	return at;
}

uint32_t perfetto_key_iid(const struct perfetto *perfetto, const epp_trace_arg *arg)
{
	size_t slot = slot_of(arg->key);

	return perfetto->keys[slot].text == arg->key ? perfetto->keys[slot].iid : 0;
}

static char *put_arg(char *at, const struct perfetto *perfetto, const epp_trace_arg *arg)
{
	uint32_t iid = perfetto_key_iid(perfetto, arg);
	char *annotation = protobuf_begin(at, EVENT_ANNOTATION);

	/* If two keys of an event share a slot of the cache, the evicted key is written as text. */
	if (iid)
		at = protobuf_u64(annotation, ANNOTATION_NAME_IID, iid);
	else
		at = protobuf_text(annotation, ANNOTATION_NAME, arg->key, arg->key_bytes);
	if (arg->type == EPP_ARG_TEXT)
		at = protobuf_text(at, ANNOTATION_TEXT, arg->value.text, arg->text_bytes);
	else if (arg->type == EPP_ARG_F64)
		at = protobuf_f64(at, ANNOTATION_F64, arg->value.f64);
	else if (arg->type == EPP_ARG_U64)
		at = protobuf_u64(at, ANNOTATION_U64, arg->value.u64);
	else
		at = protobuf_i64(at, ANNOTATION_I64, arg->value.i64);
	protobuf_end(annotation, at);
	return at;
}

char *perfetto_put_args(const struct perfetto *perfetto, char *at, const epp_event *event, const struct row *row)
{
	const epp_trace_arg *args = export_args(event);

	at = put_own_args(perfetto, at, event, row);
	for (uint32_t i = 0; i < event->args_count; i++)
		at = put_arg(at, perfetto, &args[i]);
	return at;
}
