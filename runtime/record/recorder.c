/* Recorders. A recorder is created at a thread's first event in a session, takes a slot of the window (slot_open), and
 * is found through a cache of one entry. It gets blocks of ids, and regions: a new chunk when the last one is full
 * (recorder_next_region). When the thread exits, it is retired. */
#include "record/recorder.h"

#include <bsd/string.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/os.h"
#include "epprof/track.h"
#include "format/format_slot.h"
#include "record/session.h"
#include "storage/drain.h"
#include "storage/window/page_faults.h"

/* A thread with `may_wait` waits for a free chunk for at most WAIT_STEPS_MAX steps of WAIT_STEP_NS (5 s in total)
 * before an event is lost. */
#define WAIT_STEP_NS 200000
#define WAIT_STEPS_MAX 25000

SLIST_HEAD(recorder_list, recorder);

/* The recorders of one thread, in all sessions. Freed when the thread exits. The thread's cache is in thread-local
 * memory. */
struct thread {
	struct recorder_list recorders;
};

__thread struct recorder_cache recorder_cache __attribute__((tls_model("initial-exec"))) = {
	.handle = RECORDER_CACHE_EMPTY,
};
__thread struct recorder_hot recorder_hot __attribute__((tls_model("initial-exec"))) = {
	.handle = RECORDER_CACHE_EMPTY,
};
static __thread struct thread *this_thread __attribute__((tls_model("initial-exec")));

uint32_t epp_recording_count;
uintptr_t session_default_handle;

static pthread_key_t exit_key;
static uint64_t ids_next;

/* Moves the hot state, without its handle, to another place. Until the pointer has changed, a thread that closes the
 * recorder finds the mark at either place. */
static void move_hot_state(struct recorder *recorder, struct recorder_hot *to)
{
	const struct recorder_hot *from = recorder->hot;
	STORE_RELAXED(&to->handle, RECORDER_CACHE_EMPTY);
	STORE_RELAXED(&to->mark, from->mark);
	memcpy(&to->top, &from->top, sizeof(*to) - offsetof(struct recorder_hot, top));
	STORE_RELEASE(&recorder->hot, to);
}

static void move_out_resident(void)
{
	if (recorder_cache.resident)
		move_hot_state(recorder_cache.resident, &recorder_cache.resident->kept);
	recorder_cache.resident = NULL;
	STORE_RELAXED(&recorder_hot.handle, RECORDER_CACHE_EMPTY);
}

static void clear_cache(void)
{
	recorder_cache.handle = RECORDER_CACHE_EMPTY;
	STORE_RELAXED(&recorder_hot.handle, RECORDER_CACHE_EMPTY);
	recorder_cache.resident = NULL;
}

/* Makes a recorder, whose mark is set, the resident one: the thread's next calls with `handle` use it without a
 * search. */
static void make_resident(struct recorder *recorder, uintptr_t handle)
{
	if (recorder_cache.resident != recorder) {
		move_out_resident();
		move_hot_state(recorder, &recorder_hot);
		recorder_cache.resident = recorder;
	}
	recorder_cache.handle = handle;
	/* The handle is stored again, because the thread that closed the previous resident recorder may have cleared
	 * it. */
	bool is_fast = clock_is_fast() && recorder->throttle.skip == SKIP_NONE;
	STORE_RELAXED(&recorder_hot.handle, is_fast ? handle : RECORDER_CACHE_EMPTY);
}

/* Removes a recorder when its thread exits. Its slot has all data that the drain needs. */
static void retire(struct recorder *recorder)
{
	struct session *session = recorder->session;
	bool wake = false;
	pthread_mutex_lock(&session->storage.lock);
	if (recorder_cache.resident == recorder)
		move_out_resident();
	STORE_RELAXED(&recorder->closed, 1);
	if (recorder->is_listed) {
		LIST_REMOVE(recorder, session_link);
		slots_leave(&session->storage.slots, recorder->slot_index);
		wake = LOAD_RELAXED(&session->storage.slots.free) < EPF_SLOT_COUNT / 2;
	}
	pthread_mutex_unlock(&session->storage.lock);
	free(recorder);
	if (wake)
		helper_wake();
}

static void thread_exit(void *argument)
{
	struct thread *thread = argument;
	recorder_cache.handle = RECORDER_CACHE_EMPTY;
	this_thread = NULL;
	while (!SLIST_EMPTY(&thread->recorders)) {
		struct recorder *recorder = SLIST_FIRST(&thread->recorders);
		SLIST_REMOVE_HEAD(&thread->recorders, thread_link);
		retire(recorder);
	}
	free(thread);
}

static void seed_ids(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	STORE_RELAXED(&ids_next, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

void recorder_setup(void)
{
	pthread_key_create(&exit_key, thread_exit);
	seed_ids();
}

void recorder_fork_child(void)
{
	/* In the child of a fork: the parent's sessions and recorders do not exist here. The parent continues to use
	 * its ids, so the child takes new ones. */
	clear_cache();
	recorder_hot.mark = MARK_OUT;
	if (this_thread)
		SLIST_INIT(&this_thread->recorders);
	seed_ids();
}

uint64_t recorder_id_block(void)
{
	return ADD_RELAXED(&ids_next, RECORDER_ID_BLOCK);
}

uint64_t recorder_next_ids(struct recorder *recorder)
{
	struct epf_slot *slot = recorder->slot;
	uint64_t first = recorder_id_block();
	bool another = slot->id_block_end != 0;
	/* Until all fields are stored they are inconsistent; ids_settled has the number of taken ids meanwhile. */
	STORE_RELAXED(&slot->ids_settled, (another ? epf_slot_ids_taken(slot) : 0) + 1);
	STORE_RELEASE(&slot->id_blocks, slot->id_blocks + another);
	STORE_RELEASE(&slot->next_id, first);
	STORE_RELEASE(&slot->id_block_first, first);
	STORE_RELEASE(&slot->id_block_end, first + RECORDER_ID_BLOCK);
	STORE_RELEASE(&slot->ids_settled, 0);
	recorder->hot->next_id = first;
	recorder->hot->id_end = first + RECORDER_ID_BLOCK;
	return first;
}

/* ---- regions ---- */

/* Fills in a region's header; the last store makes it valid. */
static void region_begin(struct recorder *recorder, struct epf_region *region, size_t region_bytes)
{
	struct storage *storage = &recorder->session->storage;
	struct epf_slot *slot = recorder->slot;
	uint64_t sequence = region->sequence;
	if (!sequence) {
		sequence = ADD_RELAXED(&storage->next_sequence, 1);
		STORE_RELAXED(&region->sequence, sequence);
	}
	uint32_t depth = recorder_depth(recorder);
	uint64_t *ids = (uint64_t *)(void *)(region + 1);
	for (uint32_t i = 0; i < depth; i++)
		ids[i] = slot->open[i].id;
	region->run = slot->run;
	region->track = slot->track;
	region->slot = recorder->slot_index;
	region->open_count = depth;
	region->first_id = slot->next_id;
	STORE_RELEASE(&region->sequence_used, sequence);
	storage->slots.uses[recorder->slot_index].region = region;
	recorder->track_now = 0;
	recorder->hot->at = (uint8_t *)(region + 1) + (depth + 3) / 4 * 32;
	recorder->hot->limit = (uint8_t *)region + region_bytes;
}

bool recorder_next_region(struct recorder *recorder, size_t bytes)
{
	struct storage *storage = &recorder->session->storage;
	struct slot_use *use = &storage->slots.uses[recorder->slot_index];
	recorder->hot->at = recorder->hot->limit = NULL;
	slots_fill_region(&storage->slots, &storage->chunks, recorder->slot_index);
	uint32_t chunk = drain_take_chunk(storage);
	for (int i = 0; chunk == CHUNK_NONE && recorder->may_wait && i < WAIT_STEPS_MAX; i++) {
		helper_wake();
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_STEP_NS }, NULL);
		chunk = chunks_take(&storage->chunks);
	}
	if (chunk == CHUNK_NONE) {
		/* Do not wait again: after one wait without success, no chunk is being freed. */
		recorder->may_wait = false;
		return false;
	}
	use->chunk = chunk;
	if (!use->faults_counted)
		faults_begin(&storage->slots, recorder->slot_index);
	region_begin(recorder, chunk_region(&storage->chunks, chunk), EPF_CHUNK_BYTES);
	return (size_t)(recorder->hot->limit - recorder->hot->at) >= bytes;
}

/* ---- creating and finding ---- */

static char main_name[OS_THREAD_NAME_BYTES]; /* the name of the main thread when the first session was created */

static void read_main_name(void)
{
	os_thread_name_of_main(main_name);
}

void recorder_read_main_name(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_main_name);
}

/* Writes the label of a thread's track. A thread that was never named has the name of the thread that created it,
 * usually the main thread; then the label includes the thread's number to distinguish it. */
static void label_thread(char label[RECORDER_LABEL_BYTES], const char *name, uint32_t thread_id)
{
	bool is_named = thread_id == (uint32_t)getpid() || (name[0] && strcmp(name, main_name) != 0);
	snprintf(label, RECORDER_LABEL_BYTES, is_named ? "%s" : "%s/%u", name, thread_id);
}

bool recorder_label_thread(uint32_t thread_id, char label[RECORDER_LABEL_BYTES])
{
	char name[OS_THREAD_NAME_BYTES];
	int before;
	/* Cancellation is disabled, because reading a file is a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	bool is_alive = os_thread_name_of(thread_id, name);
	pthread_setcancelstate(before, NULL);
	if (is_alive)
		label_thread(label, name, thread_id);
	return is_alive;
}

/* Takes a free slot and initializes it; the session's lock is held. */
static bool slot_open(struct session *session, struct recorder *recorder)
{
	struct storage *storage = &session->storage;
	uint32_t index = slots_take(&storage->slots);
	if (index == SLOT_NONE)
		return false;
	struct epf_slot *slot = &storage->window.slots[index];
	char name[sizeof(slot->thread_name)] = "", label[RECORDER_LABEL_BYTES];
	os_thread_name(name);
	memcpy(slot->thread_name, name, sizeof(slot->thread_name));
	slot->thread_id = os_thread_id();
	label_thread(label, name, slot->thread_id);
	struct epf_track track = {
		.kind = EPF_TRACK_THREAD,
		.thread_id = slot->thread_id,
		.device = -1,
		.producer = -1,
		.run = 0,
	};
	slot->track = definitions_add_thread(&storage->definitions, &track, label);
	if (!slot->track) {
		slots_clear(&storage->slots, index);
		return false;
	}
	slot->run = LOAD_ACQUIRE(&storage->window.live->run);
	slot->id_blocks = 0;
	slot->id_block_end = 0;
	recorder->slot = recorder->hot->slot = slot;
	recorder->hot->top = slot->open;
	recorder->hot->top_end = recorder->hot->filter ? slot->open : slot->open + EPF_OPEN_MAX;
	recorder->slot_index = index;
	recorder_next_ids(recorder);
	STORE_RELAXED(&storage->slots.uses[index].region_state, REGION_TAKEN);
	region_begin(recorder, (struct epf_region *)(void *)slot->region, EPF_SLOT_REGION_BYTES);
	STORE_RELEASE(&slot->state, EPF_SLOT_IN_USE);
	return true;
}

static bool accepts(const struct session *session, enum recorder_use use)
{
	return use == RECORDER_SUBMISSIONS ? LOAD_ACQUIRE(&session->pushes) != 0
	                                   : LOAD_RELAXED(&session->state) == SESSION_RECORDING;
}

static struct recorder *make(struct thread *thread, uintptr_t handle, enum recorder_use use)
{
	struct session *session = session_of(handle);
	if (!session || !accepts(session, use) || LOAD_RELAXED(&session->storage.slots.free) == 0)
		return NULL;
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	bool made = false;
	pthread_mutex_lock(&session->storage.lock);
	if (recorder && (uintptr_t)session_handle(session) == handle && accepts(session, use)) {
		recorder->session = session;
		recorder->session_handle = handle;
		recorder->use = use;
		recorder->hot = &recorder->kept;
		recorder->kept.handle = RECORDER_CACHE_EMPTY;
		recorder->kept.calls = use == RECORDER_EVENTS ? session->calls : NULL;
		recorder->kept.filter = session->filter;
		made = slot_open(session, recorder);
		if (made) {
			recorder->is_listed = true;
			LIST_INSERT_HEAD(&session->recorders, recorder, session_link);
		}
	}
	pthread_mutex_unlock(&session->storage.lock);
	if (!made) {
		free(recorder);
		return NULL;
	}
	SLIST_INSERT_HEAD(&thread->recorders, recorder, thread_link);
	helper_wake();
	return recorder;
}

/* Frees the thread's recorders of runs that have ended. */
static void sweep(struct thread *thread)
{
	struct recorder *recorder = SLIST_FIRST(&thread->recorders), *next;
	for (; recorder; recorder = next) {
		next = SLIST_NEXT(recorder, thread_link);
		if (!recorder_is_closed(recorder))
			continue;
		pthread_mutex_lock(&recorder->session->storage.lock);
		bool is_listed = recorder->is_listed;
		pthread_mutex_unlock(&recorder->session->storage.lock);
		if (!is_listed) {
			SLIST_REMOVE(&thread->recorders, recorder, recorder, thread_link);
			if (recorder_cache.resident == recorder)
				clear_cache();
			free(recorder);
		}
	}
}

struct recorder *recorder_find(uintptr_t handle, enum recorder_use use)
{
	if (!this_thread) {
		this_thread = calloc(1, sizeof(*this_thread));
		if (!this_thread)
			return NULL;
		pthread_setspecific(exit_key, this_thread);
	}
	if (recorder_cache.in_callback && use == RECORDER_EVENTS)
		return NULL;
	struct recorder *recorder;
	SLIST_FOREACH(recorder, &this_thread->recorders, thread_link)
		if (recorder->session_handle == handle && recorder->use == use && !recorder_is_closed(recorder))
			break;
	if (!recorder) {
		sweep(this_thread);
		recorder = make(this_thread, handle, use);
	}
	return recorder;
}

struct recorder *recorder_enter_any(epp_session *session)
{
	/* A closed recorder in the cache is not used: if the session runs again, recorder_find creates a new one. */
	if (recorder_cache.in_callback)
		return NULL;
	struct recorder *recorder = recorder_cache.resident;
	if (recorder_cache.handle == (uintptr_t)session && recorder_enter(recorder)) {
		make_resident(recorder, (uintptr_t)session);
		return recorder;
	}
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return NULL;
	uintptr_t handle = session ? (uintptr_t)session : LOAD_RELAXED(&session_default_handle);
	recorder = recorder_find(handle, RECORDER_EVENTS);
	if (!recorder || !recorder_enter(recorder))
		return NULL;
	make_resident(recorder, (uintptr_t)session);
	return recorder;
}

struct recorder *recorder_enter_new(epp_session *session)
{
	struct recorder *recorder = recorder_enter_any(session);
	if (recorder || recorder_cache.in_callback || LOAD_RELAXED(&epp_recording_count) == 0)
		return recorder;
	uintptr_t handle = session ? (uintptr_t)session : LOAD_RELAXED(&session_default_handle);
	struct session *of = session_of(handle);
	if (of && LOAD_RELAXED(&of->state) == SESSION_RECORDING)
		session_lose(handle, EPP_LOSS_NO_SLOT, 1);
	return NULL;
}

/* ---- threads that may wait for room ---- */

void recorder_allow_waiting(struct session *session)
{
	struct recorder *recorder = recorder_find((uintptr_t)session_handle(session), RECORDER_SUBMISSIONS);
	if (recorder)
		recorder->may_wait = true;
}

void epp_thread_set_waiting(epp_session *handle)
{
	struct session *session = session_of(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (session)
		recorder_allow_waiting(session);
}
