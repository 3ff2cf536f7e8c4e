/* Reading an event.  ONNX Runtime lists no keys, so the known ones are asked for, which is most of what the collector costs
 * (make bench HOST=onnxruntime).  Events of a session have none, and those about memory come together or not at all.  An event's
 * id is its start since the epoch, so it gives its time, too, once one has told when the profile began.  Three more rules spare
 * questions:
 *
 *   sizes  ONNX Runtime adds up the bytes of the very tensors whose types and shapes it lists.  So with output_type_shape as it
 *          was, output_size is as it was; and with input_type_shape and activation_size, so is the rest, parameter_size.
 *   stats  thread_scheduling_stats is empty if and only if the session has no pool of threads, so one that is empty says it
 *          for the whole profiling.
 *   nodes  In a session of one graph an index is one node's.  So with name and index as they were in this profiling, so are
 *          op_name and provider, and which of its inputs are parameters: activation_size follows from the shapes, too.  With
 *          more graphs they are asked for: the same name and index may be a node's in each branch of an If.
 *
 * What a node was the last time is remembered by its name, as a set (ort_sets.h), so that a record of an event that has the same
 * names that, and the node's index.  What memory is in use is most likely what it was at the node before, whichever that is, so of
 * that the last set is remembered.  Of what is not as it was all is asked for, and a set looked for by what it holds.
 *
 * A name is looked for first where it was after the same predecessor: a model runs its nodes in the same order again and again.
 */
#include "ort_event_args.h"

#include <pthread.h>
#include <string.h>

#include "ort_sets.h"
#include "ort_thread.h"

#define MEMORY_VERSION 30u
#define NODE_INDEX_TEXT "node_index"

/* Up to where a node's keys are asked for: one that is known in this profiling; another may have its name and index; it lacks
 * what the others follow from. */
#define KEYS_OF_NODE KEY_ACTIVATION_SIZE
#define KEYS_OF_NAME KEY_PARAMETER_SIZE
#define KEYS_ALL KEY_THREAD_SCHEDULING_STATS

/* ONNX Runtime's own times: of the event since the profile's start, its length, and when the profile began; and of the first
 * event alone, since when profilers of others may have been started. */
enum own_key { OWN_START_US, OWN_DURATION_US, OWN_PROFILE_US, OWN_STARTED_US, OWN_NODE_INDEX, OWN_STATS, OWN_KEYS };
static const char *const own_texts[OWN_KEYS] = { "ort_ts_us",      "ort_dur_us",    "ort_profile_us",
	                                         "ort_started_us", NODE_INDEX_TEXT, "thread_scheduling_stats" };
static epp_name own_keys[OWN_KEYS];

static void intern_keys(void)
{
	for (size_t i = 0; i < OWN_KEYS; i++)
		own_keys[i] = epp_name_intern(own_texts[i]);
	ort_sets_prepare();
}

void ort_event_args_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, intern_keys);
}

/* What this thread remembers: what came after each name.  Between two events ONNX Runtime touches more memory than the nearest
 * caches hold, so what will be wanted is sent for ahead: the text of the name that is expected next, and what stands beyond its
 * place here, since names that follow each other most often have numbers that do. */
#define FOLLOWERS 4096u
#define LINE_BYTES 64u

struct name {
	epp_name number; /* 0: none */
	uint32_t node_index;
	const char *text;
	const struct ort_set *set; /* that it had the last time; NULL: none */
	uint32_t profiling;        /* in which that was */
};

struct memory {
	epp_name last;
	struct name expected;
	const struct ort_set *in_use; /* of memory, the last one; NULL: none */
	uint64_t profile_of; /* the profiling that profile_us is of, when ONNX Runtime's profile began; 0: none */
	int64_t profile_us;
	uint32_t poolless; /* the profiling whose events have had empty stats */
	epp_arg args[OWN_KEYS + ORT_KEYS];
	struct name followers[FOLLOWERS];
	uint32_t seen[ORT_SETS_SEEN];
};

static ORT_THREAD_POINTER void *this_thread;

/* ---- names ---- */

/* Where it is remembered. */
static struct name *name_of(struct memory *of, const char *text)
{
	struct name *place = &of->followers[of->last % FOLLOWERS];
	if (!USUAL(of->expected.number && !strcmp(of->expected.text, text))) {
		epp_name number = epp_name_intern(text);
		*place = (struct name){ .number = number, .text = epp_name_text(number) };
		of->expected = *place;
	}
	of->last = of->expected.number;
	of->expected = of->followers[of->last % FOLLOWERS];
	__builtin_prefetch(&of->followers[(of->last + LINE_BYTES / sizeof(struct name)) % FOLLOWERS]);
	if (of->expected.number) {
		__builtin_prefetch(of->expected.text);
		__builtin_prefetch(of->expected.text + LINE_BYTES);
	}
	return place;
}

/* ---- args ---- */

struct asking {
	__typeof__(((OrtEpApi *)0)->ProfilingEvent_GetArgValue) get;
	const OrtProfilingEvent *event;
	uint32_t profiling;
	OrtStatus *status; /* the first error: nothing is asked after it */
};

/* NULL: it has none. */
static inline const char *ask(struct asking *asking, const char *key)
{
	const char *text = NULL;
	if (USUAL(!asking->status))
		asking->status = asking->get(asking->event, key, &text);
	return USUAL(!asking->status) ? text : NULL;
}

static inline void set_own(epp_arg *arg, enum own_key key, int64_t value)
{
	arg->key = own_keys[key];
	arg->type = EPP_ARG_I64;
	arg->value.i64 = value;
}

static size_t set_stats(epp_arg *arg, const char *stats)
{
	arg->key = own_keys[OWN_STATS];
	ort_value_read(arg, stats);
	return 1;
}

/* The args of a group: as a set, or one by one; returns how many. */
static size_t put_group(enum ort_group group, const struct ort_set *set, const char *const values[ORT_KEYS], epp_arg *args)
{
	if (!set)
		return ort_set_list(group, values, args);
	args[0] = EPP_ARGS_OF(set->number);
	return 1;
}

/* What the node is, asked for as a whole; returns how many args that makes. */
static NOINLINE size_t take_new_node(struct asking *asking, struct memory *memory, struct name *name, epp_arg *args)
{
	const char *values[ORT_KEYS] = { NULL };
	size_t count = 0;
	for (unsigned key = 0; key < GROUP_END(GROUP_NODE); key++)
		values[key] = ask(asking, ort_key_texts[key]);
	/* Each event has others, so they are in no set. */
	const char *stats = values[KEY_THREAD_SCHEDULING_STATS];
	if (stats && *stats) {
		count += set_stats(args, stats);
		values[KEY_THREAD_SCHEDULING_STATS] = NULL;
	}
	name->set = asking->status ? NULL : ort_set_find(GROUP_NODE, values, memory->seen);
	name->profiling = asking->profiling;
	return count + put_group(GROUP_NODE, name->set, values, args + count);
}

/* The same, if it is most likely the one that it was.  The first `keys` are asked for, the others follow. */
static inline size_t take_node(struct asking *asking, struct memory *memory, struct name *name, unsigned keys, epp_arg *args)
{
	const struct ort_set *set = name->set;
	size_t count = 0;
	for (unsigned key = 0; set && key < keys; key++)
		if (!USUAL(ort_set_has(set, key, ask(asking, ort_key_texts[key]))))
			set = NULL;
	if (!USUAL(set != NULL))
		return take_new_node(asking, memory, name, args);
	bool was_empty = set->bytes[KEY_THREAD_SCHEDULING_STATS];
	if (!USUAL(was_empty && memory->poolless == asking->profiling)) {
		const char *stats = ask(asking, ort_key_texts[KEY_THREAD_SCHEDULING_STATS]);
		if (was_empty != (stats && !*stats))
			return take_new_node(asking, memory, name, args);
		memory->poolless = was_empty ? asking->profiling : 0;
		count += stats && *stats ? set_stats(args, stats) : 0;
	}
	name->profiling = asking->profiling;
	args[count] = EPP_ARGS_OF(set->number);
	return count + 1;
}

/* What memory is in use; returns how many args that makes. */
static inline size_t take_memory(struct asking *asking, struct memory *memory, epp_arg *args)
{
	const char *values[ORT_KEYS];
	values[KEY_FIRST_OF_MEMORY] = ask(asking, ort_key_texts[KEY_FIRST_OF_MEMORY]);
	if (!values[KEY_FIRST_OF_MEMORY])
		return 0;
	for (unsigned key = KEY_FIRST_OF_MEMORY + 1; key < ORT_KEYS; key++)
		values[key] = ask(asking, ort_key_texts[key]);
	if (!USUAL(memory->in_use && ort_set_is(memory->in_use, GROUP_MEMORY, values)))
		memory->in_use = asking->status ? NULL : ort_set_find(GROUP_MEMORY, values, memory->seen);
	return put_group(GROUP_MEMORY, memory->in_use, values, args);
}

/* What others follow from is there. */
static inline bool has_shapes(const struct ort_set *set)
{
	return set->bytes[KEY_INPUT_TYPE_SHAPE] && set->bytes[KEY_OUTPUT_TYPE_SHAPE] && set->bytes[KEY_ACTIVATION_SIZE];
}

/* Returns how many args the event has. */
static inline size_t take(struct asking *asking, const struct ort_event_source *source, struct memory *memory,
                          struct name *name, const char *index, epp_arg *args)
{
	size_t count = 0;
	bool is_node = false;
	if (USUAL(index != NULL)) {
		args[0].key = own_keys[OWN_NODE_INDEX];
		ort_value_read(&args[count++], index);
		is_node = args[0].type == EPP_ARG_I64 && args[0].value.u64 == name->node_index &&
		          name->profiling == asking->profiling && source->graphs == ORT_GRAPHS_ONE;
		name->node_index = (uint32_t)args[0].value.u64;
	}
	unsigned keys = !name->set || !has_shapes(name->set) ? KEYS_ALL : is_node ? KEYS_OF_NODE : KEYS_OF_NAME;
	count += take_node(asking, memory, name, keys, args + count);
	if (source->host->version >= MEMORY_VERSION)
		count += take_memory(asking, memory, args + count);
	return count;
}

/* The first of a thread's events of a profiling tells when the profile began, and so when all others did. */
static inline OrtStatus *take_start(const OrtEpApi *ep, const OrtProfilingEvent *event, struct memory *memory,
                                    uint64_t profiling, uint64_t ort_id, int64_t *start_us)
{
	*start_us = (int64_t)ort_id - memory->profile_us;
	if (USUAL(memory->profile_of == profiling))
		return NULL;
	OrtStatus *status = ep->ProfilingEvent_GetTimestampUs(event, start_us);
	memory->profile_us = (int64_t)(ort_id - (uint64_t)*start_us);
	memory->profile_of = status ? 0 : profiling;
	return status;
}

OrtStatus *ort_event_args_read(const struct ort_event_source *source, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_args *read)
{
	const OrtEpApi *ep = source->host->ep;
	OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
	const char *text = NULL;
	int64_t start_us = 0, duration_us = 0;
	struct memory *memory = this_thread;
	if (!USUAL(memory != NULL))
		memory = ort_thread_memory(&this_thread, sizeof(*memory));
	OrtStatus *status = ep->ProfilingEvent_GetName(event, &text);
	*read = (struct ort_event_args){ .category = EPP_NODE };
	if (!memory) {
		read->name = epp_name_intern(text ? text : "");
		return status;
	}
	struct name *name = name_of(memory, text ? text : "");
	read->name = memory->last;
	if (!status)
		status = ep->ProfilingEvent_GetDurationUs(event, &duration_us);
	if (!status)
		status = take_start(ep, event, memory, source->profiling, ort_id, &start_us);
	if (status)
		return status;
	epp_arg *args = memory->args;
	set_own(&args[OWN_START_US], OWN_START_US, start_us);
	set_own(&args[OWN_DURATION_US], OWN_DURATION_US, duration_us);
	set_own(&args[OWN_PROFILE_US], OWN_PROFILE_US, memory->profile_us);
	read->args = args;
	read->count = OWN_STARTED_US;
	if (started_us >= 0)
		set_own(&args[read->count++], OWN_STARTED_US, started_us);
	struct asking asking = { .get = ep->ProfilingEvent_GetArgValue,
		                 .event = event,
		                 .profiling = (uint32_t)source->profiling };
	/* What has an index is a node's; of the rest only the category tells. */
	const char *index = ask(&asking, NODE_INDEX_TEXT);
	if (!USUAL(index != NULL) && !asking.status)
		asking.status = ep->ProfilingEvent_GetCategory(event, &category);
	read->category = (epp_category)category;
	if (category != OrtProfilingEventCategory_SESSION)
		read->count += take(&asking, source, memory, name, index, args + read->count);
	return asking.status;
}
