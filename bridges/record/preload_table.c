/* Copies of ONNX Runtime's tables in which the functions that create a session are replaced.  All other slots are ONNX
 * Runtime's own, so that other calls cost nothing. */
#include "preload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/shared/ort_slots.h"

#define API_VERSION_MIN 26u /* the first version in which the collector works */
#define API_SLOTS_MAX 1024u
#define EDITOR_SLOTS_MAX 64u
#define EDITOR_CREATE_SLOT 14u /* slot number of OrtModelEditorApi::CreateSessionFromModel */

typedef OrtStatus *create_from_model_fn(const OrtEnv *env, const void *model, const OrtSessionOptions *options,
                                        OrtSession **out);

/* Set before a program gets one of the copies. */
static const OrtApiBase *real_base;
static const OrtApi *real; /* the table for all versions, because ONNX Runtime only appends to it */
static create_from_model_fn *real_create_from_model;
static union {
	epp_ort_slot slots[API_SLOTS_MAX];
	OrtApi table;
} api_copy;
static epp_ort_slot editor_copy[EDITOR_SLOTS_MAX];

/* ---- functions that create a session ---- */

static OrtStatus *create_session(const OrtEnv *env, const char *path, const OrtSessionOptions *options, OrtSession **out)
{
	struct preload_session session;

	preload_session_begin(&session, real, env, options);
	OrtStatus *status = real->CreateSession(env, path, session.options, out);
	if (preload_session_failed(&session, status))
		status = preload_session_end(&session, real->CreateSession(env, path, options, out));
	return status;
}

static OrtStatus *create_from_array(const OrtEnv *env, const void *model, size_t bytes,
                                    const OrtSessionOptions *options, OrtSession **out)
{
	struct preload_session session;

	preload_session_begin(&session, real, env, options);
	OrtStatus *status = real->CreateSessionFromArray(env, model, bytes, session.options, out);
	if (preload_session_failed(&session, status))
		status = preload_session_end(&session, real->CreateSessionFromArray(env, model, bytes, options, out));
	return status;
}

static OrtStatus *create_with_weights(const OrtEnv *env, const char *path, const OrtSessionOptions *options,
                                      OrtPrepackedWeightsContainer *weights, OrtSession **out)
{
	struct preload_session session;

	preload_session_begin(&session, real, env, options);
	OrtStatus *status = real->CreateSessionWithPrepackedWeightsContainer(env, path, session.options, weights, out);
	if (preload_session_failed(&session, status))
		status = preload_session_end(
		    &session, real->CreateSessionWithPrepackedWeightsContainer(env, path, options, weights, out));
	return status;
}

static OrtStatus *create_from_array_with_weights(const OrtEnv *env, const void *model, size_t bytes,
                                                 const OrtSessionOptions *options,
                                                 OrtPrepackedWeightsContainer *weights, OrtSession **out)
{
	struct preload_session session;

	preload_session_begin(&session, real, env, options);
	OrtStatus *status = real->CreateSessionFromArrayWithPrepackedWeightsContainer(env, model, bytes,
	                                                                              session.options, weights, out);
	if (preload_session_failed(&session, status))
		status = preload_session_end(&session, real->CreateSessionFromArrayWithPrepackedWeightsContainer(
							   env, model, bytes, options, weights, out));
	return status;
}

static OrtStatus *create_from_model(const OrtEnv *env, const void *model, const OrtSessionOptions *options,
                                    OrtSession **out)
{
	struct preload_session session;

	preload_session_begin(&session, real, env, options);
	OrtStatus *status = real_create_from_model(env, model, session.options, out);
	if (preload_session_failed(&session, status))
		status = preload_session_end(&session, real_create_from_model(env, model, options, out));
	return status;
}

/* ---- functions that change options, if ONNX Runtime cannot return the change ---- */

static OrtStatus *enable_profiling(OrtSessionOptions *options, const char *prefix)
{
	OrtStatus *status = real->EnableProfiling(options, prefix);

	if (!status)
		preload_mark(real, options, PRELOAD_PROFILED, true);
	return status;
}

static OrtStatus *disable_profiling(OrtSessionOptions *options)
{
	OrtStatus *status = real->DisableProfiling(options);

	if (!status)
		preload_mark(real, options, PRELOAD_PROFILED, false);
	return status;
}

static OrtStatus *set_policy(OrtSessionOptions *options, OrtExecutionProviderDevicePolicy policy)
{
	OrtStatus *status = real->SessionOptionsSetEpSelectionPolicy(options, policy);

	if (!status)
		preload_mark(real, options, PRELOAD_SELECTS, true);
	return status;
}

static OrtStatus *set_policy_delegate(OrtSessionOptions *options, EpSelectionDelegate delegate, void *state)
{
	OrtStatus *status = real->SessionOptionsSetEpSelectionPolicyDelegate(options, delegate, state);

	if (!status)
		preload_mark(real, options, PRELOAD_SELECTS, true);
	return status;
}

/* ---- the tables ---- */

static const OrtApi *get_api(uint32_t version)
{
	const OrtApi *table = real_base->GetApi(version);

	return table == real ? &api_copy.table : table;
}

static const char *get_version_string(void)
{
	return real_base->GetVersionString();
}

static const OrtModelEditorApi *get_model_editor_api(void)
{
	return (const OrtModelEditorApi *)(const void *)editor_copy;
}

/* Copies the table of the model editor.  A minimal build of ONNX Runtime has none. */
static void copy_model_editor(bool is_newer)
{
	const OrtModelEditorApi *table = real->GetModelEditorApi();

	if (!table)
		return;
	ort_slots_copy(editor_copy, table, is_newer ? EDITOR_SLOTS_MAX : EPPROF_ORT_MODEL_EDITOR_API_SLOTS);
	real_create_from_model = (create_from_model_fn *)editor_copy[EDITOR_CREATE_SLOT];
	editor_copy[EDITOR_CREATE_SLOT] = (epp_ort_slot)create_from_model;
	api_copy.table.GetModelEditorApi = get_model_editor_api;
}

static void copy_tables(bool is_newer)
{
	ort_slots_copy(api_copy.slots, real, is_newer ? API_SLOTS_MAX : EPPROF_ORT_API_SLOTS);
	api_copy.table.CreateSession = create_session;
	api_copy.table.CreateSessionFromArray = create_from_array;
	api_copy.table.CreateSessionWithPrepackedWeightsContainer = create_with_weights;
	api_copy.table.CreateSessionFromArrayWithPrepackedWeightsContainer = create_from_array_with_weights;
	api_copy.table.EnableProfiling = enable_profiling;
	api_copy.table.DisableProfiling = disable_profiling;
	api_copy.table.SessionOptionsSetEpSelectionPolicy = set_policy;
	api_copy.table.SessionOptionsSetEpSelectionPolicyDelegate = set_policy_delegate;
	copy_model_editor(is_newer);
}

/* Makes the copies.  If the library cannot be profiled, adds a note and returns false. */
static bool make_tables(const OrtApiBase *base)
{
	const char *version = base->GetVersionString();
	uint32_t minor = version && strncmp(version, "1.", 2) == 0 ? (uint32_t)strtoul(version + 2, NULL, 10) : 0;

	if (minor < API_VERSION_MIN) {
		preload_note("ONNX Runtime %s runs unprofiled: profilers are there from 1.%u on",
		             version ? version : "without a version", API_VERSION_MIN);
		return false;
	}
	real = base->GetApi(minor < EPPROF_ORT_API_VERSION ? minor : EPPROF_ORT_API_VERSION);
	if (!real) {
		preload_note("ONNX Runtime %s runs unprofiled: it has no tables", version);
		return false;
	}
	real_base = base;
	copy_tables(minor > EPPROF_ORT_API_VERSION);
	return true;
}

const OrtApiBase *preload_base(const OrtApiBase *base)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const OrtApiBase copy = { get_api, get_version_string };

	pthread_mutex_lock(&lock);
	bool is_copied = real_base ? base == real_base : make_tables(base);
	if (real_base && base != real_base)
		preload_note("a second ONNX Runtime %s in a process runs unprofiled", base->GetVersionString());
	pthread_mutex_unlock(&lock);
	return is_copied ? &copy : base;
}
