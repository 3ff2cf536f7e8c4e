/* Writes the spans of requests as messages ExportTraceServiceRequest of OTLP: in JSON one a line, as the file exporter
 * of the OpenTelemetry collector writes them; in protobuf one after the other, so that the file as a whole is such a
 * message, too, because their only field is repeated.
 *
 * A request with an event of its own, each host event of a request and, on demand, each device event is a span.  The
 * span of an event of one request is in the OTLP trace of that request.  An event that was given to requests of several
 * OTLP traces is a batch: it begins an OTLP trace of its own, which has the spans of the events inside it, and links to
 * the spans of its requests.
 * The last message has no spans; the attributes of its resource are the facts and the ledger.
 * Span ids are hashes of the ids of the event and the trace file, so that all exports of a trace have the same span
 * ids. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "containers/hash_index.h"
#include "epprof/epprof.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/otlp/encoder.h"
#include "export/writer.h"
#include "timeline/timeline.h"

/* The maximum number of spans of a message, and the number of bytes after which it ends.  Receivers limit the size of
 * a message: the receiver for files of the OpenTelemetry collector accepts up to 1 MiB. */
#define MESSAGE_SPANS_MAX 512u
#define MESSAGE_BYTES (512u << 10)
#define NO_SOURCE UINT32_MAX

enum { SPAN_INTERNAL = 1, SPAN_SERVER = 2 }; /* SpanKind */

#define TRACE_ID_BYTES 32u /* number of hex digits, as SPAN_ID_BYTES */
#define SPAN_ID_BYTES 16u

/* The type of an attribute whose value is `true`; no epp_arg_type has this number. */
#define ATTRIBUTE_TRUE 255u
/* The maximum number of attributes of a span: the args of an event, and those that epprof adds. */
#define ATTRIBUTES_MAX (UINT8_MAX + 16u)

/* The fields of OTLP's messages; the name of a constant begins with the message. */
static const struct encoder_field request_resource_spans = { "resourceSpans", 1 };
static const struct encoder_field spans_resource = { "resource", 1 }, spans_scopes = { "scopeSpans", 2 };
static const struct encoder_field resource_attributes = { "attributes", 1 };
static const struct encoder_field scopes_scope = { "scope", 1 }, scopes_spans = { "spans", 2 };
static const struct encoder_field scope_name = { "name", 1 }, scope_version = { "version", 2 };
static const struct encoder_field span_trace_id = { "traceId", 1 }, span_id = { "spanId", 2 },
				  span_trace_state = { "traceState", 3 }, span_parent_id = { "parentSpanId", 4 },
				  span_name = { "name", 5 }, span_kind = { "kind", 6 },
				  span_start = { "startTimeUnixNano", 7 }, span_end = { "endTimeUnixNano", 8 },
				  span_attributes = { "attributes", 9 }, span_links = { "links", 13 },
				  span_status = { "status", 15 }, span_flags = { "flags", 16 };
static const struct encoder_field link_trace_id = { "traceId", 1 }, link_span_id = { "spanId", 2 },
				  link_trace_state = { "traceState", 3 };
static const struct encoder_field attribute_key = { "key", 1 }, attribute_value = { "value", 2 };
static const struct encoder_field value_text = { "stringValue", 1 }, value_bool = { "boolValue", 2 },
				  value_int = { "intValue", 3 }, value_double = { "doubleValue", 4 };

struct otlp {
	struct encoder encoder;
	uint64_t key; /* a hash of the trace file's id, from which span ids are derived */
	uint32_t source;
	unsigned spans_count;                     /* number of spans in the current message; 0: no message was begun */
	epp_trace_arg attributes[ATTRIBUTES_MAX]; /* attributes of the current span */
	unsigned attributes_count, own_count;     /* number of all attributes; the first `own_count` are epprof's, the
	                                             others are args */
	uint64_t alone, moments, kernels, repeated;
};

struct span {
	char trace_id[TRACE_ID_BYTES + 1], span_id[SPAN_ID_BYTES + 1], parent_id[SPAN_ID_BYTES + 1];
	const char *state;
	bool is_batch; /* the span belongs to a batch, so trace_id is that of the batch */
	epp_request first;
};

/* ---- ids ---- */

static void put_hex(char *at, uint64_t value)
{
	/* An id of all zeros is invalid in OTLP. */
	value = value ? value : 1;
	for (unsigned i = 0; i < 16; i++)
		at[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
	at[16] = 0;
}

/* Writes the span id of an event.  Different events of a source have different span ids, because hash_u64 is a
 * bijection. */
static void put_span_id(const struct otlp *otlp, char id[SPAN_ID_BYTES + 1], uint32_t source, uint64_t event)
{
	put_hex(id, hash_u64(event ^ hash_u64(otlp->key + source)));
}

/* Writes the trace id of a batch: an event that was given to requests of several OTLP traces. */
static void put_trace_id(const struct otlp *otlp, char id[TRACE_ID_BYTES + 1], uint32_t source, uint64_t event)
{
	put_hex(id, hash_u64(otlp->key + source + 1));
	put_span_id(otlp, id + SPAN_ID_BYTES, source, event);
}

/* Sets the trace id for the events of a grant, which is a set of requests that an event was given to. */
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

/* Writes the span id of a request: that of the request's event or, if it has none, that of the span in the program that
 * sent the request. */
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

static epp_trace_arg make_text_attribute(const char *key, const char *text)
{
	return (epp_trace_arg){ .key = key,
		                .key_bytes = strlen(key),
		                .type = EPP_ARG_TEXT,
		                .text_bytes = (uint32_t)strlen(text),
		                .value.text = text };
}

static epp_trace_arg make_i64_attribute(const char *key, int64_t value)
{
	return (epp_trace_arg){ .key = key, .key_bytes = strlen(key), .type = EPP_ARG_I64, .value.i64 = value };
}

static epp_trace_arg make_true_attribute(const char *key)
{
	return (epp_trace_arg){ .key = key, .key_bytes = strlen(key), .type = ATTRIBUTE_TRUE };
}

static void put_attribute(struct encoder *encoder, epp_trace_arg attribute)
{
	char digits[32];

	encoder_item(encoder, NULL);
	encoder_text(encoder, &attribute_key, attribute.key, attribute.key_bytes);
	encoder_item(encoder, &attribute_value);
	if (attribute.type == EPP_ARG_TEXT)
		encoder_text(encoder, &value_text, attribute.value.text, attribute.text_bytes);
	else if (attribute.type == EPP_ARG_F64)
		encoder_f64(encoder, &value_double, attribute.value.f64);
	else if (attribute.type == ATTRIBUTE_TRUE)
		encoder_bool(encoder, &value_bool, true);
	else if (attribute.type == EPP_ARG_U64 && attribute.value.u64 > INT64_MAX) /* OTLP has no unsigned integers */
		encoder_text(encoder, &value_text, digits,
		             (size_t)snprintf(digits, sizeof digits, "%" PRIu64, attribute.value.u64));
	else
		encoder_i64(encoder, &value_int, attribute.value.i64);
	encoder_end(encoder);
	encoder_end(encoder);
}

static void add_own_attribute(struct otlp *otlp, epp_trace_arg attribute)
{
	otlp->attributes[otlp->attributes_count++] = attribute;
	otlp->own_count = otlp->attributes_count;
}

/* Adds an arg as an attribute.  OTLP requires unique keys in a span.  An arg with the key of one of epprof's attributes
 * is left out; an arg with the key of an earlier arg replaces it.  Both are counted. */
static void add_arg(struct otlp *otlp, const epp_trace_arg *arg)
{
	unsigned at = 0;

	while (at < otlp->attributes_count && (otlp->attributes[at].key_bytes != arg->key_bytes ||
	                                       memcmp(otlp->attributes[at].key, arg->key, arg->key_bytes) != 0))
		at++;
	otlp->repeated += at < otlp->attributes_count;
	if (at >= otlp->own_count)
		otlp->attributes[at] = *arg;
	otlp->attributes_count += at == otlp->attributes_count;
}

static void put_attributes(struct otlp *otlp, const epp_event *event, const struct span *span)
{
	const epp_trace_track *track = event->track;

	otlp->attributes_count = 0;
	add_own_attribute(otlp, make_text_attribute("epprof.category", export_category(event->category)));
	if (export_has_thread(track))
		add_own_attribute(otlp, make_i64_attribute("thread.id", track->thread_id));
	add_own_attribute(otlp,
	                  make_text_attribute(export_has_thread(track) ? "thread.name" : "epprof.track", track->name));
	if (track->kind == EPP_TRACK_DEVICE) {
		add_own_attribute(otlp, make_i64_attribute("epprof.device", track->device));
		add_own_attribute(otlp, make_i64_attribute("epprof.stream", track->stream));
	}
	if (event->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN))
		add_own_attribute(otlp, make_true_attribute("epprof.unended"));
	if (event->category == EPP_SESSION && !(event->flags & EPP_FLAG_OWN_REQUEST))
		add_own_attribute(otlp, make_true_attribute("epprof.request.inherited"));
	if (event->kind == EPP_EVENT_ASYNC && span->first.id == event->id && span->first.first_ns != INT64_MAX)
		add_own_attribute(otlp,
		                  make_i64_attribute("epprof.queue_ns", span->first.first_ns - span->first.begin_ns));
	for (uint32_t i = 0; i < event->args_count; i++)
		add_arg(otlp, &export_args(event)[i]);
	encoder_list(&otlp->encoder, &span_attributes);
	for (unsigned i = 0; i < otlp->attributes_count; i++)
		put_attribute(&otlp->encoder, otlp->attributes[i]);
	encoder_list_end(&otlp->encoder);
}

/* ---- messages ---- */

static void put_facts(const struct export_run *run, struct encoder *encoder)
{
	struct fact facts[FACTS_MAX];
	size_t count = facts_collect(run, facts);
	char key[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "epprof.%s", facts[i].key);
		put_attribute(encoder, facts[i].kind == FACT_TEXT ? make_text_attribute(key, facts[i].value.text)
		                                                  : make_i64_attribute(key, facts[i].value.i64));
	}
}

/* Writes the ledger as an attribute whose value is a JSON text. */
static epp_status *put_ledger(const struct export_run *run, struct encoder *encoder)
{
	epp_trace_arg attribute = make_text_attribute("epprof.ledger", "");
	struct sink_memory memory = { 0 };
	struct sink sink;

	EPP_TRY(sink_init(&sink, sink_memory_write, &memory));
	epp_status *status = ledger_write(run, &sink);
	if (!status)
		status = sink_flush(&sink);
	if (!status) {
		attribute.value.text = memory.bytes;
		attribute.text_bytes = (uint32_t)memory.count;
		put_attribute(encoder, attribute);
	}
	sink_deinit(&sink);
	free(memory.bytes);
	return status;
}

/* Begins a message for the spans of the source `number`.  `last`: it is the last message, which has the facts and the
 * ledger. */
static epp_status *begin_message(const struct export_run *run, uint32_t number, bool last)
{
	epp_trace_source source = { .struct_size = sizeof source };
	struct otlp *otlp = run->state;
	struct encoder *encoder = &otlp->encoder;

	epp_trace_source_at(run->trace, number, &source);
	encoder_begin(encoder);
	encoder_list(encoder, &request_resource_spans);
	encoder_item(encoder, NULL);
	encoder_item(encoder, &spans_resource);
	encoder_list(encoder, &resource_attributes);
	put_attribute(encoder,
	              make_text_attribute("service.name", source.program[0] ? source.program : "unknown_service"));
	put_attribute(encoder, make_i64_attribute("process.pid", source.pid));
	put_attribute(encoder, make_text_attribute("host.name", source.hostname));
	if (source.label[0] && !last) /* in the last message, the label is one of the facts */
		put_attribute(encoder, make_text_attribute("epprof.label", source.label));
	put_attribute(encoder, make_text_attribute("telemetry.sdk.name", "epprof"));
	put_attribute(encoder, make_text_attribute("telemetry.sdk.language", "c"));
	put_attribute(encoder, make_text_attribute("telemetry.sdk.version", EPPROF_VERSION));
	if (last) {
		put_facts(run, encoder);
		EPP_TRY(put_ledger(run, encoder));
	}
	encoder_list_end(encoder);
	encoder_end(encoder);
	encoder_list(encoder, &spans_scopes);
	encoder_item(encoder, NULL);
	encoder_item(encoder, &scopes_scope);
	encoder_text(encoder, &scope_name, "epprof", sizeof "epprof" - 1);
	encoder_text(encoder, &scope_version, EPPROF_VERSION, sizeof EPPROF_VERSION - 1);
	encoder_end(encoder);
	encoder_list(encoder, &scopes_spans);
	return NULL;
}

static void end_message(struct encoder *encoder)
{
	encoder_list_end(encoder); /* spans */
	encoder_end(encoder);
	encoder_list_end(encoder); /* scopes */
	encoder_end(encoder);
	encoder_list_end(encoder); /* resources */
	encoder_end(encoder);
}

/* Writes the links of an event that was given to requests: one to the span of each request, except the event's parent
 * span. */
static void put_links(const struct export_run *run, const epp_event *event, const struct span *span)
{
	epp_request request = { .struct_size = sizeof request };
	struct otlp *otlp = run->state;
	struct encoder *encoder = &otlp->encoder;
	char id[SPAN_ID_BYTES + 1];
	bool any = false;

	if (!(event->flags & EPP_FLAG_OWN_REQUEST) || event->kind == EPP_EVENT_ASYNC)
		return;
	for (size_t i = 0; epp_timeline_request_at(run->timeline, event, i, &request); i++) {
		put_request_span(otlp, id, &request);
		if (strcmp(id, span->parent_id) == 0 && strcmp(request.trace_id, span->trace_id) == 0)
			continue;
		if (!any)
			encoder_list(encoder, &span_links);
		any = true;
		encoder_item(encoder, NULL);
		encoder_id(encoder, &link_trace_id, request.trace_id);
		encoder_id(encoder, &link_span_id, id);
		if (request.tracestate[0])
			encoder_text(encoder, &link_trace_state, request.tracestate, strlen(request.tracestate));
		encoder_end(encoder);
	}
	if (any)
		encoder_list_end(encoder);
}

static void put_span(struct export_run *run, const epp_event *event)
{
	uint64_t start = (uint64_t)run->info->epoch_unix_ns + (uint64_t)event->start_ns;
	struct otlp *otlp = run->state;
	struct encoder *encoder = &otlp->encoder;
	struct span span;

	set_span(run, event, &span);
	encoder_item(encoder, NULL);
	encoder_id(encoder, &span_trace_id, span.trace_id);
	encoder_id(encoder, &span_id, span.span_id);
	if (span.state[0])
		encoder_text(encoder, &span_trace_state, span.state, strlen(span.state));
	if (span.parent_id[0])
		encoder_id(encoder, &span_parent_id, span.parent_id);
	encoder_fixed32(encoder, &span_flags, span.is_batch ? 1 : span.first.trace_flags);
	encoder_text(encoder, &span_name, event->name, event->name_bytes);
	encoder_enum(encoder, &span_kind, event->kind == EPP_EVENT_ASYNC ? SPAN_SERVER : SPAN_INTERNAL);
	encoder_fixed64(encoder, &span_start, start);
	encoder_fixed64(encoder, &span_end, start + (event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0));
	put_attributes(otlp, event, &span);
	put_links(run, event, &span);
	encoder_item(encoder, &span_status);
	encoder_end(encoder);
	encoder_end(encoder);
}

/* ---- the writer ---- */

static epp_status *begin_json(struct export_run *run)
{
	struct otlp *otlp = run->state;

	otlp->encoder.sink = run->sink;
	otlp->key = hash_bytes(run->info->file_id, strlen(run->info->file_id));
	otlp->source = NO_SOURCE;
	return NULL;
}

static epp_status *begin_protobuf(struct export_run *run)
{
	struct otlp *otlp = run->state;

	otlp->encoder.is_protobuf = true;
	return begin_json(run);
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
	if (otlp->spans_count && (otlp->spans_count == MESSAGE_SPANS_MAX || otlp->source != event->track->source ||
	                          encoder_bytes(&otlp->encoder) > MESSAGE_BYTES)) {
		end_message(&otlp->encoder);
		otlp->spans_count = 0;
	}
	if (!otlp->spans_count)
		EPP_TRY(begin_message(run, event->track->source, false));
	otlp->source = event->track->source;
	otlp->spans_count++;
	put_span(run, event);
	return NULL;
}

static epp_status *otlp_end(struct export_run *run)
{
	struct otlp *otlp = run->state;

	if (otlp->spans_count)
		end_message(&otlp->encoder);
	EPP_TRY(begin_message(run, 0, true));
	end_message(&otlp->encoder);
	export_receipt(run, otlp->alone, "%s event%s without a request left out");
	export_receipt(run, run->filtered, "%s event%s left out by filters, whose spans may be missing as parents");
	export_receipt(run, otlp->moments, "%s instant%s, counters and flows left out");
	export_receipt(run, otlp->kernels, "%s device event%s left out; --kernels includes them");
	export_receipt(run, otlp->repeated, "%s arg%s left out, whose key the span has twice");
	return NULL;
}

static void otlp_deinit(struct export_run *run)
{
	struct otlp *otlp = run->state;

	encoder_deinit(&otlp->encoder);
}

const struct export_writer export_otlp = {
	.format = { "otlp", ".otlp.jsonl", "OpenTelemetry spans of requests (OTLP/JSON lines)" },
	.state_bytes = sizeof(struct otlp),
	.requests = true,
	.begin = begin_json,
	.event = otlp_event,
	.end = otlp_end,
	.deinit = otlp_deinit,
};

const struct export_writer export_otlp_proto = {
	.format = { "otlp-proto", ".otlp.pb", "the same in protobuf (one TracesData message)" },
	.state_bytes = sizeof(struct otlp),
	.requests = true,
	.begin = begin_protobuf,
	.event = otlp_event,
	.end = otlp_end,
	.deinit = otlp_deinit,
};
