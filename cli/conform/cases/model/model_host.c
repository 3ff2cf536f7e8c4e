/* Runs a model in ONNX Runtime for the cases. */
#include "model_host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epprof/import.h"

/* One session of ONNX Runtime. */
struct session {
	struct model_host *host;
	OrtSessionOptions *options;
	OrtSession *session;
	struct run_eps eps;
	struct run_inputs inputs;
};

void model_open(const struct conform *conform, struct model_host *host)
{
	*host = (struct model_host){ .conform = conform };
	if (!conform->model)
		conform_skip(conform, "no model: --model MODEL.onnx names one");
	epp_status *status = ort_open(&host->ort, conform->ort_library);
	if (!status)
		status = run_folder_make(&host->folder);
	if (status)
		conform_skip(conform, "ONNX Runtime cannot be used: %s", epp_status_message(status));
}

void model_close(struct model_host *host)
{
	run_folder_remove(&host->folder);
	ort_close(&host->ort);
}

/* ---- a session ---- */

static epp_status *session_create(struct session *session, bool run_level)
{
	const struct conform *conform = session->host->conform;
	const struct run_options inputs = { .model = conform->model };
	const struct ort *ort = &session->host->ort;
	char prefix[sizeof(session->host->folder.path) + 16];

	TRY(ort_check(ort, ort->api->CreateSessionOptions(&session->options)));
	TRY(ort_check(ort,
	              ort->api->AddSessionConfigEntry(session->options, "session.record_ep_graph_assignment_info", "1")));
	snprintf(prefix, sizeof(prefix), "%s/session", session->host->folder.path);
	if (!run_level)
		TRY(ort_check(ort, ort->api->EnableProfiling(session->options, prefix)));
	TRY(run_eps_add(&session->eps, ort, conform->library, session->options));
	TRY(ort_check(ort, ort->api->CreateSession(ort->env, conform->model, session->options, &session->session)));
	TRY(run_eps_count_nodes(&session->eps, ort, session->session));
	return run_inputs_create(&session->inputs, ort, session->session, &inputs);
}

static epp_status *end_profiling(struct session *session)
{
	const struct ort *ort = &session->host->ort;
	OrtAllocator *allocator;
	char *path = NULL;

	TRY(ort_check(ort, ort->api->GetAllocatorWithDefaultOptions(&allocator)));
	TRY(ort_check(ort, ort->api->SessionEndProfiling(session->session, allocator, &path)));
	free(ort_text(ort, path));
	return NULL;
}

static void session_release(struct session *session)
{
	const struct ort *ort = &session->host->ort;

	run_inputs_destroy(&session->inputs, ort);
	if (session->session)
		ort->api->ReleaseSession(session->session);
	if (session->options)
		ort->api->ReleaseSessionOptions(session->options);
	run_eps_unregister(&session->eps, ort);
}

/* ---- profiles ---- */

/* Returns true for the profiles of runs.  The profile of the warm-up run is excluded, because a provider may have
 * events there that occur only once, for example of compiling. */
static int is_profile(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".json") == 0 && strncmp(entry->d_name, "warm-up", 7) != 0;
}

/* Counts the events of the provider in a profile, and deletes the profile. */
static epp_status *count_events(const char *folder, const char *name, uint64_t *count)
{
	const epp_import_options options = { .struct_size = sizeof(options), .overwrite = 1 };
	epp_import_counts counts = { .struct_size = sizeof(counts) };
	char profile[1024], trace[1024];

	snprintf(profile, sizeof(profile), "%s/%s", folder, name);
	snprintf(trace, sizeof(trace), "%s/profile.epp", folder);
	TRY(epp_import_file(profile, trace, &options, NULL, NULL, &counts));
	*count = counts.correlated + counts.inferred + counts.uncorrelated + counts.ambiguous;
	unlink(profile);
	return NULL;
}

static epp_status *count_all(struct model_host *host, struct model_profiles *profiles)
{
	struct dirent **entries;
	int count = scandir(host->folder.path, &entries, is_profile, alphasort);
	epp_status *status = NULL;

	if (count < 0)
		return epp_status_no_memory();
	for (int i = 0; i < count; i++) {
		if (!status && profiles->count < MODEL_PROFILES_MAX)
			status = count_events(host->folder.path, entries[i]->d_name,
			                      &profiles->events_counts[profiles->count++]);
		free(entries[i]);
	}
	free(entries);
	return status;
}

/* ---- runs ---- */

void model_run(struct model_host *host, bool run_level, size_t threads_count, size_t runs_count,
               struct model_profiles *profiles)
{
	const struct conform *conform = host->conform;
	const struct run_options runs = { .model = conform->model,
		                          .runs_count = runs_count,
		                          .warmup_count = run_level,
		                          .threads_count = threads_count,
		                          .run_level = run_level };
	struct session session = { .host = host };
	struct run_results results = { 0 };

	*profiles = (struct model_profiles){ 0 };
	epp_status *status = session_create(&session, run_level);
	bool has_nodes = !status && session.eps.eps[0].nodes_count;
	if (!status)
		status = run_loop(&results, &host->ort, session.session, &session.inputs, &runs,
		                  run_level ? host->folder.path : NULL);
	if (!status && !run_level)
		status = end_profiling(&session);
	if (!status)
		status = count_all(host, profiles);
	session_release(&session);
	run_results_deinit(&results);
	if (status || host->ort.failures_count)
		run_folder_remove(&host->folder);
	if (host->ort.failures_count)
		conform_fail(conform, "in ONNX Runtime, %s", host->ort.failures[0].message);
	if (status)
		conform_skip(conform, "the model does not run: %s", epp_status_message(status));
	if (!has_nodes) {
		run_folder_remove(&host->folder);
		conform_skip(conform, "the provider claims no node of the model");
	}
}
