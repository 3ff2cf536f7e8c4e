/* Draws a picture: title, time axis, the rows of each process or device with their bars, arrows from host to device,
 * and a last line with the losses and the error bounds of the times.
 *
 * Bars have the same light colours and dark text in both colour schemes; background, lines and labels follow the
 * reader's scheme. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "export/svg/svg.h"
#include "export/svg/svg_account.h"
#include "export/svg/svg_text.h"

#define FOOT 36.0
/* Mean width of a letter in a bar, and in a label. */
#define BAR_LETTER 6.6
#define LABEL_LETTER 6.6
#define TICKS 8.0

struct picture {
	struct export_run *run;
	const struct svg *svg;
	const struct svg_layout *layout;
	struct sink *sink;
};

static double x_of(const struct picture *picture, int64_t ns)
{
	const struct svg_layout *layout = picture->layout;
	double x = SVG_LEFT + ((double)ns - (double)layout->from_ns) * layout->pixels_per_ns;

	return x < SVG_LEFT ? SVG_LEFT : x > SVG_RIGHT ? SVG_RIGHT : x;
}

static double y_of(const struct picture *picture, const struct svg_bar *bar)
{
	return picture->layout->top[bar->row] + bar->depth * SVG_STEP;
}

/* ---- axis ---- */

/* Returns the distance between ticks: 1, 2 or 5 times a power of ten, for about TICKS ticks. */
static double tick_distance(double span_ns)
{
	double wanted = span_ns / TICKS;
	double power = pow(10, floor(log10(wanted)));

	for (unsigned i = 0; i < 3; i++) {
		double distance = power * (i == 0 ? 1 : i == 1 ? 2 : 5);
		if (distance >= wanted)
			return distance < 1 ? 1 : distance;
	}
	return power * 10 < 1 ? 1 : power * 10;
}

static void draw_axis(const struct picture *picture)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "\xC2\xB5s" }, { 1, "ns" } };
	const struct svg_layout *layout = picture->layout;
	double span = (double)layout->to_ns - (double)layout->from_ns;
	double distance = tick_distance(span);
	unsigned unit = 0;

	while (unit < 3 && span < units[unit].ns)
		unit++;
	for (unsigned i = 0; distance * i <= span; i++) {
		double x = SVG_LEFT + distance * i * layout->pixels_per_ns;
		sink_format(picture->sink, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, SVG_TOP - 8, layout->bottom - 8);
		if (x > SVG_RIGHT - 12)
			continue;
		sink_format(picture->sink,
		            "<text class=\"m s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g%s%s</text>\n", x,
		            SVG_TOP - 14, distance * i / units[unit].ns, i ? "\xC2\xA0" : "", i ? units[unit].name : "");
	}
}

/* ---- rows and bars ---- */

static void draw_labels(const struct picture *picture)
{
	const struct svg_layout *layout = picture->layout;
	const struct rows *rows = &picture->svg->rows;
	struct sink *sink = picture->sink;
	char lane[ROWS_LANE_BYTES];

	for (size_t i = 0; i < layout->rows_count; i++) {
		const struct svg_row *place = &layout->rows[i];
		const struct row *row = &rows->rows[place->row];
		if (place->begins_group) {
			sink_format(sink, "<text class=\"t h\" x=\"20\" y=\"%.1f\">", place->top - 9);
			svg_write_cut(sink, rows->processes[row->process].name, 100);
			sink_text(sink, "</text>\n");
		}
		sink_format(sink, "<rect class=\"l\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/>",
		            SVG_LEFT - 3, place->top - 3, SVG_RIGHT - SVG_LEFT + 6, place->levels * SVG_STEP + 4);
		sink_format(sink, "<text class=\"m\" x=\"%d\" y=\"%.1f\">", row->lane ? 32 : 20, place->top + 14);
		/* Other lanes are placed below the first lane of their track, if that has bars. */
		bool under_track = row->lane && i && rows->rows[layout->rows[i - 1].row].track == row->track;
		if (!under_track)
			svg_write_cut(sink, row->track->name,
			              (size_t)((SVG_LEFT - (row->lane ? 110 : 30)) / LABEL_LETTER));
		sink_text(sink, rows_lane_text(row->lane, lane));
		sink_text(sink, "</text>\n");
	}
}

static void draw_title(const struct picture *picture, const struct svg_bar *bar)
{
	char length[32], start[32], error[32];
	struct sink *sink = picture->sink;

	sink_text(sink, "<title>");
	svg_write_text(sink, bar->name, strlen(bar->name));
	sink_format(sink, "\n%s, from %s", svg_duration((double)(bar->end_ns - bar->start_ns), length),
	            svg_duration((double)bar->start_ns, start));
	if (bar->on_device)
		sink_format(sink, "\n%s, \xC2\xB1 %s", epp_placement_name(bar->placement),
		            svg_duration((double)bar->start_error_ns, error));
	if (bar->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN))
		sink_text(sink, bar->flags & EPP_FLAG_OPEN ? "\nstill open" : "\nnever ended");
	if (bar->flags & EPP_FLAG_UNCORRELATED)
		sink_text(sink, "\nno host event is known");
	sink_text(sink, "</title>");
}

static void draw_bar(const struct picture *picture, const struct svg_bar *bar)
{
	double x = x_of(picture, bar->start_ns), y = y_of(picture, bar);
	double width = x_of(picture, bar->end_ns) - x;
	struct sink *sink = picture->sink;

	/* A thin gap in the colour of the background separates neighbours. */
	width = width > 3 ? width - 0.6 : width < 0.8 ? 0.8 : width;
	sink_text(sink, "<g>");
	draw_title(picture, bar);
	sink_format(sink, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"%.1f\" fill=\"%s\"%s/>", x,
	            y, width, SVG_BAR, width > 6 ? 3.0 : width / 3, svg_colours[bar->colour],
	            bar->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN) ? " class=\"u\"" : "");
	if (width >= 30) {
		sink_format(sink, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">", x + 5, y + 13.5);
		svg_write_cut(sink, bar->name, (size_t)((width - 8) / BAR_LETTER));
		sink_text(sink, "</text>");
	}
	sink_text(sink, "</g>\n");
}

/* ---- arrows ---- */

static int by_id(const void *a, const void *b)
{
	const struct svg_bar *left = *(const struct svg_bar *const *)a, *right = *(const struct svg_bar *const *)b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static void draw_arrow(const struct picture *picture, const struct svg_bar *from, const struct svg_bar *to)
{
	double x1 = x_of(picture, from->start_ns) + 3, x2 = x_of(picture, to->start_ns);
	double y1 = y_of(picture, from) + SVG_BAR, y2 = y_of(picture, to);
	bool down = y2 > y1;

	if (to->start_ns < picture->layout->from_ns || from->start_ns > picture->layout->to_ns)
		return;
	if (!down) {
		y1 -= SVG_BAR;
		y2 += SVG_BAR;
	}
	double head = down ? -4 : 4;
	double bend = (y2 + head - y1) * 0.45;
	sink_format(picture->sink, "<path class=\"a\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>", x1, y1, x1,
	            y1 + bend, x2, y2 + head - bend, x2, y2 + head);
	sink_format(picture->sink, "<path class=\"i\" d=\"M%.1f %.1fl-2.6 %.1fh5.2z\"/>\n", x2, y2, head * 1.25);
}

static epp_status *draw_arrows(const struct picture *picture)
{
	const struct svg *svg = picture->svg;
	const struct svg_bar **hosts = calloc(svg->bars_count + 1, sizeof *hosts);
	size_t count = 0;

	if (!hosts)
		return epp_status_no_memory();
	for (size_t i = 0; i < svg->bars_count; i++) {
		if (!svg->bars[i].on_device)
			hosts[count++] = &svg->bars[i];
	}
	qsort(hosts, count, sizeof *hosts, by_id);
	for (size_t i = 0; i < svg->bars_count; i++) {
		const struct svg_bar *bar = &svg->bars[i],
				     *parent = &(struct svg_bar){ .id = bar->parent, .source = bar->source };
		const struct svg_bar **found = NULL;
		if (bar->on_device && bar->parent)
			found = bsearch(&parent, hosts, count, sizeof *hosts, by_id);
		if (found)
			draw_arrow(picture, *found, bar);
	}
	free(hosts);
	return NULL;
}

/* ---- the picture ---- */

static epp_status *draw_foot(const struct picture *picture)
{
	const epp_timeline_counts *counts = epp_timeline_get_counts(picture->run->timeline);
	struct sink *sink = picture->sink;
	char error[32];

	sink_format(sink, "<text class=\"m s\" x=\"20\" y=\"%.1f\">%zu events", picture->layout->bottom + FOOT - 16,
	            picture->svg->bars_count);
	if (picture->svg->left_out)
		sink_format(sink, " of %" PRIu64 " (the longest of each row)",
		            picture->svg->bars_count + picture->svg->left_out);
	sink_text(sink, " \xC2\xB7 <tspan>");
	EPP_TRY(svg_write_lost(picture->run));
	sink_text(sink, "</tspan>");
	if (counts->largest_error_ns)
		sink_format(sink, " \xC2\xB7 device times within \xC2\xB1 %s",
		            svg_duration((double)counts->largest_error_ns, error));
	sink_text(sink, "</text>\n");
	return NULL;
}

epp_status *svg_draw(struct export_run *run, const struct svg_layout *layout)
{
	struct picture picture = { .run = run, .svg = run->state, .layout = layout, .sink = run->sink };
	const char *label = run->info->label && run->info->label[0] ? run->info->label : run->info->program;
	double height = layout->bottom + FOOT;
	struct sink *sink = run->sink;
	char span[32];

	sink_format(sink,
	            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
	            "role=\"img\">\n<title>Timeline of ",
	            SVG_WIDTH, height, SVG_WIDTH, height);
	svg_write_text(sink, label ? label : "", label ? strlen(label) : 0);
	sink_text(sink, "</title>\n");
	sink_text(sink, svg_style);
	sink_format(sink, "<rect class=\"p\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n",
	            SVG_WIDTH - 1, height - 1);
	sink_text(sink, "<text class=\"t h\" x=\"20\" y=\"30\" style=\"font-size:15px\">");
	svg_write_cut(sink, label ? label : "", 90);
	sink_format(sink, "</text>\n<text class=\"m\" x=\"%.0f\" y=\"30\" text-anchor=\"end\">%s</text>\n", SVG_RIGHT,
	            svg_duration((double)layout->to_ns - (double)layout->from_ns, span));
	draw_labels(&picture);
	draw_axis(&picture);
	/* Arrows are drawn before the bars, so that an arrow across a thread does not cover its names. */
	EPP_TRY(draw_arrows(&picture));
	for (size_t i = 0; i < picture.svg->bars_count; i++)
		draw_bar(&picture, &picture.svg->bars[i]);
	EPP_TRY(draw_foot(&picture));
	EPP_TRY(svg_write_account(run));
	sink_text(sink, "</svg>\n");
	return NULL;
}
