/* The host's operations of a framework's finished profile, given to a bridge as Python gives them: whose threads they
 * are, what was launched in them, and what is left if they cannot be read or do not come.  Covers
 * bridges/shared/xspace_host_events.c; tests/interop has the frameworks. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "epprof/abi/tf.h"
#include "tests/support/merging.h"
#include "tests/support/xplane_builder.h"

#define SAMPLE CHECK_BUILD "/libsample_pu1_ep.so"

enum { RECORDED, NOT_WANTED, FAILED };

static struct {
	TP_ProfilerFns profiler;
	void (*expect)(void);
	void (*thread)(uint64_t, uint32_t);
	int (*profile)(const void *, size_t, char *, size_t);
	int (*work)(int);
} bridge = { .profiler = { .struct_size = TP_PROFILER_FNS_STRUCT_SIZE } };

static char told[512];

static void find(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
	ck_assert_msg(*(void **)function != NULL, "%s", name);
}

static void load(void)
{
	static TP_Profiler profiler = { .struct_size = TP_PROFILER_STRUCT_SIZE };
	TF_ProfilerRegistrationParams params = { .struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		                                 .profiler = &profiler,
		                                 .profiler_fns = &bridge.profiler };
	void (*init)(TF_ProfilerRegistrationParams *, TF_Status *);
	void *library = dlopen(CHECK_BUILD "/libepprof_tf.so", RTLD_NOW | RTLD_LOCAL);

	find(library, "TF_InitProfiler", &init);
	find(library, "epprof_host_expect", &bridge.expect);
	find(library, "epprof_host_thread", &bridge.thread);
	find(library, "epprof_host_profile", &bridge.profile);
	find(dlopen(SAMPLE, RTLD_NOW), "epp_sample_work", &bridge.work);
	init(&params, NULL);
}

static int64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the framework's profile ---- */

/* A line's id as frameworks have it: libstdc++'s hash of the thread. */
static uint64_t line_id(pthread_t thread)
{
	const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
	uint64_t hash = UINT64_C(0xc70f6907) ^ 8 * factor, bytes = (uint64_t)thread * factor;
	bytes = (bytes ^ bytes >> 47) * factor;
	hash = (hash ^ bytes) * factor;
	hash = (hash ^ hash >> 47) * factor;
	return hash ^ hash >> 47;
}

struct thread_profile {
	pthread_t thread;
	struct xbytes line;
	int64_t start_ns;
};

static struct thread_profile begin(int64_t session_ns, pthread_t thread, const char *name)
{
	struct thread_profile made = { .thread = thread, .start_ns = session_ns };
	xnumber(&made.line, 1, line_id(thread));
	xtext(&made.line, 2, name);
	xnumber(&made.line, 3, 0);
	return made;
}

static void add(struct thread_profile *to, int64_t name, int64_t from_ns, int64_t until_ns)
{
	struct xbytes event = { 0 };
	xevent(&event, name, (from_ns - to->start_ns) * 1000, (until_ns - from_ns) * 1000);
	xput(&to->line, 4, &event);
}

static void put_entry(struct xbytes *plane, unsigned table, int64_t number, const char *name)
{
	struct xbytes entry = { 0 }, value = { 0 };
	xnumber(&value, 1, (uint64_t)number);
	xtext(&value, 2, name);
	xnumber(&entry, 1, (uint64_t)number);
	xput(&entry, 2, &value);
	xput(plane, table, &entry);
}

enum { STEP = 1, OPERATION = 2, EMPTY = 3, START_TIME = 1 };

/* Takes the lines. */
static struct xbytes finish(int64_t session_ns, struct thread_profile *threads, size_t count)
{
	struct xbytes space = { 0 }, host = { 0 }, about = { 0 };
	xtext(&host, 2, "/host:CPU");
	for (size_t i = 0; i < count; i++)
		xput(&host, 3, &threads[i].line);
	put_entry(&host, 4, STEP, "step");
	put_entry(&host, 4, OPERATION, "operation");
	put_entry(&host, 4, EMPTY, "empty");
	xput(&space, 1, &host);
	xtext(&about, 2, "Task Environment");
	put_entry(&about, 5, START_TIME, "profile_start_time");
	if (session_ns)
		xstat_number(&about, 6, START_TIME, 4, (uint64_t)session_ns);
	xput(&space, 1, &about);
	return space;
}

static int give(struct xbytes *space)
{
	int result = bridge.profile(space->bytes, space->count, told, sizeof(told));
	free(space->bytes);
	return result;
}

/* ---- a session ---- */

static void collect(void)
{
	size_t bytes = 0;
	bridge.profiler.collect_data_xspace(NULL, NULL, &bytes, NULL);
	uint8_t *buffer = malloc(bytes + 1);
	bridge.profiler.collect_data_xspace(NULL, buffer, &bytes, NULL);
	ck_assert_uint_gt(bytes, 0);
	free(buffer);
}

#define STEPS 20

static void run_steps(struct thread_profile *to)
{
	for (int i = 0; i < STEPS; i++) {
		int64_t step_ns = unix_ns();
		add(to, EMPTY, step_ns, unix_ns());
		int64_t operation_ns = unix_ns();
		ck_assert_int_eq(bridge.work(3), 0);
		int64_t end_ns = unix_ns();
		add(to, STEP, step_ns, end_ns + 1000);
		add(to, OPERATION, operation_ns, end_ns);
	}
}

/* A thread of the session; one that stays is there until the profile was given. */
struct worker {
	pthread_t thread;
	uint32_t number;
	pthread_barrier_t *until;
	int64_t session_ns;
	struct thread_profile profile;
};

static void *run_thread(void *of)
{
	struct worker *worker = of;
	worker->number = (uint32_t)syscall(SYS_gettid);
	worker->profile = begin(worker->session_ns, pthread_self(), worker->until ? "worker" : "gone");
	run_steps(&worker->profile);
	if (worker->until) {
		pthread_barrier_wait(worker->until);
		pthread_barrier_wait(worker->until);
	}
	return NULL;
}

static struct {
	pthread_barrier_t barrier;
	struct worker staying, gone;
} session;

/* What a framework records: the main thread, one that stays, and one that is gone. */
static struct xbytes run_session(void)
{
	int64_t session_ns = unix_ns();
	bridge.profiler.start(NULL, NULL);
	struct thread_profile main_profile = begin(session_ns, pthread_self(), "main");
	pthread_barrier_init(&session.barrier, NULL, 2);
	session.gone = (struct worker){ .session_ns = session_ns };
	session.staying = (struct worker){ .until = &session.barrier, .session_ns = session_ns };
	ck_assert_int_eq(pthread_create(&session.gone.thread, NULL, run_thread, &session.gone), 0);
	pthread_join(session.gone.thread, NULL);
	ck_assert_int_eq(pthread_create(&session.staying.thread, NULL, run_thread, &session.staying), 0);
	run_steps(&main_profile);
	pthread_barrier_wait(&session.barrier);
	bridge.profiler.stop(NULL, NULL);
	collect();
	struct thread_profile threads[] = { main_profile, session.staying.profile, session.gone.profile };
	return finish(session_ns, threads, 3);
}

static void end_session(void)
{
	pthread_barrier_wait(&session.barrier);
	pthread_join(session.staying.thread, NULL);
	pthread_barrier_destroy(&session.barrier);
}

static const char *plugin = SAMPLE;

/* Runs `child` in a process of its own, whose exit finishes what it recorded.  Returns the trace. */
static epp_trace *in_process(const char *name, void (*child)(void))
{
	int result;
	const char *output = check_path("%s", name);
	pid_t pid = fork();
	if (!pid) {
		setenv("EPPROF_OUTPUT", output, 1);
		setenv("EPPROF_PROFILERS", plugin, 1);
		load();
		child();
		exit(0);
	}
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
	return open_valid(output);
}

/* ---- what is in the trace ---- */

#define KERNELS_OF_WORK 3

struct found {
	unsigned operations, nested, steps, empties, kernels, below_operation, below_call, alone;
};

static const epp_event *by_id(const struct merged_events *events, uint64_t id)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].event.id == id)
			return &events->list[i].event;
	return NULL;
}

/* Of the run, or of all (0). */
static struct found look_at(epp_trace *trace, uint32_t run)
{
	struct merged_events events = merged_events(trace);
	struct found found = { 0 };

	for (size_t i = 0; i < events.count; i++) {
		const epp_event *event = &events.list[i].event;
		if (run && event->run != run)
			continue;
		found.operations += !strcmp(event->name, "operation");
		found.empties += !strcmp(event->name, "empty");
		found.steps += !strcmp(event->name, "step");
		const epp_event *parent = by_id(&events, event->parent);
		found.nested += !strcmp(event->name, "operation") && parent && !strcmp(parent->name, "step");
		if (strcmp(event->name, "relu") != 0)
			continue;
		found.kernels++;
		if (!parent) {
			found.alone++;
			continue;
		}
		found.below_operation += !strcmp(parent->name, "operation");
		found.below_call += parent->track->kind == EPP_TRACK_CALLS;
		if (parent->track->kind != EPP_TRACK_CALLS)
			ck_assert_uint_ne(parent->track->thread_id, 0);
	}
	free(events.list);
	return found;
}

/* Whether the bridge gets the number of the thread that is gone; without it, what the thread launched is below calls. */
static bool is_noted;

static void expect_whole(const struct found *found, unsigned sessions)
{
	ck_assert_uint_eq(found->operations, 3 * STEPS * sessions);
	ck_assert_uint_eq(found->nested, found->operations);
	ck_assert_uint_eq(found->steps, 3 * STEPS * sessions);
	ck_assert_uint_eq(found->empties, 3 * STEPS * sessions);
	ck_assert_uint_eq(found->kernels, 3 * STEPS * KERNELS_OF_WORK * sessions);
	ck_assert_uint_eq(found->below_operation, (is_noted ? 3 : 2) * STEPS * KERNELS_OF_WORK * sessions);
	ck_assert_uint_eq(found->below_call, (is_noted ? 0 : 1) * STEPS * KERNELS_OF_WORK * sessions);
}

/* ---- tests ---- */

static void two_sessions(void)
{
	bridge.expect();
	for (int i = 0; i < 2; i++) {
		struct xbytes space = run_session();
		if (is_noted)
			bridge.thread((uint64_t)session.gone.thread, session.gone.number);
		int result = give(&space);
		end_session();
		ck_assert_msg(result == RECORDED, "%s", told);
		ck_assert_msg(strstr(told, "180 operations of the host, 0 lost") != NULL, "%s", told);
	}
}

START_TEST(each_session_has_its_operations)
{
	is_noted = _i;
	epp_trace *trace = in_process("two.epp", two_sessions);
	struct found all = look_at(trace, 0), first = look_at(trace, 1), second = look_at(trace, 2);

	expect_whole(&all, 2);
	expect_whole(&first, 1);
	expect_whole(&second, 1);
	epp_trace_close(trace);
}
END_TEST

static void without_a_hook(void)
{
	struct xbytes space = run_session();
	end_session();
	ck_assert_int_eq(give(&space), NOT_WANTED);
}

static void with_a_hook_that_stays_away(void)
{
	bridge.expect();
	struct xbytes space = run_session();
	end_session();
	free(space.bytes);
}

static void with_a_hook_that_has_nothing(void)
{
	bridge.expect();
	struct xbytes space = run_session();
	end_session();
	free(space.bytes);
	ck_assert_int_eq(bridge.profile(NULL, 0, told, sizeof(told)), RECORDED);
	ck_assert_int_eq(bridge.profile(NULL, 0, told, sizeof(told)), NOT_WANTED);
}

static void with_garbage(void)
{
	static const char garbage[] = "\x0a\xff\xff\xff\xff\x0fno XSpace";
	bridge.expect();
	struct xbytes space = run_session();
	end_session();
	free(space.bytes);
	ck_assert_int_eq(bridge.profile(garbage, sizeof(garbage), told, sizeof(told)), FAILED);
	ck_assert_str_ne(told, "");
}

static void with_a_profile_of_no_time(void)
{
	bridge.expect();
	struct xbytes space = run_session(), timeless = finish(0, NULL, 0);
	end_session();
	free(space.bytes);
	ck_assert_int_eq(give(&timeless), FAILED);
	ck_assert_msg(strstr(told, "its start time is missing") != NULL, "%s", told);
}

START_TEST(what_plugins_reported_does_not_depend_on_them)
{
	static void (*const ways[])(void) = { without_a_hook, with_a_hook_that_stays_away, with_a_hook_that_has_nothing,
		                              with_garbage, with_a_profile_of_no_time };
	epp_trace *trace = in_process("none.epp", ways[_i]);
	struct found found = look_at(trace, 0);

	ck_assert_uint_eq(found.operations, 0);
	ck_assert_uint_eq(found.kernels, 3 * STEPS * KERNELS_OF_WORK);
	epp_trace_close(trace);
}
END_TEST

static void session_of_calls(void)
{
	char id[32];
	int64_t session_ns = unix_ns();
	snprintf(id, sizeof(id), "%d", getpid());
	setenv("TF_CALLS_LINE", id, 1);
	bridge.expect();
	bridge.profiler.start(NULL, NULL);
	bridge.profiler.stop(NULL, NULL);
	struct thread_profile threads[] = { begin(session_ns, pthread_self(), "main") };
	int64_t end_ns = unix_ns();
	add(&threads[0], STEP, session_ns, end_ns);
	add(&threads[0], OPERATION, session_ns + 1, end_ns);
	collect();
	struct xbytes space = finish(session_ns, threads, 1);
	int result = give(&space);
	ck_assert_msg(result == RECORDED, "%s", told);
}

START_TEST(calls_of_an_xspace_are_joined)
{
	plugin = CHECK_BUILD "/tests/plugins/tf_calls.so";
	epp_trace *trace = in_process("calls.epp", session_of_calls);
	struct merged_events events = merged_events(trace);
	unsigned calls = 0, kernels = 0;

	for (size_t i = 0; i < events.count; i++) {
		const epp_event *event = &events.list[i].event, *parent = by_id(&events, event->parent);
		if (!strcmp(event->name, "launch")) {
			ck_assert_str_eq(parent->name, "operation");
			calls++;
		} else if (event->track->kind == EPP_TRACK_DEVICE && strcmp(event->name, "nobody's") != 0) {
			ck_assert_str_eq(parent->name, "launch");
			kernels++;
		}
	}
	ck_assert_uint_eq(calls, 2);
	ck_assert_uint_eq(kernels, 3);
	free(events.list);
	epp_trace_close(trace);
}
END_TEST

static void damaged(void)
{
	bridge.expect();
	for (int i = 0; i < 40; i++) {
		struct xbytes space = run_session();
		unsigned random = (unsigned)i * 2654435761u;
		space.bytes[random % space.count] ^= (char)(1 << i % 8);
		if (i % 3 == 0)
			space.count = random % space.count;
		give(&space);
		end_session();
	}
}

START_TEST(a_damaged_profile_costs_operations_at_most)
{
	epp_trace *trace = in_process("damaged.epp", damaged);
	struct found found = look_at(trace, 0);

	ck_assert_uint_eq(found.kernels, 40 * 3 * STEPS * KERNELS_OF_WORK);
	ck_assert_uint_gt(found.operations, 0);
	epp_trace_close(trace);
}
END_TEST

static Suite *host_operations_suite(void)
{
	Suite *suite = suite_create("host_operations");
	TCase *cases = tcase_create("host_operations");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, each_session_has_its_operations, 0, 2);
	tcase_add_loop_test(cases, what_plugins_reported_does_not_depend_on_them, 0, 5);
	tcase_add_test(cases, calls_of_an_xspace_are_joined);
	tcase_add_test(cases, a_damaged_profile_costs_operations_at_most);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(host_operations_suite)
