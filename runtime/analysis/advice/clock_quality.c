/* The rule clock-quality: the times of a device are too uncertain to judge its gaps and overlaps. */
#include "analysis/advice/advice.h"

/* If there are more devices, further ones are left out. */
#define DEVICES_MOST 256u

struct clock_quality {
	struct device_errors {
		/* the events with the largest error bounds; gain and error_ns are sums of the bounds */
		struct advice_places places;
		int64_t durations_ns;
	} devices[DEVICES_MOST];
};

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct clock_quality *found = state;

	(void)pass;
	if (!event->device || event->device->index >= DEVICES_MOST)
		return NULL;
	struct device_errors *device = &found->devices[event->device->index];
	const epp_advice_place place = advice_place_of(event, event->event->start_error_ns);
	advice_places_add(&device->places, &place, 0);
	device->durations_ns += event->event->duration_ns;
	return NULL;
}

static epp_status *report(struct advice_pass *pass, struct device_errors *device)
{
	struct advice_places *places = &device->places;
	char error[ADVICE_TIME_BYTES], duration[ADVICE_TIME_BYTES];

	if (!places->count || places->gain_ns == 0)
		return NULL;
	if (places->gain_ns <= device->durations_ns / 2 && !pass->unclear)
		return NULL;
	advice_time(places->gain_ns / (int64_t)places->count, error);
	advice_time(device->durations_ns / (int64_t)places->count, duration);
	for (unsigned i = 0; i < ADVICE_PLACES; i++)
		places->top[i].gain_ns = 0;
	return advice_report_doubt(pass, &advice_clock_quality.rule, places,
	                           "%s: the start of an event is known within +- %s, its duration is %s (means).%s%s%s",
	                           places->top[0].track->group, error, duration, pass->unclear ? "  The rule " : "",
	                           pass->unclear ? pass->unclear->name : "",
	                           pass->unclear ? " found a gain that is not larger than its error." : "");
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct clock_quality *found = state;

	for (unsigned i = 0; i < DEVICES_MOST; i++)
		EPP_TRY(report(pass, &found->devices[i]));
	return NULL;
}

const struct advice_rule advice_clock_quality = {
	.rule = { .name = "clock-quality",
	          .title = "the times of a device are too uncertain",
	          .documentation = "Compares the error bounds of the starts of each device's events with their durations.  The finding has no\n"
	                           "gain: it means that gaps, overlaps and the order of events of this device cannot be trusted.  It\n"
	                           "is reported if the mean bound is more than half of the mean duration, or if another rule found a\n"
	                           "gain that is not larger than its error.\n",
	          .remedy = "Compare the clocks more often and closer (epprof info shows the comparisons), use the kit's "
	                    "clock samples, or measure longer work.",
	          .sql = "SELECT 0 AS gain_ns, count(*) AS places, group_name FROM timeline WHERE stream IS NOT NULL\n"
	                 "GROUP BY source, group_name HAVING sum(start_error_ns) > sum(duration_ns) / 2\n" },
	.state_bytes = sizeof(struct clock_quality),
	.process_event = process_event,
	.end = end
};
