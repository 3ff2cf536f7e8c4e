/* The rule copies-alone: copies run while no kernel runs, although they could overlap. */
#include <stdlib.h>

#include "analysis/advice/advice.h"
#include "containers/array.h"

/* The rule reports nothing if a device has fewer copies, because these are not a pipeline. */
#define COPIES_LEAST 4u

/* The times when copies, or kernels, ran on a device. */
struct work_time {
	struct spans spans;
	int64_t until_ns, total_ns; /* end of the last event; total time in which at least one event ran */
};

struct device_copies {
	struct work_time kernels, copies;
	struct advice_places places; /* copies; the gain is the part of a copy in which no kernel ran */
	int64_t overlap_ns, error_ns, largest_ns;
};

struct copies_alone {
	struct device_copies **devices; /* by advice_device.index */
	size_t room;
};

static struct device_copies *copies_of(struct copies_alone *found, uint32_t index)
{
	if (!array_reserve_zeroed(&found->devices, &found->room, (size_t)index + 1, sizeof(struct device_copies *)))
		return NULL;
	if (!found->devices[index])
		found->devices[index] = calloc(1, sizeof **found->devices);
	return found->devices[index];
}

/* Adds an event to the times of its kind (`work`).  The event adds the part of its time in which no earlier event of
 * its kind ran.  Returns for how long events of the other kind ran in this part.  Only events of the other kind that
 * started earlier count here; an event that starts later counts the overlap when it is added. */
static int64_t add_work(struct work_time *work, const struct work_time *other, int64_t start_ns, int64_t end_ns)
{
	int64_t from_ns = work->spans.count && work->until_ns > start_ns ? work->until_ns : start_ns;

	spans_add(&work->spans, start_ns, end_ns);
	if (end_ns <= from_ns)
		return 0;
	work->until_ns = end_ns;
	work->total_ns += end_ns - from_ns;
	return spans_covered(&other->spans, from_ns, end_ns);
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	int64_t start_ns = event->event->start_ns, duration_ns = event->event->duration_ns;

	(void)pass;
	if (!event->device || event->work == WORK_FILL)
		return NULL;
	struct device_copies *device = copies_of(state, event->device->index);
	if (!device)
		return epp_status_no_memory();
	bool is_copy = work_is_copy(event->work);
	int64_t overlap_ns = add_work(is_copy ? &device->copies : &device->kernels,
	                              is_copy ? &device->kernels : &device->copies, start_ns, event->end_ns);
	device->overlap_ns += overlap_ns;
	if (!is_copy)
		return NULL;
	const epp_advice_place place = advice_place_of(event, duration_ns - overlap_ns);
	advice_places_add(&device->places, &place, event->error_ns);
	if (duration_ns > device->largest_ns)
		device->largest_ns = duration_ns;
	return NULL;
}

static epp_status *report(struct advice_pass *pass, struct device_copies *device)
{
	int64_t copies_ns = device->copies.total_ns - device->overlap_ns;
	int64_t kernels_ns = device->kernels.total_ns - device->overlap_ns;
	char copies[ADVICE_TIME_BYTES], kernels[ADVICE_TIME_BYTES];

	if (device->places.count < COPIES_LEAST)
		return NULL;
	device->places.gain_ns = (copies_ns < kernels_ns ? copies_ns : kernels_ns) - device->largest_ns;
	device->places.error_ns += device->largest_ns;
	if (device->places.gain_ns <= device->largest_ns)
		return NULL;
	return advice_report(pass, &advice_copies_alone.rule, &device->places, EPP_CONFIDENCE_MEDIUM,
	                     "%s: for %s, copies ran and no kernel; for %s, kernels ran and no copy.",
	                     device->places.top[0].track->group, advice_time(copies_ns, copies),
	                     advice_time(kernels_ns, kernels));
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct copies_alone *found = state;

	for (size_t i = 0; i < found->room; i++)
		if (found->devices[i])
			EPP_TRY(report(pass, found->devices[i]));
	return NULL;
}

static void deinit(void *state)
{
	struct copies_alone *found = state;

	for (size_t i = 0; i < found->room; i++)
		free(found->devices[i]);
	free(found->devices);
}

const struct advice_rule advice_copies_alone = {
	.rule = { .name = "copies-alone",
	          .title = "copies do not overlap with kernels",
	          .documentation =
	              "Compares, for each device, the time in which copies ran and no kernel with the time in which\n"
	              "kernels ran and no copy.  If copies and kernels overlapped, the smaller of the two would be saved,\n"
	              "except for one copy, the longest: the first copy has nothing to overlap with.  The error includes\n"
	              "another copy of that length.  Fills are not counted; a device with fewer than 4 copies is left out.\n",
	          .remedy = "Copy the next batch while the present one is computed: a stream of its own for copies, two "
	                    "buffers, pinned host memory.",
	          .sql = "SELECT min(copy_ns, kernel_ns) - longest_ns AS gain_ns, copies AS places FROM (\n"
	                 "  SELECT sum(duration_ns) FILTER (WHERE work LIKE 'copy%') AS copy_ns,\n"
	                 "    sum(duration_ns) FILTER (WHERE work = 'kernel') AS kernel_ns,\n"
	                 "    max(duration_ns) FILTER (WHERE work LIKE 'copy%') AS longest_ns,\n"
	                 "    count(*) FILTER (WHERE work LIKE 'copy%') AS copies\n"
	                 "  FROM timeline d WHERE stream IS NOT NULL AND NOT EXISTS (\n"
	                 "    SELECT 1 FROM timeline o WHERE o.source = d.source AND o.group_name = d.group_name\n"
	                 "      AND (o.work = 'kernel') <> (d.work = 'kernel')\n"
	                 "      AND o.start_ns < d.start_ns + d.duration_ns AND o.start_ns + o.duration_ns > d.start_ns)\n"
	                 "  GROUP BY source, group_name)\n"
	                 "WHERE copies >= 4\n" },
	.state_bytes = sizeof(struct copies_alone),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
