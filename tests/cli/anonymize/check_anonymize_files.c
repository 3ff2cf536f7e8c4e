/* epprof anonymize: traces in any state, the search for texts in the output, and what can go wrong with files. */
#include <bsd/string.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "anonymize/anonymize.h"
#include "tests/cli/anonymize/anonymizing.h"
#include "tests/support/export_text.h"
#include "tests/support/recording.h"

/* ---- traces in any state ---- */

START_TEST(what_a_killed_process_left)
{
	const char *before = check_path("before.epp"), *recovered = check_path("recovered.epp"),
		   *after = check_path("after.epp");
	struct epp_builder *b = export_sample();

	builder_write(b, EPF_RECORDING, before);
	builder_destroy(b);
	struct command run = command_run(NULL, "recover", "-o", recovered, before, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	ANONYMIZE(before, after);
	must_be_as_before(recovered, after);
}
END_TEST

START_TEST(a_packed_trace)
{
	const char *before = check_path("before.epp"), *packed = check_path("packed.epp"),
		   *after = check_path("after.epp"), *again = check_path("again.epp");
	struct epp_builder *b = random_trace(WITH_ENDS_ELSEWHERE | WITH_MANY_RUNS, 3000 / RECORDING_SLOW);

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	epp_trace *trace = open_trace(before);
	epp_trace_close(packed_of(trace, packed, TRACE_WRITER_PACKED_RECORDS));
	epp_trace_close(trace);
	ANONYMIZE(packed, after);
	must_be_as_before(before, after);
	trace = open_trace(after);
	for (size_t i = 0; i < trace->reader->blocks_count; i++)
		ck_assert(!trace->reader->blocks[i].is_packed);
	epp_trace_close(packed_of(trace, again, TRACE_WRITER_PACKED_RECORDS));
	epp_trace_close(trace);
	must_be_as_before(before, again);
}
END_TEST

START_TEST(a_trace_that_was_cut)
{
	const char *before = check_path("before.epp"), *cut = check_path("cut.epp"),
		   *recovered = check_path("recovered.epp"), *after = check_path("after.epp");
	struct epp_builder *b = random_trace(WITH_ENDS_ELSEWHERE, 3000 / RECORDING_SLOW);
	size_t bytes;

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	uint8_t *whole = read_file(before, &bytes);
	FILE *file = fopen(cut, "w");
	MUST(file && fwrite(whole, 1, bytes / 2, file) == bytes / 2 && fclose(file) == 0);
	free(whole);
	struct command run = command_run(NULL, "recover", "-o", recovered, cut, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	run = command_run(NULL, "anonymize", "--key", key_path(), "-o", after, cut, NULL);
	ck_assert_msg(run.code == 0 && strstr(run.err, "WARNING: the file is truncated"), "%s", run.err);
	command_free(&run);
	epp_trace *a = open_trace(recovered), *c = open_trace(after);
	must_be_same(numbers_of_timeline(a), numbers_of_timeline(c), "cut");
	epp_trace_close(a);
	epp_trace_close(c);
}
END_TEST

static void *record_some(void *session)
{
	epp_name name = epp_name_intern("secret name"), arg_key = epp_name_intern("secret key");
	static char text[3000];

	memset(text, 'q', sizeof(text));
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_arg arg = { .key = arg_key, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
		epp_event_end(session, id, &arg, 1);
	}
	return NULL;
}

/* A ring that went round, and a file of two runs of two threads. */
START_TEST(what_sessions_recorded)
{
	static const char *const gone[] = { "secret", "qqqq", NULL };
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	epp_session_options options = { .struct_size = sizeof(options), .path = before, .overwrite = 1 };
	epp_session *session;

	if (_i) {
		options.policy = EPP_POLICY_RING;
		options.max_bytes = 4u << 20;
	}
	check_ok(epp_session_create(&options, &session));
	for (int run = 0; run < 2; run++) {
		check_ok(epp_session_start(session));
		recording_on_thread(record_some, session);
		record_some(session);
		FAILS(1, "still recording", "--key", key_path(), "-o", after, before);
		recording_end(session);
	}
	epp_session_destroy(session);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	has_none(after, gone);
	char host[64] = "";
	ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
	if (strlen(host) >= 4)
		has_none(after, (const char *const[]){ host, NULL });
}
END_TEST

/* ---- the search ---- */

/* Searches a file that was not anonymised for a text. */
static epp_status *search(const char *path, const char *text)
{
	struct anonymize a = { 0 };
	char letters[WORD_LETTERS_MAX + 1];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	words_init(&a.words, "0123456789abcdef", 16);
	MUST(words_find_or_add(&a.words, text, strlen(text), letters) &&
	     words_find_or_add(&a.words, "another text", 12, letters));
	check_ok(anonymize_keep(&a, "provider", 8));
	epp_status *status = anonymize_check(&a, fd, (uint64_t)st.st_size);
	words_deinit(&a.words);
	string_table_deinit(&a.kept);
	close(fd);
	return status;
}

START_TEST(texts_are_found)
{
	const char *path = check_path("before.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "the thread", 1);
	builder_producer(b, 0, "plug-in");
	uint32_t stream = builder_device(b, "strm", "The Device", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(b, "the key"), .type = EPP_ARG_TEXT, .value.text = "value", .text_bytes = 5 };

	strlcpy(builder_header(b)->source.hostname, "host", 16);
	strlcpy(builder_header(b)->source.program + 20, "behind the end", 16);
	builder_event(b, thread, BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "name"), &arg, 1);
	builder_complete(b, stream, BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "a long name of a kernel"), 0,
	                 NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	static const char *const found[] = { "name",        "value",       "host",          "plug-in",
		                             "strm",        "The Device",  "the thread",    "a long name of a kernel",
		                             "a long name", "of a kernel", "behind the end" };
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		check_fails(EPP_LOSSY, search(path, found[i]));
	check_ok(search(path, "nowhere at all"));
	check_ok(search(path, "val"));
	check_ok(search(path, "provider"));
	check_ok(search(path, "vide"));
}
END_TEST

/* The file is read in pieces: a text lies before, behind and across a border, and begins or ends the file. */
START_TEST(texts_are_found_at_any_byte)
{
	enum { BYTES = 3 << 20, LONG = EPF_NAME_BYTES_MAX };
	const char *path = check_path("before.epp");
	char *file = calloc(1, BYTES), *text = calloc(1, LONG + 1);
	size_t bytes = _i ? LONG : 23;
	const off_t border = 1 << 20, first[] = { 0, border - (off_t)bytes - 12, border - 12, 2 * border - (off_t)bytes,
		                                  BYTES - (off_t)bytes };

	for (size_t i = 0; i < BYTES; i++)
		file[i] = (char)random_below(256);
	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)('a' + random_below(26));
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++) {
		for (off_t at = first[i]; at < first[i] + 20 && at + (off_t)bytes <= BYTES; at += i ? 3 : 1) {
			FILE *out = fopen(path, "w");
			MUST(out && fwrite(file, 1, BYTES, out) == BYTES && fseek(out, at, SEEK_SET) == 0);
			MUST(fwrite(text, 1, bytes, out) == bytes && fclose(out) == 0);
			epp_status *status = search(path, text);
			MUST(epp_status_code(status) == EPP_LOSSY);
			char expected[64];
			snprintf(expected, sizeof(expected), "at byte %lld ", (long long)at);
			ck_assert_msg(strstr(epp_status_message(status), expected) != NULL, "%lld: %s", (long long)at,
			              epp_status_message(status));
			epp_status_destroy(status);
		}
	}
	free(file);
	free(text);
}
END_TEST

static epp_status *write_block(void *user, struct epp_trace_writer *writer, const struct reader_decoded *decoded)
{
	(void)user, (void)writer, (void)decoded;
	return NULL;
}

static epp_status *do_nothing(void *user, struct epp_trace_writer *writer)
{
	(void)user, (void)writer;
	return NULL;
}

static epp_status *find_something(void *user, int fd, uint64_t file_bytes)
{
	struct stat st;

	*(bool *)user = true;
	MUST(fstat(fd, &st) == 0 && (uint64_t)st.st_size == file_bytes);
	return epp_status_create(EPP_LOSSY, "found");
}

START_TEST(what_is_found_leaves_no_file)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = export_sample();
	bool was_called = false;
	struct trace_rewrite rewrite = { &was_called, write_block, do_nothing, find_something, 0 };

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	epp_trace *trace = open_trace(before);
	check_fails(EPP_LOSSY, trace_writer_rewrite(trace->reader, after, 0, &rewrite));
	ck_assert(was_called);
	ck_assert_int_ne(access(after, F_OK), 0);
	epp_trace_close(trace);
}
END_TEST

/* ---- files ---- */

START_TEST(keys_and_options)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp"), *short_key = check_path("short");
	struct epp_builder *b = export_sample();
	FILE *file = fopen(short_key, "w");

	MUST(file && fputs("fifteen bytes..", file) >= 0 && fclose(file) == 0);
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	FAILS(2, "--key FILE is missing", "-o", after, before);
	FAILS(2, "-o FILE.epp is missing", "--key", key_path(), before);
	FAILS(2, "is the input trace", "--force", "--key", key_path(), "-o", before, before);
	FAILS(2, "is the key", "--force", "--key", key_path(), "-o", key_path(), before);
	FAILS(2, "cannot be written to standard output", "--key", key_path(), "-o", "-", before);
	FAILS(1, "at least 16 bytes, this file has 15", "--key", short_key, "-o", after, before);
	FAILS(1, "No such file", "--key", "/no/where", "-o", after, before);
	FAILS(1, "not a regular file", "--key", "/dev/zero", "-o", after, before);
	FAILS(5, "No such file", "--key", key_path(), "-o", after, "/no/where.epp");
	FAILS(5, "not an .epp file", "--key", key_path(), "-o", after, short_key);
	ck_assert_int_ne(access(after, F_OK), 0);
	ANONYMIZE(before, after);
	FAILS(1, "exists already; --force replaces it", "--key", key_path(), "-o", after, before);
}
END_TEST

START_TEST(outputs)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp"),
		   *link_path = check_path("link.epp"), *target = check_path("target");
	struct epp_builder *b = export_sample();
	struct stat st;

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	ck_assert_int_eq(stat(after, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(symlink(target, link_path), 0);
	FAILS(1, "link.epp", "--force", "--key", key_path(), "-o", link_path, before);
	ck_assert_int_ne(access(target, F_OK), 0);
	ck_assert_int_eq(lstat(link_path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	FAILS(1, "No such file", "--key", key_path(), "-o", "/no/where.epp", before);
}
END_TEST

/* Each offset at which the disk may be full. */
START_TEST(a_full_disk)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	epp_anonymize_options options = { .struct_size = sizeof(options), .key = "0123456789abcdef", .key_bytes = 16 };
	struct epp_builder *b = export_sample();

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	for (rlim_t limit = 0; limit <= 20000; limit += 4000) {
		pid_t child = fork();
		if (child == 0) {
			epp_trace *trace;
			setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
			epp_status *status = epp_trace_open(before, &trace);
			if (!status)
				status = epp_trace_anonymize(trace, after, &options, NULL, NULL, NULL);
			_exit(epp_status_code(status) == EPP_IO ? 0 : 1);
		}
		int state;
		MUST(waitpid(child, &state, 0) == child);
		ck_assert_msg(state == 0, "limit %llu: %d", (unsigned long long)limit, state);
		ck_assert_int_ne(access(after, F_OK), 0);
	}
}
END_TEST

START_TEST(misuse_of_the_function)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	epp_anonymize_options options = { .struct_size = sizeof(options), .key = "0123456789abcdef", .key_bytes = 15 };
	epp_anonymize_counts counts = { 0 };
	struct epp_builder *b = export_sample();
	int cancel = 1;

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	epp_trace *trace = open_trace(before);
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_anonymize(trace, after, NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_anonymize(trace, after, &options, NULL, NULL, NULL));
	options.key_bytes = 16;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_anonymize(trace, after, &options, NULL, NULL, &counts));
	options.cancel = &cancel;
	check_fails(EPP_CANCELLED, epp_trace_anonymize(trace, after, &options, NULL, NULL, NULL));
	ck_assert_int_ne(access(after, F_OK), 0);
	options.cancel = NULL;
	counts.struct_size = sizeof(counts);
	check_ok(epp_trace_anonymize(trace, after, &options, NULL, NULL, &counts));
	ck_assert_uint_gt(counts.records, 0);
	/* The trace is unchanged. */
	check_fails(EPP_EXISTS, epp_trace_anonymize(trace, after, &options, NULL, NULL, NULL));
	epp_trace *again = open_trace(before);
	must_look_same(trace->reader, again->reader, 0, 0);
	epp_trace_close(again);
	epp_trace_close(trace);
}
END_TEST

/* The recorder begins with the time of day in nanoseconds. */
START_TEST(ids_count_from_the_first_one)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	epp_timeline_options options = { .struct_size = sizeof(options) };
	epp_session *session = recording_start(before);
	epp_timeline *timeline;
	const epp_event *event;
	uint32_t count = 0;

	for (int run = 0; run < 2; run++) {
		if (run)
			check_ok(epp_session_start(session));
		uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("secret"));
		epp_flow_record(session, id, id + 1);
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("secret")), NULL, 0);
		epp_event_end(session, id, NULL, 0);
		recording_end(session);
	}
	epp_session_destroy(session);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	epp_trace *trace = open_trace(after);
	check_ok(epp_timeline_create(trace, &options, &timeline));
	for (; epp_timeline_next(timeline, &event); count++)
		ck_assert_uint_lt(event->id, 1000000);
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(count, 6);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	remove_files();
}
END_TEST

/* ONNX Runtime has numbers as texts: the same digits may be kept under one key, and left out under another. */
START_TEST(equal_numbers_under_other_keys)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	const epp_arg args[] = {
		{ .key = builder_name(b, "output_size"), .type = EPP_ARG_TEXT, .value.text = "12345678", .text_bytes = 8 },
		{ .key = builder_name(b, "launch_us"), .type = EPP_ARG_TEXT, .value.text = "12345678", .text_bytes = 8 },
		{ .key = builder_name(b, "block_x"), .type = EPP_ARG_TEXT, .value.text = "1024", .text_bytes = 4 },
		{ .key = builder_name(b, "bytes"), .type = EPP_ARG_TEXT, .value.text = "1024", .text_bytes = 4 }
	};

	builder_event(b, thread, BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "Conv"), args, 4);
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	remove_files();
}
END_TEST

/* A plugin may have no label; its note is no less secret. */
START_TEST(a_note_without_a_label)
{
	static const char *const gone[] = { "secret", NULL };
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);

	strlcpy(builder_producer(b, 0, "Plugin")->note, "nothing", 8);
	strlcpy(builder_producer(b, 1, "")->note, "a secret note", 14);
	builder_event(b, thread, BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "Conv"), NULL, 0);
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	has_none(after, gone);
	remove_files();
}
END_TEST

/* Not by epprof; a file may have anything. */
START_TEST(a_counter_whose_value_is_a_text)
{
	static const char *const gone[] = { "secret", NULL };
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "queue depth");
	const epp_arg arg = { .key = name, .type = EPP_ARG_TEXT, .value.text = "a secret", .text_bytes = 8 };
	/* The id of an event that has no other record. */
	const struct epf_record record = { .start_ticks = BUILDER_START + 10,
		                           .id = builder_begin(b, thread, BUILDER_START, EPP_NODE, name),
		                           .name = name,
		                           .bits = EPF_BITS(EPP_NODE, EPF_COUNTER, 0, 0) };

	builder_forget(b, thread, record.id);
	builder_record(b, thread, &record, &arg, 1);
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	struct command run = command_run(NULL, "validate", after, NULL);
	ck_assert_msg(run.code == 0, "%s", run.out);
	command_free(&run);
	has_none(after, gone);
	remove_files();
}
END_TEST

static Suite *anonymize_files_suite(void)
{
	Suite *suite = suite_create("anonymize_files");
	TCase *tests = tcase_create("anonymize_files");

	tcase_add_checked_fixture(tests, remove_files, NULL);
	tcase_add_test(tests, what_a_killed_process_left);
	tcase_add_test(tests, a_packed_trace);
	tcase_add_test(tests, a_trace_that_was_cut);
	tcase_add_loop_test(tests, what_sessions_recorded, 0, 2);
	tcase_add_test(tests, texts_are_found);
	tcase_add_loop_test(tests, texts_are_found_at_any_byte, 0, 2);
	tcase_add_test(tests, what_is_found_leaves_no_file);
	tcase_add_test(tests, keys_and_options);
	tcase_add_test(tests, outputs);
	tcase_add_test(tests, a_full_disk);
	tcase_add_test(tests, misuse_of_the_function);
	tcase_add_test(tests, ids_count_from_the_first_one);
	tcase_add_test(tests, equal_numbers_under_other_keys);
	tcase_add_test(tests, a_note_without_a_label);
	tcase_add_test(tests, a_counter_whose_value_is_a_text);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(anonymize_files_suite)
