/* Implements accumulator.h.  Events come in order of start.  For each lane, a stack has the events that enclose the
 * current one, by depth, each with its line (the entry of its name in a table).  The duration of an event is subtracted
 * from the own time (self_ns) of the line of the event around it. */
#include "analysis/accumulator.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/weighted.h"
#include "base/options.h"
#include "base/status.h"
#include "base/weight.h"
#include "containers/array.h"
#include "epprof/summary.h"
#include "timeline/events/readable_name.h"

/* ---- idle time ---- */

/* Adds the idle gap [from_ns, event->start_ns) of a device before `event` to the reasons for it, in parts. */
static void divide_idle_gap(int64_t idle_ns[EPP_IDLE_COUNT], const struct spans *copies, int64_t from_ns,
                            const epp_event *event)
{
	int64_t until_ns = event->start_ns, launch_ns = event->launch_ns;

	if (launch_ns == INT64_MIN) {
		idle_ns[EPP_IDLE_UNKNOWN] += until_ns - from_ns;
		return;
	}
	launch_ns = launch_ns < from_ns ? from_ns : launch_ns > until_ns ? until_ns : launch_ns;
	int64_t copy_ns = spans_covered(copies, launch_ns, until_ns);
	idle_ns[EPP_IDLE_UNLAUNCHED] += launch_ns - from_ns;
	idle_ns[EPP_IDLE_COPY] += copy_ns;
	idle_ns[EPP_IDLE_LATE] += until_ns - launch_ns - copy_ns;
}

/* ---- accumulator ---- */

#define DEPTH_MAX 128u
/* In accumulator->runs, the key of a track's last weight, besides those of the classes 0 to 20. */
#define RUN_KEY_WEIGHT 31u

struct accumulator_stack {
	struct accumulator_line *by_name[DEPTH_MAX];
	uint32_t weights[DEPTH_MAX];
};

static void line_destroy(struct accumulator_line *line)
{
	if (!line)
		return;
	histogram_deinit(&line->durations);
	histogram_deinit(&line->launches);
	if (line->gaps)
		histogram_deinit(line->gaps);
	if (line->errors)
		histogram_deinit(line->errors);
	free(line->errors);
	free(line->gaps);
	free(line->name);
	free(line->detail);
	free(line);
}

static int by_text(const void *a, const void *b)
{
	const struct accumulator_line *one = a, *other = b;
	const epp_summary_line *left = &one->line, *right = &other->line;
	size_t shorter = left->name_bytes < right->name_bytes ? left->name_bytes : right->name_bytes;
	int order = memcmp(left->name, right->name, shorter);

	if (!order)
		order = (left->name_bytes > right->name_bytes) - (left->name_bytes < right->name_bytes);
	if (!order)
		order = (left->category > right->category) - (left->category < right->category);
	return order ? order : strcmp(one->detail ? one->detail : "", other->detail ? other->detail : "");
}

static struct accumulator_line *add_line(struct accumulator_table *table, uint64_t key, const char *name, size_t name_bytes)
{
	struct accumulator_line *line = calloc(1, sizeof *line);

	if (!line ||
	    !array_reserve(&table->lines, &table->lines_room, table->lines_count + 1, sizeof(struct accumulator_line *)))
		goto fail;
	line->name = malloc(name_bytes + 1);
	if (!line->name)
		goto fail;
	memcpy(line->name, name, name_bytes);
	line->name[name_bytes] = '\0';
	line->line = (epp_summary_line){
		.name = line->name, .name_bytes = name_bytes, .durations = &line->durations, .launches = &line->launches
	};
	line->busy_until_ns = INT64_MIN;
	line->index = (uint32_t)table->lines_count;
	if (!hash_map_add(&table->index, key, (uintptr_t)line))
		goto fail;
	table->lines[table->lines_count++] = line;
	return line;
fail:
	line_destroy(line);
	return NULL;
}

/* The name of a line, and its detail: a second text, which distinguishes lines with the same name (see struct
 * accumulator_line). */
struct named {
	const char *name;
	size_t name_bytes;
	const char *detail; /* NULL: there is no such text */
	uint32_t category;
};

/* Finds or adds the line of a name whose key is not in table->index yet.  There may be a line with the same texts and
 * another key. */
static struct accumulator_line *new_line_by_name(struct accumulator_table *table, const struct named *named, uint64_t key)
{
	static const char others[] = "(other names)";
	const struct accumulator_line text = {
		.line = { .name = named->name, .name_bytes = named->name_bytes, .category = named->category },
		.detail = (char *)(uintptr_t)named->detail
	};
	struct accumulator_line *const *found = tfind(&text, &table->by_text, by_text);
	struct accumulator_line *line;

	if (found)
		return hash_map_add(&table->index, key, (uintptr_t)*found) ? *found : NULL;
	if (table->lines_count >= ACCUMULATOR_LINES_MAX) {
		line = hash_map_pointer(&table->index, UINT64_MAX);
		return line ? line : add_line(table, UINT64_MAX, others, sizeof others - 1);
	}
	line = add_line(table, key, named->name, named->name_bytes);
	if (!line)
		return NULL;
	line->line.category = named->category;
	if (named->detail && !(line->detail = strdup(named->detail)))
		return NULL;
	return tsearch(line, &table->by_text, by_text) ? line : NULL;
}

/* Finds or adds the line of an event's name.  For a kernel, `type` is the line of the operator type that caused it;
 * NULL: the event is no kernel, or its type is not known. */
static struct accumulator_line *line_by_name(struct accumulator_table *table, const epp_event *event,
                                             const struct accumulator_line *type)
{
	uint64_t key = (type ? type->index + UINT64_C(1) : 0) << 40 | (uint64_t)event->name_number << 8 | event->category;
	struct accumulator_line *line = hash_map_pointer(&table->index, key);

	if (line)
		return line;
	const struct named named = { .name = event->name,
		                     .name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category),
		                     .detail = type ? type->line.name : NULL,
		                     .category = event->category };
	line = new_line_by_name(table, &named, key);
	if (line && type)
		line->line.op_type = line->detail;
	return line;
}

/* ---- operator types ---- */

struct node_args {
	epp_trace_arg op, provider; /* args of a node; the key is NULL if the arg is missing */
};

static void read_arg(struct node_args *found, const epp_trace_arg *arg)
{
	if (arg->type != EPP_ARG_TEXT)
		return;
	if (arg->key_bytes == strlen("op_name") && memcmp(arg->key, "op_name", arg->key_bytes) == 0)
		found->op = *arg;
	else if (arg->key_bytes == strlen("provider") && memcmp(arg->key, "provider", arg->key_bytes) == 0)
		found->provider = *arg;
}

static struct node_args node_args(const epp_timeline *timeline, const epp_event *event)
{
	struct node_args found = { 0 };
	epp_trace_arg arg;
	size_t cursor = 0;

	if (timeline) {
		while ((!found.op.key || !found.provider.key) && epp_event_args(timeline, event, &cursor, &arg))
			read_arg(&found, &arg);
	} else {
		const epp_trace_arg *args = event->args;
		for (uint32_t i = 0; i < event->args_count; i++)
			read_arg(&found, &args[i]);
	}
	return found;
}

static bool is_type(const struct accumulator_line *type, const struct node_args *args)
{
	const char *provider = type->detail ? type->detail : "";

	return type->line.name_bytes == args->op.text_bytes &&
	       memcmp(type->line.name, args->op.value.text, args->op.text_bytes) == 0 &&
	       strlen(provider) == args->provider.text_bytes &&
	       (!args->provider.text_bytes || memcmp(provider, args->provider.value.text, args->provider.text_bytes) == 0);
}

/* Finds or adds the line of an operator type with these texts.  The key of a new line is its index, which is unique. */
static struct accumulator_line *new_type(struct accumulator *accumulator, const struct node_args *args)
{
	struct accumulator_table *table = &accumulator->tables[EPP_BY_OP_TYPE];
	char *provider = args->provider.key ? strndup(args->provider.value.text, args->provider.text_bytes) : NULL;

	if (args->provider.key && !provider)
		return NULL;
	const struct named named = { .name = args->op.value.text, .name_bytes = args->op.text_bytes, .detail = provider };
	for (size_t i = 0; i < table->lines_count; i++) {
		if (is_type(table->lines[i], args)) {
			free(provider);
			return table->lines[i];
		}
	}
	struct accumulator_line *line = new_line_by_name(table, &named, table->lines_count);
	free(provider);
	if (line)
		line->line.provider = line->detail;
	return line;
}

/* Sets the operator type of a node's line from the args of this event.  Returns false if there is no memory. */
static bool add_type(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event,
                     struct accumulator_line *named)
{
	if (event->category != EPP_NODE || !event->args_count)
		return true;
	const struct node_args args = node_args(timeline, event);
	if (!args.op.key || !args.op.text_bytes)
		return true;
	if (!named->type || !is_type(named->type, &args)) {
		named->type = new_type(accumulator, &args);
		if (!named->type)
			return false;
		named->line.op_type = named->type->line.name;
	}
	return true;
}

/* ---- causes of device events ---- */

/* Returns the index of the first entry of the set for an event id, in a cache of `entries` entries.  A set has
 * ACCUMULATOR_WAYS entries, the newest first. */
static size_t first_of_set(uint64_t id, uint32_t source, size_t entries)
{
	uint64_t hash = (id ^ (uint64_t)source << 48) * UINT64_C(0x9E3779B97F4A7C15);

	return (hash >> 32) % (entries / ACCUMULATOR_WAYS) * ACCUMULATOR_WAYS;
}

static bool add_caused(struct accumulator_line *line, const struct accumulator_caused *caused)
{
	line->line.device_count += caused->weight;
	add_weighted(&line->line.device_ns, caused->duration_ns, caused->weight);
	return caused->launch_ns == INT64_MIN || histogram_add_many(&line->launches, caused->launch_ns, caused->weight);
}

/* Adds a device event to the line of the host event that caused it, and to the line of that event's operator type, if
 * it has one. */
static bool add_to_cause(const struct accumulator_cause *cause, const struct accumulator_caused *caused)
{
	return add_caused(cause->named, caused) && (!cause->type || add_caused(cause->type, caused));
}

/* Adds the stored device events whose cause this is, and which came before it. */
static bool add_early(struct accumulator *accumulator, const struct accumulator_cause *cause)
{
	if (!accumulator->early)
		return true;
	struct accumulator_early *set = accumulator->early + first_of_set(cause->id, cause->source, ACCUMULATOR_EARLY);
	for (unsigned way = 0; way < ACCUMULATOR_WAYS; way++) {
		if (set[way].parent != cause->id || set[way].source != cause->source)
			continue;
		set[way].parent = 0;
		if (!add_to_cause(cause, &set[way].caused))
			return false;
	}
	return true;
}

/* Stores a host event that may cause device events, so that later device events are added to its line and to that of
 * its operator type.  Adds its device events that came earlier.  Returns false if there is no memory. */
static bool add_cause(struct accumulator *accumulator, const epp_event *event, struct accumulator_line *named)
{
	if (!accumulator->causes)
		accumulator->causes = calloc(ACCUMULATOR_CAUSES, sizeof *accumulator->causes);
	if (!accumulator->causes)
		return false;
	struct accumulator_cause *set = accumulator->causes +
	                                first_of_set(event->id, event->track->source, ACCUMULATOR_CAUSES);
	memmove(set + 1, set, (ACCUMULATOR_WAYS - 1) * sizeof *set);
	*set = (struct accumulator_cause){ event->id, named, named->type, event->track->source };
	return add_early(accumulator, set);
}

static const struct accumulator_cause *cause_of(const struct accumulator *accumulator, const epp_event *event)
{
	if (!accumulator->causes || !event->parent)
		return NULL;
	const struct accumulator_cause *set = accumulator->causes +
	                                      first_of_set(event->parent, event->track->source, ACCUMULATOR_CAUSES);
	for (unsigned way = 0; way < ACCUMULATOR_WAYS; way++)
		if (set[way].id == event->parent && set[way].source == event->track->source)
			return &set[way];
	return NULL;
}

/* Adds a device event to the lines of its cause.  If `cause` is NULL, stores the event until its cause comes. */
static bool add_launched(struct accumulator *accumulator, const struct accumulator_cause *cause, const epp_event *event)
{
	const struct accumulator_caused caused = {
		.duration_ns = event->duration_ns,
		.launch_ns = event->launch_ns == INT64_MIN ? INT64_MIN : event->start_ns - event->launch_ns,
		.weight = event->weight,
	};

	if (cause)
		return add_to_cause(cause, &caused);
	if (!event->parent)
		return true;
	if (!accumulator->early)
		accumulator->early = calloc(ACCUMULATOR_EARLY, sizeof *accumulator->early);
	if (!accumulator->early)
		return false;
	struct accumulator_early *set = accumulator->early +
	                                first_of_set(event->parent, event->track->source, ACCUMULATOR_EARLY);
	memmove(set + 1, set, (ACCUMULATOR_WAYS - 1) * sizeof *set);
	*set = (struct accumulator_early){ event->parent, caused, event->track->source };
	return true;
}

static struct accumulator_device *device_of(struct accumulator *accumulator, const epp_trace_track *track)
{
	struct accumulator_device *device;

	for (device = accumulator->devices; device; device = device->next) {
		if (device_is_same(device->track, track))
			return device;
	}
	device = calloc(1, sizeof *device);
	if (device) {
		device->track = track;
		device->next = accumulator->devices;
		accumulator->devices = device;
	}
	return device;
}

static struct accumulator_line *line_by_track(struct accumulator *accumulator, const epp_trace_track *track)
{
	bool is_device = track->kind == EPP_TRACK_DEVICE;
	struct accumulator_table *table = &accumulator->tables[is_device ? EPP_BY_STREAM : EPP_BY_THREAD];
	/* Calls that a plugin reports for a thread are added to the line of that thread. */
	const epp_trace_track *shown = track->thread ? track->thread : track;
	struct accumulator_line *line = hash_map_pointer(&table->index, shown->track);

	if (line)
		return line;
	track = shown;
	line = add_line(table, track->track, track->name, strlen(track->name));
	if (!line)
		return NULL;
	line->line.group = track->group;
	if (is_device) {
		line->device = device_of(accumulator, track);
		line->gaps = calloc(1, sizeof *line->gaps);
		line->errors = calloc(1, sizeof *line->errors);
		line->line.gaps = line->gaps;
		line->line.errors = line->errors;
		line->busy_until_ns = accumulator->totals.first_ns;
	}
	return !is_device || (line->device && line->gaps && line->errors) ? line : NULL;
}

static struct accumulator_line *line_of_phase(struct accumulator *accumulator, unsigned phase)
{
	static const char *const words[] = { "submit", "queue", "compute" };
	const char *name = phase <= PHASE_WORK ? words[phase] : work_names[phase - PHASE_WORK];

	if (!accumulator->phases[phase])
		accumulator->phases[phase] = add_line(&accumulator->tables[EPP_BY_PHASE], phase, name, strlen(name));
	if (accumulator->phases[phase])
		accumulator->phases[phase]->line.is_copy = phase > PHASE_WORK;
	return accumulator->phases[phase];
}

static struct accumulator_stack *stack_of(struct accumulator *accumulator, const epp_event *event)
{
	uint64_t key = (uint64_t)event->track->track << 32 | event->lane;
	struct accumulator_stack *stack = hash_map_pointer(&accumulator->stacks, key);

	if (stack)
		return stack;
	stack = calloc(1, sizeof *stack);
	if (stack && !hash_map_add(&accumulator->stacks, key, (uintptr_t)stack)) {
		free(stack);
		stack = NULL;
	}
	return stack;
}

static bool add_duration(struct accumulator_line *line, int64_t duration_ns, uint32_t weight)
{
	line->line.count += weight;
	line->weights_squared += (double)weight * weight;
	line->line.samples = (double)line->line.count * (double)line->line.count / line->weights_squared;
	add_weighted(&line->line.total_ns, duration_ns, weight);
	add_weighted(&line->line.self_ns, duration_ns, weight);
	if (duration_ns > line->line.max_ns)
		line->line.max_ns = duration_ns;
	return histogram_add_many(&line->durations, duration_ns, weight);
}

/* Adds an event to the line of its name: the first warmup_count events of a name as warm-up, later ones with their
 * duration. */
static bool add_named(const struct accumulator *accumulator, struct accumulator_line *line, const epp_event *event)
{
	if (line->line.warmup_count >= accumulator->warmup_count)
		return add_duration(line, event->duration_ns, event->weight);
	line->line.warmup_count++;
	line->line.warmup_ns += event->duration_ns;
	return true;
}

/* Adds a node's event to the line of its operator type, as warm-up if it is one of the node's first warmup_count
 * events. */
static bool add_of_type(const struct accumulator *accumulator, const struct accumulator_line *named, const epp_event *event)
{
	struct accumulator_line *type = named->type;

	if (named->line.warmup_count >= accumulator->warmup_count)
		return add_duration(type, event->duration_ns, event->weight);
	type->line.warmup_count++;
	type->line.warmup_ns += event->duration_ns;
	return true;
}

/* Subtracts an event's duration from the own time (self_ns) of the lines of the event around it. */
static void subtract_from_parent(struct accumulator_stack *stack, const epp_event *event,
                                 struct accumulator_line *named, struct accumulator_line *tracked)
{
	if (event->kind != EPP_EVENT_SLICE || event->depth >= DEPTH_MAX)
		return;
	stack->by_name[event->depth] = named->line.count ? named : NULL;
	stack->weights[event->depth] = event->weight;
	if (!event->depth)
		return;
	add_weighted(&tracked->line.self_ns, -event->duration_ns, event->weight);
	struct accumulator_line *around = stack->by_name[event->depth - 1];
	if (!around)
		return;
	add_weighted(&around->line.self_ns, -event->duration_ns, event->weight);
	if (around->type)
		add_weighted(&around->type->line.self_ns, -event->duration_ns, event->weight);
}

static bool add_busy(struct accumulator_line *line, const epp_event *event)
{
	int64_t end_ns = event->start_ns + event->duration_ns, until_ns = line->busy_until_ns;

	if (event->kind != EPP_EVENT_SLICE || end_ns <= until_ns)
		return true;
	line->line.busy_ns += end_ns - (event->start_ns > until_ns ? event->start_ns : until_ns);
	line->busy_until_ns = end_ns;
	if (!line->device || event->start_ns <= until_ns)
		return true;
	divide_idle_gap(line->line.idle_ns, &line->device->copies, until_ns, event);
	return histogram_add(line->gaps, event->start_ns - until_ns);
}

static bool add_phase(struct accumulator *accumulator, unsigned phase, const epp_event *event, int64_t duration_ns)
{
	struct accumulator_line *line = line_of_phase(accumulator, phase);

	return line && add_duration(line, duration_ns, event->weight);
}

static bool add_place(struct accumulator_line *line, const epp_event *event)
{
	int64_t error_ns = event->start_error_ns > event->end_error_ns ? event->start_error_ns : event->end_error_ns;

	if (event->placement < EPP_PLACEMENT_COUNT)
		line->line.placed_count[event->placement]++;
	if (error_ns > line->line.max_error_ns)
		line->line.max_error_ns = error_ns;
	return histogram_add(line->errors, error_ns);
}

/* Adds the time from the launch of a device event to its start.  If the time at which the event entered the queue was
 * measured, the time before it and the time in the queue are added separately. */
static bool add_submission(struct accumulator *accumulator, const epp_event *event)
{
	int64_t queued_ns = event->queue_ns != INT64_MIN ? event->queue_ns : event->launch_ns;
	bool is_measured = event->queue_ns != INT64_MIN && event->launch_ns != INT64_MIN;

	if (is_measured && queued_ns > event->launch_ns &&
	    !add_phase(accumulator, PHASE_SUBMIT, event, queued_ns - event->launch_ns))
		return false;
	return queued_ns == INT64_MIN ||
	       add_phase(accumulator, PHASE_QUEUE, event, event->start_ns > queued_ns ? event->start_ns - queued_ns : 0);
}

static bool add_device_event(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event,
                             struct accumulator_line *named, struct accumulator_line *tracked)
{
	/* Copies with the same name may be of different kinds, so each one is classified. */
	enum work work = !named->line.work || named->line.is_copy ? work_of(timeline, event) : named->work;
	if (!named->line.work) {
		named->work = work;
		named->line.work = work_names[work];
		named->line.is_copy = work_is_copy(work);
	}
	if (!add_place(tracked, event) || !add_phase(accumulator, PHASE_WORK + work, event, event->duration_ns))
		return false;
	if (named->line.is_copy) {
		spans_add(&tracked->device->copies, event->start_ns, event->start_ns + event->duration_ns);
		epp_summary_line *phase = &accumulator->phases[PHASE_WORK + work]->line;
		uint64_t bytes = 0;
		if (work_add_bytes(timeline, event, &bytes)) {
			phase->bytes += bytes * event->weight;
			phase->bytes_count += event->weight;
			add_weighted(&phase->bytes_ns, event->duration_ns, event->weight);
		}
	}
	if (!add_submission(accumulator, event))
		return false;
	if (event->launch_ns == INT64_MIN)
		return true;
	int64_t waited_ns = event->start_ns - event->launch_ns;
	return histogram_add_many(&named->launches, waited_ns, event->weight) &&
	       histogram_add_many(&tracked->launches, waited_ns, event->weight);
}

/* Sets the value of `key`, and *value to the value that it had; 0: none.  Returns false if out of memory. */
static bool exchange(struct hash_map *map, uint64_t key, uint64_t *value)
{
	uint64_t *found = hash_map_find(map, key), before = found ? *found : 0;

	if (found)
		*found = *value;
	else if (!hash_map_add(map, key, *value))
		return false;
	*value = before;
	return true;
}

/* Adds a run: the outermost event of a thread.  A run with a weight was drawn from a block of `weight` runs of one
 * thread with the same name and similar weights (record/budget/budget.h).  The variances have these parts:
 *   - The last block of each kind may be incomplete.  If it has just begun, the variance of the number of runs is weight *
 *     (weight - 1).
 *   - The durations of a block's runs differ; the differences between runs that were recorded one after the other estimate
 *     by how much.  Runs with different names are compared, too, because many names share blocks.
 *   - When runs become slower, the weight falls.  How many runs were slow before the weight fell is then known to one
 *     run. */
static bool add_run(struct accumulator *accumulator, const epp_event *event, const struct accumulator_line *named)
{
	epp_summary_totals *totals = &accumulator->totals;
	uint64_t track = (uint64_t)event->track->track << 32, class = 31u - (unsigned)__builtin_clz(event->weight | 1);
	uint64_t last_ns = (uint64_t)event->duration_ns, last_weight = event->weight, is_known = 1;
	double weight = event->weight, duration_ns = (double)event->duration_ns;

	totals->runs_kept++;
	totals->runs_count += event->weight;
	add_weighted(&totals->runs_ns, event->duration_ns, event->weight);
	/* Before the first run with a weight, nothing was left out. */
	if (event->weight == 1 && !accumulator->runs.count)
		return true;
	if (!exchange(&accumulator->runs, track | RUN_KEY_WEIGHT, &last_weight) ||
	    !exchange(&accumulator->runs, track | class, &last_ns) ||
	    !exchange(&accumulator->runs, track | (named->index + UINT64_C(1)) << 5 | class, &is_known))
		return false;
	double square = is_known ? pow(duration_ns - (double)last_ns, 2) / 2 : duration_ns * duration_ns;
	totals->runs_count_variance += is_known ? 0 : weight * (weight - 1);
	totals->runs_ns_variance += weight * (weight - 1) * square;
	if (last_weight >= 2 * (uint64_t)event->weight)
		totals->runs_ns_variance += duration_ns * duration_ns;
	return true;
}

static void add_total(epp_summary_totals *totals, const epp_event *event, bool device)
{
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (!totals->host_events && !totals->device_events) {
		totals->first_ns = event->start_ns;
		totals->last_ns = end_ns;
	}
	if (end_ns > totals->last_ns)
		totals->last_ns = end_ns;
	*(device ? &totals->device_events : &totals->host_events) += 1;
	totals->weighted += event->weight > 1;
	totals->unended += (event->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN)) != 0;
}

static epp_status *add_slice(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event)
{
	bool device = event->track->kind == EPP_TRACK_DEVICE;

	add_total(&accumulator->totals, event, device);
	const struct accumulator_cause *cause = device ? cause_of(accumulator, event) : NULL;
	struct accumulator_line *type = cause ? cause->type : NULL;
	struct accumulator_line *named = line_by_name(&accumulator->tables[device ? EPP_BY_KERNEL : EPP_BY_OP], event,
	                                              type);
	struct accumulator_line *tracked = line_by_track(accumulator, event->track);
	struct accumulator_stack *stack = stack_of(accumulator, event);

	if (!named || !tracked || !stack || (!device && !add_type(accumulator, timeline, event, named)))
		return epp_status_no_memory();
	if (!event->depth && event->kind == EPP_EVENT_SLICE && event->track->kind == EPP_TRACK_THREAD &&
	    !add_run(accumulator, event, named))
		return epp_status_no_memory();
	if (!device && event->flags & EPP_FLAG_REFERENCED && !add_cause(accumulator, event, named))
		return epp_status_no_memory();
	if (device && !add_launched(accumulator, cause, event))
		return epp_status_no_memory();
	if (device && !add_device_event(accumulator, timeline, event, named, tracked))
		return epp_status_no_memory();
	if (!device && event->category == EPP_API && event->flags & EPP_FLAG_REFERENCED &&
	    !add_phase(accumulator, PHASE_SUBMIT, event, event->duration_ns))
		return epp_status_no_memory();
	if (named->type && !device && !add_of_type(accumulator, named, event))
		return epp_status_no_memory();
	if (!add_named(accumulator, named, event) || !add_duration(tracked, event->duration_ns, event->weight) ||
	    !add_busy(tracked, event))
		return epp_status_no_memory();
	subtract_from_parent(stack, event, named, tracked);
	/* If the weight differs from that of the event around it, a run is inside another event.  Runs are then not
	 * outermost events. */
	if (!device && event->kind == EPP_EVENT_SLICE && event->depth && event->depth < DEPTH_MAX)
		accumulator->has_inner_runs |= event->weight != stack->weights[event->depth - 1];
	/* A call is inside the event that made the call, which is on the first lane of the thread. */
	if (event->track->kind == EPP_TRACK_CALLS && event->parent && !event->depth)
		add_weighted(&tracked->line.self_ns, -event->duration_ns, event->weight);
	return NULL;
}

/* Returns true if the event is an instant that marks a reduction of the recording: from then on, a thread recorded only
 * its runs and no events inside them. */
static bool begins_kernels_only(const epp_timeline *timeline, const epp_event *event)
{
	size_t cursor = 0;
	epp_trace_arg arg;

	if (event->kind != EPP_EVENT_INSTANT || event->name_bytes != strlen(BUDGET_STEP) ||
	    memcmp(event->name, BUDGET_STEP, event->name_bytes) != 0)
		return false;
	while (epp_event_args(timeline, event, &cursor, &arg)) {
		if (arg.type == EPP_ARG_TEXT && arg.text_bytes == strlen(BUDGET_STEP_KERNELS) &&
		    memcmp(arg.value.text, BUDGET_STEP_KERNELS, arg.text_bytes) == 0)
			return true;
	}
	return false;
}

epp_status *accumulator_event(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event)
{
	if (event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC)
		return add_slice(accumulator, timeline, event);
	accumulator->totals.instants += event->kind == EPP_EVENT_INSTANT;
	accumulator->totals.counters += event->kind == EPP_EVENT_COUNTER;
	accumulator->totals.kernels_only_count += begins_kernels_only(timeline, event);
	return NULL;
}

void accumulator_end(struct accumulator *accumulator)
{
	struct accumulator_table *streams = &accumulator->tables[EPP_BY_STREAM];
	epp_summary_totals *totals = &accumulator->totals;

	if (accumulator->has_inner_runs) {
		totals->runs_kept = totals->runs_count = 0;
		totals->runs_ns = 0;
		totals->runs_count_variance = totals->runs_ns_variance = 0;
	}
	for (size_t i = 0; i < streams->lines_count; i++) {
		struct accumulator_line *line = streams->lines[i];
		line->line.idle_ns[EPP_IDLE_UNLAUNCHED] += accumulator->totals.last_ns - line->busy_until_ns;
		line->busy_until_ns = accumulator->totals.last_ns;
	}
}

/* For tdestroy: does nothing, because the lines are freed with the array. */
static void free_nothing(void *line)
{
	(void)line;
}

void accumulator_deinit(struct accumulator *accumulator)
{
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++) {
		struct accumulator_table *table = &accumulator->tables[kind];
		tdestroy(table->by_text, free_nothing);
		for (size_t i = 0; i < table->lines_count; i++)
			line_destroy(table->lines[i]);
		free(table->lines);
		hash_map_deinit(&table->index);
	}
	for (struct accumulator_device *device = accumulator->devices, *next; device; device = next) {
		next = device->next;
		free(device);
	}
	for (size_t i = 0; i < accumulator->stacks.count; i++)
		free((struct accumulator_stack *)(uintptr_t)accumulator->stacks.entries[i].value);
	hash_map_deinit(&accumulator->stacks);
	hash_map_deinit(&accumulator->runs);
	free(accumulator->causes);
	free(accumulator->early);
	memset(accumulator, 0, sizeof *accumulator);
}

/* ---- the public functions ---- */

/* Implements epprof/summary.h: accumulates a whole timeline. */

struct epp_summary {
	epp_timeline_counts counts;
	struct accumulator accumulator;
};

static epp_status *add_up(epp_summary *summary, epp_timeline *timeline)
{
	struct accumulator *accumulator = &summary->accumulator;
	const epp_event *event;

	while (epp_timeline_next(timeline, &event))
		EPP_TRY(accumulator_event(accumulator, timeline, event));
	accumulator_end(accumulator);
	summary->counts = *epp_timeline_get_counts(timeline);
	accumulator->totals.counts = &summary->counts;
	return epp_timeline_status(timeline);
}

epp_status *epp_summary_create(epp_trace *trace, const epp_summary_options *given, epp_summary **summary)
{
	epp_summary_options options;
	epp_timeline *timeline = NULL;

	*summary = NULL;
	EPP_TRY(options_take(&options, sizeof options, given, "epp_summary_options"));
	*summary = calloc(1, sizeof **summary);
	if (!*summary)
		return epp_status_no_memory();
	(*summary)->accumulator.warmup_count = options.warmup_count;
	epp_status *status = epp_timeline_create(trace, options.timeline, &timeline);
	if (!status)
		status = add_up(*summary, timeline);
	epp_timeline_destroy(timeline);
	if (status) {
		epp_summary_destroy(*summary);
		*summary = NULL;
	}
	return status;
}

const epp_summary_totals *epp_summary_get_totals(const epp_summary *summary)
{
	return &summary->accumulator.totals;
}

size_t epp_summary_lines_count(const epp_summary *summary, epp_summary_by by)
{
	return by < EPP_BY_COUNT ? summary->accumulator.tables[by].lines_count : 0;
}

const epp_summary_line *epp_summary_line_at(const epp_summary *summary, epp_summary_by by, size_t index)
{
	return index < epp_summary_lines_count(summary, by) ? &summary->accumulator.tables[by].lines[index]->line : NULL;
}

void epp_summary_destroy(epp_summary *summary)
{
	if (!summary)
		return;
	accumulator_deinit(&summary->accumulator);
	free(summary);
}
