/* Implements advice.h and epprof/advice.h: passes the events of a timeline to all rules. */
#include "analysis/advice/advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "base/options.h"
#include "containers/array.h"
#include "timeline/events/name_words.h"

static const struct advice_rule *const rules[] = {
	&advice_host_bound,    &advice_sync_waits,   &advice_cpu_fallback,    &advice_allocation,
	&advice_tiny_kernels,  &advice_copies_alone, &advice_repeated_copies, &advice_serialised_streams,
	&advice_queue_growth,  &advice_slow_outlier, &advice_warm_up,         &advice_imbalance,
	&advice_clock_quality,
};
#define RULES_COUNT (sizeof rules / sizeof *rules)

struct epp_advice {
	int64_t total_ns;
	struct advice_finding {
		epp_advice_finding finding;
		char *text;
		epp_advice_place places[ADVICE_PLACES];
	} * *findings;
	size_t findings_count, findings_room;
};

/* ---- functions by which rules report ---- */

void advice_places_add(struct advice_places *places, const epp_advice_place *place, int64_t error_ns)
{
	unsigned kept = places->count < ADVICE_PLACES ? (unsigned)places->count : ADVICE_PLACES;
	unsigned at = kept;

	places->count++;
	places->gain_ns += place->gain_ns;
	places->error_ns += error_ns;
	while (at && places->top[at - 1].gain_ns < place->gain_ns)
		at--;
	if (at == ADVICE_PLACES)
		return;
	if (kept == ADVICE_PLACES)
		kept--;
	memmove(&places->top[at + 1], &places->top[at], (kept - at) * sizeof *places->top);
	places->top[at] = *place;
}

static epp_status *add_finding(epp_advice *advice, const epp_advice_finding *finding,
                               const struct advice_places *places, const char *format, va_list args)
{
	if (!array_reserve(&advice->findings, &advice->findings_room, advice->findings_count + 1,
	                   sizeof(struct advice_finding *)))
		return epp_status_no_memory();
	struct advice_finding *made = calloc(1, sizeof *made);
	if (!made)
		return epp_status_no_memory();
	if (vasprintf(&made->text, format, args) < 0) {
		free(made);
		return epp_status_no_memory();
	}
	memcpy(made->places, places->top, sizeof made->places);
	made->finding = *finding;
	made->finding.text = made->text;
	made->finding.count = places->count;
	made->finding.places = made->places;
	made->finding.places_count = places->count < ADVICE_PLACES ? (size_t)places->count : ADVICE_PLACES;
	advice->findings[advice->findings_count++] = made;
	return NULL;
}

epp_status *advice_report(struct advice_pass *pass, const epp_advice_rule *rule, const struct advice_places *places,
                          epp_confidence confidence, const char *format, ...)
{
	va_list args;

	if (places->gain_ns <= 0 || places->gain_ns < (pass->last_ns - pass->first_ns) / 100 * EPP_ADVICE_LEAST_PERCENT)
		return NULL;
	if (places->gain_ns <= places->error_ns) {
		pass->unclear = rule;
		return NULL;
	}
	if (confidence > EPP_CONFIDENCE_LOW && places->gain_ns / 3 < places->error_ns)
		confidence--;
	va_start(args, format);
	epp_status *status = add_finding(
	    pass->advice,
	    &(epp_advice_finding){
		.rule = rule, .gain_ns = places->gain_ns, .gain_error_ns = places->error_ns, .confidence = confidence },
	    places, format, args);
	va_end(args);
	return status;
}

epp_status *advice_report_doubt(struct advice_pass *pass, const epp_advice_rule *rule,
                                const struct advice_places *places, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	epp_status *status = add_finding(
	    pass->advice, &(epp_advice_finding){ .rule = rule, .confidence = EPP_CONFIDENCE_HIGH }, places, format, args);
	va_end(args);
	return status;
}

const char *advice_time(int64_t ns, char text[ADVICE_TIME_BYTES])
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (ns >= units[i].ns) {
			snprintf(text, ADVICE_TIME_BYTES, "%.3g %s", (double)ns / (double)units[i].ns, units[i].name);
			return text;
		}
	}
	snprintf(text, ADVICE_TIME_BYTES, "%" PRId64 " ns", ns);
	return text;
}

/* ---- data for the rules ---- */

static struct advice_device *device_of(struct advice_pass *pass, const epp_event *event)
{
	const epp_trace_track *track = event->track;
	struct advice_device *device;

	for (device = pass->devices; device; device = device->next) {
		if (device_is_same(device->track, track))
			return device;
	}
	device = calloc(1, sizeof *device);
	if (device) {
		device->track = track;
		device->index = pass->devices_count++;
		device->busy_until_ns = INT64_MIN;
		device->next = pass->devices;
		pass->devices = device;
	}
	return device;
}

/* A kernel is tiny if it takes less than TINY_NS.  A gap between two tiny kernels is tiny if it takes at most
 * TINY_GAP_NS. */
#define TINY_NS 10000
#define TINY_GAP_NS 50000

static bool is_tiny(const struct advice_event *event)
{
	return event->work == WORK_KERNEL && event->event->duration_ns < TINY_NS;
}

/* Sets the cause of a gap before an event that the host launched when the device was idle already.  The gain is the
 * time that an earlier launch would have saved: the time in the gap during which a host event ran, and the time from
 * the launch to the start. */
static void find_host_cause(const struct advice_pass *pass, struct advice_gap *gap, const epp_event *event)
{
	int64_t host_ns = spans_covered(&pass->host, gap->from_ns, event->launch_ns);
	int64_t half_ns = (event->start_ns - gap->from_ns) / 2;

	if (!host_ns)
		return;
	gap->cause = GAP_FALLBACK;
	gap->gain_ns = spans_covered(&pass->fallbacks, gap->from_ns, event->launch_ns);
	/* Within a run, the launch must wait for the result of the node on the processor, so the node is the cause even
	 * if it is short. */
	if (gap->is_in_run && gap->gain_ns) {
		gap->gain_ns = host_ns + event->start_ns - event->launch_ns;
		return;
	}
	if (gap->gain_ns >= half_ns)
		return;
	gap->cause = GAP_ALLOCATION;
	gap->gain_ns = spans_covered(&pass->allocations, gap->from_ns, event->launch_ns);
	if (gap->gain_ns >= half_ns)
		return;
	gap->cause = spans_covered(&pass->waits, gap->from_ns, event->launch_ns) ? GAP_WAIT : GAP_HOST;
	gap->gain_ns = host_ns + event->start_ns - event->launch_ns;
}

static struct advice_gap gap_before(const struct advice_pass *pass, const struct advice_event *current)
{
	const struct advice_device *device = current->device;
	const epp_event *event = current->event;
	struct advice_gap gap = { .from_ns = device->busy_until_ns,
		                  .error_ns = device->busy_until_error_ns + event->start_error_ns,
		                  .is_in_run = pass->run_start_ns <= device->busy_until_ns && !pass->has_node_threads };

	if (gap.from_ns == INT64_MIN || gap.from_ns >= event->start_ns)
		return gap;
	gap.cause = GAP_OTHER;
	if (is_tiny(current) && device->is_tiny_last && event->start_ns - gap.from_ns <= TINY_GAP_NS) {
		gap.cause = GAP_TINY;
		gap.gain_ns = event->start_ns - gap.from_ns;
	} else if (event->launch_ns > gap.from_ns && event->launch_ns <= event->start_ns) {
		find_host_cause(pass, &gap, event);
	}
	return gap;
}

/* Returns true for a node that runs on the processor. */
static bool is_fallback(const struct advice_pass *pass, const epp_event *event)
{
	epp_trace_arg arg;

	if (event->category != EPP_NODE || !event->args_count)
		return false;
	for (size_t cursor = 0; work_next_arg(pass->timeline, event, &cursor, &arg);) {
		if (strcmp(arg.key, "provider") == 0 && arg.type == EPP_ARG_TEXT)
			return arg.text_bytes >= 3 && memcmp(arg.value.text, "CPU", 3) == 0;
	}
	return false;
}

#define IS_CLASSIFIED 1u
#define IS_ALLOCATION 2u
#define IS_WAIT 4u
/* The classes of names with a smaller number are cached.  A name with a larger number, which a damaged trace may have,
 * is classified for each event. */
#define CLASSES_MOST (1u << 20)

static unsigned classify(const char *name)
{
	return IS_CLASSIFIED | (name_is_allocation(name) ? IS_ALLOCATION : 0) | (name_is_wait(name) ? IS_WAIT : 0);
}

/* Returns the class of an event's name.  The class of each name is computed only once. */
static unsigned class_of(struct advice_pass *pass, const epp_event *event)
{
	uint32_t number = event->name_number;

	if (number >= CLASSES_MOST || !array_reserve_zeroed(&pass->classes, &pass->classes_room, number + (size_t)1, 1))
		return classify(event->name);
	if (!pass->classes[number])
		pass->classes[number] = (uint8_t)classify(event->name);
	return pass->classes[number];
}

static void process_host_event(struct advice_pass *pass, const epp_event *event, int64_t end_ns)
{
	if (event->kind != EPP_EVENT_SLICE)
		return;
	unsigned class = class_of(pass, event);
	/* A session event inside a run is that of a control-flow node (If, Loop), not of a new run. */
	if (event->category == EPP_SESSION && event->start_ns >= pass->run_end_ns) {
		pass->run_start_ns = event->start_ns;
		pass->run_end_ns = end_ns;
	}
	if (event->category == EPP_NODE) {
		pass->has_node_threads |= pass->node_track && pass->node_track != event->track;
		pass->node_track = event->track;
	}
	spans_add(&pass->host, event->start_ns, end_ns);
	if (is_fallback(pass, event))
		spans_add(&pass->fallbacks, event->start_ns, end_ns);
	if (class & IS_ALLOCATION)
		spans_add(&pass->allocations, event->start_ns, end_ns);
	if (event->category == EPP_API && class & IS_WAIT)
		spans_add(&pass->waits, event->start_ns, end_ns);
}

epp_status *advice_pass_process(struct advice_pass *pass, const epp_event *event)
{
	struct advice_event current = { .event = event,
		                        .end_ns = event->start_ns + event->duration_ns,
		                        .error_ns = event->start_error_ns + event->end_error_ns };

	if (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC)
		return NULL;
	if (pass->first_ns == INT64_MAX)
		pass->first_ns = event->start_ns;
	if (current.end_ns > pass->last_ns)
		pass->last_ns = current.end_ns;
	if (event->track->kind == EPP_TRACK_DEVICE) {
		current.device = device_of(pass, event);
		if (!current.device)
			return epp_status_no_memory();
		current.work = work_of(pass->timeline, event);
		current.gap = gap_before(pass, &current);
	} else {
		process_host_event(pass, event, current.end_ns);
	}
	for (size_t i = 0; i < RULES_COUNT; i++)
		EPP_TRY(rules[i]->process_event(pass, pass->states[i], &current));
	if (current.device && current.end_ns >= current.device->busy_until_ns) {
		current.device->busy_until_ns = current.end_ns;
		current.device->busy_until_error_ns = event->end_error_ns;
		current.device->is_tiny_last = is_tiny(&current);
	}
	return NULL;
}

static int by_gain(const void *a, const void *b)
{
	const struct advice_finding *left = *(struct advice_finding *const *)a,
				    *right = *(struct advice_finding *const *)b;

	return (left->finding.gain_ns < right->finding.gain_ns) - (left->finding.gain_ns > right->finding.gain_ns);
}

epp_status *advice_pass_end(struct advice_pass *pass, const epp_advice **advice)
{
	epp_advice *made = pass->advice;

	*advice = made;
	if (pass->first_ns == INT64_MAX)
		return NULL;
	made->total_ns = pass->last_ns - pass->first_ns;
	for (size_t i = 0; i < RULES_COUNT; i++)
		EPP_TRY(rules[i]->end(pass, pass->states[i]));
	if (made->findings_count)
		qsort(made->findings, made->findings_count, sizeof(struct advice_finding *), by_gain);
	return NULL;
}

epp_status *advice_pass_create(const epp_timeline *timeline, struct advice_pass **pass)
{
	struct advice_pass *made = calloc(1, sizeof *made);

	*pass = made;
	if (!made)
		return epp_status_no_memory();
	made->timeline = timeline;
	made->first_ns = INT64_MAX;
	made->last_ns = INT64_MIN;
	made->run_start_ns = made->run_end_ns = INT64_MIN;
	made->advice = calloc(1, sizeof *made->advice);
	made->states = calloc(RULES_COUNT, sizeof *made->states);
	for (size_t i = 0; made->states && i < RULES_COUNT; i++)
		made->states[i] = calloc(1, rules[i]->state_bytes);
	bool is_complete = made->advice && made->states;
	for (size_t i = 0; is_complete && i < RULES_COUNT; i++)
		is_complete = made->states[i] != NULL;
	if (is_complete)
		return NULL;
	advice_pass_destroy(made);
	*pass = NULL;
	return epp_status_no_memory();
}

void advice_pass_destroy(struct advice_pass *pass)
{
	if (!pass)
		return;
	for (size_t i = 0; pass->states && i < RULES_COUNT; i++) {
		if (pass->states[i] && rules[i]->deinit)
			rules[i]->deinit(pass->states[i]);
		free(pass->states[i]);
	}
	free(pass->states);
	free(pass->classes);
	for (struct advice_device *device = pass->devices, *next; device; device = next) {
		next = device->next;
		free(device);
	}
	epp_advice_destroy(pass->advice);
	free(pass);
}

/* ---- the public functions ---- */

static epp_status *process_all(struct advice_pass *pass, epp_timeline *timeline)
{
	const epp_event *event;

	while (epp_timeline_next(timeline, &event))
		EPP_TRY(advice_pass_process(pass, event));
	return epp_timeline_status(timeline);
}

epp_status *epp_advice_create(epp_trace *trace, const epp_timeline_options *options, epp_advice **advice)
{
	struct advice_pass *pass = NULL;
	epp_timeline *timeline = NULL;
	const epp_advice *made;

	*advice = NULL;
	epp_timeline_options own;
	EPP_TRY(options_take(&own, sizeof own, options, "timeline options"));
	own.struct_size = sizeof own;
	own.unweighted = 1; /* rules are about the events in the trace, not about those that they represent */
	epp_status *status = epp_timeline_create(trace, &own, &timeline);
	if (!status)
		status = advice_pass_create(timeline, &pass);
	if (!status)
		status = process_all(pass, timeline);
	if (!status)
		status = advice_pass_end(pass, &made);
	if (!status) {
		*advice = pass->advice;
		pass->advice = NULL;
	}
	advice_pass_destroy(pass);
	epp_timeline_destroy(timeline);
	return status;
}

const char *epp_confidence_name(unsigned confidence)
{
	static const char *const names[] = { "low", "medium", "high" };

	return confidence < EPP_CONFIDENCE_COUNT ? names[confidence] : "unknown";
}

const epp_advice_rule *epp_advice_rule_at(size_t index)
{
	return index < RULES_COUNT ? &rules[index]->rule : NULL;
}

int64_t epp_advice_total_ns(const epp_advice *advice)
{
	return advice->total_ns;
}

size_t epp_advice_findings_count(const epp_advice *advice)
{
	return advice->findings_count;
}

const epp_advice_finding *epp_advice_finding_at(const epp_advice *advice, size_t index)
{
	return index < advice->findings_count ? &advice->findings[index]->finding : NULL;
}

void epp_advice_destroy(epp_advice *advice)
{
	if (!advice)
		return;
	for (size_t i = 0; i < advice->findings_count; i++) {
		free(advice->findings[i]->text);
		free(advice->findings[i]);
	}
	free(advice->findings);
	free(advice);
}
