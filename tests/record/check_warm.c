/* What a recording thread asks of the system once it and the window are warm: nothing but to wake the helper, once a
 * burst.  No memory, and no lock.
 * The thread records under a filter of the kernel's that kills the process at any other call, and what this program
 * calls of malloc and pthread_mutex_lock goes through counters of its own. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "epprof/ep.h"
#include "epprof/epprof.h"
#include "tests/support/recording.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { WARM_EVENTS = 20000, EVENTS = 400000 };

static __thread bool quiet; /* on the thread, while it must ask for nothing */
static uint32_t allocations, locks;
static uint32_t is_done;
static epp_session *session;
static epp_name names[4];

#if !SANITIZED
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

void *malloc(size_t bytes)
{
	ADD_RELAXED(&allocations, quiet);
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	ADD_RELAXED(&allocations, quiet);
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	ADD_RELAXED(&allocations, quiet);
	return __libc_realloc(old, bytes);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*own)(pthread_mutex_t * mutex);
	if (!own)
		*(void **)&own = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	ADD_RELAXED(&locks, quiet);
	return own(mutex);
}
#endif

/* From here on this thread may wake others. */
static bool forbid_calls(void)
{
#define ALLOW_IF(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW_IF(SYS_futex),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void record(unsigned count)
{
	const epp_arg args[] = {
		{ .key = names[2], .type = EPP_ARG_I64, .value.i64 = 7 },
		{ .key = names[3], .type = EPP_ARG_TEXT, .value.text = "sixteen bytes it", .text_bytes = 16 },
	};
	for (unsigned i = 0; i < count; i += 8) {
		uint64_t outer = epp_event_begin(session, EPP_SESSION, names[0]);
		uint64_t inner = epp_event_begin(session, EPP_NODE, names[1]);
		epp_event_end(session, inner, args, 2);
		epp_event_end_named(session, epp_event_begin(session, EPP_NODE, 0), EPP_NODE, names[1], NULL, 0);
		epp_event_begin(session, EPP_API, names[1]); /* closed by the end of what is around it */
		epp_instant_record(session, EPP_NODE, names[0], args, 1);
		epp_counter_record_i64(session, names[1], i);
		epp_flow_record(session, outer, inner);
		epp_async_end(session, epp_async_begin(session, EPP_NODE, names[0]), NULL, 0);
		epp_event_end(session, outer, NULL, 0);
	}
}

static void *be_quiet(void *misbehaves)
{
	record(WARM_EVENTS);
	if (!forbid_calls())
		_exit(77);
	quiet = true;
	record(EVENTS);
	if (misbehaves)
		(void)getppid();
	quiet = false;
	STORE_RELEASE(&is_done, 1);
	for (;;) /* it may not even end */
		;
	return NULL;
}

static uint64_t now(void *unused)
{
	(void)unused;
	return clock_ticks();
}

/* In a process of its own: what is forbidden there stays so.  Returns its wait status. */
static int in_child(const char *path, bool with_profiler, bool misbehaves)
{
	pid_t child = fork();
	if (child == 0) {
		epp_ep_profiler *profiler;
		pthread_t thread;
		epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
		for (int i = 0; i < 4; i++)
			names[i] = epp_name_intern((char[]){ 'n', (char)('0' + i), 0 });
		if (epp_session_create(&options, &session))
			_exit(1);
		if (with_profiler) {
			const epp_ep_options ep = { .struct_size = sizeof(ep),
				                    .ort_api_base = epp_ort_api_base(),
				                    .ep_name = "Warm",
				                    .now_ticks = now,
				                    .ticks_per_second = 1000000000 };
			if (epp_ep_profiler_create(&ep, &profiler) || epp_session_attach(session, &profiler->impl, "Warm"))
				_exit(2);
		}
		if (epp_session_start(session))
			_exit(3);
		recording_await_window(session);
		if (pthread_create(&thread, NULL, be_quiet, misbehaves ? &session : NULL))
			_exit(3);
		while (!LOAD_ACQUIRE(&is_done))
			recording_sleep_ms(1);
		if (epp_session_end(session) || epp_session_wait(session, 20000000000u))
			_exit(4);
		_exit(allocations ? 5 : locks ? 6 : 0);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

static bool is_forbidden(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void expect_quiet(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("SKIP: calls cannot be forbidden here\n");
		return;
	}
	ck_assert_msg(!is_forbidden(status), "it made a system call");
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x%s", status,
	              WEXITSTATUS(status) == 5   ? ": it asked for memory"
	              : WEXITSTATUS(status) == 6 ? ": it took a lock"
	                                         : "");
}

START_TEST(into_a_file)
{
	expect_quiet(in_child(check_path("warm.epp"), false, false));
}
END_TEST

START_TEST(in_memory)
{
	expect_quiet(in_child(NULL, false, false));
}
END_TEST

/* The kit's, whose StartEvent and StopEvent are called. */
START_TEST(under_a_profiler)
{
	expect_quiet(in_child(check_path("profiled.epp"), true, false));
}
END_TEST

/* The test would see it. */
START_TEST(a_call_is_seen)
{
	int status = in_child(NULL, false, true);
	ck_assert(is_forbidden(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 77));
}
END_TEST

static Suite *warm_suite(void)
{
	Suite *suite = suite_create("warm");
	TCase *tests = tcase_create("warm");
	if (SANITIZED)
		CHECK_SKIP("sanitizers make calls of their own");
	if (!clock_is_fast())
		CHECK_SKIP("the clock is not read without the kernel here");
	tcase_add_test(tests, into_a_file);
	tcase_add_test(tests, in_memory);
	tcase_add_test(tests, under_a_profiler);
	tcase_add_test(tests, a_call_is_seen);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(warm_suite)
