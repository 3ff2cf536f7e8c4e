/* Makes records from events.  A packed record consists of the first members of struct prepared, up to the args, the
 * args that are used, and the texts of the args one after the other. */
#include "import/make_record.h"

#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "import/import.h"

#define FIXED_BYTES offsetof(struct prepared, args)

void record_deinit(struct prepared *prepared)
{
	free(prepared->packed);
	prepared->packed = NULL;
}

/* Returns true for categories of calls into a device's runtime or driver: "cuda_runtime", "privateuse1_driver", ... */
static bool is_call(const struct event *event)
{
	static const char *const ends[] = { "_runtime", "_driver" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t bytes = strlen(ends[i]);
		if (event->cat.bytes > bytes &&
		    !memcmp(event_chars(event, event->cat) + event->cat.bytes - bytes, ends[i], bytes))
			return true;
	}
	return false;
}

static uint8_t category_of(const struct event *event, bool *known)
{
	static const char *const names[] = { "Session", "Node", "Kernel", "Api" };
	static const char *const kernels[] = { "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation" };

	*known = true;
	for (uint8_t i = 0; i < 4; i++) {
		if (event_text_is(event, event->cat, names[i]))
			return i;
	}
	*known = !event->cat.bytes;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		if (event_text_is(event, event->cat, kernels[i]))
			return EPP_KERNEL;
	}
	return is_call(event) ? EPP_API : EPP_NODE;
}

void record_add_arg(struct prepared *prepared, epp_name key, const char *text, size_t bytes)
{
	if (prepared->args_count == PREPARED_ARGS_MAX)
		return;
	epp_arg *arg = &prepared->args[prepared->args_count++];
	*arg = (epp_arg){ .key = key, .type = EPP_ARG_TEXT, .text_bytes = bytes };
	arg->value.text = text;
}

void record_prepare(struct import *import, const struct event *event, bool keeps_category)
{
	struct prepared *prepared = &import->prepared;
	const char *name = event_chars(event, event->name);
	bool known;

	prepared->record = (epp_trace_record){ .category = category_of(event, &known) };
	prepared->lane = LANE_NONE;
	prepared->has_correlation = prepared->has_cause_thread = false;
	prepared->parent_name = 0;
	prepared->args_count = 0;
	prepared->record.name = epp_trace_writer_intern_name(import->writer, name, event->name.bytes);
	for (uint32_t i = 0; i < event->args_count; i++) {
		const struct event_arg *from = &event->args[i];
		epp_arg *to = &prepared->args[prepared->args_count++];
		*to = (epp_arg){ .type = from->type, .text_bytes = from->text.bytes };
		to->key = epp_trace_writer_intern_name(import->writer, event_chars(event, from->key), from->key.bytes);
		if (from->type == EPP_ARG_TEXT)
			to->value.text = event_chars(event, from->text);
		else
			to->value.u64 = from->number.u64;
	}
	if (prepared->record.name == EPP_RECORD_NAME_LOST)
		record_add_arg(prepared, epp_trace_writer_intern_name(import->writer, "name", 4), name, event->name.bytes);
	if (keeps_category && !known)
		record_add_arg(prepared, epp_trace_writer_intern_name(import->writer, "cat", 3),
		               event_chars(event, event->cat), event->cat.bytes);
}

void record_claim(struct import *import, const int64_t claim[CLAIM_COUNT])
{
	static const char *const keys[CLAIM_COUNT] = { "ort_ts_us", "ort_dur_us", "ort_profile_us", "ort_pid", "ort_tid" };
	struct prepared *prepared = &import->prepared;

	memmove(prepared->args + CLAIM_COUNT, prepared->args, prepared->args_count * sizeof(*prepared->args));
	prepared->args_count += CLAIM_COUNT;
	for (unsigned i = 0; i < CLAIM_COUNT; i++) {
		prepared->args[i] = (epp_arg){ .key = epp_trace_writer_intern_name(import->writer, keys[i],
			                                                           strlen(keys[i])),
			                       .type = EPP_ARG_I64,
			                       .value.i64 = claim[i] };
	}
}

/* ---- keeping ---- */

epp_status *record_pack(struct prepared *prepared, size_t *bytes)
{
	size_t args_bytes = prepared->args_count * sizeof(*prepared->args), needed = FIXED_BYTES + args_bytes;

	for (uint32_t i = 0; i < prepared->args_count; i++)
		needed += prepared->args[i].type == EPP_ARG_TEXT ? prepared->args[i].text_bytes : 0;
	if (!array_reserve(&prepared->packed, &prepared->packed_room, needed, 1))
		return epp_status_no_memory();
	memcpy(prepared->packed, prepared, FIXED_BYTES);
	memcpy(prepared->packed + FIXED_BYTES, prepared->args, args_bytes);
	uint8_t *at = prepared->packed + FIXED_BYTES + args_bytes;
	for (uint32_t i = 0; i < prepared->args_count; i++) {
		const epp_arg *arg = &prepared->args[i];
		if (arg->type == EPP_ARG_TEXT && arg->text_bytes)
			at = mempcpy(at, arg->value.text, arg->text_bytes);
	}
	*bytes = needed;
	return NULL;
}

/* Copies the args of a packed record into `args`; returns their number. */
static uint32_t unpack_args(epp_arg *args, uint32_t room, const uint8_t *packed)
{
	uint32_t count, packed_count;

	memcpy(&packed_count, packed + offsetof(struct prepared, args_count), sizeof(packed_count));
	count = packed_count < room ? packed_count : room;
	memcpy(args, packed + FIXED_BYTES, count * sizeof(*args));
	const uint8_t *text = packed + FIXED_BYTES + packed_count * sizeof(*args);
	for (uint32_t i = 0; i < count; i++) {
		if (args[i].type != EPP_ARG_TEXT)
			continue;
		args[i].value.text = (const char *)text;
		text += args[i].text_bytes;
	}
	return count;
}

/* Restores name, times and lane.  The args and the members after them are not restored, because record_pack does not
 * copy them. */
static void unpack_fixed(struct prepared *prepared, const void *packed)
{
	memcpy(prepared, packed, FIXED_BYTES);
}

void record_unpack(struct prepared *prepared, const void *packed)
{
	unpack_fixed(prepared, packed);
	prepared->args_count = unpack_args(prepared->args, PREPARED_ARGS_MAX, packed);
}

void record_unpack_before(struct prepared *prepared, const void *packed)
{
	uint32_t kept = prepared->args_count, count;

	unpack_fixed(prepared, packed);
	count = prepared->args_count < PREPARED_ARGS_MAX ? prepared->args_count : PREPARED_ARGS_MAX;
	if (kept > PREPARED_ARGS_MAX - count)
		kept = PREPARED_ARGS_MAX - count;
	memmove(prepared->args + count, prepared->args, kept * sizeof(*prepared->args));
	prepared->args_count = unpack_args(prepared->args, count, packed) + kept;
}

epp_status *record_write(struct import *import, struct prepared *prepared)
{
	if (!prepared->record.track)
		EPP_TRY(lanes_track(import, prepared->lane, &prepared->record.track));
	prepared->record.args = prepared->args;
	prepared->record.args_count = prepared->args_count;
	return epp_trace_writer_add_record(import->writer, &prepared->record);
}
