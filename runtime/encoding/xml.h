/* Escapes text for XML and HTML documents. */
#ifndef EPPROF_RUNTIME_ENCODING_XML_H
#define EPPROF_RUNTIME_ENCODING_XML_H

#include <stddef.h>

#define XML_ESCAPED_BYTES(bytes) ((bytes)*6)

/* Escapes text for use between tags and in attributes, and returns the new end. Control characters, which XML cannot
 * represent, and bytes that are not UTF-8 become U+FFFD. */
char *xml_escape(char *at, const char *text, size_t bytes);

#endif
