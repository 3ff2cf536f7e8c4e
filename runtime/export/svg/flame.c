/* Computes a flame graph: time by stack of names, over all threads.
 *
 * The stack of an event consists of the events that enclose it on its thread.  A device event is in a separate tree,
 * below a copy of the stack of the host event that caused it.  Device time is not part of host time, so the two trees
 * are not added up.  A node of a model is below a frame of its operator type, which sums all nodes of that type.
 * Memory is bounded by FLAME_NODES_MAX and FLAME_CAUSES; it does not grow with the number of events. */

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/weighted.h"
#include "base/status.h"
#include "containers/array.h"
#include "containers/hash_map.h"
#include "export/svg/svg_text.h"
#include "export/writer.h"
#include "timeline/events/readable_name.h"
#include "timeline/events/work_kind.h"

/* If there are more stacks than this, the time of further ones is added to the enclosing stack. */
#define FLAME_NODES_MAX 65536u
#define FLAME_DEPTH_MAX 64u
/* The number of host events that are stored as possible causes of device events. */
#define FLAME_CAUSES 262144u

/* A name within a stack of names.  There are two trees: host time, and device time below copies of the host stacks that
 * caused it. */
struct flame_node {
	char *name;
	size_t name_bytes;
	uint32_t name_number;            /* one of the name numbers in the trace that have this text */
	uint32_t parent, next, children; /* indexes of `nodes`; 0: none */
	uint64_t count;
	int64_t total_ns; /* host tree: time of the events with this stack, including nested ones; device tree: time of
	                     the device events with this stack, 0 for copies of host stacks */
	int64_t below_ns; /* device tree, and root of the host tree: the time of all descendants; else 0 */
	enum work work;   /* kind of work of a device event; WORK_NONE: a host event */
};

struct flame {
	struct flame_node *nodes; /* entry 0 is unused, 1 and 2 are the roots */
	uint32_t nodes_count;
	size_t nodes_room;
	struct hash_map found;      /* finds nodes by parent and name number */
	struct hash_map lanes;      /* finds struct flame_lane by track and lane */
	struct flame_cause *causes; /* by a hash of the id; a new event replaces the one in its slot */
	uint64_t uncaused;          /* number of device events without a known host stack, which are below the root of
	                               the device tree */
	uint64_t others, cut;
	bool has_copies;
};

#define FLAME_HOST 1u
#define FLAME_DEVICE 2u

/* ---- drawing ---- */

/* Draws the two trees of the flame graph as frames, one level below the other; the width of a frame is its share of the
 * tree's time.
 *
 * Frames are nested SVG documents, which clip their texts and are positioned in percent: a click only changes positions
 * and widths. */

#define WIDTH 1200.0
#define MARGIN 20.0
#define FRAME 19.0
#define STEP 21.0
/* Frames that are narrower than this number of pixels are not drawn. */
#define NARROWEST 0.6
/* Sizes of fonts, as in svg_style and for the picture's title. */
#define FRAME_FONT 11.0
#define TITLE_FONT 15.0

static const char flame_style[] = "<style>.f{cursor:pointer}.f:hover rect{stroke:#444c56;stroke-width:2}"
				  "@media(prefers-color-scheme:dark){.f:hover rect{stroke:#e6edf3}}</style>\n";

static const char stripes[] = "<defs><pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
			      "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#1b1f24\" "
			      "fill-opacity=\".18\"/></pattern></defs>\n";

/* The script must not contain < and &, because the file is XML.  A click on a frame expands it to the whole width; a
 * click on a frame above it, or on the same frame again, goes back. */
static const char script[] = "<script>\n"
			     "for (const tree of document.querySelectorAll('.tree')) {\n"
			     "\tlet zoomed = null;\n"
			     "\tconst label = (frame, part) => {\n"
			     "\t\tconst name = frame.querySelector('title').textContent.split('\\n')[0], room = part * 1160 - 8;\n"
			     "\t\tconst text = frame.querySelector('text'), width = () => text.getComputedTextLength();\n"
			     "\t\ttext.textContent = room > 20 ? name : '';\n"
			     "\t\tlet letters = width() > room ? Math.floor(name.length * room / width()) : 0;\n"
			     "\t\twhile (letters > 0 ? width() > room : false)\n"
			     "\t\t\ttext.textContent = `${name.slice(0, letters--)}\u2026`;\n"
			     "\t};\n"
			     "\tconst frames = [...tree.querySelectorAll('.f')].map((frame) => ({ frame, x: +frame.dataset.x, w: +frame.dataset.w }));\n"
			     "\tconst show = (x, w) => frames.forEach((one) => {\n"
			     "\t\tconst left = Math.max(0, (one.x - x) / w), right = Math.min(1, (one.x + one.w - x) / w);\n"
			     "\t\tone.frame.style.display = right - left > 0.0004 ? '' : 'none';\n"
			     "\t\tlabel(one.frame, right - left);\n"
			     "\t\tone.frame.setAttribute('x', `${100 * left}%`);\n"
			     "\t\tone.frame.setAttribute('width', `${100 * Math.max(0, right - left)}%`);\n"
			     "\t});\n"
			     "\tframes.forEach((one) => one.frame.addEventListener('click', () => {\n"
			     "\t\tzoomed = zoomed === one ? null : one;\n"
			     "\t\tshow(zoomed ? one.x : 0, zoomed ? one.w : 1);\n"
			     "\t}));\n"
			     "}\n"
			     "</script>\n";

struct drawing {
	const struct flame *flame;
	struct sink *sink;
	double whole_ns;
	uint64_t hidden;
};

static int64_t width_ns(const struct flame_node *node)
{
	int64_t sum = node->total_ns;

	add_weighted(&sum, node->below_ns, 1);
	return sum;
}

/* ---- the time of each frame ---- */

/* Computes below_ns: adds the times of children to their parents, which have smaller indexes.  In the host tree only
 * the root needs this, because the time of a host stack already includes that of the stacks inside it. */
static void add_up(struct flame *flame, uint8_t *tree)
{
	tree[FLAME_HOST] = FLAME_HOST;
	tree[FLAME_DEVICE] = FLAME_DEVICE;
	for (uint32_t i = FLAME_DEVICE + 1; i < flame->nodes_count; i++)
		tree[i] = tree[flame->nodes[i].parent];
	for (uint32_t i = flame->nodes_count - 1; i > FLAME_DEVICE; i--) {
		struct flame_node *node = &flame->nodes[i], *parent = &flame->nodes[node->parent];
		if (tree[i] == FLAME_DEVICE || node->parent == FLAME_HOST)
			add_weighted(&parent->below_ns, width_ns(node), 1);
	}
}

static int widest_first(const void *a, const void *b, void *context)
{
	const struct flame_node *nodes = context;
	const struct flame_node *left = &nodes[*(const uint32_t *)a], *right = &nodes[*(const uint32_t *)b];

	if (width_ns(left) != width_ns(right))
		return width_ns(left) < width_ns(right) ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Sorts the children of a node by width, the widest first. */
static epp_status *sort_children(struct flame *flame, uint32_t parent)
{
	uint32_t count = 0, *list;

	for (uint32_t i = flame->nodes[parent].children; i; i = flame->nodes[i].next)
		count++;
	if (count < 2)
		return NULL;
	list = calloc(count, sizeof *list);
	if (!list)
		return epp_status_no_memory();
	count = 0;
	for (uint32_t i = flame->nodes[parent].children; i; i = flame->nodes[i].next)
		list[count++] = i;
	qsort_r(list, count, sizeof *list, widest_first, flame->nodes);
	for (uint32_t i = 0; i < count; i++)
		flame->nodes[list[i]].next = i + 1 < count ? list[i + 1] : 0;
	flame->nodes[parent].children = list[0];
	free(list);
	return NULL;
}

/* ---- frames ---- */

static unsigned colour_of(const struct flame_node *node)
{
	unsigned hash = 5381;

	for (size_t i = 0; i < node->name_bytes; i++)
		hash = hash * 33 + (unsigned char)node->name[i];
	return hash % SVG_COLOURS_COUNT;
}

static bool is_copy(const struct flame_node *node)
{
	return work_is_copy(node->work);
}

static void draw_frame(struct drawing *drawing, const struct flame_node *node, double x_ns, unsigned depth, bool grey)
{
	struct sink *sink = drawing->sink;
	double x = x_ns / drawing->whole_ns, part = (double)width_ns(node) / drawing->whole_ns;
	double pixels = part * (WIDTH - 2 * MARGIN);
	char time[32];

	sink_format(sink,
	            "<svg class=\"f\" data-x=\"%.6f\" data-w=\"%.6f\" x=\"%.4f%%\" y=\"%.0f\" width=\"%.4f%%\" "
	            "height=\"%.0f\"><title>",
	            x, part, 100 * x, depth * STEP, 100 * part, FRAME);
	sink_xml_text(sink, node->name, node->name_bytes);
	sink_format(sink, "\n%s, %.1f %% of all", svg_duration((double)width_ns(node), time), 100 * part);
	if (node->count)
		sink_format(sink, "\n%" PRIu64 " events, %s each", node->count,
		            svg_duration((double)node->total_ns / (double)node->count, time));
	if (is_copy(node))
		sink_format(sink, "\n%s", work_names[node->work]);
	sink_format(sink, "</title><rect width=\"100%%\" height=\"100%%\" rx=\"2\" fill=\"%s\"/>",
	            svg_colours[grey ? SVG_GREY : colour_of(node)]);
	if (is_copy(node))
		sink_text(sink, "<rect width=\"100%\" height=\"100%\" rx=\"2\" fill=\"url(#stripes)\"/>");
	sink_text(sink, "<text class=\"n\" x=\"5\" y=\"13.5\">");
	if (pixels > 28)
		svg_write_cut(sink, node->name, pixels - 8, FRAME_FONT);
	sink_text(sink, "</text></svg>\n");
}

/* Draws a tree and returns the number of levels.  The traversal is depth first and without recursion, because stacks
 * may be deep. */
static unsigned draw_tree(struct drawing *drawing, uint32_t root, bool devices)
{
	struct {
		uint32_t node;
		double x_ns;
	} stack[FLAME_DEPTH_MAX * 2 + 2];
	const struct flame_node *nodes = drawing->flame->nodes;
	unsigned depth = 0, levels = 0;

	stack[0].node = nodes[root].children;
	stack[0].x_ns = 0;
	while (true) {
		uint32_t index = stack[depth].node;
		if (!index) {
			if (!depth--)
				return levels;
			continue;
		}
		const struct flame_node *node = &nodes[index];
		double x_ns = stack[depth].x_ns;
		stack[depth].node = node->next;
		stack[depth].x_ns += (double)width_ns(node);
		if ((double)width_ns(node) / drawing->whole_ns * (WIDTH - 2 * MARGIN) < NARROWEST) {
			drawing->hidden++;
			continue;
		}
		if (drawing->sink)
			draw_frame(drawing, node, x_ns, depth, devices && node->work == WORK_NONE);
		levels = depth + 1 > levels ? depth + 1 : levels;
		if (depth < FLAME_DEPTH_MAX * 2) {
			stack[++depth].node = node->children;
			stack[depth].x_ns = x_ns;
		}
	}
}

/* ---- the picture ---- */

struct part {
	uint32_t root;
	const char *title;
	unsigned levels;
	double whole_ns;
};

static void draw_part(struct export_run *run, const struct flame *flame, const struct part *part, double y)
{
	struct drawing drawing = { .flame = flame, .sink = run->sink, .whole_ns = part->whole_ns };
	char time[32];

	sink_format(run->sink, "<text class=\"t\" x=\"%.0f\" y=\"%.0f\">%s: %s%s</text>\n", MARGIN, y, part->title,
	            svg_duration(part->whole_ns, time),
	            part->root == FLAME_DEVICE && flame->has_copies ? " (striped: copies and fills)" : "");
	sink_format(run->sink, "<svg class=\"tree\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\">\n", MARGIN,
	            y + 10, WIDTH - 2 * MARGIN, part->levels * STEP);
	draw_tree(&drawing, part->root, part->root == FLAME_DEVICE);
	sink_text(run->sink, "</svg>\n");
}

static epp_status *prepare(struct flame *flame)
{
	uint8_t *tree = calloc(flame->nodes_count, 1);
	epp_status *status = NULL;

	if (!tree)
		return epp_status_no_memory();
	add_up(flame, tree);
	free(tree);
	for (uint32_t i = FLAME_HOST; !status && i < flame->nodes_count; i++)
		status = sort_children(flame, i);
	return status;
}

/* Draws both trees.  Errors: EPP_OUT_OF_MEMORY. */
static epp_status *flame_draw(struct export_run *run, struct flame *flame)
{
	struct part parts[] = { { .root = FLAME_HOST, .title = "Host, all threads, by stack" },
		                { .root = FLAME_DEVICE, .title = "Devices, below the host stacks that caused their work" } };
	const char *label = run->info->label && run->info->label[0] ? run->info->label : run->info->program;
	struct sink *sink = run->sink;
	double height = 56;

	EPP_TRY(prepare(flame));
	for (unsigned i = 0; i < 2; i++) {
		parts[i].whole_ns = (double)flame->nodes[parts[i].root].below_ns;
		struct drawing measure = { .flame = flame, .whole_ns = parts[i].whole_ns };
		parts[i].levels = parts[i].whole_ns > 0 ? draw_tree(&measure, parts[i].root, false) : 0;
		height += parts[i].levels ? parts[i].levels * STEP + 42 : 0;
	}
	sink_format(sink,
	            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
	            "role=\"img\">\n<title>Time by stack of ",
	            WIDTH, height - 6, WIDTH, height - 6);
	sink_xml_text(sink, label ? label : "", label ? strlen(label) : 0);
	sink_text(sink, "</title>\n");
	sink_text(sink, svg_style);
	sink_text(sink, flame_style);
	if (flame->has_copies)
		sink_text(sink, stripes);
	sink_format(sink, "<rect class=\"p\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", WIDTH - 1,
	            height - 7);
	sink_format(sink, "<text class=\"t h\" x=\"%.0f\" y=\"30\" style=\"font-size:15px\">", MARGIN);
	svg_write_cut(sink, label ? label : "", WIDTH - 2 * MARGIN - 120, TITLE_FONT);
	sink_format(sink, "</text>\n<text class=\"m\" x=\"%.0f\" y=\"30\" text-anchor=\"end\">", WIDTH - MARGIN);
	EPP_TRY(svg_write_lost(run));
	sink_text(sink, "</text>\n");
	EPP_TRY(svg_write_account(run));
	height = 62;
	for (unsigned i = 0; i < 2; i++) {
		if (!parts[i].levels)
			continue;
		draw_part(run, flame, &parts[i], height);
		height += parts[i].levels * STEP + 42;
	}
	sink_text(sink, script);
	sink_text(sink, "</svg>\n");
	return NULL;
}

/* ---- the format ---- */

/* The open events of a lane: the node and end at each depth. */
struct flame_lane {
	uint32_t nodes[FLAME_DEPTH_MAX];
	int64_t end_ns[FLAME_DEPTH_MAX];
};

struct flame_cause {
	uint64_t id;
	uint32_t source, node;
};

/* ---- nodes ---- */

/* Finds a child by the text of its name, and creates it if needed.  If there are too many nodes, *found is the parent
 * itself. */
static epp_status *child_by_text(struct flame *flame, uint32_t parent, const epp_event *event, uint32_t *found)
{
	uint32_t *link = &flame->nodes[parent].children;

	/* The list is in order of last use: a child that is found moves to the front. */
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

/* Finds a child by the number of its name.  If the number is new, child_by_text finds the child. */
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

/* Finds or creates the node of a host stack in the tree of devices. */
static epp_status *find_device_node(struct flame *flame, uint32_t node, uint32_t *found)
{
	uint32_t path[FLAME_DEPTH_MAX], depth = 0;

	for (; node > FLAME_DEVICE && depth < FLAME_DEPTH_MAX; node = flame->nodes[node].parent)
		path[depth++] = node;
	*found = FLAME_DEVICE;
	while (depth) {
		/* child_of may move the array of nodes.  The name is a separate allocation, so the pointer to it stays
		 * valid. */
		const struct flame_node *one = &flame->nodes[path[--depth]];
		const epp_event name = { .name = one->name, .name_bytes = one->name_bytes, .name_number = one->name_number };
		EPP_TRY(child_of(flame, *found, &name, found));
	}
	return NULL;
}

static void add_time(struct flame *flame, uint32_t node, const epp_event *event)
{
	flame->nodes[node].count += event->weight;
	add_weighted(&flame->nodes[node].total_ns, event->duration_ns, event->weight);
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

/* Finds or creates the frame of a node's operator type below the frame `around`.  If the event has no type, *found is
 * `around`. */
static epp_status *type_of(struct flame *flame, uint32_t around, const epp_event *event, uint32_t *found)
{
	const epp_trace_arg *args = export_args(event);

	*found = around;
	size_t name_bytes = readable_name_bytes(event->name, event->name_bytes, event->category);
	for (uint32_t i = 0; event->category == EPP_NODE && i < event->args_count; i++) {
		if (args[i].type != EPP_ARG_TEXT || !args[i].text_bytes || strcmp(args[i].key, "op_name") != 0)
			continue;
		/* A node that has the name of its type gets no separate frame for the type. */
		if (args[i].text_bytes == name_bytes && memcmp(args[i].value.text, event->name, name_bytes) == 0)
			break;
		const epp_event type = { .name = args[i].value.text, .name_bytes = args[i].text_bytes };
		EPP_TRY(child_by_text(flame, around, &type, found));
		if (*found != around)
			add_time(flame, *found, event);
		break;
	}
	return NULL;
}

/* Returns the frame below which a plugin's call is drawn: that of the event that made the call.  The call itself is on
 * another track than this event. */
static uint32_t find_caller_frame(struct flame *flame, const epp_event *event)
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
	/* The innermost enclosing event that is still open.  A filter may have left out events between the two. */
	uint32_t parent = FLAME_HOST;
	for (uint32_t around = depth; parent == FLAME_HOST && around--;) {
		if (lane->nodes[around] && lane->end_ns[around] > event->start_ns)
			parent = lane->nodes[around];
	}
	if (parent == FLAME_HOST)
		parent = find_caller_frame(flame, event);
	EPP_TRY(type_of(flame, parent, event, &parent));
	EPP_TRY(child_of(flame, parent, event, &node));
	lane->nodes[depth] = node;
	lane->end_ns[depth] = event->start_ns + event->duration_ns;
	if (node != parent)
		add_time(flame, node, event);
	if (event->flags & EPP_FLAG_REFERENCED)
		*cause_of(flame, event->track->source, event->id) = (struct flame_cause){ .id = event->id,
			                                                                  .source = event->track->source,
			                                                                  .node = node };
	return NULL;
}

static epp_status *add_device(struct flame *flame, const epp_event *event)
{
	const struct flame_cause *cause = cause_of(flame, event->track->source, event->parent);
	uint32_t below = FLAME_DEVICE, node;

	/* The time of a nested kernel is part of the outer kernel's time. */
	if (event->depth)
		return NULL;
	if (event->parent && cause->id == event->parent && cause->source == event->track->source)
		EPP_TRY(find_device_node(flame, cause->node, &below));
	else
		flame->uncaused++;
	EPP_TRY(child_of(flame, below, event, &node));
	if (flame->nodes[node].work == WORK_NONE)
		flame->nodes[node].work = work_of(NULL, event);
	flame->has_copies |= work_is_copy(flame->nodes[node].work);
	add_time(flame, node, event);
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
	export_receipt(run, flame->cut, "%s event%s added to the enclosing stack: too many stacks");
	export_receipt(run, flame->uncaused, "%s device event%s with unknown host stack");
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
	.format = { "flame", ".flame.svg", "a flame graph as a clickable SVG: host and device time by stack" },
	.state_bytes = sizeof(struct flame),
	.begin = flame_begin,
	.event = flame_event,
	.end = flame_end,
	.deinit = flame_deinit,
};
