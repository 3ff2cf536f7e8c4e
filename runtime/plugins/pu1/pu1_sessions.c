/* The sessions of a PU1 library's profilers, and the profilers' ledgers. */
#include "plugins/pu1/pu1_reading.h"

#include <stdarg.h>
#include <stdio.h>

#include "ort_abi/profiler_registry.h"

#define DROPPED_MAX (UINT64_C(1) << 40) /* a larger count must be an error of the library */

void pu1_fault(struct pu1_library *library, const char *format, ...)
{
	struct pu1_profiler *profiler;
	LIST_FOREACH(profiler, &library->profilers, link) {
		if (!pu1_is_on(profiler) || profiler->faults_count++)
			continue;
		va_list args;
		va_start(args, format);
		vsnprintf(profiler->fault, sizeof(profiler->fault), format, args);
		va_end(args);
	}
}

/* ---- sessions ---- */

void pu1_look_up_sessions(struct pu1_library *library)
{
	struct pu1_profiler *profiler;
	LIST_FOREACH(profiler, &library->profilers, link)
		profiler->session = profiler_registry_session(&profiler->impl);
}

/* Returns the next older profiler of the same session; NULL: none. */
struct pu1_profiler *pu1_next_of_session(const struct pu1_profiler *profiler)
{
	struct pu1_profiler *older = LIST_NEXT(profiler, link);
	while (older && (!older->session || older->session != profiler->session))
		older = LIST_NEXT(older, link);
	return older;
}

/* ---- ledgers ---- */

void pu1_push_ledger(struct pu1_profiler *profiler)
{
	profiler_registry_push(&profiler->impl,
	                       &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .ledger = &profiler->ledger });
}

/* Returns true if an older profiler of the same session is active.  Only the oldest one counts an event that the
 * session loses. */
static bool has_older_active(const struct pu1_profiler *profiler)
{
	const struct pu1_profiler *older = pu1_next_of_session(profiler);
	while (older && !pu1_is_on(older))
		older = pu1_next_of_session(older);
	return older != NULL;
}

void pu1_count_lost(struct pu1_library *library, size_t lost, uint64_t count)
{
	struct pu1_profiler *profiler;
	LIST_FOREACH(profiler, &library->profilers, link) {
		if (!pu1_is_on(profiler) || has_older_active(profiler))
			continue;
		*(uint64_t *)(void *)((char *)&profiler->ledger + lost) += count;
		profiler->ledger.emitted += count;
	}
}

void pu1_count_dropped(struct pu1_library *library)
{
	uint64_t declined = atomic_exchange_explicit(&library->declined_count, 0, memory_order_relaxed);
	const char *misuse = atomic_exchange_explicit(&library->misuse, NULL, memory_order_relaxed);
	char text[PU1_FAULT_BYTES];
	size_t dropped = 0;
	if (misuse)
		pu1_fault(library, "%s", misuse);
	if (!library->calls.dropped_count) {
		/* Each request that got no buffer lost at least one record. */
		PU1_LOSE(library, no_buffer, declined);
		return;
	}
	pu1Result result = library->calls.dropped_count(&dropped);
	if (result != PU1_SUCCESS)
		pu1_fault(library, "pu1GetNumDroppedRecords: %s", pu1_result_text(library, result, text, sizeof(text)));
	else if (dropped > DROPPED_MAX)
		pu1_fault(library, "pu1GetNumDroppedRecords: it reported %zu, which is impossible", dropped);
	else
		PU1_LOSE(library, other, dropped);
}
