/* Stores args behind a record. The usual case, enough room and nothing to cut, takes one pass. Otherwise the args are
 * measured first, so that the record can be reserved in one piece, and then stored. Both ways apply the limits of
 * format/format.h; args beyond them are cut, which is marked in the record and counted. */
#ifndef EPPROF_RUNTIME_RECORD_EVENTS_ARGS_H
#define EPPROF_RUNTIME_RECORD_EVENTS_ARGS_H

#include <string.h>

#include "record/recorder.h"

struct args_size {
	uint32_t slots; /* of 16 bytes, text included */
	uint32_t count; /* args that are stored */
	bool cut;
};

static inline size_t args_text_bytes(const epp_arg *arg, size_t text_left)
{
	if (arg->type != EPP_ARG_TEXT || !arg->value.text)
		return 0;
	return arg->text_bytes < text_left ? arg->text_bytes : text_left;
}

/* Keeps at most `most` args: EPF_ARG_SLOTS_MAX minus the slots used for other data of the record. */
static inline struct args_size args_measure(const epp_arg *args, size_t args_count, uint32_t most)
{
	struct args_size size = { .count = args_count < most ? (uint32_t)args_count : most };
	size_t text_left = EPF_ARG_TEXT_MAX;
	size.slots = size.count;
	size.cut = size.count < args_count;
	for (uint32_t i = 0; i < size.count; i++) {
		if (__builtin_expect(args[i].type == EPP_ARG_TEXT, 0)) {
			size_t bytes = args_text_bytes(&args[i], text_left);
			size.cut |= args[i].value.text && bytes < args[i].text_bytes;
			size.slots += (uint32_t)((bytes + 15) / 16);
			text_left -= bytes;
		}
	}
	return size;
}

static inline uint32_t args_key(const epp_arg *arg)
{
	return arg->key ? arg->key : EPF_NAME_NONE;
}

/* Most texts are short: two overlapping copies are faster than a call of memcpy. */
static inline void args_copy_text(char *to, const char *text, size_t bytes)
{
	if (bytes > 16) {
		memcpy(to, text, bytes);
	} else if (bytes >= 8) {
		memcpy(to, text, 8);
		memcpy(to + bytes - 8, text + bytes - 8, 8);
	} else if (bytes >= 4) {
		memcpy(to, text, 4);
		memcpy(to + bytes - 4, text + bytes - 4, 4);
	} else if (bytes) {
		to[0] = text[0];
		to[bytes / 2] = text[bytes / 2];
		to[bytes - 1] = text[bytes - 1];
	}
}

/* Stores args from the first text on. Not inline, because args without text would pay for its call of memcpy. */
static __attribute__((noinline, unused)) void args_fill_rest(struct epf_arg *slot, const epp_arg *arg, const epp_arg *end)
{
	size_t text_left = EPF_ARG_TEXT_MAX;
	for (; arg < end; arg++) {
		bool is_text = arg->type == EPP_ARG_TEXT;
		size_t bytes = args_text_bytes(arg, text_left);
		text_left -= bytes;
		slot->key = args_key(arg);
		slot->type_and_bytes = (arg->type & 3u) | (uint32_t)bytes << 8;
		slot->value = is_text ? 0 : arg->value.u64;
		slot++;
		args_copy_text((char *)slot, arg->value.text, bytes);
		slot += (bytes + 15) / 16;
	}
}

/* Stores args up to the first text; returns how many. */
static inline size_t args_fill_numbers(struct epf_arg *slots, const epp_arg *args, size_t count)
{
	size_t at = 0;
	for (; at < count && __builtin_expect(args[at].type != EPP_ARG_TEXT, 1); at++) {
		slots[at].key = args_key(&args[at]);
		slots[at].type_and_bytes = args[at].type & 3u;
		slots[at].value = args[at].value.u64;
	}
	return at;
}

/* Stores args at `slots` in one pass if they end at or before `limit` and nothing is cut. Returns their end. If they do
 * not fit, it returns `slots` and clears what it stored, because the bytes behind the last record must be zero. */
static inline struct epf_arg *args_fill_fitting(struct epf_arg *slots, const struct epf_arg *limit, const epp_arg *args,
                                                size_t count)
{
	size_t room = (size_t)(limit - slots), text_left = EPF_ARG_TEXT_MAX;
	bool fits = count <= EPF_ARG_SLOTS_MAX && count <= room;
	/* Without args the pointer may be NULL, and adding to NULL is undefined. */
	if (!fits || !count)
		return slots;
	size_t numbers = args_fill_numbers(slots, args, count);
	struct epf_arg *slot = slots + numbers;
	const epp_arg *arg = args + numbers, *end = args + count;
	for (; arg < end; arg++) {
		size_t bytes = args_text_bytes(arg, SIZE_MAX), step = 1 + (bytes + 15) / 16;
		fits = bytes <= text_left && step <= (size_t)(limit - slot);
		if (__builtin_expect(!fits, 0))
			break;
		text_left -= bytes;
		slot->key = args_key(arg);
		slot->type_and_bytes = (arg->type & 3u) | (uint32_t)bytes << 8;
		slot->value = arg->type == EPP_ARG_TEXT ? 0 : arg->value.u64;
		args_copy_text((char *)(slot + 1), arg->value.text, bytes);
		slot += step;
	}
	if (__builtin_expect(fits, 1))
		return slot;
	memset(slots, 0, (size_t)((char *)slot - (char *)slots));
	return slots;
}

/* Stores args that args_measure measured. */
static inline void args_fill(struct epf_arg *slot, const epp_arg *args, const struct args_size *size)
{
	size_t numbers = args_fill_numbers(slot, args, size->count);
	if (numbers < size->count)
		args_fill_rest(slot + numbers, args + numbers, args + size->count);
}

/* The number of slots of a record with these args and a parent (0: none). */
static inline uint32_t args_slots(const struct args_size *size, uint64_t parent)
{
	return size->slots + (parent != 0);
}

/* Stores a parent (0: none) and args behind a reserved record whose times and id are already stored, and publishes
 * it. */
static inline void args_publish(struct recorder *recorder, struct epf_record *record, uint32_t name, uint16_t bits,
                                uint64_t parent, const epp_arg *args, const struct args_size *size)
{
	struct epf_arg *slot = (struct epf_arg *)(void *)(record + 1);
	if (parent)
		*slot++ = (struct epf_arg){ .key = EPF_NAME_PARENT, .type_and_bytes = EPP_ARG_U64, .value = parent };
	args_fill(slot, args, size);
	if (__builtin_expect(size->cut, 0)) {
		recorder_lose(recorder, EPP_LOSS_TOO_LARGE);
		bits |= EPF_BITS(0, 0, 0, EPF_FLAG_CUT);
	}
	recorder_publish(recorder, record, name, bits, (uint16_t)args_slots(size, parent));
}

#endif
