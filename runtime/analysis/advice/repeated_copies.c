/* The rule repeated-copies: each run of the model copies the same number of bytes to the device under the same node.
 *
 * What a copy costs depends on the first kernel behind it.  If this kernel was launched before the copy ended, it
 * waited for the copy on the device: the cost is the time that the copy adds to the device's work, with the time in
 * which the device did nothing because the host prepared the copy.  If the kernel was launched after the copy, the host
 * was the reason for the delay: the cost is the time that the host spent in the call that launched the copy, and in
 * waits until it launched the kernel.  It is not more than the time for which no kernel ran, because the kernel could
 * not have started earlier. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/advice/name_statistics.h"

#define RUNS_LEAST 10u
/* Limits for a thread: names of events that are runs, and nodes that enclose each other.  Further ones are left out. */
#define RUN_NAMES 4u
#define NODES_DEEP 8u
/* Limit for a node: groups of copies that differ in name, size or thread. */
#define GROUPS_MOST 8u
/* Size of the table of host events, in which device events find their cause. */
#define CAUSES_COUNT 16384u
/* Number of copies of a device that are kept until the next kernel starts. */
#define PENDING_MOST 256u

/* Runs of one name on one thread: events of category session that are not inside another one. */
struct runs {
	uint32_t name_number;
	uint64_t count;
};

/* Copies that cannot be distinguished by the trace: same thread, node, name and size. */
struct group {
	const struct runs *runs;
	uint32_t name_number;
	uint64_t bytes;
	uint64_t run, first_run, runs_count; /* `run` is the number of the last run with such a copy, from 1 */
	uint64_t copies, copies_each;        /* `copies`: number in the last run so far; `copies_each`: number in each
	                                        run before it */
	bool is_unequal;
	struct advice_places places; /* copies in all runs but the first while no kernel ran */
};

struct node {
	struct advice_name named;
	struct group *groups[GROUPS_MOST];
	unsigned groups_count;
};

struct thread {
	struct runs runs[RUN_NAMES];
	unsigned runs_count;
	struct runs *current; /* the entry of `runs` to which the current run belongs */
	int64_t run_end_ns;
	struct {
		struct node *node;
		int64_t end_ns;
	} open[NODES_DEEP];
	unsigned open_count;
};

/* The run and the node to which a host event belongs. */
struct cause {
	uint64_t id, run;
	uint32_t source;
	bool is_call; /* a call into the runtime or the driver */
	const struct runs *runs;
	struct node *node;
};

struct pending_copy {
	struct group *group;    /* NULL: the copy is not to be counted */
	epp_advice_place place; /* place.gain_ns is the copy's cost if the next kernel waited for the copy on the
	                           device */
	int64_t host_ns;        /* the copy's cost if the host launched the next kernel after the copy */
	int64_t error_ns;
};

struct device_copies {
	int64_t kernels_until_ns;
	/* The copies since the last kernel. */
	struct pending_copy pending[PENDING_MOST];
	unsigned pending_count;
	int64_t end_ns;  /* the end of the last copy */
	int64_t host_ns; /* the end of the last call that launched a pending copy; INT64_MIN: a copy was not launched by
	                    a call */
};

struct repeated_copies {
	struct advice_names nodes;
	struct hash_map threads; /* finds struct thread by source and track */
	struct hash_map devices; /* finds struct device_copies by the index of the device */
	struct cause *causes;    /* CAUSES_COUNT entries, by a hash of the id; NULL: no event was added yet */
};

/* ---- host events ---- */

static struct thread *thread_of(struct repeated_copies *found, const epp_trace_track *track)
{
	uint64_t key = (uint64_t)track->source << 32 | track->track;
	struct thread *thread = hash_map_pointer(&found->threads, key);

	if (thread)
		return thread;
	thread = calloc(1, sizeof *thread);
	if (thread && hash_map_add(&found->threads, key, (uintptr_t)thread))
		return thread;
	free(thread);
	return NULL;
}

static void begin_run(struct thread *thread, const epp_event *event, int64_t end_ns)
{
	unsigned i = 0;

	while (i < thread->runs_count && thread->runs[i].name_number != event->name_number)
		i++;
	if (i == RUN_NAMES)
		return;
	if (i == thread->runs_count)
		thread->runs[thread->runs_count++].name_number = event->name_number;
	thread->current = &thread->runs[i];
	thread->current->count++;
	thread->run_end_ns = end_ns;
}

static epp_status *add_cause(struct repeated_copies *found, const struct thread *thread, const epp_event *event)
{
	if (!found->causes)
		found->causes = calloc(CAUSES_COUNT, sizeof *found->causes);
	if (!found->causes)
		return epp_status_no_memory();
	found->causes[hash_u64(event->id) % CAUSES_COUNT] = (struct cause){
		.id = event->id,
		.run = thread->current->count,
		.source = event->track->source,
		.is_call = event->category == EPP_API,
		.runs = thread->current,
		.node = thread->open[thread->open_count - 1].node
	};
	return NULL;
}

static epp_status *process_host_event(struct repeated_copies *found, const struct advice_event *current)
{
	const epp_event *event = current->event;
	const epp_trace_track *track = event->track->thread ? event->track->thread : event->track;
	struct advice_name *named = NULL;

	if (event->kind != EPP_EVENT_SLICE || track->kind != EPP_TRACK_THREAD)
		return NULL;
	struct thread *thread = thread_of(found, track);
	if (!thread)
		return epp_status_no_memory();
	if (thread->current && event->start_ns >= thread->run_end_ns)
		thread->current = NULL;
	while (thread->open_count && event->start_ns >= thread->open[thread->open_count - 1].end_ns)
		thread->open_count--;
	if (event->category == EPP_SESSION && !thread->current)
		begin_run(thread, event, current->end_ns);
	if (event->category == EPP_NODE && thread->open_count < NODES_DEEP)
		EPP_TRY(advice_names_of(&found->nodes, event, event->track->source, sizeof(struct node), &named));
	if (named) {
		thread->open[thread->open_count].node = (struct node *)named;
		thread->open[thread->open_count++].end_ns = current->end_ns;
	}
	if (event->flags & EPP_FLAG_REFERENCED && thread->current && thread->open_count)
		return add_cause(found, thread, event);
	return NULL;
}

/* ---- device events ---- */

static void commit(const struct pending_copy *copy, int64_t gain_ns)
{
	epp_advice_place place = copy->place;

	place.gain_ns = gain_ns;
	if (copy->group && gain_ns > 0)
		advice_places_add(&copy->group->places, &place, copy->error_ns);
}

/* Returns true if each pending copy was launched by a call, and the host launched the kernel after the last copy and
 * the last of these calls had ended. */
static bool is_launched_behind(const struct device_copies *device, const struct advice_event *kernel)
{
	int64_t launch_ns = kernel->event->launch_ns;

	return device->host_ns != INT64_MIN && launch_ns != INT64_MIN && launch_ns >= device->host_ns &&
	       launch_ns >= device->end_ns - kernel->error_ns;
}

/* Adds the pending copies, those since the last kernel, to their groups with their costs.  `kernel` is the next kernel;
 * NULL: there is none.  A copy that had not ended when this kernel started is dropped. */
static void commit_pending(struct device_copies *device, const struct advice_pass *pass, const struct advice_event *kernel)
{
	bool is_host = kernel && device->pending_count && is_launched_behind(device, kernel);
	int64_t most_ns = INT64_MAX;

	if (is_host) {
		device->pending[device->pending_count - 1].host_ns += spans_covered(&pass->waits, device->host_ns,
		                                                                    kernel->event->launch_ns);
		if (device->kernels_until_ns != INT64_MIN)
			most_ns = kernel->event->start_ns - device->kernels_until_ns;
	}
	for (unsigned i = 0; i < device->pending_count; i++) {
		const struct pending_copy *copy = &device->pending[i];
		int64_t gain_ns = copy->place.gain_ns;
		if (is_host) {
			gain_ns = copy->host_ns < most_ns ? copy->host_ns : most_ns;
			most_ns -= gain_ns;
		}
		if (!kernel || copy->place.end_ns <= kernel->event->start_ns)
			commit(copy, gain_ns);
	}
	device->pending_count = 0;
}

static struct device_copies *copies_of(struct repeated_copies *found, uint32_t index)
{
	struct device_copies *device = hash_map_pointer(&found->devices, index);

	if (device)
		return device;
	device = calloc(1, sizeof *device);
	if (device && hash_map_add(&found->devices, index, (uintptr_t)device)) {
		device->kernels_until_ns = INT64_MIN;
		return device;
	}
	free(device);
	return NULL;
}

static const struct cause *cause_of(const struct repeated_copies *found, const epp_event *event)
{
	if (!found->causes || !event->parent)
		return NULL;
	const struct cause *cause = &found->causes[hash_u64(event->parent) % CAUSES_COUNT];
	return cause->id == event->parent && cause->source == event->track->source ? cause : NULL;
}

/* Finds or adds the group of a copy.  *group is NULL if the node has GROUPS_MOST other groups already. */
static epp_status *group_of(const struct cause *cause, const epp_event *event, uint64_t bytes, struct group **group)
{
	struct node *node = cause->node;

	*group = NULL;
	for (unsigned i = 0; i < node->groups_count; i++) {
		struct group *one = node->groups[i];
		if (one->runs == cause->runs && one->name_number == event->name_number && one->bytes == bytes) {
			*group = one;
			return NULL;
		}
	}
	if (node->groups_count == GROUPS_MOST)
		return NULL;
	*group = calloc(1, sizeof **group);
	if (!*group)
		return epp_status_no_memory();
	**group = (struct group){
		.runs = cause->runs, .name_number = event->name_number, .bytes = bytes, .first_run = cause->run
	};
	node->groups[node->groups_count++] = *group;
	return NULL;
}

/* Ends the last run of a group.  If it has another number of copies than the run before, the copies do not repeat. */
static void end_run(struct group *group)
{
	if (group->runs_count > 1 && group->copies != group->copies_each)
		group->is_unequal = true;
	group->copies_each = group->copies;
	group->copies = 0;
}

static void count_copy(struct group *group, uint64_t run)
{
	if (run != group->run) {
		if (group->run)
			end_run(group);
		group->is_unequal = group->is_unequal || run < group->run;
		group->run = run;
		group->runs_count++;
	}
	group->copies++;
}

static bool is_submit_measured(const struct advice_pass *pass, const epp_event *event)
{
	epp_trace_arg arg;

	for (size_t cursor = 0; work_next_arg(pass->timeline, event, &cursor, &arg);)
		if (strcmp(arg.key, "launch_ns") == 0)
			return event->launch_ns != INT64_MIN;
	return false;
}

/* Returns the time that a copy adds to the work of its device.  If the copy's submission was measured: from the
 * submission, or from the end of the device's earlier work if that is later, to the end of the copy.  Else: the
 * duration of the call that launched the copy, as far as it is between the earlier work and the copy, plus the duration
 * of the copy.  The time between the call and the copy does not count, because any launch takes such a time. */
static int64_t device_cost(const struct advice_pass *pass, const struct advice_event *current, bool is_call)
{
	const epp_event *event = current->event;
	int64_t from_ns = event->start_ns, until_ns = event->start_ns, busy_ns = current->device->busy_until_ns;

	if (is_call) {
		from_ns = event->parent_start_ns;
		until_ns = event->parent_end_ns;
	} else if (is_submit_measured(pass, event)) {
		from_ns = event->launch_ns;
	}
	if (until_ns > event->start_ns)
		until_ns = event->start_ns;
	if (from_ns < busy_ns)
		from_ns = busy_ns;
	int64_t before_ns = until_ns > from_ns ? until_ns - from_ns : 0;
	int64_t start_ns = event->start_ns < busy_ns ? busy_ns : event->start_ns;
	return before_ns + (current->end_ns > start_ns ? current->end_ns - start_ns : 0);
}

/* Returns the time that the host spent for a copy: in the call that launched it, and in waits for the device between
 * the previous copy's call and this one.  0 if a pending copy was not launched by a call. */
static int64_t host_cost(struct device_copies *device, const struct advice_pass *pass, const epp_event *event, bool is_call)
{
	int64_t from_ns = event->parent_start_ns, until_ns = device->pending_count ? device->host_ns : from_ns;
	int64_t ns = 0;

	if (!is_call || until_ns == INT64_MIN) {
		device->host_ns = INT64_MIN;
		return 0;
	}
	if (until_ns < from_ns)
		ns = spans_covered(&pass->waits, until_ns, from_ns);
	else
		from_ns = until_ns;
	if (event->parent_end_ns > from_ns) {
		ns += event->parent_end_ns - from_ns;
		until_ns = event->parent_end_ns;
	}
	device->host_ns = until_ns;
	return ns;
}

static epp_status *process_copy(struct repeated_copies *found, struct device_copies *device,
                                const struct advice_pass *pass, const struct advice_event *current)
{
	const epp_event *event = current->event;
	const struct cause *cause = cause_of(found, event);
	struct group *group = NULL;
	uint64_t bytes = 0;

	if (!cause || !work_add_bytes(pass->timeline, event, &bytes))
		return NULL;
	EPP_TRY(group_of(cause, event, bytes, &group));
	if (!group)
		return NULL;
	count_copy(group, cause->run);
	if (cause->run == group->first_run || device->kernels_until_ns > event->start_ns)
		group = NULL;
	if (device->pending_count == PENDING_MOST) {
		commit(&device->pending[0], device->pending[0].place.gain_ns);
		memmove(device->pending, device->pending + 1, --device->pending_count * sizeof *device->pending);
	}
	if (!device->pending_count || current->end_ns > device->end_ns)
		device->end_ns = current->end_ns;
	struct pending_copy copy = { .group = group,
		                     .place = advice_place_of(current, device_cost(pass, current, cause->is_call)),
		                     .host_ns = host_cost(device, pass, event, cause->is_call),
		                     .error_ns = current->error_ns };
	device->pending[device->pending_count++] = copy;
	return NULL;
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct repeated_copies *found = state;

	if (!event->device)
		return process_host_event(found, event);
	struct device_copies *device = copies_of(found, event->device->index);
	if (!device)
		return epp_status_no_memory();
	if (event->work == WORK_KERNEL) {
		commit_pending(device, pass, event);
		if (event->end_ns > device->kernels_until_ns)
			device->kernels_until_ns = event->end_ns;
	}
	return event->work == WORK_COPY_IN ? process_copy(found, device, pass, event) : NULL;
}

/* ---- the finding ---- */

static bool is_in_each_run(struct group *group)
{
	end_run(group);
	return !group->is_unequal && group->runs_count >= RUNS_LEAST && group->runs_count == group->runs->count;
}

struct sum {
	struct advice_places places;
	uint64_t count;
	int64_t gain_ns, error_ns;
	const struct node *node; /* node of the group with the largest gain */
	const struct group *largest;
	unsigned groups_count;
};

static void add_group(struct sum *sum, const struct node *node, const struct group *group)
{
	for (unsigned i = 0; i < ADVICE_PLACES && i < group->places.count; i++)
		advice_places_add(&sum->places, &group->places.top[i], 0);
	sum->count += group->places.count;
	sum->gain_ns += group->places.gain_ns;
	sum->error_ns += group->places.error_ns;
	sum->groups_count++;
	if (sum->largest && group->places.gain_ns <= sum->largest->places.gain_ns)
		return;
	sum->largest = group;
	sum->node = node;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct repeated_copies *found = state;
	struct sum sum = { 0 };
	const struct node *node;
	char others[64] = "";

	for (size_t i = 0; i < found->devices.count; i++)
		commit_pending((struct device_copies *)(uintptr_t)found->devices.entries[i].value, pass, NULL);
	for (size_t i = 0; (node = advice_names_at(&found->nodes, i)); i++)
		for (unsigned at = 0; at < node->groups_count; at++)
			if (is_in_each_run(node->groups[at]) && node->groups[at]->places.count)
				add_group(&sum, node, node->groups[at]);
	if (!sum.largest)
		return NULL;
	sum.places.count = sum.count;
	sum.places.gain_ns = sum.gain_ns;
	sum.places.error_ns = sum.error_ns;
	if (sum.groups_count > 1)
		snprintf(others, sizeof others, "  There are %u other groups of such copies.", sum.groups_count - 1);
	return advice_report(pass, &advice_repeated_copies.rule, &sum.places, EPP_CONFIDENCE_LOW,
	                     "%s: %" PRIu64 " cop%s to the device of equal size, %" PRIu64
	                     " bytes, under the same node in each of %" PRIu64
	                     " runs.  Whether the data is the same is not in the trace.%s",
	                     sum.node->named.name, sum.largest->copies_each, sum.largest->copies_each == 1 ? "y" : "ies",
	                     sum.largest->bytes, sum.largest->runs_count, others);
}

static void destroy_values(struct hash_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free((void *)(uintptr_t)map->entries[i].value);
	hash_map_deinit(map);
}

static void deinit(void *state)
{
	struct repeated_copies *found = state;
	struct node *node;

	for (size_t i = 0; (node = advice_names_at(&found->nodes, i)); i++)
		for (unsigned at = 0; at < node->groups_count; at++)
			free(node->groups[at]);
	advice_names_deinit(&found->nodes);
	destroy_values(&found->threads);
	destroy_values(&found->devices);
	free(found->causes);
}

const struct advice_rule advice_repeated_copies = {
	.rule = { .name = "repeated-copies",
	          .title = "each run copies as many bytes to the device under the same node",
	          .documentation =
	              "Looks at copies to a device with the arg bytes, which a host event launched inside a node and a run.  A\n"
	              "run is an event of category session that no other one encloses.  Copies of one name and size under nodes of\n"
	              "one name are reported if each run of a thread has the same number of them, at least 10 runs.  Copies of\n"
	              "the first run, and those that overlap with a kernel, have no gain.  For the others it depends on the next kernel:\n"
	              "  launched before the copy ended     the time that the copy adds to the device's work, with the time of the\n"
	              "                                     call that launched it, or from its measured submission on\n"
	              "  launched after the copy and its    the time of the host in this call, and in waits from then to the launch of\n"
	              "  call ended                         the kernel; at most the time from the kernel before to this kernel\n"
	              "A trace does not show what data was copied: weights would not have to be copied again, but inputs have\n"
	              "equal sizes, too.  So the confidence is low.  Copies from the device are not counted.\n",
	          .remedy = "If this is data that does not change, such as weights, copy it once and keep it on the device.  If these "
	                    "are inputs, bind them to memory of the device.",
	          .sql = "WITH s AS (SELECT s.source, s.track, s.name, s.start_ns, s.start_ns + s.duration_ns AS end_ns FROM timeline s\n"
	                 "  LEFT JOIN timeline o ON o.id = s.parent AND o.source = s.source AND o.category = 'Session'\n"
	                 "  WHERE s.thread_id IS NOT NULL AND s.kind = 'slice' AND s.category = 'Session' AND o.id IS NULL),\n"
	                 "r AS (SELECT *, count(*) OVER (PARTITION BY source, track, name) AS runs,\n"
	                 "  row_number() OVER (PARTITION BY source, track, name ORDER BY start_ns) AS turn FROM s),\n"
	                 "w AS (SELECT d.event, d.source, d.group_name, d.name, d.work, d.start_ns, d.start_ns + d.duration_ns AS end_ns,\n"
	                 "    h.track, h.category = 'Api' AS is_call, h.start_ns AS call_ns, h.start_ns + h.duration_ns AS call_end_ns,\n"
	                 "    coalesce(d.start_ns - s.value, h.start_ns) AS launch_ns, s.value IS NOT NULL AS is_submitted FROM timeline d\n"
	                 "  LEFT JOIN timeline h ON h.id = d.parent AND h.source = d.source\n"
	                 "  LEFT JOIN args s ON s.event = d.event AND s.key = 'launch_ns' WHERE d.stream IS NOT NULL),\n"
	                 "v AS (SELECT *, max(end_ns) OVER before AS busy_ns, max(end_ns) FILTER (WHERE work = 'kernel') OVER before AS kernel_ns,\n"
	                 "    min(start_ns) FILTER (WHERE work = 'kernel') OVER behind AS next_ns,\n"
	                 "    min(launch_ns) FILTER (WHERE work = 'kernel') OVER behind AS next_launch_ns FROM w\n"
	                 "  WINDOW before AS (PARTITION BY source, group_name ORDER BY event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),\n"
	                 "    behind AS (PARTITION BY source, group_name ORDER BY event DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),\n"
	                 "c AS (SELECT d.source, d.name AS copy, value AS bytes, d.track, r.name AS run, runs, turn,\n"
	                 "    (SELECT n.name FROM timeline n WHERE n.source = d.source AND n.track = d.track AND n.kind = 'slice'\n"
	                 "      AND n.category = 'Node' AND n.start_ns <= call_ns AND n.start_ns + n.duration_ns > call_ns\n"
	                 "      ORDER BY n.depth DESC LIMIT 1) AS node,\n"
	                 "    coalesce(next_ns >= d.end_ns, true) AND coalesce(kernel_ns <= d.start_ns, true) AS alone,\n"
	                 "    CASE WHEN is_call AND next_launch_ns >= call_end_ns AND next_launch_ns >= d.end_ns THEN\n"
	                 "      min(coalesce(next_ns - kernel_ns, 9e18), call_end_ns - call_ns + (SELECT coalesce(sum(o.duration_ns), 0) FROM timeline o\n"
	                 "        WHERE o.source = d.source AND o.category = 'Api' AND (o.name LIKE '%sync%' OR o.name LIKE '%wait%')\n"
	                 "          AND o.start_ns >= call_end_ns AND o.start_ns + o.duration_ns <= next_launch_ns))\n"
	                 "    ELSE d.end_ns - max(d.start_ns, coalesce(busy_ns, d.start_ns)) + max(0, CASE WHEN is_call THEN min(call_end_ns, d.start_ns)\n"
	                 "      WHEN is_submitted THEN d.start_ns ELSE 0 END - max(launch_ns, coalesce(busy_ns, launch_ns))) END AS cost_ns\n"
	                 "  FROM v d JOIN args ON args.event = d.event AND key = 'bytes'\n"
	                 "  JOIN r ON r.source = d.source AND r.track = d.track AND call_ns >= r.start_ns AND call_ns < r.end_ns\n"
	                 "  WHERE d.work = 'copy in'),\n"
	                 "g AS (SELECT *, count(*) AS copies, sum(cost_ns) FILTER (WHERE alone AND turn > 1) AS alone_ns,\n"
	                 "  count(*) FILTER (WHERE alone AND turn > 1 AND cost_ns > 0) AS places FROM c WHERE node IS NOT NULL\n"
	                 "  GROUP BY source, track, run, node, copy, bytes, turn)\n"
	                 "SELECT sum(gain_ns) AS gain_ns, sum(places) AS places, group_concat(DISTINCT node) AS nodes FROM (\n"
	                 "  SELECT node, sum(alone_ns) AS gain_ns, sum(places) AS places FROM g\n"
	                 "  GROUP BY source, track, run, node, copy, bytes\n"
	                 "  HAVING count(*) = max(runs) AND count(*) >= 10 AND min(copies) = max(copies))\n" },
	.state_bytes = sizeof(struct repeated_copies),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
