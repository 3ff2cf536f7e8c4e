/* Computes a flame graph: time by stack of names, over all threads.
 *
 * The stack of an event consists of the events that enclose it on its thread.  A device event is in a separate tree,
 * below the stack of the host event that caused it: device time is not part of host time, so the two are not added.  A
 * node of a model is below a frame of its operator type, which sums all nodes of that type.  Memory is bounded by the
 * number of stacks and of remembered causes, independent of the number of events. */
#include "export/svg/flame.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "timeline/events/readable_name.h"

/* The open events of a lane, by depth. */
struct flame_lane {
	uint32_t nodes[FLAME_DEPTH_MAX];
	int64_t end_ns[FLAME_DEPTH_MAX];
};

struct flame_cause {
	uint64_t id;
	uint32_t source, node;
};

/* ---- nodes ---- */

/* Finds a child by the text of its name and creates it if needed; returns the parent itself if there are too many
 * nodes. */
static epp_status *child_by_text(struct flame *flame, uint32_t parent, const epp_event *event, uint32_t *found)
{
	uint32_t *link = &flame->nodes[parent].children;

	/* Move-to-front list: the child that was used last comes first. */
	for (uint32_t *at = link; *at; at = &flame->nodes[*at].next) {
		uint32_t index = *at;
		struct flame_node *node = &flame->nodes[index];
		if (node->name_bytes != event->name_bytes || memcmp(node->name, event->name, event->name_bytes) != 0)
			continue;
		*at = node->next;
		node->next = flame->nodes[parent].children;
		flame->nodes[parent].children = index;
		*found = index;
		return NULL;
	}
	if (flame->nodes_count == FLAME_NODES_MAX) {
		flame->cut++;
		*found = parent;
		return NULL;
	}
	if (!array_reserve(&flame->nodes, &flame->nodes_room, flame->nodes_count + (size_t)1, sizeof *flame->nodes))
		return epp_status_no_memory();
	char *name = malloc(event->name_bytes + 1);
	if (!name)
		return epp_status_no_memory();
	memcpy(name, event->name, event->name_bytes);
	name[event->name_bytes] = '\0';
	*found = flame->nodes_count++;
	flame->nodes[*found] = (struct flame_node){ .name = name,
		                                    .name_bytes = event->name_bytes,
		                                    .name_number = event->name_number,
		                                    .parent = parent,
		                                    .work = WORK_NONE,
		                                    .next = flame->nodes[parent].children };
	flame->nodes[parent].children = *found;
	return NULL;
}

/* Finds a child by the number of its name, with child_by_text as the slow path. */
static epp_status *child_of(struct flame *flame, uint32_t parent, const epp_event *event, uint32_t *found)
{
	uint64_t key = (uint64_t)parent << 32 | event->name_number;
	const uint64_t *known = hash_map_find(&flame->found, key);
	epp_event shown = *event;

	if (known) {
		*found = (uint32_t)*known;
		return NULL;
	}
	shown.name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category);
	EPP_TRY(child_by_text(flame, parent, &shown, found));
	return *found == parent || hash_map_add(&flame->found, key, *found) ? NULL : epp_status_no_memory();
}

/* Finds or makes the node of a host stack in the tree of devices. */
static epp_status *mirror(struct flame *flame, uint32_t node, uint32_t *found)
{
	uint32_t path[FLAME_DEPTH_MAX], depth = 0;

	for (; node > FLAME_DEVICE && depth < FLAME_DEPTH_MAX; node = flame->nodes[node].parent)
		path[depth++] = node;
	*found = FLAME_DEVICE;
	while (depth) {
		/* The name is a separate allocation, so it stays valid when the array of nodes moves. */
		const struct flame_node *one = &flame->nodes[path[--depth]];
		const epp_event name = { .name = one->name, .name_bytes = one->name_bytes, .name_number = one->name_number };
		EPP_TRY(child_of(flame, *found, &name, found));
	}
	return NULL;
}

static void add_time(struct flame *flame, uint32_t node, int64_t ns)
{
	flame->nodes[node].count++;
	flame->nodes[node].total_ns += ns;
}

/* ---- events ---- */

static struct flame_lane *lane_of(struct flame *flame, const epp_event *event)
{
	uint64_t key = (uint64_t)event->track->track << 32 | event->lane;
	struct flame_lane *lane = hash_map_pointer(&flame->lanes, key);

	if (lane)
		return lane;
	lane = calloc(1, sizeof *lane);
	if (lane && !hash_map_add(&flame->lanes, key, (uintptr_t)lane)) {
		free(lane);
		lane = NULL;
	}
	return lane;
}

static struct flame_cause *cause_of(struct flame *flame, uint32_t source, uint64_t id)
{
	return &flame->causes[(id + source * UINT64_C(0x9E3779B9)) % FLAME_CAUSES];
}

/* Finds the frame of a node's operator type below `around`; without a type, returns `around`. */
static epp_status *type_of(struct flame *flame, uint32_t around, const epp_event *event, uint32_t *found)
{
	const epp_trace_arg *args = export_args(event);

	*found = around;
	size_t name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category);
	for (uint32_t i = 0; event->category == EPP_NODE && i < event->args_count; i++) {
		if (args[i].type != EPP_ARG_TEXT || !args[i].text_bytes || strcmp(args[i].key, "op_name") != 0)
			continue;
		/* A node with the name of its type has only one frame. */
		if (args[i].text_bytes == name_bytes && memcmp(args[i].value.text, event->name, name_bytes) == 0)
			break;
		const epp_event type = { .name = args[i].value.text, .name_bytes = args[i].text_bytes };
		EPP_TRY(child_by_text(flame, around, &type, found));
		if (*found != around)
			add_time(flame, *found, event->duration_ns);
		break;
	}
	return NULL;
}

/* A plugin's call is on its own track: its parent frame is the event of the thread that made the call. */
static uint32_t around_call(struct flame *flame, const epp_event *event)
{
	const struct flame_cause *cause = cause_of(flame, event->track->source, event->parent);
	bool is_known = event->parent && cause->id == event->parent && cause->source == event->track->source;

	return is_known && event->track->kind == EPP_TRACK_CALLS ? cause->node : FLAME_HOST;
}

static epp_status *add_host(struct flame *flame, const epp_event *event)
{
	struct flame_lane *lane = lane_of(flame, event);
	uint32_t depth = event->depth < FLAME_DEPTH_MAX ? event->depth : FLAME_DEPTH_MAX - 1, node;

	if (!lane)
		return epp_status_no_memory();
	/* The innermost enclosing event that is still open; a filter may have removed the levels between. */
	uint32_t parent = FLAME_HOST;
	for (uint32_t around = depth; parent == FLAME_HOST && around--;) {
		if (lane->nodes[around] && lane->end_ns[around] > event->start_ns)
			parent = lane->nodes[around];
	}
	if (parent == FLAME_HOST)
		parent = around_call(flame, event);
	EPP_TRY(type_of(flame, parent, event, &parent));
	EPP_TRY(child_of(flame, parent, event, &node));
	lane->nodes[depth] = node;
	lane->end_ns[depth] = event->start_ns + event->duration_ns;
	if (node != parent)
		add_time(flame, node, event->duration_ns);
	if (event->flags & EPP_FLAG_REFERRED)
		*cause_of(flame, event->track->source, event->id) = (struct flame_cause){ .id = event->id,
			                                                                  .source = event->track->source,
			                                                                  .node = node };
	return NULL;
}

static epp_status *add_device(struct flame *flame, const epp_event *event)
{
	const struct flame_cause *cause = cause_of(flame, event->track->source, event->parent);
	uint32_t below = FLAME_DEVICE, node;

	/* The time of a nested kernel is already part of the outer kernel. */
	if (event->depth)
		return NULL;
	if (event->parent && cause->id == event->parent && cause->source == event->track->source)
		EPP_TRY(mirror(flame, cause->node, &below));
	else
		flame->uncaused++;
	EPP_TRY(child_of(flame, below, event, &node));
	if (flame->nodes[node].work == WORK_NONE)
		flame->nodes[node].work = work_of(NULL, event);
	flame->has_copies |= work_is_copy(flame->nodes[node].work);
	add_time(flame, node, event->duration_ns);
	return NULL;
}

static epp_status *flame_begin(struct export_run *run)
{
	struct flame *flame = run->state;

	flame->nodes_room = 1024;
	flame->nodes_count = FLAME_DEVICE + 1;
	flame->nodes = calloc(flame->nodes_room, sizeof *flame->nodes);
	flame->causes = calloc(FLAME_CAUSES, sizeof *flame->causes);
	return flame->nodes && flame->causes ? NULL : epp_status_no_memory();
}

static epp_status *flame_event(struct export_run *run, const epp_event *event)
{
	struct flame *flame = run->state;

	if (event->kind != EPP_EVENT_SLICE) {
		flame->others += event->kind != EPP_EVENT_FLOW;
		return NULL;
	}
	return event->track->kind == EPP_TRACK_DEVICE ? add_device(flame, event) : add_host(flame, event);
}

static epp_status *flame_end(struct export_run *run)
{
	struct flame *flame = run->state;

	EPP_TRY(flame_draw(run, flame));
	export_receipt(run, flame->others, "%s event%s left out: instants, counter values, asynchronous events");
	export_receipt(run, flame->cut, "%s event%s added up in the stack around: too many stacks");
	export_receipt(run, flame->uncaused, "%s device event%s without the stack that caused it: not known");
	return NULL;
}

static void flame_deinit(struct export_run *run)
{
	struct flame *flame = run->state;

	for (uint32_t i = 0; flame->nodes && i < flame->nodes_count; i++)
		free(flame->nodes[i].name);
	free(flame->nodes);
	for (size_t i = 0; i < flame->lanes.count; i++)
		free((struct flame_lane *)(uintptr_t)flame->lanes.entries[i].value);
	hash_map_deinit(&flame->lanes);
	hash_map_deinit(&flame->found);
	free(flame->causes);
}

const struct export_writer export_flame = {
	.format = { "flame", ".flame.svg", "a flame graph: host and device time by stack, a picture that can be clicked" },
	.state_bytes = sizeof(struct flame),
	.begin = flame_begin,
	.event = flame_event,
	.end = flame_end,
	.deinit = flame_deinit,
};
