/* Implements epprof/track.h: tracks that the host application creates. record/submit.c records the events on them. */
#include "epprof/track.h"

#include "base/options.h"
#include "record/session.h"

void epp_track_options_init(epp_track_options *options)
{
	*options = (epp_track_options){ .struct_size = sizeof(*options), .device = -1, .stream = -1 };
}

epp_status *epp_track_create(epp_session *handle, const epp_track_options *given, epp_track *track)
{
	epp_track_options known, *options = &known;
	*track = 0;
	epp_track_options_init(options);
	EPP_TRY(options_take_over(options, sizeof(*options), given, "epp_track_options"));
	bool is_device = options->device >= 0 || options->clock_kind != EPP_CLOCK_HOST;
	if (options->clock_kind > EPP_CLOCK_DURATION_ONLY)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: clock kind %u is unknown", options->clock_kind);
	if (options->clock_kind != EPP_CLOCK_HOST && !options->ticks_per_second)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track: a device clock needs ticks_per_second");
	struct epf_track definition = {
		.kind = is_device ? EPF_TRACK_DEVICE : EPF_TRACK_CUSTOM,
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
	const struct epf_track *shared = options->clock_of
	                                     ? definitions_track(&session->storage.definitions, options->clock_of)
	                                     : NULL;
	if (options->clock_of && !shared)
		status = epp_status_create(EPP_INVALID_ARGUMENT, "track: clock_of %u is not a track", options->clock_of);
	else if (shared)
		definition.clock = shared->clock;
	else if (options->clock_kind != EPP_CLOCK_HOST)
		definition.clock = ++session->storage.definitions.clocks_end;
	if (!status) {
		*track = definitions_add_track(&session->storage.definitions, &definition,
		                               options->name ? options->name : "", options->group ? options->group : "");
		if (!*track)
			status = epp_status_create(EPP_OUT_OF_MEMORY,
			                           "track: out of memory, or already %u tracks in the session",
			                           DEFINITIONS_TRACKS_MAX);
	}
	pthread_mutex_unlock(&session->storage.lock);
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
	*track = definitions_add_track(&session->storage.definitions, &definition, name ? name : "", "");
	if (!*track)
		status = epp_status_create(EPP_OUT_OF_MEMORY, "track: out of memory, or already %u tracks in the session",
		                           DEFINITIONS_TRACKS_MAX);
	pthread_mutex_unlock(&session->storage.lock);
	return status;
}
