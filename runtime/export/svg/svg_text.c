/* Cuts text to a width, formats durations, and defines the style and the colours of all SVG pictures. */
#include "export/svg/svg_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "encoding/utf8.h"

const char svg_style[] = "<style>text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}"
			 ".p{fill:#fff;stroke:#d0d7de}.t{fill:#1f2328}.h{font-weight:600}.m{fill:#656d76}.s{font-size:11px}"
			 ".g{stroke:#e4e8ec}.l{fill:#f6f8fa}.a{fill:none;stroke:#444c56;stroke-width:1;stroke-opacity:.55}"
			 ".i{fill:#444c56;fill-opacity:.75}.n{fill:#1b1f24;font-size:11px}.u{stroke:#656d76;stroke-dasharray:3 2}"
			 "@media(prefers-color-scheme:dark){.p{fill:#0d1117;stroke:#30363d}.t{fill:#e6edf3}.m{fill:#8b949e}"
			 ".g{stroke:#262c34}.l{fill:#151b23}.a{stroke:#adbac7}.i{fill:#adbac7}}</style>\n";

const char *const svg_colours[SVG_COLOURS_COUNT + 1] = { "#8ab8f5", "#86cf9b", "#f8c765", "#c9a2f2",
	                                                 "#f4978e", "#74d0dc", "#f7ab72", "#ef9ccb",
	                                                 "#b5cf6b", "#a3b1f5", "#ccd3dc" };

/* Widths of the characters from ' ' to '~' in DejaVu Sans, in 1/100 of the font size. */
static const uint8_t ascii_widths[95] = {
	32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
	64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
	61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
	64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
};

#define ELLIPSIS_WIDTH 100u

/* Returns the width of a character, in 1/100 of the font size, from the first byte and the length of its UTF-8
 * sequence.  Most characters from U+0800 on are as wide as the font size. */
static unsigned width_of(unsigned char first, size_t length)
{
	if (length > 1)
		return length > 2 ? 100 : 85;
	return first >= ' ' && first <= '~' ? ascii_widths[first - ' '] : 100;
}

void svg_write_cut(struct sink *sink, const char *text, double room, double font)
{
	size_t bytes = strlen(text), at = 0, keep = 0;
	double limit = room / font * 100, used = 0;
	bool valid;

	while (at < bytes && used <= limit) {
		size_t length = utf8_sequence(text + at, bytes - at, &valid);
		used += width_of((unsigned char)text[at], length);
		at += length;
		if (used + ELLIPSIS_WIDTH <= limit)
			keep = at;
	}
	if (used <= limit)
		keep = bytes;
	sink_xml_text(sink, text, keep);
	if (keep && keep < bytes)
		sink_text(sink, "\xE2\x80\xA6");
}

const char *svg_duration(double ns, char text[32])
{
	static const char *const units[] = { "ns", "\xC2\xB5s", "ms", "s" };
	unsigned unit = 0;

	while (unit < 3 && fabs(ns) >= 999.5) {
		ns /= 1000;
		unit++;
	}
	int decimals = unit == 0 || fabs(ns) >= 99.95 ? 0 : fabs(ns) >= 9.995 ? 1 : 2;
	snprintf(text, 32, "%.*f\xC2\xA0%s", decimals, ns, units[unit]);
	return text;
}
