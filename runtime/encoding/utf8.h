/* UTF-8, judged strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef EPPROF_RUNTIME_ENCODING_UTF8_H
#define EPPROF_RUNTIME_ENCODING_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* What stands for bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* The length of the sequence at `text` (`bytes` of it are there, at least one).  If it is not valid, `*valid` is false
 * and the length is that of the longest prefix that could have become valid, at least 1: one replacement stands for it. */
size_t utf8_sequence(const char *text, size_t bytes, bool *valid);

/* The largest count up to `limit` and `bytes` after which `text` can be cut without splitting a sequence. */
size_t utf8_cut(const char *text, size_t bytes, size_t limit);

/* How many bytes of `text`, from its beginning, are UTF-8: all, or up to the first sequence that is not. */
size_t utf8_valid_bytes(const char *text, size_t bytes);

/* Writes `text` with a replacement for what is not UTF-8, at most three times its size, and returns the new end; and how
 * many bytes that takes. */
char *utf8_mend(char *at, const char *text, size_t bytes);
size_t utf8_mended_bytes(const char *text, size_t bytes);

#endif
