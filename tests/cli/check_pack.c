/* Packed files: runtime/trace/writer/trace_writer_pack.c, trace_writer_index.c, reader_index.c, and what the timeline
 * reads of a stretch of time (scan_pass.c, resolve_parents.c, time_range.c).  Packed and not, a trace is the same in
 * everything that can be asked of it.  check_pack_damage has what is damaged. */
#include <dirent.h>
#include <libgen.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/support/command.h"
#include "tests/support/export_text.h"
#include "tests/support/packing.h"
#include "tests/support/recording.h"
#include "trace/writer/trace_writer_private.h"

static void accounts_are_same(epp_trace *a, epp_trace *b)
{
	epp_trace_ledger_entry x = { .struct_size = sizeof(x) }, y = { .struct_size = sizeof(y) };

	ck_assert_uint_eq(epp_trace_ledger_count(a), epp_trace_ledger_count(b));
	for (size_t i = 0; i < epp_trace_ledger_count(a); i++) {
		check_ok(epp_trace_ledger_at(a, i, &x));
		check_ok(epp_trace_ledger_at(b, i, &y));
		ck_assert_str_eq(x.producer, y.producer);
		ck_assert_str_eq(x.note, y.note);
		ck_assert(x.track == y.track && x.is_plugin == y.is_plugin && x.emitted == y.emitted &&
		          x.written == y.written && x.open == y.open && x.lost_total == y.lost_total &&
		          x.errors == y.errors && x.balanced == y.balanced && !memcmp(x.lost, y.lost, sizeof(x.lost)));
	}
}

static void infos_are_same(epp_trace *a, epp_trace *b)
{
	epp_trace_info x = *epp_trace_get_info(a), y = *epp_trace_get_info(b);
	epp_trace_clock before = { .struct_size = sizeof(before) }, after = { .struct_size = sizeof(after) };

	ck_assert(x.records_count == y.records_count && x.names_count == y.names_count && x.runs_count == y.runs_count &&
	          x.sources_count == y.sources_count && x.tracks_count == y.tracks_count && x.policy == y.policy &&
	          x.producers_count == y.producers_count && x.epoch_unix_ns == y.epoch_unix_ns && x.pid == y.pid);
	ck_assert_str_eq(x.file_id, y.file_id);
	epp_trace_get_clock(a, &before);
	epp_trace_get_clock(b, &after);
	ck_assert(before.pairs_count == after.pairs_count && before.rate_error_ppb == after.rate_error_ppb &&
	          before.largest_half_width_ns == after.largest_half_width_ns);
}

START_TEST(random_traces_are_the_same_in_any_stretch)
{
	static const uint32_t most[] = { 1, 60, TRACE_WRITER_PACKED_RECORDS };
	unsigned with = (unsigned)_i;
	char *path = keep(check_path("random-%d.epp", _i)), *packed_path = keep(check_path("packed-%d.epp", _i));
	struct epp_builder *b = random_trace(with, 3000 / RECORDING_SLOW);

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	for (size_t m = 0; m < sizeof(most) / sizeof(*most); m++) {
		struct reader *scanned;
		epp_trace *packed = packed_of(trace, packed_path, most[m]);
		infos_are_same(trace, packed);
		accounts_are_same(trace, packed);
		ck_assert_uint_eq(validation_errors(packed), validation_errors(trace));
		must_look_same(trace->reader, packed->reader, 0, 0);
		check_ok(reader_open_again(packed->reader, &scanned));
		must_look_same(packed->reader, scanned, 0, 0);
		for (unsigned i = 0; i < 60; i++) {
			int64_t from = (int64_t)random_below(70000) - 2000,
				to = from + (int64_t)random_below(i < 30 ? 300 : 20000);
			must_look_same(trace->reader, packed->reader, from, to);
			must_look_same(trace->reader, scanned, from, to);
		}
		reader_close(scanned);
		epp_trace_close(packed);
	}
	epp_trace_close(trace);
	free(path);
	free(packed_path);
}
END_TEST

/* ---- files of earlier versions ---- */

/* The trace in tests/golden/packed.epp, which an earlier packer wrote: with planes of bits, and with ranges of ids in
 * its index, because the losses leave a wide gap between the id of the event around all and the others. */
static struct epp_builder *packed_before(void)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1), stream = builder_device(b, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name op = builder_name(b, "op"), key = builder_name(b, "key");
	uint64_t around = builder_begin(b, thread, BUILDER_START + 500, EPP_SESSION, op);

	builder_lost(b, thread, EPP_LOSS_DISK, 1000000, 0);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t at = BUILDER_START + 1000 + i * 100 + i * i % 7;
		epp_arg text = { .key = key, .type = EPP_ARG_TEXT, .value.text = i % 3 ? "a text" : "\"" };
		text.text_bytes = strlen(text.value.text);
		uint64_t id = builder_event(b, thread, at, 16 + i * i * i % 29, EPP_NODE, op, &text, i % 5 == 0);
		builder_complete(b, stream, at + 20 + i * i % 31, 1 + i * 7919 % 61, EPP_KERNEL, op, id, NULL, 0);
	}
	builder_end(b, thread, around, BUILDER_START + 40000, NULL, 0);
	return b;
}

START_TEST(what_an_earlier_packer_wrote)
{
	char *path = keep(check_path("before.epp"));
	struct epp_builder *b = packed_before();
	epp_trace *packed;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	check_ok(epp_trace_open(CHECK_SOURCE "/tests/golden/packed.epp", &packed));
	ck_assert_ptr_nonnull(packed->reader->summaries);
	ck_assert_uint_eq(validation_errors(packed), 0);
	epp_trace *trace = open_trace(path);
	must_look_same(trace->reader, packed->reader, 0, 0);
	for (unsigned i = 0; i < 60; i++) {
		int64_t from = (int64_t)random_below(45000) - 2000;
		must_look_same(trace->reader, packed->reader, from, from + (int64_t)random_below(3000));
	}
	epp_trace_close(trace);
	epp_trace_close(packed);
	free(path);
}
END_TEST

/* ---- what can be asked of it ---- */

START_TEST(exports_are_the_same)
{
	char *path = keep(check_path("sample.epp")), *packed_path = keep(check_path("sample.packed.epp"));
	struct epp_builder *b = _i ? random_trace(WITH_ENDS_ELSEWHERE | WITH_MANY_RUNS, 2000) : export_sample();
	const epp_export_format *format;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path), *packed = packed_of(trace, packed_path, TRACE_WRITER_PACKED_RECORDS);
	for (size_t i = 0; (format = epp_export_format_at(i)); i++) {
		struct export_text from, to;
		export_text_make(&from, trace, format->name, NULL);
		export_text_make(&to, packed, format->name, NULL);
		ck_assert_msg(from.count == to.count && !memcmp(from.bytes, to.bytes, from.count),
		              "%s: %zu and %zu bytes", format->name, from.count, to.count);
		ck_assert_str_eq(from.receipts, to.receipts);
		export_text_free(&from);
		export_text_free(&to);
	}
	epp_trace_close(trace);
	epp_trace_close(packed);
	free(path);
	free(packed_path);
}
END_TEST

START_TEST(packed_again_and_unpacked)
{
	char *path = keep(check_path("t.epp")), *once = keep(check_path("1.epp")), *twice = keep(check_path("2.epp")),
	     *rows = keep(check_path("rows.epp"));
	struct epp_builder *b = random_trace(WITH_ENDS_ELSEWHERE | WITH_DURATIONS | WITH_MANY_RUNS, 3000);
	size_t once_bytes, twice_bytes;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path), *packed = packed_of(trace, once, 100);
	epp_trace_close(packed_of(packed, twice, 100));
	uint8_t *a = read_file(once, &once_bytes), *c = read_file(twice, &twice_bytes);
	ck_assert_uint_eq(once_bytes, twice_bytes);
	ck_assert(!memcmp(a, c, once_bytes));
	free(a);
	free(c);
	check_ok(epp_trace_recover(packed, rows, 0));
	epp_trace *unpacked = open_trace(rows);
	ck_assert_ptr_null(unpacked->reader->summaries);
	ck_assert(!(unpacked->reader->header.features & EPF_FEATURE_PACKED));
	for (size_t i = 0; i < unpacked->reader->blocks_count; i++)
		ck_assert(!unpacked->reader->blocks[i].is_packed);
	must_look_same(trace->reader, unpacked->reader, 0, 0);
	infos_are_same(trace, unpacked);
	accounts_are_same(trace, unpacked);
	ck_assert_uint_eq(validation_errors(unpacked), validation_errors(trace));
	epp_trace_close(unpacked);
	epp_trace_close(packed);
	epp_trace_close(trace);
	free(path);
	free(once);
	free(twice);
	free(rows);
}
END_TEST

/* What a killed process left is recovered on the way. */
START_TEST(a_trace_that_was_cut_off)
{
	char *path = keep(check_path("cut.epp")), *recovered_path = keep(check_path("recovered.epp")),
	     *packed_path = keep(check_path("packed.epp"));
	struct epp_builder *b = export_sample();

	builder_write(b, EPF_RECORDING, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	ck_assert_uint_eq(trace->reader->info.state, EPP_TRACE_CUT_OFF);
	ck_assert_uint_gt(trace->reader->info.open_count, 0);
	check_ok(epp_trace_recover(trace, recovered_path, 0));
	epp_trace *recovered = open_trace(recovered_path), *packed = packed_of(trace, packed_path, 8192);
	must_look_same(recovered->reader, packed->reader, 0, 0);
	infos_are_same(recovered, packed);
	accounts_are_same(recovered, packed);
	must_find_no(EPP_ERROR, packed);
	epp_trace_close(packed);
	epp_trace_close(recovered);
	epp_trace_close(trace);
	free(path);
	free(recovered_path);
	free(packed_path);
}
END_TEST

/* A killed process leaves its regions in any order, here the first after the second. Packed, their events are ordered
 * by end again, and events that were open when a region began are still distinguished from those that were not. */
START_TEST(regions_that_come_in_another_order)
{
	char *path = keep(check_path("order.epp")), *packed_path = keep(check_path("order.packed.epp"));
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "name");
	uint64_t at = BUILDER_START;

	uint64_t outer = builder_begin(b, thread, at + 100, EPP_NODE, name);
	builder_event(b, thread, at + 110, 10, EPP_NODE, name, NULL, 0);
	builder_flush(b, thread, BUILDER_TO_WINDOW);
	uint64_t inner = builder_begin(b, thread, at + 130, EPP_NODE, name);
	builder_event(b, thread, at + 140, 10, EPP_NODE, name, NULL, 0);
	builder_flush(b, thread, BUILDER_TO_BLOCK);
	builder_end(b, thread, inner, at + 160, NULL, 0);
	builder_end(b, thread, outer, at + 170, NULL, 0);
	builder_write(b, EPF_RECORDING, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	ck_assert_uint_eq(trace->reader->blocks_count, 3);
	ck_assert_uint_gt(trace->reader->blocks[0].first_ticks, trace->reader->blocks[2].last_ticks);
	must_find_no(EPP_WARNING, trace);
	epp_trace *packed = packed_of(trace, packed_path, TRACE_WRITER_PACKED_RECORDS);
	ck_assert_uint_eq(packed->reader->blocks_count, 1);
	ck_assert_uint_eq(packed->reader->blocks[0].own_first_ticks, at + 110);
	must_find_no(EPP_WARNING, packed);
	must_look_same(trace->reader, packed->reader, 0, 0);
	epp_trace_close(packed);
	epp_trace_close(trace);
	free(path);
	free(packed_path);
}
END_TEST

static void *record_some(void *session)
{
	epp_name name = epp_name_intern("some"), key = epp_name_intern("key");
	static char text[3000];

	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, name);
		epp_arg args[] = { { .key = key, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) },
			           { .key = name, .type = EPP_ARG_U64, .value.u64 = i } };
		epp_event_end(session, id, args, i % 3);
	}
	return NULL;
}

/* Each thread's in the order in which it recorded. */
static void blocks_stand_in_order(const struct reader *reader)
{
	for (size_t i = 0; i < reader->blocks_count; i++)
		for (size_t j = i; j-- > 0;) {
			if (reader->blocks[j].track != reader->blocks[i].track)
				continue;
			ck_assert_msg(reader->blocks[j].last_ticks <= reader->blocks[i].last_ticks,
			              "track %u: block %zu comes before block %zu", reader->blocks[i].track, j, i);
			break;
		}
}

/* By sessions themselves: a ring that went round, and a file of two runs of two threads. */
START_TEST(what_sessions_recorded)
{
	char *path = keep(check_path("recorded.epp")), *packed_path = keep(check_path("packed.epp"));
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
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
		epp_trace *live = open_trace(path);
		check_fails(EPP_BUSY, epp_trace_pack(live, packed_path, 1));
		epp_trace_close(live);
		recording_end(session);
	}
	epp_session_destroy(session);
	epp_trace *trace = open_trace(path), *packed = packed_of(trace, packed_path, TRACE_WRITER_PACKED_RECORDS);
	blocks_stand_in_order(trace->reader);
	must_find_no(EPP_ERROR, trace);
	must_find_no(EPP_ERROR, packed);
	must_look_same(trace->reader, packed->reader, 0, 0);
	infos_are_same(trace, packed);
	accounts_are_same(trace, packed);
	ck_assert_uint_lt(packed->reader->info.file_bytes, trace->reader->info.file_bytes / 10);
	epp_trace_close(packed);
	epp_trace_close(trace);
	free(path);
	free(packed_path);
}
END_TEST

/* ---- a stretch of time ---- */

struct counting {
	const uint8_t *image;
	size_t bytes, read;
};

static size_t count_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	struct counting *counting = user;
	size_t got = offset >= counting->bytes ? 0 : counting->bytes - offset;

	got = got < bytes ? got : bytes;
	if (got)
		memcpy(buffer, counting->image + offset, got);
	counting->read += got;
	return got;
}

/* Once with an event around all others, which is recorded last and has an id of long before. */
START_TEST(a_stretch_is_read_without_the_rest)
{
	enum { RUNS = 20000, TICKS = 1000 };
	char *path = keep(check_path("long.epp")), *packed_path = keep(check_path("long.packed.epp"));
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1), stream = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "name");
	struct counting counting = { 0 };
	struct reader *reader;
	uint64_t around = _i ? builder_begin(b, thread, BUILDER_START, EPP_SESSION, name) : 0;

	for (uint64_t i = 0; i < RUNS; i++) {
		uint64_t at = BUILDER_START + i * TICKS;
		uint64_t id = builder_event(b, thread, at + random_below(300), 100 + random_below(200), EPP_NODE, name,
		                            NULL, 0);
		if (i % 500 == 0)
			builder_device_pair(b, stream, at + 5, at, 1);
		builder_complete(b, stream, at + 600 + random_below(200), random_below(200), EPP_KERNEL, name, id, NULL, 0);
		if (around && i == RUNS - 1)
			builder_end(b, thread, around, at + TICKS, NULL, 0);
		if (i % 500 == 499) {
			builder_flush(b, thread, BUILDER_TO_BLOCK);
			builder_flush(b, stream, BUILDER_TO_BLOCK);
		}
	}
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	epp_trace_close(packed_of(trace, packed_path, 500));
	uint8_t *image = read_file(packed_path, &counting.bytes);
	counting.image = image;

	check_ok(reader_open(&(struct reader_source){ count_read, NULL, &counting }, NULL, &reader));
	size_t to_open = counting.read;
	/* Index, definitions, accounts: the index has 136 bytes for each of 80 blocks of 500. */
	ck_assert_uint_lt(to_open, counting.bytes / 4);
	for (unsigned i = 0; i < 10; i++) {
		int64_t from = (int64_t)random_below((RUNS - 100) * TICKS);
		counting.read = 0;
		char *seen = see(reader, from, from + 50 * TICKS);
		/* A block or two of each track, the blocks that are referred to or refer across an edge, and the
		 * clock's pairs. */
		ck_assert_uint_lt(counting.read, counting.bytes / 7);
		must_be_same(seen, see(trace->reader, from, from + 50 * TICKS), "a stretch");
	}
	counting.read = 0;
	free(see(reader, 0, 0));
	ck_assert_uint_gt(counting.read, counting.bytes / 2);
	reader_close(reader);
	epp_trace_close(trace);
	free(image);
	free(path);
	free(packed_path);
}
END_TEST

/* ---- the file ---- */

static unsigned files_in(const char *path)
{
	char *copy = keep(path);
	DIR *directory = opendir(dirname(copy));
	unsigned count = 0;

	ck_assert_ptr_nonnull(directory);
	for (const struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_type == DT_REG;
	closedir(directory);
	free(copy);
	return count;
}

START_TEST(a_write_that_fails_leaves_nothing)
{
	ck_assert_int_eq(mkdir(check_path("folder"), 0777), 0);
	char *path = keep(check_path("folder/t.epp")), *packed_path = keep(check_path("folder/t.packed.epp"));
	struct epp_builder *b = random_trace(0, 3000);
	int status;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	pid_t child = fork();
	if (child == 0) {
		epp_trace *trace;
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 20000, 20000 });
		signal(SIGXFSZ, SIG_DFL);
		if (epp_trace_open(path, &trace))
			_exit(1);
		epp_status *failed = epp_trace_pack(trace, packed_path, 0);
		_exit(epp_status_code(failed) == EPP_IO && access(packed_path, F_OK) != 0 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(files_in(path), 1);

	epp_trace *trace = open_trace(path);
	check_ok(epp_trace_pack(trace, packed_path, 0));
	check_fails(EPP_EXISTS, epp_trace_pack(trace, packed_path, 0));
	check_ok(epp_trace_pack(trace, packed_path, 1));
	epp_trace_close(trace);
	ck_assert_uint_eq(files_in(path), 2);
	free(path);
	free(packed_path);
}
END_TEST

START_TEST(the_command)
{
	char *path = keep(check_path("c.epp")), *out = keep(check_path("c.out.epp"));
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name op = builder_name(b, "op");

	for (uint64_t i = 0; i < 20000; i++)
		builder_event(b, thread, BUILDER_START + i * 20, 10, EPP_NODE, op, NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	struct command command = command_run(NULL, "pack", path, NULL);
	ck_assert_int_eq(command.code, 2);
	command_free(&command);
	command = command_run(NULL, "pack", "-o", out, path, NULL);
	ck_assert_msg(command.code == 0, "%s", command.err);
	ck_assert_ptr_nonnull(strstr(command.err, "bytes each"));
	command_free(&command);
	command = command_run(NULL, "pack", "-o", out, path, NULL);
	ck_assert_int_eq(command.code, 1);
	ck_assert_ptr_nonnull(strstr(command.err, "--force"));
	command_free(&command);
	command = command_run(NULL, "pack", "--force", "-o", out, path, NULL);
	ck_assert_int_eq(command.code, 0);
	command_free(&command);
	command = command_run(NULL, "pack", "-o", "/dev/full", path, NULL);
	ck_assert_int_eq(command.code, 1);
	command_free(&command);
	command = command_run(NULL, "pack", "--in-place", path, NULL);
	ck_assert_int_eq(command.code, 0);
	command_free(&command);
	command = command_run(NULL, "validate", path, NULL);
	ck_assert_msg(command.code == 0, "%s", command.out);
	command_free(&command);
	epp_trace *trace = open_trace(path);
	ck_assert_ptr_nonnull(trace->reader->summaries);
	epp_trace_close(trace);
	free(path);
	free(out);
}
END_TEST

/* The index of a few events takes more than packing saves: the smaller file is kept, and the reason is told. */
START_TEST(a_small_trace_does_not_grow)
{
	char *path = keep(check_path("small.epp")), *out = keep(check_path("small.out.epp"));
	struct epp_builder *b = export_sample();
	struct stat before, after;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	check_ok(epp_trace_recover(trace, out, 1));
	epp_trace_close(trace);
	ck_assert_int_eq(rename(out, path), 0);
	ck_assert_int_eq(stat(path, &before), 0);
	struct command command = command_run(NULL, "pack", "--in-place", path, NULL);
	ck_assert_msg(command.code == 0, "%s", command.err);
	ck_assert_msg(strstr(command.err, "left ") && strstr(command.err, " unpacked, ") &&
	                  strstr(command.err, ": packed, it would need "),
	              "%s", command.err);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(after.st_ino, before.st_ino);
	command_free(&command);
	command = command_run(NULL, "pack", "-o", out, path, NULL);
	ck_assert_msg(command.code == 0, "%s", command.err);
	ck_assert_ptr_nonnull(strstr(command.err, "wrote "));
	ck_assert_ptr_nonnull(strstr(command.err, " unpacked, "));
	ck_assert_int_eq(stat(out, &after), 0);
	ck_assert_int_le(after.st_blocks, before.st_blocks);
	command_free(&command);
	command = command_run(NULL, "validate", out, NULL);
	ck_assert_int_eq(command.code, 0);
	command_free(&command);
	free(path);
	free(out);
}
END_TEST

static Suite *pack_suite(void)
{
	Suite *suite = suite_create("pack");
	TCase *cases = tcase_create("all");

	tcase_add_loop_test(cases, random_traces_are_the_same_in_any_stretch, 0, 8);
	tcase_add_loop_test(cases, exports_are_the_same, 0, 2);
	tcase_add_test(cases, packed_again_and_unpacked);
	tcase_add_test(cases, a_trace_that_was_cut_off);
	tcase_add_test(cases, regions_that_come_in_another_order);
	tcase_add_loop_test(cases, what_sessions_recorded, 0, 2);
	tcase_add_test(cases, what_an_earlier_packer_wrote);
	tcase_add_loop_test(cases, a_stretch_is_read_without_the_rest, 0, 2);
	tcase_add_test(cases, a_write_that_fails_leaves_nothing);
	tcase_add_test(cases, the_command);
	tcase_add_test(cases, a_small_trace_does_not_grow);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(pack_suite)
