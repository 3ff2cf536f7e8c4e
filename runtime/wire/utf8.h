/* UTF-8, judged strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef EPPROF_WIRE_UTF8_H
#define EPPROF_WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* What stands for bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* The length of the sequence at `text` (`bytes` of it are there, at least one).  If it is not valid, `*valid` is false
 * and the length is that of the longest prefix that could have become valid, at least 1: one replacement stands for it. */
size_t utf8_sequence(const char *text, size_t bytes, bool *valid);

/* The largest count up to `limit` and `bytes` after which `text` can be cut without splitting a sequence. */
size_t utf8_cut(const char *text, size_t bytes, size_t limit);

#endif
