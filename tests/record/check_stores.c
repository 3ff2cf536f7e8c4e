/* A thread that stops between any two stores of a call leaves a file that says what is true: the call is gone through
 * instruction by instruction, and after each one that changes the thread's slot or an account the file is read as if
 * the process had been killed there. For calls whose stores belong together: a full stack that is moved together,
 * another block of ids; and, since it costs nothing, the usual ones.  The same for the helper's visit that gives up a
 * region: what its thread, and what a profiler, recorded there. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codec/checksum.h"
#include "epprof/profiler.h"
#include "epprof/trace_reader.h"
#include "epprof/track.h"
#include "storage/drain.h"
#include "tests/support/profiler_double.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"
#include "trace/reader_private.h"

#define EVENTS 70
#define STEPS_MAX 20000000
#define PUSHED 40 /* more than a slot's region holds */

/* What the child has begun, which is known before the call that is gone through. */
static struct shared {
	uint64_t ids[EVENTS];
	uint32_t names[EVENTS];
	unsigned begun;
	unsigned ended; /* of them, on other threads or by this call */
	unsigned pushed;
	uint64_t pushed_lost; /* with a region, as was seen last */
} * shared;

static epp_session *session;
static struct profiler_double profiler;
static epp_track track;

/* ---- the child ---- */

static void begin(void)
{
	char text[16];
	snprintf(text, sizeof(text), "event %u", shared->begun);
	shared->names[shared->begun] = epp_name_intern(text);
	shared->ids[shared->begun] = epp_event_begin(session, EPP_NODE, shared->names[shared->begun]);
	shared->begun++;
}

static void *end_some(void *unused)
{
	for (unsigned i = 46; i < shared->begun; i += 7)
		epp_event_end(session, shared->ids[i], NULL, 0);
	return unused;
}

static void fill_stack(void)
{
	while (shared->begun < EPF_OPEN_MAX)
		begin();
	recording_on_thread(end_some, NULL);
}

static void begin_one_more(void)
{
	epp_event_begin(session, EPP_NODE, epp_name_intern("one more"));
}

static void use_up_ids(void)
{
	for (unsigned i = 0; i < 5; i++)
		begin();
	struct epf_slot *slot = recorder_cache.resident->slot;
	while (slot->next_id != slot->id_block_end)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, shared->names[0]), NULL, 0);
}

static void begin_three(void)
{
	for (unsigned i = 0; i < 3; i++)
		begin();
}

static void end_innermost(void)
{
	epp_event_end(session, shared->ids[2], NULL, 0);
}

static void end_outermost(void)
{
	epp_event_end(session, shared->ids[0], NULL, 0);
}

/* The helper's work, on this thread: a full region that cannot be written, with no chunk to spare. */
static void break_disk(void)
{
	struct storage *inside = recording_storage(session);
	for (unsigned i = 0; i < 60; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("lost")), NULL, 0);
	begin_three();
	inside->writer.fd = open("/dev/null", O_RDONLY);
	inside->chunks.free = 0;
}

/* By a profiler, which counts for itself or does not; its events have a slot of their own. */
static void push(bool counts)
{
	static const EpprofClock clock = { .id = 1, .kind = 1, .ticks_per_second = 1000000000 };
	EpprofLedger ledger = { .emitted = PUSHED };
	EpprofEvent events[PUSHED];
	for (unsigned i = 0; i < PUSHED; i++)
		events[i] = (EpprofEvent){ .start_ticks = i,
			                   .end_ticks = i + 1,
			                   .name = "kernel",
			                   .category = EPP_KERNEL,
			                   .clock = 1,
			                   .stream = i % 2 };
	profiler_registry_push(&profiler.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
	                                                       .clocks = &clock,
	                                                       .clocks_count = 1,
	                                                       .events = events,
	                                                       .events_count = PUSHED,
	                                                       .ledger = counts ? &ledger : NULL });
	shared->pushed = PUSHED;
}

static void push_and_break(void)
{
	push(false);
	break_disk();
}

static void push_counted_and_break(void)
{
	push(true);
	break_disk();
}

static void visit(void)
{
	drain_visit(recording_storage(session));
}

/* Fills the regions of the thread's events and of what it submits; no chunk is left for further records. */
static void use_up_room(void)
{
	epp_name name = epp_name_intern("fills the room");
	check_ok(epp_track_create(
	    session, &(epp_track_options){ .struct_size = sizeof(epp_track_options), .name = "device" }, &track));
	while (chunks_take(&recording_storage(session)->chunks) != CHUNK_NONE)
		;
	for (unsigned i = 0; i < 3 * PUSHED; i++) {
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		epp_event_record(session, track, EPP_KERNEL, name, i, i + 1, 0, NULL, 0);
	}
}

static void record_submitted(void)
{
	epp_event_record(session, track, EPP_KERNEL, epp_name_intern("one more"), 1, 2, 0, NULL, 0);
}

static void record_refused(void)
{
	epp_event_record(session, track, EPP_KERNEL, epp_name_intern("one more"), 2, 1, 0, NULL, 0);
}

static void end_of_other_thread(void)
{
	epp_event_end(session, UINT64_MAX, NULL, 0);
}

static void end_of_earlier_run(void)
{
	epp_event_end(session, EPP_LEFT_OUT_ID + 1, NULL, 0);
}

static void end_async(void)
{
	epp_async_end(session, UINT64_MAX, NULL, 0);
}

static const struct scenario {
	void (*prepare)(void);
	void (*call)(void);
	unsigned changes; /* of the slot, at least */
} scenarios[] = {
	{ fill_stack, begin_one_more, 100 },     { use_up_ids, begin_one_more, 5 },
	{ begin_three, begin_one_more, 3 },      { begin_three, end_innermost, 1 },
	{ begin_three, end_outermost, 3 },       { break_disk, visit, 10 },
	{ push_and_break, visit, 10 },           { push_counted_and_break, visit, 10 },
	{ use_up_room, record_submitted, 2 },    { use_up_room, record_refused, 2 },
	{ use_up_room, end_of_other_thread, 2 }, { use_up_room, end_of_earlier_run, 2 },
	{ use_up_room, end_async, 2 },
};

static void be_gone_through(const char *path, const struct scenario *scenario)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	profiler = double_make('a');
	profiler.impl.StartEvent = NULL;
	profiler.impl.StopEvent = NULL;
	if (epp_session_create(&options, &session) || epp_session_attach(session, &profiler.impl, "pusher") ||
	    epp_session_start(session))
		_exit(1);
	/* The helper stands still: only this thread changes anything. */
	pthread_mutex_lock(&recording_storage(session)->drain_lock);
	scenario->prepare();
	epp_name_intern("one more");
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	scenario->call();
	raise(SIGSTOP);
	_exit(0);
}

/* ---- what each instant leaves ---- */

/* The file as it is now, of a process that is gone: of another boot. */
static void copy_file(const uint8_t *file, size_t bytes, const char *to)
{
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC, 0666);
	struct epf_header header;
	memcpy(&header, file, sizeof(header));
	memset(header.source.boot_id, 1, sizeof(header.source.boot_id));
	uint32_t state = header.state;
	header.state = header.checksum = 0;
	header.checksum = checksum_crc32c(0, &header, offsetof(struct epf_header, checksum));
	header.state = state;
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	size_t parts[][2] = { { EPF_LIVE_OFFSET, EPF_SLOTS_OFFSET + 16 * EPF_SLOT_BYTES - EPF_LIVE_OFFSET },
		              { EPF_LOG_OFFSET, 65536 },
		              { EPF_SEGMENTS_OFFSET, bytes > EPF_SEGMENTS_OFFSET ? bytes - EPF_SEGMENTS_OFFSET : 0 } };
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ck_assert_int_eq(pwrite(fd, file + parts[i][0], parts[i][1], (off_t)parts[i][0]), (ssize_t)parts[i][1]);
	/* Chunks are taken in any order: the helper adds them while others are in use. */
	for (size_t i = 0; i < EPF_CHUNK_COUNT; i++) {
		off_t offset = EPF_CHUNKS_OFFSET + (off_t)i * EPF_CHUNK_BYTES;
		if (((const struct epf_region *)(const void *)(file + offset))->sequence)
			ck_assert_int_eq(pwrite(fd, file + offset, EPF_CHUNK_BYTES, offset), EPF_CHUNK_BYTES);
	}
	close(fd);
}

static void check_events(struct reader *reader)
{
	struct reader_decoded records = { 0 };
	unsigned seen[EVENTS] = { 0 };
	for (size_t b = 0; b < reader->blocks_count; b++) {
		check_ok(reader_block_decode(reader, &reader->blocks[b], &records));
		for (uint32_t r = 0; r < records.count; r++)
			for (unsigned i = 0; i < shared->begun && EPF_BITS_KIND(records.records[r].bits) == EPF_EVENT; i++)
				if (shared->ids[i] == records.records[r].id) {
					seen[i]++;
					ck_assert_uint_eq(records.records[r].name, shared->names[i]);
				}
	}
	reader_decoded_deinit(&records);
	for (size_t o = 0; o < reader->open_count; o++)
		for (unsigned i = 0; i < shared->begun; i++)
			if (shared->ids[i] == reader->open[o].open.id) {
				seen[i]++;
				ck_assert_uint_eq(reader->open[o].open.name, shared->names[i]);
			}
	for (unsigned i = 0; i < shared->begun; i++)
		ck_assert_msg(seen[i] == 1, "event %u is there %u times", i, seen[i]);
}

/* There, or lost with its region, all of that at one instant; nothing is left to guess about. */
static void check_pushed(const epp_trace_ledger_entry *line)
{
	ck_assert_uint_eq(line->emitted, shared->pushed);
	ck_assert_uint_eq(line->lost_total, line->lost[EPP_LOSS_DISK]);
	ck_assert(!shared->pushed_lost || line->lost_total == shared->pushed_lost);
	shared->pushed_lost = line->lost_total;
}

static void check_instant(const uint8_t *file, size_t bytes, const char *copy)
{
	copy_file(file, bytes, copy);
	epp_trace *trace = open_valid(copy);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		if (account.is_plugin)
			check_pushed(&account);
		check_balance(&account);
	}
	check_events(trace->reader);
	epp_trace_close(trace);
}

START_TEST(between_two_stores)
{
	const struct scenario *scenario = &scenarios[_i];
	char *path = strdup(check_path("stores.epp")), *copy = strdup(check_path("stores_copy.epp"));
	int status;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (child == 0)
		be_gone_through(path, scenario);
	waitpid(child, &status, WUNTRACED);
	ck_assert(WIFSTOPPED(status));
	struct stat st;
	int fd = open(path, O_RDONLY);
	fstat(fd, &st);
	const uint8_t *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(file, MAP_FAILED);
	/* The live page, the profilers' accounts, the thread's slots. */
	static uint8_t before[EPF_SLOTS_OFFSET + 2 * EPF_SLOT_BYTES - EPF_LIVE_OFFSET];
	memcpy(before, file + EPF_LIVE_OFFSET, sizeof(before));
	unsigned changes = 0;
	for (unsigned step = 0; step < STEPS_MAX; step++) {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
		waitpid(child, &status, WUNTRACED);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP)
			break;
		if (!memcmp(before, file + EPF_LIVE_OFFSET, sizeof(before)))
			continue;
		memcpy(before, file + EPF_LIVE_OFFSET, sizeof(before));
		changes++;
		check_instant(file, (size_t)st.st_size, copy);
	}
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	ck_assert_uint_ge(changes, scenario->changes);
	ck_assert(!shared->pushed || (shared->pushed_lost > 10 && shared->pushed_lost < PUSHED));
	munmap((void *)(uintptr_t)file, (size_t)st.st_size);
	close(fd);
	free(path);
	free(copy);
}
END_TEST

static bool may_trace(void)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Suite *stores_suite(void)
{
#ifdef __SANITIZE_THREAD__
	/* Its own millions of instructions would be gone through. */
	CHECK_SKIP("one thread alone has no races");
#endif
	if (!may_trace())
		CHECK_SKIP("a process may not trace its child here");
	Suite *suite = suite_create("stores");
	TCase *tcase = tcase_create("stores");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, between_two_stores, 0, sizeof(scenarios) / sizeof(*scenarios));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(stores_suite)
