/* Fields of comma-separated values as RFC 4180 has them.  What no field may hold (bytes that are not UTF-8, control
 * characters but tab, CR and LF) becomes U+FFFD. */
#ifndef EPPROF_RUNTIME_ENCODING_CSV_H
#define EPPROF_RUNTIME_ENCODING_CSV_H

#include <stdbool.h>
#include <stddef.h>

/* The most that the inside of `bytes` bytes takes. */
#define CSV_ESCAPED_BYTES(bytes) ((bytes)*3)

/* Whether a field must stand in quotes: it has a quote, a comma or a line's end, or begins or ends with a blank. */
bool csv_needs_quotes(const char *text, size_t bytes);
/* The inside of a field, quotes doubled; writes at `at` and returns the new end. */
char *csv_escape(char *at, const char *text, size_t bytes);

#endif
