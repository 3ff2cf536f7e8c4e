/* From regions to blocks: what the helper leaves behind on each visit, what waits when a write fails, and when it
 * wakes: runtime/storage/drain.c and helper.c. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper.h"
#include "format/format_slot.h"
#include "storage/drain.h"
#include "tests/support/recording.h"

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("drained");
}

static void events(epp_session *session, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
}

static bool wait_until(struct storage *storage, bool (*holds)(struct storage *storage))
{
	for (int i = 0; i < 5000; i++) {
		pthread_mutex_lock(&storage->drain_lock);
		bool yes = holds(storage);
		pthread_mutex_unlock(&storage->drain_lock);
		if (yes)
			return true;
		recording_sleep_ms(1);
	}
	return false;
}

static bool slot_region_is_free(struct storage *storage)
{
	return LOAD_RELAXED(&storage->slots.uses[0].region_state) == REGION_FREE;
}

START_TEST(a_full_region_becomes_a_block)
{
	epp_session *session = recording_start(check_path("region.epp"));
	struct storage *inside = recording_storage(session);
	static const uint8_t zero[EPF_SLOT_REGION_BYTES];
	/* More than a slot holds: what is in there goes, the rest stays in a chunk. */
	events(session, 60);
	ck_assert(wait_until(inside, slot_region_is_free));
	const struct epf_region *region = (const struct epf_region *)(const void *)inside->window.slots[0].region;
	ck_assert_uint_ne(region->sequence, region->sequence_used);
	ck_assert_mem_eq(region + 1, zero, EPF_SLOT_REGION_BYTES - sizeof(*region));
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->records_count, 60);
	ck_assert_uint_eq(scan->blocks_count[EPF_BLOCK_RECORDS], 1);
	ck_assert_uint_eq(scan->window_regions_count, 1);
	ck_assert_uint_eq(scan->dropped_regions_count, 0);
	/* Definitions went along, and the log is empty again. */
	ck_assert_uint_ge(scan->blocks_count[EPF_BLOCK_DEFINITIONS], 1);
	trace_scan_free(scan);
	recording_end(session);
	ck_assert_uint_eq(EPF_LOG_USED(inside->window.live->log_used), 0);
	ck_assert_uint_eq(inside->chunks.free, inside->window.chunks_count);
	ck_assert_uint_eq(inside->slots.free, EPF_SLOT_COUNT);
	epp_session_destroy(session);
}
END_TEST

static void *leave(void *session)
{
	events(session, 3);
	epp_event_begin(session, EPP_NODE, name);
	return NULL;
}

static bool all_slots_free(struct storage *storage)
{
	return LOAD_RELAXED(&storage->slots.free) == EPF_SLOT_COUNT;
}

/* How often this process has called write or its like. */
static unsigned long writes(void)
{
	char line[64];
	unsigned long count = 0;
	FILE *file = fopen("/proc/self/io", "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "syscw: %lu", &count);
	if (file)
		fclose(file);
	return count;
}

/* One write costs as much as a block's bytes, so full chunks go together, and are free only after that. */
START_TEST(full_chunks_become_blocks_with_few_writes)
{
	char *path = check_path("batch.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	unsigned count = 0;
	pthread_mutex_lock(&inside->drain_lock);
	uint64_t blocks = inside->writer.blocks_count;
	for (; LOAD_RELAXED(&inside->chunks.free) > inside->window.chunks_count - 100; count++)
		events(session, 1);
	unsigned long before = writes();
	drain_visit(inside);
	unsigned long made = writes() - before;
	ck_assert_uint_ge(inside->writer.blocks_count - blocks, 99);
	ck_assert_uint_eq(inside->chunks.free, inside->window.chunks_count - 1);
	pthread_mutex_unlock(&inside->drain_lock);
	if (before)
		ck_assert_uint_le(made, 25);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan->records_count, count);
	trace_scan_free(scan);
}
END_TEST

START_TEST(a_slot_is_given_back)
{
	epp_session *session = recording_start(NULL);
	struct storage *inside = recording_storage(session);
	for (int i = 0; i < 3; i++) {
		recording_on_thread(leave, session);
		ck_assert(wait_until(inside, all_slots_free));
		ck_assert_uint_eq(inside->window.slots[0].state, EPF_SLOT_FREE);
		ck_assert_uint_eq(epf_slot_open_count(&inside->window.slots[0]), 0);
		ck_assert_uint_eq(inside->slots.used, 1);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->ledger_count, 3);
	ck_assert_uint_eq(scan->records_count, 12);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(scan->ledger[i].ids_taken, 4);
	trace_scan_free(scan);
}
END_TEST

/* ---- writes that fail ---- */

static void break_writer(struct storage *storage, int *fd)
{
	pthread_mutex_lock(&storage->drain_lock);
	*fd = storage->writer.fd;
	storage->writer.fd = open("/dev/null", O_RDONLY);
	pthread_mutex_unlock(&storage->drain_lock);
}

static void mend_writer(struct storage *storage, int fd)
{
	pthread_mutex_lock(&storage->drain_lock);
	close(storage->writer.fd);
	storage->writer.fd = fd;
	pthread_mutex_unlock(&storage->drain_lock);
}

START_TEST(what_fails_is_tried_again)
{
	char *path = check_path("again.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	int fd;
	break_writer(inside, &fd);
	events(session, 20000);
	recording_on_thread(leave, session);
	recording_sleep_ms(30);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->blocks_count[EPF_BLOCK_RECORDS], 0);
	ck_assert_uint_eq(scan->records_count, 20003);
	ck_assert_uint_eq(scan->open_count, 1);
	ck_assert_ptr_null(scan_balance(scan));
	trace_scan_free(scan);
	mend_writer(inside, fd);
	events(session, 20000);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	scan = trace_scan_file(path);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan->records_count, 40004);
	trace_scan_free(scan);
}
END_TEST

START_TEST(what_fails_to_the_end_stays_in_the_window)
{
	char *path = check_path("stays.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	int fd;
	break_writer(inside, &fd);
	events(session, 20000);
	recording_on_thread(leave, session);
	uint64_t open_id = epp_event_begin(session, EPP_NODE, name);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	/* The session is not spoiled: another run, which is written. */
	mend_writer(inside, fd);
	check_ok(epp_session_start(session));
	events(session, 10);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->header.state, EPF_RECORDING);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, name), 20003 + 10);
	ck_assert_uint_eq(scan->open_count, 2);
	ck_assert(scan->open[0].id == open_id || scan->open[1].id == open_id);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), 0);
	trace_scan_free(scan);
}
END_TEST

START_TEST(what_fails_for_too_long_is_lost)
{
	char *path = check_path("lost.epp");
	epp_session *session = recording_start(path);
	struct storage *inside = recording_storage(session);
	int fd;
	break_writer(inside, &fd);
	uint64_t count = 0;
	for (; epp_session_lost(session, EPP_LOSS_DISK) == 0 && count < 100000000; count += 1000) {
		events(session, 1000);
		if (LOAD_RELAXED(&inside->chunks.free) < WINDOW_FIRST_CHUNKS / 4)
			recording_sleep_ms(3);
	}
	mend_writer(inside, fd);
	events(session, 1000);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	uint64_t lost = epp_session_lost(session, EPP_LOSS_DISK);
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), lost);
	ck_assert_uint_eq(scan->records_count + lost + scan_lost(scan, EPP_LOSS_NO_BUFFER), count + 1000);
	ck_assert_uint_gt(scan->records_count, 100000);
	trace_scan_free(scan);
}
END_TEST

/* ---- the helper ---- */

START_TEST(a_burst_wakes_the_helper)
{
	/* Of large events, so that it is over before the helper would come by itself, however busy the machine is. */
	static char text[2000] = "burst";
	epp_arg large = { .key = name, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) };
	epp_session *session = recording_start(NULL);
	events(session, 1);
	uint64_t before = helper_wakes();
	/* It may be up just when the burst comes, but not each time. */
	for (unsigned burst = 0; burst < 20 && helper_wakes() == before; burst++) {
		/* By then it sleeps for a tenth of a second at a time. */
		recording_sleep_ms(300);
		before = helper_wakes();
		for (unsigned i = 0; i < 600; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), &large, 1);
	}
	ck_assert_uint_gt(helper_wakes(), before);
	trace_scan_free(recording_finish(session));
}
END_TEST

/* "sched_attr" up to the runtime, which is the slice. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

static struct attributes attributes_of(pid_t thread)
{
	struct attributes attributes = { .size = 0 };
	ck_assert_int_eq(syscall(SYS_sched_getattr, thread, &attributes, sizeof(attributes), 0), 0);
	return attributes;
}

/* The helper, by its name; 0: it is not there. */
static pid_t helper_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	pid_t found = 0;
	for (struct dirent *entry; (entry = readdir(tasks)) && !found;) {
		char path[300], text[32] = "";
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		FILE *file = fopen(path, "r");
		if (file && fgets(text, sizeof(text), file) && !strcmp(text, "epprof\n"))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return found;
}

static bool may_be_faster(void)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(setpriority(PRIO_PROCESS, 0, -10) ? 1 : 0);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *its_attributes(void *to)
{
	*(struct attributes *)to = attributes_of(0);
	return NULL;
}

START_TEST(the_helper_is_let_run_soon)
{
	struct attributes ours = attributes_of(0), helpers = ours, apart;
	epp_session *session = recording_start(NULL);
	/* It says so first of all. */
	for (int i = 0; i < 5000 && !(helpers.flags & 1); i++) {
		pid_t helper = helper_thread();
		if (helper)
			helpers = attributes_of(helper);
		recording_sleep_ms(1);
	}
	ck_assert_uint_eq(helpers.policy, ours.policy);
	ck_assert_uint_eq(helpers.flags & 1, 1);
	/* A kernel that knows of slices tells ours. */
	if (ours.slice_ns)
		ck_assert_uint_lt(helpers.slice_ns, ours.slice_ns);
	ck_assert_int_eq(helpers.nice, ours.nice == 0 && may_be_faster() ? -10 : ours.nice);
	/* Other threads are what they were. */
	recording_on_thread(its_attributes, &apart);
	ck_assert_int_eq(apart.nice, ours.nice);
	ck_assert_uint_eq(apart.slice_ns, ours.slice_ns);
	trace_scan_free(recording_finish(session));
}
END_TEST

static Suite *drain_suite(void)
{
	Suite *suite = suite_create("drain");
	TCase *tcase = tcase_create("drain");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_full_region_becomes_a_block);
	tcase_add_test(tcase, full_chunks_become_blocks_with_few_writes);
	tcase_add_test(tcase, a_slot_is_given_back);
	tcase_add_test(tcase, what_fails_is_tried_again);
	tcase_add_test(tcase, what_fails_to_the_end_stays_in_the_window);
	tcase_add_test(tcase, what_fails_for_too_long_is_lost);
	tcase_add_test(tcase, a_burst_wakes_the_helper);
	tcase_add_test(tcase, the_helper_is_let_run_soon);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(drain_suite)
