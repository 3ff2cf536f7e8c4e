/* Texts, colours and metadata that the SVG pictures (timeline and flame graph) share. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H

#include "export/sink/sink.h"
#include "export/writer.h"

/* Light colours for dark text; the last one is the grey for enclosing events. */
#define SVG_COLOURS_COUNT 10u
#define SVG_GREY SVG_COLOURS_COUNT
extern const char *const svg_colours[SVG_COLOURS_COUNT + 1];
/* CSS classes for background, lines and text, light and dark. */
extern const char svg_style[];

/* Writes as much of a text as fits into `room` pixels in a font of `font` pixels, with an ellipsis if it is cut;
 * nothing if not even one letter fits.  The letters are as wide as those of DejaVu Sans, the widest of the fonts in
 * svg_style. */
void svg_write_cut(struct sink *sink, const char *text, double room, double font);
/* "1.25 ms": three significant digits.  Returns `text`. */
const char *svg_duration(double ns, char text[32]);

/* Writes the account of a trace into its pictures: the losses in words, all of it as metadata. */

/* Writes the content of a text element: "none lost", or how many, with a title that names the producers and reasons. */
epp_status *svg_write_lost(struct export_run *run) EPP_MUST_CHECK;
/* Writes a metadata element with a JSON object: "facts", and "ledger", an array with an object for each producer. */
epp_status *svg_write_account(struct export_run *run) EPP_MUST_CHECK;

#endif
