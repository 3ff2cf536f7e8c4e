/* TensorFlow's pluggable profilers in this host: shared by these files.
 *
 *   tf.c          the adapter: checked registration; start, stop and collect of the shared run (shared_run.h)
 *   tf_call.c     calls functions of the plugin, and creates and reads their TF_Status
 *   tf_collect.c  gets the plugin's serialised data: a first call for its size, a second one for its bytes
 *
 * ../profile/profile_delivery.c converts this data to events. */
#ifndef EPPROF_RUNTIME_PLUGINS_TF_TF_PLUGIN_H
#define EPPROF_RUNTIME_PLUGINS_TF_TF_PLUGIN_H

#include <stdbool.h>

#include "epprof/abi/tf.h"
#include "plugins/profile/shared_run.h"

/* ---- statuses ---- */

/* Either all functions are found or none.  If none is, no code in the process can set a status, and every status is
 * TF_OK. */
struct tf_status_functions {
	TF_Status *(*create)(void);
	void (*destroy)(TF_Status *status);
	void (*set)(TF_Status *status, TF_Code code, const char *message);
	TF_Code (*code)(const TF_Status *status);
	const char *(*message)(const TF_Status *status);
};

/* Finds the functions to which the dynamic linker resolves these names for `library`: in the global scope, else in the
 * libraries that it links. */
struct tf_status_functions tf_status_functions_find(void *library);

/* ---- a plugin ---- */

typedef void tf_collect_fn(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status);

/* Spare room after a struct, for plugins of another revision, whose struct may be larger. */
#define TF_FNS_ROOM_BYTES 256

struct tf_plugin {
	struct shared_run run; /* must be first */
	struct tf_status_functions statuses;
	TF_Status *status;
	TF_ProfilerRegistrationParams params;
	TP_Profiler profiler;
	union {
		TP_ProfilerFns accepted;
		EpprofTfFirstFns first;
		uint8_t room[TF_FNS_ROOM_BYTES];
	} fns;
	bool is_first;     /* the plugin has the structs of the first revision */
	bool is_unstopped; /* the last stop failed */
	char device_type[64];
};

/* Calls a function of the plugin with a new status.  One call at a time.  Errors: EPP_PLUGIN with the plugin's
 * message. */
epp_status *tf_call(struct tf_plugin *plugin, const char *step, void (*fn)(const TP_Profiler *, TF_Status *));
epp_status *tf_call_collect(struct tf_plugin *plugin, const char *step, tf_collect_fn *fn, uint8_t *buffer, size_t *bytes);

/* ---- the plugin's data ---- */

/* Collects the bytes in two calls.  There may be data even if an error is returned.  Errors: EPP_PLUGIN,
 * EPP_OUT_OF_MEMORY.  Ownership: tf_data_release. */
epp_status *tf_collect(struct tf_plugin *plugin, const char *step, tf_collect_fn *fn, struct profile_data *data);
void tf_data_release(struct profile_data *data);

#endif
