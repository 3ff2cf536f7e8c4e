/* Texts and colours that all pictures share. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H

#include "export/sink/sink.h"

/* Light colours for dark text; the last one is the grey for enclosing events. */
#define SVG_COLOURS_COUNT 10u
#define SVG_GREY SVG_COLOURS_COUNT
extern const char *const svg_colours[SVG_COLOURS_COUNT + 1];
/* CSS classes for background, lines and text, light and dark. */
extern const char svg_style[];

/* Writes escaped text, between tags or in attributes. */
void svg_write_text(struct sink *sink, const char *text, size_t bytes);
/* Writes at most `letters` characters of a text, with an ellipsis if it is cut. */
void svg_write_cut(struct sink *sink, const char *text, size_t letters);
/* "1.25 ms": three significant digits.  Returns `text`. */
const char *svg_duration(double ns, char text[32]);

#endif
