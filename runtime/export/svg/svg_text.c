/* Escapes and cuts text, and defines the common style of all pictures. */
#include "export/svg/svg_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "encoding/utf8.h"
#include "encoding/xml.h"

const char svg_style[] = "<style>text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}"
			 ".p{fill:#fff;stroke:#d0d7de}.t{fill:#1f2328}.h{font-weight:600}.m{fill:#656d76}.s{font-size:11px}"
			 ".g{stroke:#e4e8ec}.l{fill:#f6f8fa}.a{fill:none;stroke:#444c56;stroke-width:1;stroke-opacity:.55}"
			 ".i{fill:#444c56;fill-opacity:.75}.n{fill:#1b1f24;font-size:11px}.u{stroke:#656d76;stroke-dasharray:3 2}"
			 "@media(prefers-color-scheme:dark){.p{fill:#0d1117;stroke:#30363d}.t{fill:#e6edf3}.m{fill:#8b949e}"
			 ".g{stroke:#262c34}.l{fill:#151b23}.a{stroke:#adbac7}.i{fill:#adbac7}}</style>\n";

const char *const svg_colours[SVG_COLOURS_COUNT + 1] = { "#8ab8f5", "#86cf9b", "#f8c765", "#c9a2f2",
	                                                 "#f4978e", "#74d0dc", "#f7ab72", "#ef9ccb",
	                                                 "#b5cf6b", "#a3b1f5", "#ccd3dc" };

void svg_write_text(struct sink *sink, const char *text, size_t bytes)
{
	while (bytes) {
		size_t piece = utf8_cut(text, bytes, SINK_RESERVE_MAX / 6);
		sink_commit(sink, xml_escape(sink_reserve(sink, XML_ESCAPED_BYTES(piece)), text, piece));
		text += piece;
		bytes -= piece;
	}
}

void svg_write_cut(struct sink *sink, const char *text, size_t letters)
{
	size_t bytes = strlen(text), at = 0, used = 0, keep = 0;
	bool valid;

	while (at < bytes && used <= letters) {
		if (used < letters)
			keep = at;
		/* Most characters from U+0800 on are wide. */
		size_t length = utf8_sequence(text + at, bytes - at, &valid);
		used += length >= 3 ? 2 : 1;
		at += length;
	}
	if (used <= letters) {
		svg_write_text(sink, text, bytes);
		return;
	}
	svg_write_text(sink, text, keep);
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
