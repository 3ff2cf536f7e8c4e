/* Asserts about an opened trace, for the tests of the reader. */
#ifndef EPPROF_TESTS_SUPPORT_READER_ASSERTS_H
#define EPPROF_TESTS_SUPPORT_READER_ASSERTS_H

#include <stdbool.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"
#include "trace/reader.h"

/* Returns true if opening made a finding whose text contains `part`. */
static inline bool has_finding(const epp_trace *trace, const char *part)
{
	const struct reader *reader = trace->reader;
	for (size_t i = 0; i < reader->findings_count; i++) {
		if (strstr(reader->findings[i].text, part))
			return true;
	}
	return false;
}

static inline bool has_finding_of(const epp_trace *trace, epp_severity severity, const char *part)
{
	const struct reader *reader = trace->reader;
	for (size_t i = 0; i < reader->findings_count; i++) {
		if (reader->findings[i].severity == severity && strstr(reader->findings[i].text, part))
			return true;
	}
	return false;
}

static inline void count_warning(void *user, const epp_trace_finding *finding)
{
	/* "records: 17 more findings" */
	const char *more = strstr(finding->text, " more findings") ? strchr(finding->text, ':') : NULL;
	if (finding->severity == EPP_WARNING)
		*(uint64_t *)user += more ? strtoull(more + 1, NULL, 10) : 1;
}

/* Validates the trace and counts the errors. */
static inline uint64_t validation_errors(epp_trace *trace)
{
	uint64_t found, warnings = 0;
	check_ok(epp_trace_validate(trace, count_warning, &warnings, &found));
	return found - warnings;
}

struct worst_finding {
	epp_severity severity;
	char text[200];
};

static inline void keep_worst(void *user, const epp_trace_finding *finding)
{
	struct worst_finding *worst = user;
	if (worst->text[0] && finding->severity <= worst->severity)
		return;
	worst->severity = finding->severity;
	snprintf(worst->text, sizeof(worst->text), "%s", finding->text);
}

/* Validates the trace, and asserts that no finding is of this severity or worse. */
static inline void must_find_no(epp_severity severity, epp_trace *trace)
{
	struct worst_finding worst = { .text = "" };
	uint64_t found;
	check_ok(epp_trace_validate(trace, keep_worst, &worst, &found));
	ck_assert_msg(!worst.text[0] || worst.severity < severity, "%s", worst.text);
}

static inline epp_trace *open_image(const uint8_t *image, size_t bytes)
{
	epp_trace *trace;
	check_ok(builder_open_image(image, bytes, &trace));
	return trace;
}

static inline struct epf_slot *slot_of(struct epp_builder *b, uint8_t *image, uint32_t index)
{
	return (struct epf_slot *)(void *)(image + builder_header(b)->slots_offset + (size_t)index * EPF_SLOT_BYTES);
}

#endif
