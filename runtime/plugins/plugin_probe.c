/* Probes a library: it is opened once, then used and released as each kind whose symbols it exports.  It is loaded, and
 * its entries are called, on a worker with a time limit, because a constructor or an entry may hang. */
#include "plugins/plugin_probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/plugin_kinds.h"

static void report_fact(const struct plugin_probe *probe, epp_plugin_fact fact)
{
	fact.kind = probe->kind;
	if (probe->report)
		probe->report(probe->user, &fact);
}

void plugin_probe_version(const struct plugin_probe *probe, const char *of, const char *format, ...)
{
	char text[128];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report_fact(probe, (epp_plugin_fact){ .type = EPP_FACT_VERSION, .name = of, .text = text });
}

void plugin_probe_size(const struct plugin_probe *probe, const char *of, size_t bytes, size_t known_bytes)
{
	report_fact(probe,
	            (epp_plugin_fact){ .type = EPP_FACT_SIZE, .name = of, .bytes = bytes, .known_bytes = known_bytes });
}

void plugin_probe_entry(const struct plugin_probe *probe, const char *entry, bool is_present, bool is_required)
{
	report_fact(probe,
	            (epp_plugin_fact){
			.type = EPP_FACT_ENTRY, .name = entry, .is_present = is_present, .is_required = is_required });
}

static void probe_as(epp_plugin *plugin, const struct plugin_kind *kind, const struct plugin_probe *probe)
{
	report_fact(probe, (epp_plugin_fact){ .type = EPP_FACT_KIND });
	for (size_t i = 0; i < PLUGIN_KIND_SYMBOLS_MAX && kind->symbols[i]; i++)
		report_fact(probe, (epp_plugin_fact){ .type = EPP_FACT_SYMBOL,
		                                      .name = kind->symbols[i],
		                                      .is_present = dlsym(plugin->library, kind->symbols[i]) != NULL,
		                                      .is_required = 1 });
	epp_status *status = plugin_kind_check(kind, plugin->library);
	plugin->kind = kind;
	if (!status)
		status = kind->adapter->open_plugin(plugin);
	if (status) {
		report_fact(probe, (epp_plugin_fact){ .type = EPP_FACT_PROBLEM, .text = epp_status_message(status) });
		epp_status_destroy(status);
		return;
	}
	report_fact(probe, (epp_plugin_fact){ .type = EPP_FACT_NAME, .text = plugin->name });
	if (kind->adapter->describe)
		kind->adapter->describe(plugin, probe);
	kind->adapter->close_plugin(plugin);
	free(plugin->name);
	plugin->name = NULL;
}

/* ---- on a worker, with a time limit ---- */

/* State that the caller of epp_plugin_probe and the worker share.  If the plugin hangs, this struct and the plugin are
 * never freed, because the worker may still use them. */
struct shared {
	pthread_mutex_t lock;
	epp_plugin_fact_fn report; /* NULL: the caller no longer waits */
	void *user;
	const char *_Atomic entry; /* the entry of the plugin that is being called now */
	epp_plugin *plugin;
};

struct probe_call {
	struct worker_call call; /* must be first */
	struct shared *shared;
	const struct plugin_kind *kind;
};

static __thread struct shared *of_thread __attribute__((tls_model("initial-exec")));

void plugin_entry(const char *entry)
{
	if (of_thread)
		of_thread->entry = entry;
}

static void forward_fact(void *user, const epp_plugin_fact *fact)
{
	struct shared *shared = user;
	pthread_mutex_lock(&shared->lock);
	if (shared->report)
		shared->report(shared->user, fact);
	pthread_mutex_unlock(&shared->lock);
}

static void call_run(struct worker_call *of)
{
	struct probe_call *call = (struct probe_call *)of;
	struct shared *shared = call->shared;
	of_thread = shared;
	probe_as(shared->plugin, call->kind, &(struct plugin_probe){ forward_fact, shared, call->kind->name });
	of_thread = NULL;
}

static void call_discard(struct worker_call *of, bool ran)
{
	(void)ran;
	free(of);
}

/* ---- the load: the library's constructors run ---- */

struct load_call {
	struct worker_call call; /* must be first */
	char *path;
	epp_plugin *plugin;
	epp_status *status;
};

static void load_run(struct worker_call *of)
{
	struct load_call *call = (struct load_call *)of;
	call->status = plugin_library_open(call->path, &call->plugin);
}

/* A library whose load takes longer than the time limit stays loaded. */
static void load_discard(struct worker_call *of, bool ran)
{
	struct load_call *call = (struct load_call *)of;
	(void)ran;
	epp_status_destroy(call->status);
	free(call->path);
	free(call);
}

static epp_status *load(struct worker *worker, const char *path, epp_plugin **plugin)
{
	struct timespec deadline = worker_deadline();
	struct load_call *call = calloc(1, sizeof(*call));
	char *copy = call ? strdup(path) : NULL;
	if (!copy) {
		free(call);
		return epp_status_no_memory();
	}
	call->call.run = load_run;
	call->call.discard = load_discard;
	call->path = copy;
	worker_submit(worker, &call->call);
	enum worker_result result = worker_await(&call->call, &deadline);
	if (result != WORKER_DONE)
		return epp_status_prefix(worker_status(result, "dlopen"), "%s", path);
	*plugin = call->plugin;
	epp_status *status = call->status;
	free(call->path);
	free(call);
	return status;
}

static epp_status *call_make(struct worker *worker, struct shared *shared, const struct plugin_kind *kind, bool *hangs)
{
	struct timespec deadline = worker_deadline();
	struct probe_call *call = calloc(1, sizeof(*call));
	if (!call)
		return epp_status_no_memory();
	call->call.run = call_run;
	call->call.discard = call_discard;
	call->shared = shared;
	call->kind = kind;
	shared->entry = kind->symbols[0];
	worker_submit(worker, &call->call);
	enum worker_result result = worker_await(&call->call, &deadline);
	*hangs = result == WORKER_HUNG || result == WORKER_SPENT;
	if (result != WORKER_DONE)
		return worker_status(result, shared->entry);
	free(call);
	return NULL;
}

static epp_status *probe_all(struct worker *worker, struct shared *shared, bool *hangs)
{
	bool is_any = false;
	epp_status *status = NULL;
	for (const struct plugin_kind *kind = plugin_kinds; kind->name && !status; kind++) {
		if (!plugin_kind_found(kind, shared->plugin->library))
			continue;
		is_any = true;
		status = call_make(worker, shared, kind, hangs);
	}
	if (!status && !is_any)
		status = plugin_kind_none();
	return epp_status_prefix(status, "%s", shared->plugin->file);
}

epp_status *epp_plugin_probe(const char *path, epp_plugin_fact_fn report, void *user)
{
	bool hangs = false;
	if (!path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_probe: path is NULL");
	EPP_TRY(plugin_library_try(path));
	struct shared *shared = calloc(1, sizeof(*shared));
	struct worker *worker = shared ? worker_for(NULL) : NULL;
	if (!worker) {
		free(shared);
		return epp_status_no_memory();
	}
	epp_plugin *plugin = NULL;
	epp_status *status = load(worker, path, &plugin);
	if (status) {
		worker_release(worker);
		free(shared);
		return status;
	}
	*shared = (struct shared){ .lock = PTHREAD_MUTEX_INITIALIZER, .report = report, .user = user, .plugin = plugin };
	status = probe_all(worker, shared, &hangs);
	if (hangs) {
		/* After this, no fact is reported any more. */
		pthread_mutex_lock(&shared->lock);
		shared->report = NULL;
		pthread_mutex_unlock(&shared->lock);
		worker_release(worker);
	} else {
		plugin->worker = worker;
		plugin_destroy(plugin);
		free(shared);
	}
	return status;
}
