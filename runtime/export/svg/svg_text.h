/* Texts, colours and metadata that the SVG pictures (timeline and flame graph) share. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H

#include "export/sink/sink.h"
#include "export/writer.h"

/* Number of colours.  They are light, for dark text.  The last one is the grey for enclosing events. */
#define SVG_COLOURS_COUNT 10u
#define SVG_GREY SVG_COLOURS_COUNT
extern const char *const svg_colours[SVG_COLOURS_COUNT + 1];
/* CSS classes for background, lines and text, light and dark. */
extern const char svg_style[];

/* Writes as much of a text as fits into `room` pixels in a font of `font` pixels, with an ellipsis if it is cut.
 * Writes nothing if no letter fits.  Widths are those of DejaVu Sans, the widest of the fonts in svg_style. */
void svg_write_cut(struct sink *sink, const char *text, double room, double font);
/* Writes a duration with three significant digits, such as "1.25 ms".  Returns `text`. */
const char *svg_duration(double ns, char text[32]);

/* Writes the ledger of a trace into its pictures: the losses as text, the whole ledger as metadata. */

/* Writes the content of a text element: "none lost", or the number of lost events, with a title that names the
 * producers and the reasons. */
epp_status *svg_write_lost(struct export_run *run) EPP_MUST_CHECK;
/* Writes a metadata element with a JSON object.  Its members are "facts", and "ledger", an array with an object for
 * each producer. */
epp_status *svg_write_account(struct export_run *run) EPP_MUST_CHECK;

#endif
