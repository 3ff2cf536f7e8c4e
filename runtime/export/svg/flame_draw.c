/* Draws the two trees of the flame graph as frames, one level below the other; the width of a frame is its share of the
 * tree's time.
 *
 * Frames are nested SVG documents, which clip their texts and are positioned in percent: a click only changes positions
 * and widths. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/status.h"
#include "export/svg/flame.h"
#include "export/svg/svg_account.h"
#include "export/svg/svg_text.h"

#define WIDTH 1200.0
#define MARGIN 20.0
#define FRAME 19.0
#define STEP 21.0
/* Narrower frames are not drawn; in pixels. */
#define NARROWEST 0.6
#define LETTER 6.5

static const char flame_style[] = "<style>.f{cursor:pointer}.f:hover rect{stroke:#444c56;stroke-width:2}"
				  "@media(prefers-color-scheme:dark){.f:hover rect{stroke:#e6edf3}}</style>\n";

static const char stripes[] = "<defs><pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
			      "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#1b1f24\" "
			      "fill-opacity=\".18\"/></pattern></defs>\n";

/* The script must not contain < and &, because the file is XML.  A click on a frame expands it to the whole width; a
 * click on a frame above it, or on the same frame again, goes back. */
static const char script[] =
    "<script>\n"
    "for (const tree of document.querySelectorAll('.tree')) {\n"
    "\tlet zoomed = null;\n"
    "\tconst label = (frame, part) => {\n"
    "\t\tconst name = frame.querySelector('title').textContent.split('\\n')[0], room = Math.floor((part * 1160 - 8) / 6.5);\n"
    "\t\tconst cut = name.length > room ? `${name.slice(0, room - 1)}\u2026` : name;\n"
    "\t\tframe.querySelector('text').textContent = room > 2 ? cut : '';\n"
    "\t};\n"
    "\tconst frames = [...tree.querySelectorAll('.f')].map((frame) => ({ frame, x: +frame.dataset.x, w: +frame.dataset.w }));\n"
    "\tconst show = (x, w) => frames.forEach((one) => {\n"
    "\t\tconst left = Math.max(0, (one.x - x) / w), right = Math.min(1, (one.x + one.w - x) / w);\n"
    "\t\tlabel(one.frame, right - left);\n"
    "\t\tone.frame.style.display = right - left > 0.0004 ? '' : 'none';\n"
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
	return node->total_ns + node->below_ns;
}

/* ---- the time of each frame ---- */

/* Adds the times of children to their parents; children have larger indexes than their parents.  On the host, a stack's
 * own time already includes the inner stacks. */
static void add_up(struct flame *flame, uint8_t *tree)
{
	tree[FLAME_HOST] = FLAME_HOST;
	tree[FLAME_DEVICE] = FLAME_DEVICE;
	for (uint32_t i = FLAME_DEVICE + 1; i < flame->nodes_count; i++)
		tree[i] = tree[flame->nodes[i].parent];
	for (uint32_t i = flame->nodes_count - 1; i > FLAME_DEVICE; i--) {
		struct flame_node *node = &flame->nodes[i], *parent = &flame->nodes[node->parent];
		if (tree[i] == FLAME_DEVICE || node->parent == FLAME_HOST)
			parent->below_ns += width_ns(node);
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

/* Links the children of a node, the widest first. */
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
	svg_write_text(sink, node->name, node->name_bytes);
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
	size_t letters = pixels > 8 ? (size_t)((pixels - 8) / LETTER) : 0;
	if (letters > 2)
		svg_write_cut(sink, node->name, letters);
	sink_text(sink, "</text></svg>\n");
}

/* Draws depth first, without recursion, because stacks may be deep.  Returns the number of levels. */
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

epp_status *flame_draw(struct export_run *run, struct flame *flame)
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
	svg_write_text(sink, label ? label : "", label ? strlen(label) : 0);
	sink_text(sink, "</title>\n");
	sink_text(sink, svg_style);
	sink_text(sink, flame_style);
	if (flame->has_copies)
		sink_text(sink, stripes);
	sink_format(sink, "<rect class=\"p\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", WIDTH - 1,
	            height - 7);
	sink_format(sink, "<text class=\"t h\" x=\"%.0f\" y=\"30\" style=\"font-size:15px\">", MARGIN);
	svg_write_cut(sink, label ? label : "", 90);
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
