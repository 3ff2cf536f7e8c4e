/* The ledger: each thread's and each profiler's account, from blocks, from slots, over runs and after a kill. */
#include "trace/reader.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

static epp_trace_ledger_entry account_of(epp_trace *trace, const char *producer)
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		if (!strcmp(account.producer, producer))
			return account;
	}
	ck_abort_msg("no account of %s", producer);
	return account;
}

static void check_account(epp_trace *trace, const char *producer, uint64_t emitted, uint64_t written, uint64_t lost,
                          uint64_t open)
{
	epp_trace_ledger_entry account = account_of(trace, producer);
	ck_assert_msg(account.emitted == emitted && account.written == written && account.lost_total == lost &&
	                  account.open == open,
	              "%s: %lu = %lu + %lu + %lu", producer, (unsigned long)account.emitted,
	              (unsigned long)account.written, (unsigned long)account.lost_total, (unsigned long)account.open);
	ck_assert_int_eq(account.balanced, emitted == written + lost + open);
}

/* Every kind of record, every way to lose one. */
START_TEST(all_kinds)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "name");
	builder_producer(b, 0, "MyEP");
	uint32_t main_track = builder_thread(b, "main", 10), worker = builder_thread(b, "worker", 11);
	uint32_t stream = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_HOST);
	struct epf_track own = { .kind = EPF_TRACK_CUSTOM, .producer = -1, .device = -1 };
	uint32_t custom = builder_track(b, &own, "custom", "");

	uint64_t outer = builder_begin(b, main_track, BUILDER_START + 1, EPP_NODE, name);             /* 1 */
	uint64_t event = builder_event(b, main_track, BUILDER_START + 2, 3, EPP_NODE, name, NULL, 0); /* 2 */
	builder_instant(b, main_track, BUILDER_START + 6, EPP_NODE, name, NULL, 0);                   /* 3 */
	builder_counter(b, main_track, BUILDER_START + 7, name, 5);                                   /* 4 */
	builder_flow(b, main_track, BUILDER_START + 8, event, outer); /* 5: carries outer's id */
	uint64_t request = builder_async_begin(b, main_track, BUILDER_START + 9, EPP_NODE, name); /* 6 */
	builder_async_end(b, worker, request, BUILDER_START + 20, NULL, 0);
	builder_switch(b, main_track, custom);
	builder_complete(b, main_track, BUILDER_START + 10, 5, EPP_NODE, name, event, NULL, 0); /* 7 */
	builder_device_pair(b, main_track, 1, 2, 3);
	builder_switch(b, main_track, stream);
	builder_complete(b, main_track, BUILDER_START + 11, 5, EPP_KERNEL, name, event, NULL, 0); /* 8, and MyEP's */
	builder_switch(b, main_track, 0);
	builder_instant(b, main_track, BUILDER_START + 21, EPP_NODE, name, NULL, 0);          /* 9 */
	builder_complete(b, stream, BUILDER_START + 12, 5, EPP_KERNEL, name, event, NULL, 0); /* MyEP's */
	builder_orphan_end(b, worker, outer, BUILDER_START + 30, NULL, 0);
	builder_producer(b, 0, "MyEP")->emitted++; /* the one that was handed over by the thread */

	builder_lost(b, main_track, EPP_LOSS_NO_BUFFER, 4, 0);
	builder_lost(b, main_track, EPP_LOSS_TOO_DEEP, 2, 0);
	builder_lost(b, main_track, EPP_LOSS_AFTER_END, 3, 3);
	for (int finished = 0; finished < 2; finished++) {
		epp_trace *trace = builder_open(b, finished ? EPF_FINISHED : EPF_RECORDING);
		/* The outer event ended on the worker, so it is not open, though it stands on its stack. */
		check_account(trace, "thread main (10)", 9 + 9, 9, 9, 0);
		check_account(trace, "thread worker (11)", 0, 0, 0, 0);
		check_account(trace, "MyEP", 2, 2, 0, 0);
		check_account(trace, "session", 0, 0, 0, 0);
		ck_assert_uint_eq(account_of(trace, "MyEP").is_plugin, 1);
		ck_assert_uint_eq(account_of(trace, "thread main (10)").track, main_track);
		ck_assert_uint_eq(account_of(trace, "thread main (10)").lost[EPP_LOSS_TOO_DEEP], 2);
		ck_assert_uint_eq(epp_trace_ledger_count(trace), 4);
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_fails(EPP_INVALID_ARGUMENT, epp_trace_ledger_at(trace, 4, &account));
		epp_trace_close(trace);
	}
	builder_destroy(b);
}
END_TEST

START_TEST(cut_args_are_not_lost_events)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START, 1, EPP_NODE, builder_name(b, "n"), NULL, 0);
	builder_lost(b, thread, EPP_LOSS_TOO_LARGE, 5, 5);
	builder_live(b)->lost[EPP_LOSS_NO_SLOT] = 7;
	struct epf_slot *slot;
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	slot = (struct epf_slot *)(void *)(image + builder_header(b)->slots_offset);
	slot->lost_idless = 0; /* a cut takes no id and is no event: a recorder does not count it as idless */
	epp_trace *trace;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 1, 1, 0, 0);
	ck_assert_uint_eq(account_of(trace, "thread main (1)").lost[EPP_LOSS_TOO_LARGE], 5);
	check_account(trace, "session", 7, 0, 7, 0);
	epp_trace_close(trace);

	/* What the helper lost of a thread's regions. */
	slot->drain_lost_disk = 3;
	slot->drain_lost_policy = 2;
	slot->next_id += 5;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 6, 1, 5, 0);
	ck_assert_uint_eq(account_of(trace, "thread main (1)").lost[EPP_LOSS_DISK], 3);
	epp_trace_close(trace);

	/* Whole blocks of ids. */
	slot->id_blocks = 2;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 6 + 2 * 65536, 1, 5, 0);
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

/* A kill between a ledger block and the clearing of the slot: the block's word is the last. */
START_TEST(block_and_slot)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START, 1, EPP_NODE, builder_name(b, "n"), NULL, 0);
	struct epf_ledger_entry entries[] = { { .track = thread, .run = 1, .ids_taken = 1 },
		                              { .run = 1, .lost = { [EPP_LOSS_NO_SLOT] = 5 }, .lost_idless = 5 },
		                              { .run = 1, .lost = { [EPP_LOSS_NO_SLOT] = 6 }, .lost_idless = 6 } };
	builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_LEDGER, .payload_bytes = sizeof(entries) }, entries);
	builder_live(b)->lost[EPP_LOSS_NO_SLOT] = 7;
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	((struct epf_slot *)(void *)(image + builder_header(b)->slots_offset))->next_id += 100;
	epp_trace *trace;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 1, 1, 0, 0);
	/* The session's own losses count up, here and there. */
	check_account(trace, "session", 7, 0, 7, 0);
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

/* A kill between taking an id and what it is for, and between a loss and the closing of its event. */
START_TEST(killed_in_the_middle)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "n");
	uint32_t thread = builder_thread(b, "main", 1);
	builder_begin(b, thread, BUILDER_START, EPP_NODE, name);
	builder_event(b, thread, BUILDER_START + 1, 1, EPP_NODE, name, NULL, 0);
	size_t bytes;
	uint8_t *image = builder_image(b, EPF_RECORDING, &bytes);
	struct epf_slot *slot = (struct epf_slot *)(void *)(image + builder_header(b)->slots_offset);
	epp_trace *trace;
	slot->next_id++;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 2, 1, 0, 1);
	epp_trace_close(trace);
	slot->next_id++;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 4, 1, 0, 1);
	epp_trace_close(trace);
	slot->next_id -= 2;
	slot->lost[EPP_LOSS_NO_BUFFER]++;
	check_ok(builder_open_image(image, bytes, &trace));
	check_account(trace, "thread main (1)", 3, 1, 1, 1);
	epp_trace_close(trace);
	free(image);
	builder_destroy(b);
}
END_TEST

START_TEST(plugins_that_lose)
{
	struct epp_builder *b = builder_create();
	struct epf_producer *producer = builder_producer(b, 3, "late");
	builder_producer(b, 5, "other");
	uint32_t stream = builder_track(b, &(struct epf_track){ .kind = EPF_TRACK_DEVICE, .producer = 3 }, "s", "d");
	builder_complete(b, stream, 5, 5, EPP_KERNEL, builder_name(b, "k"), 0, NULL, 0);
	producer->emitted += 10;
	producer->lost[EPP_LOSS_PLUGIN] = 6;
	producer->lost[EPP_LOSS_TOO_LARGE] = 100;
	producer->lost[EPP_LOSS_REFUSED] = 4;
	producer->errors = 2;
	for (int finished = 0; finished < 2; finished++) {
		epp_trace *trace = builder_open(b, finished ? EPF_FINISHED : EPF_RECORDING);
		check_account(trace, "late", 11, 1, 10, 0);
		ck_assert_uint_eq(account_of(trace, "late").errors, 2);
		check_account(trace, "other", 0, 0, 0, 0);
		ck_assert_uint_eq(trace->reader->info.producers_count, 2);
		epp_trace_close(trace);
	}
	builder_destroy(b);
}
END_TEST

/* Many records of kinds that need not be decoded, next to some that must be. */
START_TEST(counted_by_header_or_by_record)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "n");
	uint32_t thread = builder_thread(b, "main", 1);
	for (uint64_t i = 0; i < 5000; i++)
		builder_event(b, thread, BUILDER_START + i, 1, EPP_NODE, name, NULL, 0);
	builder_flush(b, thread, BUILDER_TO_BLOCK);
	uint64_t open = builder_begin(b, thread, BUILDER_START + 6000, EPP_NODE, name);
	for (uint64_t i = 0; i < 1000; i++) {
		builder_event(b, thread, BUILDER_START + 6000 + i, 1, EPP_NODE, name, NULL, 0);
		builder_orphan_end(b, thread, open - 1 - i, BUILDER_START + 6001 + i, NULL, 0);
	}
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	check_account(trace, "thread main (1)", 6001, 6000, 0, 1);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(loss_names)
{
	for (unsigned reason = 0; reason <= EPP_LOSS_THROTTLED; reason++)
		ck_assert_ptr_nonnull(epp_loss_name(reason));
	ck_assert_str_eq(epp_loss_name(EPP_LOSS_TOO_DEEP), "too deep");
	ck_assert_ptr_null(epp_loss_name(EPP_LOSS_THROTTLED + 1));
	ck_assert_ptr_null(epp_loss_name(UINT32_MAX));
}
END_TEST

static Suite *accounts_suite(void)
{
	Suite *suite = suite_create("reader_accounts");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, all_kinds);
	tcase_add_test(cases, cut_args_are_not_lost_events);
	tcase_add_test(cases, block_and_slot);
	tcase_add_test(cases, killed_in_the_middle);
	tcase_add_test(cases, plugins_that_lose);
	tcase_add_test(cases, counted_by_header_or_by_record);
	tcase_add_test(cases, loss_names);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(accounts_suite)
