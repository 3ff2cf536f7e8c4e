/* Packed files: runtime/file/trace_writer_pack.c, trace_writer_index.c, reader_index.c, and what the timeline reads of a
 * stretch of time (survey.c, resolve.c).  Packed and not, a trace is the same in everything that can be asked of it; what is
 * damaged is told and loses itself alone. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/checksum.h"
#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "file/reader_private.h"
#include "file/trace_writer_private.h"
#include "tests/command.h"
#include "tests/export_text.h"
#include "tests/reader_asserts.h"
#include "tests/recording.h"

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

/* ---- everything that a timeline says, as a text ---- */

static void put_event(FILE *text, const epp_timeline *timeline, const epp_event *event)
{
	size_t cursor = 0;
	epp_trace_arg arg;

	fprintf(text,
	        "%" PRId64 " %" PRId64 " +-%" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " id %" PRIu64 " parent %" PRIu64
	        " %.*s track %u parent's %u %" PRId64 " %" PRId64 " run %u depth %u lane %u %u %u %u %u",
	        event->start_ns, event->duration_ns, event->start_error_ns, event->end_error_ns, event->start_ticks,
	        event->end_ticks, event->id, event->parent, (int)event->name_bytes, event->name, event->track->track,
	        event->parent_track ? event->parent_track->track : 0, event->parent_start_ns, event->parent_end_ns,
	        event->run, event->depth, event->lane, event->kind, event->category, event->placement, event->flags);
	while (epp_event_args(timeline, event, &cursor, &arg)) {
		fprintf(text, " %s:%u=", arg.key, arg.type);
		if (arg.type == EPP_ARG_TEXT)
			fwrite(arg.value.text, 1, arg.text_bytes, text);
		else
			fprintf(text, "%" PRIx64, (uint64_t)arg.value.i64);
	}
	fputc('\n', text);
}

/* NULL: it ended with an error. */
static char *try_to_see(struct reader *reader, int64_t from_ns, int64_t to_ns)
{
	epp_timeline_options options = { .struct_size = sizeof(options), .from_ns = from_ns, .to_ns = to_ns };
	epp_timeline *timeline;
	const epp_event *event;
	char *bytes;
	size_t count;
	FILE *text = open_memstream(&bytes, &count);

	MUST(text);
	epp_status *status = epp_timeline_create(&(epp_trace){ reader }, &options, &timeline);
	while (!status && epp_timeline_next(timeline, &event))
		put_event(text, timeline, event);
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_release(timeline);
	fclose(text);
	if (!status)
		return bytes;
	epp_status_release(status);
	free(bytes);
	return NULL;
}

static char *see(struct reader *reader, int64_t from_ns, int64_t to_ns)
{
	char *seen = try_to_see(reader, from_ns, to_ns);
	MUST(seen);
	return seen;
}

static void must_be_same(char *a, char *b, const char *what)
{
	size_t at = 0;

	if (strcmp(a, b)) {
		while (a[at] == b[at])
			at++;
		while (at && a[at - 1] != '\n')
			at--;
		ck_abort_msg("%s: at byte %zu:\n%.300s\nand\n%.300s", what, at, a + at, b + at);
	}
	free(a);
	free(b);
}

static void must_look_same(struct reader *a, struct reader *b, int64_t from_ns, int64_t to_ns)
{
	char what[80];
	snprintf(what, sizeof(what), "from %" PRId64 " to %" PRId64, from_ns, to_ns);
	must_be_same(see(a, from_ns, to_ns), see(b, from_ns, to_ns), what);
}

/* ---- files ---- */

static char *keep(const char *path)
{
	char *copy = strdup(path);
	MUST(copy);
	return copy;
}

static epp_trace *open_trace(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	return trace;
}

/* Packs an opened trace; the packed one is opened by its index. */
static epp_trace *packed_of(epp_trace *trace, const char *path, uint32_t records_most)
{
	check_ok(trace_writer_pack(trace->reader, path, 1, records_most));
	epp_trace *packed = open_trace(path);
	ck_assert_ptr_nonnull(packed->reader->summaries);
	ck_assert_uint_eq(packed->reader->findings_count, 0);
	ck_assert_uint_eq(packed->reader->info.state, EPP_TRACE_FINISHED);
	return packed;
}

static void accounts_are_same(epp_trace *a, epp_trace *b)
{
	epp_trace_account x, y;

	ck_assert_uint_eq(epp_trace_accounts_count(a), epp_trace_accounts_count(b));
	for (size_t i = 0; i < epp_trace_accounts_count(a); i++) {
		check_ok(epp_trace_account_at(a, i, &x));
		check_ok(epp_trace_account_at(b, i, &y));
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
	epp_trace_clock before, after;

	ck_assert(x.records_count == y.records_count && x.names_count == y.names_count && x.runs_count == y.runs_count &&
	          x.sources_count == y.sources_count && x.tracks_count == y.tracks_count && x.policy == y.policy &&
	          x.producers_count == y.producers_count && x.epoch_unix_ns == y.epoch_unix_ns && x.pid == y.pid);
	ck_assert_str_eq(x.file_id, y.file_id);
	epp_trace_get_clock(a, &before);
	epp_trace_get_clock(b, &after);
	ck_assert(before.pairs_count == after.pairs_count && before.rate_error_ppb == after.rate_error_ppb &&
	          before.largest_half_width_ns == after.largest_half_width_ns);
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	uint8_t *image = malloc((size_t)st.st_size + 1);
	MUST(image && read(fd, image, (size_t)st.st_size) == st.st_size);
	close(fd);
	*bytes = (size_t)st.st_size;
	return image;
}

/* ---- random traces ---- */

enum { WITH_ENDS_ELSEWHERE = 1, WITH_DURATIONS = 2, WITH_MANY_RUNS = 4 };

struct made {
	struct epp_builder *b;
	uint32_t threads[3], streams[4];
	uint64_t now, recent[3][16]; /* ids of each thread's last events */
	uint32_t depth[3];
	uint64_t stack[3][8];
	epp_name names[5];
};

static epp_arg random_arg(const struct made *made)
{
	static const char *const texts[] = { "", "short", "a longer text with \"quotes\" in it", "\xff\n\t" };
	epp_arg arg = { .key = made->names[random_below(5)], .type = random_below(EPP_ARG_TEXT + 1) };

	arg.value.u64 = (uint64_t)random_below(1000) << random_below(50);
	if (arg.type == EPP_ARG_TEXT) {
		arg.value.text = texts[random_below(4)];
		arg.text_bytes = (uint32_t)strlen(arg.value.text);
	}
	return arg;
}

static void step(struct made *made, unsigned with)
{
	struct epp_builder *b = made->b;
	uint32_t t = random_below(3), thread = made->threads[t], choice = random_below(100);
	uint32_t stream = made->streams[random_below(with & WITH_DURATIONS ? 4 : 3)];
	epp_name name = made->names[random_below(5)];
	epp_arg args[] = { random_arg(made), random_arg(made) };
	size_t args_count = random_below(4) ? 0 : random_below(3);
	uint64_t now = made->now += random_below(40), *recent = &made->recent[t][random_below(16)];

	if (choice < 30 && made->depth[t] < 8) {
		made->stack[t][made->depth[t]++] = *recent = builder_begin(b, thread, now, EPP_NODE, name);
	} else if (choice < 60 && made->depth[t]) {
		builder_end(b, thread, made->stack[t][--made->depth[t]], now, args, args_count);
	} else if (choice < 75) {
		uint64_t device_now = stream == made->streams[1] ? (now - BUILDER_START) * 2 + 7 : now;
		builder_complete(b, stream, device_now - random_below(50), random_below(300), EPP_KERNEL, name,
		                 random_below(5) ? *recent : 0, args, args_count);
	} else if (choice < 80) {
		builder_instant(b, thread, now, EPP_API, name, args, args_count);
	} else if (choice < 83) {
		builder_counter(b, thread, now, name, (int64_t)random_below(1000) - 500);
	} else if (choice < 86 && *recent && made->recent[0][0]) {
		builder_flow(b, thread, now, *recent, made->recent[0][0]);
	} else if (choice < 88 && (with & WITH_ENDS_ELSEWHERE)) {
		uint64_t id = builder_async_begin(b, thread, now, EPP_API, name);
		builder_async_end(b, made->threads[random_below(3)], id, now + random_below(2000), args, args_count);
	} else if (choice < 89 && (with & WITH_ENDS_ELSEWHERE) && made->depth[t]) {
		uint64_t id = made->stack[t][--made->depth[t]];
		builder_orphan_end(b, made->threads[(t + 1) % 3], id, now, args, args_count);
		builder_end(b, thread, id, now, NULL, 0);
	} else if (choice < 91) {
		builder_switch(b, thread, made->streams[0]);
		builder_complete(b, thread, now, random_below(100), EPP_KERNEL, name, *recent, args, args_count);
		builder_switch(b, thread, 0);
	} else if (choice < 93) {
		builder_device_pair(b, made->streams[1], (now - BUILDER_START) * 2 + 7, now, 1 + random_below(3));
	} else if (choice < 96) {
		builder_flush(b, random_below(2) ? thread : stream, BUILDER_TO_BLOCK);
	}
}

static struct epp_builder *random_trace(unsigned with, uint32_t steps)
{
	struct made made = { .b = builder_create(), .now = BUILDER_START + 1000 };
	struct epp_builder *b = made.b;

	builder_geometry(b, 4, 16, 16384, 65536, 65536);
	for (uint32_t i = 0; i < 5; i++) {
		char name[16];
		snprintf(name, sizeof(name), "name \"%u\"", i);
		made.names[i] = builder_name(b, name);
	}
	builder_producer(b, 0, "MyEP");
	for (uint32_t i = 0; i < 3; i++)
		made.threads[i] = builder_thread(b, "worker", 100 + i);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t clocks[] = { EPF_TRACK_CLOCK_HOST, EPF_TRACK_CLOCK_DEVICE, EPF_TRACK_CLOCK_HOST,
			                           EPF_TRACK_CLOCK_DURATION };
		made.streams[i] = builder_device(b, "stream", "Device 0", 0, i, clocks[i]);
	}
	builder_definitions_to_block(b);
	builder_device_pair(b, made.streams[1], 7, BUILDER_START, 2);
	for (uint32_t i = 0; i < steps; i++) {
		step(&made, with);
		if ((with & WITH_MANY_RUNS) && i % (steps / 3) == steps / 3 - 1) {
			for (uint32_t t = 0; t < 3; t++)
				while (made.depth[t])
					builder_end(b, made.threads[t], made.stack[t][--made.depth[t]], made.now, NULL, 0);
			for (uint32_t t = 0; t < 3; t++)
				builder_flush(b, made.threads[t], BUILDER_TO_BLOCK);
			for (uint32_t s = 0; s < 4; s++)
				builder_flush(b, made.streams[s], BUILDER_TO_BLOCK);
			builder_host_pair(b, made.now + 1, 5, 0);
			builder_run_end(b, made.now += 2500);
			builder_run_start(b, made.now += 500);
			builder_device_pair(b, made.streams[1], (made.now - BUILDER_START) * 2 + 7, made.now, 1);
		}
	}
	for (uint32_t t = 0; t < 3; t++)
		while (made.depth[t])
			builder_end(b, made.threads[t], made.stack[t][--made.depth[t]], made.now + 10, NULL, 0);
	builder_device_pair(b, made.streams[1], (made.now - BUILDER_START) * 2 + 7, made.now, 1);
	builder_lost(b, made.threads[0], EPP_LOSS_TOO_DEEP, 3, 1);
	builder_run_end(b, made.now + 10000);
	return b;
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
	ck_assert_uint_eq(validation_errors(packed), 0);
	epp_trace_close(packed);
	epp_trace_close(recovered);
	epp_trace_close(trace);
	free(path);
	free(recovered_path);
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
	epp_session_release(session);
	epp_trace *trace = open_trace(path), *packed = packed_of(trace, packed_path, TRACE_WRITER_PACKED_RECORDS);
	ck_assert_uint_eq(validation_errors(trace), 0);
	ck_assert_uint_eq(validation_errors(packed), 0);
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

START_TEST(a_stretch_is_read_without_the_rest)
{
	enum { RUNS = 20000, TICKS = 1000 };
	char *path = keep(check_path("long.epp")), *packed_path = keep(check_path("long.packed.epp"));
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1), stream = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_name name = builder_name(b, "name");
	struct counting counting = { 0 };
	struct reader *reader;

	for (uint64_t i = 0; i < RUNS; i++) {
		uint64_t at = BUILDER_START + i * TICKS;
		uint64_t id = builder_event(b, thread, at + random_below(300), 100 + random_below(200), EPP_NODE, name,
		                            NULL, 0);
		if (i % 500 == 0)
			builder_device_pair(b, stream, at + 5, at, 1);
		builder_complete(b, stream, at + 600 + random_below(200), random_below(200), EPP_KERNEL, name, id, NULL, 0);
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
		/* A block or two of each track, the blocks that are referred to or refer across an edge, and the clock's pairs. */
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

/* ---- damage ---- */

struct sample {
	uint8_t *image;
	size_t bytes;
};

static struct sample packed_sample(uint32_t records_most)
{
	random_state = 88172645463325252ull; /* a test that fails alone fails the same */
	char *path = keep(check_path("d.epp")), *packed_path = keep(check_path("d.packed.epp"));
	struct epp_builder *b = random_trace(WITH_ENDS_ELSEWHERE, 600);
	struct sample sample;

	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	epp_trace *trace = open_trace(path);
	epp_trace_close(packed_of(trace, packed_path, records_most));
	epp_trace_close(trace);
	sample.image = read_file(packed_path, &sample.bytes);
	free(path);
	free(packed_path);
	return sample;
}

struct told {
	uint64_t offset; /* looked for */
	unsigned errors_there;
};

static void note_told(void *user, const epp_trace_finding *finding)
{
	struct told *told = user;
	told->errors_there += finding->severity == EPP_ERROR && finding->offset == told->offset;
}

START_TEST(a_damaged_block_loses_itself_alone)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	uint64_t records_count = whole->reader->info.records_count, errors;

	ck_assert_uint_gt(whole->reader->blocks_count, 8);
	for (size_t i = 0; i < whole->reader->blocks_count; i++) {
		const struct reader_block *block = &whole->reader->blocks[i];
		struct told told = { .offset = block->offset };
		uint8_t *byte = &sample.image[block->offset + sizeof(struct epf_block) + random_below(block->payload_bytes)];
		*byte ^= 4;
		epp_trace *trace = open_image(sample.image, sample.bytes);
		ck_assert_uint_eq(trace->reader->findings_count, 0);
		free(see(trace->reader, 0, 0));
		ck_assert_uint_eq(trace->reader->findings_count, 1);
		ck_assert(has_finding_of(trace, EPP_ERROR, "records are lost"));
		ck_assert_uint_eq(trace->reader->findings[0].offset, block->offset);
		ck_assert_uint_eq(trace->reader->info.records_count, records_count - block->record_count);
		epp_trace_close(trace);
		trace = open_image(sample.image, sample.bytes);
		check_ok(epp_trace_validate(trace, note_told, &told, &errors));
		ck_assert_uint_gt(told.errors_there, 0);
		epp_trace_close(trace);
		*byte ^= 4;
	}
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

START_TEST(a_damaged_index_is_not_needed)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	struct epf_index_place place;
	struct epf_block block;
	char *all = see(whole->reader, 0, 0);

	memcpy(&place, sample.image + EPF_INDEX_PLACE_OFFSET, sizeof(place));
	memcpy(&block, sample.image + place.offset, sizeof(block));
	ck_assert_uint_eq(block.type, EPF_BLOCK_INDEX);
	for (size_t part = 0; part < 2; part++) {
		size_t begin = part ? place.offset : EPF_INDEX_PLACE_OFFSET;
		size_t end = begin + (part ? sizeof(block) + block.payload_bytes : sizeof(place));
		for (size_t at = begin; at < end; at += 1 + random_below(part ? 40 : 1)) {
			sample.image[at] ^= (uint8_t)(1u << random_below(8));
			epp_trace *trace = open_image(sample.image, sample.bytes);
			MUST(!trace->reader->summaries);
			MUST(has_finding_of(trace, EPP_WARNING, "the index is of no use"));
			MUST(trace->reader->info.records_count == whole->reader->info.records_count);
			must_be_same(see(trace->reader, 0, 0), keep(all), "without the index");
			epp_trace_close(trace);
			memcpy(sample.image + EPF_INDEX_PLACE_OFFSET, &place, sizeof(place));
			epp_trace_close(whole);
			/* What was changed is put right from the file. */
			free(sample.image);
			char *path = keep(check_path("d.packed.epp"));
			sample.image = read_file(path, &sample.bytes);
			free(path);
			whole = open_image(sample.image, sample.bytes);
		}
	}
	free(all);
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

/* An index whose checksum is right, and which lies: nothing breaks, and validate finds it if anything is shown otherwise. */
START_TEST(an_index_that_lies)
{
	struct sample sample = packed_sample(60);
	struct epf_index_place place;
	struct epf_block block;

	memcpy(&place, sample.image + EPF_INDEX_PLACE_OFFSET, sizeof(place));
	memcpy(&block, sample.image + place.offset, sizeof(block));
	uint8_t *payload = sample.image + place.offset + sizeof(block), *copy = malloc(block.payload_bytes);
	ck_assert_ptr_nonnull(copy);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	char *truth = see(whole->reader, 2000, 5000);
	epp_trace_close(whole);
	memcpy(copy, payload, block.payload_bytes);
	for (uint32_t at = 0; at < block.payload_bytes; at += 1 + random_below(3 * RECORDING_SLOW)) {
		uint64_t errors;
		epp_trace *trace;
		payload[at] ^= (uint8_t)(1u << random_below(8));
		block.checksum = 0;
		block.checksum = checksum_crc32c(checksum_crc32c(0, &block, sizeof(block)), payload, block.payload_bytes);
		memcpy(sample.image + place.offset, &block, sizeof(block));
		check_ok(builder_open_image(sample.image, sample.bytes, &trace));
		char *seen = try_to_see(trace->reader, 2000, 5000);
		check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
		MUST(errors || (seen && !strcmp(seen, truth)));
		free(seen);
		epp_trace_close(trace);
		memcpy(payload, copy, block.payload_bytes);
	}
	free(copy);
	free(truth);
	free(sample.image);
}
END_TEST

START_TEST(cut_anywhere)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes), *trace;
	uint64_t records_count = whole->reader->info.records_count;

	for (size_t bytes = 0; bytes < sample.bytes; bytes += bytes < EPF_PAGE_BYTES ? 97 : 1 + random_below(60)) {
		epp_status *status = builder_open_image(sample.image, bytes, &trace);
		MUST(bytes >= EPF_PAGE_BYTES || status);
		epp_status_release(status);
		if (status)
			continue;
		MUST(trace->reader->info.records_count <= records_count);
		MUST(!trace->reader->summaries || bytes + 8 > sample.bytes);
		MUST(trace->reader->findings_count || bytes + 8 > sample.bytes);
		free(see(trace->reader, 0, 0));
		epp_trace_close(trace);
	}
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

START_TEST(changed_anywhere)
{
	struct sample sample = packed_sample(8192);
	epp_trace *trace;

	for (size_t at = 0; at < sample.bytes; at += 1 + random_below(20 * RECORDING_SLOW)) {
		uint8_t before = sample.image[at];
		uint64_t errors;
		sample.image[at] ^= (uint8_t)(1 + random_below(255));
		epp_status *status = builder_open_image(sample.image, sample.bytes, &trace);
		epp_status_release(status);
		if (!status) {
			status = epp_trace_validate(trace, NULL, NULL, &errors);
			epp_status_release(status);
			MUST(!status);
			free(try_to_see(trace->reader, 1000, 3000));
			epp_trace_close(trace);
		}
		sample.image[at] = before;
	}
	free(sample.image);
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
	check_fails(EPP_UNAVAILABLE, epp_trace_pack(trace, packed_path, 0));
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
	struct epp_builder *b = export_sample();

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

static Suite *pack_suite(void)
{
	Suite *suite = suite_create("pack");
	TCase *cases = tcase_create("all");

	tcase_add_loop_test(cases, random_traces_are_the_same_in_any_stretch, 0, 8);
	tcase_add_loop_test(cases, exports_are_the_same, 0, 2);
	tcase_add_test(cases, packed_again_and_unpacked);
	tcase_add_test(cases, a_trace_that_was_cut_off);
	tcase_add_loop_test(cases, what_sessions_recorded, 0, 2);
	tcase_add_test(cases, a_stretch_is_read_without_the_rest);
	tcase_add_test(cases, a_damaged_block_loses_itself_alone);
	tcase_add_test(cases, a_damaged_index_is_not_needed);
	tcase_add_test(cases, an_index_that_lies);
	tcase_add_test(cases, cut_anywhere);
	tcase_add_test(cases, changed_anywhere);
	tcase_add_test(cases, a_write_that_fails_leaves_nothing);
	tcase_add_test(cases, the_command);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(pack_suite)
