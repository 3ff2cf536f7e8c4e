/* Implements requests.h. */
#include "timeline/requests.h"

#include <stdlib.h>
#include <strings.h>

#include "base/options.h"
#include "base/traceparent.h"
#include "containers/array.h"
#include "timeline/timeline.h"

/* ---- the requests of an event ---- */

static const struct event_grant *find(const struct requests *requests, const struct open_grants *open, uint32_t source,
                                      uint64_t id)
{
	const struct event_grant *found = id ? event_grants_find(&requests->persistent, source, id) : NULL;

	return found || !id ? found : event_grants_find(&open->open, source, id);
}

uint32_t requests_of_id(const struct requests *requests, const struct open_grants *open, uint32_t source, uint64_t id)
{
	const struct event_grant *found = find(requests, open, source, id);

	return found ? found->grant + 1 : 0;
}

uint64_t requests_source_of(const struct requests *requests, uint32_t source, uint64_t id)
{
	const struct event_grant *found = event_grants_find(&requests->persistent, source, id);

	return found ? found->u.of : 0;
}

epp_status *requests_of(const struct requests *requests, struct open_grants *open, epp_event *event)
{
	uint32_t source = event->track->source;
	const struct event_grant *found = NULL;

	/* The id of a flow is that of the event at its end, so it is not looked up as the event's own. */
	if (event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC)
		found = event_grants_find(&requests->persistent, source, event->id);
	if (!found)
		found = find(requests, open, source, event->parent);
	if (!found && event->kind == EPP_EVENT_FLOW)
		found = find(requests, open, source, event->id);
	if (!found)
		return NULL;
	const struct grant *grant = &requests->grants[found->grant];
	event->requests = found->grant + 1;
	if (event->kind != EPP_EVENT_FLOW && grant->id == event->id && grant->source == source)
		event->flags |= EPP_FLAG_OWN_REQUEST;
	if (event->kind != EPP_EVENT_SLICE || event->track->kind == EPP_TRACK_DEVICE)
		return NULL;
	return open_grants_add(open, event, found->grant);
}

const uint32_t *requests_numbers(const struct requests *requests, const epp_event *event, size_t *count)
{
	size_t bytes = 0;
	const char *numbers = NULL;

	if (requests && event->requests && event->requests <= requests->grants_count)
		numbers = string_table_bytes(&requests->sets, requests->grants[event->requests - 1].set, &bytes);
	*count = bytes / sizeof(uint32_t);
	/* Aligned, because all strings of this table are arrays of numbers. */
	return (const uint32_t *)(const void *)numbers;
}

bool requests_fill(const struct requests *requests, uint32_t number, epp_request *given)
{
	const struct request *request = &requests->requests[number];
	size_t bytes;
	const char *text = string_table_bytes(&requests->texts, request->parent, &bytes);
	epp_request made = { .struct_size = sizeof(made),
		             .id = request->id,
		             .source = request->source,
		             .events_count = request->events_count,
		             .begin_ns = request->begin_ns,
		             .first_ns = request->first_ns,
		             .tracestate = text + strlen(text) + 1 };

	memcpy(made.trace_id, text + TRACEPARENT_TRACE_ID, TRACEPARENT_TRACE_ID_BYTES);
	memcpy(made.parent_id, text + TRACEPARENT_PARENT_ID, TRACEPARENT_PARENT_ID_BYTES);
	made.trace_flags = (uint8_t)strtoul((const char[]){ text[TRACEPARENT_FLAGS], text[TRACEPARENT_FLAGS + 1], 0 },
	                                    NULL, 16);
	return options_fill(given, &made, sizeof(made));
}

/* ---- reading the instants ---- */

/* State of the pass over all events. */
struct pass {
	struct requests *requests;
	const struct epp_timeline *timeline;
	const struct open_grants *open;
	uint32_t *set; /* numbers of the requests that one instant names */
	size_t set_count, set_room;
	char *text; /* a traceparent and its tracestate, each with a NUL */
	size_t text_bytes, text_room;
};

static bool is_named(const epp_event *event, const char *name)
{
	return event->name_bytes == strlen(name) && memcmp(event->name, name, event->name_bytes) == 0;
}

static bool is_key(const epp_trace_arg *arg, const char *key, unsigned type)
{
	return arg->type == type && strcmp(arg->key, key) == 0;
}

/* Reads a traceparent at the cursor, and the tracestate that may follow.  If the traceparent is invalid,
 * pass->text_bytes is 0. */
static epp_status *take_text(struct pass *pass, const epp_event *event, size_t *cursor, const epp_trace_arg *parent)
{
	size_t bytes = parent->text_bytes, next = *cursor;
	epp_trace_arg state;

	pass->text_bytes = 0;
	bool has_state = epp_event_args(pass->timeline, event, &next, &state) &&
	                 is_key(&state, REQUEST_KEY_STATE, EPP_ARG_TEXT) &&
	                 !memchr(state.value.text, 0, state.text_bytes);
	size_t all_bytes = bytes + 1 + (has_state ? state.text_bytes : 0) + 1;
	if (memchr(parent->value.text, 0, bytes) || traceparent_fault(parent->value.text, bytes))
		return NULL;
	if (!array_reserve(&pass->text, &pass->text_room, all_bytes, 1))
		return epp_status_no_memory();
	memcpy(pass->text, parent->value.text, bytes);
	pass->text[bytes] = 0;
	if (has_state) {
		memcpy(pass->text + bytes + 1, state.value.text, state.text_bytes);
		*cursor = next;
	}
	pass->text[all_bytes - 1] = 0;
	pass->text_bytes = all_bytes;
	return NULL;
}

static epp_status *add_request(struct pass *pass, const struct request *request, uint32_t *number)
{
	struct requests *requests = pass->requests;

	if (requests->requests_count >= HASH_INDEX_NONE ||
	    !array_reserve(&requests->requests, &requests->requests_room, requests->requests_count + 1,
	                   sizeof(*requests->requests)))
		return epp_status_no_memory();
	*number = (uint32_t)requests->requests_count++;
	requests->requests[*number] = *request;
	return string_table_add(&requests->texts, pass->text, pass->text_bytes, &requests->requests[*number].parent)
	           ? NULL
	           : epp_status_no_memory();
}

/* Finds or adds the request that has no event and the text pass->text. */
static epp_status *request_of_text(struct pass *pass, uint32_t source, uint32_t *number)
{
	struct requests *requests = pass->requests;
	uint32_t text;

	if (!string_table_add(&requests->texts, pass->text, pass->text_bytes, &text) ||
	    !array_reserve_zeroed(&requests->of_text, &requests->of_text_room, text + (size_t)1, sizeof(uint32_t)))
		return epp_status_no_memory();
	if (!requests->of_text[text]) {
		const struct request made = { .source = source, .begin_ns = INT64_MIN, .first_ns = INT64_MAX };
		EPP_TRY(add_request(pass, &made, number));
		requests->of_text[text] = *number + 1;
	}
	*number = requests->of_text[text] - 1;
	return NULL;
}

static epp_status *add_to_set(struct pass *pass, uint32_t number)
{
	size_t at = pass->set_count;

	while (at && pass->set[at - 1] > number)
		at--;
	if (at && pass->set[at - 1] == number)
		return NULL;
	if (!array_reserve(&pass->set, &pass->set_room, pass->set_count + 1, sizeof(*pass->set)))
		return epp_status_no_memory();
	memmove(&pass->set[at + 1], &pass->set[at], (pass->set_count - at) * sizeof(*pass->set));
	pass->set[at] = number;
	pass->set_count++;
	return NULL;
}

/* Gives the event `id` to the requests in pass->set.  If it was given to others before, those of pass->set are
 * collected in grant->more. */
static epp_status *add_grant(struct pass *pass, uint32_t source, uint64_t id)
{
	struct requests *requests = pass->requests;
	const struct event_grant *known = event_grants_find(&requests->persistent, source, id);
	struct grant *earlier = known ? &requests->grants[known->grant] : NULL;

	if (earlier && earlier->id == id && earlier->source == source) {
		if (!array_reserve(&earlier->more, &earlier->more_room, earlier->more_count + pass->set_count,
		                   sizeof(*earlier->more)))
			return epp_status_no_memory();
		memcpy(earlier->more + earlier->more_count, pass->set, pass->set_count * sizeof(*pass->set));
		earlier->more_count += pass->set_count;
		return NULL;
	}
	if (requests->grants_count >= HASH_INDEX_NONE - 1 ||
	    !array_reserve(&requests->grants, &requests->grants_room, requests->grants_count + 1,
	                   sizeof(*requests->grants)))
		return epp_status_no_memory();
	uint32_t number = (uint32_t)requests->grants_count++;
	struct grant *grant = &requests->grants[number];
	*grant = (struct grant){ .id = id, .source = source };
	if (!string_table_add(&requests->sets, pass->set, pass->set_count * sizeof(*pass->set), &grant->set))
		return epp_status_no_memory();
	return event_grants_add(&requests->persistent,
	                        &(struct event_grant){ .id = id, .source = source, .grant = number });
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Adds the requests in grant->more to the set of the grant.  This is done once, at the end, because the string table
 * would keep each intermediate set. */
static epp_status *settle_grant(struct requests *requests, struct grant *grant)
{
	size_t bytes, count = 0;
	const char *set = string_table_bytes(&requests->sets, grant->set, &bytes);
	size_t all = grant->more_count + bytes / sizeof(uint32_t);

	if (!array_reserve(&grant->more, &grant->more_room, all, sizeof(*grant->more)))
		return epp_status_no_memory();
	memcpy(grant->more + grant->more_count, set, bytes);
	qsort(grant->more, all, sizeof(*grant->more), by_number);
	for (size_t i = 0; i < all; i++)
		if (!count || grant->more[count - 1] != grant->more[i])
			grant->more[count++] = grant->more[i];
	return string_table_add(&requests->sets, grant->more, count * sizeof(*grant->more), &grant->set)
	           ? NULL
	           : epp_status_no_memory();
}

static epp_status *settle_grants(struct requests *requests)
{
	for (size_t i = 0; i < requests->grants_count; i++) {
		struct grant *grant = &requests->grants[i];
		if (grant->more)
			EPP_TRY(settle_grant(requests, grant));
		free(grant->more);
		grant->more = NULL;
	}
	return NULL;
}

/* Gives the event `id` the grant of the event `of`, unless it has one. */
static epp_status *inherit(struct pass *pass, uint32_t source, uint64_t id, uint64_t of)
{
	const struct event_grant *found = find(pass->requests, pass->open, source, of);

	if (!found || find(pass->requests, pass->open, source, id))
		return NULL;
	return event_grants_add(&pass->requests->persistent,
	                        &(struct event_grant){ .id = id, .source = source, .grant = found->grant, .u.of = of });
}

/* Reads an instant that gives an event to requests. */
static epp_status *read_set(struct pass *pass, const epp_event *event)
{
	struct requests *requests = pass->requests;
	uint32_t source = event->track->source, number;
	size_t cursor = 0;
	uint64_t id = event->parent, of = 0;
	epp_trace_arg arg;

	pass->set_count = 0;
	while (epp_event_args(pass->timeline, event, &cursor, &arg)) {
		const struct event_grant *started = NULL;
		pass->text_bytes = 0;
		if (is_key(&arg, REQUEST_KEY_EVENT, EPP_ARG_U64))
			id = arg.value.u64;
		if (is_key(&arg, REQUEST_KEY_OF, EPP_ARG_U64))
			of = arg.value.u64;
		if (is_key(&arg, REQUEST_KEY_CONTEXT, EPP_ARG_U64))
			started = event_grants_find(&requests->started, source, arg.value.u64);
		else if (is_key(&arg, REQUEST_KEY_PARENT, EPP_ARG_TEXT))
			EPP_TRY(take_text(pass, event, &cursor, &arg));
		if (pass->text_bytes)
			EPP_TRY(request_of_text(pass, source, &number));
		else if (started)
			number = started->grant;
		else
			continue;
		EPP_TRY(add_to_set(pass, number));
	}
	if (!id)
		return NULL;
	for (size_t i = 0; i < pass->set_count; i++) {
		struct request *request = &requests->requests[pass->set[i]];
		request->first_ns = event->start_ns < request->first_ns ? event->start_ns : request->first_ns;
		request->events_count++;
	}
	if (pass->set_count)
		return add_grant(pass, source, id);
	return of ? inherit(pass, source, id, of) : NULL;
}

/* Reads an instant that begins a request.  Its first arg is the id of the request's event. */
static epp_status *read_begin(struct pass *pass, const epp_event *event)
{
	struct requests *requests = pass->requests;
	uint32_t source = event->track->source, number;
	size_t cursor = 0;
	epp_trace_arg arg;

	if (!epp_event_args(pass->timeline, event, &cursor, &arg) || !is_key(&arg, REQUEST_KEY_CONTEXT, EPP_ARG_U64))
		return NULL;
	struct request made = { .source = source, .id = arg.value.u64, .begin_ns = event->start_ns, .first_ns = INT64_MAX };
	if (!made.id || !epp_event_args(pass->timeline, event, &cursor, &arg) ||
	    !is_key(&arg, REQUEST_KEY_PARENT, EPP_ARG_TEXT) || event_grants_find(&requests->started, source, made.id))
		return NULL;
	EPP_TRY(take_text(pass, event, &cursor, &arg));
	if (!pass->text_bytes)
		return NULL;
	EPP_TRY(add_request(pass, &made, &number));
	EPP_TRY(event_grants_add(&requests->started,
	                         &(struct event_grant){ .id = made.id, .source = source, .grant = number }));
	pass->set_count = 0;
	EPP_TRY(add_to_set(pass, number));
	return add_grant(pass, source, made.id);
}

static epp_status *read_events(struct pass *pass, struct epp_timeline *timeline, struct open_grants *open)
{
	struct requests *requests = pass->requests;
	epp_event event;

	pass->timeline = timeline;
	pass->open = open;
	while (timeline_next(timeline, &event)) {
		EPP_TRY(requests_of(requests, open, &event));
		if (event.kind == EPP_EVENT_INSTANT && is_named(&event, REQUEST_SET))
			EPP_TRY(read_set(pass, &event));
		else if (event.kind == EPP_EVENT_INSTANT && is_named(&event, REQUEST_BEGIN))
			EPP_TRY(read_begin(pass, &event));
		else if (event.requests && event.flags & EPP_FLAG_REFERENCED && event.kind == EPP_EVENT_SLICE &&
		         !(event.flags & EPP_FLAG_OWN_REQUEST))
			EPP_TRY(event_grants_add(&requests->persistent,
			                         &(struct event_grant){ .id = event.id,
			                                                .source = event.track->source,
			                                                .grant = event.requests - 1 }));
	}
	EPP_TRY(epp_timeline_status(timeline));
	return settle_grants(requests);
}

/* ---- create ---- */

epp_status *requests_create(struct reader *reader, const epp_timeline_options *options, struct requests **made)
{
	const epp_timeline_options all = { .struct_size = sizeof(all),
		                           .sources = options->sources,
		                           .sources_count = options->sources_count,
		                           .as_claimed = options->as_claimed };
	struct open_grants open = { 0 };
	struct epp_timeline *timeline;
	struct pass pass = { 0 };

	*made = NULL;
	if (!reader_has_name(reader, REQUEST_SET) && !reader_has_name(reader, REQUEST_BEGIN))
		return NULL;
	EPP_TRY(timeline_create_with(reader, &all, &(struct inherited){ 0 }, &timeline));
	pass.requests = calloc(1, sizeof(*pass.requests));
	epp_status *status = pass.requests ? read_events(&pass, timeline, &open) : epp_status_no_memory();
	open_grants_deinit(&open);
	epp_timeline_destroy(timeline);
	free(pass.set);
	free(pass.text);
	if (status)
		requests_destroy(pass.requests);
	else
		*made = pass.requests;
	return status;
}

void requests_destroy(struct requests *requests)
{
	if (!requests)
		return;
	free(requests->requests);
	free(requests->of_text);
	for (size_t i = 0; i < requests->grants_count; i++)
		free(requests->grants[i].more);
	free(requests->grants);
	event_grants_deinit(&requests->started);
	event_grants_deinit(&requests->persistent);
	string_table_deinit(&requests->texts);
	string_table_deinit(&requests->sets);
	free(requests);
}

/* ---- one trace id ---- */

epp_status *requests_select(const struct requests *requests, const char *trace_id, uint8_t **selected)
{
	size_t grants_count = requests ? requests->grants_count : 0;
	bool any = false;

	*selected = NULL;
	if (strspn(trace_id, "0123456789abcdefABCDEF") != TRACEPARENT_TRACE_ID_BYTES ||
	    trace_id[TRACEPARENT_TRACE_ID_BYTES])
		return epp_status_create(EPP_INVALID_ARGUMENT, "'%.64s' is no trace id, which is 32 hex digits", trace_id);
	uint8_t *made = calloc(grants_count + 1, 1);
	if (!made)
		return epp_status_no_memory();
	for (size_t i = 0; i < grants_count; i++) {
		const epp_event event = { .requests = (uint32_t)i + 1 };
		size_t count;
		const uint32_t *numbers = requests_numbers(requests, &event, &count);
		for (size_t j = 0; j < count && !made[i]; j++) {
			size_t bytes;
			const char *text = string_table_bytes(&requests->texts, requests->requests[numbers[j]].parent,
			                                      &bytes);
			made[i] = strncasecmp(text + TRACEPARENT_TRACE_ID, trace_id, TRACEPARENT_TRACE_ID_BYTES) == 0;
		}
		any |= made[i];
	}
	if (!any) {
		free(made);
		return epp_status_create(EPP_NOT_FOUND, "no request has the trace id %.32s", trace_id);
	}
	*selected = made;
	return NULL;
}
