/* Args of a node that come again: what it is and the shapes that it saw; and what memory was in use.  A model's nodes have few of
 * either, run after run, so a record names them as two sets (epp_args_intern), and whether an event has a set that is known is
 * seen by comparing texts where they lie. */
#ifndef EPPROF_BRIDGES_ORT_SETS_H
#define EPPROF_BRIDGES_ORT_SETS_H

#include "ort_value.h"

/* In the order in which they are asked for: first what may change from run to run, see ort_event_args.c. */
enum ort_key {
	KEY_INPUT_TYPE_SHAPE,
	KEY_OUTPUT_TYPE_SHAPE,
	KEY_ACTIVATION_SIZE,
	KEY_OP_NAME,
	KEY_PROVIDER,
	KEY_PARAMETER_SIZE,
	KEY_OUTPUT_SIZE,
	KEY_THREAD_SCHEDULING_STATS,
	KEY_FIRST_OF_MEMORY,
	KEY_LAST_OF_MEMORY = KEY_FIRST_OF_MEMORY + 6,
	ORT_KEYS
};
extern const char *const ort_key_texts[ORT_KEYS];

/* The two groups of keys. */
enum ort_group { GROUP_NODE, GROUP_MEMORY, ORT_GROUPS };
#define GROUP_FIRST(group) ((unsigned)(group) == GROUP_NODE ? 0u : (unsigned)KEY_FIRST_OF_MEMORY)
#define GROUP_END(group) ((unsigned)(group) == GROUP_NODE ? (unsigned)KEY_FIRST_OF_MEMORY : (unsigned)ORT_KEYS)
#define GROUP_KEYS_MAX 8u

/* Never changed and never freed.  Keys are counted from their group's first. */
struct ort_set {
	epp_name number;
	uint8_t bytes[GROUP_KEYS_MAX]; /* of each beginning that count; 0: there is no such arg */
	struct ort_beginning beginnings[GROUP_KEYS_MAX];
	const char *texts[GROUP_KEYS_MAX];
	uint64_t hash;
	char room[];
};

static inline __attribute__((always_inline)) bool ort_set_has(const struct ort_set *set, unsigned key, const char *text)
{
	return text ? set->bytes[key] && ort_value_is(&set->beginnings[key], set->bytes[key], set->texts[key], text)
	            : !set->bytes[key];
}

/* Whether it is the set of these values, by key; NULL: there is none. */
static inline bool ort_set_is(const struct ort_set *set, enum ort_group group, const char *const values[ORT_KEYS])
{
	bool same = true;
	for (unsigned key = GROUP_FIRST(group); key < GROUP_END(group) && same; key++)
		same = ort_set_has(set, key - GROUP_FIRST(group), values[key]);
	return same;
}

/* Interns the keys; before anything else. */
void ort_sets_prepare(void);

/* The set of these values; made if they came before not long ago, by the thread's word.  NULL: they did not, or they are too
 * long, or there are enough sets. */
#define ORT_SETS_SEEN 8192u
const struct ort_set *ort_set_find(enum ort_group group, const char *const values[ORT_KEYS], uint32_t seen[ORT_SETS_SEEN]);

/* The same values one by one; returns how many. */
size_t ort_set_list(enum ort_group group, const char *const values[ORT_KEYS], epp_arg *args);

#endif
