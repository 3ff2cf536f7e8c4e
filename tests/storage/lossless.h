/* What the tests of options.lossless share: sessions that the helper stays away from, threads that record numbered
 * events, and a look at whether these are there once and in order. */
#ifndef EPPROF_TESTS_STORAGE_LOSSLESS_H
#define EPPROF_TESTS_STORAGE_LOSSLESS_H

#include <string.h>

#include "base/helper.h"
#include "tests/support/recording.h"

#define THREADS 8
/* Together more than a window begins with. */
#define EVENTS 3000
#define TEXT_BYTES 1000

static epp_name name, number, padding;
static char text[TEXT_BYTES];

RECORDING_INLINE void set_up(void)
{
	name = epp_name_intern("lossless");
	number = epp_name_intern("number");
	padding = epp_name_intern("padding");
	memset(text, 't', sizeof(text));
}

/* Started, and not visited by the helper before let_helper_come: its window has the chunks that it begins with, or a
 * few more. */
RECORDING_INLINE epp_session *start(epp_session_options options)
{
	epp_session *session;
	options.struct_size = sizeof(options);
	options.overwrite = 1;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	helper_remove(&recording_inside(session)->helper);
	return session;
}

RECORDING_INLINE void let_helper_come(epp_session *session)
{
	check_ok(helper_add(&recording_inside(session)->helper));
	helper_wake();
}

RECORDING_INLINE void record(epp_session *session, uint64_t i)
{
	const epp_arg args[] = {
		{ .key = number, .type = EPP_ARG_U64, .value.u64 = i },
		{ .key = padding, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) },
	};
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, 2);
}

RECORDING_INLINE void *work(void *session)
{
	for (uint64_t i = 0; i < EVENTS; i++)
		record(session, i);
	return NULL;
}

RECORDING_INLINE void run_workers(epp_session *session)
{
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = recording_thread(work, session);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* What one thread recorded, as it stands in the trace. */
struct account {
	uint32_t track;
	uint64_t first, next, count; /* the least number, one past the largest */
};

/* That of the record's thread, begun if need be with the record's number. */
RECORDING_INLINE struct account *account_of(struct account accounts[THREADS], const struct scan_record *record)
{
	struct account *account = accounts;
	while (account < accounts + THREADS && account->track && account->track != record->owner)
		account++;
	ck_assert(account < accounts + THREADS);
	if (!account->track) {
		account->track = record->owner;
		account->first = account->next = record->args[0].value;
	}
	account->count++;
	return account;
}

/* Each thread's events are there in order and none twice; returns how many there are. */
RECORDING_INLINE uint64_t check_order(const struct trace_scan *scan, struct account accounts[THREADS])
{
	memset(accounts, 0, THREADS * sizeof(*accounts));
	for (size_t i = 0; i < scan->records_count; i++) {
		struct account *account = account_of(accounts, &scan->records[i]);
		uint64_t value = scan->records[i].args[0].value;
		ck_assert_uint_ge(value, account->next);
		account->next = value + 1;
	}
	return scan->records_count;
}

RECORDING_INLINE void check_all_there(const struct trace_scan *scan)
{
	struct account accounts[THREADS];
	ck_assert_uint_eq(check_order(scan, accounts), THREADS * EVENTS);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_uint_eq(accounts[i].count, EVENTS);
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		ck_assert_uint_eq(scan_lost(scan, reason), 0);
}

#endif
