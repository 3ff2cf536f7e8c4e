/* Writes a picture of a trace for documents: SVG that is legible on light and dark pages.
 *
 * Collects at most SVG_BARS_MAX slices of the window, the longest of each row.  Memory and picture therefore stay small
 * for a trace of any length, and the short kernels of a stream are visible next to long host events.  The number of
 * omitted slices is in the picture and in the receipt. */
#include "export/svg/svg.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "export/args_text.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/svg/svg_text.h"

/* ---- ledger ---- */

/* Writes the losses and the ledger of a trace into a picture. */

/* The maximum number of producers in a title.  The metadata lists all. */
#define NAMED_MAX 12u

static void name_losses(struct sink *sink, const epp_trace_ledger_entry *account)
{
	bool any = false;

	sink_xml_text(sink, account->producer, strlen(account->producer));
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (!account->lost[reason])
			continue;
		sink_format(sink, "%s%" PRIu64 " %s", any ? ", " : ": ", account->lost[reason], epp_loss_name(reason));
		any = true;
	}
	sink_text(sink, "\n");
}

epp_status *svg_write_lost(struct export_run *run)
{
	size_t count = ledger_count(run), named = 0;
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	if (total.lost)
		sink_format(run->sink, "%" PRIu64 " lost in the whole trace<title>", total.lost);
	else
		sink_text(run->sink, "none lost");
	for (size_t i = 0; i < count && total.lost; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		if (account.lost_total && named++ < NAMED_MAX)
			name_losses(run->sink, &account);
	}
	if (named > NAMED_MAX)
		sink_format(run->sink, "and %zu producers more\n", named - NAMED_MAX);
	sink_text(run->sink, total.lost ? "</title>" : "");
	return NULL;
}

epp_status *svg_write_account(struct export_run *run)
{
	struct args_text text = { 0 };
	epp_status *status = args_text_init(&text);

	if (!status) {
		sink_text(&text.sink, "{\"facts\":{");
		facts_write_json(run, &text.sink);
		sink_text(&text.sink, "},\"ledger\":");
		status = ledger_write(run, &text.sink);
	}
	if (!status) {
		sink_text(&text.sink, "}");
		status = args_text_take(&text);
	}
	if (!status) {
		sink_text(run->sink, "<metadata>");
		sink_xml_text(run->sink, text.memory.bytes, text.memory.count);
		sink_text(run->sink, "</metadata>\n");
	}
	args_text_deinit(&text);
	return status;
}

/* ---- layout ---- */

/* Computes the positions of rows and the colours of names.  Host processes are above devices; the height of a row
 * follows its depth.  Colours are assigned to names in order of their time, the longest first.  Events of category
 * Session are grey, because they only enclose other events. */

#define ROW_GAP 8.0
#define GROUP_HEAD 24.0
#define GROUP_GAP 10.0

static int by_place(const void *a, const void *b, void *context)
{
	const struct rows *rows = context;
	const struct row *left = &rows->rows[((const struct svg_row *)a)->row];
	const struct row *right = &rows->rows[((const struct svg_row *)b)->row];
	int left_device = rows->processes[left->process].group != NULL;
	int right_device = rows->processes[right->process].group != NULL;

	if (left_device != right_device)
		return left_device - right_device;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	int64_t left_index = rows_sort_index(left), right_index = rows_sort_index(right);
	if (left_index != right_index)
		return left_index < right_index ? -1 : 1;
	return (left->track->track > right->track->track) - (left->track->track < right->track->track);
}

/* ---- colours ---- */

struct name_time {
	const char *name;
	double time;
	uint8_t colour;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct name_time *)a)->name, ((const struct name_time *)b)->name);
}

static int by_time(const void *a, const void *b)
{
	const struct name_time *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? 1 : -1;
	return by_name(a, b);
}

static epp_status *give_colours(struct svg *svg)
{
	struct name_time *names = calloc(svg->bars_count + 1, sizeof *names);
	size_t count = 0, distinct = 0;

	if (!names)
		return epp_status_no_memory();
	for (size_t i = 0; i < svg->bars_count; i++) {
		const struct svg_bar *bar = &svg->bars[i];
		if (bar->on_device || bar->category != EPP_SESSION)
			names[count++] = (struct name_time){ bar->name, (double)(bar->end_ns - bar->start_ns), 0 };
	}
	qsort(names, count, sizeof *names, by_name);
	for (size_t i = 0; i < count; i++) {
		if (distinct && by_name(&names[distinct - 1], &names[i]) == 0)
			names[distinct - 1].time += names[i].time;
		else
			names[distinct++] = names[i];
	}
	qsort(names, distinct, sizeof *names, by_time);
	for (size_t i = 0; i < distinct; i++)
		names[i].colour = (uint8_t)(i % SVG_COLOURS_COUNT);
	qsort(names, distinct, sizeof *names, by_name);
	for (size_t i = 0; i < svg->bars_count; i++) {
		struct svg_bar *bar = &svg->bars[i];
		const struct name_time *found = bsearch(&(struct name_time){ .name = bar->name }, names, distinct,
		                                        sizeof *names, by_name);
		bool grey = !found || (!bar->on_device && bar->category == EPP_SESSION);
		bar->colour = grey ? SVG_GREY : found->colour;
	}
	free(names);
	return NULL;
}

/* ---- rows ---- */

static epp_status *place_rows(struct svg_layout *layout, struct svg *svg)
{
	const struct rows *rows = &svg->rows;
	uint32_t *levels = calloc(rows->rows_count + 1, sizeof *levels);
	uint32_t process = UINT32_MAX;
	double y = SVG_TOP;

	layout->rows = calloc(rows->rows_count + 1, sizeof *layout->rows);
	layout->top = calloc(rows->rows_count + 1, sizeof *layout->top);
	if (!levels || !layout->rows || !layout->top) {
		free(levels);
		return epp_status_no_memory();
	}
	for (size_t i = 0; i < svg->bars_count; i++) {
		const struct svg_bar *bar = &svg->bars[i];
		if (levels[bar->row] < bar->depth + 1)
			levels[bar->row] = bar->depth + 1;
	}
	for (size_t i = 0; i < rows->rows_count; i++) {
		if (levels[i])
			layout->rows[layout->rows_count++] = (struct svg_row){ .row = (uint32_t)i, .levels = levels[i] };
	}
	free(levels);
	qsort_r(layout->rows, layout->rows_count, sizeof *layout->rows, by_place, &svg->rows);

	for (size_t i = 0; i < layout->rows_count; i++) {
		struct svg_row *row = &layout->rows[i];
		row->begins_group = rows->rows[row->row].process != process;
		process = rows->rows[row->row].process;
		if (row->begins_group)
			y += GROUP_HEAD + (i ? GROUP_GAP : 0);
		row->top = y;
		layout->top[row->row] = y;
		y += row->levels * SVG_STEP + ROW_GAP;
	}
	layout->bottom = y;
	return NULL;
}

/* Computes positions and colours.  Errors: EPP_OUT_OF_MEMORY. */
static epp_status *svg_layout_init(struct svg_layout *layout, struct svg *svg, int64_t from_ns, int64_t to_ns)
{
	memset(layout, 0, sizeof *layout);
	if (svg->first_ns > svg->last_ns)
		svg->first_ns = svg->last_ns = 0;
	layout->from_ns = from_ns > svg->first_ns ? from_ns : svg->first_ns;
	layout->to_ns = to_ns < svg->last_ns ? to_ns : svg->last_ns;
	if (layout->to_ns <= layout->from_ns)
		layout->to_ns = layout->from_ns + 1;
	layout->pixels_per_ns = (SVG_RIGHT - SVG_LEFT) / ((double)layout->to_ns - (double)layout->from_ns);
	EPP_TRY(give_colours(svg));
	return place_rows(layout, svg);
}

static void svg_layout_deinit(struct svg_layout *layout)
{
	free(layout->rows);
	free(layout->top);
	memset(layout, 0, sizeof *layout);
}

/* ---- drawing ---- */

/* Draws a picture: title, time axis, the rows of each process or device with their bars, arrows from host to device,
 * and a last line with the losses and the error bounds of the times.
 *
 * Bars have light colours and dark text in both colour schemes.  Background, lines and labels have the colours of the
 * viewer's scheme. */

#define FOOT 36.0
/* Sizes of fonts, as in svg_style and for the picture's title. */
#define BAR_FONT 11.0
#define LABEL_FONT 12.0
#define TITLE_FONT 15.0
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
			svg_write_cut(sink, rows->processes[row->process].name, SVG_RIGHT - 20, LABEL_FONT);
			sink_text(sink, "</text>\n");
		}
		sink_format(sink, "<rect class=\"l\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/>",
		            SVG_LEFT - 3, place->top - 3, SVG_RIGHT - SVG_LEFT + 6, place->levels * SVG_STEP + 4);
		sink_format(sink, "<text class=\"m\" x=\"%d\" y=\"%.1f\">", row->lane ? 32 : 20, place->top + 14);
		/* A further lane of a track needs no name if the row above it is a lane of the same track. */
		bool under_track = row->lane && i && rows->rows[layout->rows[i - 1].row].track == row->track;
		if (!under_track)
			svg_write_cut(sink, row->track->name, SVG_LEFT - (row->lane ? 110 : 26), LABEL_FONT);
		sink_text(sink, rows_lane_text(row->lane, lane));
		sink_text(sink, "</text>\n");
	}
}

static void draw_title(const struct picture *picture, const struct svg_bar *bar)
{
	char length[32], start[32], error[32];
	struct sink *sink = picture->sink;

	sink_text(sink, "<title>");
	sink_xml_text(sink, bar->name, strlen(bar->name));
	sink_format(sink, "\n%s, from %s", svg_duration((double)(bar->end_ns - bar->start_ns), length),
	            svg_duration((double)bar->start_ns, start));
	if (bar->on_device)
		sink_format(sink, "\n%s, \xC2\xB1 %s", epp_placement_name(bar->placement),
		            svg_duration((double)bar->start_error_ns, error));
	if (bar->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN))
		sink_text(sink, bar->flags & EPP_FLAG_OPEN ? "\nstill open" : "\nnever ended");
	if (bar->flags & EPP_FLAG_UNCORRELATED)
		sink_text(sink, "\nhost event unknown");
	sink_text(sink, "</title>");
}

static void draw_bar(const struct picture *picture, const struct svg_bar *bar)
{
	double x = x_of(picture, bar->start_ns), y = y_of(picture, bar);
	double width = x_of(picture, bar->end_ns) - x;
	struct sink *sink = picture->sink;

	/* Leaves a thin gap between neighbouring bars. */
	width = width > 3 ? width - 0.6 : width < 0.8 ? 0.8 : width;
	sink_text(sink, "<g>");
	draw_title(picture, bar);
	sink_format(sink, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"%.1f\" fill=\"%s\"%s/>", x,
	            y, width, SVG_BAR, width > 6 ? 3.0 : width / 3, svg_colours[bar->colour],
	            bar->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN) ? " class=\"u\"" : "");
	if (width >= 30) {
		sink_format(sink, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">", x + 5, y + 13.5);
		svg_write_cut(sink, bar->name, width - 8, BAR_FONT);
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

static epp_status *draw_footer(const struct picture *picture)
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

/* Draws the collected bars. */
static epp_status *svg_draw(struct export_run *run, const struct svg_layout *layout)
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
	sink_xml_text(sink, label ? label : "", label ? strlen(label) : 0);
	sink_text(sink, "</title>\n");
	sink_text(sink, svg_style);
	sink_format(sink, "<rect class=\"p\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n",
	            SVG_WIDTH - 1, height - 1);
	sink_text(sink, "<text class=\"t h\" x=\"20\" y=\"30\" style=\"font-size:15px\">");
	svg_write_cut(sink, label ? label : "", SVG_RIGHT - 120, TITLE_FONT);
	sink_format(sink, "</text>\n<text class=\"m\" x=\"%.0f\" y=\"30\" text-anchor=\"end\">%s</text>\n", SVG_RIGHT,
	            svg_duration((double)layout->to_ns - (double)layout->from_ns, span));
	draw_labels(&picture);
	draw_axis(&picture);
	/* Arrows are drawn before the bars, so that an arrow that crosses a thread does not cover names. */
	EPP_TRY(draw_arrows(&picture));
	for (size_t i = 0; i < picture.svg->bars_count; i++)
		draw_bar(&picture, &picture.svg->bars[i]);
	EPP_TRY(draw_footer(&picture));
	EPP_TRY(svg_write_account(run));
	sink_text(sink, "</svg>\n");
	return NULL;
}

/* ---- the format ---- */

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

/* Drops all but the longest bars of each row.  Each row may keep the same number of bars. */
static epp_status *drop_short_bars(struct svg *svg)
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
	return ++svg->bars_count == 2 * SVG_BARS_MAX ? drop_short_bars(svg) : NULL;
}

static epp_status *svg_end(struct export_run *run)
{
	struct svg *svg = run->state;

	/* The locale makes a point the decimal separator. */
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	locale_t before = plain ? uselocale(plain) : (locale_t)0;
	struct svg_layout layout = { 0 };
	epp_status *status = drop_short_bars(svg);

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
	export_receipt(run, svg->left_out, "%s event%s left out: the shortest; there are too many for one picture");
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
	.format = { "svg", ".svg", "an SVG picture for documents: the longest events of each row, between --from and --to" },
	.state_bytes = sizeof(struct svg),
	.begin = svg_begin,
	.event = svg_event,
	.end = svg_end,
	.deinit = svg_deinit,
};
