/* Stores args behind a record. The args are measured first, so that room for the record and its args can be reserved in
 * one piece; then they are stored. Args beyond the limits of format/format.h are left out, and a text beyond them is
 * shortened. The record then gets the flag EPF_FLAG_CUT, and 1 is added to the thread's losses for the reason
 * EPP_LOSS_TOO_LARGE. */
#ifndef EPPROF_RUNTIME_RECORD_ARGS_H
#define EPPROF_RUNTIME_RECORD_ARGS_H

#include <string.h>

#include "record/recorder.h"

struct args_size {
	uint32_t slots; /* the number of slots of 16 bytes, including those of texts */
	uint32_t count; /* the number of args that are stored */
	bool cut;
};

static inline size_t args_text_bytes(const epp_arg *arg, size_t text_left)
{
	if (arg->type != EPP_ARG_TEXT || !arg->value.text)
		return 0;
	return arg->text_bytes < text_left ? arg->text_bytes : text_left;
}

/* Measures args. At most `most` args are stored: EPF_ARG_SLOTS_MAX, less 1 if the record has a parent. The slots of
 * texts are counted in addition; all texts together have at most EPF_ARG_TEXT_MAX bytes. */
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

/* Copies a text. Most texts are short, and two overlapping copies are faster than a call of memcpy. */
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

/* Stores args that args_measure measured. */
static inline void args_fill(struct epf_arg *slot, const epp_arg *args, const struct args_size *size)
{
	size_t text_left = EPF_ARG_TEXT_MAX;
	/* `args` is indexed only if there are args: it may be NULL otherwise, and in C even adding 0 to NULL is
	 * undefined. */
	for (uint32_t i = 0; i < size->count; i++, slot++) {
		const epp_arg *arg = &args[i];
		slot->key = args_key(arg);
		slot->type_and_bytes = arg->type & 3u;
		slot->value = arg->value.u64;
		if (__builtin_expect(arg->type != EPP_ARG_TEXT, 1))
			continue;
		size_t bytes = args_text_bytes(arg, text_left);
		text_left -= bytes;
		slot->type_and_bytes |= (uint32_t)bytes << 8;
		slot->value = 0;
		args_copy_text((char *)(slot + 1), arg->value.text, bytes);
		slot += (bytes + 15) / 16;
	}
}

/* Returns the number of slots of a record with these args and a parent (0: none). */
static inline uint32_t args_slots(const struct args_size *size, uint64_t parent)
{
	return size->slots + (parent != 0);
}

/* Stores a parent (0: none) and args behind a reserved record, and publishes the record. The times and the id of the
 * record must be stored already. */
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
