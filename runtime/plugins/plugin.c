/* Loads plugins: find (the file, then its kind by the symbols that it exports), open (a trial in another process,
 * dlopen on the caller's thread, without a time limit, then the adapter's steps on the plugin's worker, with one),
 * admit (check a new profiler before it is returned), reject (each failure releases what was created so far).  This
 * file has no code for a particular ABI; the ABIs are in the table of plugin_kinds.h. */
#include "plugins/plugin_kinds.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/os/os.h"
#include "ort_abi/profiler_registry.h"
#include "plugins/elf.h"

/* ---- find ---- */

/* Checks a file before dlopen, which reports missing and unreadable files only as text, and crashes on a truncated
 * file. */
static epp_status *file_check(const char *path)
{
	epp_status *status = NULL;
	struct stat st;
	/* O_NONBLOCK, because open would wait if the path is a pipe without a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return epp_status_errno(errno, "%s", path);
	if (fstat(fd, &st))
		status = epp_status_errno(errno, "%s", path);
	else if (!S_ISREG(st.st_mode))
		status = epp_status_create(EPP_INCOMPATIBLE, "%s: not a regular file", path);
	else
		status = epp_status_prefix(elf_check(fd, (uint64_t)st.st_size), "%s", path);
	close(fd);
	return status;
}

/* Finds the first kind whose symbols are all exported.  If there is none, the error names the missing symbols of the
 * first kind of which the library exports a symbol. */
static epp_status *kind_find(void *library, const struct plugin_kind **found)
{
	epp_status *lacking = NULL;
	for (const struct plugin_kind *kind = plugin_kinds; kind->name; kind++) {
		if (!plugin_kind_found(kind, library))
			continue;
		epp_status *status = plugin_kind_check(kind, library);
		if (!status) {
			epp_status_destroy(lacking);
			*found = kind;
			return NULL;
		}
		if (lacking)
			epp_status_destroy(status);
		else
			lacking = status;
	}
	return lacking ? lacking : plugin_kind_none();
}

/* ---- open ---- */

static epp_status *library_open(epp_plugin *plugin)
{
	plugin->library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
	if (plugin->library)
		return NULL;
	const char *reason = dlerror();
	size_t path_bytes = strlen(plugin->path);
	if (!reason)
		reason = "refused without a reason";
	/* The text of dlerror begins with the path, which the caller adds to the message too. */
	if (!strncmp(reason, plugin->path, path_bytes) && !strncmp(reason + path_bytes, ": ", 2))
		reason += path_bytes + 2;
	return epp_status_create(EPP_INCOMPATIBLE, "dlopen: %s", reason);
}

void plugin_destroy(epp_plugin *plugin)
{
	/* If the worker has not ended, code of the library may still run on it, so the library stays loaded. */
	bool has_ended = worker_end(plugin->worker);
	if (plugin->library && has_ended)
		dlclose(plugin->library);
	free(plugin->name);
	free(plugin->path);
	free(plugin);
}

epp_status *plugin_library_try(const char *path)
{
	return epp_status_prefix(epp_plugin_trial_await(path), "%s", os_path_name(path));
}

epp_status *plugin_library_open(const char *path, epp_plugin **plugin)
{
	/* A name without a slash never means a file of the working directory, as in dlopen. */
	if (os_path_name(path) == path)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "%s: not a path: './%s' would be the file in the working directory", path, path);
	EPP_TRY(file_check(path));
	epp_plugin *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return epp_status_no_memory();
	opened->path = realpath(path, NULL);
	epp_status *status = opened->path ? NULL : epp_status_errno(errno, "%s", path);
	if (!status) {
		opened->file = strrchr(opened->path, '/') + 1;
		status = epp_status_prefix(library_open(opened), "%s", opened->file);
	}
	if (status) {
		plugin_destroy(opened);
		return status;
	}
	*plugin = opened;
	return NULL;
}

/* ---- on the plugin's worker ---- */

struct plugin_call {
	struct worker_call call; /* must be first */
	epp_status *(*step)(struct plugin_call *call);
	epp_plugin *plugin;
	OrtEpProfilerImpl *profiler; /* the new profiler */
	epp_status *status;
};

static void call_run(struct worker_call *of)
{
	struct plugin_call *call = (struct plugin_call *)of;
	call->status = call->step(call);
}

/* A call that returns after its time limit frees only itself, and releases the profiler if it created one.  The plugin
 * stays, because its library may have started threads. */
static void call_discard(struct worker_call *of, bool ran)
{
	struct plugin_call *call = (struct plugin_call *)of;
	(void)ran;
	profiler_release(call->profiler);
	epp_status_destroy(call->status);
	free(call);
}

/* Calls a step on the plugin's worker.  *hangs is set if the call did not return in time; the plugin must then not be
 * freed.  `profiler` may be NULL. */
static epp_status *call_step(epp_plugin *plugin, epp_status *(*step)(struct plugin_call *call), const char *name,
                             OrtEpProfilerImpl **profiler, bool *hangs)
{
	struct timespec deadline = worker_deadline_of(plugin->worker, worker_timeout_ns());
	struct plugin_call *call = calloc(1, sizeof(*call));
	*hangs = false;
	if (!call)
		return epp_status_no_memory();
	call->call.run = call_run;
	call->call.discard = call_discard;
	call->step = step;
	call->plugin = plugin;
	worker_submit(plugin->worker, &call->call);
	enum worker_result result = worker_await(&call->call, &deadline);
	*hangs = result == WORKER_HUNG || result == WORKER_SPENT;
	if (result != WORKER_DONE)
		return worker_status(result, name);
	epp_status *status = call->status;
	if (profiler)
		*profiler = call->profiler;
	free(call);
	return status;
}

/* ---- load and unload ---- */

static epp_status *open_steps(struct plugin_call *call)
{
	EPP_TRY(kind_find(call->plugin->library, &call->plugin->kind));
	return call->plugin->kind->adapter->open_plugin(call->plugin);
}

epp_status *epp_plugin_load(const char *path, epp_plugin **plugin)
{
	epp_plugin *loaded;
	bool hangs = false;
	if (!plugin)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_load: plugin is NULL");
	*plugin = NULL;
	if (!path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_load: path is NULL");
	EPP_TRY(plugin_library_try(path));
	EPP_TRY(plugin_library_open(path, &loaded));
	loaded->worker = worker_for(loaded->library);
	epp_status *status = loaded->worker ? call_step(loaded, open_steps, "opening it", NULL, &hangs)
	                                    : epp_status_no_memory();
	status = epp_status_prefix(status, "%s", loaded->file);
	if (!status)
		*plugin = loaded;
	else if (!hangs)
		plugin_destroy(loaded);
	return status;
}

/* The Release calls of the plugin's profilers were queued on the worker before this call. */
static epp_status *close_steps(struct plugin_call *call)
{
	epp_plugin *plugin = call->plugin;
	int live = atomic_load_explicit(&plugin->live, memory_order_acquire);
	if (live)
		return epp_status_create(EPP_BUSY, "%d of its profilers are not released", live);
	plugin->kind->adapter->close_plugin(plugin);
	return NULL;
}

epp_status *epp_plugin_unload(epp_plugin *plugin)
{
	bool hangs;
	if (!plugin)
		return NULL;
	epp_status *status = call_step(plugin, close_steps, "closing it", NULL, &hangs);
	if (status)
		return epp_status_prefix(status, "%s", plugin->file);
	plugin_destroy(plugin);
	return NULL;
}

/* ---- admit ---- */

static epp_status *profiler_check(const OrtEpProfilerImpl *profiler)
{
	const char *missing = NULL;
	if (profiler->ort_version_supported < EPPROF_ORT_API_VERSION_MIN)
		return epp_status_create(EPP_INCOMPATIBLE, "the profiler has API version %u, which is below %d",
		                         profiler->ort_version_supported, EPPROF_ORT_API_VERSION_MIN);
	if (!profiler->Release)
		missing = "Release";
	else if (!profiler->StartProfiling)
		missing = "StartProfiling";
	else if (!profiler->EndProfiling)
		missing = "EndProfiling";
	return missing ? epp_status_create(EPP_INCOMPATIBLE, "the profiler's %s is NULL", missing) : NULL;
}

static epp_status *profiler_admit(struct plugin_call *call)
{
	epp_plugin *plugin = call->plugin;
	OrtEpProfilerImpl *made = NULL;
	EPP_TRY(plugin->kind->adapter->profiler_create(plugin, &made));
	if (!made)
		return epp_status_create(EPP_PLUGIN, "it has no profiler");
	epp_status *status = profiler_check(made);
	if (status) {
		/* Every version has Release as its first entry.  Only a profiler that reports version 0 may have no
		 * entries. */
		if (made->ort_version_supported && made->Release)
			made->Release(made);
		return status;
	}
	atomic_fetch_add_explicit(&plugin->live, 1, memory_order_relaxed);
	if (!profiler_registry_own(made, &plugin->live, plugin->worker, plugin->name)) {
		atomic_fetch_sub_explicit(&plugin->live, 1, memory_order_relaxed);
		return epp_status_create(EPP_PLUGIN, "it returned the same profiler twice, or memory is exhausted");
	}
	call->profiler = made;
	return NULL;
}

epp_status *epp_plugin_profiler_create(epp_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	if (!profiler)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_profiler_create: profiler is NULL");
	bool hangs;
	*profiler = NULL;
	if (!plugin)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_plugin_profiler_create: plugin is NULL");
	const char *name = plugin->kind->adapter->profiler_step;
	epp_status *status = call_step(plugin, profiler_admit, name, profiler, &hangs);
	return epp_status_code(status) == EPP_TIMEOUT ? epp_status_prefix(status, "%s", plugin->file)
	                                              : epp_status_prefix(status, "%s: %s", plugin->file, name);
}

uint32_t epp_plugin_is_selected(const epp_plugin *plugin, const epp_profile_options *options)
{
	epp_profile_options known;

	if (!plugin)
		return 0;
	if (!options || !plugin->kind->adapter->selected)
		return 1;
	epp_status *status = options_take(&known, sizeof(known), options, "epp_profile_options");
	bool is_unknown = status;
	epp_status_destroy(status);
	return is_unknown || plugin->kind->adapter->selected(&known);
}

void epp_plugin_profiler_destroy(OrtEpProfilerImpl *profiler)
{
	profiler_release(profiler);
}

/* ---- properties ---- */

const char *epp_plugin_name(const epp_plugin *plugin)
{
	return plugin ? plugin->name : "";
}

const char *epp_plugin_kind(const epp_plugin *plugin)
{
	return plugin ? plugin->kind->name : "";
}

const char *epp_plugin_path(const epp_plugin *plugin)
{
	return plugin ? plugin->path : "";
}

void *epp_plugin_symbol(const epp_plugin *plugin, const char *name)
{
	return plugin && name ? dlsym(plugin->library, name) : NULL;
}
