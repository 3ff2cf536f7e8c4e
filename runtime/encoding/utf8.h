/* Checks, cuts and mends UTF-8 text, by the strict rules: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef EPPROF_RUNTIME_ENCODING_UTF8_H
#define EPPROF_RUNTIME_ENCODING_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Returns the length of the sequence at `text`, which has `bytes` (at least one) bytes. If it is not valid, `*valid` is
 * false and the length is that of the longest prefix that could begin a valid sequence, at least 1; it becomes one
 * replacement. */
size_t utf8_sequence(const char *text, size_t bytes, bool *valid);

/* The largest position up to `limit` and `bytes` at which `text` can be cut without splitting a sequence. */
size_t utf8_cut(const char *text, size_t bytes, size_t limit);

/* The number of valid UTF-8 bytes at the start of `text`: all, or up to the first invalid sequence. */
size_t utf8_valid_bytes(const char *text, size_t bytes);

/* Writes `text` with a replacement for each invalid sequence, at most three times its size, and returns the new end.
 * The second function returns the size of the result. */
char *utf8_repair(char *at, const char *text, size_t bytes);
size_t utf8_repaired_bytes(const char *text, size_t bytes);

#endif
