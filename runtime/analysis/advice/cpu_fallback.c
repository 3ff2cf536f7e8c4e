/* The rule cpu-fallback: nodes of a model run on the processor between nodes on a device. */
#include <stdlib.h>

#include "analysis/advice/advice.h"
#include "containers/array.h"

/* State for each device.  Within a run, a node on the processor also causes the copies before and after it.  The place
 * that is reported is therefore from the end of the kernel before the node to the start of the kernel after it. */
struct device_kernels {
	int64_t from_ns, from_error_ns;   /* the last end of a kernel; INT64_MIN: there was none */
	int64_t other_ns, other_error_ns; /* since from_ns: the sum of gaps that are not part of the gain: other rules
	                                     count them, or no host event ran */
	int64_t end_ns, end_error_ns;     /* the last end of an event */
	bool is_open;                     /* since from_ns, a node ran on the processor; `place` is the place to
	                                     report */
	epp_advice_place place;
};

struct cpu_fallback {
	struct device_kernels **devices; /* by advice_device.index */
	size_t room;
	struct advice_places places;
};

static struct device_kernels *device_of(struct cpu_fallback *found, uint32_t index)
{
	if (!array_reserve_zeroed(&found->devices, &found->room, (size_t)index + 1, sizeof(struct device_kernels *)))
		return NULL;
	if (!found->devices[index]) {
		found->devices[index] = calloc(1, sizeof **found->devices);
		if (found->devices[index])
			found->devices[index]->from_ns = found->devices[index]->end_ns = INT64_MIN;
	}
	return found->devices[index];
}

static void open_place(struct device_kernels *device, const struct advice_pass *pass, const struct advice_event *event)
{
	if (device->is_open)
		return;
	if (device->from_ns < pass->run_start_ns || device->from_ns == INT64_MIN) {
		device->from_ns = event->gap.from_ns;
		device->from_error_ns = event->gap.error_ns;
		device->other_ns = device->other_error_ns = 0;
	}
	device->is_open = true;
	device->place = advice_place_before(event);
	device->place.start_ns = device->from_ns;
}

static void close_place(struct cpu_fallback *found, struct device_kernels *device, int64_t end_ns, int64_t error_ns)
{
	if (!device->is_open)
		return;
	device->is_open = false;
	device->place.end_ns = end_ns;
	device->place.gain_ns = end_ns - device->from_ns - device->other_ns;
	advice_places_add(&found->places, &device->place, device->from_error_ns + device->other_error_ns + error_ns);
}

static void process_gap(struct cpu_fallback *found, struct device_kernels *device, const struct advice_pass *pass,
                        const struct advice_event *event)
{
	const struct advice_gap *gap = &event->gap;
	int64_t gap_ns = event->event->start_ns - gap->from_ns;

	if (gap->cause == GAP_FALLBACK && gap->is_in_run) {
		open_place(device, pass, event);
		gap_ns -= gap->gain_ns;
	} else if (!gap->is_in_run) {
		close_place(found, device, device->end_ns, device->end_error_ns);
		advice_places_add_gap(&found->places, event, GAP_FALLBACK);
	}
	if (gap_ns > 0 && event->event->launch_ns > gap->from_ns) {
		device->other_ns += gap_ns;
		device->other_error_ns += gap->error_ns;
	}
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct cpu_fallback *found = state;

	if (!event->device)
		return NULL;
	struct device_kernels *device = device_of(found, event->device->index);
	if (!device)
		return epp_status_no_memory();
	if (event->gap.cause != GAP_NONE)
		process_gap(found, device, pass, event);
	if (event->end_ns >= device->end_ns) {
		device->end_ns = event->end_ns;
		device->end_error_ns = event->event->end_error_ns;
	}
	if (event->work != WORK_KERNEL)
		return NULL;
	close_place(found, device, event->event->start_ns, event->event->start_error_ns);
	if (event->end_ns < device->from_ns)
		return NULL;
	device->from_ns = event->end_ns;
	device->from_error_ns = event->event->end_error_ns;
	device->other_ns = device->other_error_ns = 0;
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct cpu_fallback *found = state;
	char gain[ADVICE_TIME_BYTES];

	for (size_t i = 0; i < found->room; i++)
		if (found->devices[i])
			close_place(found, found->devices[i], found->devices[i]->end_ns, found->devices[i]->end_error_ns);
	return advice_report(pass, &advice_cpu_fallback.rule, &found->places, EPP_CONFIDENCE_MEDIUM,
	                     "Devices ran no kernel %llu times, %s in total, because a node ran on the processor.",
	                     (unsigned long long)found->places.count, advice_time(found->places.gain_ns, gain));
}

static void deinit(void *state)
{
	struct cpu_fallback *found = state;

	for (size_t i = 0; i < found->room; i++)
		free(found->devices[i]);
	free(found->devices);
}

const struct advice_rule advice_cpu_fallback = {
	.rule = { .name = "cpu-fallback",
	          .title = "nodes run on the processor between nodes on a device",
	          .documentation =
	              "Looks at gaps before events that are launched after the device became idle, and in which the host was in a\n"
	              "node whose execution provider is the processor: its arg provider begins with CPU.  If no run began in the\n"
	              "gap, and all nodes are of one thread, the node also costs a wait, a launch and copies: the gain is the time\n"
	              "from the end of the kernel before to the start of the kernel after it, without gaps that other rules explain.\n"
	              "Otherwise the gap counts if such nodes cover at least half of it, and the gain is the time of these nodes.  A\n"
	              "run is an event of category session.  On the device the nodes take some of the gain.  The SQL includes the\n"
	              "gaps that other rules explain, and takes all nodes as of one thread.\n",
	          .remedy = "Use an operator or a data type that the execution provider supports, or move the node to the "
	                    "begin or the end of the model.",
	          .sql = ADVICE_SQL_GAPS
	          ", c AS (SELECT g.source, g.group_name, g.start_ns, busy_until_ns, launch_ns,\n"
	          "    sum(min(n.start_ns + n.duration_ns, launch_ns) - max(n.start_ns, busy_until_ns)) AS node_ns\n"
	          "  FROM g JOIN timeline n ON n.source = g.source AND n.start_ns < launch_ns AND n.start_ns + n.duration_ns > busy_until_ns\n"
	          "  JOIN args a ON a.event = n.event AND a.key = 'provider' AND a.value LIKE 'CPU%'\n"
	          "  WHERE n.category = 'Node' GROUP BY g.source, g.group_name, g.start_ns),\n"
	          "r AS (SELECT *, (SELECT max(s.start_ns) FROM timeline s WHERE s.source = c.source AND s.category = 'Session'\n"
	          "    AND s.kind = 'slice' AND s.start_ns <= c.start_ns) AS run_ns FROM c),\n"
	          "k AS (SELECT *, (SELECT max(d.start_ns + d.duration_ns) FROM timeline d WHERE d.source = r.source\n"
	          "      AND d.group_name = r.group_name AND d.stream IS NOT NULL AND d.work = 'kernel'\n"
	          "      AND d.start_ns < busy_until_ns AND d.start_ns + d.duration_ns >= ifnull(run_ns, d.start_ns)) AS kernel_end_ns,\n"
	          "    (SELECT min(d.start_ns) FROM timeline d WHERE d.source = r.source AND d.group_name = r.group_name\n"
	          "      AND d.stream IS NOT NULL AND d.work = 'kernel' AND d.start_ns >= r.start_ns) AS kernel_ns FROM r),\n"
	          "p AS (SELECT CASE WHEN ifnull(run_ns <= busy_until_ns, 1)\n"
	          "    THEN ifnull(kernel_ns, start_ns) - ifnull(kernel_end_ns, busy_until_ns)\n"
	          "    WHEN 2 * node_ns >= start_ns - busy_until_ns THEN node_ns END AS gain_ns\n"
	          "  FROM k GROUP BY source, group_name, ifnull(kernel_ns, start_ns))\n"
	          "SELECT sum(gain_ns) AS gain_ns, count(gain_ns) AS places FROM p\n" },
	.state_bytes = sizeof(struct cpu_fallback),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
