/* For the tests of the exporters: writes a builder's trace into memory, and provides the trace that most of them
 * use. */
#ifndef EPPROF_TESTS_SUPPORT_EXPORT_TEXT_H
#define EPPROF_TESTS_SUPPORT_EXPORT_TEXT_H

#include "epprof/export.h"
#include "tests/support/epp_builder.h"

struct export_text {
	char *bytes; /* NUL-terminated */
	size_t count;
	char receipts[1024]; /* one a line */
};

/* Exports `trace`, and asserts success.  `options` may be NULL. */
void export_text_make(struct export_text *text, epp_trace *trace, const char *format, const epp_export_options *options);
void export_text_free(struct export_text *text);

/* Two threads, two streams, a copy engine: two runs of a model with kernels, one kernel without a host event, an
 * instant, a counter, a request, a flow, an event without an end.  The bytes are always the same. */
struct epp_builder *export_sample(void);

#endif
