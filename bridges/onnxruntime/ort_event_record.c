/* Converts one event of ONNX Runtime to a record of the trace.
 *
 * ONNX Runtime has no function that lists the args of an event, so the value of every known key is requested for each
 * event.  Nothing is inferred from other events.  ONNX Runtime's texts are read up to their terminating NUL.
 *
 * Most args of a node are the same in each run.  Such a list of args is stored once, as a set with a number
 * (epp_args_intern).  An event has up to two sets: one of args about the node, one of args about the memory in use.  It
 * refers to a set by its number if all its args of this group are equal to those of the set.  The event is first
 * compared with the last set of the same node and the last set of memory in use, then with the set that has the same
 * hash.  Sets are never freed, so only args that occur a second time become a set, and each of the two groups has at
 * most PLACES sets.
 *
 * A model runs its nodes in the same order each time.  The name that followed the previous event's name the last time
 * is therefore compared first, and the text of the name that is expected next is prefetched: between two events ONNX
 * Runtime accesses more memory than fits into the first-level caches. */
#include "ort_event_record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_KEYS 7u
#define PLACES 16384u
#define MEMORY_VERSION 30u /* the first version of ONNX Runtime whose events have args about memory */

enum {
	KEY_START_US,
	KEY_DURATION_US,
	KEY_PROFILE_US,
	KEY_STARTED_US,
	KEY_NODE_INDEX, /* the first key that is requested */
	KEY_STATS,
	KEY_OF_NODE,
	KEY_PROVIDER,
	KEY_OF_MEMORY = KEY_OF_NODE + GROUP_KEYS,
	KEYS = KEY_OF_MEMORY + GROUP_KEYS
};
_Static_assert(KEYS + 1 == ORT_EVENT_ARGS_MAX, "an event has room for each key and the tag of its run");
#define RUN_TAG_BYTES_MAX 256u

static const char *const key_texts[KEYS] = {
	[KEY_START_US] = "ort_ts_us",
	[KEY_DURATION_US] = "ort_dur_us",
	[KEY_PROFILE_US] = "ort_profile_us",
	[KEY_STARTED_US] = "ort_started_us",
	[KEY_NODE_INDEX] = "node_index",
	[KEY_STATS] = "thread_scheduling_stats",
	[KEY_OF_NODE] = "op_name",
	"provider",
	"activation_size",
	"parameter_size",
	"output_size",
	"input_type_shape",
	"output_type_shape",
	[KEY_OF_MEMORY] = "mem_bytes_in_use",
	"mem_bytes_requested_in_use",
	"mem_in_use_delta",
	"mem_requested_in_use_delta",
	"mem_in_use_peak",
	"mem_arena_held",
	"mem_arena_held_delta",
};
static epp_name keys[KEYS], run_tag_key;

/* The values that an event has for the keys of a group (node, or memory in use), in the order of the keys.  A value is
 * NULL if the event has no such arg. */
struct answers {
	const char *texts[GROUP_KEYS];
};

/* A set of args with a number.  Sets are never changed and never freed. */
struct set {
	epp_name number;
	uint64_t hash;
	struct answers answers; /* the texts are in `room` */
	char room[];
};

/* A name and the set of node args that it had the last time.  The cache ort_event_memory.followers has, for each name,
 * the name that followed it the last time. */
#define FOLLOWERS 4096u
#define LINE_BYTES 64u
struct name {
	epp_name number; /* number of the name; 0: the entry is empty */
	const char *text;
	const struct set *set; /* set of the last event with this name; NULL: none */
};
struct ort_event_memory {
	epp_name last;
	const struct set *in_use; /* set of args about memory of the last event */
	struct name followers[FOLLOWERS];
};

static void intern_keys(void)
{
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = epp_name_intern(key_texts[i]);
	run_tag_key = epp_name_intern("ort_run_tag");
}

void ort_event_args_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, intern_keys);
}

struct ort_event_memory *ort_event_memory_create(void)
{
	return calloc(1, sizeof(struct ort_event_memory));
}

/* Finds the entry that follows the previous name; if it has another name, replaces it by one for this name. */
static struct name *name_find(struct ort_event_memory *memory, const char *text)
{
	struct name *name = &memory->followers[memory->last % FOLLOWERS];
	if (!name->number || strcmp(name->text, text) != 0) {
		epp_name number = epp_name_intern(text);
		*name = (struct name){ .number = number, .text = epp_name_text(number) };
	}
	memory->last = name->number;
	const struct name *next = &memory->followers[memory->last % FOLLOWERS];
	__builtin_prefetch(&memory->followers[(memory->last + LINE_BYTES / sizeof(*next)) % FOLLOWERS]);
	if (next->number)
		__builtin_prefetch(next->text);
	return name;
}

/* Makes an arg.  A text that is an integer is stored as a number, if the number as a text is the same: "0" and "-17",
 * but not "007", "+1" or 20 digits. */
static epp_arg arg_of(unsigned key, const char *text)
{
	const char *digits = text + (text[0] == '-'), *at = digits;
	epp_arg arg = { .key = keys[key], .type = EPP_ARG_I64 };
	uint64_t value = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (unsigned)(*at - '0');
	size_t count = (size_t)(at - digits);
	if (*at == 0 && count >= 1 && count <= 18 && (digits[0] != '0' || (count == 1 && digits == text))) {
		arg.value.i64 = digits == text ? (int64_t)value : -(int64_t)value;
		return arg;
	}
	arg.type = EPP_ARG_TEXT;
	arg.value.text = text;
	arg.text_bytes = (size_t)(at - text) + strlen(at);
	return arg;
}

/* Fills `args` with one arg for each value, and returns their number. */
static size_t list_args(unsigned first_key, const struct answers *answers, epp_arg *args)
{
	size_t count = 0;
	for (unsigned i = 0; i < GROUP_KEYS; i++)
		if (answers->texts[i])
			args[count++] = arg_of(first_key + i, answers->texts[i]);
	return count;
}

/* ---- sets ---- */

static bool set_is(const struct set *set, const struct answers *answers)
{
	for (unsigned i = 0; i < GROUP_KEYS; i++) {
		const char *text = answers->texts[i], *known = set->answers.texts[i];
		if (text ? !known || strcmp(text, known) != 0 : known != NULL)
			return false;
	}
	return true;
}

static uint64_t hash_of(unsigned first_key, const struct answers *answers)
{
	uint64_t hash = 0xcbf29ce484222325u + first_key;
	for (unsigned i = 0; i < GROUP_KEYS; i++) {
		hash = (hash ^ (answers->texts[i] ? 256 : 257)) * 0x100000001b3u;
		for (const char *at = answers->texts[i]; at && *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	}
	return hash ^ hash >> 32;
}

static struct set *set_make(unsigned first_key, const struct answers *answers, uint64_t hash)
{
	epp_arg args[GROUP_KEYS];
	size_t bytes = 0;
	epp_name number = epp_args_intern(args, list_args(first_key, answers, args));
	for (unsigned i = 0; i < GROUP_KEYS; i++)
		bytes += answers->texts[i] ? strlen(answers->texts[i]) + 1 : 0;
	struct set *set = number ? calloc(1, sizeof(*set) + bytes) : NULL;
	if (!set)
		return NULL;
	set->number = number;
	set->hash = hash;
	char *at = set->room;
	for (unsigned i = 0; i < GROUP_KEYS; i++)
		if (answers->texts[i]) {
			set->answers.texts[i] = at;
			at = stpcpy(at, answers->texts[i]) + 1;
		}
	return set;
}

/* Finds the set with these args, or makes it if the args occur for the second time.  Returns NULL if the args occur for
 * the first time or are too long, or if their entry in the table already has another set. */
static const struct set *set_find(unsigned first_key, const struct answers *answers)
{
	/* Table of the sets by hash.  An entry is first the hash of args that occurred once, with the lowest bit set.
	 * When these args occur again, it becomes a pointer to their set, and does not change any more. */
	static uintptr_t places[2][PLACES];
	uint64_t hash = hash_of(first_key, answers);
	uintptr_t *place = &places[first_key == KEY_OF_MEMORY][hash % PLACES], once = (uintptr_t)hash | 1;
	uintptr_t known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (known && !(known & 1)) {
		const struct set *set = (const struct set *)known;
		return set->hash == hash && set_is(set, answers) ? set : NULL;
	}
	struct set *made = known == once ? set_make(first_key, answers, hash) : NULL;
	if (__atomic_compare_exchange_n(place, &known, made ? (uintptr_t)made : once, false, __ATOMIC_RELEASE,
	                                __ATOMIC_RELAXED))
		return made;
	free(made);
	return NULL;
}

/* ---- one event ---- */

static void add_number(struct ort_event_args *read, unsigned key, int64_t value)
{
	read->args[read->count++] = (epp_arg){ .key = keys[key], .type = EPP_ARG_I64, .value.i64 = value };
}

static OrtStatus *read_arg(const OrtEpApi *ep, const OrtProfilingEvent *event, unsigned key, struct ort_event_args *read)
{
	const char *text = NULL;
	OrtStatus *status = ep->ProfilingEvent_GetArgValue(event, key_texts[key], &text);
	if (!status && text)
		read->args[read->count++] = arg_of(key, text);
	return status;
}

/* Requests the args of a group and adds them to `read`, as a set if there is one.  *last is the set that is compared
 * first; it becomes the event's set, or NULL. */
static OrtStatus *read_arg_group(const OrtEpApi *ep, const OrtProfilingEvent *event, unsigned first_key,
                                 const struct set **last, struct ort_event_args *read)
{
	struct answers answers = { { NULL } };
	OrtStatus *status = NULL;
	for (unsigned i = 0; i < GROUP_KEYS && !status; i++)
		status = ep->ProfilingEvent_GetArgValue(event, key_texts[first_key + i], &answers.texts[i]);
	if (first_key == KEY_OF_NODE)
		read->provider = answers.texts[KEY_PROVIDER - KEY_OF_NODE];
	if (!*last || !set_is(*last, &answers))
		*last = set_find(first_key, &answers);
	if (*last)
		read->args[read->count++] = EPP_ARGS_OF((*last)->number);
	else
		read->count += list_args(first_key, &answers, &read->args[read->count]);
	return status;
}

OrtStatus *ort_event_args_read(const struct ort_host *host, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_memory *memory, struct ort_event_args *read)
{
	const OrtEpApi *ep = host->ep;
	OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
	const char *text = NULL;
	int64_t start_us = 0, duration_us = 0;
	OrtStatus *status = ep->ProfilingEvent_GetName(event, &text);
	if (!status)
		status = ep->ProfilingEvent_GetCategory(event, &category);
	if (!status)
		status = ep->ProfilingEvent_GetTimestampUs(event, &start_us);
	if (!status)
		status = ep->ProfilingEvent_GetDurationUs(event, &duration_us);
	struct name *name = name_find(memory, text ? text : "");
	read->category = (epp_category)category;
	read->name = name->number;
	read->provider = NULL;
	read->count = 0;
	read->start_us = read->duration_us = -1;
	if (status)
		return status;
	read->start_us = start_us;
	read->duration_us = duration_us;
	add_number(read, KEY_START_US, start_us);
	add_number(read, KEY_DURATION_US, duration_us);
	add_number(read, KEY_PROFILE_US, (int64_t)(ort_id - (uint64_t)start_us));
	if (started_us >= 0)
		add_number(read, KEY_STARTED_US, started_us);
	status = read_arg(ep, event, KEY_NODE_INDEX, read);
	if (!status)
		status = read_arg(ep, event, KEY_STATS, read);
	if (!status)
		status = read_arg_group(ep, event, KEY_OF_NODE, &name->set, read);
	if (!status && host->version >= MEMORY_VERSION)
		status = read_arg_group(ep, event, KEY_OF_MEMORY, &memory->in_use, read);
	return status;
}

void ort_event_args_put_run_tag(struct ort_event_args *read, const char *tag)
{
	size_t at = 0;
	while (at < read->count && at < KEY_NODE_INDEX && read->args[at].key == keys[at])
		at++;
	memmove(&read->args[at + 1], &read->args[at], (read->count - at) * sizeof(*read->args));
	read->args[at] = (epp_arg){
		.key = run_tag_key, .type = EPP_ARG_TEXT, .value.text = tag, .text_bytes = strnlen(tag, RUN_TAG_BYTES_MAX)
	};
	read->count++;
}
