/* The rule serialised-streams: kernels of different streams run one after the other, although nothing but the other
 * stream kept them from running at once. */
#include <stdlib.h>

#include "analysis/advice/advice.h"
#include "containers/array.h"
#include "containers/hash_map.h"

/* A kernel is assumed to have waited for another kernel if it starts at most START_NS after the other's end. */
#define START_NS 20000

struct device_streams {
	const epp_trace_track *last; /* stream of the device's kernel with the latest end so far, which the next members
	                                describe, too */
	int64_t last_start_ns, last_end_ns, last_error_ns;
	bool is_paired; /* that kernel is part of a pair already */
	/* time in which kernels of different streams overlap; sum of the durations of all kernels */
	int64_t overlap_ns, durations_ns;
	struct advice_places places;
};

struct serialised_streams {
	struct device_streams **devices; /* by advice_device.index */
	size_t room;
	struct hash_map ends; /* finds the end of a stream's last kernel by its track */
};

static struct device_streams *device_of(struct serialised_streams *found, uint32_t index)
{
	if (!array_reserve_zeroed(&found->devices, &found->room, (size_t)index + 1, sizeof(struct device_streams *)))
		return NULL;
	if (!found->devices[index])
		found->devices[index] = calloc(1, sizeof **found->devices);
	return found->devices[index];
}

/* Adds a pair: a kernel began when the last kernel of another stream ended.  It could have begun at `ready_ns`, when it
 * was launched and its own stream was free.  The gain is the time in which the two kernels could have overlapped, which
 * is at most the duration of the shorter one. */
static bool add_pair(struct device_streams *device, const struct advice_event *event, int64_t ready_ns)
{
	int64_t start_ns = event->event->start_ns, last_ns = device->last_end_ns - device->last_start_ns;

	if (device->is_paired || event->event->launch_ns == INT64_MIN || start_ns - device->last_end_ns > START_NS)
		return false;
	int64_t gain_ns = device->last_end_ns - ready_ns;
	if (gain_ns > last_ns)
		gain_ns = last_ns;
	if (gain_ns > event->event->duration_ns)
		gain_ns = event->event->duration_ns;
	if (gain_ns <= 0)
		return false;
	const epp_advice_place place = advice_place_of(event, gain_ns);
	advice_places_add(&device->places, &place, event->error_ns + device->last_error_ns);
	return true;
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct serialised_streams *found = state;
	int64_t start_ns = event->event->start_ns;
	bool is_paired = false;

	(void)pass;
	if (!event->device || event->work != WORK_KERNEL)
		return NULL;
	struct device_streams *device = device_of(found, event->device->index);
	uint64_t *stream_end = hash_map_find(&found->ends, event->event->track->track);
	if (!device || (!stream_end && !hash_map_add(&found->ends, event->event->track->track, (uint64_t)event->end_ns)))
		return epp_status_no_memory();
	int64_t ready_ns = event->event->launch_ns;
	if (stream_end && (int64_t)*stream_end > ready_ns)
		ready_ns = (int64_t)*stream_end;
	if (stream_end)
		*stream_end = (uint64_t)event->end_ns;
	device->durations_ns += event->event->duration_ns;
	if (device->last && device->last != event->event->track) {
		if (start_ns < device->last_end_ns)
			device->overlap_ns += device->last_end_ns < event->end_ns ? device->last_end_ns - start_ns
			                                                          : event->event->duration_ns;
		else
			is_paired = add_pair(device, event, ready_ns);
	}
	if (device->last && event->end_ns < device->last_end_ns)
		return NULL;
	device->last = event->event->track;
	device->last_start_ns = start_ns;
	device->last_end_ns = event->end_ns;
	device->last_error_ns = event->error_ns;
	device->is_paired = is_paired;
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct serialised_streams *found = state;

	for (size_t i = 0; i < found->room; i++) {
		const struct device_streams *device = found->devices[i];
		/* Nothing is reported if kernels of different streams overlap for more than 1 % of the time of all
		 * kernels: those that do not overlap may then depend on each other. */
		if (!device || !device->places.count || device->overlap_ns > device->durations_ns / 100)
			continue;
		EPP_TRY(advice_report(pass, &advice_serialised_streams.rule, &device->places, EPP_CONFIDENCE_LOW,
		                      "%s: %llu kernels began when a kernel of another stream ended; kernels of different "
		                      "streams never ran at once.",
		                      device->last->group, (unsigned long long)device->places.count));
	}
	return NULL;
}

static void deinit(void *state)
{
	struct serialised_streams *found = state;

	for (size_t i = 0; i < found->room; i++)
		free(found->devices[i]);
	free(found->devices);
	hash_map_deinit(&found->ends);
}

const struct advice_rule advice_serialised_streams = {
	.rule = { .name = "serialised-streams",
	          .title = "kernels of different streams run one after the other",
	          .documentation =
	              "Looks for a kernel that was launched, and whose stream was free, while a kernel of another stream of\n"
	              "the device ran, and that began within 20 us after the end of that one.  The two could have run at\n"
	              "once: the gain is the time for which the second one was ready, at most the shorter of the two.\n"
	              "Each kernel counts in one pair.  A device on which kernels of different streams overlap for more\n"
	              "than 1 % of their time is left out.  The trace does not show whether the second kernel needs the result\n"
	              "of the first, or whether each fills the device: therefore the confidence is low.\n",
	          .remedy = "Look for what orders the streams: the default stream, a wait for an event, a lock in the "
	                    "driver, or one hardware queue for all streams.",
	          .sql = "WITH k AS (SELECT d.source, d.group_name, d.event, d.track, d.start_ns, d.duration_ns,\n"
	                 "    h.start_ns AS launch_ns, lag(d.track) OVER w AS last_track, lag(d.start_ns) OVER w AS last_start_ns,\n"
	                 "    lag(d.start_ns + d.duration_ns) OVER w AS last_end_ns,\n"
	                 "    lag(d.start_ns + d.duration_ns) OVER (PARTITION BY d.track ORDER BY d.event) AS stream_end_ns\n"
	                 "  FROM timeline d LEFT JOIN timeline h ON h.id = d.parent AND h.source = d.source AND h.kind = 'slice'\n"
	                 "  WHERE d.stream IS NOT NULL AND d.work = 'kernel'\n"
	                 "  WINDOW w AS (PARTITION BY d.source, d.group_name ORDER BY d.event)),\n"
	                 "p AS (SELECT *, CASE WHEN track <> last_track AND start_ns BETWEEN last_end_ns AND last_end_ns + 20000\n"
	                 "    THEN max(min(last_end_ns - max(launch_ns, ifnull(stream_end_ns, launch_ns)), duration_ns,\n"
	                 "      last_end_ns - last_start_ns), 0) ELSE 0 END AS ready_ns FROM k),\n"
	                 "c AS (SELECT *, sum(ready_ns = 0) OVER (PARTITION BY source, group_name ORDER BY event) AS chain FROM p)\n"
	                 "SELECT sum(ready_ns) AS gain_ns, count(*) AS places FROM (SELECT *,\n"
	                 "    row_number() OVER (PARTITION BY source, group_name, chain ORDER BY event) AS place FROM c)\n"
	                 "WHERE ready_ns > 0 AND place % 2 = 0\n" },
	.state_bytes = sizeof(struct serialised_streams),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
