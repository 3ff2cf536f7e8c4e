/* Reading an event.  ONNX Runtime lists no keys, so the known ones are asked for, which is most of what the collector costs
 * (make bench HOST=onnxruntime).  Events of a session have none, and those about memory come together or not at all.  No other
 * may be left out: the same name may be a node's in each branch of an If, so what a name had last time is no answer.
 *
 * ONNX Runtime's values are texts; a whole number, written as one, is kept as a number, which is smaller and comes out as the
 * same text.  A name is looked for first where it was after the same predecessor: a model runs its nodes in the same order
 * again and again. */
#include "ort_event_args.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

static const char *const known_keys[] = {
	"op_name",
	"provider",
	"node_index",
	"activation_size",
	"parameter_size",
	"output_size",
	"input_type_shape",
	"output_type_shape",
	"thread_scheduling_stats",
	"mem_bytes_in_use",
	"mem_bytes_requested_in_use",
	"mem_in_use_delta",
	"mem_requested_in_use_delta",
	"mem_in_use_peak",
	"mem_arena_held",
	"mem_arena_held_delta",
};
#define KNOWN_KEYS (sizeof(known_keys) / sizeof(known_keys[0]))
#define FIRST_OF_MEMORY 9u
#define MEMORY_VERSION 30u

/* ONNX Runtime's own times: of the event since the profile's start, its length, and when the profile began; and of the first
 * event alone, since when profilers of others may have been started. */
enum time_key { TIME_START_US, TIME_DURATION_US, TIME_PROFILE_US, TIME_STARTED_US, TIME_KEYS };
static const char *const time_texts[TIME_KEYS] = { "ort_ts_us", "ort_dur_us", "ort_profile_us", "ort_started_us" };

static epp_name keys[KNOWN_KEYS];
static epp_name time_keys[TIME_KEYS];

static void intern_keys(void)
{
	for (size_t i = 0; i < KNOWN_KEYS; i++)
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
 * Of each key the last value, if it was short: most values are, and do not change from one node to the next.
 *
 * And what came after each name.  Between two events ONNX Runtime touches more memory than the nearest caches hold, so what will
 * be wanted is sent for ahead: the text of the name that is expected next, and what stands beyond its place here, since names
 * that follow each other most often have numbers that do. */
#define FOLLOWERS 4096u
#define LINE_BYTES 64u

struct short_value {
	uint64_t word; /* of short_word */
	epp_arg arg;
};

struct name {
	epp_name number; /* 0: none */
	const char *text;
};

struct memory {
	struct short_value values[KNOWN_KEYS];
	epp_name last;
	struct name expected;
	struct name followers[FOLLOWERS];
};

static __thread struct memory this_thread;

/* ---- values ---- */

#define WORD_OF(byte) (UINT64_C(0x0101010101010101) * (byte))
#define PAGE_BYTES_MIN 4096u

/* A text of less than 8 bytes and the 0 behind it as a number that no other text has; 0: it is longer.  Eight bytes that begin in
 * a text and do not leave its page can be read, whatever is behind its end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("address", "thread")))
#endif
static uint64_t
short_word(const char *text)
{
	uint64_t word;
	if (((uintptr_t)text & (PAGE_BYTES_MIN - 1)) > PAGE_BYTES_MIN - sizeof(word))
		return 0;
	__builtin_memcpy(&word, text, sizeof(word));
	word = le64toh(word);
	/* The lowest bit in it is the upper one of the first byte that is 0. */
	uint64_t ends = (word - WORD_OF(1)) & ~word & WORD_OF(0x80);
	return ends ? ~(word & (ends ^ (ends - 1))) : 0;
}

/* "0" and "-17" as a number, but not "007", "+1" or what is too large to come out again. */
static void read_value(epp_arg *arg, const char *text)
{
	const char *digits = text + (text[0] == '-'), *at = digits;
	uint64_t value = 0;
	for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++)
		value = value * 10 + digit;
	size_t count = (size_t)(at - digits);
	if (*at == 0 && count - 1 < 18 && (digits[0] != '0' || (count == 1 && digits == text))) {
		arg->type = EPP_ARG_I64;
		arg->value.i64 = digits == text ? (int64_t)value : -(int64_t)value;
		return;
	}
	arg->type = EPP_ARG_TEXT;
	arg->value.text = text;
	arg->text_bytes = (size_t)(at - text) + strlen(at);
}

static void set_value(struct short_value *last, epp_arg *arg, const char *text)
{
	uint64_t word = short_word(text);
	if (word && word == last->word) {
		*arg = last->arg;
		if (arg->type == EPP_ARG_TEXT)
			arg->value.text = text;
		return;
	}
	read_value(arg, text);
	if (word)
		*last = (struct short_value){ word, *arg };
}

/* ---- names ---- */

static epp_name name_of(struct memory *of, const char *text)
{
	struct name name = of->expected;
	if (!name.number || strcmp(name.text, text) != 0) {
		name.number = epp_name_intern(text);
		name.text = epp_name_text(name.number);
		of->followers[of->last % FOLLOWERS] = name;
	}
	of->last = name.number;
	of->expected = of->followers[name.number % FOLLOWERS];
	__builtin_prefetch(&of->followers[(name.number + LINE_BYTES / sizeof(name)) % FOLLOWERS]);
	if (of->expected.number) {
		__builtin_prefetch(of->expected.text);
		__builtin_prefetch(of->expected.text + LINE_BYTES);
	}
	return name.number;
}

static OrtStatus *read_args(const struct ort_host *host, const OrtProfilingEvent *event, struct short_value *last,
                            struct ort_event_args *read)
{
	size_t count = host->version >= MEMORY_VERSION ? KNOWN_KEYS : FIRST_OF_MEMORY;
	__typeof__(host->ep->ProfilingEvent_GetArgValue) get = host->ep->ProfilingEvent_GetArgValue;
	epp_arg *arg = &read->args[read->count];
	OrtStatus *status = NULL;
	for (size_t i = 0; i < count; i++) {
		const char *text = NULL;
		status = get(event, known_keys[i], &text);
		if (status || (!text && i == FIRST_OF_MEMORY))
			break;
		if (!text)
			continue;
		arg->key = keys[i];
		set_value(&last[i], arg++, text);
	}
	read->count = (size_t)(arg - read->args);
	return status;
}

static void add_time(struct ort_event_args *read, enum time_key key, int64_t value)
{
	read->args[read->count++] = (epp_arg){ .key = time_keys[key], .type = EPP_ARG_I64, .value.i64 = value };
}

OrtStatus *ort_event_args_read(const struct ort_host *host, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_args *read)
{
	OrtProfilingEventCategory category = OrtProfilingEventCategory_NODE;
	const char *name = NULL;
	int64_t start_us = 0, duration_us = 0;
	struct memory *memory = &this_thread;
	/* The compiler would ask for it again, which costs a call. */
	__asm__("" : "+r"(memory));
	OrtStatus *status = host->ep->ProfilingEvent_GetCategory(event, &category);
	read->count = 0;
	if (!status)
		status = host->ep->ProfilingEvent_GetName(event, &name);
	if (!status)
		status = host->ep->ProfilingEvent_GetTimestampUs(event, &start_us);
	if (!status)
		status = host->ep->ProfilingEvent_GetDurationUs(event, &duration_us);
	read->category = (epp_category)category;
	read->name = name_of(memory, name ? name : "");
	if (status)
		return status;
	add_time(read, TIME_START_US, start_us);
	add_time(read, TIME_DURATION_US, duration_us);
	add_time(read, TIME_PROFILE_US, (int64_t)(ort_id - (uint64_t)start_us));
	if (started_us >= 0)
		add_time(read, TIME_STARTED_US, started_us);
	return category == OrtProfilingEventCategory_SESSION ? NULL : read_args(host, event, memory->values, read);
}
