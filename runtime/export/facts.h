/* Facts: data about the trace as a whole, which exporters write in addition to its events.  All formats use this one
 * list, so that all contain the same facts. */
#ifndef EPPROF_RUNTIME_EXPORT_FACTS_H
#define EPPROF_RUNTIME_EXPORT_FACTS_H

#include "export/writer.h"

enum fact_kind { FACT_TEXT, FACT_U64, FACT_I64 };

struct fact {
	const char *key;
	enum fact_kind kind;
	union {
		const char *text; /* never NULL */
		uint64_t u64;
		int64_t i64;
	} value;
};

#define FACTS_MAX 24u

/* Collects the facts and returns their number.  The counts are those of the timeline so far, so writers call this in
 * `end`.  Ownership: texts are valid until the trace is closed. */
size_t facts_collect(const struct export_run *run, struct fact facts[FACTS_MAX]);

/* Writes the facts as members of a JSON object, without its braces. */
void facts_write_json(const struct export_run *run, struct sink *sink);

#endif
