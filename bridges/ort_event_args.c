/* Reading an event.  ONNX Runtime lists no keys, so the known ones are asked for, which is most of what the collector costs
 * (make bench HOST=onnxruntime).  Events of a session have none, and those about memory come together or not at all.  Three more
 * rules spare questions:
 *
 *   sizes  ONNX Runtime adds up the bytes of the very tensors whose types and shapes it lists.  So with output_type_shape as it
 *          was, output_size is as it was; and with input_type_shape and activation_size, so is the rest, parameter_size.
 *   stats  thread_scheduling_stats is empty if and only if the session has no pool of threads, so one that is empty says it
 *          for the whole profiling.
 *   nodes  In a session of one graph an index is one node's.  So with name and index as they were in this profiling, so are
 *          op_name and provider.  With more graphs they are asked for: the same name and index may be a node's in each branch
 *          of an If.
 *
 * A name is looked for first where it was after the same predecessor: a model runs its nodes in the same order again and again.
 */
#include "ort_event_args.h"

#include <pthread.h>
#include <string.h>

#include "ort_value.h"

/* As they stand in a record: what is a number comes first, since behind a text it would take longer to store. */
enum key {
	KEY_NODE_INDEX,
	KEY_ACTIVATION_SIZE,
	KEY_PARAMETER_SIZE,
	KEY_OUTPUT_SIZE,
	KEY_FIRST_OF_MEMORY,
	KEY_LAST_OF_MEMORY = KEY_FIRST_OF_MEMORY + 6,
	KEY_OP_NAME,
	KEY_PROVIDER,
	KEY_INPUT_TYPE_SHAPE,
	KEY_OUTPUT_TYPE_SHAPE,
	KEY_THREAD_SCHEDULING_STATS,
	KEYS
};
static const char *const known_keys[KEYS] = {
	"node_index",
	"activation_size",
	"parameter_size",
	"output_size",
	"mem_bytes_in_use",
	"mem_bytes_requested_in_use",
	"mem_in_use_delta",
	"mem_requested_in_use_delta",
	"mem_in_use_peak",
	"mem_arena_held",
	"mem_arena_held_delta",
	"op_name",
	"provider",
	"input_type_shape",
	"output_type_shape",
	"thread_scheduling_stats",
};
#define MEMORY_VERSION 30u

/* ONNX Runtime's own times: of the event since the profile's start, its length, and when the profile began; and of the first
 * event alone, since when profilers of others may have been started. */
enum time_key { TIME_START_US, TIME_DURATION_US, TIME_PROFILE_US, TIME_STARTED_US, TIME_KEYS };
static const char *const time_texts[TIME_KEYS] = { "ort_ts_us", "ort_dur_us", "ort_profile_us", "ort_started_us" };

static epp_name keys[KEYS];
static epp_name time_keys[TIME_KEYS];

static void intern_keys(void)
{
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = epp_name_intern(known_keys[i]);
	for (size_t i = 0; i < TIME_KEYS; i++)
		time_keys[i] = epp_name_intern(time_texts[i]);
}

void ort_event_args_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, intern_keys);
}

/* What this thread remembers.
 *
 * Of each key the last value: most do not change from one node to the next, and then it stands here as it is recorded.
 *
 * And what came after each name.  Between two events ONNX Runtime touches more memory than the nearest caches hold, so what will
 * be wanted is sent for ahead: the text of the name that is expected next, and what stands beyond its place here, since names
 * that follow each other most often have numbers that do. */
#define FOLLOWERS 4096u
#define LINE_BYTES 64u

struct name {
	epp_name number; /* 0: none */
	uint32_t node_index;
	const char *text;
	uint32_t profiling; /* in which that index was of this kind */
	uint32_t kind;      /* 0: not known */
};

/* What a node's op_name and provider are; number - 1. */
#define KINDS 128u

struct kind {
	char op_name[64], provider[64];
};

struct memory {
	uint64_t profiling; /* of which the values are */
	size_t args_count;  /* of the values that are present */
	epp_arg args[TIME_KEYS + KEYS];
	struct ort_value values[KEYS];
	epp_name last;
	struct name expected;
	struct name followers[FOLLOWERS];
	struct kind kinds[KINDS];
	uint32_t kinds_count;
	uint32_t kind; /* of the values; 0: not known */
};

static __thread struct memory this_thread;

/* ---- names ---- */

/* Where it is remembered. */
static struct name *name_of(struct memory *of, const char *text)
{
	struct name name = of->expected, *place = &of->followers[of->last % FOLLOWERS];
	if (!name.number || strcmp(name.text, text) != 0) {
		name.number = epp_name_intern(text);
		name.text = epp_name_text(name.number);
		name.kind = 0;
		*place = name;
	}
	of->last = name.number;
	of->expected = of->followers[name.number % FOLLOWERS];
	__builtin_prefetch(&of->followers[(name.number + LINE_BYTES / sizeof(name)) % FOLLOWERS]);
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
	struct memory *memory;
	struct name *name;
	uint32_t profiling; /* 0: of several graphs */
	bool is_rearranged; /* there is one more or less than there was */
	OrtStatus *status;  /* the first error: nothing is asked after it */
};

static NOINLINE void renew(struct asking *asking, struct ort_value *value, const char *text)
{
	bool was_present = value->is_present;
	ort_value_clear(value);
	if (text)
		ort_value_set(value, text);
	if (value->is_present != was_present)
		asking->is_rearranged = true;
	else if (was_present)
		asking->memory->args[value->place] = value->arg;
}

/* False: there is the value that there was. */
static inline bool ask(struct asking *asking, enum key key)
{
	struct ort_value *value = &asking->memory->values[key];
	const char *text = NULL;
	if (USUAL(!asking->status))
		asking->status = asking->get(asking->event, known_keys[key], &text);
	if (USUAL(!asking->status && text && ort_value_is(value, text)))
		return false;
	renew(asking, value, asking->status ? NULL : text);
	return true;
}

static inline void ask_of_sizes(struct asking *asking)
{
	bool new_inputs = ask(asking, KEY_INPUT_TYPE_SHAPE);
	new_inputs |= ask(asking, KEY_ACTIVATION_SIZE);
	if (new_inputs || !asking->memory->values[KEY_PARAMETER_SIZE].is_present)
		ask(asking, KEY_PARAMETER_SIZE);
	bool new_outputs = ask(asking, KEY_OUTPUT_TYPE_SHAPE);
	if (new_outputs || !asking->memory->values[KEY_OUTPUT_SIZE].is_present)
		ask(asking, KEY_OUTPUT_SIZE);
}

static inline void ask_of_memory(struct asking *asking)
{
	const struct ort_value *first = &asking->memory->values[KEY_FIRST_OF_MEMORY];
	bool was_present = first->is_present;
	ask(asking, KEY_FIRST_OF_MEMORY);
	if (was_present || first->is_present)
		for (enum key key = KEY_FIRST_OF_MEMORY + 1; key <= KEY_LAST_OF_MEMORY; key++)
			ask(asking, key);
}

static inline void ask_of_threads(struct asking *asking)
{
	const struct ort_value *values = asking->memory->values, *stats = &values[KEY_THREAD_SCHEDULING_STATS];
	bool was_empty = stats->is_present && stats->arg.type == EPP_ARG_TEXT && !stats->arg.text_bytes;
	/* What is not a kernel's event has neither. */
	if (!was_empty || !values[KEY_NODE_INDEX].is_present)
		ask(asking, KEY_THREAD_SCHEDULING_STATS);
}

/* ---- nodes ---- */

static NOINLINE void take_kind(struct asking *asking, uint32_t number)
{
	struct memory *memory = asking->memory;
	const struct kind *kind = &memory->kinds[number - 1];
	renew(asking, &memory->values[KEY_OP_NAME], kind->op_name);
	renew(asking, &memory->values[KEY_PROVIDER], kind->provider);
	memory->kind = number;
}

static bool fits(const struct ort_value *value)
{
	return value->is_present && !value->is_lost && strlen(value->text) < sizeof(((struct kind *)0)->op_name);
}

/* 0: there is no room. */
static NOINLINE uint32_t find_kind(struct memory *memory)
{
	const struct ort_value *op_name = &memory->values[KEY_OP_NAME], *provider = &memory->values[KEY_PROVIDER];
	if (memory->kinds_count == KINDS || !fits(op_name) || !fits(provider))
		return 0;
	for (uint32_t i = 0; i < memory->kinds_count; i++)
		if (!strcmp(memory->kinds[i].op_name, op_name->text) && !strcmp(memory->kinds[i].provider, provider->text))
			return i + 1;
	struct kind *made = &memory->kinds[memory->kinds_count++];
	memcpy(made->op_name, op_name->text, sizeof(made->op_name));
	memcpy(made->provider, provider->text, sizeof(made->provider));
	return memory->kinds_count;
}

static inline void ask_of_kind(struct asking *asking)
{
	struct memory *memory = asking->memory;
	struct name *name = asking->name;
	const struct ort_value *index = &memory->values[KEY_NODE_INDEX];
	bool is_node = asking->profiling && index->is_present && index->arg.type == EPP_ARG_I64 &&
	               index->arg.value.u64 <= UINT32_MAX;
	if (USUAL(is_node && name->kind && name->profiling == asking->profiling &&
	          name->node_index == index->arg.value.u64)) {
		if (memory->kind != name->kind)
			take_kind(asking, name->kind);
		return;
	}
	bool is_new = ask(asking, KEY_OP_NAME);
	is_new |= ask(asking, KEY_PROVIDER);
	if (is_new)
		memory->kind = 0;
	if (!is_node)
		return;
	if (!memory->kind)
		memory->kind = find_kind(memory);
	name->kind = memory->kind;
	name->profiling = asking->profiling;
	name->node_index = (uint32_t)index->arg.value.u64;
}

static NOINLINE void arrange(struct memory *memory)
{
	memory->args_count = 0;
	for (size_t i = 0; i < KEYS; i++) {
		struct ort_value *value = &memory->values[i];
		value->place = (uint8_t)(TIME_KEYS + memory->args_count);
		if (value->is_present)
			memory->args[TIME_KEYS + memory->args_count++] = value->arg;
	}
}

/* Nothing holds from one profiling to another. */
static NOINLINE void forget(struct memory *memory, uint64_t profiling)
{
	memory->profiling = profiling;
	memory->kind = 0;
	for (size_t i = 0; i < KEYS; i++) {
		memory->values[i].arg.key = keys[i];
		ort_value_clear(&memory->values[i]);
	}
	arrange(memory);
}

static OrtStatus *ask_all(const struct ort_event_source *source, const OrtProfilingEvent *event, struct memory *memory,
                          struct name *name)
{
	struct asking asking = { .get = source->host->ep->ProfilingEvent_GetArgValue,
		                 .event = event,
		                 .memory = memory,
		                 .name = name,
		                 .profiling = source->graphs == ORT_GRAPHS_ONE ? (uint32_t)source->profiling : 0 };
	ask(&asking, KEY_NODE_INDEX);
	ask_of_sizes(&asking);
	if (source->host->version >= MEMORY_VERSION)
		ask_of_memory(&asking);
	ask_of_kind(&asking);
	ask_of_threads(&asking);
	if (!USUAL(!asking.is_rearranged))
		arrange(memory);
	return asking.status;
}

static inline void set_time(epp_arg *arg, enum time_key key, int64_t value)
{
	arg->key = time_keys[key];
	arg->type = EPP_ARG_I64;
	arg->value.i64 = value;
}

OrtStatus *ort_event_args_read(const struct ort_event_source *source, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_args *read)
{
	const OrtEpApi *ep = source->host->ep;
	OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
	const char *name = NULL;
	int64_t start_us = 0, duration_us = 0;
	struct memory *memory = &this_thread;
	/* The compiler would ask for it again, which costs a call. */
	__asm__("" : "+r"(memory));
	OrtStatus *status = ep->ProfilingEvent_GetCategory(event, &category);
	read->args = NULL;
	read->count = 0;
	if (!status)
		status = ep->ProfilingEvent_GetName(event, &name);
	if (!status)
		status = ep->ProfilingEvent_GetTimestampUs(event, &start_us);
	if (!status)
		status = ep->ProfilingEvent_GetDurationUs(event, &duration_us);
	read->category = (epp_category)category;
	struct name *place = name_of(memory, name ? name : "");
	read->name = memory->last;
	if (status)
		return status;
	/* The values are where they were, with three times or four before them. */
	epp_arg *args = &memory->args[started_us < 0];
	set_time(&args[TIME_START_US], TIME_START_US, start_us);
	set_time(&args[TIME_DURATION_US], TIME_DURATION_US, duration_us);
	set_time(&args[TIME_PROFILE_US], TIME_PROFILE_US, (int64_t)(ort_id - (uint64_t)start_us));
	if (started_us >= 0)
		set_time(&args[TIME_STARTED_US], TIME_STARTED_US, started_us);
	read->args = args;
	read->count = (size_t)(&memory->args[TIME_KEYS] - args);
	if (category == OrtProfilingEventCategory_SESSION)
		return NULL;
	if (memory->profiling != source->profiling)
		forget(memory, source->profiling);
	status = ask_all(source, event, memory, place);
	read->count += memory->args_count;
	return status;
}
