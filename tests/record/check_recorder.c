/* What one thread records, kind by kind and limit by limit: runtime/record/recorder.c, event.c
 * and args.h.  Many threads are check_recorder_threads's. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "epprof/track.h"
#include "tests/support/recording.h"

static uint64_t fake_now;

static uint64_t fake_ticks(void)
{
	return LOAD_RELAXED(&fake_now);
}

static unsigned flags_of(const struct scan_record *record)
{
	return EPF_BITS_FLAGS(record->bits);
}

START_TEST(events_nest_and_have_exact_times)
{
	clock_inject(fake_ticks, 1000000000, NULL);
	STORE_RELAXED(&fake_now, 1000);
	epp_session *session = recording_start(NULL);
	epp_name outer = epp_name_intern("outer"), inner = epp_name_intern("in\"ner");
	STORE_RELAXED(&fake_now, 2000);
	uint64_t a = epp_event_begin(session, EPP_SESSION, outer);
	STORE_RELAXED(&fake_now, 2100);
	uint64_t b = epp_event_begin(session, EPP_API, inner);
	STORE_RELAXED(&fake_now, 2175);
	epp_event_end(session, b, NULL, 0);
	STORE_RELAXED(&fake_now, 3000);
	epp_event_end(session, a, NULL, 0);
	STORE_RELAXED(&fake_now, 4000);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_ne(a, 0);
	ck_assert_uint_eq(b, a + 1);
	ck_assert_uint_eq(scan->records_count, 2);
	const struct scan_record *first = &scan->records[0], *second = &scan->records[1];
	ck_assert_uint_eq(first->id, b);
	ck_assert_uint_eq(first->start_ticks, 2100);
	ck_assert_uint_eq(first->duration_ticks, 75);
	ck_assert_uint_eq(EPF_BITS_CATEGORY(first->bits), EPP_API);
	ck_assert_uint_eq(EPF_BITS_KIND(first->bits), EPF_EVENT);
	ck_assert(scan_name_is(scan, first->name, "in\"ner"));
	ck_assert_uint_eq(second->id, a);
	ck_assert_uint_eq(second->start_ticks, 2000);
	ck_assert_uint_eq(second->duration_ticks, 1000);
	ck_assert_uint_eq(EPF_BITS_CATEGORY(second->bits), EPP_SESSION);
	ck_assert_uint_eq(scan_track(scan, first->track)->definition.kind, EPF_TRACK_THREAD);
	ck_assert_uint_eq(scan->runs_count, 1);
	ck_assert_uint_eq(scan->runs[0].start.ticks, 1000);
	ck_assert_uint_eq(scan->runs[0].end.ticks, 4000);
	trace_scan_free(scan);
	clock_inject(NULL, 0, NULL);
}
END_TEST

START_TEST(args_of_every_type_come_back)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("with args"), keys[6];
	for (int i = 0; i < 6; i++)
		keys[i] = epp_name_intern((char[]){ 'k', (char)('0' + i), 0 });
	const epp_arg args[] = {
		{ .key = keys[0], .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
		{ .key = keys[1], .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = keys[2], .type = EPP_ARG_F64, .value.f64 = -0.1 },
		{ .key = keys[3], .type = EPP_ARG_TEXT, .value.text = "a\0\"b\xff and more", .text_bytes = 14 },
		{ .key = keys[4], .type = EPP_ARG_TEXT, .value.text = NULL, .text_bytes = 99 },
		{ .key = keys[5], .type = EPP_ARG_TEXT, .value.text = "", .text_bytes = 0 },
		{ .key = 0, .type = EPP_ARG_I64, .value.i64 = 1 },
	};
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	epp_event_end(session, id, args, 7);
	epp_instant_record(session, EPP_KERNEL, name, args, 7);
	/* Once from the window, once from a block. */
	for (int finished = 0; finished < 2; finished++) {
		if (finished)
			recording_end(session);
		struct trace_scan *scan = recording_look(session);
		ck_assert_uint_eq(scan->records_count, 2);
		for (int i = 0; i < 2; i++) {
			const struct scan_record *record = &scan->records[i];
			ck_assert_int_eq(record->in_window, !finished);
			ck_assert_uint_eq(record->args_count, 7);
			ck_assert_uint_eq(scan_arg(record, keys[0])->value, (uint64_t)INT64_MIN);
			ck_assert_uint_eq(scan_arg(record, keys[1])->value, UINT64_MAX);
			ck_assert_uint_eq(scan_arg(record, keys[2])->value, args[2].value.u64);
			ck_assert_uint_eq(scan_arg(record, keys[3])->text_bytes, 14);
			ck_assert_mem_eq(scan_arg(record, keys[3])->text, args[3].value.text, 14);
			ck_assert_uint_eq(scan_arg(record, keys[4])->text_bytes, 0);
			ck_assert_uint_eq(scan_arg(record, keys[5])->text_bytes, 0);
			ck_assert_uint_eq(record->args[6].key, EPF_NAME_NONE);
			ck_assert_uint_eq(flags_of(record), 0);
		}
		trace_scan_free(scan);
	}
	epp_session_destroy(session);
}
END_TEST

/* ---- limits ---- */

static epp_arg many[300];
static char long_text[65536];

static void fill_many(size_t text_bytes)
{
	memset(long_text, 'x', sizeof(long_text));
	for (int i = 0; i < 300; i++) {
		many[i] = (epp_arg){ .key = epp_name_intern((char[]){ 'm', (char)('a' + i / 26), (char)('a' + i % 26), 0 }),
			             .type = EPP_ARG_U64,
			             .value.u64 = (uint64_t)i };
		if (text_bytes)
			many[i] = (epp_arg){
				.key = many[i].key, .type = EPP_ARG_TEXT, .value.text = long_text, .text_bytes = text_bytes
			};
	}
}

/* One event with args; returns how many bytes of text were kept. */
static size_t record_with(const epp_arg *args, size_t given, size_t kept, bool cut, uint64_t parent)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("limits");
	epp_track track;
	epp_track_options options = { .struct_size = sizeof(options), .name = "t", .device = -1 };
	check_ok(epp_track_create(session, &options, &track));
	if (parent)
		epp_event_record(session, track, EPP_NODE, name, 5, 6, parent, args, given);
	else
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, given);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_TOO_LARGE), cut);
	struct trace_scan *live = recording_look(session);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 1);
	ck_assert_uint_eq(live->records_count, 1);
	ck_assert_uint_eq(live->records[0].args_count, kept + (parent != 0));
	ck_assert_uint_eq(scan->records[0].args_count, kept + (parent != 0));
	ck_assert_int_eq(flags_of(&scan->records[0]) == EPF_FLAG_CUT, cut);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_TOO_LARGE), cut);
	size_t text = 0;
	for (size_t i = 0; i < kept; i++) {
		const struct scan_arg *arg = scan_arg(&scan->records[0], args[i].key);
		ck_assert_ptr_nonnull(arg);
		text += arg->text_bytes;
	}
	if (parent)
		ck_assert_uint_eq(scan_arg(&scan->records[0], EPF_NAME_PARENT)->value, parent);
	trace_scan_free(live);
	trace_scan_free(scan);
	return text;
}

START_TEST(too_many_args_are_cut_and_counted)
{
	fill_many(0);
	record_with(many, 254, 254, false, 0);
	record_with(many, 255, 255, false, 0);
	record_with(many, 256, 255, true, 0);
	record_with(many, 300, 255, true, 0);
	/* The parent is one of the 255. */
	record_with(many, 254, 254, false, 77);
	record_with(many, 255, 254, true, 77);
}
END_TEST

START_TEST(too_much_text_is_cut_and_counted)
{
	fill_many(1);
	many[0].text_bytes = EPF_ARG_TEXT_MAX;
	ck_assert_uint_eq(record_with(many, 1, 1, false, 0), EPF_ARG_TEXT_MAX);
	many[0].text_bytes = EPF_ARG_TEXT_MAX + 1;
	ck_assert_uint_eq(record_with(many, 1, 1, true, 0), EPF_ARG_TEXT_MAX);
	many[0].text_bytes = EPF_ARG_TEXT_MAX - 1;
	ck_assert_uint_eq(record_with(many, 2, 2, false, 0), EPF_ARG_TEXT_MAX);
	ck_assert_uint_eq(record_with(many, 3, 3, true, 0), EPF_ARG_TEXT_MAX);
	/* The most slots that a record can have: 255 texts, each with a padded end. */
	fill_many(129);
	ck_assert_uint_eq(record_with(many, 255, 255, true, 0), EPF_ARG_TEXT_MAX);
	fill_many(128);
	ck_assert_uint_eq(record_with(many, 255, 255, false, 0), 255 * 128);
	fill_many(113);
	ck_assert_uint_eq(record_with(many, 254, 254, false, 9), 254 * 113);
}
END_TEST

START_TEST(records_of_all_sizes_fit_into_regions)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("sized"), key = epp_name_intern("text");
	size_t count = 0;
	memset(long_text, 'y', sizeof(long_text));
	for (size_t bytes = 0; bytes < 32768; bytes += 61, count++) {
		epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = long_text, .text_bytes = bytes };
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
		if (count % 64 == 0)
			recording_sleep_ms(3);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count + scan_lost(scan, EPP_LOSS_NO_BUFFER), count);
	for (size_t i = 0; i < scan->records_count; i++)
		ck_assert_mem_eq(scan->records[i].args[0].text, long_text, scan->records[i].args[0].text_bytes);
	trace_scan_free(scan);
}
END_TEST

/* ---- kinds ---- */

START_TEST(a_name_may_come_at_the_end)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("late");
	uint64_t id = epp_event_begin(session, EPP_NODE, 0);
	struct trace_scan *live = recording_look(session);
	ck_assert_uint_eq(live->open_count, 1);
	ck_assert_uint_eq(live->open[0].name, EPF_NAME_PENDING);
	epp_event_end_named(session, id, EPP_KERNEL, name, &(epp_arg){ .key = name, .value.i64 = 3 }, 1);
	uint64_t again = epp_event_begin(session, EPP_API, name);
	epp_event_end_named(session, again, EPP_SESSION, 0, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_id(scan, EPF_EVENT, id)->name, name);
	ck_assert_uint_eq(EPF_BITS_CATEGORY(scan_id(scan, EPF_EVENT, id)->bits), EPP_KERNEL);
	ck_assert_uint_eq(scan_id(scan, EPF_EVENT, id)->args_count, 1);
	ck_assert_uint_eq(scan_id(scan, EPF_EVENT, again)->name, EPF_NAME_PENDING);
	trace_scan_free(scan);
	trace_scan_free(live);
}
END_TEST

START_TEST(records_of_one_call)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("moment"), count = epp_name_intern("count");
	epp_arg arg = { .key = name, .type = EPP_ARG_U64, .value.u64 = 8 };
	epp_instant_record(session, EPP_API, name, &arg, 1);
	epp_counter_record_i64(session, count, -5);
	epp_counter_record_f64(session, count, 0.5);
	uint64_t a = epp_event_begin_text(session, EPP_NODE, "from"), b = epp_event_begin(session, EPP_NODE, name);
	epp_flow_record(session, a, b);
	epp_flow_record(session, 0, b);
	epp_flow_record(session, a, 0);
	uint64_t async = epp_async_begin(session, EPP_NODE, name);
	epp_async_end(session, async, &arg, 1);
	epp_async_end(session, 0, &arg, 1);
	epp_event_end(session, 0, NULL, 0);
	epp_event_end(session, b, NULL, 0);
	epp_event_end(session, a, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 8);
	ck_assert_uint_eq(scan_first(scan, EPF_INSTANT, name)->args[0].value, 8);
	size_t from = 0;
	const struct scan_record *counter = scan_next(scan, EPF_COUNTER, count, &from);
	ck_assert_uint_eq(counter->args[0].value, (uint64_t)-5);
	ck_assert_uint_eq(counter->args[0].key, count);
	ck_assert_uint_eq(scan_next(scan, EPF_COUNTER, count, &from)->args[0].type, EPP_ARG_F64);
	const struct scan_record *flow = scan_first(scan, EPF_FLOW, 0);
	ck_assert_uint_eq(flow->id, b);
	ck_assert_uint_eq(flow->args[0].key, EPF_NAME_PARENT);
	ck_assert_uint_eq(flow->args[0].value, a);
	ck_assert_uint_eq(scan_first(scan, EPF_ASYNC_BEGIN, name)->id, async);
	ck_assert_uint_eq(scan_first(scan, EPF_ASYNC_END, 0)->id, async);
	ck_assert_uint_eq(scan_first(scan, EPF_ASYNC_END, 0)->args[0].value, 8);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_key_called_parent_is_no_parent)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("event"), key = epp_name_intern("parent");
	epp_arg arg = { .key = key, .type = EPP_ARG_U64, .value.u64 = 12345 };
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_ptr_null(scan_arg(&scan->records[0], EPF_NAME_PARENT));
	ck_assert(scan_name_is(scan, scan->records[0].args[0].key, "parent"));
	trace_scan_free(scan);
}
END_TEST

/* ---- stacks that do not match ---- */

START_TEST(an_inner_end_that_is_skipped)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("stack");
	uint64_t ids[4];
	for (int i = 0; i < 4; i++)
		ids[i] = epp_event_begin(session, EPP_NODE, name);
	epp_event_end(session, ids[1], NULL, 0);
	epp_event_end(session, ids[3], NULL, 0);
	epp_event_end(session, ids[0], NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(flags_of(scan_id(scan, EPF_EVENT, ids[i])), i > 1 ? EPF_FLAG_UNENDED : 0);
	/* Its event was over already: an orphan end, which the reader finds to be late. */
	ck_assert_uint_eq(scan_first(scan, EPF_ORPHAN_END, 0)->id, ids[3]);
	trace_scan_free(scan);
}
END_TEST

START_TEST(an_end_without_a_begin)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("nobody's");
	/* With a recorder of its own, an empty stack, and none. */
	epp_event_end(session, 1, NULL, 0);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	epp_event_end(session, UINT64_MAX, NULL, 0);
	epp_event_end(session, 2, NULL, 0);
	epp_event_end_named(session, UINT64_MAX - 1, EPP_API, name, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 2);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_ORPHAN_END, 0), 2);
	ck_assert_uint_eq(scan_id(scan, EPF_ORPHAN_END, UINT64_MAX - 1)->name, name);
	ck_assert_uint_eq(flags_of(scan_id(scan, EPF_ORPHAN_END, UINT64_MAX - 1)), EPF_FLAG_NAME_AT_END);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_stack_of_64_and_no_more)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("deep");
	uint64_t ids[64];
	for (int i = 0; i < 64; i++)
		ck_assert_uint_ne(ids[i] = epp_event_begin(session, EPP_NODE, name), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_TOO_DEEP), 3);
	epp_event_end(session, ids[63], NULL, 0);
	uint64_t again = epp_event_begin(session, EPP_NODE, name);
	ck_assert_uint_ne(again, 0);
	epp_event_end(session, ids[0], NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), 65);
	ck_assert_uint_eq(scan_ids_taken(scan), 68);
	trace_scan_free(scan);
}
END_TEST

struct ends {
	epp_session *session;
	uint64_t ids[64];
	int count;
	epp_name named;
};

static void *end_here(void *argument)
{
	struct ends *ends = argument;
	for (int i = 0; i < ends->count; i++)
		if (ends->named)
			epp_event_end_named(ends->session, ends->ids[i], EPP_KERNEL, ends->named, NULL, 0);
		else
			epp_event_end(ends->session, ends->ids[i], NULL, 0);
	return NULL;
}

START_TEST(an_end_on_another_thread)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("wanders"), late = epp_name_intern("late name");
	struct ends ends = { session, { epp_event_begin(session, EPP_NODE, name) }, 1, 0 };
	recording_on_thread(end_here, &ends);
	struct ends named = { session, { epp_event_begin(session, EPP_NODE, name) }, 1, late };
	recording_on_thread(end_here, &named);
	struct trace_scan *live = recording_look(session);
	ck_assert_uint_eq(live->open_count, 0);
	trace_scan_free(live);
	struct trace_scan *scan = recording_finish(session);
	const struct scan_record *orphan = scan_id(scan, EPF_ORPHAN_END, ends.ids[0]);
	ck_assert_uint_eq(orphan->name, EPF_NAME_ORPHAN_END);
	ck_assert_uint_eq(flags_of(orphan), 0);
	ck_assert_uint_ne(orphan->track, scan_id(scan, EPF_EVENT, ends.ids[0])->track);
	ck_assert_uint_eq(scan_id(scan, EPF_ORPHAN_END, named.ids[0])->name, late);
	ck_assert_uint_eq(flags_of(scan_id(scan, EPF_EVENT, ends.ids[0])), EPF_FLAG_UNENDED);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_full_stack_gives_up_what_ended_elsewhere)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("given up");
	struct ends ends = { session, { 0 }, 0, 0 };
	uint64_t kept[64];
	int kept_count = 0;
	for (int i = 0; i < 64; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		if (i % 3 == 0)
			ends.ids[ends.count++] = id;
		else
			kept[kept_count++] = id;
	}
	ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	recording_on_thread(end_here, &ends);
	for (int i = 0; i < ends.count; i++)
		ck_assert_uint_ne(epp_event_begin(session, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_event_begin(session, EPP_NODE, name), 0);
	/* The rest is in order: ending the lowest closes all above it. */
	epp_event_end(session, kept[0], NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), 64 + (size_t)ends.count);
	ck_assert_uint_eq(scan_count(scan, EPF_ORPHAN_END, 0), (size_t)ends.count);
	ck_assert_uint_eq(flags_of(scan_id(scan, EPF_EVENT, kept[0])), 0);
	for (int i = 1; i < kept_count; i++)
		ck_assert_uint_eq(flags_of(scan_id(scan, EPF_EVENT, kept[i])), EPF_FLAG_UNENDED);
	trace_scan_free(scan);
}
END_TEST

#define MANY ((RECORDING_SLOW > 1 ? 1 : 3) * 65536u + 10)

START_TEST(ids_go_on_beyond_a_block)
{
	epp_session *session = recording_start(NULL);
	epp_name name = epp_name_intern("many");
	uint64_t last = 0;
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		ck_assert(id > last);
		last = id;
		epp_event_end(session, id, NULL, 0);
		if (i % 65536 == 7)
			recording_sleep_ms(20);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_ids_taken(scan), MANY);
	ck_assert_uint_eq(scan->records_count, MANY - scan_lost(scan, EPP_LOSS_NO_BUFFER));
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_dry_pool_is_counted_exactly)
{
	epp_session *session = recording_start(NULL);
	struct storage *inside = recording_storage(session);
	epp_name name = epp_name_intern("dry");
	uint64_t outer = epp_event_begin(session, EPP_NODE, name);
	/* The helper cannot come. */
	pthread_mutex_lock(&inside->drain_lock);
	uint64_t begun = 1, instants = 0;
	/* Which all fit into the chunks, but for the last hundred. */
	for (; LOAD_RELAXED(&inside->chunks.free) > 0 || epp_session_lost(session, EPP_LOSS_NO_BUFFER) < 100; begun++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	for (; instants < 10; instants++)
		epp_instant_record(session, EPP_NODE, name, NULL, 0);
	/* Ends without an id of their own are lost too, and say so. */
	for (int i = 0; i < 5; i++)
		epp_async_end(session, outer, NULL, 0);
	for (int i = 0; i < 5; i++)
		epp_event_end(session, UINT64_MAX, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 120);
	pthread_mutex_unlock(&inside->drain_lock);
	for (int i = 0; i < 2000 && LOAD_RELAXED(&inside->chunks.free) == 0; i++)
		recording_sleep_ms(1);
	/* There is room again. */
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	epp_event_end(session, outer, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 120);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), begun + 1 - 100);
	ck_assert_ptr_nonnull(scan_id(scan, EPF_EVENT, outer));
	trace_scan_free(scan);
}
END_TEST

static Suite *recorder_suite(void)
{
	Suite *suite = suite_create("recorder");
	TCase *tcase = tcase_create("one thread");
	tcase_add_test(tcase, events_nest_and_have_exact_times);
	tcase_add_test(tcase, args_of_every_type_come_back);
	tcase_add_test(tcase, too_many_args_are_cut_and_counted);
	tcase_add_test(tcase, too_much_text_is_cut_and_counted);
	tcase_add_test(tcase, records_of_all_sizes_fit_into_regions);
	tcase_add_test(tcase, a_name_may_come_at_the_end);
	tcase_add_test(tcase, records_of_one_call);
	tcase_add_test(tcase, a_key_called_parent_is_no_parent);
	tcase_add_test(tcase, an_inner_end_that_is_skipped);
	tcase_add_test(tcase, an_end_without_a_begin);
	tcase_add_test(tcase, a_stack_of_64_and_no_more);
	tcase_add_test(tcase, an_end_on_another_thread);
	tcase_add_test(tcase, a_full_stack_gives_up_what_ended_elsewhere);
	tcase_add_test(tcase, ids_go_on_beyond_a_block);
	tcase_add_test(tcase, a_dry_pool_is_counted_exactly);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(recorder_suite)
