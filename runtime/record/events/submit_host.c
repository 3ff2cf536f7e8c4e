/* The API for the host application's own tracks and the events that it submits on them. */
#include "record/events/submit.h"

#include "record/events/submit_store.h"
#include "record/tracks.h"

epp_status *epp_track_create(epp_session *handle, const epp_track_options *options, epp_track *track)
{
	*track = 0;
	if (!options || options->struct_size < sizeof(*options))
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: options missing or of another size");
	if (options->clock_kind > EPP_CLOCK_DURATION_ONLY)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: clock kind %u is unknown", options->clock_kind);
	if (options->clock_kind != EPP_CLOCK_HOST && !options->ticks_per_second)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: a clock of its own needs ticks_per_second");
	struct epf_track definition = {
		.kind = EPF_TRACK_CUSTOM,
		.clock_kind = options->clock_kind,
		.clock_bits = options->clock_bits ? options->clock_bits : 64,
		.ticks_per_second = options->ticks_per_second,
		.device = options->device,
		.stream = options->stream,
		.producer = -1,
	};
	epp_status *status = NULL;
	struct session *session = session_lock(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!session)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: no such session");
	const struct epf_track *shared = options->clock_of ? tracks_get(session, options->clock_of) : NULL;
	if (options->clock_of && !shared)
		status = epp_status_create(EPP_INVALID_ARGUMENT, "track: clock_of %u is no track", options->clock_of);
	else if (shared)
		definition.clock = shared->clock;
	else if (options->clock_kind != EPP_CLOCK_HOST)
		definition.clock = ++session->clocks_end;
	if (!status) {
		*track = tracks_add(session, &definition, options->name ? options->name : "",
		                    options->group ? options->group : "");
		if (!*track)
			status = epp_status_create(EPP_OUT_OF_MEMORY, "track: a session has at most %u",
			                           SESSION_TRACKS_MAX);
	}
	pthread_mutex_unlock(&session->lock);
	return status;
}

epp_status *epp_track_create_thread(epp_session *handle, uint32_t thread_id, const char *name, epp_track *track)
{
	struct epf_track definition = {
		.kind = EPF_TRACK_THREAD,
		.thread_id = thread_id,
		.device = -1,
		.producer = -1,
	};
	epp_status *status = NULL;
	*track = 0;
	struct session *session = session_lock(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!session)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: no such session");
	*track = tracks_add(session, &definition, name ? name : "", "");
	if (!*track)
		status = epp_status_create(EPP_OUT_OF_MEMORY, "track: a session has at most %u", SESSION_TRACKS_MAX);
	pthread_mutex_unlock(&session->lock);
	return status;
}

uint64_t epp_event_complete(epp_session *handle, epp_track track, epp_category category, epp_name name,
                            uint64_t start_ticks, uint64_t end_ticks, uint64_t parent, const epp_arg *args,
                            size_t args_count)
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
	uint64_t id = 0;
	bool refused = end_ticks < start_ticks || !tracks_get(recorder->session, track);
	struct handed event = { .track = track,
		                .category = category & 3u,
		                .start_ticks = start_ticks,
		                .end_ticks = end_ticks,
		                .parent = parent,
		                .name = name ? name : EPF_NAME_NONE };
	if (!refused)
		id = submission_store(recorder, &event, args, args_count);
	if (!id) {
		recorder_lose(recorder, refused ? EPP_LOSS_REFUSED : EPP_LOSS_NO_BUFFER);
		COUNT_OWNED(&recorder->slot->lost_idless, 1);
	}
	recorder_leave(recorder);
	return id;
}

void epp_parent_set(epp_session *handle, uint64_t id, uint64_t parent)
{
	struct recorder *recorder = id && parent ? submission_enter(handle ? (uintptr_t)handle
	                                                                   : LOAD_RELAXED(&session_default_handle))
	                                         : NULL;
	if (!recorder)
		return;
	submission_store_parent(recorder, id, parent);
	recorder_leave(recorder);
}

void epp_completes_wait(epp_session *handle)
{
	struct session *session = session_of(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (session)
		submission_allow_waiting(session);
}

void epp_clock_pair_add(epp_session *handle, epp_track track, uint64_t device_ticks, uint64_t host_ticks,
                        uint64_t half_width_ticks)
{
	if (LOAD_RELAXED(&epp_recording_count) == 0)
		return;
	struct recorder *recorder = submission_enter(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!recorder)
		return;
	if (tracks_get(recorder->session, track))
		submission_store_pair(recorder, track, device_ticks, host_ticks, half_width_ticks);
	recorder_leave(recorder);
}
