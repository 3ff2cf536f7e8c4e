/* Disks and directories that fail: full, full and emptied again, too small, beyond a quota, read-only, of another user,
 * and a file that is removed while it is written.  Nothing blocks, nothing dies, what is lost is counted, and the rest
 * can be read.
 *
 * Small disks are tmpfs, in namespaces of the test's own where it is not root; where neither can be had, the reason is
 * printed and the tests that need none are run.  A quota is played by the kernel's filter of system calls.  A disk that
 * copies what is stored into again is a btrfs, which takes root to mount. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/drain.h"
#include "storage/window/chunk_pool.h"
#include "tests/support/emulated.h"
#include "tests/support/recording.h"

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("disk");
}

static void map_id(const char *file, unsigned id)
{
	int fd = open(file, O_WRONLY);
	dprintf(fd, "0 %u 1", id);
	close(fd);
}

/* In namespaces of its own a process is root, as which it may mount. */
static bool become_root(void)
{
	unsigned user = getuid(), group = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	int fd = open("/proc/self/setgroups", O_WRONLY);
	dprintf(fd, "deny");
	close(fd);
	map_id("/proc/self/uid_map", user);
	map_id("/proc/self/gid_map", group);
	return true;
}

/* Mounts a tmpfs of so many MiB at `path`, which is made.  In a process of its own, as Check gives each test. */
static bool mount_disk(const char *path, unsigned mib)
{
	char options[32];
	snprintf(options, sizeof(options), "size=%um", mib);
	mkdir(path, 0777);
	if (mount("none", path, "tmpfs", 0, options) == 0)
		return true;
	return become_root() && mount("none", path, "tmpfs", 0, options) == 0;
}

static bool has_failed(struct storage *storage)
{
	pthread_mutex_lock(&storage->error.lock);
	bool failed = storage->error.first != NULL;
	pthread_mutex_unlock(&storage->error.lock);
	return failed;
}

/* A file of so many MiB beside the trace. */
static void put_ballast(const char *path, unsigned mib)
{
	static const char text[4096] = "ballast";
	FILE *file = fopen(path, "w");
	for (unsigned i = 0; i < mib << 8; i++)
		fwrite(text, 1, sizeof(text), file);
	fclose(file);
}

/* Records so many bytes, and more until events are lost because the disk is full: before the helper thread finds it full,
 * events may be lost for lack of a free buffer. */
static uint64_t fill_until_disk_loss(epp_session *session, size_t bytes)
{
	uint64_t events = recording_fill(session, name, bytes);
	for (int i = 0; i < 2000 && epp_session_lost(session, EPP_LOSS_DISK) == 0; i++) {
		recording_sleep_ms(5);
		events += recording_fill(session, name, 1 << 20);
	}
	return events;
}

START_TEST(a_full_disk_that_is_emptied)
{
	char *disk = strdup(check_path("disk")), path[512], ballast[512];
	ck_assert(mount_disk(disk, 30));
	snprintf(path, sizeof(path), "%s/full.epp", disk);
	snprintf(ballast, sizeof(ballast), "%s/ballast", disk);
	epp_session *session = recording_start(path);
	put_ballast(ballast, 5);
	uint64_t events = recording_fill(session, name, 6 << 20);
	/* The helper has met the end of the disk. */
	for (int i = 0; i < 5000 && !has_failed(recording_storage(session)); i++)
		recording_sleep_ms(1);
	/* Nothing is lost while there are chunks to spare, and the disk may be emptied. */
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_DISK), 0);
	unlink(ballast);
	events += recording_fill(session, name, 1 << 20);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	umount2(disk, MNT_DETACH);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan_ids_taken(scan), events);
	ck_assert_uint_eq(scan->records_count, events);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	trace_scan_free(scan);
	free(disk);
}
END_TEST

/* It stays full: what was written is there, what the window can hold too, and the rest is counted; by the threads that
 * record where the session is lossless (_i). */
START_TEST(a_disk_that_stays_full)
{
	char *disk = strdup(check_path("full")), path[512];
	ck_assert(mount_disk(disk, 26));
	snprintf(path, sizeof(path), "%s/full.epp", disk);
	epp_session *session = recording_start_as(path, _i);
	uint64_t events = fill_until_disk_loss(session, 60 << 20);
	uint64_t open_id = epp_event_begin(session, EPP_NODE, name);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	uint64_t lost = epp_session_lost(session, EPP_LOSS_DISK);
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	umount2(disk, MNT_DETACH);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_gt(lost, 0);
	ck_assert(!_i || !scan_lost(scan, EPP_LOSS_NO_BUFFER));
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), lost);
	ck_assert_uint_eq(scan_ids_taken(scan), events + 1);
	ck_assert_uint_eq(scan->records_count + scan->open_count + lost + scan_lost(scan, EPP_LOSS_NO_BUFFER), events + 1);
	ck_assert(scan->open_count == 0 || scan->open[0].id == open_id);
	for (size_t i = 0; i < scan->records_count; i++)
		ck_assert(scan_name_is(scan, scan->records[i].name, "disk"));
	trace_scan_free(scan);
	free(disk);
}
END_TEST

/* ---- a quota ---- */

/* From now on this thread, and those that it starts, may write no file beyond `bytes`, below 4 GiB, and get none
 * longer. */
static void set_quota(uint32_t bytes)
{
#define WORD(of, n) (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (of) + 4 * (n))
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_pwrite64, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_fallocate, 0, 5),
		/* A hole may be punched. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(1, 0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, 0, 0, 3),
		/* The offset of one, the length of the other. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(3, 0)),
		BPF_JUMP(BPF_JMP | BPF_JGT, bytes, 0, 1),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EDQUOT),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
	};
#undef WORD
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* In a process of its own: a quota stays for good. */
static void record_under_quota(const char *path, uint32_t quota_bytes, int to)
{
	uint64_t told[2];
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	set_quota(quota_bytes);
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	/* More than the window can grow to. */
	told[0] = fill_until_disk_loss(session, 80 << 20);
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	told[1] = epp_session_lost(session, EPP_LOSS_DISK);
	epp_session_destroy(session);
	bool says = epp_status_code(status) == EPP_IO && strstr(epp_status_message(status), strerror(EDQUOT));
	_exit(says && write(to, told, sizeof(told)) == sizeof(told) ? 0 : 1);
}

START_TEST(a_quota)
{
	char *path = strdup(check_path("quota.epp"));
	int ends[2], status;
	uint64_t told[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0)
		record_under_quota(path, EPF_SEGMENTS_OFFSET + (3 << 20), ends[1]);
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	ck_assert_int_eq(read(ends[0], told, sizeof(told)), sizeof(told));
	struct trace_scan *scan = trace_scan_file(path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_gt(told[1], 0);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_DISK), told[1]);
	ck_assert_uint_eq(scan_ids_taken(scan), told[0]);
	ck_assert_uint_gt(scan->records_count, 700);
	ck_assert_uint_eq(scan->records_count + told[1] + scan_lost(scan, EPP_LOSS_NO_BUFFER), told[0]);
	trace_scan_free(scan);
	free(path);
}
END_TEST

START_TEST(a_quota_too_small_for_a_window)
{
	epp_session *session;
	int status;
	pid_t child = fork();
	if (child == 0) {
		epp_session_options options = { .struct_size = sizeof(options), .path = check_path("small.epp") };
		set_quota(1 << 20);
		epp_status *refused = epp_session_create(&options, &session);
		_exit(epp_status_code(refused) == EPP_IO && !session && access(options.path, F_OK) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}
END_TEST

/* ---- a disk that takes room for what is stored again ---- */

/* Mounts an empty one at `path`, which is made. */
static bool mount_btrfs(const char *path)
{
	char make[3000];
	mkdir(path, 0777);
	snprintf(make, sizeof(make),
	         "{ truncate -s 160M %s.img && mkfs.btrfs -q %s.img && mount -o loop %s.img %s; } >/dev/null 2>&1",
	         path, path, path, path);
	return system(make) == 0;
}

/* The same below an overlay, as containers have it: what is written at `path` lies there. */
static bool mount_overlay_of_btrfs(const char *path)
{
	char below[600], make[3600];
	snprintf(below, sizeof(below), "%s.below", path);
	snprintf(make, sizeof(make),
	         "{ mkdir -p %s %s.lower %s/upper %s/work && mount -t overlay overlay -o "
	         "lowerdir=%s.lower,upperdir=%s/upper,workdir=%s/work %s; } >/dev/null 2>&1",
	         path, path, below, below, path, below, below, path);
	return mount_btrfs(below) && system(make) == 0;
}

static bool unmount(const char *path)
{
	char below[600];
	snprintf(below, sizeof(below), "%s.below", path);
	bool done = umount2(path, MNT_DETACH) == 0;
	return umount2(below, MNT_DETACH) == 0 || done;
}

/* Leaves about so many MiB of it. */
static void fill_disk(const char *path, unsigned mib)
{
	char ballast[512];
	struct statvfs left;
	snprintf(ballast, sizeof(ballast), "%s/ballast", path);
	ck_assert_int_eq(statvfs(path, &left), 0);
	put_ballast(ballast, (unsigned)(left.f_bavail * left.f_frsize >> 20) - mib);
	sync();
}

/* A window in the file would be a bus error here. */
START_TEST(a_full_disk_that_copies)
{
	char *disk = strdup(check_path("copies")), path[512], window[512] = "";
	uint64_t emitted = 0, written = 0, lost = 0;
	bool balanced = true;
	epp_trace *trace;
	ck_assert(_i ? mount_overlay_of_btrfs(disk) : mount_btrfs(disk));
	fill_disk(disk, 24);
	snprintf(path, sizeof(path), "%s/full.epp", disk);
	epp_session *session = recording_start(path);
	if (recording_storage(session)->window.external_path)
		snprintf(window, sizeof(window), "%s", recording_storage(session)->window.external_path);
	uint64_t events = fill_until_disk_loss(session, 120 << 20);
	check_ok(epp_session_end(session));
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		balanced &= line.balanced;
		emitted += line.emitted;
		written += line.written;
		lost += line.lost[EPP_LOSS_DISK];
	}
	epp_trace_close(trace);
	bool kept = access(window, F_OK) == 0;
	/* Nobody finds it again once the trace is another one. */
	unlink(check_path("copies/ballast"));
	trace_scan_free(recording_finish_file(recording_start(path), path));
	bool left = access(window, F_OK) == 0;
	unmount(disk);
	ck_assert(balanced && kept && !left);
	ck_assert_uint_eq(emitted, events);
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_gt(written, 1000);
	free(disk);
}
END_TEST

/* Holds the helper up until the window is to grow, and says how many chunks it then has. */
static uint64_t come_late(epp_session *session, uint32_t *chunks)
{
	struct storage *inside = recording_storage(session);
	uint64_t events = 0;
	pthread_mutex_lock(&inside->drain_lock);
	for (; LOAD_RELAXED(&inside->chunks.free) > WINDOW_FIRST_CHUNKS / 2; events++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	ck_assert(!chunks_grow_if_short(&inside->chunks, inside->writer.error != 0));
	drain_visit(inside);
	chunks_grow_if_short(&inside->chunks, inside->writer.error != 0);
	*chunks = inside->window.chunks_count;
	pthread_mutex_unlock(&inside->drain_lock);
	return events;
}

/* What a disk has left is for what is recorded. */
START_TEST(a_disk_with_little_room_lets_no_window_grow)
{
	static const uint32_t disks[][2] = { { 250, WINDOW_FIRST_CHUNKS },
		                             { 400, WINDOW_FIRST_CHUNKS + WINDOW_STEP_CHUNKS } };
	char *disk = strdup(check_path("little")), path[512];
	snprintf(path, sizeof(path), "%s/x.epp", disk);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(mount_disk(disk, disks[i][0]));
		epp_session *session = recording_start(path);
		uint32_t chunks;
		uint64_t events = come_late(session, &chunks);
		ck_assert_uint_eq(chunks, disks[i][1]);
		struct trace_scan *scan = recording_finish_file(session, path);
		umount2(disk, MNT_DETACH);
		ck_assert_uint_eq(scan->records_count, events);
		trace_scan_free(scan);
	}
	free(disk);
}
END_TEST

START_TEST(a_disk_too_small_for_a_window)
{
	char *disk = strdup(check_path("tiny"));
	epp_session *session;
	ck_assert(mount_disk(disk, 4));
	epp_session_options options = { .struct_size = sizeof(options), .path = check_path("tiny/x.epp") };
	epp_status *status = epp_session_create(&options, &session);
	int left = access(options.path, F_OK);
	umount2(disk, MNT_DETACH);
	ck_assert_msg(left == -1 && strstr(epp_status_message(status), "21 MiB"), "%s", epp_status_message(status));
	check_fails(EPP_IO, status);
	free(disk);
}
END_TEST

START_TEST(a_disk_that_may_not_be_written)
{
	char *disk = strdup(check_path("read_only"));
	epp_session *session;
	ck_assert(mount_disk(disk, 40));
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = check_path("read_only/x.epp"),
		                        .overwrite = 1 };
	/* Before, and while something is recorded: that file is open already, so that the disk stays as it is for
	 * it. */
	ck_assert_int_eq(mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, "size=40m"), 0);
	check_fails(EPP_IO, epp_session_create(&options, &session));
	ck_assert_ptr_null(session);
	ck_assert_int_eq(mount("none", disk, NULL, MS_REMOUNT, "size=40m"), 0);
	session = recording_start(options.path);
	ck_assert_int_eq(mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, "size=40m"), -1);
	ck_assert_int_eq(errno, EBUSY);
	uint64_t events = recording_fill(session, name, 1 << 20);
	struct trace_scan *scan = recording_finish_file(session, options.path);
	ck_assert_uint_eq(scan->records_count, events);
	trace_scan_free(scan);
	umount2(disk, MNT_DETACH);
	free(disk);
}
END_TEST

/* The file of the block writer is replaced by one that cannot be written. */
static int break_writer(struct storage *storage, int fd)
{
	pthread_mutex_lock(&storage->drain_lock);
	int before = storage->writer.fd;
	storage->writer.fd = fd;
	pthread_mutex_unlock(&storage->drain_lock);
	return before;
}

/* True if blocks of a chunk are in the file. */
static bool has_written(struct storage *storage)
{
	pthread_mutex_lock(&storage->drain_lock);
	bool has = storage->chunks.used > 0;
	pthread_mutex_unlock(&storage->drain_lock);
	return has;
}

static void end_run(epp_session *session)
{
	check_ok(epp_session_end(session));
	epp_status_destroy(epp_session_wait(session, UINT64_MAX));
}

START_TEST(runs_whose_ends_cannot_be_written)
{
	char *path = check_path("ends.epp");
	epp_session *session = recording_start(path);
	int broken = open("/dev/null", O_RDONLY);
	uint64_t events = recording_fill(session, name, 4 << 20), errors;

	/* The first run has blocks in the file. */
	for (int i = 0; i < 10000 && !has_written(recording_storage(session)); i++)
		recording_sleep_ms(1);
	int fd = break_writer(recording_storage(session), broken);
	for (unsigned i = 0; i < EPF_UNWRITTEN_RUNS; i++) {
		events += recording_fill(session, name, 1000);
		end_run(session);
		if (i + 1 < EPF_UNWRITTEN_RUNS)
			check_ok(epp_session_start(session));
	}
	check_fails(EPP_IO, epp_session_start(session));
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
	ck_assert_uint_eq(errors, 0);
	ck_assert_uint_eq(epp_trace_get_info(trace)->runs_count, EPF_UNWRITTEN_RUNS);
	epp_trace_close(trace);
	break_writer(recording_storage(session), fd);
	check_ok(epp_session_start(session));
	end_run(session);
	epp_session_destroy(session);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_uint_eq(scan->runs_count, EPF_UNWRITTEN_RUNS + 1);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), events);
	trace_scan_free(scan);
	close(broken);
}
END_TEST

/* At a configured limit, runs go on to begin: nothing that will be written later is waited for. */
START_TEST(runs_beyond_the_limit)
{
	epp_session *session;
	check_ok(epp_session_create(
	    &(epp_session_options){ .struct_size = sizeof(epp_session_options), .memory_bytes = 1 << 20 }, &session));
	for (unsigned i = 0; i < 1000; i++) {
		check_ok(epp_session_start(session));
		recording_fill(session, name, 16000);
		check_ok(epp_session_end(session));
		epp_status_destroy(epp_session_wait(session, UINT64_MAX));
	}
	ck_assert_uint_gt(epp_session_lost(session, EPP_LOSS_POLICY), 0);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_file_that_is_removed)
{
	char *path = strdup(check_path("removed.epp"));
	epp_session *session = recording_start(path);
	uint64_t events = recording_fill(session, name, 4 << 20);
	ck_assert_int_eq(unlink(path), 0);
	events += recording_fill(session, name, 4 << 20);
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan->records_count, events);
	trace_scan_free(scan);
	/* Somebody else's file may stand there by now, and is left alone. */
	put_ballast(path, 1);
	epp_session_destroy(session);
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 1 << 20);
	free(path);
}
END_TEST

/* The test may be root, who may write anywhere: so as somebody who may not. */
START_TEST(a_path_of_another_user)
{
	char *directory = strdup(check_path("theirs")), path[512];
	int status;
	ck_assert_int_eq(mkdir(directory, 0755), 0);
	snprintf(path, sizeof(path), "%s/x.epp", directory);
	put_ballast(path, 1);
	ck_assert_int_eq(chmod(path, 0444), 0);
	pid_t child = fork();
	if (child == 0) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
		if (geteuid() == 0 && setuid(65534))
			_exit(1);
		epp_status *there = epp_session_create(&options, &session);
		options.path = "/proc/none/x.epp";
		epp_status *nowhere = epp_session_create(&options, &session);
		_exit(there && nowhere && epp_status_code(there) == EPP_IO && !session ? 0 : 2);
	}
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 1 << 20);
	free(directory);
}
END_TEST

static bool disks_can_be_had(void)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(mount_disk(check_path("probe"), 1) && umount2(check_path("probe"), MNT_DETACH) == 0 ? 0 : 1);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool can_be_had(bool (*mount)(const char *path), const char *path)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		bool done = mount(path);
		_exit(unmount(path) && done ? 0 : 1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Suite *disk_suite(void)
{
	Suite *suite = suite_create("disk");
	TCase *tcase = tcase_create("disk");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, NULL);
	if (disks_can_be_had()) {
		tcase_add_test(tcase, a_full_disk_that_is_emptied);
		tcase_add_loop_test(tcase, a_disk_that_stays_full, 0, 2);
		tcase_add_test(tcase, a_disk_with_little_room_lets_no_window_grow);
		tcase_add_test(tcase, a_disk_too_small_for_a_window);
		tcase_add_test(tcase, a_disk_that_may_not_be_written);
	} else {
		printf("SKIP: small disks: a tmpfs can be mounted neither here nor in a namespace of our own\n");
	}
	if (can_be_had(mount_btrfs, check_path("probe_btrfs")))
		tcase_add_loop_test(tcase, a_full_disk_that_copies, 0, 1);
	else
		printf("SKIP: a disk that copies: there is no mkfs.btrfs, or it may not be mounted\n");
	if (can_be_had(mount_overlay_of_btrfs, check_path("probe_overlay")))
		tcase_add_loop_test(tcase, a_full_disk_that_copies, 1, 2);
	else
		printf("SKIP: a disk that copies below an overlay: it may not be mounted\n");
	if (!emulated_without("no call can be made to fail as with a quota")) {
		tcase_add_test(tcase, a_quota);
		tcase_add_test(tcase, a_quota_too_small_for_a_window);
	}
	tcase_add_test(tcase, runs_whose_ends_cannot_be_written);
	tcase_add_test(tcase, runs_beyond_the_limit);
	tcase_add_test(tcase, a_file_that_is_removed);
	if (!emulated_without("there is one user"))
		tcase_add_test(tcase, a_path_of_another_user);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(disk_suite)
