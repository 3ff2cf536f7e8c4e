/* What the tests of the reader ask of an opened trace. */
#ifndef EPPROF_TESTS_READER_ASSERTS_H
#define EPPROF_TESTS_READER_ASSERTS_H

#include <stdbool.h>
#include <string.h>

#include "file/reader.h"
#include "tests/check.h"
#include "tests/epp_builder.h"

/* A finding of opening whose text has `part`. */
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

/* Of what validate finds, that which is no warning. */
static inline uint64_t validation_errors(epp_trace *trace)
{
	uint64_t found, warnings = 0;
	check_ok(epp_trace_validate(trace, count_warning, &warnings, &found));
	return found - warnings;
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
