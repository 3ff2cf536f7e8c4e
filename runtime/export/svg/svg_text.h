/* Texts and colours that the pictures have in common. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_TEXT_H

#include "export/sink/sink.h"

/* Soft ones, for dark letters; then the grey of what merely encloses. */
#define SVG_COLOURS_COUNT 10u
#define SVG_GREY SVG_COLOURS_COUNT
extern const char *const svg_colours[SVG_COLOURS_COUNT + 1];
/* Classes for papers, lines and letters, light and dark. */
extern const char svg_style[];

/* Text between tags or in attributes. */
void svg_write_text(struct sink *sink, const char *text, size_t bytes);
/* As much of a text as `letters` hold, with an ellipsis if that is not all. */
void svg_write_cut(struct sink *sink, const char *text, size_t letters);
/* "1.25 ms": three digits that count.  Returns `text`. */
const char *svg_duration(double ns, char text[32]);

#endif
