/* Records events that profilers submit. Finds or creates the track first, which takes the session's lock, then sets the
 * mark and stores the records. */
#include "record/events/submit.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_abi/ort_event.h"
#include "record/events/submit_store.h"
#include "record/tracks.h"

void submission_lose(struct session_profiler *of, epp_loss reason, uint64_t count)
{
	ADD_RELAXED(&of->session->window.producers[of->producer].lost[reason], count);
}

void submission_begin_run(struct session_profiler *of)
{
	struct submission *submission = of->submission;
	/* A push that started before the end of the last run may still be active. */
	pthread_mutex_lock(&of->session->lock);
	submission->last = (EpprofLedger){ 0 };
	submission->has_ledger = false;
	submission->counted = 0;
	STORE_RELAXED(&submission->arrived, 0);
	pthread_mutex_unlock(&of->session->lock);
	STORE_RELAXED(&of->is_hung, false);
}

void submission_bracket(struct session_profiler *of, uint64_t before_ticks, uint64_t after_ticks, int64_t offset_ns)
{
	int64_t own_ticks = (int64_t)(before_ticks - of->session->window.live->run_start.ticks), shift_ns;
	int64_t own_ns = own_ticks < 0 ? -(int64_t)clock_ticks_to_ns(-(uint64_t)own_ticks)
	                               : (int64_t)clock_ticks_to_ns((uint64_t)own_ticks);
	if (__builtin_sub_overflow(own_ns, offset_ns, &shift_ns))
		shift_ns = 0;
	pthread_mutex_lock(&of->session->lock);
	of->before_ticks = before_ticks;
	of->after_ticks = after_ticks;
	of->offset_ns = offset_ns;
	of->shift_rest_ns = (shift_ns % 1000 + 1000) % 1000;
	of->shift_us = (shift_ns - of->shift_rest_ns) / 1000;
	of->submission->added_run = 0;
	pthread_mutex_unlock(&of->session->lock);
}

void submission_bracket_began(struct session_profiler *of, uint64_t earlier_ns)
{
	double ticks = (double)earlier_ns * (double)clock_ticks_per_second() / 1e9;
	/* Not before the origin of the clock. */
	uint64_t earlier_ticks = ticks < (double)of->before_ticks ? (uint64_t)ticks : of->before_ticks;
	submission_bracket(of, of->before_ticks - earlier_ticks, of->after_ticks, of->offset_ns);
}

void submission_allow_waiting(struct session *session)
{
	struct recorder *recorder = recorder_find((uintptr_t)session_handle(session), RECORDER_HANDOVER);
	if (recorder)
		recorder->may_wait = true;
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

/* Host calls never share a track with a device's work. A pushed event without a device is on a track of calls
 * anyway. */
static bool needs_calls_track(uint32_t category, uint32_t clock, int32_t device)
{
	return category == EPP_API && (clock == HANDOVER_OFFSET_US || device >= 0);
}

/* Returns the track of a device's stream, creating it if needed; 0: no room. `name` and `group` NULL: the default
 * ones. */
static uint32_t track_for(struct session_profiler *of, uint32_t clock, int32_t device, int64_t stream, bool is_calls,
                          const char *name, const char *group)
{
	struct submission *submission = of->submission;
	struct session *session = of->session;
	struct submission_tracks *tracks = clock == HANDOVER_OFFSET_US ? &submission->added : &submission->pushed;
	uint32_t track = clock == HANDOVER_OFFSET_US ? 0 : find_track(tracks, clock, device, stream, is_calls);
	if (track)
		return track;
	struct epf_track definition = {
		.kind = is_calls ? EPF_TRACK_CUSTOM : EPF_TRACK_DEVICE,
		.device = device,
		.stream = stream,
		.producer = (int32_t)of->producer,
	};
	char own_name[48], own_group[64];
	pthread_mutex_lock(&session->lock);
	if (clock == HANDOVER_OFFSET_US) {
		if (submission->added_run != LOAD_ACQUIRE(&session->window.live->run))
			tracks->count = 0;
		submission->added_run = definition.run = LOAD_ACQUIRE(&session->window.live->run);
		definition.clock_kind = EPF_TRACK_CLOCK_OFFSET_US;
		definition.clock_bits = 64;
		definition.ticks_per_second = 1000000;
		definition.bracket_ticks = of->after_ticks - of->before_ticks +
		                           2 * (uint64_t)of->shift_rest_ns * clock_ticks_per_second() / 1000000000u;
		definition.offset_ns = of->offset_ns;
		definition.thread_id = stream > 0 && stream <= UINT32_MAX ? (uint32_t)stream : 0;
	} else if (clock == HANDOVER_HOST) {
		definition.kind = EPF_TRACK_CUSTOM;
		definition.clock_kind = EPF_TRACK_CLOCK_HOST;
	} else {
		definition.clock_kind = submission->clocks[clock].description.kind;
		definition.clock_bits = submission->clocks[clock].description.bits;
		definition.ticks_per_second = submission->clocks[clock].description.ticks_per_second;
		definition.clock = submission->clocks[clock].number;
	}
	snprintf(own_name, sizeof(own_name), "%s %lld",
	         device >= 0 || clock == HANDOVER_OFFSET_US ? "stream" : "thread", (long long)stream);
	if (device >= 0)
		snprintf(own_group, sizeof(own_group), "%s device %d", of->label, device);
	else
		snprintf(own_group, sizeof(own_group), "%s", of->label);
	uint32_t count = tracks->count;
	track = find_track(tracks, clock, device, stream, is_calls);
	if (!track && count < HANDOVER_TRACKS_MAX &&
	    (track = tracks_add(session, &definition, name ? name : own_name, group ? group : own_group))) {
		tracks->all[count].clock = clock;
		tracks->all[count].device = device;
		tracks->all[count].stream = stream;
		tracks->all[count].is_calls = is_calls;
		tracks->all[count].track = track;
		STORE_RELEASE(&tracks->count, count + 1);
	}
	pthread_mutex_unlock(&session->lock);
	return track;
}

static void describe_clock(struct session_profiler *of, const EpprofClock *clock)
{
	struct submission *submission = of->submission;
	struct session *session = of->session;
	if (clock->id >= HANDOVER_CLOCKS_MAX || !clock->ticks_per_second || clock->kind < 1 || clock->kind > 2 ||
	    clock->bits > 64)
		return;
	pthread_mutex_lock(&session->lock);
	if (!submission->clocks[clock->id].number) {
		submission->clocks[clock->id].description = *clock;
		if (!clock->bits)
			submission->clocks[clock->id].description.bits = 64;
		struct epf_track definition = {
			.kind = EPF_TRACK_DEVICE,
			.clock_kind = clock->kind,
			.clock = session->clocks_end + 1,
			.clock_bits = submission->clocks[clock->id].description.bits,
			.ticks_per_second = clock->ticks_per_second,
			.device = -1,
			.stream = -1, /* no thread: a track without events */
			.producer = (int32_t)of->producer,
		};
		uint32_t track = tracks_add(session, &definition, "clock", of->label);
		if (track) {
			session->clocks_end++;
			submission->clocks[clock->id].track = track;
			STORE_RELEASE(&submission->clocks[clock->id].number, definition.clock);
		}
	}
	pthread_mutex_unlock(&session->lock);
}

static bool clock_known(const struct submission *submission, uint32_t clock)
{
	return clock < HANDOVER_CLOCKS_MAX && LOAD_ACQUIRE(&submission->clocks[clock].number) != 0;
}

/* Returns the event's id, or 0 if it was lost, which is counted for the profiler. `*known` is NULL at first and then
 * saves the next call the search. */
static inline uint64_t record(struct session_profiler *of, struct recorder **known, const struct handed *handed,
                              const epp_arg *args, size_t args_count)
{
	struct recorder *recorder = handed->track ? *known : NULL;
	if (handed->track && !(recorder && recorder_enter(recorder)))
		*known = recorder = submission_enter((uintptr_t)session_handle(of->session));
	if (!recorder) {
		submission_lose(of, LOAD_RELAXED(&of->session->pushes) ? EPP_LOSS_NO_SLOT : EPP_LOSS_AFTER_END, 1);
		return 0;
	}
	uint64_t id = submission_store(recorder, handed, args, args_count);
	if (!id)
		submission_lose(of, EPP_LOSS_NO_BUFFER, 1);
	recorder_leave(recorder);
	return id;
}

/* State shared by the events of one batch. Texts do not move while a batch is pushed, and the kit's events share them,
 * so interned names are cached by the text's address. */
#define PLACES_BITS 5
struct pushing {
	struct session_profiler *of;
	struct recorder *recorder;
	struct {
		const char *text;
		epp_name name;
	} places[1u << PLACES_BITS];
};

static inline epp_name name_of(struct pushing *pushing, const char *text)
{
	size_t place = (size_t)((uintptr_t)text * 0x9e3779b97f4a7c15u >> (64 - PLACES_BITS));
	if (pushing->places[place].text != text) {
		pushing->places[place].text = text;
		pushing->places[place].name = epp_name_intern(text);
	}
	return pushing->places[place].name;
}

static enum epf_placement parent_placement(const EpprofEvent *event)
{
	if (event->parent)
		return event->category & EPPROF_PARENT_INFERRED ? EPF_PLACED_INFERRED : EPF_PLACED_MEASURED;
	return event->category & EPPROF_PARENT_AMBIGUOUS ? EPF_PLACED_AMBIGUOUS : EPF_PLACED_MEASURED;
}

/* Converts args to the recorder's form; returns how many. */
static size_t take_args(struct pushing *pushing, const EpprofArg *from, size_t count, epp_arg args[EPF_ARG_SLOTS_MAX])
{
	if (count > EPF_ARG_SLOTS_MAX) {
		count = EPF_ARG_SLOTS_MAX;
		submission_lose(pushing->of, EPP_LOSS_TOO_LARGE, 1);
	}
	for (size_t i = 0; i < count; i++) {
		args[i] = (epp_arg){ .key = name_of(pushing, from[i].key),
			             .type = from[i].type & 3u,
			             .value.u64 = from[i].number.u64 };
		if (args[i].type == EPP_ARG_TEXT) {
			args[i].value.text = from[i].text;
			args[i].text_bytes = from[i].text ? from[i].text_bytes : 0;
		}
	}
	return count;
}

/* Returns the event's id, or 0. */
static uint64_t push_event(struct pushing *pushing, const EpprofEvent *event)
{
	struct session_profiler *of = pushing->of;
	epp_arg args[EPF_ARG_SLOTS_MAX];
	size_t args_count = event->args ? event->args_count : 0;
	uint32_t category = event->category & ~(EPPROF_PARENT_INFERRED | EPPROF_PARENT_AMBIGUOUS);
	if (!event->name || category > 3 || event->end_ticks < event->start_ticks ||
	    !clock_known(of->submission, event->clock)) {
		submission_lose(of, EPP_LOSS_REFUSED, 1);
		return 0;
	}
	bool cut = args_count > EPF_ARG_SLOTS_MAX;
	args_count = take_args(pushing, event->args, args_count, args);
	struct handed handed = {
		.track = track_for(of, event->clock, event->device, event->stream,
		                   needs_calls_track(category, event->clock, event->device), NULL, NULL),
		.category = category,
		.start_ticks = event->start_ticks,
		.end_ticks = event->end_ticks,
		.parent = event->parent,
		.name = name_of(pushing, event->name),
		.cut = cut,
		.placement = parent_placement(event),
	};
	return record(of, &pushing->recorder, &handed, args, args_count);
}

/* Stores a device's properties as an instant on a track of their own next to the device's streams. */
static void push_device(struct pushing *pushing, const EpprofDevice *device)
{
	struct session_profiler *of = pushing->of;
	epp_arg args[EPF_ARG_SLOTS_MAX];
	size_t args_count = take_args(pushing, device->args, device->args ? device->args_count : 0, args);
	uint64_t now_ticks = clock_ticks();
	struct handed handed = {
		.track = track_for(of, HANDOVER_HOST, device->device, EPF_STREAM_PROPERTIES, false, "properties",
		                   device->group),
		.category = EPP_NODE,
		.start_ticks = now_ticks,
		.end_ticks = now_ticks,
		.name = epp_name_intern("epprof.device"),
	};
	ADD_RELAXED(&of->session->window.producers[of->producer].emitted, 1);
	record(of, &pushing->recorder, &handed, args, args_count);
}

/* Stores a wait as an event on a track of its thread, with a flow to it that marks it as a wait. */
static void push_wait(struct session_profiler *of, const EpprofWait *wait)
{
	struct handed handed = {
		.category = EPP_API,
		.start_ticks = wait->start_host_ticks,
		.end_ticks = wait->end_host_ticks,
		.name = epp_name_intern("wait"),
	};
	ADD_RELAXED(&of->session->window.producers[of->producer].emitted, 1);
	if (!wait->parent || wait->end_host_ticks < wait->start_host_ticks) {
		submission_lose(of, EPP_LOSS_REFUSED, 1);
		return;
	}
	handed.track = track_for(of, HANDOVER_HOST, -1, wait->thread, true, NULL, NULL);
	struct recorder *recorder = handed.track ? submission_enter((uintptr_t)session_handle(of->session)) : NULL;
	bool stored = recorder && submission_store_wait(recorder, &handed, wait->parent);
	if (recorder)
		recorder_leave(recorder);
	if (!stored)
		submission_lose(of, recorder ? EPP_LOSS_NO_BUFFER : EPP_LOSS_NO_SLOT, 1);
}

static uint64_t lost_by(const EpprofLedger *ledger)
{
	return ledger->lost_no_buffer + ledger->lost_refused + ledger->lost_outside_run + ledger->lost_other;
}

/* The profiler's counts are cumulative, so only the difference is added. */
static void take_ledger(struct session_profiler *of, const EpprofLedger *now)
{
	struct epf_producer *producer = &of->session->window.producers[of->producer];
	pthread_mutex_lock(&of->session->lock);
	EpprofLedger *last = &of->submission->last;
	uint64_t lost = lost_by(now);
	/* Counts that decrease are invalid and ignored. */
	if (now->emitted >= last->emitted && lost >= lost_by(last)) {
		ADD_RELAXED(&producer->emitted, now->emitted - last->emitted - of->submission->counted);
		ADD_RELAXED(&producer->lost[EPP_LOSS_PLUGIN], lost - lost_by(last));
		*last = *now;
		of->submission->counted = 0;
		of->submission->has_ledger = true;
	}
	pthread_mutex_unlock(&of->session->lock);
}

/* The number of gaps is counted as a loss; their total duration is given in the note. */
static void take_gaps(struct session_profiler *of, uint64_t count, uint64_t ns)
{
	struct epf_producer *producer = &of->session->window.producers[of->producer];
	submission_lose(of, EPP_LOSS_RESTART_GAP, count);
	pthread_mutex_lock(&of->session->lock);
	of->submission->gaps_ns += ns;
	snprintf(producer->note, sizeof(producer->note), "off for %.6g ms while it was started again for others",
	         (double)of->submission->gaps_ns / 1e6);
	pthread_mutex_unlock(&of->session->lock);
}

/* Counts events of a profiler that does not report its own counts. */
static void count_emitted(struct session_profiler *of, uint64_t count)
{
	pthread_mutex_lock(&of->session->lock);
	if (!of->submission->has_ledger) {
		ADD_RELAXED(&of->session->window.producers[of->producer].emitted, count);
		of->submission->counted += count;
	}
	pthread_mutex_unlock(&of->session->lock);
}

/* True before a run, after it, or after the profiler was given up. */
static bool is_closed(const struct session_profiler *of)
{
	return !LOAD_RELAXED(&of->session->pushes) || LOAD_RELAXED(&of->is_hung);
}

void submission_give_up(struct session_profiler *of, const char *why)
{
	struct epf_producer *producer = &of->session->window.producers[of->producer];
	STORE_RELAXED(&of->is_hung, true);
	ADD_RELAXED(&producer->errors, 1);
	pthread_mutex_lock(&of->session->lock);
	const struct submission *submission = of->submission;
	uint64_t known = lost_by(&submission->last) + LOAD_RELAXED(&submission->arrived);
	uint64_t missing = submission->has_ledger && submission->last.emitted > known ? submission->last.emitted - known
	                                                                              : 0;
	strlcpy(producer->note, why, sizeof(producer->note));
	pthread_mutex_unlock(&of->session->lock);
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
	if (is_closed(of)) {
		/* The profiler's own ledger does not include these events. */
		ADD_RELAXED(&of->session->window.producers[of->producer].emitted, events_count);
		submission_lose(of, EPP_LOSS_AFTER_END, events_count);
		return;
	}
	if (!batch->ledger && events_count)
		count_emitted(of, events_count);
	ADD_RELAXED(&of->submission->arrived, events_count);
	for (size_t i = 0; batch->clocks && i < batch->clocks_count; i++)
		describe_clock(of, &batch->clocks[i]);
	for (size_t i = 0; has_tracks && i < batch->tracks_count; i++) {
		const EpprofTrack *track = &batch->tracks[i];
		if (clock_known(of->submission, track->clock))
			track_for(of, track->clock, track->device, track->stream, false, track->name, track->group);
	}
	struct pushing pushing = { .of = of };
	bool has_devices = batch->struct_size >= offsetof(EpprofBatch, ids) && batch->devices;
	for (size_t i = 0; has_devices && i < batch->devices_count; i++)
		push_device(&pushing, &batch->devices[i]);
	struct recorder *recorder = batch->pairs && batch->pairs_count
	                                ? submission_enter((uintptr_t)session_handle(of->session))
	                                : NULL;
	for (size_t i = 0; recorder && i < batch->pairs_count; i++) {
		const EpprofClockPair *pair = &batch->pairs[i];
		if (clock_known(of->submission, pair->clock))
			submission_store_pair(recorder, of->submission->clocks[pair->clock].track, pair->device_ticks,
			                      pair->host_ticks, pair->half_width_ticks);
	}
	if (recorder)
		recorder_leave(recorder);
	for (size_t i = 0; has_waits && i < batch->waits_count; i++)
		push_wait(of, &batch->waits[i]);
	if (batch->struct_size >= offsetof(EpprofBatch, devices) && batch->gaps_count)
		take_gaps(of, batch->gaps_count, batch->gaps_ns);
	if (batch->struct_size >= sizeof(*batch)) {
		submission_lose(of, EPP_LOSS_BEFORE_START, batch->early_count);
		submission_lose(of, EPP_LOSS_AFTER_END, batch->late_count);
		submission_lose(of, EPP_LOSS_NEGATIVE, batch->negative_count);
		ADD_RELAXED(&of->submission->arrived, batch->early_count + batch->late_count + batch->negative_count);
	}
	for (size_t i = 0; i < events_count; i++) {
		uint64_t id = push_event(&pushing, &batch->events[i]);
		if (has_ids)
			batch->ids[i] = id;
	}
	if (batch->ledger)
		take_ledger(of, batch->ledger);
}

/* ---- ONNX Runtime's microseconds ---- */

/* True for the arg that names the host event it belongs to. */
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
		ADD_RELAXED(&of->session->window.producers[of->producer].emitted, 1);
		submission_lose(of, EPP_LOSS_AFTER_END, 1);
		return;
	}
	count_emitted(of, 1);
	int64_t start = 0, duration = event ? event->duration_us : -1;
	/* Validity: an event must have a name, a known category and a duration. A drifting clock may place it outside
	 * the run, which the timeline shows. If it is outside by more than the run's own length and more than a second,
	 * its time is invalid. */
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
		/* The correlation id is stored as the parent, so it is not repeated as an arg. */
		if (event->keys[i] && event->values[i] && !is_correlation(event, i))
			args[args_count++] = (epp_arg){ .key = epp_name_intern(event->keys[i]),
				                        .type = EPP_ARG_TEXT,
				                        .value.text = event->values[i],
				                        .text_bytes = strlen(event->values[i]) };
	struct handed handed = {
		.track = track_for(of, HANDOVER_OFFSET_US, event->process_id, event->thread_id,
		                   event->category == EPP_API, NULL, NULL),
		.category = (uint32_t)event->category,
		.start_ticks = (uint64_t)start,
		.end_ticks = (uint64_t)(start + duration),
		.parent = correlation(event),
		.name = epp_name_intern(event->name),
		.cut = cut,
	};
	struct recorder *recorder = NULL;
	record(of, &recorder, &handed, args, args_count);
}
