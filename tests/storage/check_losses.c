/* Every reason for a loss, forced, with a count that is known; ended in order, or killed right after.  The count stands
 * in the ledger, in what `info` says, in what `recover` makes of it and in every export; and the accounts add up:
 * `validate` finds nothing.
 *
 * A restart gap counts intervals; that there is one when there must be, check_shared_run has. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/wait.h>

#include "epprof/profiler.h"
#include "epprof/trace_reader.h"
#include "epprof/track.h"
#include "tests/support/command.h"
#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

static epp_name name, other;
static struct profiler_double profiler;

/* ---- each reason ---- */

/* How many were lost; ~0: as many as were begun and not written. */
#define THE_REST UINT64_MAX

static void events(epp_session *session, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
}

/* Events that fill what there is soon: 4,000 bytes each. */
static void large_events(epp_session *session, unsigned count)
{
	static char text[4000];
	memset(text, 'l', sizeof(text));
	epp_arg arg = { .key = name, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	for (unsigned i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &arg, 1);
}

static void *one_event(void *session)
{
	events(session, 1);
	return NULL;
}

/* The helper is held up until the window is full. */
static uint64_t lose_no_buffer(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	events(session, 1);
	pthread_mutex_lock(&inside->drain_lock);
	while (LOAD_RELAXED(&inside->window.slots[0].lost[EPP_LOSS_NO_BUFFER]) < 777)
		large_events(session, 1);
	pthread_mutex_unlock(&inside->drain_lock);
	return 777;
}

static uint64_t lose_no_slot(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	pthread_mutex_lock(&inside->drain_lock);
	for (unsigned i = 0; i < EPF_SLOT_COUNT + 33; i++)
		recording_on_thread(one_event, session);
	pthread_mutex_unlock(&inside->drain_lock);
	return 33;
}

static uint64_t lose_too_deep(epp_session *session)
{
	for (unsigned i = 0; i < EPF_OPEN_MAX + 1234; i++)
		epp_event_begin(session, EPP_NODE, name);
	return 1234;
}

static uint64_t lose_too_large(epp_session *session)
{
	epp_arg args[300];
	for (unsigned i = 0; i < 300; i++)
		args[i] = (epp_arg){ .key = name, .type = EPP_ARG_U64, .value.u64 = i };
	for (unsigned i = 0; i < 117; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), args, 300);
	return 117;
}

static uint64_t lose_refused(epp_session *session)
{
	epp_track track;
	check_ok(epp_track_create(
	    session, &(epp_track_options){ .struct_size = sizeof(epp_track_options), .name = "row", .device = -1 },
	    &track));
	events(session, 3);
	for (unsigned i = 0; i < 219; i++)
		epp_event_record(session, track, EPP_KERNEL, name, 2, 1, 0, NULL, 0);
	return 219;
}

static uint64_t lose_disk(epp_session *session)
{
	struct storage *inside = recording_storage(session);
	events(session, 100);
	pthread_mutex_lock(&inside->drain_lock);
	int good = inside->writer.fd;
	inside->writer.fd = open("/dev/null", O_RDONLY);
	pthread_mutex_unlock(&inside->drain_lock);
	while (epp_session_lost(session, EPP_LOSS_DISK) == 0)
		large_events(session, 10);
	pthread_mutex_lock(&inside->drain_lock);
	close(inside->writer.fd);
	inside->writer.fd = good;
	pthread_mutex_unlock(&inside->drain_lock);
	return THE_REST;
}

static uint64_t lose_policy(epp_session *session)
{
	while (epp_session_lost(session, EPP_LOSS_POLICY) == 0)
		large_events(session, 10);
	return THE_REST;
}

static uint64_t lose_after_end(epp_session *session)
{
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	recording_end(session);
	for (unsigned i = 0; i < 119; i++)
		epp_event_end(session, id, NULL, 0);
	return 119;
}

static uint64_t lose_plugin(epp_session *session)
{
	EpprofLedger ledger = { .emitted = 321, .lost_no_buffer = 300, .lost_other = 21 };
	events(session, 2);
	profiler_registry_push(&profiler.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .ledger = &ledger });
	return 321;
}

static uint64_t lose_intervals(epp_session *session)
{
	EpprofBatch batch = { .struct_size = sizeof(batch), .gaps_count = 2, .gaps_ns = 3000000 };
	events(session, 2);
	profiler_registry_push(&profiler.impl, &batch);
	batch.gaps_count = 1;
	batch.gaps_ns = 500000;
	profiler_registry_push(&profiler.impl, &batch);
	return 3;
}

static uint64_t lose_filter(epp_session *session)
{
	events(session, 2);
	for (unsigned i = 0; i < 129; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("left out")), NULL, 0);
	return 129;
}

static const struct row {
	epp_loss reason;
	uint64_t (*force)(epp_session *session);
	bool has_profiler;
	uint32_t policy;
} rows[] = {
	{ EPP_LOSS_NO_BUFFER, lose_no_buffer, false, 0 },
	{ EPP_LOSS_NO_SLOT, lose_no_slot, false, 0 },
	{ EPP_LOSS_TOO_DEEP, lose_too_deep, false, 0 },
	{ EPP_LOSS_TOO_LARGE, lose_too_large, false, 0 },
	{ EPP_LOSS_REFUSED, lose_refused, false, 0 },
	{ EPP_LOSS_DISK, lose_disk, false, 0 },
	{ EPP_LOSS_POLICY, lose_policy, false, EPP_POLICY_STOP },
	{ EPP_LOSS_POLICY, lose_policy, false, EPP_POLICY_RING },
	{ EPP_LOSS_FILTER, lose_filter, false, 0 },
	{ EPP_LOSS_AFTER_END, lose_after_end, false, 0 },
	{ EPP_LOSS_PLUGIN, lose_plugin, true, 0 },
	{ EPP_LOSS_RESTART_GAP, lose_intervals, true, 0 },
};

static void lose(const char *path, const struct row *row, bool dies, int to)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = path,
		                        .policy = row->policy,
		                        .overwrite = 1,
		                        .exclude = row->reason == EPP_LOSS_FILTER ? "left*" : NULL,
		                        .max_bytes = row->policy == EPP_POLICY_RING ? 4 << 20 : 1 << 20 };
	check_ok(epp_session_create(&options, &session));
	profiler = double_make('a');
	if (row->has_profiler)
		check_ok(epp_session_attach(session, &profiler.impl, "lossy"));
	check_ok(epp_session_start(session));
	uint64_t lost = row->force(session);
	ck_assert_int_eq(write(to, &lost, sizeof(lost)), sizeof(lost));
	if (dies)
		raise(SIGKILL);
	epp_status_destroy(epp_session_end(session));
	epp_status_destroy(epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	_exit(0);
}

/* ---- where the count is looked for ---- */

static char *grouped(uint64_t count)
{
	static char text[32];
	if (count < 1000)
		snprintf(text, sizeof(text), "%" PRIu64, count);
	else if (count < 1000000)
		snprintf(text, sizeof(text), "%" PRIu64 ",%03" PRIu64, count / 1000, count % 1000);
	else
		snprintf(text, sizeof(text), "%" PRIu64 ",%03" PRIu64 ",%03" PRIu64, count / 1000000,
		         count / 1000 % 1000, count % 1000);
	return text;
}

/* What the accounts that lost_in looked at last say of all reasons. */
static uint64_t lost_total;

/* What of the reason the accounts say together, which all add up. */
static uint64_t lost_in(const char *path, epp_loss reason)
{
	uint64_t lost = 0, written = 0, emitted = 0, open = 0, all = 0;
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		check_balance(&line);
		lost += line.lost[reason];
		written += line.written;
		emitted += line.emitted;
		open += line.open;
		all += line.lost_total;
	}
	ck_assert_uint_eq(emitted, written + all + open);
	lost_total = all;
	epp_trace_close(trace);
	return lost;
}

static void expect(int code, struct command command, const char *has)
{
	ck_assert_msg(command.code == code, "exit %d: %s%s", command.code, command.out, command.err);
	ck_assert_msg(!has || strstr(command.out, has), "'%s' is not in: %s", has, command.out);
	command_free(&command);
}

static void check_sqlite(const char *path, const char *reason, uint64_t lost)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	ck_assert_int_eq(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(database, "SELECT SUM(events) FROM ledger WHERE entry = 'lost' AND reason = ?",
	                                    -1, &statement, NULL),
	                 SQLITE_OK);
	sqlite3_bind_text(statement, 1, reason, -1, SQLITE_STATIC);
	ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
	ck_assert_uint_eq((uint64_t)sqlite3_column_int64(statement, 0), lost);
	sqlite3_finalize(statement);
	sqlite3_close(database);
}

/* An annotation of that name with that number, as protobuf has them: a text, then a varint. */
static void perfetto_pattern(char *to, const char *reason, uint64_t lost)
{
	to = stpcpy(to, reason);
	*to++ = 0x18;
	for (; lost > 127; lost >>= 7)
		*to++ = (char)(lost | 128);
	*to++ = (char)lost;
	*to = 0;
}

static const char *const formats[] = { "chrome",   "ort",    "svg",    "csv",     "ndjson", "sqlite",
	                               "perfetto", "kineto", "xspace", "parquet", "html",   "flame" };

/* With `only`, of the events with that name. */
static void check_export(const char *trace, const char *format, const char *only, const char *reason, uint64_t lost)
{
	char pattern[64], *path = strdup(check_path("export"));
	size_t bytes;
	expect(0,
	       command_run(NULL, "convert", "--force", "-t", format, "-o", path, trace, only ? "--name" : NULL, only, NULL),
	       NULL);
	char *text = command_file(path, &bytes);
	if (!strcmp(format, "perfetto"))
		perfetto_pattern(pattern, reason, lost);
	else if (!strcmp(format, "csv"))
		snprintf(pattern, sizeof(pattern), "\"\"%s\"\":%" PRIu64, reason, lost);
	else if (!strcmp(format, "svg") || !strcmp(format, "flame"))
		snprintf(pattern, sizeof(pattern), "&quot;%s&quot;:%" PRIu64, reason, lost);
	else if (!strcmp(format, "html"))
		snprintf(pattern, sizeof(pattern), "%" PRIu64 " lost", lost_total);
	else
		snprintf(pattern, sizeof(pattern), "\"%s\":%" PRIu64, reason, lost);
	if (!strcmp(format, "sqlite"))
		check_sqlite(path, reason, lost);
	/* A page tells how many events are missing; one whose args were cut, or that nobody asked for, is none of
	 * them. */
	else if (!strstr(pattern, " lost") || lost_total)
		ck_assert_msg(memmem(text, bytes, pattern, strlen(pattern)), "%s: no '%s'", format, pattern);
	free(text);
	free(path);
}

static void check_everywhere(const char *path, epp_loss reason, uint64_t lost, unsigned first_format)
{
	char line[64];
	const char *word = epp_loss_name(reason);
	snprintf(line, sizeof(line), "%s %s", grouped(lost), word);
	ck_assert_uint_eq(lost_in(path, reason), lost);
	expect(0, command_run(NULL, "info", path, NULL), line);
	if (reason == EPP_LOSS_RESTART_GAP)
		expect(0, command_run(NULL, "info", path, NULL), "not recording for 3.5 ms");
	snprintf(line, sizeof(line), "\"%s\": %" PRIu64, word, lost);
	expect(0, command_run(NULL, "info", "--format", "json", path, NULL), line);
	expect(0, command_run(NULL, "validate", path, NULL), NULL);
	for (unsigned i = first_format; i < sizeof(formats) / sizeof(*formats); i += CHECK_ONE_IN)
		check_export(path, formats[i], NULL, word, lost);
}

/* Of a trace whose every loss is of this reason: what was begun and is neither written nor open. */
static uint64_t the_rest(const char *path)
{
	uint64_t rest = 0;
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		rest += line.emitted - line.written - line.open - line.lost[EPP_LOSS_NO_BUFFER];
	}
	epp_trace_close(trace);
	ck_assert_uint_gt(rest, 0);
	return rest;
}

START_TEST(every_reason)
{
	const struct row *row = &rows[_i / 2];
	bool dies = _i % 2;
	char *path = strdup(check_path("losses.epp")), *recovered = strdup(check_path("recovered.epp"));
	int ends[2], status;
	uint64_t lost;
	name = epp_name_intern("event");
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0)
		lose(path, row, dies, ends[1]);
	waitpid(child, &status, 0);
	ck_assert(dies ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_int_eq(read(ends[0], &lost, sizeof(lost)), sizeof(lost));
	if (lost == THE_REST)
		lost = the_rest(path);
	if (dies) {
		/* Once as it was left, and whole again. */
		ck_assert_uint_eq(lost_in(path, row->reason), lost);
		expect(0, command_run(NULL, "validate", path, NULL), NULL);
		expect(0, command_run(NULL, "recover", "--force", "-o", recovered, path, NULL), NULL);
	}
	check_everywhere(dies ? recovered : path, row->reason, lost, (unsigned)_i % CHECK_ONE_IN);
	free(path);
	free(recovered);
}
END_TEST

/* What an export leaves out on request is lost there, and only there. */
START_TEST(filtered)
{
	char *path = strdup(check_path("filtered.epp"));
	epp_session *session = recording_start(path);
	name = epp_name_intern("event");
	other = epp_name_intern("other");
	for (unsigned i = 0; i < 523; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, i < 100 ? name : other), NULL, 0);
	trace_scan_free(recording_finish_file(session, path));
	ck_assert_uint_eq(lost_in(path, EPP_LOSS_FILTER), 0);
	for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		check_export(path, formats[i], "event", "filter", 423);
	free(path);
}
END_TEST

/* Its accounts are read before what they are of, or after it. */
START_TEST(a_trace_that_is_recorded_balances)
{
	char *path = check_path("live.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	name = epp_name_intern("event");
	events(session, 5);
	pthread_mutex_lock(&inside->drain_lock);
	struct epf_slot *slot = &inside->window.slots[0];
	for (int later = -2; later <= 2; later += 4) {
		slot->next_id += (uint64_t)later;
		ck_assert_uint_eq(lost_in(path, EPP_LOSS_NO_BUFFER), 0);
		expect(0, command_run(NULL, "info", "--strict", path, NULL), "recording");
		expect(0, command_run(NULL, "validate", path, NULL), "valid: 5 records");
		slot->next_id -= (uint64_t)later;
	}
	pthread_mutex_unlock(&inside->drain_lock);
	trace_scan_free(recording_finish_file(session, path));
	ck_assert_uint_eq(lost_in(path, EPP_LOSS_NO_BUFFER), 0);
}
END_TEST

static Suite *losses_suite(void)
{
	Suite *suite = suite_create("losses");
	TCase *tcase = tcase_create("losses");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_reason, 0, 2 * sizeof(rows) / sizeof(*rows));
	tcase_add_test(tcase, filtered);
	tcase_add_test(tcase, a_trace_that_is_recorded_balances);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(losses_suite)
