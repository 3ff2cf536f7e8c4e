/* The state of the SVG writer: the bars of events that it collects, and their layout. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_H

#include "export/rows.h"
#include "export/svg/svg_text.h"
#include "export/writer.h"

/* The maximum number of bars in a picture.  If there are more, the longest ones of each row are kept. */
#define SVG_BARS_MAX 600u

struct svg_bar {
	int64_t start_ns, end_ns;
	int64_t start_error_ns;
	uint64_t id, parent;
	char *name;
	uint32_t row; /* index of the bar's row */
	uint32_t source;
	uint32_t depth;
	uint32_t rank; /* how many bars in the row are longer */
	uint8_t category;
	uint8_t placement;
	uint8_t colour; /* index into svg_colours, set by svg_layout_init */
	uint8_t on_device;
	uint32_t flags;
};

struct svg {
	struct rows rows;
	struct svg_bar *bars; /* the array has room for 2 * SVG_BARS_MAX bars */
	size_t bars_count;
	int64_t first_ns, last_ns; /* first start and last end of all events, including those that are left out */
	uint64_t left_out, others;
};

/* All lengths are in pixels. */
#define SVG_WIDTH 1200.0
#define SVG_LEFT 164.0 /* here the labels end and the time axis begins */
#define SVG_RIGHT 1180.0
#define SVG_TOP 70.0
#define SVG_BAR 19.0
#define SVG_STEP 21.0 /* distance between two depths */

struct svg_row {
	uint32_t row;    /* index of rows->rows */
	uint32_t levels; /* at least 1 */
	double top;
	bool begins_group;
};

struct svg_layout {
	int64_t from_ns, to_ns;
	double pixels_per_ns;
	struct svg_row *rows; /* the rows that have bars, from top to bottom */
	size_t rows_count;
	double *top; /* position of each row, by its index in svg.rows */
	double bottom;
};

#endif
