/* The trace writer against the reader: many records in any order, all kinds, accounts that balance, limits, and a disk
 * that is full at every place.  Covers trace_writer_blocks.c. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "tests/support/check.h"

#define ZERO 1000000ull

static epp_trace_writer *create(const char *path)
{
	epp_trace_writer *writer;

	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){
		.struct_size = sizeof(epp_trace_writer_options), .path = path, .label = "made", .overwrite = 1 },
	    &writer));
	return writer;
}

static uint32_t add_thread(epp_trace_writer *writer, uint32_t source, uint32_t thread_id)
{
	uint32_t track;

	check_ok(epp_trace_writer_add_track(writer,
	                                    &(epp_trace_track){ .kind = EPP_TRACK_THREAD,
	                                                        .source = source,
	                                                        .thread_id = thread_id,
	                                                        .device = -1,
	                                                        .producer = -1,
	                                                        .name = "worker" },
	                                    &track));
	return track;
}

static epp_status *finish(epp_trace_writer *writer)
{
	uint64_t first, last;

	if (!epp_trace_writer_time_range(writer, &first, &last))
		last = ZERO;
	return epp_trace_writer_finish(writer, &(epp_trace_pair){ ZERO, 1, 0, 1700000000000000000 },
	                               &(epp_trace_pair){ last + 1, 1, (int64_t)(last + 1 - ZERO), 1700000000000000000 });
}

static void tell(void *user, const epp_trace_finding *finding)
{
	(void)user;
	if (finding->severity != EPP_NOTE)
		ck_abort_msg("%s", finding->text);
}

static epp_trace *open_valid(const char *path)
{
	epp_trace *trace;
	uint64_t errors;

	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_validate(trace, tell, NULL, &errors));
	ck_assert_uint_eq(errors, 0);
	return trace;
}

START_TEST(many_records_in_no_order_come_back)
{
	enum { COUNT = 60000, TRACKS = 5 };
	char *path = check_path("many.epp"), name[32];
	epp_trace_writer *writer = create(path);
	uint32_t tracks[TRACKS];
	epp_timeline *timeline;
	const epp_event *event;
	uint64_t seen = 0, sum = 0, random = 1;

	for (uint32_t i = 0; i < TRACKS; i++)
		tracks[i] = add_thread(writer, 0, i + 1);
	for (uint64_t i = 1; i <= COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		int bytes = snprintf(name, sizeof name, "n%u", (unsigned)(random >> 50));
		epp_name number = epp_trace_writer_intern_name(writer, name, (size_t)bytes);
		epp_arg arg = { .key = epp_trace_writer_intern_name(writer, "text", 4),
			        .type = EPP_ARG_TEXT,
			        .text_bytes = (size_t)bytes };
		arg.value.text = name;
		check_ok(epp_trace_writer_add_record(writer,
		                                     &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
		                                                          .track = tracks[i % TRACKS],
		                                                          .id = i,
		                                                          .name = number,
		                                                          .start_ticks = ZERO + (random >> 33) % 1000000,
		                                                          .duration_ticks = random >> 60,
		                                                          .args = &arg,
		                                                          .args_count = i % 2,
		                                                          .category = EPP_NODE }));
	}
	check_ok(finish(writer));
	epp_trace_writer_destroy(writer);
	epp_trace *trace = open_valid(path);
	ck_assert_str_eq(epp_trace_get_info(trace)->label, "made");
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		epp_trace_arg arg;
		size_t cursor = 0;
		seen++;
		sum += event->id;
		ck_assert_uint_eq(event->args_count, event->id % 2);
		if (epp_event_args(timeline, event, &cursor, &arg))
			ck_assert(arg.text_bytes == event->name_bytes &&
			          !memcmp(arg.value.text, event->name, event->name_bytes));
	}
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(seen, COUNT);
	ck_assert_uint_eq(sum, (uint64_t)COUNT * (COUNT + 1) / 2);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
}
END_TEST

START_TEST(accounts_balance_with_losses)
{
	char *path = check_path("losses.epp");
	epp_trace_writer *writer = create(path);
	uint32_t source, thread, other, device;
	int32_t producer;
	uint64_t total = 0;

	check_ok(epp_trace_writer_add_source(writer, &source));
	epp_trace_writer_describe_source(writer, source, 77,
	                                 "a program with a name that is longer than the sixty-three bytes kept", "h");
	thread = add_thread(writer, 0, 1);
	other = add_thread(writer, source, 1);
	check_ok(epp_trace_writer_add_producer(writer, "device", &producer));
	check_ok(epp_trace_writer_add_track(writer,
	                                    &(epp_trace_track){ .kind = EPP_TRACK_DEVICE,
	                                                        .device = 0,
	                                                        .producer = producer,
	                                                        .clock_kind = 1,
	                                                        .clock = 1,
	                                                        .ticks_per_second = 1000 },
	                                    &device));
	epp_name name = epp_trace_writer_intern_name(writer, "x", 1);
	const epp_trace_record records[] = {
		{ .kind = EPP_RECORD_EVENT, .track = thread, .id = 1, .name = name, .start_ticks = ZERO, .duration_ticks = 9 },
		{ .kind = EPP_RECORD_EVENT, .track = other, .id = 1, .name = name, .start_ticks = ZERO, .duration_ticks = 9 },
		{ .kind = EPP_RECORD_INSTANT, .track = thread, .id = 2, .name = name, .start_ticks = ZERO },
		{ .kind = EPP_RECORD_ASYNC_BEGIN, .track = thread, .id = 3, .name = name, .start_ticks = ZERO + 1 },
		{ .kind = EPP_RECORD_ASYNC_END, .track = thread, .id = 3, .name = name, .start_ticks = ZERO + 5 },
		{ .kind = EPP_RECORD_FLOW, .track = thread, .id = 1, .parent = 3, .name = name, .start_ticks = ZERO + 5 },
		{ .kind = EPP_RECORD_CLOCK_PAIR, .track = device, .id = 4, .name = name, .duration_ticks = ZERO },
		{ .kind = EPP_RECORD_COMPLETE, .track = device, .id = 5, .parent = 1, .name = name, .duration_ticks = 1 },
	};
	for (size_t i = 0; i < sizeof records / sizeof *records; i++)
		check_ok(epp_trace_writer_add_record(writer, &records[i]));
	epp_trace_writer_count_lost(writer, thread, EPP_LOSS_TOO_DEEP, 3);
	epp_trace_writer_count_lost(writer, device, EPP_LOSS_NO_BUFFER, 4);
	epp_trace_writer_count_lost(writer, 0, EPP_LOSS_REFUSED, 5);
	epp_trace_writer_count_lost(writer, 99, EPP_LOSS_REFUSED, 5);
	epp_trace_writer_count_producer_lost(writer, producer, EPP_LOSS_PLUGIN, 30);
	epp_trace_writer_count_producer_lost(writer, producer, EPP_LOSS_TOO_LARGE, 2);
	epp_trace_writer_count_producer_lost(writer, producer + 1, EPP_LOSS_PLUGIN, 7);
	epp_trace_writer_count_producer_lost(writer, -1, EPP_LOSS_PLUGIN, 7);
	epp_trace_writer_set_producer_note(writer, producer, "why");
	epp_trace_writer_set_producer_note(writer, -1, "nobody's");
	check_ok(finish(writer));
	epp_trace_writer_destroy(writer);

	epp_trace *trace = open_valid(path);
	ck_assert_uint_eq(epp_trace_get_info(trace)->sources_count, 2);
	ck_assert_uint_eq(epp_trace_track_find(trace, other)->pid, 77);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		ck_assert(account.balanced);
		total += account.lost_total;
		ck_assert_str_eq(account.note, account.is_plugin ? "why" : "");
	}
	ck_assert_uint_eq(total, 12 + 30);
	epp_trace_close(trace);
}
END_TEST

START_TEST(args_beyond_the_limits_are_cut_and_counted)
{
	char *path = check_path("cut.epp"), *text = calloc(1, 40000);
	epp_trace_writer *writer = create(path);
	uint32_t thread = add_thread(writer, 0, 1);
	epp_name name = epp_trace_writer_intern_name(writer, "x", 1);
	epp_arg args[300];
	epp_timeline *timeline;
	const epp_event *event;

	for (size_t i = 0; i < 300; i++) {
		args[i] = (epp_arg){ .key = name, .type = EPP_ARG_TEXT, .text_bytes = i == 0 ? 40000 : i % 20 };
		args[i].value.text = text;
	}
	for (uint64_t i = 1; i <= 50; i++)
		check_ok(epp_trace_writer_add_record(writer, &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
		                                                                  .track = thread,
		                                                                  .id = i,
		                                                                  .name = name,
		                                                                  .start_ticks = ZERO + i,
		                                                                  .args = args,
		                                                                  .args_count = 300 }));
	check_ok(finish(writer));
	epp_trace_writer_destroy(writer);
	epp_trace *trace = open_valid(path);
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	check_ok(epp_trace_ledger_at(trace, 1, &account));
	ck_assert_uint_eq(account.lost[EPP_LOSS_TOO_LARGE], 50);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	ck_assert(epp_timeline_next(timeline, &event));
	ck_assert(event->flags & EPP_FLAG_ARGS_CUT);
	ck_assert_uint_eq(event->args_count, 255);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(text);
}
END_TEST

START_TEST(names_have_limits)
{
	epp_trace_writer *writer = create(check_path("names.epp"));
	char *text = malloc(70000), name[32];

	memset(text, 'n', 70000);
	epp_name longest = epp_trace_writer_intern_name(writer, text, 70000);
	ck_assert_uint_eq(epp_trace_writer_intern_name(writer, text, 70001), longest);
	/* Never within a character: what is left of the last one would tell them apart. */
	memcpy(text + 65531, "\xE4\xB8\xAD", 3);
	epp_name cut = epp_trace_writer_intern_name(writer, text, 70000);
	memcpy(text + 65531, "\xE4\xB9\xAD", 3);
	ck_assert_uint_eq(epp_trace_writer_intern_name(writer, text, 70000), cut);
	ck_assert_uint_eq(epp_trace_writer_intern_name(writer, "", 0), 1);
	ck_assert_uint_eq(epp_trace_writer_intern_name(writer, "a\0b", 3),
	                  epp_trace_writer_intern_name(writer, "a\0b", 3));
	ck_assert_uint_ne(epp_trace_writer_intern_name(writer, "a\0b", 3),
	                  epp_trace_writer_intern_name(writer, "a\0c", 3));
	for (unsigned i = 0; i < 70000; i++)
		epp_trace_writer_intern_name(writer, name, (size_t)snprintf(name, sizeof name, "%u", i));
	ck_assert_uint_eq(epp_trace_writer_intern_name(writer, "new", 3), EPP_RECORD_NAME_LOST);
	ck_assert_uint_ne(epp_trace_writer_intern_name(writer, "17", 2), EPP_RECORD_NAME_LOST);
	check_ok(finish(writer));
	epp_trace_writer_destroy(writer);
	epp_trace_close(open_valid(check_path("names.epp")));
	free(text);
}
END_TEST

START_TEST(mistakes_are_told)
{
	char *path = check_path("mistakes.epp");
	epp_trace_writer *writer = create(path);
	uint32_t thread = add_thread(writer, 0, 1), track;
	epp_arg arg = { .key = 0 };
	struct {
		epp_trace_writer_options options;
		int more;
	} newer = { { .struct_size = sizeof newer, .path = path }, 1 };
	epp_trace_writer *none;

	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_create(NULL, &none));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_create(&newer.options, &none));
	ck_assert_ptr_null(none);
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_track(writer, &(epp_trace_track){ .kind = 9 }, &track));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_trace_writer_add_track(writer, &(epp_trace_track){ .kind = 1, .source = 1 }, &track));
	epp_trace_record record = { .kind = EPP_RECORD_EVENT, .track = thread, .id = 1 };
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_record(writer, &record));
	record.name = epp_trace_writer_intern_name(writer, "x", 1);
	record.args = &arg;
	record.args_count = 1;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_record(writer, &record));
	record.args_count = 0;
	record.track = 2;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_record(writer, &record));
	record.track = thread;
	record.kind = 8;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_record(writer, &record));
	record.kind = 200;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_record(writer, &record));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_trace_writer_finish(writer, &(epp_trace_pair){ .ticks = 0 }, &(epp_trace_pair){ .ticks = 1 }));
	check_ok(finish(writer));
	check_fails(EPP_WRONG_STATE, finish(writer));
	record.kind = EPP_RECORD_EVENT;
	check_fails(EPP_WRONG_STATE, epp_trace_writer_add_record(writer, &record));
	epp_trace_writer_destroy(writer);
	epp_trace_writer_destroy(NULL);
}
END_TEST

START_TEST(two_writers_of_one_path_do_not_replace_each_other)
{
	char *path = check_path("race.epp");
	epp_trace_writer *first, *second = create(path);

	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options), .path = path }, &first));
	check_ok(finish(second));
	check_fails(EPP_EXISTS, finish(first));
	epp_trace_writer_destroy(first);
	epp_trace_writer_destroy(second);
	epp_trace_close(open_valid(path));
}
END_TEST

/* The limit on a file's size takes the place of a full disk. */
START_TEST(a_full_disk_leaves_no_file)
{
	struct rlimit whole, small;
	char *path = check_path("full.epp");
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
	for (rlim_t limit = 0; limit < 3 << 20; limit += 300001) {
		epp_trace_writer *writer = create(path);
		uint32_t thread = add_thread(writer, 0, 1);
		epp_name name = epp_trace_writer_intern_name(writer, "x", 1);
		epp_status *status = NULL;
		small = whole;
		small.rlim_cur = limit;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
		for (uint64_t i = 1; i <= 400000 && !status; i++)
			status = epp_trace_writer_add_record(writer,
			                                     &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
			                                                          .track = thread,
			                                                          .id = i * 1000003,
			                                                          .name = name,
			                                                          .start_ticks = ZERO + i * 999983 });
		if (!status)
			status = finish(writer);
		epp_trace_writer_destroy(writer);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
		ck_assert_int_eq(epp_status_code(status), EPP_IO);
		epp_status_destroy(status);
		ck_assert_int_ne(stat(path, &st), 0);
	}
}
END_TEST

START_TEST(a_kill_leaves_nothing)
{
	const char *folder = check_path("folder"), *path = check_path("folder/killed.epp");
	int status;

	ck_assert_int_eq(mkdir(folder, 0777), 0);
	pid_t child = fork();
	if (child == 0) {
		create(path);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static Suite *trace_writer_suite(void)
{
	Suite *suite = suite_create("trace_writer");
	TCase *tests = tcase_create("trace_writer");

	tcase_add_test(tests, many_records_in_no_order_come_back);
	tcase_add_test(tests, accounts_balance_with_losses);
	tcase_add_test(tests, args_beyond_the_limits_are_cut_and_counted);
	tcase_add_test(tests, names_have_limits);
	tcase_add_test(tests, mistakes_are_told);
	tcase_add_test(tests, two_writers_of_one_path_do_not_replace_each_other);
	tcase_add_test(tests, a_full_disk_leaves_no_file);
	tcase_add_test(tests, a_kill_leaves_nothing);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(trace_writer_suite)
