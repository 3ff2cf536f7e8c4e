/* The processes of a trace writer.  The first one is in the header.  There may be tens of thousands of others, about
 * which little is known: each takes a tenth of the memory that it takes in the file. */
#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/writer/trace_writer_private.h"

/* Number of sources that are written at once. */
#define WRITTEN_AT_ONCE 256u

struct trace_writer_source {
	struct epf_source *whole; /* all fields; NULL: only the fields below are known */
	char *program, *hostname; /* NULL: not given */
	uint32_t pid;
};

epp_status *epp_trace_writer_add_source(epp_trace_writer *writer, uint32_t *source)
{
	uint32_t others = writer->sources_count - 1;

	if (writer->sources_count == UINT16_MAX)
		return epp_status_create(EPP_UNAVAILABLE, "%s: more than %u processes", writer->path,
		                         writer->sources_count);
	if (!array_reserve(&writer->sources, &writer->sources_room, writer->sources_count, sizeof(*writer->sources)))
		return epp_status_no_memory();
	writer->sources[others] = (struct trace_writer_source){ .whole = NULL };
	*source = writer->sources_count++;
	return NULL;
}

static struct epf_source fill(const struct epp_trace_writer *writer, const struct trace_writer_source *from)
{
	struct epf_source source = { .pid = from->pid,
		                     .clock = EPF_CLOCK_MONOTONIC,
		                     .ticks_per_second = writer->header.source.ticks_per_second };

	if (from->whole)
		return *from->whole;
	strlcpy(source.program, from->program ? from->program : "", sizeof(source.program));
	strlcpy(source.hostname, from->hostname ? from->hostname : "", sizeof(source.hostname));
	return source;
}

struct epf_source *trace_writer_source(struct epp_trace_writer *writer, uint32_t number)
{
	if (!number)
		return &writer->header.source;
	struct trace_writer_source *source = &writer->sources[number - 1];
	if (!source->whole) {
		struct epf_source *whole = malloc(sizeof(*whole));
		if (!whole)
			return NULL;
		*whole = fill(writer, source);
		source->whole = whole;
	}
	return source->whole;
}

static void describe(struct epf_source *source, uint32_t pid, const char *program, const char *hostname)
{
	source->pid = pid;
	if (program)
		strlcpy(source->program, program, sizeof(source->program));
	if (hostname)
		strlcpy(source->hostname, hostname, sizeof(source->hostname));
}

/* Replaces a text by a copy, cut to the size of the field in the file. */
static void replace(struct epp_trace_writer *writer, char **text, const char *with)
{
	char *copy = with ? strndup(with, sizeof(((struct epf_source *)0)->program) - 1) : NULL;

	_Static_assert(sizeof(((struct epf_source *)0)->program) == sizeof(((struct epf_source *)0)->hostname),
	               "both are cut alike");
	if (copy) {
		free(*text);
		*text = copy;
	}
	writer->no_memory = writer->no_memory || (with && !copy);
}

void epp_trace_writer_describe_source(epp_trace_writer *writer, uint32_t number, uint32_t pid, const char *program,
                                      const char *hostname)
{
	if (number >= writer->sources_count)
		return;
	struct trace_writer_source *source = number ? &writer->sources[number - 1] : NULL;
	if (!source || source->whole) {
		describe(source ? source->whole : &writer->header.source, pid, program, hostname);
		return;
	}
	source->pid = pid;
	replace(writer, &source->program, program);
	replace(writer, &source->hostname, hostname);
}

epp_status *trace_writer_sources_write(struct epp_trace_writer *writer)
{
	uint32_t others = writer->sources_count - 1, most = others < WRITTEN_AT_ONCE ? others : WRITTEN_AT_ONCE;
	epp_status *status = NULL;

	if (!others)
		return NULL;
	writer->header.features |= EPF_FEATURE_MERGED;
	struct epf_source *sources = reallocarray(NULL, most, sizeof(*sources));
	if (!sources)
		return epp_status_no_memory();
	for (uint32_t i = 0, count = 0; i < others && !status; i++) {
		sources[count++] = fill(writer, &writer->sources[i]);
		if (count < most && i + 1 < others)
			continue;
		status = trace_writer_append_payload(writer, EPF_BLOCK_SOURCES, sources, count * sizeof(*sources),
		                                     sizeof(*sources));
		count = 0;
	}
	free(sources);
	return status;
}

void trace_writer_sources_deinit(struct epp_trace_writer *writer)
{
	for (uint32_t i = 0; i + 1 < writer->sources_count; i++) {
		free(writer->sources[i].whole);
		free(writer->sources[i].program);
		free(writer->sources[i].hostname);
	}
	free(writer->sources);
}
