/* The data of a report's page, unpacked as a browser does it: base64, zlib, sections. */
#ifndef EPPROF_TESTS_EXPORT_HTML_TEXT_H
#define EPPROF_TESTS_EXPORT_HTML_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "export/report/html.h"

struct html_text {
	char *bytes; /* all sections */
	char *facts; /* a zero behind it; the others have none */
	struct {
		const uint8_t *bytes;
		size_t count;
	} names, args, columns[HTML_COLUMNS_COUNT];
};

/* Fails the test if the page has no data, or other data. */
struct html_text html_text_open(const char *page, size_t count);
void html_text_close(struct html_text *text);

/* The numbers of a column; *count of them.  Ownership: malloc. */
uint64_t *html_text_numbers(const struct html_text *text, enum html_column column, size_t *count);

/* Everything as one text, for a golden file.  Ownership: malloc. */
char *html_text_dump(const char *page, size_t count);

#endif
