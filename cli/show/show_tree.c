/* Collects the events around one event, the target.
 *
 * The events that enclose the target overlap its start, so they are read with a timeline of this instant.  The parent
 * of a device event is the host event that launched it, which may have ended before; then a timeline of the parent's
 * start is read too.  The events that the target encloses or caused start later.  They are found in one pass over the
 * trace from the target's start.  The pass stops at the target's end, unless other events, such as device events, refer
 * to the target or to an event in it. */
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/id_set.h"
#include "show.h"

static struct show_node *node_create(const epp_event *event)
{
	struct show_node *node = calloc(1, sizeof *node);
	char *name = malloc(event->name_bytes + 1);

	if (!node || !name) {
		free(node);
		free(name);
		return NULL;
	}
	memcpy(name, event->name, event->name_bytes);
	name[event->name_bytes] = '\0';
	node->event = *event;
	node->event.name = name;
	return node;
}

static void node_destroy(struct show_node *node)
{
	while (node->first) {
		struct show_node *child = node->first;
		node->first = child->next;
		node_destroy(child);
	}
	free((char *)(uintptr_t)node->event.name);
	free(node);
}

static void add_child(struct show_node *parent, struct show_node *child)
{
	child->parent = parent;
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
}

static epp_status *open_timeline(const struct show_tree *tree, int64_t from_ns, int64_t to_ns, const char *trace_id,
                                 epp_timeline **timeline)
{
	const epp_timeline_options options = { .struct_size = sizeof options,
		                               .from_ns = from_ns,
		                               .to_ns = to_ns,
		                               .sources = tree->sources,
		                               .sources_count = tree->sources_count,
		                               .trace_id = trace_id,
		                               .unweighted = 1 };

	return epp_timeline_create(tree->trace, &options, timeline);
}

/* ---- the event and the events above it ---- */

static char *value_text(const epp_trace_arg *arg)
{
	char *text = NULL;
	int bytes = 0;

	if (arg->type == EPP_ARG_TEXT)
		return cli_clean(arg->value.text, arg->text_bytes);
	if (arg->type == EPP_ARG_F64)
		bytes = asprintf(&text, "%.17g", arg->value.f64);
	else if (arg->type == EPP_ARG_U64)
		bytes = asprintf(&text, "%" PRIu64, arg->value.u64);
	else
		bytes = asprintf(&text, "%" PRId64, arg->value.i64);
	return bytes < 0 ? NULL : text;
}

static epp_status *take_args(struct show_tree *tree, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	size_t cursor = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		char **larger = reallocarray(tree->args, tree->args_count + 2, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		tree->args = larger;
		larger[tree->args_count] = cli_clean(arg.key, arg.key_bytes);
		larger[tree->args_count + 1] = value_text(&arg);
		tree->args_count += 2;
	}
	return NULL;
}

/* The events that overlap an instant. */
struct overlapping {
	struct show_node *first; /* list of events, linked by `next` */
};

static void overlapping_deinit(struct overlapping *found)
{
	while (found->first) {
		struct show_node *node = found->first;
		found->first = node->next;
		node_destroy(node);
	}
}

/* Finds the events that overlap the instant `at_ns`.  Also copies the args of the event with the id `args_of` to the
 * tree. */
static epp_status *find_overlapping(struct show_tree *tree, int64_t at_ns, uint64_t args_of, struct overlapping *found)
{
	epp_timeline *timeline;
	const epp_event *event;
	epp_status *status = open_timeline(tree, at_ns, at_ns + 1, NULL, &timeline);

	if (status)
		return status;
	while (!status && epp_timeline_next(timeline, &event)) {
		if (event->kind == EPP_EVENT_FLOW)
			continue;
		struct show_node *node = node_create(event);
		if (!node) {
			status = epp_status_no_memory();
			break;
		}
		node->next = found->first;
		found->first = node;
		if (event->id == args_of && !tree->args_count)
			status = take_args(tree, timeline, event);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

static struct show_node *remove_node(struct overlapping *found, uint64_t id)
{
	for (struct show_node **at = &found->first; *at; at = &(*at)->next) {
		struct show_node *node = *at;
		if (node->event.id != id)
			continue;
		*at = node->next;
		node->next = NULL;
		return node;
	}
	return NULL;
}

/* Returns true if the tree already has an event with this id at or above the target.  In a damaged trace, parents may
 * form a cycle. */
static bool is_above(const struct show_tree *tree, uint64_t id)
{
	for (const struct show_node *node = tree->root; node; node = node->first)
		if (node->event.id == id)
			return true;
	return false;
}

static epp_status *read_above(struct show_tree *tree, uint64_t id, int64_t start_ns)
{
	struct overlapping found = { 0 };

	epp_status *status = find_overlapping(tree, start_ns, id, &found);
	tree->target = tree->root = remove_node(&found, id);
	if (!status && !tree->target)
		status = epp_status_create(EPP_NOT_FOUND, "no event with id %" PRIu64, id);
	while (!status && tree->root->event.parent && !is_above(tree, tree->root->event.parent)) {
		const epp_event *event = &tree->root->event;
		struct show_node *parent = remove_node(&found, event->parent);
		if (!parent && event->parent_start_ns != INT64_MIN) {
			overlapping_deinit(&found);
			status = find_overlapping(tree, event->parent_start_ns, 0, &found);
			parent = remove_node(&found, event->parent);
		}
		if (!parent)
			break;
		add_child(parent, tree->root);
		parent->children_count = 1;
		tree->root = parent;
	}
	overlapping_deinit(&found);
	return status;
}

/* ---- the events below it ---- */

static int by_id(const void *a, const void *b)
{
	uint64_t left = ((const struct show_node *)a)->event.id, right = ((const struct show_node *)b)->event.id;

	return (left > right) - (left < right);
}

static void keep_node(void *node)
{
	(void)node;
}

/* State of the pass over the events below the target. */
struct descendants {
	struct cli_id_set ids; /* ids of the target and of all events below it */
	void *nodes;           /* tsearch tree, by id, of the nodes that are kept */
};

static epp_status *remember(struct descendants *descendants, struct show_node *node)
{
	return tsearch(node, &descendants->nodes, by_id) ? NULL : epp_status_no_memory();
}

/* Counts an event below the target.  Keeps it as a node if its parent is kept and has room for it (tree->top and
 * tree->depth). */
static epp_status *add_below(struct show_tree *tree, struct descendants *descendants, const epp_event *event)
{
	const struct show_node key = { .event.id = event->parent };
	struct show_node *const *found = tfind(&key, &descendants->nodes, by_id);
	struct show_node *parent = found ? *found : NULL;

	if (event->track->kind == EPP_TRACK_DEVICE) {
		tree->device_count++;
		tree->device_ns += event->duration_ns;
	}
	if (!parent || parent->children_count++ >= tree->top || parent->level >= tree->depth)
		return NULL;
	struct show_node *node = node_create(event);
	if (!node)
		return epp_status_no_memory();
	node->level = parent->level + 1;
	add_child(parent, node);
	return remember(descendants, node);
}

static epp_status *read_below(struct show_tree *tree)
{
	const epp_event *target = &tree->target->event;
	int64_t end_ns = target->start_ns + target->duration_ns;
	bool launched = target->flags & EPP_FLAG_REFERENCED;
	struct descendants descendants = { 0 };
	epp_timeline *timeline;
	const epp_event *event;

	epp_status *status = open_timeline(tree, target->start_ns, INT64_MAX, tree->trace_id, &timeline);
	if (status)
		return status;
	cli_id_set_test_and_add(&descendants.ids, target->id);
	status = remember(&descendants, tree->target);
	while (!status && epp_timeline_next(timeline, &event)) {
		if (event->start_ns > end_ns && !launched)
			break;
		if (event->kind == EPP_EVENT_FLOW || !event->parent || !cli_id_set_has(&descendants.ids, event->parent))
			continue;
		launched = launched || event->flags & EPP_FLAG_REFERENCED;
		cli_id_set_test_and_add(&descendants.ids, event->id);
		status = add_below(tree, &descendants, event);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	tdestroy(descendants.nodes, keep_node);
	cli_id_set_deinit(&descendants.ids);
	return status;
}

epp_status *show_tree_read(struct show_tree *tree, uint32_t source, uint64_t id, int64_t start_ns)
{
	tree->sources_count = epp_trace_get_info(tree->trace)->sources_count;
	tree->sources = calloc(tree->sources_count + 1, 1);
	if (!tree->sources)
		return epp_status_no_memory();
	if (source < tree->sources_count)
		tree->sources[source] = 1;
	epp_status *status = read_above(tree, id, start_ns);
	return status ? status : read_below(tree);
}

void show_tree_deinit(struct show_tree *tree)
{
	if (tree->root)
		node_destroy(tree->root);
	for (size_t i = 0; i < tree->args_count; i++)
		free(tree->args[i]);
	free(tree->args);
	free(tree->sources);
}
