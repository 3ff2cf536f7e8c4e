/* Args that records name by a number, in files as nobody should write them: runtime/trace/reader_definitions.c and what
 * encodes the window. */
#include <string.h>

#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "tests/support/reader_asserts.h"
#include "tests/support/timeline_events.h"
#include "tests/support/valid_trace.h"

#define NUMBER 1000u
#define SLOTS_ROOM (EPF_DEFINED_SLOTS_MAX + 1)
/* As many as a chunk has room for. */
#define CHUNK_EVENTS ((EPF_CHUNK_BYTES - sizeof(struct epf_region)) / (EPF_RECORD_BYTES + sizeof(struct epf_arg)))

struct made {
	struct epp_builder *builder;
	uint32_t thread;
	epp_name name, key, other;
	uint64_t ticks;
};

static struct made made;

static void set_up(void)
{
	made = (struct made){ .builder = builder_create(), .ticks = BUILDER_START };
	made.thread = builder_thread(made.builder, "main", 1);
	made.name = builder_name(made.builder, "event");
	made.key = builder_name(made.builder, "a");
	made.other = builder_name(made.builder, "b");
}

static void tear_down(void)
{
	builder_destroy(made.builder);
}

static struct epf_arg slot(epp_name key, unsigned type, uint64_t value)
{
	return (struct epf_arg){ .key = key, .type_and_bytes = type, .value = value };
}

static struct epf_arg text_slot(epp_name key, uint32_t bytes)
{
	return slot(key, EPP_ARG_TEXT | bytes << 8, 0);
}

/* A definition of so many bytes behind the number. */
static void define_bytes(uint32_t number, const struct epf_arg *slots, size_t bytes)
{
	uint8_t body[sizeof(number) + SLOTS_ROOM * sizeof(*slots)] = { 0 };
	ck_assert_uint_le(bytes, sizeof(body) - sizeof(number));
	memcpy(body, &number, sizeof(number));
	memcpy(body + sizeof(number), slots, bytes);
	builder_define(made.builder, EPF_DEFINE_ARGS, body, sizeof(number) + bytes);
}

static void define(uint32_t number, const struct epf_arg *slots, size_t count)
{
	define_bytes(number, slots, count * sizeof(*slots));
}

/* An event with these args between two of its own. */
static void event_of(uint64_t number)
{
	const epp_arg args[] = { { .key = made.key, .type = EPP_ARG_I64, .value.i64 = 1 },
		                 EPP_ARGS_OF(number),
		                 { .key = made.key, .type = EPP_ARG_I64, .value.i64 = 2 } };
	builder_event(made.builder, made.thread, made.ticks += 10, 5, EPP_NODE, made.name, args, 3);
}

/* The events in order: "a=1 a=2", and a "!" before it if some are cut. */
static void must_be(epp_trace *trace, const char *const *expected, size_t count)
{
	epp_timeline *timeline;
	const epp_event *event;
	size_t seen = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	for (; epp_timeline_next(timeline, &event); seen++) {
		struct seen_event copy = { .args = "" };
		bool is_cut = event->flags & EPP_FLAG_ARGS_CUT;
		seen_copy_args(&copy, timeline, event);
		ck_assert_uint_lt(seen, count);
		ck_assert_int_eq(is_cut, *expected[seen] == '!');
		ck_assert_str_eq(copy.args, expected[seen] + is_cut);
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	ck_assert_uint_eq(seen, count);
}
#define MUST_BE(trace, ...) \
	must_be(trace, (const char *const[]){ __VA_ARGS__ }, \
	        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

START_TEST(numbers_that_nothing_defines)
{
	const struct epf_arg one = slot(made.other, EPP_ARG_U64, 7);
	define(NUMBER, &one, 1);
	event_of(NUMBER);
	event_of(NUMBER + 1);
	event_of((1ull << 32) + NUMBER);
	event_of(0);
	event_of(NUMBER);
	for (int log_is_full = 0; log_is_full < 2; log_is_full++) {
		builder_live(made.builder)->flags |= log_is_full ? EPF_LIVE_LOG_FULL : 0;
		epp_trace *trace = builder_open(made.builder, EPF_RECORDING);
		MUST_BE(trace, "a=1 b=7 a=2", "!a=1 a=2", "!a=1 a=2", "!a=1 a=2", "a=1 b=7 a=2");
		/* A log without room is no fault of the file's. */
		ck_assert(has_finding_of(trace, log_is_full ? EPP_NOTE : EPP_ERROR, "3 records lack args"));
		ck_assert_uint_eq(epp_trace_get_info(trace)->damage_count, !log_is_full);
		ck_assert_uint_eq(validation_errors(trace), !log_is_full);
		epp_trace_close(trace);
	}
}
END_TEST

START_TEST(definitions_that_cannot_be)
{
	struct epf_arg slots[SLOTS_ROOM];
	char too_many[48];
	snprintf(too_many, sizeof(too_many), "args 1000: invalid size of %zu bytes", sizeof(uint32_t) + sizeof(slots));
	for (size_t i = 0; i < SLOTS_ROOM; i++)
		slots[i] = slot(made.other, EPP_ARG_U64, i);
	builder_define(made.builder, EPF_DEFINE_ARGS, "", 0);
	builder_define(made.builder, EPF_DEFINE_ARGS, "\x01\x01\x01", 3);
	define(0, slots, 1);
	define_bytes(NUMBER, slots, 15);
	define_bytes(NUMBER, slots, 17);
	define(NUMBER, slots, SLOTS_ROOM);
	event_of(NUMBER);
	epp_trace *trace = builder_open(made.builder, EPF_RECORDING);
	MUST_BE(trace, "!a=1 a=2");
	ck_assert(has_finding_of(trace, EPP_ERROR, "args 0: invalid size of 0 bytes"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "args 0: invalid size of 3 bytes"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "args 0: invalid size of 20 bytes"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "args 1000: invalid size of 19 bytes"));
	ck_assert(has_finding_of(trace, EPP_ERROR, "args 1000: invalid size of 21 bytes"));
	ck_assert(has_finding_of(trace, EPP_ERROR, too_many));
	ck_assert(has_finding_of(trace, EPP_ERROR, "1 records lack args"));
	ck_assert_uint_eq(epp_trace_get_info(trace)->damage_count, 7);
	epp_trace_close(trace);
	/* A finished file has no use for them, and they are wrong all the same. */
	trace = builder_open(made.builder, EPF_FINISHED);
	ck_assert_uint_eq(epp_trace_get_info(trace)->damage_count, 6);
	epp_trace_close(trace);
}
END_TEST

START_TEST(what_was_said_first_stands)
{
	const struct epf_arg first = slot(made.other, EPP_ARG_U64, 7), second = slot(made.other, EPP_ARG_U64, 8);
	define(NUMBER + 1, &second, 1);
	define(NUMBER, &first, 1);
	define(NUMBER, &second, 1);
	define(NUMBER - 1, &second, 0);
	event_of(NUMBER);
	event_of(NUMBER - 1);
	event_of(NUMBER + 1);
	epp_trace *trace = builder_open(made.builder, EPF_RECORDING);
	MUST_BE(trace, "a=1 b=7 a=2", "a=1 a=2", "a=1 b=8 a=2");
	check_valid(trace);
	epp_trace_close(trace);
}
END_TEST

/* Each is taken as far as it holds, and never another one with it. */
START_TEST(sets_of_other_sets)
{
	struct epf_arg text[] = { text_slot(made.other, 100), { 0 } };
	memcpy(&text[1], "sixteen letters.", 16);
	const struct epf_arg one = slot(made.other, EPP_ARG_U64, 7);
	const struct epf_arg itself = slot(EPF_NAME_ARGS, EPP_ARG_U64, NUMBER);
	const struct epf_arg another[] = { one, slot(EPF_NAME_ARGS, EPP_ARG_U64, NUMBER + 3), one };
	const struct epf_arg unknown[] = { one, slot(made.other, 9, 0), one };
	define(NUMBER, &itself, 1);
	define(NUMBER + 1, another, 3);
	define(NUMBER + 2, unknown, 3);
	define(NUMBER + 3, &one, 1);
	define(NUMBER + 4, text, 2);
	for (uint32_t i = 0; i < 5; i++)
		event_of(NUMBER + i);
	epp_trace *trace = builder_open(made.builder, EPF_RECORDING);
	MUST_BE(trace, "!a=1 a=2", "!a=1 b=7 b=7 a=2", "!a=1 b=7 a=2", "a=1 b=7 a=2", "a=1 b=sixteen letters. a=2");
	ck_assert(has_finding_of(trace, EPP_ERROR, "3 records lack args"));
	epp_trace_close(trace);
}
END_TEST

/* In place of one slot there are as many as can be; and a block of that goes into a file. */
START_TEST(a_chunk_full_of_the_largest)
{
	struct epf_arg slots[EPF_DEFINED_SLOTS_MAX];
	char *path = check_path("recovered.epp");
	epp_arg args = EPP_ARGS_OF(NUMBER);
	/* No number takes more bytes than these. */
	for (size_t i = 0; i < EPF_DEFINED_SLOTS_MAX; i++)
		slots[i] = slot(made.other, EPP_ARG_U64, UINT64_MAX - i);
	define(NUMBER, slots, EPF_DEFINED_SLOTS_MAX);
	for (size_t i = 0; i < CHUNK_EVENTS; i++)
		builder_event(made.builder, made.thread, made.ticks += 10, 5, EPP_NODE, made.name, &args, 1);
	epp_trace *trace = builder_open(made.builder, EPF_RECORDING);
	check_ok(epp_trace_recover(trace, path, 1));
	for (int recovered = 0; recovered < 2; recovered++) {
		epp_timeline *timeline;
		const epp_event *event;
		epp_trace_arg arg;
		uint64_t seen = 0;
		check_valid(trace);
		check_ok(epp_timeline_create(trace, NULL, &timeline));
		for (; epp_timeline_next(timeline, &event); seen++) {
			size_t cursor = 0;
			MUST(event->args_count == EPF_DEFINED_SLOTS_MAX && !(event->flags & EPP_FLAG_ARGS_CUT));
			for (uint64_t i = 0; epp_event_args(timeline, event, &cursor, &arg); i++)
				MUST(arg.value.u64 == UINT64_MAX - i);
		}
		check_ok(epp_timeline_status(timeline));
		epp_timeline_destroy(timeline);
		ck_assert_uint_eq(seen, CHUNK_EVENTS);
		epp_trace_close(trace);
		if (!recovered)
			check_ok(epp_trace_open(path, &trace));
	}
}
END_TEST

static Suite *reader_args_suite(void)
{
	Suite *suite = suite_create("reader_args");
	TCase *tcase = tcase_create("reader_args");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, numbers_that_nothing_defines);
	tcase_add_test(tcase, definitions_that_cannot_be);
	tcase_add_test(tcase, what_was_said_first_stands);
	tcase_add_test(tcase, sets_of_other_sets);
	tcase_add_test(tcase, a_chunk_full_of_the_largest);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(reader_args_suite)
