/* Imports the events of execution providers from ONNX Runtime's profile.
 *
 * A provider passes its events to ONNX Runtime at the end of profiling, which writes them only into its own profile.
 * So that file is imported, and the providers' events in it are added to the recording, on tracks with clocks of their
 * own (run_clocks.c), in ONNX Runtime's microseconds.  Each clock is compared with the host's clock once, by a host
 * event whose start the collector recorded on both.  The causes of a clock's events show how it drifts from ONNX
 * Runtime's clock.
 *
 * The cause of an event is found by its correlation id, which is the time at which the host event began, and by its
 * thread, which the kit adds.  An event without an id gets the parent that the importer found by containment, marked as
 * inferred.  If several host events could be the cause and the event's time fits only one of them, that one is the
 * parent, marked as inferred; else the event has no parent and is marked as ambiguous.
 *
 * A profile does not contain the time at which it began.  The cause of any one of its events gives it; if no event of a
 * profile has a cause, its events are counted as lost.
 *
 * Providers read their clocks when they are started.  The collector is started before them and records when; the first
 * event begins after them.  So the providers' times are early by at most the time between the two: half of it is added,
 * and is also the error bound.
 *
 * A provider with the kit pushes its events to the recording itself.  In the profile each of these has the id that it
 * got there: an event whose id is in the recording is skipped, the others are added.
 *
 * If the collector hosts a provider, the recording has its events already.  In the profile they have a mark; if ONNX
 * Runtime drives the same provider too, each is there a second time without the mark.
 *
 * In a recording with a limit, kernels are left out if they and their causes do not fit (run_limit.c). */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epprof/ep_push.h"
#include "epprof/epprof.h"
#include "epprof/import.h"
#include "run.h"

#define PAIR_WITHIN_US 500000
#define NOTE_BYTES 80
/* The index of ort_profile_us among the args that the importer puts first (runtime/import/record.h). */
#define PROFILE_ARG 2

struct kernels {
	epp_session *recording;
	epp_member *member;  /* the account; NULL: not needed so far */
	epp_trace *recorded; /* the recording, opened for reading */
	struct run_clocks clocks;
	struct run_causes causes;
	int64_t profile_us;       /* when the current profile began, unix time; 0: not known */
	bool profile_is_sure;     /* known from one of its own host events */
	struct run_twins carried; /* event_number() of the events with the mark */
	EpprofApi_PushEvents_SinceV1_Fn push;
	struct run_limit limit;
	bool has_overwritten; /* the recording has overwritten events, which are counted */
	bool has_lost;        /* the recording has losses of any kind */
	bool is_only;         /* there is only one profile, that of the session, and a limit */
	uint64_t pushed_count, unplaced_count, too_old_count, unknown_count;
	char note[NOTE_BYTES]; /* why events are missing */
};

/* ---- the clock ---- */

/* The delay between the start of a host event by ONNX Runtime and by the collector, plus a constant. */
static double delay_us(const struct run_cause *cause)
{
	return (double)cause->start_ticks / ((double)epp_host_ticks_per_second() / 1e6) - (double)cause->start_us;
}

/* Pushes a clock pair: the start of a cause's profile by both clocks.  The half-width includes 2 us, because the times
 * of both ends are in microseconds. */
static void push_pair(const struct kernels *kernels, uint32_t clock, const struct run_cause *cause)
{
	uint64_t half_ticks = (uint64_t)kernels->causes.bracket_us * epp_host_ticks_per_second() / 2000000;
	double since = (double)(cause->start_us - cause->profile_us) * (double)epp_host_ticks_per_second() / 1e6;
	bool is_known = since >= 0 && since < (double)cause->start_ticks;
	const EpprofClockPair pair = { .device_ticks = (uint64_t)(is_known ? cause->profile_us : cause->start_us),
		                       .host_ticks = cause->start_ticks - (is_known ? (uint64_t)since : 0) + half_ticks,
		                       .half_width_ticks = half_ticks + 2 * epp_host_ticks_per_second() / 1000000,
		                       .clock = clock };
	const EpprofBatch batch = { .struct_size = sizeof batch, .pairs = &pair, .pairs_count = 1 };

	kernels->push(&run_stand_in, &batch);
}

/* Pushes one pair: the one with the smallest delay soon after the start.  Providers compared their clocks with ONNX
 * Runtime's at that time, and their drift since then is not known.  With one pair the timeline assumes a single
 * comparison, and measures the rest by the causes of the events. */
static void push_clock(const struct kernels *kernels, uint32_t number)
{
	const EpprofClock clock = { .id = number, .kind = EPP_CLOCK_DEVICE, .ticks_per_second = 1000000 };
	const EpprofBatch batch = { .struct_size = sizeof batch, .clocks = &clock, .clocks_count = 1 };
	const struct run_cause *first = kernels->causes.causes, *end = first + kernels->causes.count, *best = first;

	kernels->push(&run_stand_in, &batch);
	for (const struct run_cause *cause = first; cause < end && cause->start_us < first->start_us + PAIR_WITHIN_US;
	     cause++) {
		if (delay_us(cause) < delay_us(best))
			best = cause;
	}
	push_pair(kernels, number, best);
}

/* ---- events ---- */

/* Finds the cause that an event's own args identify; returns the number of candidates. */
static size_t find_told(const struct kernels *kernels, const epp_event *event, const struct run_told *told,
                        const struct run_cause **cause)
{
	const struct run_effect effect = { .cause_start_us = told->correlation,
		                           .cause_duration_us = -1,
		                           .cause_thread = told->thread,
		                           .cause_name = told->cause_name.key ? &told->cause_name : NULL,
		                           .profile_us = kernels->profile_us,
		                           .start_us = event->start_ns / 1000,
		                           .end_us = (event->start_ns + event->duration_ns) / 1000 };

	*cause = NULL;
	return told->is_correlated ? run_causes_find(&kernels->causes, &effect, cause) : 0;
}

/* Finds an event's parent; if several are possible and run_causes_find cannot choose one by time, it gets none.
 * Returns the provider of the cause that the event identifies; 0: not known. */
static uint32_t find_parent(const struct kernels *kernels, const epp_event *event, const struct run_told *told,
                            EpprofEvent *pushed)
{
	const struct run_cause *cause;
	size_t count = find_told(kernels, event, told, &cause);
	bool ambiguous = false, inferred = count > 1;
	uint32_t provider = count == 1 ? cause->provider : 0;

	if (!count) {
		ambiguous = event->placement == EPP_PLACED_AMBIGUOUS;
		inferred = event->placement == EPP_PLACED_INFERRED;
	}
	if (!count && event->parent_track && kernels->profile_us) {
		const struct run_effect effect = {
			.cause_start_us = kernels->profile_us + event->parent_start_ns / 1000,
			.cause_duration_us = (event->parent_end_ns - event->parent_start_ns) / 1000,
			.cause_thread = event->parent_track->thread_id,
			.profile_us = kernels->profile_us,
			.start_us = event->start_ns / 1000,
			.end_us = (event->start_ns + event->duration_ns) / 1000,
		};
		count = run_causes_find(&kernels->causes, &effect, &cause);
		inferred |= count > 1;
	}
	ambiguous |= !cause && count > 1;
	pushed->parent = cause ? cause->id : 0;
	pushed->category |= cause && inferred ? EPPROF_PARENT_INFERRED : ambiguous ? EPPROF_PARENT_AMBIGUOUS : 0;
	return provider;
}

/* ---- events of hosted providers ---- */

/* A hash of an event without its times, which differ a little between two profilers of one device. */
static uint64_t event_number(const epp_event *event, const struct run_told *told)
{
	const uint64_t parts[] = { (uint64_t)told->correlation, (uint64_t)event->track->device,
		                   (uint64_t)event->track->stream };
	uint64_t number = 14695981039346656037u;

	for (size_t i = 0; i < event->name_bytes; i++)
		number = (number ^ (unsigned char)event->name[i]) * 1099511628211u;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		number = (number ^ parts[i]) * 0x9E3779B97F4A7C15u;
	return number;
}

/* ---- events ---- */

static epp_status *join(struct kernels *kernels)
{
	return kernels->member ? NULL : epp_session_join(kernels->recording, &run_stand_in, "providers", &kernels->member);
}

static bool is_too_old(const struct kernels *kernels, const epp_event *event, const struct run_told *told)
{
	if (told->is_correlated)
		return told->correlation < kernels->limit.from_us;
	return kernels->profile_us && kernels->profile_us + event->start_ns / 1000 < kernels->limit.from_us;
}

/* Returns true if the recording got the event from its profiler, or counted it as lost. */
static bool is_recorded(struct kernels *kernels, const struct run_told *told)
{
	return told->recorded == 0 ||
	       (told->recorded > 0 &&
	        (run_twins_take(&kernels->causes.ids, (uint64_t)told->recorded) || kernels->has_overwritten));
}

static epp_status *append(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	struct run_told told;

	run_told_read(timeline, event, &told);
	if (is_recorded(kernels, &told))
		return NULL;
	if (told.is_carried || run_twins_take(&kernels->carried, event_number(event, &told)))
		return NULL;
	if (is_too_old(kernels, event, &told)) {
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
		.args = told.args,
		.args_count = told.count,
		.category = event->category,
		.device = event->track->device,
		.stream = event->track->stream,
	};
	const EpprofBatch batch = { .struct_size = sizeof batch, .events = &pushed, .events_count = 1 };
	bool is_new_clock;
	uint32_t provider = find_parent(kernels, event, &told, &pushed);
	pushed.clock = run_clocks_find(&kernels->clocks, pushed.device, pushed.stream, provider, &is_new_clock);
	/* The importer may not have found the start of the profile. */
	told.args[PROFILE_ARG].number.i64 = kernels->profile_us;
	pushed.end_ticks = pushed.start_ticks + (uint64_t)(event->duration_ns / 1000);
	TRY(join(kernels));
	if (is_new_clock)
		push_clock(kernels, pushed.clock);
	kernels->push(&run_stand_in, &batch);
	kernels->pushed_count++;
	return NULL;
}

/* ---- losses ---- */

static epp_status *lose(struct kernels *kernels, epp_loss reason, uint64_t count, const char *why)
{
	if (!count)
		return NULL;
	TRY(join(kernels));
	epp_member_lose(kernels->member, reason, count);
	if (why[0])
		strlcpy(kernels->note, why, sizeof kernels->note);
	return NULL;
}

/* Counts the events that the importer could not read, and the losses that the kit reports. */
static epp_status *take_losses(struct kernels *kernels, epp_trace *trace)
{
	for (size_t i = 0; i < epp_trace_accounts_count(trace); i++) {
		epp_trace_account account;
		char why[NOTE_BYTES] = "";
		TRY(epp_trace_account_at(trace, i, &account));
		if (!account.is_plugin)
			continue;
		if (account.lost[EPP_LOSS_REFUSED])
			snprintf(why, sizeof why, "what is refused cannot be read in ONNX Runtime's profile");
		if (account.note[0])
			strlcpy(why, account.note, sizeof why);
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++)
			TRY(lose(kernels, (epp_loss)reason, account.lost[reason], why));
	}
	return NULL;
}

static epp_status *lose_unplaced(struct kernels *kernels)
{
	return lose(kernels, EPP_LOSS_REFUSED, kernels->unplaced_count,
	            "what is refused is in a profile that does not tell when it began");
}

/* First pass over the events, for what must be known before the first one is added: the marks, the start of the
 * profile, and which kernels fit. */
static epp_status *look_at(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	const struct run_cause *cause;
	struct run_told told;

	run_told_read(timeline, event, &told);
	if (told.is_correlated && event->parent_track && !kernels->profile_is_sure) {
		kernels->profile_us = told.correlation - event->parent_start_ns / 1000;
		kernels->profile_is_sure = true;
	}
	/* The start of a cause does not determine which of several concurrent Runs it is in. */
	if (!kernels->profile_us && find_told(kernels, event, &told, &cause) == 1)
		kernels->profile_us = cause->profile_us;
	if (told.recorded >= 0)
		return NULL;
	if (told.is_carried)
		return run_twins_add(&kernels->carried, event_number(event, &told));
	return kernels->is_only ? run_limit_add(&kernels->limit, kernels->profile_us + event->start_ns / 1000) : NULL;
}

/* An event of category Session or Node with a process id looks like ONNX Runtime's own; but the collector gets all of
 * those except one. */
static epp_status *count_unknown(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	static const char unshown[] = "model_loading";
	const epp_trace_arg name = { .key = "", .value.text = event->name, .text_bytes = event->name_bytes };
	const struct run_effect effect = { .cause_start_us = kernels->profile_us + event->start_ns / 1000,
		                           .cause_duration_us = event->duration_ns / 1000,
		                           .cause_name = &name,
		                           .profile_us = kernels->profile_us };
	const struct run_cause *cause;

	(void)timeline;
	if (kernels->profile_us && strncmp(event->name, unshown, sizeof unshown - 1) != 0 &&
	    !run_causes_find(&kernels->causes, &effect, &cause))
		kernels->unknown_count++;
	return NULL;
}

static epp_status *each_event(struct kernels *kernels, epp_trace *trace, epp_track_kind kind,
                              epp_status *(*see)(struct kernels *kernels, const epp_timeline *timeline,
                                                 const epp_event *event))
{
	/* Use the times as the providers reported them: they will be corrected with the recording's own causes. */
	const epp_timeline_options options = { .struct_size = sizeof options, .as_claimed = 1 };
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
	epp_timeline_release(timeline);
	return status;
}

static epp_status *append_all(struct kernels *kernels, const char *imported)
{
	epp_trace *trace;

	epp_status *status = epp_trace_open(imported, &trace);
	if (status)
		return status;
	kernels->carried.count = 0;
	const epp_trace_info *info = epp_trace_get_info(trace);
	kernels->limit.event_bytes = info->file_bytes / (info->records_count + 1);
	if (kernels->causes.has_device_events || !kernels->profile_us || kernels->is_only)
		status = each_event(kernels, trace, EPP_TRACK_DEVICE, look_at);
	run_twins_settle(&kernels->carried);
	if (kernels->is_only)
		run_limit_settle(&kernels->limit, &kernels->causes);
	if (!status)
		status = each_event(kernels, trace, EPP_TRACK_DEVICE, append);
	if (!status && !kernels->has_lost)
		status = each_event(kernels, trace, EPP_TRACK_THREAD, count_unknown);
	if (!status)
		status = take_losses(kernels, trace);
	epp_trace_close(trace);
	return status;
}

/* The importer's repairs and guesses are ignored: they concern mostly the host's part, which is not used. */
static void ignore_receipt(void *user, const char *text)
{
	(void)user, (void)text;
}

static epp_status *append_profile(struct kernels *kernels, const char *folder, const char *name)
{
	const epp_import_options options = { .struct_size = sizeof options, .format = "ort", .beside_recording = 1 };
	char profile[1024], imported[1024];

	snprintf(profile, sizeof profile, "%s/%s", folder, name);
	snprintf(imported, sizeof imported, "%s/imported.epp", folder);
	kernels->profile_us = kernels->causes.only_us;
	kernels->profile_is_sure = kernels->profile_us;
	epp_status *status = epp_import_file(profile, imported, &options, ignore_receipt, NULL, NULL);
	if (!status)
		status = append_all(kernels, imported);
	/* Remove the file first: replacing it with the next one would wait for the disk, and there is one for each
	 * run. */
	unlink(imported);
	return status;
}

static int is_profile(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".json") == 0;
}

static epp_status *append_profiles(struct kernels *kernels, const char *folder)
{
	const OrtApi *own = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	struct dirent **entries;
	epp_status *status = NULL;

	kernels->push = (EpprofApi_PushEvents_SinceV1_Fn)own->GetExperimentalFunction("EpprofApi_PushEvents_SinceV1");
	int count = scandir(folder, &entries, is_profile, alphasort);
	if (count < 0)
		return epp_status_errno(errno, "%s", folder);
	kernels->is_only = count == 1 && kernels->limit.max_bytes;
	if (count > 1)
		status = run_limit_take_profiles(&kernels->limit, &kernels->causes, folder, entries, count);
	for (int i = 0; i < count; i++) {
		if (!status)
			status = append_profile(kernels, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return status;
}

epp_status *run_kernels_expect(epp_session *recording, const char *label, epp_member **account)
{
	TRY(epp_session_join(recording, &run_stand_in, label, account));
	epp_member_note(*account, "missing: its events would have come at the end of the run");
	epp_member_expect(*account, 1);
	return NULL;
}

static epp_status *find_losses(struct kernels *kernels)
{
	for (size_t i = 0; i < epp_trace_accounts_count(kernels->recorded); i++) {
		epp_trace_account account;
		TRY(epp_trace_account_at(kernels->recorded, i, &account));
		kernels->has_overwritten |= account.lost[EPP_LOSS_POLICY] > 0;
		kernels->has_lost |= account.lost_total > 0;
	}
	return NULL;
}

epp_status *run_kernels_append(epp_session *recording, struct ort *ort, epp_member *account, const char *folder,
                               uint64_t max_bytes, bool has_one_clock, unsigned *from)
{
	struct kernels kernels = { .recording = recording,
		                   .member = account,
		                   .limit = { max_bytes, .from_us = INT64_MIN },
		                   .clocks.is_one = has_one_clock };

	*from = RUN_KERNELS_NONE;
	epp_status *status = epp_trace_open_session(recording, &kernels.recorded);
	if (!status)
		status = find_losses(&kernels);
	if (!status)
		run_failures_find_recorded(ort, kernels.recorded);
	if (!status)
		status = run_causes_take(&kernels.causes, kernels.recorded);
	if (!status && kernels.causes.count)
		status = append_profiles(&kernels, folder);
	if (!status)
		status = lose_unplaced(&kernels);
	if (!status)
		status = lose(&kernels, EPP_LOSS_REFUSED, kernels.unknown_count,
		              kernels.note[0]
		                  ? ""
		                  : "what is refused has a category and a process id of ONNX Runtime's own events");
	if (!status)
		status = lose(&kernels, EPP_LOSS_FILTER, kernels.too_old_count,
		              "filtered: kernels of runs that --max-bytes does not keep");
	*from = (kernels.causes.has_device_events ? RUN_KERNELS_PUSHED : 0) |
	        (kernels.pushed_count ? RUN_KERNELS_IMPORTED : 0) | (kernels.too_old_count ? RUN_KERNELS_TOO_OLD : 0);
	if (kernels.member && !status) {
		epp_member_note(kernels.member, kernels.note);
		epp_member_expect(kernels.member, 0);
	}
	if (kernels.member != account)
		epp_member_leave(kernels.member);
	free(kernels.limit.kernels);
	free(kernels.carried.twins);
	run_causes_deinit(&kernels.causes);
	epp_trace_close(kernels.recorded);
	return epp_status_prefix(status, "ONNX Runtime's profile");
}
