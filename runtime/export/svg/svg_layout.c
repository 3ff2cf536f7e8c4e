/* Computes the positions of rows and the colours of names.  Host processes are above devices; the height of a row
 * follows its depth.  Names with the most time get their colours first; events of the category Session, which only
 * enclose others, are grey. */
#include <stdlib.h>

#include "base/status.h"
#include "export/svg/svg.h"

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

epp_status *svg_layout_init(struct svg_layout *layout, struct svg *svg, int64_t from_ns, int64_t to_ns)
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

void svg_layout_deinit(struct svg_layout *layout)
{
	free(layout->rows);
	free(layout->top);
	memset(layout, 0, sizeof *layout);
}
