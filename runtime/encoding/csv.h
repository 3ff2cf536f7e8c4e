/* Fields of comma-separated values (RFC 4180): quotes, and fields that a spreadsheet would compute as a formula.
 * Invalid bytes (not UTF-8, or control characters except tab, CR and LF) become U+FFFD. */
#ifndef EPPROF_RUNTIME_ENCODING_CSV_H
#define EPPROF_RUNTIME_ENCODING_CSV_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum size of `bytes` escaped bytes, without the quotes. */
#define CSV_ESCAPED_BYTES(bytes) ((bytes)*3)

/* True if a field needs quotes: it contains a quote, a comma or a line end, or begins or ends with a blank. */
bool csv_needs_quotes(const char *text, size_t bytes);
/* True if a spreadsheet would compute the field: it begins with = + - @ tab or CR.  A "'" in front makes it a text. */
bool csv_is_formula(const char *text, size_t bytes);
/* Writes the inside of a quoted field, with quotes doubled, at `at`; returns the new end. */
char *csv_escape(char *at, const char *text, size_t bytes);

#endif
