/* Imports the events of execution providers from ONNX Runtime's profile.
 *
 * A provider passes its events to ONNX Runtime at the end of profiling, which writes them only into its own profile.
 * So this profile is imported, and the providers' events in it are added to the recording, on tracks with clocks of
 * their own (provider_clocks.c), in ONNX Runtime's microseconds.  Each clock is compared with the host's clock once, by
 * a host event whose start the collector recorded by both clocks.  The causes of a clock's events show how it drifts
 * from ONNX Runtime's clock.
 *
 * The cause of an event is found by its correlation id, which is the time at which the host event began, and by its
 * thread, which the kit adds.  An event without an id gets the parent that the importer found by containment, marked as
 * inferred.  If several host events could be the cause and the event's time fits only one of them, that one is the
 * parent, marked as inferred; else the event has no parent and is marked as ambiguous.
 *
 * A profile does not contain the time at which it began.  The time is computed from the cause of any of its events.  If
 * no event of a profile has a cause, its events are counted as lost.
 *
 * Providers compare their clocks with ONNX Runtime's when they are started, which may be long after the profile began.
 * The collector is started before the providers and records this time; the first event begins after they were started.
 * So the providers' times are early by at most the time between the two.  Half of it is added to the times, and is also
 * the error bound.
 *
 * A provider with the kit pushes its events to the recording itself.  In the profile, each of these events has its id
 * in the recording.  An event whose id is in the recording is skipped; the others are added.
 *
 * If the collector hosts a provider, the recording has its events already.  In the profile these events have a mark.
 * If ONNX Runtime runs the provider from a copy of its library, the profile has each of these events a second time,
 * without the mark.
 *
 * In a recording with a limit, kernels are left out if they and their causes do not fit (ring_limit.c). */
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "epprof/import.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/track.h"
#include "provider_events/provider_events.h"

#define PAIR_WITHIN_US 500000
#define NOTE_BYTES 80
#define DEVICE_NAME_BYTES 256
/* The index of ort_profile_us among the args that the importer puts first (runtime/import/make_record.h). */
#define PROFILE_ARG 2

struct epp_provider_events {
	OrtEpProfilerImpl impl; /* its functions do nothing, because ONNX Runtime called the EPs' own profilers */
	epp_session *session;
	epp_hosted_profiler *registration; /* the profiler in the session's ledger; NULL: not needed yet */
	char *label;
};

struct kernels {
	epp_provider_events *account;
	epp_trace *recorded; /* the recording, opened for reading */
	struct provider_clocks clocks;
	struct device_names devices;
	struct causes causes;
	int64_t profile_us;     /* Unix time at which the current profile began; 0: not known */
	bool profile_is_sure;   /* profile_us was computed from one of the profile's own host events */
	struct multiset hosted; /* event_hash() of the marked events, which the collector added to the profile from a
	                           plugin that it hosts */
	EpprofApi_PushEvents_SinceV1_Fn push;
	struct ring_limit limit;
	bool has_overwritten; /* the recording is a ring that has overwritten events, which it counted */
	bool has_lost;        /* the recording has losses of any kind */
	bool is_only;         /* there is only one profile, that of the session, and the recording has a limit */
	bool names_devices;   /* devices are named after providers: there is only one profile, and several providers may
	                         be profiled */
	uint64_t pushed_count, lost_count, unplaced_count, too_old_count, unknown_count;
	char note[NOTE_BYTES]; /* the reason why events are missing */
};

/* ---- the clock ---- */

/* Returns how much later than ONNX Runtime the collector recorded the start of a host event, plus the difference
 * between the zeros of their clocks.  That difference is the same for all events, so results can be compared. */
static double delay_us(const struct cause *cause)
{
	return (double)cause->start_ticks / ((double)epp_host_ticks_per_second() / 1e6) - (double)cause->start_us;
}

/* Returns the time at which the providers of a cause's profile were started.  If it was not recorded, returns the time
 * at which the profile began. */
static int64_t providers_started_us(const struct causes *causes, const struct cause *cause)
{
	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *first = &causes->causes[i];
		if (first->profile_us == cause->profile_us && first->started_us >= 0)
			return first->profile_us + first->started_us;
	}
	return cause->profile_us;
}

/* Pushes a clock pair: the time at which the providers were started, by both clocks, because providers compare their
 * clocks with ONNX Runtime's at that time.  The half-width includes 2 us, because both times are rounded to
 * microseconds. */
static void push_pair(const struct kernels *kernels, uint32_t clock, const struct cause *cause)
{
	uint64_t half_ticks = (uint64_t)kernels->causes.bracket_us * epp_host_ticks_per_second() / 2000000;
	int64_t started_us = providers_started_us(&kernels->causes, cause);
	double since = (double)(cause->start_us - started_us) * (double)epp_host_ticks_per_second() / 1e6;
	bool is_known = since >= 0 && since < (double)cause->start_ticks;
	const EpprofClockPair pair = { .device_ticks = (uint64_t)(is_known ? started_us : cause->start_us),
		                       .host_ticks = cause->start_ticks - (is_known ? (uint64_t)since : 0) + half_ticks,
		                       .half_width_ticks = half_ticks + 2 * epp_host_ticks_per_second() / 1000000,
		                       .clock = clock };
	const EpprofBatch batch = { .struct_size = sizeof batch, .pairs = &pair, .pairs_count = 1 };

	kernels->push(&kernels->account->impl, &batch);
}

/* Pushes a single clock pair, from the host event with the smallest delay soon after the start.  Providers compared
 * their clocks with ONNX Runtime's at that time, and their drift since then is not known.  As there is only one pair,
 * the timeline measures the drift by the causes of the events. */
static void push_clock(const struct kernels *kernels, uint32_t number)
{
	const EpprofClock clock = { .id = number, .kind = EPP_CLOCK_DEVICE, .ticks_per_second = 1000000 };
	const EpprofBatch batch = { .struct_size = sizeof batch, .clocks = &clock, .clocks_count = 1 };
	const struct cause *first = kernels->causes.causes, *end = first + kernels->causes.count, *best = first;

	kernels->push(&kernels->account->impl, &batch);
	for (const struct cause *cause = first; cause < end && cause->start_us < first->start_us + PAIR_WITHIN_US;
	     cause++) {
		if (delay_us(cause) < delay_us(best))
			best = cause;
	}
	push_pair(kernels, number, best);
}

/* ---- events ---- */

/* Finds the cause that the args of an event identify.  Returns the number of candidates. */
static size_t find_reported(const struct kernels *kernels, const epp_event *event, const struct reported_args *reported,
                            const struct cause **cause)
{
	const struct effect effect = { .cause_start_us = reported->correlation,
		                       .cause_duration_us = -1,
		                       .cause_thread = reported->thread,
		                       .cause_name = reported->cause_name.key ? &reported->cause_name : NULL,
		                       .profile_us = kernels->profile_us,
		                       .start_us = event->start_ns / 1000,
		                       .end_us = (event->start_ns + event->duration_ns) / 1000 };

	*cause = NULL;
	return reported->is_correlated ? causes_find(&kernels->causes, &effect, cause) : 0;
}

/* Sets the parent of an event.  If there are several candidates and causes_find cannot choose one by time, there is no
 * parent.  Returns the provider of the cause that the event identifies; 0: not known. */
static uint32_t find_parent(const struct kernels *kernels, const epp_event *event, const struct reported_args *reported,
                            EpprofEvent *pushed)
{
	const struct cause *cause;
	size_t count = find_reported(kernels, event, reported, &cause);
	bool ambiguous = false, inferred = count > 1;
	uint32_t provider = count == 1 ? cause->provider : 0;

	if (!count) {
		ambiguous = event->placement == EPP_PLACED_AMBIGUOUS;
		inferred = event->placement == EPP_PLACED_INFERRED;
	}
	if (!count && event->parent_track && kernels->profile_us) {
		const struct effect effect = {
			.cause_start_us = kernels->profile_us + event->parent_start_ns / 1000,
			.cause_duration_us = (event->parent_end_ns - event->parent_start_ns) / 1000,
			.cause_thread = event->parent_track->thread_id,
			.profile_us = kernels->profile_us,
			.start_us = event->start_ns / 1000,
			.end_us = (event->start_ns + event->duration_ns) / 1000,
		};
		count = causes_find(&kernels->causes, &effect, &cause);
		inferred |= count > 1;
	}
	ambiguous |= !cause && count > 1;
	pushed->parent = cause ? cause->id : 0;
	pushed->category |= cause && inferred ? EPPROF_PARENT_INFERRED : ambiguous ? EPPROF_PARENT_AMBIGUOUS : 0;
	return provider;
}

/* Names the device of an event, before its first event is pushed. */
static void push_name(struct kernels *kernels, int32_t device)
{
	char group[DEVICE_NAME_BYTES];
	const char *provider = device_names_take(&kernels->devices, &kernels->causes, device);
	const EpprofDevice named = { .group = group, .device = device };
	const EpprofBatch batch = { .struct_size = sizeof batch, .devices = &named, .devices_count = 1 };

	if (!provider)
		return;
	snprintf(group, sizeof group, "%s device %d", provider, device);
	kernels->push(&kernels->account->impl, &batch);
}

/* ---- events of hosted providers ---- */

/* Returns a hash of an event without its times, because two profilers of one device record slightly different times. */
static uint64_t event_hash(const epp_event *event, const struct reported_args *reported)
{
	const uint64_t parts[] = { (uint64_t)reported->correlation, (uint64_t)event->track->device,
		                   (uint64_t)event->track->stream };
	uint64_t number = 14695981039346656037u;

	for (size_t i = 0; i < event->name_bytes; i++)
		number = (number ^ (unsigned char)event->name[i]) * 1099511628211u;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		number = (number ^ parts[i]) * 0x9E3779B97F4A7C15u;
	return number;
}

/* ---- events ---- */

static epp_status *register_profiler(epp_provider_events *account)
{
	return account->registration
	           ? NULL
	           : epp_hosted_profiler_create(account->session, &account->impl, account->label, &account->registration);
}

static bool is_too_old(const struct kernels *kernels, const epp_event *event, const struct reported_args *reported)
{
	if (reported->is_correlated)
		return reported->correlation < kernels->limit.from_us;
	return kernels->profile_us && kernels->profile_us + event->start_ns / 1000 < kernels->limit.from_us;
}

/* Returns true if the event's profiler has pushed the event to the recording, or has counted it as lost there. If the
 * recording is a ring that has overwritten events, every event with an id counts as pushed. */
static bool is_recorded(struct kernels *kernels, const struct reported_args *reported)
{
	return reported->recorded == 0 ||
	       (reported->recorded > 0 &&
	        (multiset_take(&kernels->causes.ids, (uint64_t)reported->recorded) || kernels->has_overwritten));
}

static epp_status *append(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	struct reported_args reported;

	reported_args_read(timeline, event, &reported);
	if (is_recorded(kernels, &reported))
		return NULL;
	if (reported.is_hosted || multiset_take(&kernels->hosted, event_hash(event, &reported)))
		return NULL;
	if (is_too_old(kernels, event, &reported)) {
		kernels->too_old_count++;
		return NULL;
	}
	if (!kernels->profile_us) {
		kernels->unplaced_count++;
		return NULL;
	}
	EpprofEvent pushed = {
		.start_ticks = (uint64_t)(kernels->profile_us + event->start_ns / 1000),
		.name = event->name,
		.args = reported.args,
		.args_count = reported.count,
		.category = event->category,
		.device = event->track->device,
		.stream = event->track->stream,
	};
	const EpprofBatch batch = { .struct_size = sizeof batch, .events = &pushed, .events_count = 1 };
	bool is_new_clock;
	uint32_t provider = find_parent(kernels, event, &reported, &pushed);
	pushed.clock = provider_clocks_find(&kernels->clocks, pushed.device, pushed.stream, provider, &is_new_clock);
	/* The importer may not have found the start of the profile, so the arg is set again. */
	reported.args[PROFILE_ARG].number.i64 = kernels->profile_us;
	pushed.end_ticks = pushed.start_ticks + (uint64_t)(event->duration_ns / 1000);
	EPP_TRY(register_profiler(kernels->account));
	if (is_new_clock)
		push_clock(kernels, pushed.clock);
	push_name(kernels, pushed.device);
	kernels->push(&kernels->account->impl, &batch);
	kernels->pushed_count++;
	return NULL;
}

/* ---- losses ---- */

static epp_status *count_lost(struct kernels *kernels, epp_loss reason, uint64_t count, const char *why)
{
	if (!count)
		return NULL;
	EPP_TRY(register_profiler(kernels->account));
	epp_hosted_profiler_count_lost(kernels->account->registration, reason, count);
	kernels->lost_count += reason == EPP_LOSS_TOO_LARGE ? 0 : count;
	if (why[0])
		strlcpy(kernels->note, why, sizeof kernels->note);
	return NULL;
}

/* Counts the events that the importer could not read, and the losses that the kit reports. */
static epp_status *take_losses(struct kernels *kernels, epp_trace *trace)
{
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		char why[NOTE_BYTES] = "";
		EPP_TRY(epp_trace_ledger_at(trace, i, &account));
		if (!account.is_plugin)
			continue;
		if (account.lost[EPP_LOSS_REFUSED])
			snprintf(why, sizeof why, "refused: records of ONNX Runtime's profile that cannot be read");
		if (account.note[0])
			strlcpy(why, account.note, sizeof why);
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++)
			EPP_TRY(count_lost(kernels, (epp_loss)reason, account.lost[reason], why));
	}
	return NULL;
}

static epp_status *lose_unplaced(struct kernels *kernels)
{
	return count_lost(kernels, EPP_LOSS_REFUSED, kernels->unplaced_count,
	                  "refused: events of a profile whose start is unknown");
}

/* First pass over the events.  It collects the data that is needed before the first event is added: the events that
 * the collector itself has added to the profile (kernels.hosted), the start of the profile, the providers of the
 * devices, and the kernels for which there is room. */
static epp_status *collect_event(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	const struct cause *cause;
	struct reported_args reported;

	reported_args_read(timeline, event, &reported);
	if (reported.is_correlated && event->parent_track && !kernels->profile_is_sure) {
		kernels->profile_us = reported.correlation - event->parent_start_ns / 1000;
		kernels->profile_is_sure = true;
	}
	/* Several concurrent Runs may have an event with the start of the cause, so the cause gives the profile only if
	 * there is one candidate. */
	if (!kernels->profile_us && find_reported(kernels, event, &reported, &cause) == 1)
		kernels->profile_us = cause->profile_us;
	if (reported.recorded >= 0)
		return NULL;
	if (reported.is_hosted)
		return multiset_add(&kernels->hosted, event_hash(event, &reported));
	if (kernels->names_devices) {
		bool is_known = find_reported(kernels, event, &reported, &cause) == 1;
		EPP_TRY(device_names_add(&kernels->devices, &kernels->causes, event->track->device,
		                         is_known ? cause->provider : 0));
	}
	return kernels->is_only ? ring_limit_add(&kernels->limit, kernels->profile_us + event->start_ns / 1000) : NULL;
}

/* Counts events that seem to be a provider's but cannot be distinguished from host events: they have category Session
 * or Node and a process id.  The collector records all host events of ONNX Runtime except model loading. */
static epp_status *count_unknown(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	static const char unshown[] = "model_loading";
	const epp_trace_arg name = { .key = "", .value.text = event->name, .text_bytes = event->name_bytes };
	const struct effect effect = { .cause_start_us = kernels->profile_us + event->start_ns / 1000,
		                       .cause_duration_us = event->duration_ns / 1000,
		                       .cause_name = &name,
		                       .profile_us = kernels->profile_us };
	const struct cause *cause;

	(void)timeline;
	if (kernels->profile_us && strncmp(event->name, unshown, sizeof unshown - 1) != 0 &&
	    !causes_find(&kernels->causes, &effect, &cause))
		kernels->unknown_count++;
	return NULL;
}

static epp_status *each_event(struct kernels *kernels, epp_trace *trace, epp_track_kind kind,
                              epp_status *(*see)(struct kernels *kernels, const epp_timeline *timeline,
                                                 const epp_event *event))
{
	/* Use the times as the providers reported them, because they will be corrected with the causes in the
	 * recording. */
	const epp_timeline_options options = { .struct_size = sizeof options, .as_claimed = 1, .unweighted = 1 };
	epp_timeline *timeline;
	const epp_event *event;

	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (status)
		return status;
	while (!status && epp_timeline_next(timeline, &event)) {
		if (event->kind == EPP_EVENT_SLICE && event->track->kind == kind)
			status = see(kernels, timeline, event);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

static epp_status *append_all(struct kernels *kernels, const char *imported)
{
	epp_trace *trace;

	epp_status *status = epp_trace_open(imported, &trace);
	if (status)
		return status;
	kernels->hosted.count = 0;
	const epp_trace_info *info = epp_trace_get_info(trace);
	kernels->limit.event_bytes = info->file_bytes / (info->records_count + 1);
	if (kernels->causes.has_device_events || !kernels->profile_us || kernels->is_only || kernels->names_devices)
		status = each_event(kernels, trace, EPP_TRACK_DEVICE, collect_event);
	multiset_sort(&kernels->hosted);
	if (kernels->is_only)
		ring_limit_settle(&kernels->limit, &kernels->causes);
	if (!status)
		status = each_event(kernels, trace, EPP_TRACK_DEVICE, append);
	if (!status && !kernels->has_lost)
		status = each_event(kernels, trace, EPP_TRACK_THREAD, count_unknown);
	if (!status)
		status = take_losses(kernels, trace);
	epp_trace_close(trace);
	return status;
}

/* Ignores the importer's receipt.  It is mostly about the host's events in the profile, which are not used. */
static void ignore_receipt(void *user, const char *text)
{
	(void)user, (void)text;
}

static epp_status *append_profile(struct kernels *kernels, const char *profile, const char *folder)
{
	const epp_import_options options = { .struct_size = sizeof options, .format = "ort", .beside_recording = 1 };
	char imported[1024];

	snprintf(imported, sizeof imported, "%s/imported.epp", folder);
	kernels->profile_us = kernels->causes.only_us;
	kernels->profile_is_sure = kernels->profile_us;
	epp_status *status = epp_import_file(profile, imported, &options, ignore_receipt, NULL, NULL);
	if (!status)
		status = append_all(kernels, imported);
	/* The file is removed before the next one is written, because replacing a file waits for the disk.  There may
	 * be a profile for each run. */
	unlink(imported);
	return status;
}

static epp_status *append_profiles(struct kernels *kernels, const char *const *profiles, size_t count)
{
	const OrtApi *own = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	const char *parent = secure_getenv("TMPDIR");
	char folder[512];

	kernels->push = (EpprofApi_PushEvents_SinceV1_Fn)own->GetExperimentalFunction("EpprofApi_PushEvents_SinceV1");
	kernels->is_only = count == 1 && kernels->limit.max_bytes;
	kernels->names_devices = count == 1 && !kernels->clocks.is_one;
	if (count > 1)
		EPP_TRY(ring_limit_take_profiles(&kernels->limit, &kernels->causes, profiles, count));
	snprintf(folder, sizeof folder, "%s/epprof-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder))
		return epp_status_errno(errno, "%s", folder);
	epp_status *status = NULL;
	for (size_t i = 0; i < count && !status; i++)
		status = append_profile(kernels, profiles[i], folder);
	rmdir(folder);
	return status;
}

static epp_status *find_losses(struct kernels *kernels)
{
	for (size_t i = 0; i < epp_trace_ledger_count(kernels->recorded); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(epp_trace_ledger_at(kernels->recorded, i, &account));
		kernels->has_overwritten |= account.lost[EPP_LOSS_POLICY] > 0;
		kernels->has_lost |= account.lost_total > 0;
	}
	return NULL;
}

/* Counts the clocks that this profiler has in the recording.  Each has a track for its clock samples. */
static uint32_t count_clocks(const struct kernels *kernels)
{
	const epp_trace_track *track;
	uint32_t count = 0;

	for (size_t i = 0; (track = epp_trace_track_at(kernels->recorded, i)); i++) {
		const char *label = epp_trace_track_plugin(kernels->recorded, track);
		count += label && strcmp(label, kernels->account->label) == 0 && track->device < 0 &&
		         track->stream < 0 && strcmp(track->name, "clock") == 0;
	}
	return count;
}

/* ---- the profiler in the session ---- */

static void impl_release(OrtEpProfilerImpl *impl)
{
	(void)impl;
}

static OrtStatus *impl_start(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	(void)impl, (void)offset_ns;
	return NULL;
}

static OrtStatus *impl_end(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	(void)impl, (void)container;
	return NULL;
}

epp_status *epp_provider_events_create(epp_session *session, const char *label, epp_provider_events **events)
{
	*events = NULL;
	epp_provider_events *made = calloc(1, sizeof *made);
	if (!made)
		return epp_status_no_memory();
	made->session = session;
	made->impl = (OrtEpProfilerImpl){ .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                          .Release = impl_release,
		                          .StartProfiling = impl_start,
		                          .EndProfiling = impl_end };
	made->label = strdup(label ? label : "providers");
	epp_status *status = made->label ? NULL : epp_status_no_memory();
	if (!status && label)
		status = register_profiler(made);
	if (status) {
		epp_provider_events_destroy(made);
		return status;
	}
	if (label) {
		epp_hosted_profiler_set_note(made->registration,
		                             "missing: its events would have come at the end of the run");
		epp_hosted_profiler_set_expected(made->registration, 1);
	}
	*events = made;
	return NULL;
}

void epp_provider_events_set_note(epp_provider_events *events, const char *note)
{
	if (events->registration)
		epp_hosted_profiler_set_note(events->registration, note);
}

void epp_provider_events_expect_none(epp_provider_events *events, const char *note)
{
	epp_provider_events_set_note(events, note);
	if (events->registration)
		epp_hosted_profiler_set_expected(events->registration, 0);
}

void epp_provider_events_destroy(epp_provider_events *events)
{
	if (!events)
		return;
	epp_hosted_profiler_destroy(events->registration);
	free(events->label);
	free(events);
}

epp_status *epp_provider_events_add(epp_provider_events *events, const epp_provider_events_options *given,
                                    epp_provider_events_counts *counts)
{
	epp_provider_events_options options;
	struct kernels kernels = { .account = events, .limit.from_us = INT64_MIN };

	if (!options_fill(counts, &(epp_provider_events_counts){ 0 }, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_provider_events_counts: struct_size is not set");
	EPP_TRY(options_take(&options, sizeof options, given, "epp_provider_events_options"));
	kernels.limit.max_bytes = options.max_bytes;
	kernels.clocks.is_one = options.is_one_provider;
	kernels.causes.wanted_us = options.profile_unix_us;
	kernels.causes.wants_parents = !options.is_one_provider;
	epp_status *status = epp_trace_open_session(events->session, &kernels.recorded);
	if (!status)
		status = find_losses(&kernels);
	if (!status)
		kernels.clocks.used_count = count_clocks(&kernels);
	if (!status)
		status = causes_take(&kernels.causes, kernels.recorded);
	if (!status && kernels.causes.count)
		status = append_profiles(&kernels, options.profiles, options.profiles_count);
	if (!status)
		status = lose_unplaced(&kernels);
	if (!status)
		status = count_lost(
		    &kernels, EPP_LOSS_REFUSED, kernels.unknown_count,
		    kernels.note[0] ? "" : "refused: events with a category and process id of ONNX Runtime's own");
	if (!status)
		status = count_lost(&kernels, EPP_LOSS_FILTER, kernels.too_old_count,
		                    "filtered: kernels of runs that the size limit does not keep");
	options_fill(counts,
	             &(epp_provider_events_counts){ .added = kernels.pushed_count,
	                                            .lost = kernels.lost_count,
	                                            .filtered = kernels.too_old_count,
	                                            .has_pushed = kernels.causes.has_device_events },
	             sizeof(*counts));
	if (!status)
		epp_provider_events_expect_none(events, kernels.note);
	free(kernels.limit.kernels);
	multiset_deinit(&kernels.hosted);
	device_names_deinit(&kernels.devices);
	causes_deinit(&kernels.causes);
	epp_trace_close(kernels.recorded);
	return epp_status_prefix(status, "ONNX Runtime's profile");
}
