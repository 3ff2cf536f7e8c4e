/* The public object for the worker of a library that the caller has opened itself. */
#include <stdlib.h>

#include "base/status.h"
#include "base/worker.h"
#include "epprof/plugin.h"
#include "ort_abi/profiler_registry.h"

struct thread_call {
	struct worker_call call; /* must be first */
	void (*run)(void *argument);
	void (*discard)(void *argument);
	void *argument;
};

static struct worker *worker_of(epp_plugin_thread *thread)
{
	return (struct worker *)thread;
}

epp_status *epp_plugin_thread_create(epp_plugin_thread **thread)
{
	*thread = (epp_plugin_thread *)worker_for(NULL);
	return *thread ? NULL : epp_status_no_memory();
}

void epp_plugin_thread_destroy(epp_plugin_thread *thread)
{
	worker_release(worker_of(thread));
}

static void call_run(struct worker_call *of)
{
	const struct thread_call *call = (struct thread_call *)of;
	call->run(call->argument);
}

static void call_discard(struct worker_call *of, bool ran)
{
	const struct thread_call *call = (struct thread_call *)of;
	(void)ran;
	if (call->discard)
		call->discard(call->argument);
	free(of);
}

epp_status *epp_plugin_thread_call(epp_plugin_thread *thread, const char *step, void (*run)(void *argument),
                                   void (*discard)(void *argument), void *argument)
{
	struct timespec deadline = worker_deadline_of(worker_of(thread), worker_timeout_ns());
	struct thread_call *call = calloc(1, sizeof(*call));
	if (!call) {
		if (discard)
			discard(argument);
		return epp_status_no_memory();
	}
	*call = (struct thread_call){ { .run = call_run, .discard = call_discard }, run, discard, argument };
	worker_submit(worker_of(thread), &call->call);
	enum worker_result result = worker_await(&call->call, &deadline);
	if (result == WORKER_DONE)
		free(call);
	return worker_status(result, step);
}

uint64_t epp_plugin_budget_begin(uint64_t budget)
{
	return worker_budget_enter(budget);
}

void epp_plugin_budget_end(void)
{
	worker_budget_leave();
}

uint64_t epp_plugin_timeout_ns(void)
{
	return worker_timeout_ns();
}

epp_status *epp_plugin_thread_assign(epp_plugin_thread *thread, OrtEpProfilerImpl *profiler)
{
	if (profiler_registry_own(profiler, NULL, worker_of(thread), NULL))
		return NULL;
	return epp_status_create(EPP_PLUGIN, "it returned the same profiler twice, or memory is exhausted");
}
