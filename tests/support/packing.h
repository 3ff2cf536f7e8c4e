/* For the tests of packed files: random traces with everything that a trace may have, and the contents of a timeline as
 * a text. */
#ifndef EPPROF_TESTS_SUPPORT_PACKING_H
#define EPPROF_TESTS_SUPPORT_PACKING_H

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "tests/support/random_values.h"
#include "tests/support/reader_asserts.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

/* ---- the contents of a timeline as a text ---- */

static inline void put_event(FILE *text, const epp_timeline *timeline, const epp_event *event)
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

/* Returns the text; NULL: the timeline ended with an error. */
static inline char *try_to_see(struct reader *reader, int64_t from_ns, int64_t to_ns)
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
	epp_timeline_destroy(timeline);
	fclose(text);
	if (!status)
		return bytes;
	epp_status_destroy(status);
	free(bytes);
	return NULL;
}

static inline char *see(struct reader *reader, int64_t from_ns, int64_t to_ns)
{
	char *seen = try_to_see(reader, from_ns, to_ns);
	MUST(seen);
	return seen;
}

static inline void must_be_same(char *a, char *b, const char *what)
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

static inline void must_look_same(struct reader *a, struct reader *b, int64_t from_ns, int64_t to_ns)
{
	char what[80];
	snprintf(what, sizeof(what), "from %" PRId64 " to %" PRId64, from_ns, to_ns);
	must_be_same(see(a, from_ns, to_ns), see(b, from_ns, to_ns), what);
}

/* ---- files ---- */

static inline char *keep(const char *path)
{
	char *copy = strdup(path);
	MUST(copy);
	return copy;
}

static inline epp_trace *open_trace(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	return trace;
}

/* Packs an opened trace, and opens the packed one by its index. */
static inline epp_trace *packed_of(epp_trace *trace, const char *path, uint32_t records_most)
{
	check_ok(trace_writer_pack(trace->reader, path, 1, records_most));
	epp_trace *packed = open_trace(path);
	ck_assert_ptr_nonnull(packed->reader->summaries);
	ck_assert_uint_eq(packed->reader->findings_count, 0);
	ck_assert_uint_eq(packed->reader->info.state, EPP_TRACE_FINISHED);
	return packed;
}

static inline uint8_t *read_file(const char *path, size_t *bytes)
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
	uint64_t now, recent[3][16]; /* ids of the last events of each thread */
	uint32_t depth[3];
	uint64_t stack[3][8];
	epp_name names[5];
};

static inline epp_arg random_arg(const struct made *made)
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

static inline void step(struct made *made, unsigned with)
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

static inline struct epp_builder *random_trace(unsigned with, uint32_t steps)
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

/* ---- a packed trace in memory ---- */

struct sample {
	uint8_t *image;
	size_t bytes;
};

static inline struct sample packed_sample(uint32_t records_most)
{
	random_state = RANDOM_SEED; /* a failing test also fails the same way when it is run alone */
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

#endif
