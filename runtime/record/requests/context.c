/* Records the requests of events.  A request is an instant with its traceparent.  The reader derives the requests of
 * all inner events from their parents (timeline/requests.c), so these events cost nothing more. */
#include "base/status.h"
#include "base/traceparent.h"
#include "record/recorder.h"

#define STATE_BYTES_MAX \
	512u              /* the size of a tracestate that the W3C standard requires every implementation to
                                support */
#define CONTEXTS_MAX 128u /* the maximum number of requests in one record */

struct names {
	epp_name set, begin, request, event, of, context, parent, state;
};

/* The names are interned at the first use.  If two threads do this at once, both get the same names, because the same
 * text has the same name. */
static struct names names;

static struct names names_of_requests(void)
{
	if (!LOAD_ACQUIRE(&names.state)) {
		STORE_RELAXED(&names.set, epp_name_intern(REQUEST_SET));
		STORE_RELAXED(&names.begin, epp_name_intern(REQUEST_BEGIN));
		STORE_RELAXED(&names.request, epp_name_intern(REQUEST_EVENT));
		STORE_RELAXED(&names.event, epp_name_intern(REQUEST_KEY_EVENT));
		STORE_RELAXED(&names.of, epp_name_intern(REQUEST_KEY_OF));
		STORE_RELAXED(&names.context, epp_name_intern(REQUEST_KEY_CONTEXT));
		STORE_RELAXED(&names.parent, epp_name_intern(REQUEST_KEY_PARENT));
		STORE_RELEASE(&names.state, epp_name_intern(REQUEST_KEY_STATE));
	}
	return (struct names){ LOAD_RELAXED(&names.set),    LOAD_RELAXED(&names.begin), LOAD_RELAXED(&names.request),
		               LOAD_RELAXED(&names.event),  LOAD_RELAXED(&names.of),    LOAD_RELAXED(&names.context),
		               LOAD_RELAXED(&names.parent), LOAD_RELAXED(&names.state) };
}

/* Returns the arg with the id of the event.  The instant's parent is not sufficient: if the event itself is lost, the
 * instant has another parent. */
static epp_arg event_arg(const struct names *known, uint64_t id)
{
	return (epp_arg){ .key = known->event, .type = EPP_ARG_U64, .value.u64 = id };
}

static epp_status *check(const char *traceparent)
{
	const char *fault = traceparent ? traceparent_fault(traceparent, strlen(traceparent)) : "it is NULL";

	return fault ? epp_status_create(EPP_INVALID_ARGUMENT, "traceparent '%.64s': %s",
	                                 traceparent ? traceparent : "", fault)
	             : NULL;
}

/* Fills in the args of a traceparent.  Returns their number. */
static size_t put_parent(const struct names *known, const char *traceparent, const char *tracestate, epp_arg *args)
{
	size_t state_bytes = tracestate ? strnlen(tracestate, STATE_BYTES_MAX + 1) : 0;

	args[0] = (epp_arg){
		.key = known->parent, .type = EPP_ARG_TEXT, .value.text = traceparent, .text_bytes = strlen(traceparent)
	};
	/* A tracestate that is too long must be dropped as a whole, because a part of it may be no valid list. */
	if (!state_bytes || state_bytes > STATE_BYTES_MAX)
		return 1;
	args[1] = (epp_arg){ .key = known->state, .type = EPP_ARG_TEXT, .value.text = tracestate, .text_bytes = state_bytes };
	return 2;
}

/* Gets the id of the innermost open event that is recorded; 0 if there is none.  Returns false if no event is open.
 * Returns true if nothing records on this thread, and in a session with a filter, because there an open event may have
 * been left out. */
static bool find_event(epp_session *session, uint64_t *id)
{
	struct recorder *recorder = recorder_enter_any(session);

	*id = 0;
	if (!recorder)
		return true;
	bool any = recorder_depth(recorder) > 0;
	if (any)
		*id = recorder->hot->top[-1].id;
	any |= recorder->hot->filter != NULL;
	recorder_leave(recorder);
	return any;
}

static epp_status *no_event(const char *function)
{
	return epp_status_create(EPP_WRONG_STATE, "%s: no event is open on this thread", function);
}

epp_status *epp_context_set(epp_session *session, const char *traceparent, const char *tracestate)
{
	epp_arg args[3];
	uint64_t id;

	EPP_TRY(check(traceparent));
	if (!EPPROF_ENABLED())
		return NULL;
	if (!find_event(session, &id))
		return no_event("epp_context_set");
	if (!id)
		return NULL;
	const struct names known = names_of_requests();
	args[0] = event_arg(&known, id);
	epp_instant_record(session, EPP_SESSION, known.set, args,
	                   1 + put_parent(&known, traceparent, tracestate, args + 1));
	return NULL;
}

epp_status *epp_context_begin(epp_session *session, const char *traceparent, const char *tracestate, uint64_t *context)
{
	epp_arg args[3];

	if (!context)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_context_begin: context is NULL");
	*context = 0;
	EPP_TRY(check(traceparent));
	if (!EPPROF_ENABLED())
		return NULL;
	const struct names known = names_of_requests();
	*context = epp_async_begin(session, EPP_SESSION, known.request);
	if (!*context)
		return NULL;
	args[0] = (epp_arg){ .key = known.context, .type = EPP_ARG_U64, .value.u64 = *context };
	epp_instant_record(session, EPP_SESSION, known.begin, args,
	                   1 + put_parent(&known, traceparent, tracestate, args + 1));
	return NULL;
}

epp_status *epp_context_attach(epp_session *session, const uint64_t *contexts, size_t contexts_count)
{
	epp_arg args[1 + CONTEXTS_MAX];
	uint64_t id;

	if (!contexts && contexts_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_context_attach: contexts is NULL");
	if (!contexts_count || !EPPROF_ENABLED())
		return NULL;
	if (!find_event(session, &id))
		return no_event("epp_context_attach");
	if (!id)
		return NULL;
	const struct names known = names_of_requests();
	args[0] = event_arg(&known, id);
	for (size_t i = 0; i < contexts_count;) {
		size_t count = 1;
		for (; i < contexts_count && count <= CONTEXTS_MAX; i++) {
			if (contexts[i])
				args[count++] = (epp_arg){ .key = known.context,
					                   .type = EPP_ARG_U64,
					                   .value.u64 = contexts[i] };
		}
		if (count > 1)
			epp_instant_record(session, EPP_SESSION, known.set, args, count);
	}
	return NULL;
}

epp_status *epp_context_inherit(epp_session *session, uint64_t of)
{
	epp_arg args[2];
	uint64_t id;

	/* If the names of requests were not interned yet, the process has had no request. */
	if (!of || !EPPROF_ENABLED() || !LOAD_ACQUIRE(&names.state))
		return NULL;
	if (!find_event(session, &id))
		return no_event("epp_context_inherit");
	if (!id || id == of)
		return NULL;
	const struct names known = names_of_requests();
	args[0] = event_arg(&known, id);
	args[1] = (epp_arg){ .key = known.of, .type = EPP_ARG_U64, .value.u64 = of };
	epp_instant_record(session, EPP_SESSION, known.set, args, 2);
	return NULL;
}
