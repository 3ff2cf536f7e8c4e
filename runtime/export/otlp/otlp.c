/* Writes the spans of requests as OTLP/JSON: one ExportTraceServiceRequest a line, as the file exporter of the
 * OpenTelemetry collector writes them.
 *
 * A request with an event of its own, each host event of a request and, on demand, each device event is a span.  An
 * event of one request is in the trace of that request.  A batch, an event that was given to requests of several traces,
 * begins a trace of its own, which has the events inside it; links lead to the spans of its requests.
 * The last line has no spans: its resource has the facts and the ledger.
 * Span ids are derived from the ids of events and the file, so that each export of a trace has the same ones. */
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "containers/hash_index.h"
#include "encoding/json.h"
#include "epprof/epprof.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/writer.h"
#include "timeline/timeline.h"

/* A line has at most this many spans, and ends after this many bytes: receivers limit a message, that of files to 1 MiB. */
#define LINE_SPANS_MAX 512u
#define LINE_BYTES (512u << 10)
#define LINE_END "]}]}]}\n"
#define NO_SOURCE UINT32_MAX

enum { SPAN_INTERNAL = 1, SPAN_SERVER = 2 }; /* SpanKind */

#define TRACE_ID_BYTES 32u /* in hex, as the next one */
#define SPAN_ID_BYTES 16u

struct otlp {
	uint64_t key; /* of the file */
	uint32_t source;
	unsigned spans_count; /* of the current line; 0: it has not begun */
	uint64_t line_from;   /* its position in the output */
	uint64_t alone, moments, kernels;
};

struct span {
	char trace_id[TRACE_ID_BYTES + 1], span_id[SPAN_ID_BYTES + 1], parent_id[SPAN_ID_BYTES + 1];
	const char *state;
	bool is_batch; /* its trace is the batch's own */
	epp_request first;
};

/* ---- ids ---- */

static void put_hex(char *at, uint64_t value)
{
	/* All zeros is not an id. */
	value = value ? value : 1;
	for (unsigned i = 0; i < 16; i++)
		at[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
	at[16] = 0;
}

/* Different ids of a source stay different: hash_u64 is a bijection. */
static void put_span_id(const struct otlp *otlp, char id[SPAN_ID_BYTES + 1], uint32_t source, uint64_t event)
{
	put_hex(id, hash_u64(event ^ hash_u64(otlp->key + source)));
}

/* The trace of a batch. */
static void put_trace_id(const struct otlp *otlp, char id[TRACE_ID_BYTES + 1], uint32_t source, uint64_t event)
{
	put_hex(id, hash_u64(otlp->key + source + 1));
	put_span_id(otlp, id + SPAN_ID_BYTES, source, event);
}

/* Sets the trace of all events of a grant. */
static void set_trace(const struct export_run *run, uint32_t grant, struct span *span)
{
	const struct requests *requests = run->timeline->requests;
	const struct grant *of = &requests->grants[grant - 1];
	epp_request request = { .struct_size = sizeof request };
	const epp_event any = { .requests = grant };

	span->first.struct_size = sizeof span->first;
	epp_timeline_request_at(run->timeline, &any, 0, &span->first);
	memcpy(span->trace_id, span->first.trace_id, sizeof span->trace_id);
	span->is_batch = false;
	for (size_t i = 1; !span->is_batch && epp_timeline_request_at(run->timeline, &any, i, &request); i++)
		span->is_batch = strcmp(request.trace_id, span->trace_id) != 0;
	if (span->is_batch)
		put_trace_id(run->state, span->trace_id, of->source, of->id);
}

/* The span that a request is: that of its event or, without one, that of the program that sent it. */
static void put_request_span(const struct otlp *otlp, char id[SPAN_ID_BYTES + 1], const epp_request *request)
{
	if (request->id)
		put_span_id(otlp, id, request->source, request->id);
	else
		memcpy(id, request->parent_id, SPAN_ID_BYTES + 1);
}

static void set_span(const struct export_run *run, const epp_event *event, struct span *span)
{
	const struct otlp *otlp = run->state;
	uint32_t source = event->track->source;
	struct span parent;

	set_trace(run, event->requests, span);
	put_span_id(otlp, span->span_id, source, event->id);
	span->parent_id[0] = 0;
	span->state = span->is_batch || !(event->flags & EPP_FLAG_OWN_REQUEST) ? "" : span->first.tracestate;
	uint64_t outer = event->parent ? event->parent : requests_source_of(run->timeline->requests, source, event->id);
	uint32_t around = outer ? requests_of_id(run->timeline->requests, &run->timeline->open_grants, source, outer) : 0;
	if (around && around != event->requests)
		set_trace(run, around, &parent);
	if (around && (around == event->requests || strcmp(parent.trace_id, span->trace_id) == 0))
		put_span_id(otlp, span->parent_id, source, outer);
	else if (event->kind == EPP_EVENT_ASYNC)
		memcpy(span->parent_id, span->first.parent_id, sizeof span->parent_id);
	else if (!span->is_batch)
		put_request_span(otlp, span->parent_id, &span->first);
}

/* ---- attributes ---- */

static void put_key(struct sink *sink, bool *any, const char *key, size_t bytes)
{
	sink_text(sink, *any ? ",{\"key\":\"" : "{\"key\":\"");
	sink_json_text(sink, key, bytes);
	sink_text(sink, "\",\"value\":{");
	*any = true;
}

static void put_text(struct sink *sink, bool *any, const char *key, const char *text)
{
	put_key(sink, any, key, strlen(key));
	sink_text(sink, "\"stringValue\":");
	sink_json_string(sink, text);
	sink_text(sink, "}}");
}

static void put_i64(struct sink *sink, bool *any, const char *key, int64_t value)
{
	put_key(sink, any, key, strlen(key));
	sink_text(sink, "\"intValue\":\"");
	sink_commit(sink, json_i64(sink_reserve(sink, JSON_NUMBER_BYTES), value));
	sink_text(sink, "\"}}");
}

static void put_true(struct sink *sink, bool *any, const char *key)
{
	put_key(sink, any, key, strlen(key));
	sink_text(sink, "\"boolValue\":true}}");
}

static void put_arg(struct sink *sink, bool *any, const epp_trace_arg *arg)
{
	char *at;

	put_key(sink, any, arg->key, arg->key_bytes);
	if (arg->type == EPP_ARG_TEXT) {
		sink_text(sink, "\"stringValue\":\"");
		sink_json_text(sink, arg->value.text, arg->text_bytes);
		sink_text(sink, "\"}}");
		return;
	}
	if (arg->type == EPP_ARG_F64) {
		sink_text(sink, "\"doubleValue\":");
		sink_commit(sink, json_f64(sink_reserve(sink, JSON_NUMBER_BYTES), arg->value.f64));
		sink_text(sink, "}}");
		return;
	}
	/* OTLP has no unsigned integers. */
	bool is_large = arg->type == EPP_ARG_U64 && arg->value.u64 > INT64_MAX;
	sink_text(sink, is_large ? "\"stringValue\":\"" : "\"intValue\":\"");
	at = sink_reserve(sink, JSON_NUMBER_BYTES);
	sink_commit(sink, is_large ? json_u64(at, arg->value.u64) : json_i64(at, arg->value.i64));
	sink_text(sink, "\"}}");
}

static void put_attributes(struct sink *sink, const epp_event *event, const struct span *span)
{
	const epp_trace_track *track = event->track;
	bool any = false;

	put_text(sink, &any, "epprof.category", export_category(event->category));
	if (export_has_thread(track))
		put_i64(sink, &any, "thread.id", track->thread_id);
	put_text(sink, &any, export_has_thread(track) ? "thread.name" : "epprof.track", track->name);
	if (track->kind == EPP_TRACK_DEVICE) {
		put_i64(sink, &any, "epprof.device", track->device);
		put_i64(sink, &any, "epprof.stream", track->stream);
	}
	if (event->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN))
		put_true(sink, &any, "epprof.unended");
	if (event->category == EPP_SESSION && !(event->flags & EPP_FLAG_OWN_REQUEST))
		put_true(sink, &any, "epprof.request.inherited");
	if (event->kind == EPP_EVENT_ASYNC && span->first.id == event->id && span->first.first_ns != INT64_MAX)
		put_i64(sink, &any, "epprof.queue_ns", span->first.first_ns - span->first.begin_ns);
	for (uint32_t i = 0; i < event->args_count; i++)
		put_arg(sink, &any, &export_args(event)[i]);
}

/* ---- lines ---- */

static void put_facts(const struct export_run *run, bool *any)
{
	struct fact facts[FACTS_MAX];
	size_t count = facts_collect(run, facts);
	char key[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "epprof.%s", facts[i].key);
		if (facts[i].kind == FACT_TEXT)
			put_text(run->sink, any, key, facts[i].value.text);
		else
			put_i64(run->sink, any, key, facts[i].value.i64);
	}
}

/* The facts, and the ledger as a text of JSON. */
static epp_status *put_account(const struct export_run *run, bool *any)
{
	struct sink_memory memory = { 0 };
	struct sink sink;

	put_facts(run, any);
	EPP_TRY(sink_init(&sink, sink_memory_write, &memory));
	epp_status *status = ledger_write(run, &sink);
	if (!status)
		status = sink_flush(&sink);
	if (!status) {
		put_key(run->sink, any, "epprof.ledger", sizeof "epprof.ledger" - 1);
		sink_text(run->sink, "\"stringValue\":\"");
		sink_json_text(run->sink, memory.bytes, memory.count);
		sink_text(run->sink, "\"}}");
	}
	sink_deinit(&sink);
	free(memory.bytes);
	return status;
}

/* Begins a line; `last`: with the facts and the ledger. */
static epp_status *begin_line(const struct export_run *run, uint32_t number, bool last)
{
	epp_trace_source source = { .struct_size = sizeof source };
	struct sink *sink = run->sink;
	bool any = false;

	epp_trace_source_at(run->trace, number, &source);
	sink_text(sink, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	put_text(sink, &any, "service.name", source.program[0] ? source.program : "unknown_service");
	put_i64(sink, &any, "process.pid", source.pid);
	put_text(sink, &any, "host.name", source.hostname);
	if (source.label[0] && !last) /* the facts have it */
		put_text(sink, &any, "epprof.label", source.label);
	put_text(sink, &any, "telemetry.sdk.name", "epprof");
	put_text(sink, &any, "telemetry.sdk.language", "c");
	put_text(sink, &any, "telemetry.sdk.version", EPPROF_VERSION);
	if (last)
		EPP_TRY(put_account(run, &any));
	sink_text(sink,
	          "]},\"scopeSpans\":[{\"scope\":{\"name\":\"epprof\",\"version\":\"" EPPROF_VERSION "\"},\"spans\":[");
	return NULL;
}

/* A position in the output; the difference of two is at least the number of bytes in between. */
static uint64_t position(const struct sink *sink)
{
	return sink->pushes_count * SINK_BUFFER_BYTES + (uint64_t)(sink->at - sink->buffer);
}

static void end_line(struct export_run *run)
{
	struct otlp *otlp = run->state;

	if (otlp->spans_count)
		sink_text(run->sink, LINE_END);
	otlp->spans_count = 0;
}

static void put_member(struct sink *sink, const char *key, const char *text)
{
	if (!*text)
		return;
	sink_text(sink, key);
	sink_json_string(sink, text);
}

static void put_time(const struct export_run *run, const char *key, int64_t ns)
{
	sink_text(run->sink, key);
	sink_commit(run->sink, json_u64(sink_reserve(run->sink, JSON_NUMBER_BYTES),
	                                (uint64_t)run->info->epoch_unix_ns + (uint64_t)ns));
	sink_text(run->sink, "\"");
}

/* An event that was given to requests has a link to each one that is not its parent. */
static void put_links(const struct export_run *run, const epp_event *event, const struct span *span)
{
	epp_request request = { .struct_size = sizeof request };
	char id[SPAN_ID_BYTES + 1];
	bool any = false;

	if (!(event->flags & EPP_FLAG_OWN_REQUEST) || event->kind == EPP_EVENT_ASYNC)
		return;
	for (size_t i = 0; epp_timeline_request_at(run->timeline, event, i, &request); i++) {
		put_request_span(run->state, id, &request);
		if (strcmp(id, span->parent_id) == 0 && strcmp(request.trace_id, span->trace_id) == 0)
			continue;
		sink_text(run->sink, any ? ",{" : ",\"links\":[{");
		put_member(run->sink, "\"traceId\":", request.trace_id);
		put_member(run->sink, ",\"spanId\":", id);
		put_member(run->sink, ",\"traceState\":", request.tracestate);
		sink_text(run->sink, "}");
		any = true;
	}
	sink_text(run->sink, any ? "]" : "");
}

static void put_span(struct export_run *run, const epp_event *event)
{
	int64_t duration_ns = event->duration_ns > 0 ? event->duration_ns : 0;
	struct sink *sink = run->sink;
	struct span span;

	set_span(run, event, &span);
	sink_text(sink, "{");
	put_member(sink, "\"traceId\":", span.trace_id);
	put_member(sink, ",\"spanId\":", span.span_id);
	put_member(sink, ",\"traceState\":", span.state);
	put_member(sink, ",\"parentSpanId\":", span.parent_id);
	sink_text(sink, ",\"flags\":");
	sink_commit(sink, json_u64(sink_reserve(sink, JSON_NUMBER_BYTES), span.is_batch ? 1 : span.first.trace_flags));
	sink_text(sink, ",\"name\":\"");
	sink_json_text(sink, event->name, event->name_bytes);
	sink_text(sink, "\",\"kind\":");
	sink_commit(sink, json_u64(sink_reserve(sink, JSON_NUMBER_BYTES),
	                           event->kind == EPP_EVENT_ASYNC ? SPAN_SERVER : SPAN_INTERNAL));
	put_time(run, ",\"startTimeUnixNano\":\"", event->start_ns);
	put_time(run, ",\"endTimeUnixNano\":\"", event->start_ns + duration_ns);
	sink_text(sink, ",\"attributes\":[");
	put_attributes(sink, event, &span);
	sink_text(sink, "]");
	put_links(run, event, &span);
	sink_text(sink, ",\"status\":{}}");
}

/* ---- the writer ---- */

static epp_status *otlp_begin(struct export_run *run)
{
	struct otlp *otlp = run->state;

	otlp->key = hash_bytes(run->info->file_id, strlen(run->info->file_id));
	otlp->source = NO_SOURCE;
	return NULL;
}

static epp_status *otlp_event(struct export_run *run, const epp_event *event)
{
	struct otlp *otlp = run->state;
	bool lasts = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;
	bool is_kernel = event->track->kind == EPP_TRACK_DEVICE && lasts && !run->options->kernels;

	otlp->alone += !event->requests;
	otlp->moments += event->requests && !lasts;
	otlp->kernels += event->requests && is_kernel;
	if (!event->requests || !lasts || is_kernel)
		return NULL;
	if (otlp->spans_count == LINE_SPANS_MAX || otlp->source != event->track->source ||
	    (otlp->spans_count && position(run->sink) - otlp->line_from > LINE_BYTES))
		end_line(run);
	if (otlp->spans_count) {
		sink_text(run->sink, ",");
	} else {
		otlp->line_from = position(run->sink);
		EPP_TRY(begin_line(run, event->track->source, false));
	}
	otlp->source = event->track->source;
	otlp->spans_count++;
	put_span(run, event);
	return NULL;
}

static epp_status *otlp_end(struct export_run *run)
{
	struct otlp *otlp = run->state;

	end_line(run);
	EPP_TRY(begin_line(run, 0, true));
	sink_text(run->sink, LINE_END);
	export_receipt(run, otlp->alone, "%s event%s without a request left out");
	export_receipt(run, run->filtered, "%s event%s left out by filters, whose spans may be missing as parents");
	export_receipt(run, otlp->moments, "%s instant%s, counters and flows left out");
	export_receipt(run, otlp->kernels, "%s device event%s left out; --kernels includes them");
	return NULL;
}

static void otlp_deinit(struct export_run *run)
{
	(void)run;
}

const struct export_writer export_otlp = {
	.format = { "otlp", ".otlp.jsonl", "OpenTelemetry spans of requests (OTLP/JSON lines)" },
	.state_bytes = sizeof(struct otlp),
	.requests = true,
	.begin = otlp_begin,
	.event = otlp_event,
	.end = otlp_end,
	.deinit = otlp_deinit,
};
