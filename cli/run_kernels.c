/* Events of execution providers, out of ONNX Runtime's profile.
 *
 * A provider gives its events to ONNX Runtime at the end of profiling, which writes them into its own profile and shows them
 * to nobody.  So that file is imported, and what providers have in it goes into the recording, on tracks with a clock of
 * their own: ONNX Runtime's, in its microseconds.  That clock is related to the host's by the host events, of which the
 * collector noted when they began on both.  An event's cause is told by its correlation id, which is when the host event
 * began; where there is none, by what the importer found to enclose it. */
#include <bsd/stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/ep_push.h"
#include "epprof/epprof.h"
#include "epprof/import.h"
#include "run.h"

#define PAIR_EVERY_US 500000
#define ARGS_MAX 64
#define CLOCK 0

/* A host event of the recording. */
struct cause {
	int64_t start_us; /* ONNX Runtime's, unix time */
	int64_t duration_us;
	uint64_t id;
	epp_name name; /* of the recording */
	uint64_t start_ticks;
};

struct kernels {
	epp_session *recording;
	const char *label;
	epp_member *member;  /* NULL: no event yet */
	epp_trace *recorded; /* the recording, to be read */
	struct cause *causes;
	size_t causes_count, causes_room;
	int64_t profile_us; /* when the present profile began, unix time; 0: not known */
	int64_t only_us;    /* when the only one began; 0: there are several, or none */
	int64_t first_us;   /* from then to the first event that providers were told of */
	EpprofApi_PushEvents_SinceV1_Fn push;
	bool has_device_events;
};

/* ---- what was recorded ---- */

static bool take_cause(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	struct cause cause = { .id = event->id, .name = event->name_number, .start_ticks = event->start_ticks };
	int64_t since_us = 0, profile_us = 0;
	epp_trace_arg arg;
	size_t cursor = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type == EPP_ARG_TEXT || arg.type == EPP_ARG_F64)
			continue;
		if (strcmp(arg.key, "ort_ts_us") == 0)
			since_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_dur_us") == 0)
			cause.duration_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_profile_us") == 0)
			profile_us = arg.value.i64;
	}
	if (!profile_us)
		return true;
	if (!kernels->causes_count || since_us < kernels->first_us)
		kernels->first_us = since_us;
	kernels->only_us = !kernels->causes_count || kernels->only_us == profile_us ? profile_us : 0;
	cause.start_us = profile_us + since_us;
	if (kernels->causes_count == kernels->causes_room) {
		size_t room = kernels->causes_room ? kernels->causes_room * 2 : 1024;
		struct cause *larger = reallocarray(kernels->causes, room, sizeof *larger);
		if (!larger)
			return false;
		kernels->causes = larger;
		kernels->causes_room = room;
	}
	kernels->causes[kernels->causes_count++] = cause;
	return true;
}

/* Of those that began together the innermost, which began last, comes first. */
static int by_start(const void *a, const void *b)
{
	const struct cause *left = a, *right = b;

	if (left->start_us != right->start_us)
		return left->start_us < right->start_us ? -1 : 1;
	return (left->id < right->id) - (left->id > right->id);
}

static epp_status *take_causes(struct kernels *kernels)
{
	epp_timeline *timeline;
	const epp_event *event;
	bool enough = true;

	epp_status *status = epp_timeline_create(kernels->recorded, NULL, &timeline);
	if (status)
		return status;
	while (enough && epp_timeline_next(timeline, &event)) {
		if (event->kind != EPP_EVENT_SLICE)
			continue;
		if (event->track->kind == EPP_TRACK_DEVICE)
			kernels->has_device_events = true;
		else
			enough = take_cause(kernels, timeline, event);
	}
	status = enough ? epp_timeline_status(timeline) : epp_status_no_memory();
	epp_timeline_release(timeline);
	if (kernels->causes_count)
		qsort(kernels->causes, kernels->causes_count, sizeof *kernels->causes, by_start);
	return status;
}

/* The host event that began then; `duration_us` and `name` tell those apart that began together, -1 and NULL are any.
 * Returns its id, or 0. */
static uint64_t find_cause(const struct kernels *kernels, int64_t start_us, int64_t duration_us, const epp_trace_arg *name)
{
	size_t low = 0, high = kernels->causes_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (kernels->causes[middle].start_us < start_us)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < kernels->causes_count && kernels->causes[low].start_us == start_us; low++) {
		const struct cause *cause = &kernels->causes[low];
		size_t bytes;
		const char *text = epp_trace_name(kernels->recorded, cause->name, &bytes);
		if ((duration_us < 0 || duration_us == cause->duration_us) &&
		    (!name || (name->text_bytes == bytes && memcmp(name->value.text, text, bytes) == 0)))
			return cause->id;
	}
	return 0;
}

/* ---- the provider that gives them ---- */

/* One that does nothing: it stands for those that ONNX Runtime drove. */
static void stand_in_release(OrtEpProfilerImpl *profiler)
{
	(void)profiler;
}

static OrtStatus *stand_in_start(OrtEpProfilerImpl *profiler, int64_t offset_ns)
{
	(void)profiler, (void)offset_ns;
	return NULL;
}

static OrtStatus *stand_in_end(OrtEpProfilerImpl *profiler, OrtProfilingEventsContainer *container)
{
	(void)profiler, (void)container;
	return NULL;
}

static OrtEpProfilerImpl stand_in = { .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
	                              .Release = stand_in_release,
	                              .StartProfiling = stand_in_start,
	                              .EndProfiling = stand_in_end };

/* How much later the collector saw a host event begin than ONNX Runtime says, but for what is the same for all. */
static double delay_us(const struct cause *cause)
{
	return (double)cause->start_ticks / ((double)epp_host_ticks_per_second() / 1e6) - (double)cause->start_us;
}

/* The providers read their clocks some time between the profile's beginning and the first event: so uncertain are they. */
static void push_pair(const struct kernels *kernels, const struct cause *cause)
{
	const EpprofClockPair pair = { .device_ticks = (uint64_t)cause->start_us,
		                       .host_ticks = cause->start_ticks,
		                       .half_width_ticks = (uint64_t)(kernels->first_us + 2) *
		                                           epp_host_ticks_per_second() / 1000000,
		                       .clock = CLOCK };
	const EpprofBatch batch = { .struct_size = sizeof batch, .pairs = &pair, .pairs_count = 1 };

	kernels->push(&stand_in, &batch);
}

/* Of each interval the pair that was seen soonest.  Two that are near each other would tell a wrong rate, in microseconds. */
static void push_clock(const struct kernels *kernels)
{
	const EpprofClock clock = { .id = CLOCK, .kind = EPP_CLOCK_DEVICE, .ticks_per_second = 1000000 };
	const EpprofBatch batch = { .struct_size = sizeof batch, .clocks = &clock, .clocks_count = 1 };
	const struct cause *first = kernels->causes, *end = first + kernels->causes_count, *last = NULL;

	kernels->push(&stand_in, &batch);
	while (first < end) {
		const struct cause *best = first, *cause = first;
		for (; cause < end && cause->start_us < first->start_us + PAIR_EVERY_US; cause++) {
			if (delay_us(cause) < delay_us(best))
				best = cause;
		}
		if (!last || best->start_us - last->start_us >= PAIR_EVERY_US / 2)
			push_pair(kernels, last = best);
		first = cause;
	}
}

/* ---- events ---- */

/* The importer keeps what it cannot read as a number as text; an id in quotes is one. */
static bool arg_number(const epp_trace_arg *arg, int64_t *number)
{
	char text[24];
	const char *problem;

	if (arg->type == EPP_ARG_I64 || arg->type == EPP_ARG_U64) {
		*number = arg->value.i64;
		return true;
	}
	if (arg->type != EPP_ARG_TEXT || arg->text_bytes >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)arg->text_bytes, arg->value.text);
	*number = strtonum(text, INT64_MIN, INT64_MAX, &problem);
	return !problem;
}

/* Whose cause is known tells when the profile began: its correlation id is when the cause did. */
static void find_beginning(struct kernels *kernels, int64_t correlation, const epp_event *event)
{
	if (!kernels->profile_us && event->parent_track)
		kernels->profile_us = correlation - event->parent_start_ns / 1000;
}

/* Takes over the args, and with them what they say about the cause.  Returns how many there are. */
static size_t take_args(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event,
                        EpprofArg args[ARGS_MAX], uint64_t *parent)
{
	epp_trace_arg arg, cause_name;
	int64_t correlation;
	size_t cursor = 0, count = 0;
	bool is_correlated = false, is_named = false;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (strcmp(arg.key, "ort_correlation_id") == 0)
			is_correlated = arg_number(&arg, &correlation);
		if (strcmp(arg.key, "ort_event_name") == 0 && arg.type == EPP_ARG_TEXT) {
			cause_name = arg;
			is_named = true;
		}
		if (count == ARGS_MAX)
			continue;
		/* A key is valid as long as the trace, a text as long as the event. */
		args[count] = (EpprofArg){ .key = arg.key, .type = arg.type };
		if (arg.type == EPP_ARG_TEXT) {
			args[count].text = arg.value.text;
			args[count].text_bytes = arg.text_bytes;
		} else {
			args[count].number.u64 = arg.value.u64;
		}
		count++;
	}
	*parent = 0;
	if (is_correlated) {
		find_beginning(kernels, correlation, event);
		*parent = find_cause(kernels, correlation, -1, is_named ? &cause_name : NULL);
	}
	return count;
}

static epp_status *append(struct kernels *kernels, const epp_timeline *timeline, const epp_event *event)
{
	EpprofArg args[ARGS_MAX];
	EpprofEvent pushed = {
		.name = event->name,
		.args = args,
		.category = event->category,
		.device = event->track->device,
		.stream = event->track->stream,
		.clock = CLOCK,
	};
	const EpprofBatch batch = { .struct_size = sizeof batch, .events = &pushed, .events_count = 1 };

	pushed.args_count = (uint32_t)take_args(kernels, timeline, event, args, &pushed.parent);
	if (!kernels->profile_us)
		return epp_status_create(EPP_CORRUPT, "nothing in it tells when it began");
	if (!pushed.parent && event->parent_track)
		pushed.parent = find_cause(kernels, kernels->profile_us + event->parent_start_ns / 1000,
		                           (event->parent_end_ns - event->parent_start_ns) / 1000, NULL);
	pushed.start_ticks = (uint64_t)(kernels->profile_us + event->start_ns / 1000);
	pushed.end_ticks = pushed.start_ticks + (uint64_t)(event->duration_ns / 1000);
	if (!kernels->member) {
		epp_status *status = epp_session_join(kernels->recording, &stand_in, kernels->label, &kernels->member);
		if (status)
			return status;
		push_clock(kernels);
	}
	kernels->push(&stand_in, &batch);
	return NULL;
}

static epp_status *append_all(struct kernels *kernels, const char *imported)
{
	epp_timeline *timeline = NULL;
	const epp_event *event;
	epp_trace *trace;

	epp_status *status = epp_trace_open(imported, &trace);
	if (status)
		return status;
	status = epp_timeline_create(trace, NULL, &timeline);
	while (!status && epp_timeline_next(timeline, &event)) {
		if (event->kind == EPP_EVENT_SLICE && event->track->kind == EPP_TRACK_DEVICE)
			status = append(kernels, timeline, event);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_release(timeline);
	epp_trace_close(trace);
	return status;
}

/* What was repaired and guessed matters little here: the host's part is not taken. */
static void ignore_receipt(void *user, const char *text)
{
	(void)user, (void)text;
}

static epp_status *append_profile(struct kernels *kernels, const char *folder, const char *name)
{
	const epp_import_options options = { .struct_size = sizeof options, .format = "ort", .overwrite = 1 };
	char profile[1024], imported[1024];

	snprintf(profile, sizeof profile, "%s/%s", folder, name);
	snprintf(imported, sizeof imported, "%s/imported.epp", folder);
	kernels->profile_us = kernels->only_us;
	epp_status *status = epp_import_file(profile, imported, &options, ignore_receipt, NULL, NULL);
	return status ? status : append_all(kernels, imported);
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
	for (int i = 0; i < count; i++) {
		if (!status)
			status = append_profile(kernels, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return status;
}

epp_status *run_kernels_append(epp_session *recording, const char *folder, const char *label, enum run_kernels *from)
{
	struct kernels kernels = { .recording = recording, .label = label };

	*from = RUN_KERNELS_NONE;
	epp_status *status = epp_trace_open_session(recording, &kernels.recorded);
	if (!status)
		status = take_causes(&kernels);
	if (!status && kernels.causes_count && !kernels.has_device_events)
		status = append_profiles(&kernels, folder);
	if (kernels.has_device_events)
		*from = RUN_KERNELS_PUSHED;
	else if (kernels.member)
		*from = RUN_KERNELS_IMPORTED;
	epp_member_leave(kernels.member);
	free(kernels.causes);
	epp_trace_close(kernels.recorded);
	return epp_status_prefix(status, "ONNX Runtime's profile");
}
