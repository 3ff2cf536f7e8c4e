/* TensorFlow's pluggable profilers: TF_InitProfiler -> OrtEpProfilerImpl.
 *
 * Registration is as in TensorFlow: the plugin gets structs whose sizes and version are set.  The results are checked
 * in TensorFlow's order, and more strictly.  Revisions are distinguished by the size that the plugin sets, or by the
 * members that it sets: the struct of the first revision has 48 bytes and one more entry.  There is spare room after
 * each struct, because a plugin of another revision may write past the end.  As in TensorFlow, the structs are copied,
 * and destroy_* are called once, at the end.
 *
 * After a stop that failed, a plugin is not started until a stop has succeeded. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/plugin_probe.h"
#include "plugins/tf/tf_plugin.h"

/* ---- checks ---- */

static epp_status *size_check(const char *what, size_t says, size_t needed)
{
	if (says >= needed)
		return NULL;
	return epp_status_create(EPP_INCOMPATIBLE, "TF_InitProfiler: its %s has a size of %zu bytes, %zu are needed",
	                         what, says, needed);
}

static epp_status *entry_missing(const char *entry)
{
	return epp_status_create(EPP_INCOMPATIBLE, "TF_InitProfiler: %s is NULL", entry);
}

static epp_status *params_check(const struct tf_plugin *tf)
{
	const TF_ProfilerRegistrationParams *params = &tf->params;
	EPP_TRY(size_check("TF_ProfilerRegistrationParams", params->struct_size,
	                   TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE));
	if (!params->destroy_profiler)
		return entry_missing("destroy_profiler");
	return params->destroy_profiler_fns ? NULL : entry_missing("destroy_profiler_fns");
}

/* TensorFlow's rule: [A-Z][A-Z_]*. */
static bool device_type_valid(const char *type)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	return *type && *type != '_' && !type[strspn(type, letters)];
}

static epp_status *profiler_check(struct tf_plugin *tf)
{
	EPP_TRY(size_check("TP_Profiler", tf->profiler.struct_size, TP_PROFILER_STRUCT_SIZE));
	const char *type = tf->profiler.device_type;
	if (!type)
		return entry_missing("device_type");
	size_t bytes = strnlen(type, sizeof(tf->device_type));
	if (bytes == sizeof(tf->device_type))
		return epp_status_create(EPP_INCOMPATIBLE, "TF_InitProfiler: its device_type is longer than %zu bytes",
		                         bytes - 1);
	memcpy(tf->device_type, type, bytes + 1);
	if (device_type_valid(tf->device_type))
		return NULL;
	return epp_status_create(EPP_INCOMPATIBLE,
	                         "TF_InitProfiler: device_type '%s' must consist of upper-case letters and underscores",
	                         tf->device_type);
}

static epp_status *fns_check(struct tf_plugin *tf)
{
	const EpprofTfFirstFns *first = &tf->fns.first;
	size_t says = first->struct_size;
	EPP_TRY(size_check("TP_ProfilerFns", says, TP_PROFILER_FNS_STRUCT_SIZE));
	/* A sample of the first revision may leave the size as it was set before the call.  The member that only the
	 * first revision has then decides. */
	tf->is_first = says == sizeof(*first) || (says < sizeof(*first) && first->collect_data_xspace);
	if (!first->start)
		return entry_missing("start");
	if (!first->stop)
		return entry_missing("stop");
	bool collects = tf->is_first ? first->collect_data_run_metadata || first->collect_data_xspace
	                             : tf->fns.accepted.collect_data_xspace != NULL;
	return collects ? NULL : entry_missing("collect_data_xspace");
}

/* ---- registration ---- */

static void destroy(struct shared_run *run)
{
	struct tf_plugin *tf = (struct tf_plugin *)run;
	plugin_entry("destroy_profiler");
	if (tf->params.destroy_profiler)
		tf->params.destroy_profiler(&tf->profiler);
	plugin_entry("destroy_profiler_fns");
	if (tf->params.destroy_profiler_fns)
		tf->params.destroy_profiler_fns(&tf->fns.accepted);
	if (tf->statuses.destroy && tf->status)
		tf->statuses.destroy(tf->status);
	free(tf);
}

static epp_status *status_make(struct tf_plugin *tf, void *library)
{
	/* Without the status functions, no code in the process can read or write a TF_Status, so any memory can be
	 * passed as one. */
	static uint64_t nothing[8];
	tf->statuses = tf_status_functions_find(library);
	tf->status = tf->statuses.create ? tf->statuses.create() : (TF_Status *)(void *)nothing;
	return tf->status ? NULL : epp_status_no_memory();
}

static epp_status *register_steps(struct tf_plugin *tf, void *library)
{
	void (*init)(TF_ProfilerRegistrationParams *, TF_Status *);
	*(void **)&init = dlsym(library, "TF_InitProfiler");
	EPP_TRY(status_make(tf, library));
	tf->profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
	tf->fns.accepted.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
	tf->params = (TF_ProfilerRegistrationParams){
		.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		.major_version = TP_MAJOR,
		.minor_version = TP_MINOR,
		.patch_version = TP_PATCH,
		.profiler = &tf->profiler,
		.profiler_fns = &tf->fns.accepted,
	};
	epp_status *status = NULL;
	if (tf->statuses.set)
		tf->statuses.set(tf->status, TF_OK, "");
	plugin_entry("TF_InitProfiler");
	init(&tf->params, tf->status);
	if (tf->statuses.code && tf->statuses.code(tf->status) != TF_OK) {
		status = epp_status_create(EPP_PLUGIN, "TF_InitProfiler: code %d: %s",
		                           (int)tf->statuses.code(tf->status), tf->statuses.message(tf->status));
		/* The plugin may not have created the object, so it must not be asked to destroy it. */
		tf->params.destroy_profiler = NULL;
		tf->params.destroy_profiler_fns = NULL;
	}
	return status;
}

static epp_status *make(const epp_plugin *plugin, struct shared_run **run)
{
	struct tf_plugin *tf = calloc(1, sizeof(*tf));
	if (!tf)
		return epp_status_no_memory();
	epp_status *status = register_steps(tf, plugin->library);
	if (!status)
		status = params_check(tf);
	if (!status)
		status = profiler_check(tf);
	if (!status)
		status = fns_check(tf);
	if (status) {
		destroy(&tf->run);
		return status;
	}
	tf->run.name = tf->device_type;
	*run = &tf->run;
	return NULL;
}

/* ---- a run ---- */

static epp_status *stop(struct shared_run *run)
{
	struct tf_plugin *tf = (struct tf_plugin *)run;
	epp_status *status = tf_call(tf, "stop", tf->fns.accepted.stop);
	tf->is_unstopped = status != NULL;
	return status;
}

/* After a stop that failed, the plugin may still be running, so it is stopped before it is started again. */
static epp_status *start(struct shared_run *run)
{
	struct tf_plugin *tf = (struct tf_plugin *)run;
	if (tf->is_unstopped)
		EPP_TRY(stop(run));
	return tf_call(tf, "start", tf->fns.accepted.start);
}

static epp_status *collect(struct shared_run *run, struct shared_data *data)
{
	struct tf_plugin *tf = (struct tf_plugin *)run;
	epp_status *status = NULL;
	tf_collect_fn *xspace = tf->is_first ? tf->fns.first.collect_data_xspace : tf->fns.accepted.collect_data_xspace;
	if (xspace)
		status = tf_collect(tf, "collect_data_xspace", xspace, &data->xspace);
	if (tf->is_first && tf->fns.first.collect_data_run_metadata)
		status_keep(&status, tf_collect(tf, "collect_data_run_metadata",
		                                tf->fns.first.collect_data_run_metadata, &data->run_metadata));
	return status;
}

static epp_status *discard(struct shared_run *run, struct shared_data *data)
{
	(void)run;
	tf_data_release(&data->xspace);
	tf_data_release(&data->run_metadata);
	return NULL;
}

static const struct shared_run_calls calls = { start, stop, collect, discard, destroy };

/* ---- the adapter ---- */

static epp_status *open_plugin(epp_plugin *plugin)
{
	return shared_run_open(plugin, &calls, make);
}

static bool selected(const epp_profile_options *options)
{
	return options->device_tracer_level &&
	       (options->device_type == EPP_DEVICE_UNSPECIFIED || options->device_type == EPP_DEVICE_PLUGGABLE);
}

static void describe(epp_plugin *plugin, const struct plugin_probe *probe)
{
	const struct tf_plugin *tf = plugin->state;
	const EpprofTfFirstFns *first = &tf->fns.first;
	plugin_probe_version(probe, "pluggable profiler", "%d.%d.%d, %s revision", TP_MAJOR, TP_MINOR, TP_PATCH,
	                     tf->is_first ? "first" : "accepted");
	plugin_probe_size(probe, "TF_ProfilerRegistrationParams", tf->params.struct_size,
	                  TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE);
	plugin_probe_size(probe, "TP_Profiler", tf->profiler.struct_size, TP_PROFILER_STRUCT_SIZE);
	plugin_probe_size(probe, "TP_ProfilerFns", first->struct_size,
	                  tf->is_first ? sizeof(EpprofTfFirstFns) : TP_PROFILER_FNS_STRUCT_SIZE);
	plugin_probe_entry(probe, "start", first->start != NULL, true);
	plugin_probe_entry(probe, "stop", first->stop != NULL, true);
	if (tf->is_first)
		plugin_probe_entry(probe, "collect_data_run_metadata", first->collect_data_run_metadata != NULL, false);
	plugin_probe_entry(probe, "collect_data_xspace",
	                   tf->is_first ? first->collect_data_xspace != NULL : tf->fns.accepted.collect_data_xspace != NULL,
	                   !tf->is_first);
}

const struct plugin_adapter plugin_adapter_tf = {
	.open_plugin = open_plugin,
	.profiler_step = "registering a session",
	.profiler_create = shared_run_profiler_create,
	.close_plugin = shared_run_close,
	.selected = selected,
	.describe = describe,
};
