/* Many sessions at once under load: 8 controllers create, start, end and destroy sessions of all kinds at random, with
 * profilers of the sample plugins of all four ABIs, while 64 threads record into them and give work to the plugins.  Each
 * thread counts the events that it began; the ledger of each trace must have exactly these.  Each trace is valid, and
 * memory and descriptors do not grow.
 *
 * SOAK_S=600 SOAK_SEED=7 build/tests/check_soak: so many seconds instead of 2, with these random numbers. */
#include <sys/syscall.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/lives.h"

#define THREADS 64
#define PLACES 8 /* sessions at once */
#define PLUGINS 4
#define NAMES 16

static const char *const plugin_kinds[PLUGINS] = { "ort", "tf", "pjrt", "pu1" };
static struct {
	epp_plugin *plugin;
	int (*work)(int count);
} plugins[PLUGINS];
static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER; /* a plugin makes one profiler at a time */
static epp_name names[NAMES];

/* A session and what was recorded into it. */
struct life {
	epp_session *session;
	uint64_t begun_count;
	unsigned inside; /* threads that may still record into it */
};

static struct place {
	struct life lives[2];
	struct life *now; /* NULL: there is no session */
	unsigned number;
	uint64_t random;
	uint64_t sessions_count, events_count, lost_count;
} places[PLACES];

static bool is_over;

/* The threads that record. */
static uint32_t thread_ids[THREADS];

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545F4914F6CDD1D) >> 32;
}

static void sleep_us(uint64_t us)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 }, NULL);
}

/* ---- threads that record ---- */

static struct life *enter(struct place *place)
{
	struct life *life = __atomic_load_n(&place->now, __ATOMIC_SEQ_CST);
	if (!life)
		return NULL;
	__atomic_fetch_add(&life->inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&place->now, __ATOMIC_SEQ_CST) == life)
		return life;
	__atomic_fetch_sub(&life->inside, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void record_some(struct life *life, uint64_t *random)
{
	static const char text[400];
	uint64_t ids[5], begun = 0;
	for (uint64_t left = next_random(random) % 200; left; left--) {
		unsigned depth = 0, most = 1 + (unsigned)(next_random(random) % 5);
		for (; depth < most; depth++) {
			ids[depth] = epp_event_begin(life->session, EPP_NODE, names[next_random(random) % NAMES]);
			begun += ids[depth] != 0;
		}
		while (depth--) {
			epp_arg arg = { .key = names[0], .type = EPP_ARG_TEXT, .value.text = text };
			arg.text_bytes = next_random(random) % sizeof text;
			epp_event_end(life->session, ids[depth], &arg, arg.text_bytes % 2);
		}
	}
	__atomic_fetch_add(&life->begun_count, begun, __ATOMIC_RELAXED);
}

struct recording_thread {
	uint64_t random;
	uint32_t *thread_id;
};

static void *record(void *argument)
{
	const struct recording_thread *thread = argument;
	uint64_t random = thread->random;
	STORE_RELAXED(thread->thread_id, (uint32_t)syscall(SYS_gettid));
	while (!LOAD_RELAXED(&is_over)) {
		struct life *life = enter(&places[next_random(&random) % PLACES]);
		if (life) {
			record_some(life, &random);
			__atomic_fetch_sub(&life->inside, 1, __ATOMIC_SEQ_CST);
		}
		sleep_us(next_random(&random) % 4000);
	}
	return NULL;
}

/* Gives work to a plugin.  Not on the threads that record: a plugin's own calls are events of its thread, too. */
static void *work(void *argument)
{
	int (*plugin_work)(int) = *(int (**)(int))argument;
	for (int count = 1; !LOAD_RELAXED(&is_over); count = count % 8 + 1) {
		plugin_work(count);
		sleep_us(2000);
	}
	return NULL;
}

/* ---- sessions ---- */

static void print_error(void *user, const epp_trace_finding *finding)
{
	(void)user;
	if (finding->severity == EPP_ERROR)
		printf("at %llu: %s\n", (unsigned long long)finding->offset, finding->text);
}

static bool is_of_recording_thread(const epp_trace *trace, uint32_t track)
{
	uint32_t thread_id = 0;
	for (size_t i = 0; i < epp_trace_get_info(trace)->tracks_count && track; i++)
		if (epp_trace_track_at(trace, i)->track == track)
			thread_id = epp_trace_track_at(trace, i)->thread_id;
	for (unsigned i = 0; i < THREADS; i++)
		if (thread_id && LOAD_RELAXED(&thread_ids[i]) == thread_id)
			return true;
	return false;
}

static void check_trace(struct place *place, const struct life *life, epp_trace *trace)
{
	epp_trace_ledger_entry entry = { .struct_size = sizeof entry };
	uint64_t errors, emitted = 0;
	check_ok(epp_trace_validate(trace, print_error, NULL, &errors));
	MUST(errors == 0);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &entry));
		MUST(entry.balanced);
		/* An end that comes after the run is counted as an event of its own. */
		if (is_of_recording_thread(trace, entry.track))
			emitted += entry.emitted - entry.lost[EPP_LOSS_AFTER_END];
		place->lost_count += entry.lost_total;
	}
	ck_assert_uint_eq(emitted, life->begun_count);
	place->events_count += emitted;
	epp_trace_close(trace);
}

static epp_session *open_session(struct place *place, const char *path)
{
	uint64_t *random = &place->random;
	uint32_t policy = path ? (uint32_t)(next_random(random) % 3) : EPP_POLICY_STREAM;
	epp_session_options options = { .struct_size = sizeof options,
		                        .path = path,
		                        .overwrite = 1,
		                        .policy = policy,
		                        .max_bytes = policy == EPP_POLICY_STREAM ? 0 : 4u << 20,
		                        .sync_ms = path && next_random(random) % 4 == 0 ? 5 : 0,
		                        .lossless = next_random(random) % 4 == 0,
		                        .buffer_bytes = next_random(random) % 2 ? 2u << 20 : 0 };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	for (unsigned i = 0; i < PLUGINS; i++) {
		OrtEpProfilerImpl *profiler;
		if (next_random(random) % 2)
			continue;
		pthread_mutex_lock(&plugins_lock);
		check_ok(epp_plugin_profiler_create(plugins[i].plugin, &profiler));
		pthread_mutex_unlock(&plugins_lock);
		check_ok(epp_session_attach(session, profiler, plugin_kinds[i]));
	}
	return session;
}

static void leave(struct place *place, const struct life *life)
{
	__atomic_store_n(&place->now, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&life->inside, __ATOMIC_SEQ_CST))
		sleep_us(100);
}

static void one_session(struct place *place)
{
	bool in_memory = next_random(&place->random) % 4 == 0;
	char *path = in_memory ? NULL : check_path("soak-%u.epp", place->number);
	struct life *life = &place->lives[place->sessions_count++ % 2];
	epp_trace *trace;
	life->session = open_session(place, path);
	life->begun_count = 0;
	__atomic_store_n(&place->now, life, __ATOMIC_SEQ_CST);
	for (uint64_t runs = 1 + next_random(&place->random) % 3; runs; runs--) {
		check_ok(epp_session_start(life->session));
		sleep_us(next_random(&place->random) % 60000);
		check_ok(epp_session_end(life->session));
		sleep_us(next_random(&place->random) % 2000);
	}
	/* A file's session may be destroyed while threads record into it. */
	if (in_memory) {
		leave(place, life);
		check_ok(epp_session_wait(life->session, UINT64_MAX));
		check_ok(epp_trace_open_session(life->session, &trace));
		check_trace(place, life, trace);
	}
	check_ok(epp_session_wait(life->session, UINT64_MAX));
	epp_session_destroy(life->session);
	if (!in_memory) {
		leave(place, life);
		check_ok(epp_trace_open(path, &trace));
		check_trace(place, life, trace);
	}
}

static void *control(void *argument)
{
	while (!LOAD_RELAXED(&is_over))
		one_session(argument);
	return NULL;
}

/* ---- the load ---- */

static void plugins_load(void)
{
	check_ok(epp_tf_shim_load(CHECK_BUILD "/libepprof_tf_shim.so"));
	for (unsigned i = 0; i < PLUGINS; i++) {
		char path[512];
		snprintf(path, sizeof path, CHECK_BUILD "/libsample_%s_ep.so", plugin_kinds[i]);
		check_ok(epp_plugin_load(path, &plugins[i].plugin));
		*(void **)&plugins[i].work = epp_plugin_symbol(plugins[i].plugin, "epp_sample_work");
		MUST(plugins[i].work);
	}
}

/* Runs all threads for a time; afterwards there is no session. */
static void load_for(unsigned ms, uint64_t *random)
{
	pthread_t threads[THREADS], controllers[PLACES], workers[PLUGINS];
	struct recording_thread recording[THREADS];
	STORE_RELAXED(&is_over, false);
	for (unsigned i = 0; i < PLACES; i++)
		MUST(pthread_create(&controllers[i], NULL, control, &places[i]) == 0);
	for (unsigned i = 0; i < THREADS; i++) {
		recording[i] = (struct recording_thread){ next_random(random) + 1, &thread_ids[i] };
		MUST(pthread_create(&threads[i], NULL, record, &recording[i]) == 0);
	}
	for (unsigned i = 0; i < PLUGINS; i++)
		MUST(pthread_create(&workers[i], NULL, work, &plugins[i].work) == 0);
	recording_sleep_ms(ms);
	STORE_RELAXED(&is_over, true);
	for (unsigned i = 0; i < PLACES; i++)
		pthread_join(controllers[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < PLUGINS; i++)
		pthread_join(workers[i], NULL);
	recording_sleep_ms(300);
}

static size_t resident_bytes(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	malloc_trim(0);
	MUST(file && fscanf(file, "%*u%zu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(many_sessions_at_once)
{
	const char *seconds = getenv("SOAK_S"), *given = getenv("SOAK_SEED");
	unsigned ms = seconds ? 1000 * (unsigned)strtoul(seconds, NULL, 10) : 2000;
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)recording_now_ns() % 1000000, random = seed + 1;
	uint64_t sessions = 0, events = 0, lost = 0;
	char text[16];

	printf("SOAK_SEED=%llu\n", (unsigned long long)seed);
	/* A plugin that is slow because the machine is busy has no fault. */
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", "600000", 1);
	plugins_load();
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(text, sizeof text, "event %u", i);
		names[i] = epp_name_intern(text);
	}
	for (unsigned i = 0; i < PLACES; i++)
		places[i] = (struct place){ .number = i, .random = next_random(&random) + 1 };
	/* Until the allocator and the plugins have most of the memory that they keep. */
	unsigned first_ms = ms / 10 < 1000 ? 1000 : ms / 10;
	load_for(first_ms, &random);
	size_t before = resident_bytes(), files = lives_count_in("/proc/self/fd"),
	       threads = lives_count_in("/proc/self/task");
	load_for(ms > first_ms ? ms - first_ms : 1000, &random);
	size_t after = resident_bytes(), grown = after > before ? after - before : 0;
	for (unsigned i = 0; i < PLACES; i++) {
		sessions += places[i].sessions_count;
		events += places[i].events_count;
		lost += places[i].lost_count;
	}
	printf("%llu sessions, %llu events, %llu lost and counted; %zu KiB resident, then %zu KiB\n",
	       (unsigned long long)sessions, (unsigned long long)events, (unsigned long long)lost, before >> 10,
	       after >> 10);
	MUST(events > 0);
	/* The allocator keeps memory for each thread; a session has a window of 7 MiB or more. */
	if (LIVES_MAY_GROW != SIZE_MAX)
		ck_assert_uint_le(grown, 64u << 20);
	ck_assert_uint_le(lives_count_in("/proc/self/fd"), files);
	ck_assert_uint_le(lives_count_in("/proc/self/task"), threads);
	for (unsigned i = 0; i < PLUGINS; i++)
		check_ok(epp_plugin_unload(plugins[i].plugin));
}
END_TEST

static Suite *soak_suite(void)
{
	Suite *suite = suite_create("soak");
	TCase *tcase = tcase_create("soak");

	tcase_set_timeout(tcase, 3600);
	tcase_add_test(tcase, many_sessions_at_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(soak_suite)
