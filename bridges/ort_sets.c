/* A table for each group.  It is looked through without a lock: a set is stored into it, with release, once it is whole.  It
 * stays as large as it is, so of a model whose shapes change without end the sets beyond are no sets. */
#include "ort_sets.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS_MAX (1u << 14)
#define TABLE_PLACES (2 * SETS_MAX)

const char *const ort_key_texts[ORT_KEYS] = {
	"input_type_shape",
	"output_type_shape",
	"activation_size",
	"op_name",
	"provider",
	"parameter_size",
	"output_size",
	"thread_scheduling_stats",
	"mem_bytes_in_use",
	"mem_bytes_requested_in_use",
	"mem_in_use_delta",
	"mem_requested_in_use_delta",
	"mem_in_use_peak",
	"mem_arena_held",
	"mem_arena_held_delta",
};

static epp_name keys[ORT_KEYS];
static struct ort_set *table[ORT_GROUPS][TABLE_PLACES];
static uint32_t sets_count[ORT_GROUPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ort_sets_prepare(void)
{
	for (size_t i = 0; i < ORT_KEYS; i++)
		keys[i] = epp_name_intern(ort_key_texts[i]);
}

size_t ort_set_list(enum ort_group group, const char *const values[ORT_KEYS], epp_arg *args)
{
	size_t count = 0;
	for (size_t i = GROUP_FIRST(group); i < GROUP_END(group); i++)
		if (values[i]) {
			args[count].key = keys[i];
			ort_value_read(&args[count++], values[i]);
		}
	return count;
}

static uint64_t hash_of(enum ort_group group, const char *const values[ORT_KEYS])
{
	uint64_t hash = 0xcbf29ce484222325u + (unsigned)group;
	for (size_t i = GROUP_FIRST(group); i < GROUP_END(group); i++) {
		hash = (hash ^ (values[i] ? 256 : 257)) * 0x100000001b3u;
		for (const char *at = values[i]; at && *at; at++)
			hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
	}
	return hash ^ hash >> 32;
}

/* The set, or NULL and the place where it would stand. */
static struct ort_set *look_up(enum ort_group group, const char *const values[ORT_KEYS], uint64_t hash,
                               struct ort_set ***place)
{
	struct ort_set *set;
	for (uint32_t at = (uint32_t)hash;; at++) {
		*place = &table[group][at % TABLE_PLACES];
		set = __atomic_load_n(*place, __ATOMIC_ACQUIRE);
		if (!set || (set->hash == hash && ort_set_is(set, group, values)))
			return set;
	}
}

static struct ort_set *make(enum ort_group group, const char *const values[ORT_KEYS], uint64_t hash)
{
	epp_arg args[GROUP_KEYS_MAX];
	size_t bytes = 0;
	epp_name number = epp_args_intern(args, ort_set_list(group, values, args));
	for (size_t i = GROUP_FIRST(group); i < GROUP_END(group); i++)
		bytes += values[i] ? strlen(values[i]) + 1 : 0;
	struct ort_set *set = number ? calloc(1, sizeof(*set) + bytes) : NULL;
	if (!set)
		return NULL;
	char *at = set->room;
	set->number = number;
	set->hash = hash;
	for (size_t i = GROUP_FIRST(group), key = 0; i < GROUP_END(group); i++, key++) {
		if (!values[i])
			continue;
		size_t whole = strlen(values[i]) + 1;
		set->texts[key] = memcpy(at, values[i], whole);
		set->bytes[key] = whole <= VALUE_BEGINNING_BYTES ? (uint8_t)whole : VALUE_IS_LONGER;
		memcpy(set->beginnings[key].words, at, whole < VALUE_BEGINNING_BYTES ? whole : VALUE_BEGINNING_BYTES);
		at += whole;
	}
	return set;
}

const struct ort_set *ort_set_find(enum ort_group group, const char *const values[ORT_KEYS], uint32_t seen[ORT_SETS_SEEN])
{
	uint64_t hash = hash_of(group, values);
	struct ort_set **place, *set = look_up(group, values, hash, &place);
	uint32_t *known = &seen[hash % ORT_SETS_SEEN], other = (uint32_t)(hash >> 32) | 1;
	if (set || *known != other) {
		*known = other;
		return set;
	}
	pthread_mutex_lock(&lock);
	set = look_up(group, values, hash, &place);
	if (!set && sets_count[group] < SETS_MAX && (set = make(group, values, hash))) {
		sets_count[group]++;
		__atomic_store_n(place, set, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return set;
}
