/* Damage to whole traces, as far as their events: small ones of each shape are cut after each byte and have each byte
 * changed, and are then opened, accounted for, checked and walked through.
 * A checksum covers each block, so damage to blocks can only remove events: every event that is seen was there, none
 * comes twice, and all of the blocks before the damage and of the other segments are there.  If any is missing, validate
 * reports it: as an error or a warning, or as a note if an interrupted write looks the same.  The window has no
 * checksums; damage there may change events, but removes none from the blocks.  No image makes the reader show more
 * events than it has room for, take more memory than a bound, or run out of it.  Zeros, which most of a window is, are
 * changed and cut one in some.  What opening alone does: check_reader_scan.c. */
#include <string.h>
#include <sys/resource.h>

#include "codec/checksum.h"
#include "epprof/merge.h"
#include "format/format_ring.h"
#include "tests/support/packing.h"
#include "tests/support/recording.h"

#define SEGMENT_BYTES 4096u
#define MEMORY_BYTES (64u << 20)
/* Of zeros, and of all bytes under a sanitizer. */
#define STRIDE 31u

/* ---- undamaged ones ---- */

struct known {
	uint64_t key;
	uint64_t from, to; /* its block in the file; 0 and 0: in the window */
};

struct shape {
	uint8_t *image;
	size_t bytes;
	uint64_t segments_offset, segment_bytes;
	bool is_ring;
	struct known *known; /* its events, sorted by key */
	size_t known_count;
	struct known *dropped; /* a ring's, without its account of what it gave up: all of its events */
	size_t dropped_count;
	uint64_t told; /* by validate */
	/* The last block of the newest segment, if the trace is unfinished: damaged, it looks like an interrupted write. */
	uint64_t last_block;
};

/* Of everything some.  `shift` tells traces apart that are merged. */
static struct epp_builder *make(enum epf_state state, uint64_t shift)
{
	struct epp_builder *b = builder_create();
	uint64_t at = BUILDER_START + shift, last = 0;

	builder_geometry(b, 2, 4, SEGMENT_BYTES, SEGMENT_BYTES, SEGMENT_BYTES);
	memset(builder_header(b)->file_id, (int)shift + 1, sizeof(builder_header(b)->file_id));
	builder_producer(b, 0, "MyEP");
	epp_name name = builder_name(b, "name");
	uint32_t main_thread = builder_thread(b, "main", 1), worker = builder_thread(b, "worker", 2);
	uint32_t device = builder_device(b, "s", "d", 0, 0, EPF_TRACK_CLOCK_DEVICE);
	epp_arg args[] = { { .key = name, .type = EPP_ARG_TEXT, .value.text = "some text", .text_bytes = 9 },
		           { .key = name, .type = EPP_ARG_F64, .value.f64 = 1.5 } };
	builder_definitions_to_block(b);
	builder_device_pair(b, device, 5 + shift, at, 1);
	uint64_t outer = builder_begin(b, main_thread, at + 5, EPP_SESSION, name);
	for (unsigned i = 1; i <= 200; i++) {
		uint64_t now = at + 100 * i;
		uint64_t id = builder_event(b, i % 3 ? main_thread : worker, now, 50, EPP_NODE, name, args, i % 3);
		if (i % 4 == 1)
			builder_complete(b, device, 100 * i + 10 + shift, 20, EPP_KERNEL, name, id, args, 1);
		if (i % 8 == 2)
			builder_flow(b, main_thread, now + 60, id, last);
		if (i % 8 == 3)
			builder_async_end(b, main_thread, builder_async_begin(b, worker, now + 51, EPP_API, name),
			                  now + 60, NULL, 0);
		if (i % 8 == 4)
			builder_counter(b, worker, now + 70, name, i);
		if (i % 16 == 5)
			builder_instant(b, main_thread, now + 80, EPP_API, name, args, 2);
		if (i % 4 == 0)
			builder_flush(b, i % 8 ? main_thread : worker, BUILDER_TO_BLOCK);
		if (i % 16 == 0)
			builder_flush(b, device, BUILDER_TO_BLOCK);
		last = id;
	}
	builder_host_pair(b, at + 21000, 10, 0);
	builder_device_pair(b, device, 21005 + shift, at + 21000, 1);
	if (state == EPF_RECORDING) {
		builder_flush(b, main_thread, BUILDER_TO_BLOCK | BUILDER_TO_WINDOW);
		builder_begin(b, main_thread, at + 21100, EPP_NODE, name);
		builder_event(b, main_thread, at + 21110, 5, EPP_NODE, name, args, 2);
		builder_flush(b, main_thread, BUILDER_TO_WINDOW);
		builder_event(b, main_thread, at + 21120, 5, EPP_NODE, name, args, 2);
		builder_name(b, "in the log");
	} else {
		builder_end(b, main_thread, outer, at + 21200, args, 1);
	}
	return b;
}

static uint64_t key_of(unsigned kind, uint64_t id, uint64_t ticks)
{
	uint64_t key = (id ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;
	key = (key ^ key >> 29 ^ ticks) * 0xbf58476d1ce4e5b9u;
	return key ^ key >> 32;
}

static int by_key(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static void know(struct shape *shape, struct known known)
{
	shape->known = reallocarray(shape->known, shape->known_count + 1, sizeof(*shape->known));
	MUST(shape->known);
	shape->known[shape->known_count++] = known;
}

/* What blocks and stacks hold, record by record. */
static void know_all(struct shape *shape, struct reader *reader)
{
	static const unsigned kinds[16] = {
		[EPF_EVENT] = EPP_EVENT_SLICE,    [EPF_INSTANT] = EPP_EVENT_INSTANT, [EPF_COUNTER] = EPP_EVENT_COUNTER,
		[EPF_COMPLETE] = EPP_EVENT_SLICE, [EPF_FLOW] = EPP_EVENT_FLOW,       [EPF_ASYNC_BEGIN] = EPP_EVENT_ASYNC
	};
	struct reader_decoded decoded = { 0 };

	for (size_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[i];
		uint64_t end = block->offset + sizeof(struct epf_block) + block->payload_bytes;
		check_ok(reader_block_decode(reader, block, &decoded));
		for (uint32_t r = 0; r < decoded.count; r++) {
			const struct codec_record *record = &decoded.records[r];
			unsigned kind = kinds[EPF_BITS_KIND(record->bits)];
			if (kind)
				know(shape, (struct known){ key_of(kind, record->id, record->start_ticks),
				                            block->in_window ? 0 : block->offset,
				                            block->in_window ? 0 : end });
		}
	}
	for (size_t i = 0; i < reader->open_count; i++)
		know(shape, (struct known){ .key = key_of(EPP_EVENT_SLICE, reader->open[i].open.id,
		                                          reader->open[i].open.start_ticks) });
	reader_decoded_deinit(&decoded);
	qsort(shape->known, shape->known_count, sizeof(*shape->known), by_key);
	for (size_t i = 1; i < shape->known_count; i++)
		MUST(shape->known[i - 1].key != shape->known[i].key);
}

/* ---- looking at one ---- */

struct seen {
	epp_code code; /* EPP_OK: it could be opened */
	struct known *events;
	size_t count;
	uint64_t told;
	bool is_interrupted; /* validate reports an interrupted write, in a note */
};

static void note_told(void *user, const epp_trace_finding *finding)
{
	struct seen *seen = user;

	MUST(finding->text[0]);
	seen->told += finding->severity != EPP_NOTE;
	seen->is_interrupted |= strstr(finding->text, "where the writer was interrupted") != NULL;
}

/* As MUST, with where the damage was. */
#define MUST_MSG(condition, ...) \
	do { \
		if (!(condition)) \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

static void walk(struct seen *seen, epp_trace *trace, size_t room)
{
	epp_timeline *timeline;
	const epp_event *event;

	MUST(!epp_timeline_create(trace, NULL, &timeline));
	seen->events = malloc(room * sizeof(*seen->events));
	MUST(seen->events);
	while (epp_timeline_next(timeline, &event)) {
		epp_trace_arg arg;
		size_t cursor = 0;
		uint32_t args_count = 0;
		MUST(seen->count < room);
		while (epp_event_args(timeline, event, &cursor, &arg))
			MUST(++args_count <= EPF_ARG_SLOTS_MAX);
		MUST(event->track && event->track->name && strlen(event->name) <= event->name_bytes);
		seen->events[seen->count++].key = key_of(event->kind, event->id, event->start_ticks);
	}
	MUST(!epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	qsort(seen->events, seen->count, sizeof(*seen->events), by_key);
}

/* A region of the window has room for as many records as it has times 32 bytes, a stack for one an entry. */
static struct seen look(const struct shape *shape, size_t bytes)
{
	struct seen seen = { 0 };
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	uint64_t errors;
	epp_trace *trace;
	epp_status *status = builder_open_image(shape->image, bytes, &trace);

	if (status) {
		seen.code = epp_status_code(status);
		MUST(epp_status_message(status)[0]);
		MUST(seen.code == EPP_CORRUPT || seen.code == EPP_INCOMPATIBLE);
		epp_status_destroy(status);
		return seen;
	}
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++)
		MUST(!epp_trace_ledger_at(trace, i, &account));
	MUST(!epp_trace_validate(trace, note_told, &seen, &errors));
	MUST(errors >= seen.told);
	seen.told = errors;
	walk(&seen, trace, shape->known_count + shape->segments_offset / EPF_RECORD_BYTES);
	epp_trace_close(trace);
	return seen;
}

static const struct known *find(const struct known *list, size_t count, uint64_t key)
{
	return count ? bsearch(&(struct known){ .key = key }, list, count, sizeof(*list), by_key) : NULL;
}

/* Damage at [from, to). */
static void compare(const struct shape *shape, const struct seen *seen, uint64_t from, uint64_t to)
{
	size_t missing = 0;

	for (size_t i = 0; i < shape->known_count; i++) {
		const struct known *known = &shape->known[i];
		if (find(seen->events, seen->count, known->key))
			continue;
		uint64_t segment = shape->segments_offset, size = shape->segment_bytes;
		if (known->from)
			segment += (known->from - segment) / size * size;
		MUST_MSG(known->from ? known->to > from && segment < to : from < shape->segments_offset,
		         "damage at %" PRIu64 " took an event of the block at %" PRIu64, from, known->from);
		missing++;
	}
	if (from < shape->segments_offset)
		return;
	bool is_last = shape->last_block && from >= shape->last_block && from < shape->last_block + SEGMENT_BYTES;
	MUST_MSG(!missing || seen->told > shape->told || (is_last && seen->is_interrupted),
	         "damage at %" PRIu64 " took %zu events silently", from, missing);
	for (size_t i = 0; i < seen->count; i++) {
		uint64_t key = seen->events[i].key;
		MUST_MSG(find(shape->known, shape->known_count, key) || find(shape->dropped, shape->dropped_count, key),
		         "damage at %" PRIu64 " made an event", from);
		MUST_MSG(!i || seen->events[i - 1].key != key, "damage at %" PRIu64 " doubled one", from);
	}
}

/* ---- the shapes ---- */

static uint64_t find_last_block(const struct shape *shape, const struct reader *reader)
{
	uint64_t newest = 0, last = 0;

	for (size_t i = 0; i < reader->blocks_count; i++) {
		uint64_t offset = reader->blocks[i].offset, start = shape->segments_offset;
		struct epf_segment segment;
		if (reader->blocks[i].in_window)
			continue;
		memcpy(&segment, shape->image + start + (offset - start) / SEGMENT_BYTES * SEGMENT_BYTES, sizeof(segment));
		if (segment.number > newest || (segment.number == newest && offset > last)) {
			newest = segment.number;
			last = offset;
		}
	}
	return last;
}

static void settle(struct shape *shape)
{
	epp_trace *trace;
	struct epf_header header;

	memcpy(&header, shape->image, sizeof(header));
	shape->segments_offset = header.segments_offset;
	shape->segment_bytes = header.segment_bytes;
	check_ok(builder_open_image(shape->image, shape->bytes, &trace));
	know_all(shape, trace->reader);
	shape->last_block = header.state == EPF_FINISHED ? 0 : find_last_block(shape, trace->reader);
	epp_trace_close(trace);
	struct seen seen = look(shape, shape->bytes);
	ck_assert_uint_eq(seen.count, shape->known_count);
	ck_assert_uint_gt(seen.count, 60);
	compare(shape, &seen, shape->bytes, shape->bytes);
	shape->told = seen.told;
	ck_assert_uint_le(seen.told, 1); /* that it was never finished */
	free(seen.events);
}

static void number_segment(struct shape *shape, uint64_t place, uint64_t number, uint32_t flags)
{
	uint8_t *at = shape->image + shape->segments_offset + place * SEGMENT_BYTES;
	struct epf_segment segment = { .magic = EPF_SEGMENT_MAGIC, .number = number, .flags = flags };

	segment.checksum = checksum_crc32c(0, &segment, sizeof(segment));
	memcpy(at, &segment, sizeof(segment));
}

/* The first and the third segment have been given up, for which an account stands, the second was used again; the first
 * is kept for its definitions. */
static void make_ring(struct shape *shape, struct epp_builder *b, enum epf_state state)
{
	struct {
		struct epf_overwritten head;
		struct epf_overwritten_row rows[3];
	} account = { .head = { 0, 3 } };
	uint64_t gone[4] = { 0 };
	struct reader_decoded decoded = { 0 };
	epp_trace *trace;

	builder_header(b)->features |= EPF_FEATURE_RING;
	builder_header(b)->policy = EPP_POLICY_RING;
	uint64_t offset = builder_block(
	    b, &(struct epf_block){ .type = EPF_BLOCK_OVERWRITTEN, .payload_bytes = sizeof(account) }, &account);
	shape->image = builder_image(b, state, &shape->bytes);
	shape->segments_offset = builder_header(b)->segments_offset;
	size_t places = (shape->bytes - shape->segments_offset) / SEGMENT_BYTES;
	ck_assert_uint_ge(places, 4);
	for (uint64_t place = 0; place < places; place++)
		number_segment(shape, place, place ? place == 1 ? places + 1 : place + 1 : 1,
		               place ? 0 : EPF_SEGMENT_RETAINED);
	check_ok(builder_open_image(shape->image, shape->bytes, &trace));
	for (size_t i = 0; i < trace->reader->blocks_count; i++) {
		const struct reader_block *block = &trace->reader->blocks[i];
		uint64_t place = (block->offset - shape->segments_offset) / SEGMENT_BYTES;
		if (block->in_window || (place != 0 && place != 2))
			continue;
		check_ok(reader_block_decode(trace->reader, block, &decoded));
		for (uint32_t r = 0; r < decoded.count; r++)
			gone[block->track] += READER_OWN_ID_KINDS >> EPF_BITS_KIND(decoded.records[r].bits) & 1;
	}
	reader_decoded_deinit(&decoded);
	struct shape all = { 0 };
	know_all(&all, trace->reader);
	shape->dropped = all.known;
	shape->dropped_count = all.known_count;
	epp_trace_close(trace);
	account.head.through = 3;
	account.rows[0] = (struct epf_overwritten_row){ 1, 1, gone[1] };
	account.rows[1] = (struct epf_overwritten_row){ 2, 1, gone[2] };
	account.rows[2] = (struct epf_overwritten_row){ EPF_OVERWRITTEN_PRODUCER, 1, gone[3] };
	memcpy(shape->image + offset + sizeof(struct epf_block), &account, sizeof(account));
	builder_seal_block(shape->image, offset);
}

static void make_merged(struct shape *shape)
{
	char *path = keep(check_path("merged.epp"));
	epp_merge_options options = { .struct_size = sizeof(options), .overwrite = 1 };
	epp_trace *traces[2];

	for (unsigned i = 0; i < 2; i++) {
		struct epp_builder *b = make(EPF_FINISHED, i * 7u);
		traces[i] = builder_open(b, EPF_FINISHED);
		builder_destroy(b);
	}
	check_ok(epp_trace_merge(traces, 2, path, &options, NULL, NULL, NULL));
	epp_trace_close(traces[0]);
	epp_trace_close(traces[1]);
	shape->image = read_file(path, &shape->bytes);
	free(path);
}

enum { RECORDING, FINISHED, RING_RECORDING, RING_FINISHED, MERGED, SHAPES };

static struct shape make_shape(int which)
{
	struct shape shape = { .is_ring = which == RING_RECORDING || which == RING_FINISHED };
	enum epf_state state = which == RECORDING || which == RING_RECORDING ? EPF_RECORDING : EPF_FINISHED;
	struct epp_builder *b = make(state, 0);

	random_state = 88172645463325252ull; /* a test that fails alone fails the same */
	if (shape.is_ring)
		make_ring(&shape, b, state);
	else if (which == MERGED)
		make_merged(&shape);
	else
		shape.image = builder_image(b, state, &shape.bytes);
	builder_destroy(b);
	settle(&shape);
	return shape;
}

static void drop_shape(struct shape *shape)
{
	free(shape->known);
	free(shape->dropped);
	free(shape->image);
}

/* The next byte that something is done to. */
static size_t next_of(const struct shape *shape, size_t at)
{
	if (RECORDING_SLOW > 1)
		at += random_below(STRIDE * CHECK_ONE_IN);
	for (unsigned zeros = 0; ++at < shape->bytes && !shape->image[at] && zeros < STRIDE; zeros++)
		continue;
	return at;
}

/* ---- tests ---- */

START_TEST(cut_anywhere)
{
	struct shape shape = make_shape(_i);

	for (size_t cut = 0; cut < shape.bytes; cut = next_of(&shape, cut)) {
		struct seen seen = look(&shape, cut);
		MUST((seen.code == EPP_OK) == (cut >= EPF_PAGE_BYTES));
		if (seen.code == EPP_OK)
			compare(&shape, &seen, cut, UINT64_MAX);
		free(seen.events);
	}
	drop_shape(&shape);
}
END_TEST

START_TEST(changed_anywhere)
{
	struct shape shape = make_shape(_i);

	for (size_t at = 0; at < shape.bytes; at = next_of(&shape, at)) {
		uint8_t before = shape.image[at];
		shape.image[at] ^= (uint8_t)(1 + random_below(255));
		struct seen seen = look(&shape, shape.bytes);
		/* The header's checksum is over all of it but its state. */
		MUST(seen.code == EPP_OK || at < EPF_PAGE_BYTES);
		if (seen.code == EPP_OK)
			compare(&shape, &seen, at, at + 1);
		free(seen.events);
		shape.image[at] = before;
	}
	drop_shape(&shape);
}
END_TEST

/* Blocks whose offsets need more than 32 bits; the file is a hole but for its ends. */
START_TEST(beyond_4_gib)
{
	const uint64_t by = 5ull << 30;
	struct shape shape = make_shape(_i);
	char *path = keep(check_path("far.epp"));
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	size_t start = shape.segments_offset, rest = shape.bytes - start;
	uint64_t errors;
	epp_trace *near;

	check_ok(builder_open_image(shape.image, shape.bytes, &near));
	char *seen = see(near->reader, 0, 0);
	epp_trace_close(near);
	((struct epf_header *)(void *)shape.image)->segments_offset += by;
	builder_seal_header(shape.image);
	ck_assert(pwrite(fd, shape.image, start, 0) == (ssize_t)start);
	ck_assert(pwrite(fd, shape.image + start, rest, (off_t)(by + start)) == (ssize_t)rest);
	close(fd);
	epp_trace *far = open_trace(path);
	ck_assert_uint_eq(epp_trace_get_info(far)->file_bytes, by + shape.bytes);
	must_be_same(see(far->reader, 0, 0), seen, "far");
	check_ok(epp_trace_validate(far, NULL, NULL, &errors));
	ck_assert_uint_eq(errors, 0);
	epp_trace_close(far);
	unlink(path);
	free(path);
	drop_shape(&shape);
}
END_TEST

/* The address space ends not far beyond what is in use; a sanitizer has its own idea of that. */
static void bound_memory(void)
{
	unsigned long pages;
	FILE *statm = fopen("/proc/self/statm", "r");

	ck_assert(statm && fscanf(statm, "%lu", &pages) == 1);
	fclose(statm);
	struct rlimit limit = { pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES, RLIM_INFINITY };
	if (RECORDING_SLOW == 1)
		ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

static Suite *damage_suite(void)
{
	Suite *suite = suite_create("damage");
	TCase *cases = tcase_create("all");

	tcase_add_checked_fixture(cases, bound_memory, NULL);
	tcase_add_loop_test(cases, cut_anywhere, 0, SHAPES);
	tcase_add_loop_test(cases, changed_anywhere, 0, SHAPES);
	tcase_add_loop_test(cases, beyond_4_gib, 0, SHAPES);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(damage_suite)
