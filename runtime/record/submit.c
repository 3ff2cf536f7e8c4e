/* Records events that profilers and the host application submit. First finds or creates the track, which takes the
 * session's lock. Then sets the recorder's mark and stores the records. */
#include "record/submit.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "epprof/track.h"
#include "ort_abi/ort_event.h"
#include "record/args.h"
#include "record/filter/name_filter.h"
#include "record/flows/flow_ends.h"

/* ---- storing records: a track switch if needed, then the record, both in one region ---- */

struct submitted {
	uint32_t track;
	uint32_t category;
	uint64_t start_ticks;
	uint64_t end_ticks;
	uint64_t host_ticks; /* the approximate start, for a schedule; 0: unknown */
	uint64_t parent;
	epp_name name;
	bool is_own;                  /* the event is the library's own: no filter leaves it out */
	bool cut;                     /* the event had more args than a record can hold */
	enum epf_placement placement; /* how the parent was found; 0: the profiler gave it */
};

/* Stores a switch of the region to `track`. The region must have room for one record more than the caller's. */
static void submission_switch(struct recorder *recorder, uint32_t track)
{
	if (recorder->track_now == track)
		return;
	struct epf_record *change = (struct epf_record *)(void *)recorder->hot->at;
	change->id = track;
	recorder_publish(recorder, change, EPF_NAME_TRACK_SWITCH, EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0), 0);
	recorder->track_now = track;
}

/* Stores a track switch and one complete record in one region. Returns the record's id. Returns 0 if there is no room;
 * then no id was taken, and the caller counts the loss. */
static uint64_t submission_store(struct recorder *recorder, const struct submitted *event, const epp_arg *args,
                                 size_t args_count)
{
	struct args_size size = args_measure(args, args_count, EPF_ARG_SLOTS_MAX - (event->parent != 0));
	size_t bytes = 2 * EPF_RECORD_BYTES + args_slots(&size, event->parent) * sizeof(struct epf_arg);
	if (!recorder_room(recorder, bytes))
		return 0;
	submission_switch(recorder, event->track);
	name_filter_note(recorder->hot->filter, event->category != EPP_API && !event->is_own);
	struct epf_record *record = (struct epf_record *)(void *)recorder->hot->at;
	record->start_ticks = event->start_ticks;
	record->duration_ticks = event->end_ticks - event->start_ticks;
	uint64_t id = record->id = recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, record, event->name,
	             EPF_BITS(event->category, EPF_COMPLETE, event->placement, event->cut ? EPF_FLAG_CUT : 0),
	             event->parent, args, &size);
	return id;
}

static void submission_store_pair(struct recorder *recorder, uint32_t track, uint64_t device, uint64_t host,
                                  uint64_t half_width)
{
	size_t bytes = 2 * EPF_RECORD_BYTES;
	/* A clock sample is no event. If there is no room, it is not counted: the fit uses the other samples. */
	if (!recorder_room(recorder, bytes))
		return;
	submission_switch(recorder, track);
	struct epf_record *record = (struct epf_record *)(void *)recorder->hot->at;
	record->start_ticks = device;
	record->duration_ticks = host;
	record->id = half_width;
	recorder_publish(recorder, record, EPF_NAME_CLOCK_PAIR, EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0), 0);
}

/* Stores a flow between two events. Returns false if there is no room. */
static bool submission_store_flow(struct recorder *recorder, uint64_t at_ticks, uint64_t from_id, uint64_t to_id,
                                  enum epf_placement placement)
{
	struct args_size none = args_measure(NULL, 0, EPF_ARG_SLOTS_MAX - 1);
	size_t bytes = 2 * EPF_RECORD_BYTES + args_slots(&none, from_id) * sizeof(struct epf_arg);
	if (!recorder_room(recorder, bytes))
		return false;
	submission_switch(recorder, 0);
	struct epf_record *flow = (struct epf_record *)(void *)recorder->hot->at;
	flow->start_ticks = at_ticks;
	flow->id = to_id;
	recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, flow, EPF_NAME_FLOW, EPF_BITS(EPP_NODE, EPF_FLOW, placement, 0), from_id, NULL, &none);
	return true;
}

/* Stores the value of a counter. Returns false if there is no room. */
static bool submission_store_counter(struct recorder *recorder, uint32_t track, uint64_t at_ticks, const epp_arg *value)
{
	struct args_size size = args_measure(value, 1, EPF_ARG_SLOTS_MAX);
	size_t bytes = 2 * EPF_RECORD_BYTES + args_slots(&size, 0) * sizeof(struct epf_arg);
	if (!recorder_room(recorder, bytes))
		return false;
	submission_switch(recorder, track);
	struct epf_record *record = (struct epf_record *)(void *)recorder->hot->at;
	record->start_ticks = at_ticks;
	record->id = recorder_take_id(recorder, recorder->hot);
	args_publish(recorder, record, value->key, EPF_BITS(EPP_NODE, EPF_COUNTER, 0, 0), 0, value, &size);
	return true;
}

/* As submission_store for a wait. Also stores a flow to the wait from the event that launched the work. Reserves the
 * room for both records first. */
static bool submission_store_wait(struct recorder *recorder, const struct submitted *wait, uint64_t from_id)
{
	struct args_size none = args_measure(NULL, 0, EPF_ARG_SLOTS_MAX - 1);
	size_t bytes = 4 * EPF_RECORD_BYTES + args_slots(&none, from_id) * sizeof(struct epf_arg);
	if (!recorder_room(recorder, bytes))
		return false;
	uint64_t wait_id = submission_store(recorder, wait, NULL, 0);
	return wait_id && submission_store_flow(recorder, wait->end_ticks, from_id, wait_id, 0);
}

/* Stores the parent of an event that was recorded without one, as a flow whose placement is `inferred`. */
static bool submission_store_parent(struct recorder *recorder, uint64_t id, uint64_t parent)
{
	return submission_store_flow(recorder, clock_ticks(), parent, id, EPF_PLACED_INFERRED);
}

/* Returns the calling thread's recorder with its mark set; NULL if the run is over, or the thread has no slot. */
static struct recorder *submission_enter(uintptr_t handle)
{
	struct recorder *recorder = recorder_find(handle, RECORDER_SUBMISSIONS);
	if (recorder && recorder_enter(recorder))
		return recorder;
	/* The recorder was closed after it was found: the run is over. */
	return NULL;
}

/* ---- approximate times, for a schedule ---- */

/* Returns whether the times of events on the host's clock are needed: only a schedule and a throttle use them. If a
 * time is unknown, it is 0. */
static bool needs_host_times(const struct session *session)
{
	return session->filter && (session->filter->schedule || session->filter->throttle);
}

/* Stores the last pair of each clock. Takes the session's lock, so the mark must be clear. */
static void store_last_pairs(struct session_profiler *of, const EpprofBatch *batch)
{
	if (!needs_host_times(of->session) || !batch->pairs)
		return;
	pthread_mutex_lock(&of->session->storage.lock);
	for (size_t i = 0; i < batch->pairs_count; i++) {
		const EpprofClockPair *pair = &batch->pairs[i];
		if (pair->clock < SUBMIT_CLOCKS_MAX)
			of->submission->clocks[pair->clock].pair = *pair;
	}
	pthread_mutex_unlock(&of->session->storage.lock);
}

/* Converts a time of a clock to host ticks, by the clock's last pair and its nominal rate. Takes the session's lock. */
static uint64_t approximate_host_ticks(struct session_profiler *of, uint32_t clock, uint64_t ticks)
{
	if (!needs_host_times(of->session))
		return 0;
	pthread_mutex_lock(&of->session->storage.lock);
	EpprofClockPair pair = of->submission->clocks[clock].pair;
	EpprofClock description = of->submission->clocks[clock].description;
	pthread_mutex_unlock(&of->session->storage.lock);
	/* The shifts extend the sign of the difference, because the counter may have wrapped around. */
	unsigned unused_bits = 64 - description.bits;
	int64_t since = (int64_t)((ticks - pair.device_ticks) << unused_bits) >> unused_bits;
	double host_since = (double)since * (double)clock_ticks_per_second() / (double)description.ticks_per_second;
	if (!pair.host_ticks || !(host_since > -(double)pair.host_ticks && host_since < 0x1p62))
		return 0;
	return pair.host_ticks + (uint64_t)(int64_t)host_since;
}

/* Converts microseconds since the start of the run to host ticks. */
static uint64_t submitted_in_run(const struct session_profiler *of, int64_t us)
{
	double ticks = (double)us * (double)clock_ticks_per_second() / 1e6;
	if (!needs_host_times(of->session))
		return 0;
	return of->session->storage.window.live->run_start.ticks + (uint64_t)(int64_t)ticks;
}

static uint64_t submitted_on_track(const struct session *session, epp_track track, uint64_t ticks)
{
	if (!needs_host_times(session) ||
	    definitions_track(&session->storage.definitions, track)->clock_kind != EPF_TRACK_CLOCK_HOST)
		return 0;
	return ticks;
}

/* ---- the counts of profilers ---- */

void submission_free(struct submission *submission)
{
	if (submission)
		free(submission->flows);
	free(submission);
}

void submission_lose(struct session_profiler *of, epp_loss reason, uint64_t count)
{
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].lost[reason], count);
}

void submission_begin_run(struct session_profiler *of)
{
	struct submission *submission = of->submission;
	/* The lock is taken because a push that started before the end of the last run may still be active. */
	pthread_mutex_lock(&of->session->storage.lock);
	free(submission->flows);
	submission->flows = NULL;
	submission->last = (EpprofLedger){ 0 };
	submission->has_ledger = false;
	submission->counted = submission->unfinished = submission->late = 0;
	STORE_RELAXED(&submission->arrived, 0);
	pthread_mutex_unlock(&of->session->storage.lock);
	STORE_RELAXED(&of->is_hung, false);
}

void submission_bracket(struct session_profiler *of, uint64_t before_ticks, uint64_t after_ticks, int64_t offset_ns)
{
	int64_t own_ticks = (int64_t)(before_ticks - of->session->storage.window.live->run_start.ticks), shift_ns;
	int64_t own_ns = own_ticks < 0 ? -(int64_t)clock_ticks_to_ns(-(uint64_t)own_ticks)
	                               : (int64_t)clock_ticks_to_ns((uint64_t)own_ticks);
	if (__builtin_sub_overflow(own_ns, offset_ns, &shift_ns))
		shift_ns = 0;
	pthread_mutex_lock(&of->session->storage.lock);
	of->before_ticks = before_ticks;
	of->after_ticks = after_ticks;
	of->offset_ns = offset_ns;
	of->shift_rest_ns = (shift_ns % 1000 + 1000) % 1000;
	of->shift_us = (shift_ns - of->shift_rest_ns) / 1000;
	of->submission->added_run = 0;
	pthread_mutex_unlock(&of->session->storage.lock);
}

void submission_bracket_began(struct session_profiler *of, uint64_t earlier_ns)
{
	double ticks = (double)earlier_ns * (double)clock_ticks_per_second() / 1e9;
	/* The bracket does not begin before 0 of the clock. */
	uint64_t earlier_ticks = ticks < (double)of->before_ticks ? (uint64_t)ticks : of->before_ticks;
	submission_bracket(of, of->before_ticks - earlier_ticks, of->after_ticks, of->offset_ns);
}

static uint32_t find_track(const struct submission_tracks *tracks, uint32_t clock, int32_t device, int64_t stream,
                           bool is_calls)
{
	uint32_t count = LOAD_ACQUIRE(&tracks->count);
	for (uint32_t i = 0; i < count; i++)
		if (tracks->all[i].stream == stream && tracks->all[i].device == device &&
		    tracks->all[i].clock == clock && tracks->all[i].is_calls == is_calls)
			return tracks->all[i].track;
	return 0;
}

/* Returns whether an event needs a track of calls. Host calls never share a track with a device's work. A pushed event
 * without a device needs none, because the track of its thread has no device's work. */
static bool needs_calls_track(uint32_t category, uint32_t clock, int32_t device)
{
	return category == EPP_API && (clock == SUBMIT_OFFSET_US || device >= 0);
}

/* ---- devices ---- */

/* Returns the name that the profiler has given to a device, or NULL. The session's lock is held. */
static char *device_name(struct submission *submission, int32_t device)
{
	for (uint32_t i = 0; i < submission->devices_count; i++)
		if (submission->devices[i].device == device)
			return submission->devices[i].name;
	return NULL;
}

/* Stores the name of a device. If there is no room for another device, the name is ignored. */
static void name_device(struct session_profiler *of, int32_t device, const char *name)
{
	struct submission *submission = of->submission;
	bool is_taken = false;
	pthread_mutex_lock(&of->session->storage.lock);
	char *known = device_name(submission, device);
	if (!known && submission->devices_count < SUBMIT_DEVICES_MAX) {
		submission->devices[submission->devices_count].device = device;
		known = submission->devices[submission->devices_count++].name;
	}
	for (uint32_t i = 0; i < submission->devices_count; i++)
		is_taken |= submission->devices[i].device != device && !strcmp(submission->devices[i].name, name);
	if (known && is_taken)
		snprintf(known, SUBMIT_DEVICE_NAME_BYTES, "%.*s (device %d)", (int)SUBMIT_DEVICE_NAME_BYTES - 32, name,
		         device);
	else if (known)
		strlcpy(known, name, SUBMIT_DEVICE_NAME_BYTES);
	pthread_mutex_unlock(&of->session->storage.lock);
}

/* ---- tracks ---- */

/* Defines the track of another thread, which may never record. The calling thread's recorder defines its own. */
static void define_thread(struct session *session, int64_t thread)
{
	char label[RECORDER_LABEL_BYTES];
	if (thread <= 0 || thread > UINT32_MAX || thread == os_thread_id() ||
	    !recorder_label_thread((uint32_t)thread, label))
		return;
	struct epf_track definition = {
		.kind = EPF_TRACK_THREAD, .thread_id = (uint32_t)thread, .device = -1, .producer = -1
	};
	pthread_mutex_lock(&session->storage.lock);
	definitions_add_track(&session->storage.definitions, &definition, label, "");
	pthread_mutex_unlock(&session->storage.lock);
}

/* Returns the track of a device's stream, and creates it if needed. Returns 0 if there are too many tracks or no
 * memory. If `name` or `group` is NULL, the default is used. */
static uint32_t track_for(struct session_profiler *of, uint32_t clock, int32_t device, int64_t stream, bool is_calls,
                          const char *name, const char *group)
{
	struct submission *submission = of->submission;
	struct session *session = of->session;
	struct submission_tracks *tracks = clock == SUBMIT_OFFSET_US ? &submission->added : &submission->pushed;
	uint32_t track = clock == SUBMIT_OFFSET_US ? 0 : find_track(tracks, clock, device, stream, is_calls);
	if (track)
		return track;
	struct epf_track definition = {
		.kind = is_calls ? EPF_TRACK_CUSTOM : EPF_TRACK_DEVICE,
		.device = device,
		.stream = stream,
		.producer = (int32_t)of->producer,
	};
	char own_name[48], own_group[SUBMIT_DEVICE_NAME_BYTES];
	bool is_new = false;
	pthread_mutex_lock(&session->storage.lock);
	if (clock == SUBMIT_OFFSET_US) {
		if (submission->added_run != LOAD_ACQUIRE(&session->storage.window.live->run))
			tracks->count = 0;
		submission->added_run = definition.run = LOAD_ACQUIRE(&session->storage.window.live->run);
		definition.clock_kind = EPF_TRACK_CLOCK_OFFSET_US;
		definition.clock_bits = 64;
		definition.ticks_per_second = 1000000;
		definition.bracket_ticks = of->after_ticks - of->before_ticks +
		                           2 * (uint64_t)of->shift_rest_ns * clock_ticks_per_second() / 1000000000u;
		definition.offset_ns = of->offset_ns;
		definition.thread_id = stream > 0 && stream <= UINT32_MAX ? (uint32_t)stream : 0;
	} else if (clock == SUBMIT_HOST_CLOCK) {
		definition.kind = EPF_TRACK_CUSTOM;
		definition.clock_kind = EPF_TRACK_CLOCK_HOST;
	} else {
		definition.clock_kind = submission->clocks[clock].description.kind;
		definition.clock_bits = submission->clocks[clock].description.bits;
		definition.ticks_per_second = submission->clocks[clock].description.ticks_per_second;
		definition.clock = submission->clocks[clock].number;
	}
	snprintf(own_name, sizeof(own_name), "%s %lld", device >= 0 || clock == SUBMIT_OFFSET_US ? "stream" : "thread",
	         (long long)stream);
	const char *named = device >= 0 ? device_name(submission, device) : of->label;
	if (named)
		strlcpy(own_group, named, sizeof(own_group));
	else
		snprintf(own_group, sizeof(own_group), "%s device %d", of->label, device);
	uint32_t count = tracks->count;
	track = find_track(tracks, clock, device, stream, is_calls);
	if (!track && count < SUBMIT_TRACKS_MAX)
		is_new = (track = definitions_add_track(&session->storage.definitions, &definition,
		                                        name ? name : own_name, group ? group : own_group)) != 0;
	if (is_new) {
		tracks->all[count].clock = clock;
		tracks->all[count].device = device;
		tracks->all[count].stream = stream;
		tracks->all[count].is_calls = is_calls;
		tracks->all[count].track = track;
		STORE_RELEASE(&tracks->count, count + 1);
	}
	pthread_mutex_unlock(&session->storage.lock);
	if (is_new && device < 0 && clock != SUBMIT_OFFSET_US)
		define_thread(session, stream);
	return track;
}

static void describe_clock(struct session_profiler *of, const EpprofClock *clock)
{
	struct submission *submission = of->submission;
	struct session *session = of->session;
	if (clock->id >= SUBMIT_CLOCKS_MAX || !clock->ticks_per_second || clock->kind < 1 || clock->kind > 2 ||
	    clock->bits > 64)
		return;
	pthread_mutex_lock(&session->storage.lock);
	if (!submission->clocks[clock->id].number) {
		submission->clocks[clock->id].description = *clock;
		if (!clock->bits)
			submission->clocks[clock->id].description.bits = 64;
		struct epf_track definition = {
			.kind = EPF_TRACK_DEVICE,
			.clock_kind = clock->kind,
			.clock = session->storage.definitions.clocks_end + 1,
			.clock_bits = submission->clocks[clock->id].description.bits,
			.ticks_per_second = clock->ticks_per_second,
			.device = -1,
			.stream = -1, /* the track has no events, so it has no thread */
			.producer = (int32_t)of->producer,
		};
		uint32_t track = definitions_add_track(&session->storage.definitions, &definition, "clock", of->label);
		if (track) {
			session->storage.definitions.clocks_end++;
			submission->clocks[clock->id].track = track;
			STORE_RELEASE(&submission->clocks[clock->id].number, definition.clock);
		}
	}
	pthread_mutex_unlock(&session->storage.lock);
}

static bool clock_known(const struct submission *submission, uint32_t clock)
{
	return clock < SUBMIT_CLOCKS_MAX && LOAD_ACQUIRE(&submission->clocks[clock].number) != 0;
}

/* Returns why an event has no recorder: the run has ended since the batch was accepted, or there is no slot or track.
 * */
static epp_loss unrecorded_loss(const struct session_profiler *of)
{
	return LOAD_RELAXED(&of->session->pushes) ? EPP_LOSS_NO_SLOT : EPP_LOSS_AFTER_END;
}

/* Records an event. Returns its id, or 0 if it was lost; the loss is counted for the profiler. `*known` must be NULL at
 * the first call; the function stores the recorder there, so that the next call need not search it. */
static inline uint64_t record(struct session_profiler *of, struct recorder **known, const struct submitted *submitted,
                              const epp_arg *args, size_t args_count)
{
	struct recorder *recorder = submitted->track ? *known : NULL;
	if (submitted->track && !(recorder && recorder_enter(recorder)))
		*known = recorder = submission_enter((uintptr_t)session_handle(of->session));
	if (!recorder) {
		submission_lose(of, unrecorded_loss(of), 1);
		return 0;
	}
	const struct name_filter *filter = submitted->is_own ? NULL : recorder->hot->filter;
	epp_loss loss = name_filter_loss(filter, submitted->name, submitted->parent, submitted->host_ticks);
	uint64_t id = loss == EPP_LOSS_ENTRY_COUNT ? submission_store(recorder, submitted, args, args_count) : 0;
	if (!id)
		submission_lose(of, loss == EPP_LOSS_ENTRY_COUNT ? EPP_LOSS_NO_BUFFER : loss, 1);
	recorder_leave(recorder);
	return id;
}

/* ---- args with reserved keys ---- */

enum special { SPECIAL_NONE, SPECIAL_SUBMIT, SPECIAL_QUEUE, SPECIAL_FLOW_BEGIN, SPECIAL_FLOW_END, SPECIAL_COUNT };

struct specials {
	bool has[SPECIAL_COUNT];
	uint64_t values[SPECIAL_COUNT];
};

static epp_name special_names[SPECIAL_COUNT];
static pthread_once_t special_once = PTHREAD_ONCE_INIT;

static void special_set_up(void)
{
	special_names[SPECIAL_SUBMIT] = epp_name_intern(EPPROF_SUBMIT_KEY);
	special_names[SPECIAL_QUEUE] = epp_name_intern(EPPROF_QUEUE_KEY);
	special_names[SPECIAL_FLOW_BEGIN] = epp_name_intern(EPPROF_FLOW_BEGIN_KEY);
	special_names[SPECIAL_FLOW_END] = epp_name_intern(EPPROF_FLOW_END_KEY);
}

static enum special find_special(epp_name key)
{
	/* If the table of names is full, all keys may be EPF_NAME_LOST, which is not a reserved key. */
	unsigned special = key == EPF_NAME_LOST ? SPECIAL_NONE : SPECIAL_COUNT - 1;
	while (special != SPECIAL_NONE && special_names[special] != key)
		special--;
	return special;
}

/* State that the events of one batch share. Interned names are cached by the address of their text: texts do not move
 * while a batch is pushed, and the kit uses the same texts for many events. */
#define PLACES_BITS 5
struct interned {
	const char *text;
	epp_name name;
	enum special special; /* the meaning of an integer arg with this key; SPECIAL_NONE: an ordinary arg */
};

struct push {
	struct session_profiler *of;
	struct recorder *recorder;
	const EpprofHostClock *host_clock; /* NULL: the host's clock of the session */
	struct interned places[1u << PLACES_BITS];
};

static inline const struct interned *intern(struct push *push, const char *text)
{
	struct interned *place = &push->places[(uintptr_t)text * 0x9e3779b97f4a7c15u >> (64 - PLACES_BITS)];
	if (place->text != text) {
		epp_name name = epp_name_intern(text);
		*place = (struct interned){ text, name, find_special(name) };
	}
	return place;
}

static enum epf_placement parent_placement(const EpprofEvent *event)
{
	if (event->parent)
		return event->category & EPPROF_PARENT_INFERRED ? EPF_PLACED_INFERRED : EPF_PLACED_MEASURED;
	return event->category & EPPROF_PARENT_AMBIGUOUS ? EPF_PLACED_AMBIGUOUS : EPF_PLACED_MEASURED;
}

/* Converts a host time of a profiler to host ticks; ~0 if out of range. `clock` NULL: it is in host ticks already. */
static uint64_t submitted_host_ticks(const EpprofHostClock *clock, uint64_t value)
{
	if (!clock)
		return value;
	double ticks = (double)(int64_t)(value - clock->origin) * clock->ticks_per_unit;
	return ticks > -0x1p62 && ticks < 0x1p62 ? clock->ticks + (uint64_t)(int64_t)ticks : UINT64_MAX;
}

/* Inserts the args EPPROF_SUBMIT_KEY and EPPROF_QUEUE_KEY, if the event has them, before its other args, where readers
 * expect them. Returns the new number of args. */
static size_t put_times(const struct push *push, const struct specials *specials, epp_arg *args, size_t count)
{
	const uint64_t *values = specials->values;
	size_t times = specials->has[SPECIAL_SUBMIT] + specials->has[SPECIAL_QUEUE];
	if (!times)
		return count;
	memmove(args + times, args, count * sizeof(*args));
	if (specials->has[SPECIAL_QUEUE])
		args[times - 1] = (epp_arg){ EPF_NAME_QUEUE, EPP_ARG_U64, { .u64 = values[SPECIAL_QUEUE] }, 0 };
	if (specials->has[SPECIAL_SUBMIT])
		args[0] = (epp_arg){ EPF_NAME_SUBMIT,
			             EPP_ARG_U64,
			             { .u64 = submitted_host_ticks(push->host_clock, values[SPECIAL_SUBMIT]) },
			             0 };
	return count + times;
}

/* Enters the thread's recorder. Returns NULL as submission_enter does. Also updates the batch's pointer to the
 * recorder, because a search for another recorder may free the old one. */
static struct recorder *enter(struct push *push)
{
	push->recorder = submission_enter((uintptr_t)session_handle(push->of->session));
	return push->recorder;
}

static void push_flow(struct push *push, uint64_t from_id, uint64_t to_id)
{
	struct recorder *recorder = enter(push);
	if (!recorder)
		return;
	if (!submission_store_flow(recorder, clock_ticks(), from_id, to_id, 0))
		recorder_lose_idless(recorder, EPP_LOSS_NO_BUFFER);
	recorder_leave(recorder);
}

/* Handles the begin of a flow: records flows to the ends that came before, and keeps the begin for later ends. */
static void take_flow_begin(struct push *push, uint64_t number, uint64_t id)
{
	struct submission *submission = push->of->submission;
	pthread_mutex_t *lock = &push->of->session->storage.lock;
	uint64_t to_id = 0;
	bool is_added = false;
	do {
		pthread_mutex_lock(lock);
		if (!submission->flows)
			submission->flows = flow_ends_create();
		if (submission->flows && !is_added)
			flow_ends_add_begin(submission->flows, number, id);
		is_added = true;
		to_id = submission->flows ? flow_ends_take_end(submission->flows, number) : 0;
		pthread_mutex_unlock(lock);
		if (to_id)
			push_flow(push, id, to_id);
	} while (to_id);
}

static void take_flow_end(struct push *push, uint64_t number, uint64_t id)
{
	struct submission *submission = push->of->submission;
	pthread_mutex_lock(&push->of->session->storage.lock);
	if (!submission->flows)
		submission->flows = flow_ends_create();
	uint64_t from_id = submission->flows ? flow_ends_add_end(submission->flows, number, id) : 0;
	pthread_mutex_unlock(&push->of->session->storage.lock);
	if (from_id)
		push_flow(push, from_id, id);
}

/* Converts args to the recorder's form; returns their number. Args with reserved keys go to `specials` instead. */
static size_t take_args(struct push *push, const EpprofArg *from, size_t count, epp_arg args[EPF_ARG_SLOTS_MAX],
                        struct specials *specials)
{
	size_t taken = 0;
	*specials = (struct specials){ 0 };
	if (count > EPF_ARG_SLOTS_MAX) {
		count = EPF_ARG_SLOTS_MAX;
		submission_lose(push->of, EPP_LOSS_TOO_LARGE, 1);
	}
	for (size_t i = 0; i < count; i++) {
		const struct interned *key = intern(push, from[i].key);
		if (key->special != SPECIAL_NONE && (from[i].type & 3u) <= EPP_ARG_U64) {
			specials->has[key->special] = true;
			specials->values[key->special] = from[i].number.u64;
			continue;
		}
		epp_arg *arg = &args[taken++];
		*arg = (epp_arg){ .key = key->name, .type = from[i].type & 3u, .value.u64 = from[i].number.u64 };
		if (arg->type == EPP_ARG_TEXT) {
			arg->value.text = from[i].text;
			arg->text_bytes = from[i].text ? from[i].text_bytes : 0;
		}
	}
	return put_times(push, specials, args, taken);
}

/* Records a pushed event. Returns its id, or 0 if it was lost. */
static uint64_t push_event(struct push *push, const EpprofEvent *event)
{
	struct session_profiler *of = push->of;
	epp_arg args[EPF_ARG_SLOTS_MAX];
	struct specials specials;
	size_t args_count = event->args ? event->args_count : 0;
	uint32_t category = event->category & ~(EPPROF_PARENT_INFERRED | EPPROF_PARENT_AMBIGUOUS);
	if (!event->name || category > 3 || event->end_ticks < event->start_ticks ||
	    !clock_known(of->submission, event->clock)) {
		submission_lose(of, EPP_LOSS_REFUSED, 1);
		return 0;
	}
	bool cut = args_count > EPF_ARG_SLOTS_MAX;
	args_count = take_args(push, event->args, args_count, args, &specials);
	struct submitted submitted = {
		.host_ticks = event->parent ? 0 : approximate_host_ticks(of, event->clock, event->start_ticks),
		.track = track_for(of, event->clock, event->device, event->stream,
		                   needs_calls_track(category, event->clock, event->device), NULL, NULL),
		.category = category,
		.start_ticks = event->start_ticks,
		.end_ticks = event->end_ticks,
		.parent = event->parent,
		.name = intern(push, event->name)->name,
		.cut = cut,
		.placement = parent_placement(event),
	};
	uint64_t id = record(of, &push->recorder, &submitted, args, args_count);
	if (id && specials.values[SPECIAL_FLOW_BEGIN])
		take_flow_begin(push, specials.values[SPECIAL_FLOW_BEGIN], id);
	if (id && specials.values[SPECIAL_FLOW_END])
		take_flow_end(push, specials.values[SPECIAL_FLOW_END], id);
	return id;
}

/* Stores a device's properties as an instant, on a separate track in the group of the device's streams. */
static void push_device(struct push *push, const EpprofDevice *device)
{
	struct session_profiler *of = push->of;
	epp_arg args[EPF_ARG_SLOTS_MAX];
	struct specials specials;
	size_t args_count = take_args(push, device->args, device->args ? device->args_count : 0, args, &specials);
	if (device->group && device->device >= 0)
		name_device(of, device->device, device->group);
	if (!args_count)
		return;
	uint64_t now_ticks = clock_ticks();
	struct submitted submitted = {
		.track = track_for(of, SUBMIT_HOST_CLOCK, device->device, EPF_STREAM_PROPERTIES, false, "properties", NULL),
		.category = EPP_NODE,
		.start_ticks = now_ticks,
		.end_ticks = now_ticks,
		.name = epp_name_intern("epprof.device"),
		.is_own = true,
	};
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, 1);
	record(of, &push->recorder, &submitted, args, args_count);
}

/* Stores the value of a counter on the device's track of properties. A stored value is counted in the thread's ledger,
 * a lost one in the profiler's ledger. */
static void push_counter(struct push *push, const EpprofCounter *counter)
{
	struct session_profiler *of = push->of;
	uint64_t now_ticks = clock_ticks();
	uint64_t at_ticks = counter->host_ticks ? submitted_host_ticks(push->host_clock, counter->host_ticks) : now_ticks;
	epp_loss loss = !counter->name || counter->type > EPP_ARG_F64 || at_ticks > now_ticks ? EPP_LOSS_REFUSED
	                : at_ticks < of->session->storage.window.live->run_start.ticks        ? EPP_LOSS_BEFORE_START
	                                                                                      : EPP_LOSS_ENTRY_COUNT;
	if (loss == EPP_LOSS_ENTRY_COUNT) {
		const epp_arg value = { .key = intern(push, counter->name)->name,
			                .type = counter->type,
			                .value.u64 = counter->number.u64 };
		uint32_t track = track_for(of, SUBMIT_HOST_CLOCK, counter->device, EPF_STREAM_PROPERTIES, false,
		                           "properties", NULL);
		struct recorder *recorder = track ? enter(push) : NULL;
		if (!recorder)
			loss = unrecorded_loss(of);
		/* Only the name filter applies, because values of counters do not belong to a run or a step. */
		if (recorder && name_filter_loss(recorder->hot->filter, value.key, 0, at_ticks) == EPP_LOSS_FILTER)
			loss = EPP_LOSS_FILTER;
		else if (recorder && !submission_store_counter(recorder, track, at_ticks, &value))
			loss = EPP_LOSS_NO_BUFFER;
		if (recorder)
			recorder_leave(recorder);
	}
	if (loss == EPP_LOSS_ENTRY_COUNT)
		return;
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, 1);
	submission_lose(of, loss, 1);
}

/* Stores a thread's wait for a device as an event of the thread, with a flow from the launch, by which readers see it.
 * */
static void push_wait(struct push *push, const EpprofWait *wait)
{
	struct session_profiler *of = push->of;
	struct submitted submitted = {
		.category = EPP_API,
		.start_ticks = wait->start_host_ticks,
		.end_ticks = wait->end_host_ticks,
		.name = epp_name_intern("wait"),
	};
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, 1);
	if (wait->parent <= EPP_LEFT_OUT_ID || wait->end_host_ticks < wait->start_host_ticks) {
		/* A schedule may have left out the event that launched the work. */
		bool is_left_out = wait->parent <= EPP_LEFT_OUT_ID && needs_host_times(of->session);
		epp_loss why = needs_host_times(of->session) && of->session->filter->throttle ? EPP_LOSS_THROTTLED
		                                                                              : EPP_LOSS_FILTER;
		submission_lose(of, is_left_out ? why : EPP_LOSS_REFUSED, 1);
		return;
	}
	submitted.track = track_for(of, SUBMIT_HOST_CLOCK, -1, wait->thread, true, NULL, NULL);
	struct recorder *recorder = submitted.track ? enter(push) : NULL;
	bool stored = recorder && submission_store_wait(recorder, &submitted, wait->parent);
	if (recorder)
		recorder_leave(recorder);
	if (!stored)
		submission_lose(of, recorder ? EPP_LOSS_NO_BUFFER : unrecorded_loss(of), 1);
}

static uint64_t sum_losses(const EpprofLedger *ledger)
{
	return ledger->lost_no_buffer + ledger->lost_refused + ledger->lost_outside_run + ledger->lost_other;
}

/* Counts what was added since the profiler's last ledger, because the counts in a ledger are cumulative. */
static void add_ledger(struct session_profiler *of, const EpprofLedger *now)
{
	struct epf_producer *producer = &of->session->storage.window.producers[of->producer];
	pthread_mutex_lock(&of->session->storage.lock);
	EpprofLedger *last = &of->submission->last;
	uint64_t lost = sum_losses(now);
	/* Counts that decrease are invalid and ignored. */
	if (now->emitted >= last->emitted && lost >= sum_losses(last)) {
		ADD_RELAXED(&producer->emitted, now->emitted - last->emitted - of->submission->counted);
		ADD_RELAXED(&producer->lost[EPP_LOSS_PLUGIN], lost - sum_losses(last));
		*last = *now;
		of->submission->counted = 0;
		of->submission->has_ledger = true;
	}
	pthread_mutex_unlock(&of->session->storage.lock);
}

/* Adds gaps to the profiler's losses: EPP_LOSS_RESTART_GAP counts gaps, not events; the note has their total time. */
static void add_gaps(struct session_profiler *of, uint64_t count, uint64_t ns)
{
	struct epf_producer *producer = &of->session->storage.window.producers[of->producer];
	submission_lose(of, EPP_LOSS_RESTART_GAP, count);
	pthread_mutex_lock(&of->session->storage.lock);
	of->submission->gaps_ns += ns;
	snprintf(producer->note, sizeof(producer->note),
	         "not recording for %.6g ms while it was restarted for other sessions",
	         (double)of->submission->gaps_ns / 1e6);
	pthread_mutex_unlock(&of->session->storage.lock);
}

/* Counts events of a profiler that does not report its own counts as emitted. */
static void count_emitted(struct session_profiler *of, uint64_t count)
{
	pthread_mutex_lock(&of->session->storage.lock);
	if (!of->submission->has_ledger) {
		ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, count);
		of->submission->counted += count;
	}
	pthread_mutex_unlock(&of->session->storage.lock);
}

/* Returns true before a run, after a run, and after the profiler was given up. */
static bool is_closed(const struct session_profiler *of)
{
	return !LOAD_RELAXED(&of->session->pushes) || LOAD_RELAXED(&of->is_hung);
}

/* Counts what arrives while `is_closed` as emitted and lost. It is not in the profiler's own ledger. */
static void refuse_closed(struct session_profiler *of, uint64_t count)
{
	const struct storage *storage = &of->session->storage;
	bool has_run = LOAD_ACQUIRE(&storage->window.live->run) != 0;
	ADD_RELAXED(&storage->window.producers[of->producer].emitted, count);
	submission_lose(of, has_run ? EPP_LOSS_AFTER_END : EPP_LOSS_BEFORE_START, count);
}

void submission_abandon(struct session_profiler *of, const char *why)
{
	struct epf_producer *producer = &of->session->storage.window.producers[of->producer];
	/* If the plugin hung already, its first note is kept. */
	bool was_hung = __atomic_exchange_n(&of->is_hung, true, __ATOMIC_RELAXED);
	ADD_RELAXED(&producer->errors, 1);
	pthread_mutex_lock(&of->session->storage.lock);
	const struct submission *submission = of->submission;
	uint64_t known = sum_losses(&submission->last) + LOAD_RELAXED(&submission->arrived);
	uint64_t missing = submission->has_ledger && submission->last.emitted > known ? submission->last.emitted - known
	                                                                              : 0;
	if (!was_hung)
		strlcpy(producer->note, why, sizeof(producer->note));
	pthread_mutex_unlock(&of->session->storage.lock);
	if (!missing)
		ADD_RELAXED(&producer->emitted, 1);
	submission_lose(of, EPP_LOSS_HUNG, missing ? missing : 1);
}

void submission_push(void *session_profiler, const EpprofBatch *batch)
{
	struct session_profiler *of = session_profiler;
	/* Older callers have a smaller struct that ends before `tracks`. */
	if (!batch || batch->struct_size < offsetof(EpprofBatch, tracks))
		return;
	bool has_tracks = batch->struct_size >= offsetof(EpprofBatch, waits) && batch->tracks;
	bool has_waits = batch->struct_size >= offsetof(EpprofBatch, gaps_count) && batch->waits;
	size_t events_count = batch->events ? batch->events_count : 0;
	bool has_ids = batch->struct_size >= offsetof(EpprofBatch, early_count) && batch->ids;
	if (has_ids && events_count)
		memset(batch->ids, 0, events_count * sizeof(*batch->ids));
	bool has_counters = batch->struct_size >= offsetof(EpprofBatch, unfinished_count);
	if (is_closed(of)) {
		refuse_closed(of, events_count + (has_waits ? batch->waits_count : 0) +
		                      (has_counters && batch->counters ? batch->counters_count : 0));
		return;
	}
	if (!batch->ledger && events_count)
		count_emitted(of, events_count);
	ADD_RELAXED(&of->submission->arrived, events_count);
	for (size_t i = 0; batch->clocks && i < batch->clocks_count; i++)
		describe_clock(of, &batch->clocks[i]);
	pthread_once(&special_once, special_set_up);
	struct push push = { .of = of, .host_clock = has_counters ? batch->host_clock : NULL };
	bool has_devices = batch->struct_size >= offsetof(EpprofBatch, ids) && batch->devices;
	for (size_t i = 0; has_devices && i < batch->devices_count; i++)
		push_device(&push, &batch->devices[i]);
	for (size_t i = 0; has_tracks && i < batch->tracks_count; i++) {
		const EpprofTrack *track = &batch->tracks[i];
		if (clock_known(of->submission, track->clock))
			track_for(of, track->clock, track->device, track->stream, false, track->name, track->group);
	}
	struct recorder *recorder = batch->pairs && batch->pairs_count ? enter(&push) : NULL;
	for (size_t i = 0; recorder && i < batch->pairs_count; i++) {
		const EpprofClockPair *pair = &batch->pairs[i];
		if (clock_known(of->submission, pair->clock))
			submission_store_pair(recorder, of->submission->clocks[pair->clock].track, pair->device_ticks,
			                      pair->host_ticks, pair->half_width_ticks);
	}
	if (recorder)
		recorder_leave(recorder);
	store_last_pairs(of, batch);
	for (size_t i = 0; has_waits && i < batch->waits_count; i++)
		push_wait(&push, &batch->waits[i]);
	if (batch->struct_size >= offsetof(EpprofBatch, devices) && batch->gaps_count)
		add_gaps(of, batch->gaps_count, batch->gaps_ns);
	for (size_t i = 0; has_counters && batch->counters && i < batch->counters_count; i++)
		push_counter(&push, &batch->counters[i]);
	if (batch->struct_size >= offsetof(EpprofBatch, counters)) {
		submission_lose(of, EPP_LOSS_BEFORE_START, batch->early_count);
		submission_lose(of, EPP_LOSS_AFTER_END, batch->late_count);
		submission_lose(of, EPP_LOSS_NEGATIVE, batch->negative_count);
		ADD_RELAXED(&of->submission->arrived, batch->early_count + batch->late_count + batch->negative_count);
	}
	for (size_t i = 0; i < events_count; i++) {
		uint64_t id = push_event(&push, &batch->events[i]);
		if (has_ids)
			batch->ids[i] = id;
	}
	if (batch->ledger)
		add_ledger(of, batch->ledger);
	submission_add_unfinished(of, batch->struct_size >= sizeof(*batch) ? batch->unfinished_count : 0);
}

/* ---- ONNX Runtime's microseconds ---- */

/* Returns true for the arg that has the correlation id of the event's host event. */
static bool is_correlation(const OrtProfilingEvent *event, uint32_t index)
{
	return event->keys[index] && event->values[index] && !strcmp(event->keys[index], "ort_correlation_id");
}

static uint64_t correlation(const OrtProfilingEvent *event)
{
	uint32_t i = 0;
	while (i < event->args_count && !is_correlation(event, i))
		i++;
	return i < event->args_count ? strtoull(event->values[i], NULL, 10) : 0;
}

void submission_add(struct session_profiler *of, const OrtProfilingEvent *event, uint64_t run_us)
{
	if (is_closed(of)) {
		refuse_closed(of, 1);
		return;
	}
	count_emitted(of, 1);
	int64_t start = 0, duration = event ? event->duration_us : -1;
	/* A valid event has a name, a known category and a duration that is not negative. A drifting clock may place an
	 * event outside the run; the timeline shows such an event. If the event is outside by more than the run's own
	 * length and by more than a second, its time is invalid. */
	int64_t outside_us = (int64_t)run_us > 1000000 ? (int64_t)run_us : 1000000;
	if (!event || __builtin_add_overflow(event->timestamp_us, of->shift_us, &start) || !event->name ||
	    event->category < 0 || event->category > 3 || duration < 0 || start > INT64_MAX - duration ||
	    start + duration < -outside_us || start > (int64_t)run_us + outside_us) {
		submission_lose(of, EPP_LOSS_REFUSED, 1);
		return;
	}
	epp_arg args[EPF_ARG_SLOTS_MAX];
	size_t args_count = 0;
	bool cut = event->args_count > EPF_ARG_SLOTS_MAX;
	if (cut)
		submission_lose(of, EPP_LOSS_TOO_LARGE, 1);
	for (uint32_t i = 0; i < event->args_count && i < EPF_ARG_SLOTS_MAX; i++)
		/* The correlation id is stored as the parent, so it is not stored as an arg, too. */
		if (event->keys[i] && event->values[i] && !is_correlation(event, i))
			args[args_count++] = (epp_arg){ .key = epp_name_intern(event->keys[i]),
				                        .type = EPP_ARG_TEXT,
				                        .value.text = event->values[i],
				                        .text_bytes = strlen(event->values[i]) };
	struct submitted submitted = {
		.host_ticks = submitted_in_run(of, start),
		.track = track_for(of, SUBMIT_OFFSET_US, event->process_id, event->thread_id,
		                   event->category == EPP_API, NULL, NULL),
		.category = (uint32_t)event->category,
		.start_ticks = (uint64_t)start,
		.end_ticks = (uint64_t)(start + duration),
		.parent = correlation(event),
		.name = epp_name_intern(event->name),
		.cut = cut,
	};
	record(of, &(struct recorder *){ NULL }, &submitted, args, args_count);
}

/* ---- events of the host application ---- */

uint64_t epp_event_record(epp_session *handle, epp_track track, epp_category category, epp_name name, uint64_t start_ticks,
                          uint64_t end_ticks, uint64_t parent, const epp_arg *args, size_t args_count)
{
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return 0;
	uintptr_t of = handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle);
	struct recorder *recorder = submission_enter(of);
	if (!recorder) {
		const struct session *session = session_of(of);
		if (session && LOAD_RELAXED(&session->pushes))
			session_lose(of, EPP_LOSS_NO_SLOT, 1);
		return 0;
	}
	epp_loss loss = EPP_LOSS_REFUSED;
	if (end_ticks >= start_ticks && definitions_track(&recorder->session->storage.definitions, track))
		loss = name_filter_loss(recorder->hot->filter, name, parent,
		                        submitted_on_track(recorder->session, track, start_ticks));
	struct submitted event = { .track = track,
		                   .category = category & 3u,
		                   .start_ticks = start_ticks,
		                   .end_ticks = end_ticks,
		                   .parent = parent,
		                   .name = name ? name : EPF_NAME_NONE };
	uint64_t id = loss == EPP_LOSS_ENTRY_COUNT ? submission_store(recorder, &event, args, args_count) : 0;
	if (!id)
		recorder_lose_idless(recorder, loss == EPP_LOSS_ENTRY_COUNT ? EPP_LOSS_NO_BUFFER : loss);
	recorder_leave(recorder);
	return id;
}

void epp_event_set_parent(epp_session *handle, uint64_t id, uint64_t parent)
{
	bool has_events = id > EPP_LEFT_OUT_ID && parent > EPP_LEFT_OUT_ID;
	struct recorder *recorder = has_events ? submission_enter(handle ? (uintptr_t)handle
	                                                                 : LOAD_RELAXED(&session_default_handle))
	                                       : NULL;
	if (!recorder)
		return;
	submission_store_parent(recorder, id, parent);
	recorder_leave(recorder);
}

void epp_clock_pair_add(epp_session *handle, epp_track track, uint64_t device_ticks, uint64_t host_ticks,
                        uint64_t half_width_ticks)
{
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return;
	struct recorder *recorder = submission_enter(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!recorder)
		return;
	if (definitions_track(&recorder->session->storage.definitions, track))
		submission_store_pair(recorder, track, device_ticks, host_ticks, half_width_ticks);
	recorder_leave(recorder);
}
