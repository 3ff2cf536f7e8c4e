/* Calls StartProfiling and EndProfiling on workers. A call may outlive its caller, so it owns all memory that the
 * profiler can access through it, including its container. The container finds the session through the registry, by the
 * profiler, and adds nothing if the profiler belongs to no session any more. */
#include "record/profiler_steps.h"

#include <stdlib.h>

#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "record/submit.h"

struct step_call {
	struct worker_call call; /* must be the first member */
	OrtProfilingEventsContainer container;
	struct profiler_step step;
	uint64_t since_ticks;
};

OrtStatus *profiler_steps_add(OrtEpProfilerImpl *profiler, const OrtProfilingEvent *const *events, size_t count)
{
	if (!events && count)
		return ort_status_create(ORT_INVALID_ARGUMENT, "ProfilingEventsContainer_AddEvents: events is NULL");
	struct session_profiler *of = profiler_registry_enter(profiler);
	if (!of)
		return NULL; /* the session and its ledger do not exist any more */
	uint64_t run_ticks = clock_ticks() - of->session->storage.window.live->run_start.ticks;
	for (size_t i = 0; i < count; i++)
		submission_add(of, events[i], clock_ticks_to_ns(run_ticks) / 1000 + 1);
	profiler_registry_leave(profiler);
	return NULL;
}

static OrtStatus *container_add(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	return profiler_steps_add(self->user, events, count);
}

static void start(struct worker_call *of)
{
	struct profiler_step *step = &((struct step_call *)of)->step;
	uint64_t since_ticks = ((struct step_call *)of)->since_ticks;
	step->before_ticks = clock_ticks();
	if (since_ticks)
		step->offset_ns += (int64_t)clock_ticks_to_ns(step->before_ticks - since_ticks);
	step->status = step->profiler->StartProfiling(step->profiler, step->offset_ns);
	step->after_ticks = clock_ticks();
}

static void end(struct worker_call *of)
{
	struct step_call *call = (struct step_call *)of;
	struct profiler_step *step = &call->step;
	struct session_profiler *known = profiler_registry_enter(step->profiler);
	if (known) {
		recorder_allow_waiting(known->session);
		profiler_registry_leave(step->profiler);
	}
	step->status = step->profiler->EndProfiling(step->profiler, step->container ? step->container : &call->container);
}

/* Called when a StartProfiling returned after its time limit. Calls EndProfiling. The status that EndProfiling returns
 * is not released, because only the caller had the function tables for that, and the caller does not wait any more. */
static void discard_start(struct worker_call *of, bool ran)
{
	struct step_call *call = (struct step_call *)of;
	OrtStatus *status = ran ? call->step.profiler->EndProfiling(call->step.profiler, &call->container) : NULL;
	(void)status;
	free(call);
}

static void discard_end(struct worker_call *call, bool ran)
{
	(void)ran;
	free(call);
}

static struct step_call *submit(const struct profiler_step *step, bool is_end)
{
	struct step_call *call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->call.run = is_end ? end : start;
	call->call.discard = is_end ? discard_end : discard_start;
	call->container = (OrtProfilingEventsContainer){ .add = container_add, .user = step->profiler };
	call->step = *step;
	return call;
}

/* Makes all calls in parallel and waits for them. If `deadline` is NULL, each call has its own deadline: `timeout_ns`
 * from now, less what earlier calls of its worker have taken of the thread's budget (worker_deadline_of). */
static void call_all(struct profiler_step *steps, size_t count, bool is_end, uint64_t since_ticks, uint64_t timeout_ns,
                     const struct timespec *deadline)
{
	struct step_call *calls[EPF_PRODUCER_COUNT];
	struct timespec deadlines[EPF_PRODUCER_COUNT];
	for (size_t i = 0; i < count; i++) {
		steps[i].result = WORKER_NO_THREAD;
		deadlines[i] = deadline ? *deadline : worker_deadline_of(steps[i].worker, timeout_ns);
		calls[i] = submit(&steps[i], is_end);
		if (!calls[i])
			continue;
		calls[i]->since_ticks = since_ticks;
		worker_submit(steps[i].worker, &calls[i]->call);
	}
	for (size_t i = 0; i < count; i++) {
		enum worker_result result = calls[i] ? worker_await(&calls[i]->call, &deadlines[i]) : WORKER_NO_THREAD;
		if (result == WORKER_DONE) {
			steps[i] = calls[i]->step;
			free(calls[i]);
		}
		steps[i].result = result;
	}
}

void profiler_steps_start(struct profiler_step *steps, size_t count, int64_t offset_ns, uint64_t since_ticks,
                          uint64_t timeout_ns)
{
	for (size_t i = 0; i < count; i++)
		steps[i].offset_ns = offset_ns;
	call_all(steps, count, false, since_ticks, timeout_ns, NULL);
}

void profiler_steps_end(struct profiler_step *steps, size_t count, const struct timespec *deadline)
{
	call_all(steps, count, true, 0, 0, deadline);
}
