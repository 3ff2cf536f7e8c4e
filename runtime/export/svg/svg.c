/* Writes a picture of a trace for documents: SVG that is legible on light and dark pages.
 *
 * Collects at most SVG_BARS_MAX slices of the window, the longest of each row.  Memory and picture therefore stay small
 * for a trace of any length, and the short kernels of a stream are visible next to long host events.  The number of
 * omitted slices is in the picture and in the receipt. */
#include "export/svg/svg.h"

#include <locale.h>
#include <stdlib.h>

static int longer_first(const void *a, const void *b)
{
	const struct svg_bar *left = a, *right = b;
	int64_t left_ns = left->end_ns - left->start_ns, right_ns = right->end_ns - right->start_ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int by_start(const void *a, const void *b)
{
	const struct svg_bar *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->depth > right->depth) - (left->depth < right->depth);
}

static int by_rank(const void *a, const void *b)
{
	const struct svg_bar *left = a, *right = b;

	return left->rank != right->rank ? (left->rank < right->rank ? -1 : 1) : longer_first(a, b);
}

/* Keeps the longest bars of each row: the same number for each row, as far as it has that many. */
static epp_status *drop_short(struct svg *svg)
{
	if (svg->bars_count <= SVG_BARS_MAX)
		return NULL;
	uint32_t *counts = calloc(svg->rows.rows_count, sizeof *counts);
	if (!counts)
		return epp_status_no_memory();
	qsort(svg->bars, svg->bars_count, sizeof *svg->bars, longer_first);
	for (size_t i = 0; i < svg->bars_count; i++)
		svg->bars[i].rank = counts[svg->bars[i].row]++;
	free(counts);
	qsort(svg->bars, svg->bars_count, sizeof *svg->bars, by_rank);
	for (size_t i = SVG_BARS_MAX; i < svg->bars_count; i++)
		free(svg->bars[i].name);
	svg->left_out += svg->bars_count - SVG_BARS_MAX;
	svg->bars_count = SVG_BARS_MAX;
	return NULL;
}

static epp_status *svg_begin(struct export_run *run)
{
	struct svg *svg = run->state;

	svg->first_ns = INT64_MAX;
	svg->last_ns = INT64_MIN;
	svg->bars = calloc(2 * SVG_BARS_MAX, sizeof *svg->bars);
	return svg->bars ? NULL : epp_status_no_memory();
}

static epp_status *svg_event(struct export_run *run, const epp_event *event)
{
	struct svg *svg = run->state;
	int64_t end_ns = event->start_ns + event->duration_ns;
	struct svg_bar *bar;
	struct row *row;

	if (event->kind != EPP_EVENT_SLICE) {
		svg->others += event->kind != EPP_EVENT_FLOW;
		return NULL;
	}
	if (event->start_ns < svg->first_ns)
		svg->first_ns = event->start_ns;
	if (end_ns > svg->last_ns)
		svg->last_ns = end_ns;
	epp_status *status = rows_find(&svg->rows, run->info, event->track, event->lane, &row);
	if (status)
		return status;

	bar = &svg->bars[svg->bars_count];
	*bar = (struct svg_bar){ .start_ns = event->start_ns,
		                 .end_ns = end_ns,
		                 .start_error_ns = event->start_error_ns,
		                 .id = event->id,
		                 .parent = event->parent,
		                 .row = (uint32_t)(row - svg->rows.rows),
		                 .source = event->track->source,
		                 .depth = event->depth,
		                 .category = event->category,
		                 .placement = event->placement,
		                 .flags = event->flags,
		                 .on_device = event->track->kind == EPP_TRACK_DEVICE };
	bar->name = strndup(event->name, event->name_bytes);
	if (!bar->name)
		return epp_status_no_memory();
	return ++svg->bars_count == 2 * SVG_BARS_MAX ? drop_short(svg) : NULL;
}

static epp_status *svg_end(struct export_run *run)
{
	struct svg *svg = run->state;

	/* The decimal separator must be a point in every locale. */
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	locale_t before = plain ? uselocale(plain) : (locale_t)0;
	struct svg_layout layout = { 0 };
	epp_status *status = drop_short(svg);

	qsort(svg->bars, svg->bars_count, sizeof *svg->bars, by_start);
	if (!status)
		status = svg_layout_init(&layout, svg, run->from_ns, run->to_ns);
	if (!status)
		status = svg_draw(run, &layout);
	svg_layout_deinit(&layout);
	if (plain) {
		uselocale(before);
		freelocale(plain);
	}
	export_receipt(run, svg->left_out, "%s event%s left out: the shortest ones, too many for one picture");
	export_receipt(run, svg->others, "%s event%s left out: instants, counter values, asynchronous events");
	return status;
}

static void svg_deinit(struct export_run *run)
{
	struct svg *svg = run->state;

	rows_deinit(&svg->rows);
	for (size_t i = 0; i < svg->bars_count; i++)
		free(svg->bars[i].name);
	free(svg->bars);
}

const struct export_writer export_svg = {
	.format = { "svg", ".svg",
	            "a picture for documents: the longest events of each row, of the trace or of --from, --to" },
	.state_bytes = sizeof(struct svg),
	.begin = svg_begin,
	.event = svg_event,
	.end = svg_end,
	.deinit = svg_deinit,
};
