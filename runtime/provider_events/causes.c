/* Finds the host events of a recording that caused the device events in ONNX Runtime's profile.  An event that several
 * host events could have caused is ambiguous.
 *
 * The correlation of a device event is the time at which its cause began, and the recording has this time for each host
 * event.  If several threads began the same node in the same microsecond, the cause is the one on the thread that the
 * event names; without a thread, it is the only one during which the event can have run. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "provider_events/provider_events.h"

/* largest difference between the clocks of a profile and of a recording, if neither clock was set */
#define EARLY_NS 2000000000
#define EFFECT_US_PER_ERROR_US 2000 /* 500 ppm: assumed error of the rate of a clock that was compared only once */

/* Returns the number of a provider; 0: there are too many providers, or there is no memory. */
static uint32_t provider_number(struct causes *causes, const epp_trace_arg *name)
{
	for (uint32_t i = 0; i < causes->providers_count; i++) {
		const char *known = causes->providers[i];
		if (strlen(known) == name->text_bytes && memcmp(known, name->value.text, name->text_bytes) == 0)
			return i + 1;
	}
	char *copy = causes->providers_count < CAUSES_PROVIDERS_MAX ? strndup(name->value.text, name->text_bytes) : NULL;
	if (!copy)
		return 0;
	causes->providers[causes->providers_count] = copy;
	return ++causes->providers_count;
}

static epp_status *read_id(struct causes *causes, const epp_event *event)
{
	return event->id ? multiset_add(&causes->ids, event->id) : NULL;
}

static epp_status *read_device_event(struct causes *causes, const epp_event *event)
{
	causes->has_device_events = true;
	if (causes->wants_parents && event->parent)
		EPP_TRY(multiset_add(&causes->parents, event->parent));
	return read_id(causes, event);
}

/* Sets has_events for each provider whose nodes caused device events in the recording. */
static void find_providers_with_events(struct causes *causes)
{
	multiset_sort(&causes->parents);
	for (size_t i = 0; i < causes->count && causes->parents.count; i++) {
		const struct cause *cause = &causes->causes[i];
		if (cause->provider && multiset_take(&causes->parents, cause->id))
			causes->has_events[cause->provider - 1] = true;
	}
}

static epp_status *read_cause(struct causes *causes, const epp_timeline *timeline, const epp_event *event)
{
	struct cause cause = { .id = event->id,
		               .name = event->name_number,
		               .thread = event->track->thread_id,
		               .started_us = -1,
		               .start_ticks = event->start_ticks };
	int64_t since_us = 0;
	epp_trace_arg arg;
	size_t cursor = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type == EPP_ARG_TEXT && strcmp(arg.key, "provider") == 0)
			cause.provider = provider_number(causes, &arg);
		if (arg.type == EPP_ARG_TEXT || arg.type == EPP_ARG_F64)
			continue;
		if (strcmp(arg.key, "ort_ts_us") == 0)
			since_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_dur_us") == 0)
			cause.duration_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_profile_us") == 0)
			cause.profile_us = arg.value.i64;
		else if (strcmp(arg.key, "ort_started_us") == 0)
			cause.started_us = arg.value.i64;
	}
	if (!cause.profile_us)
		return read_id(causes, event);
	if (causes->wanted_us && cause.profile_us != causes->wanted_us)
		return NULL;
	causes->has_first |= cause.started_us >= 0;
	if (cause.started_us >= 0 && since_us - cause.started_us > causes->bracket_us)
		causes->bracket_us = since_us - cause.started_us;
	causes->only_us = !causes->count || causes->only_us == cause.profile_us ? cause.profile_us : 0;
	cause.start_us = cause.profile_us + since_us;
	if (!array_reserve(&causes->causes, &causes->room, causes->count + 1, sizeof *causes->causes))
		return epp_status_no_memory();
	causes->causes[causes->count++] = cause;
	return NULL;
}

/* Orders by start.  Of events that began at the same time, the innermost is first, which has the largest id. */
static int by_start(const void *a, const void *b)
{
	const struct cause *left = a, *right = b;

	if (left->start_us != right->start_us)
		return left->start_us < right->start_us ? -1 : 1;
	return (left->id < right->id) - (left->id > right->id);
}

/* Adds the events of the recording that end at `from_ns` or later. */
static epp_status *read_from(struct causes *causes, int64_t from_ns)
{
	const epp_timeline_options options = {
		.struct_size = sizeof options, .from_ns = from_ns, .to_ns = from_ns ? INT64_MAX : 0, .unweighted = 1
	};
	epp_timeline *timeline;
	const epp_event *event;

	epp_status *status = epp_timeline_create(causes->recorded, &options, &timeline);
	if (status)
		return status;
	while (!status && epp_timeline_next(timeline, &event)) {
		if (event->kind != EPP_EVENT_SLICE)
			continue;
		status = event->track->kind == EPP_TRACK_DEVICE ? read_device_event(causes, event)
		                                                : read_cause(causes, timeline, event);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

/* If the start of the profile is known, only events since this start are read.  If the first event of the profile is
 * not among them, the clock was set in between, and all events are read. */
epp_status *causes_take(struct causes *causes, epp_trace *recorded)
{
	int64_t from_ns = 0;

	causes->recorded = recorded;
	if (causes->wanted_us)
		from_ns = causes->wanted_us * 1000 - epp_trace_get_info(recorded)->epoch_unix_ns - EARLY_NS;
	epp_status *status = read_from(causes, from_ns > 0 ? from_ns : 0);
	if (!status && from_ns > 0 && !causes->has_first) {
		causes->count = causes->ids.count = causes->parents.count = 0;
		status = read_from(causes, 0);
	}
	multiset_sort(&causes->ids);
	find_providers_with_events(causes);
	if (causes->count)
		qsort(causes->causes, causes->count, sizeof *causes->causes, by_start);
	return status;
}

void causes_deinit(struct causes *causes)
{
	for (uint32_t i = 0; i < causes->providers_count; i++)
		free(causes->providers[i]);
	multiset_deinit(&causes->ids);
	multiset_deinit(&causes->parents);
	free(causes->causes);
	memset(causes, 0, sizeof *causes);
}

static bool matches_reported(const struct causes *causes, const struct cause *cause, const struct effect *effect)
{
	const epp_trace_arg *name = effect->cause_name;
	size_t bytes;
	const char *text = epp_trace_name(causes->recorded, cause->name, &bytes);

	return (effect->cause_duration_us < 0 || effect->cause_duration_us == cause->duration_us) &&
	       (!name || (name->text_bytes == bytes && memcmp(name->value.text, text, bytes) == 0));
}

static int preference(const struct cause *cause, const struct effect *effect)
{
	return 2 * (cause->profile_us == effect->profile_us) + (cause->thread == effect->cause_thread);
}

/* Returns true if the cause may enclose the effect.  The effect's time may be early by the duration of the providers'
 * start, and wrong by the error of the provider's clock. */
static bool may_hold(const struct causes *causes, const struct cause *cause, const struct effect *effect)
{
	int64_t error_us = 2 + effect->end_us / EFFECT_US_PER_ERROR_US;

	return cause->profile_us + effect->start_us + causes->bracket_us + error_us >= cause->start_us &&
	       cause->profile_us + effect->end_us - error_us <= cause->start_us + cause->duration_us;
}

/* Returns true if the causes before this one include an event of the same thread.  Such an event is inside this one,
 * because inner events come first. */
static bool has_thread(const struct cause *first, const struct cause *end, const struct cause *cause,
                       const struct causes *causes, const struct effect *effect)
{
	for (; first < end; first++) {
		if (first->thread == cause->thread && first->profile_us == cause->profile_us &&
		    matches_reported(causes, first, effect))
			return true;
	}
	return false;
}

static const struct cause *first_at(const struct causes *causes, int64_t start_us)
{
	size_t low = 0, high = causes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (causes->causes[middle].start_us < start_us)
			low = middle + 1;
		else
			high = middle;
	}
	return causes->causes + low;
}

size_t causes_find(const struct causes *causes, const struct effect *effect, const struct cause **cause)
{
	const struct cause *first = first_at(causes, effect->cause_start_us), *end = causes->causes + causes->count;
	const struct cause *any = NULL, *holding = NULL;
	size_t count = 0, holding_count = 0;
	int best = -1;

	for (const struct cause *each = first; each < end && each->start_us == effect->cause_start_us; each++) {
		int preferred = preference(each, effect);
		if (preferred < best || !matches_reported(causes, each, effect) ||
		    has_thread(first, each, each, causes, effect))
			continue;
		if (preferred > best)
			count = holding_count = 0;
		best = preferred;
		count++;
		any = each;
		if (may_hold(causes, each, effect)) {
			holding_count++;
			holding = each;
		}
	}
	*cause = count == 1 ? any : holding_count == 1 ? holding : NULL;
	return count;
}
