/* What was recorded survives a kill: a child records with two threads at full speed and notes in shared memory what it
 * begins and ends, before and after each call; it is killed at some instant, and its file is held against the notes.
 * Every end that returned is there once, nothing is there twice or both open and complete, and of each thread at most
 * the one call that was going on may have left either state.  Every other child also has threads that come and go, so
 * that slots are given back meanwhile; in every third the helper is held up again and again, so that the window grows
 * and all of it is in use; in every fifth it never comes, and the threads, who must lose nothing, write themselves.
 *
 * CHECK_KILLS=3000 build/tests/check_kill: so many kills instead of 300, or 50 where the environment has CI. */
#include <string.h>

#include "base/helper.h"
#include "base/os/os.h"
#include "tests/support/killed.h"
#include "tests/support/kills.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

#define THREADS 2
#define THREADS_ALL (THREADS + 2) /* with the helper, and a visitor */
#define BASES_MAX 4096

/* One cycle of what a thread does: 6 events, nested. */
static const char pattern[] = "((()())())()";
#define CYCLE 6
#define ARGS_EVERY 101

struct notes {
	uint32_t thread_id;
	uint64_t begins_called, begins_done, ends_called, ends_done;
	/* Ids come in runs: from this event on they count up from this one. */
	uint32_t bases_count;
	struct {
		uint64_t event, id;
	} bases[BASES_MAX];
};

static struct shared {
	struct notes notes[THREADS];
	uint64_t visits_called, visits_done;
	uint32_t chunks; /* that the window has, where the helper is held up */
	long kill_us;
	int ready;
	/* What the child is to do. */
	char path[512];
	bool visitors, held_up, lossless;
} * shared;

static epp_session *session;
static epp_name plain, with_args, visitor, key_number, key_text;

static char text[3000];
static uint32_t resting; /* everybody, so that the helper gets through and the window grows */

/* ---- the child ---- */

static void *record(void *argument)
{
	struct notes *notes = argument;
	uint64_t stack[8], events[8], expected = 0, begun = 0, ended = 0;
	unsigned depth = 0;
	STORE_RELAXED(&notes->thread_id, os_thread_id());
	STORE_RELEASE(&shared->ready, 1);
	for (;;) {
		/* On a machine that lets it record for very long, it stops when it can note no more. */
		while (LOAD_RELAXED(&resting) || notes->bases_count + CYCLE > BASES_MAX)
			recording_sleep_ms(1);
		for (const char *step = pattern; *step; step++) {
			if (*step == '(') {
				STORE_RELEASE(&notes->begins_called, begun + 1);
				uint64_t id = epp_event_begin(session, EPP_NODE, begun % ARGS_EVERY ? plain : with_args);
				if (id != expected) {
					notes->bases[notes->bases_count].event = begun;
					notes->bases[notes->bases_count].id = id;
					STORE_RELEASE(&notes->bases_count, notes->bases_count + 1);
				}
				expected = id + 1;
				events[depth] = begun;
				stack[depth++] = id;
				STORE_RELEASE(&notes->begins_done, ++begun);
				continue;
			}
			uint64_t event = events[--depth];
			epp_arg args[2] = {
				{ .key = key_number, .type = EPP_ARG_U64, .value.u64 = event },
				{ .key = key_text, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = event % 3000 }
			};
			STORE_RELEASE(&notes->ends_called, ended + 1);
			epp_event_end(session, stack[depth], args, event % ARGS_EVERY ? 0 : 2);
			STORE_RELEASE(&notes->ends_done, ++ended);
		}
	}
	return NULL;
}

static void *visit(void *argument)
{
	unsigned count = (unsigned)(uintptr_t)argument;
	for (unsigned i = 0; i < count; i++) {
		ADD_RELAXED(&shared->visits_called, 1);
		epp_event_end(session, epp_event_begin(session, EPP_NODE, visitor), NULL, 0);
		__atomic_fetch_add(&shared->visits_done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Until most chunks are full; then it may come, and once it gets through the window grows. */
static void *hold_helper_up(void *unused)
{
	struct storage *inside = recording_storage(session);
	for (;;) {
		pthread_mutex_lock(&inside->drain_lock);
		uint32_t chunks = inside->window.chunks_count;
		if (chunks > WINDOW_FIRST_CHUNKS && LOAD_RELAXED(&shared->chunks) <= WINDOW_FIRST_CHUNKS)
			kills_limit(shared->kill_us * THREADS_ALL);
		STORE_RELEASE(&shared->chunks, chunks);
		STORE_RELAXED(&resting, 0);
		while (LOAD_RELAXED(&inside->chunks.free) > chunks / 4)
			recording_sleep_ms(1);
		pthread_mutex_unlock(&inside->drain_lock);
		STORE_RELAXED(&resting, chunks == WINDOW_FIRST_CHUNKS);
		recording_sleep_ms(3);
	}
	return unused;
}

/* Test and child take the same numbers. */
static void take_names(void)
{
	memset(text, 't', sizeof(text));
	plain = epp_name_intern("plain");
	with_args = epp_name_intern("with args");
	visitor = epp_name_intern("visitor");
	key_number = epp_name_intern("number");
	key_text = epp_name_intern("text");
}

static void be_killed(void)
{
	bool held_up = shared->held_up, lossless = shared->lossless;
	epp_session_options options = {
		.struct_size = sizeof(options), .path = shared->path, .overwrite = 1, .lossless = lossless
	};
	take_names();
	pthread_t threads[THREADS];
	if (epp_session_create(&options, &session) || epp_session_start(session))
		_exit(1);
	if (lossless)
		helper_remove(&recording_inside(session)->helper);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, record, &shared->notes[i]);
	pthread_t holder;
	if (held_up)
		pthread_create(&holder, NULL, hold_helper_up, NULL);
	/* Each has a slot before the visitors take all others, which they may while the helper is held up. */
	for (int i = 0; i < THREADS; i++)
		while (!LOAD_ACQUIRE(&shared->notes[i].begins_done))
			recording_sleep_ms(1);
	if (!held_up)
		kills_limit(shared->kill_us * THREADS_ALL);
	for (unsigned i = 0; shared->visitors && i < UINT32_MAX; i++) {
		pthread_t one;
		if (pthread_create(&one, NULL, visit, (void *)(uintptr_t)(1 + i % 97)) == 0)
			pthread_join(one, NULL);
	}
	for (;;)
		recording_sleep_ms(1000);
}

/* ---- what it left ---- */

enum { COMPLETE = 1, OPEN = 2 };

struct findings {
	uint8_t *states[THREADS];
	uint64_t strangers[THREADS + 1]; /* ids without a note */
	size_t strangers_count;
	uint64_t *visits; /* their ids */
	size_t visits_count, visits_room;
	const char *wrong;
	uint64_t wrong_event;
};

/* How many ids a base stands for; the newest may stand for one too many, if the begin that went on took a new block. */
static uint64_t base_events(const struct notes *notes, unsigned base)
{
	uint64_t end = base + 1 < notes->bases_count ? notes->bases[base + 1].event : notes->begins_called;
	return end - notes->bases[base].event;
}

/* What find_event found last: the base, and the ids up to the next one. */
static unsigned last_thread, last_base;
static uint64_t last_id, last_end;

/* The event of an id: of the nearest base below it; false: nobody noted it. */
static bool find_event(uint64_t id, unsigned *thread, uint64_t *event)
{
	if (id < last_id || id >= last_end) {
		uint64_t best = 0, next = UINT64_MAX;
		for (unsigned t = 0; t < THREADS; t++)
			for (unsigned b = 0; b < shared->notes[t].bases_count; b++) {
				uint64_t base = shared->notes[t].bases[b].id;
				if (base > id)
					next = base < next ? base : next;
				else if (base > best)
					best = base, last_thread = t, last_base = b;
			}
		last_id = best;
		last_end = best ? best + base_events(&shared->notes[last_thread], last_base) : 0;
		if (last_end > next)
			last_end = next;
		if (id >= last_end)
			return false;
	}
	*thread = last_thread;
	*event = shared->notes[last_thread].bases[last_base].event + (id - last_id);
	return true;
}

static void wrong(struct findings *findings, const char *what, uint64_t event)
{
	if (!findings->wrong) {
		findings->wrong = what;
		findings->wrong_event = event;
	}
}

static void see(struct findings *findings, uint64_t id, int state)
{
	unsigned thread;
	uint64_t event;
	if (!find_event(id, &thread, &event)) {
		if (findings->strangers_count > THREADS)
			wrong(findings, "more ids than anybody took", id);
		else
			findings->strangers[findings->strangers_count++] = id;
		return;
	}
	if (event >= shared->notes[thread].begins_called) {
		wrong(findings, "an event that was never begun", event);
		return;
	}
	uint8_t *seen = &findings->states[thread][event];
	if (*seen)
		wrong(findings, *seen == state ? "an event is there twice" : "an event is open and complete", event);
	*seen |= (uint8_t)state;
}

static void see_record(void *user, const struct scan_record *record)
{
	struct findings *findings = user;
	if (EPF_BITS_KIND(record->bits) != EPF_EVENT || EPF_BITS_FLAGS(record->bits))
		wrong(findings, "a record of another kind, or with flags", record->id);
	if (record->name == visitor) {
		if (findings->visits_count == findings->visits_room) {
			findings->visits_room = findings->visits_room * 2 + 1024;
			findings->visits = realloc(findings->visits, findings->visits_room * sizeof(*findings->visits));
		}
		findings->visits[findings->visits_count++] = record->id;
		return;
	}
	see(findings, record->id, COMPLETE);
	if (record->name == with_args) {
		unsigned thread;
		uint64_t event = 0;
		if (record->args_count != 2 ||
		    (find_event(record->id, &thread, &event) && record->args[0].value != event) ||
		    record->args[1].text_bytes != record->args[0].value % 3000 ||
		    memcmp(record->args[1].text, text, record->args[1].text_bytes) != 0)
			wrong(findings, "args are not what they were", event);
	} else if (record->name != plain || record->args_count) {
		wrong(findings, "a name or args that nobody gave", record->id);
	}
}

static uint64_t lost_by(const struct trace_scan *scan, uint32_t thread_id)
{
	for (size_t i = 0; i < scan->ledger_count; i++) {
		const struct scan_track *track = scan_track(scan, scan->ledger[i].track);
		if (track && track->definition.thread_id == thread_id)
			return scan->ledger[i].lost[EPP_LOSS_NO_BUFFER];
	}
	return 0;
}

/* The event that a thread's n-th end ends. */
static uint64_t ended_by(uint64_t end)
{
	static unsigned of[CYCLE];
	if (!of[1] && !of[0]) {
		unsigned stack[8], depth = 0, begun = 0, ended = 0;
		for (const char *step = pattern; *step; step++)
			if (*step == '(')
				stack[depth++] = begun++;
			else
				of[ended++] = stack[--depth];
	}
	return end / CYCLE * CYCLE + of[end % CYCLE];
}

static void check_thread(const struct trace_scan *scan, struct findings *findings, unsigned thread)
{
	const struct notes *notes = &shared->notes[thread];
	uint8_t *states = findings->states[thread];
	uint64_t missing = 0, lost = lost_by(scan, notes->thread_id);
	for (uint64_t end = 0; end < notes->ends_done; end++) {
		uint8_t *state = &states[ended_by(end)];
		if (*state == OPEN)
			wrong(findings, "an event that has ended is open", ended_by(end));
		missing += *state == 0;
		*state |= 4;
	}
	/* What the account calls lost may be missing; a kill may come between that word and the loss. */
	if (missing > lost || lost > missing + 1)
		wrong(findings, "events are missing that are not counted as lost", missing);
	uint64_t in_flight = notes->ends_called > notes->ends_done ? ended_by(notes->ends_done) : UINT64_MAX;
	for (uint64_t event = 0; event < notes->begins_called; event++) {
		if (states[event] & 4)
			continue;
		if (event == in_flight) {
			if (!states[event] && lost <= missing)
				wrong(findings, "an event whose end was going on is in neither state", event);
		} else if (event >= notes->begins_done) {
			if (states[event] & COMPLETE)
				wrong(findings, "an event whose begin was going on is complete", event);
		} else if (states[event] != OPEN) {
			wrong(findings, "an open event is not open", event);
		}
	}
}

static void check_open(const struct trace_scan *scan, struct findings *findings)
{
	for (size_t i = 0; i < scan->open_count; i++) {
		const struct scan_open *open = &scan->open[i];
		const struct scan_track *track = scan_track(scan, open->track);
		bool known = track && (open->name == visitor || track->definition.thread_id == shared->notes[0].thread_id ||
		                       track->definition.thread_id == shared->notes[1].thread_id);
		if (!known || !open->start_ticks || !scan_name_is(scan, open->name, epp_name_text(open->name)))
			wrong(findings, "an open event without a thread, a start or a name", open->id);
		if (open->name == visitor)
			findings->visits_count++;
		else
			see(findings, open->id, OPEN);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void check_visits(const struct trace_scan *scan, struct findings *findings, size_t complete)
{
	if (complete)
		qsort(findings->visits, complete, sizeof(*findings->visits), by_value);
	for (size_t i = 1; i < complete; i++)
		if (findings->visits[i] == findings->visits[i - 1])
			wrong(findings, "a visitor's event is there twice", findings->visits[i]);
	uint64_t lost = scan_lost(scan, EPP_LOSS_NO_BUFFER) + scan_lost(scan, EPP_LOSS_NO_SLOT);
	if (findings->visits_count + lost < shared->visits_done || findings->visits_count > shared->visits_called)
		wrong(findings, "visitors' events are missing, or too many", shared->visits_done - findings->visits_count);
}

/* The other checks use a reader of the tests' own; this one is the library's. */
static void check_ledger(const char *path)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		check_balance(&account);
	}
	epp_trace_close(trace);
}

static void check_file(const char *path, unsigned kill_number, bool lossless)
{
	struct findings findings = { .wrong = NULL };
	for (unsigned i = 0; i < THREADS; i++)
		findings.states[i] = calloc(1, shared->notes[i].begins_called + 1);
	struct trace_scan *scan = trace_scan_file_each(path, see_record, &findings);
	if (scan->error)
		wrong(&findings, scan->error, 0);
	size_t complete = findings.visits_count;
	check_open(scan, &findings);
	for (unsigned i = 0; i < THREADS; i++)
		check_thread(scan, &findings, i);
	check_visits(scan, &findings, complete);
	if (lossless && scan_lost(scan, EPP_LOSS_NO_BUFFER))
		wrong(&findings, "events are lost that must not be", scan_lost(scan, EPP_LOSS_NO_BUFFER));
	ck_assert_msg(!findings.wrong, "kill %u: %s (%llu); begun %llu, %llu; blocks %zu, regions %zu, dropped %zu",
	              kill_number, findings.wrong, (unsigned long long)findings.wrong_event,
	              (unsigned long long)shared->notes[0].begins_done, (unsigned long long)shared->notes[1].begins_done,
	              scan->blocks_count[EPF_BLOCK_RECORDS], scan->window_regions_count, scan->dropped_regions_count);
	trace_scan_free(scan);
	for (unsigned i = 0; i < THREADS; i++)
		free(findings.states[i]);
	free(findings.visits);
}

static bool is_ready(bool held_up)
{
	return LOAD_ACQUIRE(&shared->ready) && (!held_up || LOAD_ACQUIRE(&shared->chunks) > WINDOW_FIRST_CHUNKS);
}

START_TEST(killed_at_any_instant)
{
	unsigned kills = kills_count(300, 50);
	char *path = strdup(check_path("killed.epp"));
	take_names();
	shared = killed_share(sizeof(*shared));
	srand((unsigned)recording_now_ns());
	for (unsigned i = 0; i < kills; i++) {
		memset(shared, 0, sizeof(*shared));
		last_id = last_end = 0;
		/* Often early, while regions are first filled and emptied, at times late. */
		shared->kill_us = rand() % (i % 4 ? 8000 : 50000);
		bool held_up = i % 3 == 2, lossless = !held_up && i % 5 == 4;
		snprintf(shared->path, sizeof(shared->path), "%s", path);
		shared->visitors = i % 2;
		shared->held_up = held_up;
		shared->lossless = lossless;
		killed_start(be_killed);
		for (int ms = 0; ms < 20000 && !is_ready(held_up); ms++)
			recording_sleep_ms(1);
		nanosleep(&(struct timespec){ .tv_nsec = shared->kill_us * 1000 }, NULL);
		ck_assert(killed_end());
		check_file(path, i, lossless);
		check_ledger(path);
	}
	free(path);
}
END_TEST

static Suite *kill_suite(void)
{
	Suite *suite = suite_create("kill");
	TCase *tcase = tcase_create("kill");
	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, killed_at_any_instant);
	suite_add_tcase(suite, tcase);
	return suite;
}

KILLED_MAIN(kill_suite, be_killed, &shared)
