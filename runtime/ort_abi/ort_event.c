/* OrtProfilingEvent.  An owned event is one allocation: the struct, its key and value pointers, the texts.  Texts of a
 * borrowed event's args are created when the profiler asks for them.  They never move, because the profiler may still
 * use an earlier one.
 *
 * Long texts are in a chain of blocks that each thread has.  The chain is emptied when the next borrowed event first
 * needs it, and freed when the thread ends.  This is safe because the library, and with it the destructor, is never
 * unloaded. */
#include "ort_abi/ort_event.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/os/os.h"
#include "format/format.h"

#define BLOCK_BYTES 1024

/* Units of OrtProfilingEvent::borrowed.  SCRATCH_BYTE counts a used byte of `scratch`; the bit THREAD_TEXTS means that
 * there are texts in the thread's blocks. */
#define SCRATCH_BYTE 2
#define THREAD_TEXTS (1 << 16)

struct text_block {
	SLIST_ENTRY(text_block) link;
	size_t room;
	size_t used;
	char text[];
};
SLIST_HEAD(text_blocks, text_block);

static pthread_key_t blocks_key;
static bool blocks_key_made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void blocks_empty(struct text_blocks *blocks)
{
	struct text_block *block;
	while ((block = SLIST_FIRST(blocks))) {
		SLIST_REMOVE_HEAD(blocks, link);
		free(block);
	}
}

static void blocks_free(void *blocks)
{
	blocks_empty(blocks);
	free(blocks);
}

static void set_up(void)
{
	blocks_key_made = pthread_key_create(&blocks_key, blocks_free) == 0;
}

/* Allocates memory from the thread's blocks.  The thread's next borrowed event reuses it.  NULL: no memory. */
static char *thread_room(OrtProfilingEvent *event, size_t bytes)
{
	if (!blocks_key_made)
		return NULL;
	struct text_blocks *blocks = pthread_getspecific(blocks_key);
	if (!blocks) {
		blocks = calloc(1, sizeof(*blocks));
		if (!blocks)
			return NULL;
		if (pthread_setspecific(blocks_key, blocks)) {
			free(blocks);
			return NULL;
		}
	}
	if (!(event->borrowed & THREAD_TEXTS))
		blocks_empty(blocks);
	struct text_block *block = SLIST_FIRST(blocks);
	if (!block || block->room - block->used < bytes) {
		size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->room = room;
		block->used = 0;
		SLIST_INSERT_HEAD(blocks, block, link);
	}
	event->borrowed |= THREAD_TEXTS;
	char *text = block->text + block->used;
	block->used += bytes;
	return text;
}

static const char *text_keep(OrtProfilingEvent *event, const char *text, size_t bytes)
{
	char *copy;
	size_t used = (size_t)(event->borrowed & (THREAD_TEXTS - 1)) / SCRATCH_BYTE;
	if (bytes < sizeof(event->scratch) - used) {
		copy = event->scratch + used;
		event->borrowed += SCRATCH_BYTE * ((int)bytes + 1);
	} else {
		copy = thread_room(event, bytes + 1);
	}
	if (!copy)
		return NULL;
	if (bytes)
		memcpy(copy, text, bytes);
	copy[bytes] = 0;
	return copy;
}

static const char *arg_text(OrtProfilingEvent *event, const epp_arg *arg)
{
	char number[40];
	size_t bytes = 0;
	pthread_once(&once, set_up);
	switch (arg->type) {
	case EPP_ARG_TEXT:
		return text_keep(event, arg->value.text, arg->value.text ? arg->text_bytes : 0);
	case EPP_ARG_I64:
		bytes = (size_t)snprintf(number, sizeof(number), "%" PRId64, arg->value.i64);
		break;
	case EPP_ARG_U64:
		bytes = (size_t)snprintf(number, sizeof(number), "%" PRIu64, arg->value.u64);
		break;
	case EPP_ARG_F64:
		bytes = os_number_print(number, sizeof(number), arg->value.f64);
		break;
	default:
		return NULL;
	}
	return text_keep(event, number, bytes);
}

/* Finds an arg among args that were interned together. */
static const char *defined_arg(OrtProfilingEvent *event, epp_name number, const char *key)
{
	struct name_text of = name_get(number);
	struct epf_arg slot;
	for (size_t at = 0; of.is_args && at < of.bytes;) {
		memcpy(&slot, of.text + at, sizeof(slot));
		at += sizeof(slot);
		epp_arg arg = { .key = slot.key, .type = slot.type_and_bytes & 255, .value = { .u64 = slot.value } };
		if (arg.type == EPP_ARG_TEXT) {
			arg.text_bytes = slot.type_and_bytes >> 8;
			arg.value.text = of.text + at;
			at += (arg.text_bytes + sizeof(slot) - 1) / sizeof(slot) * sizeof(slot);
		}
		if (!strcmp(epp_name_text(arg.key), key))
			return arg_text(event, &arg);
	}
	return NULL;
}

static const char *host_arg(OrtProfilingEvent *event, const epp_arg *arg, const char *key)
{
	if (arg->key == EPF_NAME_ARGS)
		return defined_arg(event, (epp_name)arg->value.u64, key);
	return strcmp(epp_name_text(arg->key), key) != 0 ? NULL : arg_text(event, arg);
}

const char *ort_event_arg(OrtProfilingEvent *event, const char *key)
{
	const char *text = NULL;
	for (uint32_t i = 0; i < event->args_count && !text; i++) {
		if (event->borrowed)
			text = host_arg(event, &event->host_args[i], key);
		else if (event->keys[i] && !strcmp(event->keys[i], key))
			return event->values[i];
	}
	return text;
}

/* Returns the time between two ticks in us, rounded down, also if it is negative. */
static int64_t span_us(uint64_t from_ticks, uint64_t to_ticks)
{
	if ((int64_t)(to_ticks - from_ticks) >= 0)
		return (int64_t)(clock_ticks_to_ns(to_ticks - from_ticks) / 1000);
	return -(int64_t)((clock_ticks_to_ns(from_ticks - to_ticks) + 999) / 1000);
}

const char *ort_event_name(const OrtProfilingEvent *event)
{
	if (event->name)
		return event->name;
	return event->borrowed ? epp_name_text(event->name_number) : "";
}

int64_t ort_event_timestamp_us(const OrtProfilingEvent *event)
{
	return event->borrowed ? span_us(event->base_ticks, event->start_ticks) : event->timestamp_us;
}

int64_t ort_event_duration_us(const OrtProfilingEvent *event)
{
	return event->borrowed ? span_us(event->start_ticks, event->end_ticks) : event->duration_us;
}

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Copies a text to *to, moves *to behind the copy, and returns the copy. */
static const char *text_copy(char **to, const char *text)
{
	size_t bytes = text_bytes(text);
	char *copy = *to;
	if (!text)
		return NULL;
	memcpy(copy, text, bytes);
	*to += bytes;
	return copy;
}

OrtProfilingEvent *ort_event_create(int32_t category, int32_t process_id, int32_t thread_id, const char *name,
                                    int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                                    const char *const *values, size_t count)
{
	if (count > UINT32_MAX)
		return NULL;
	size_t bytes = sizeof(OrtProfilingEvent) + 2 * count * sizeof(char *) + text_bytes(name);
	for (size_t i = 0; i < count; i++)
		bytes += text_bytes(keys[i]) + text_bytes(values[i]);
	OrtProfilingEvent *event = malloc(bytes);
	if (!event)
		return NULL;
	const char **pointers = (const char **)(event + 1);
	char *texts = (char *)(pointers + 2 * count);
	*event = (OrtProfilingEvent){
		.category = category,
		.process_id = process_id,
		.thread_id = thread_id,
		.args_count = (uint32_t)count,
		.name = text_copy(&texts, name),
		.timestamp_us = timestamp_us,
		.duration_us = duration_us,
		.keys = pointers,
		.values = pointers + count,
	};
	for (size_t i = 0; i < count; i++) {
		pointers[i] = text_copy(&texts, keys[i]);
		pointers[count + i] = text_copy(&texts, values[i]);
	}
	return event;
}

void ort_event_destroy(OrtProfilingEvent *event)
{
	if (event && !event->borrowed)
		free(event);
}
