/* Models, sessions and runs. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_ort.h"

struct OrtTypeInfo {
	char name[32];
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[8];
	char dim_names[8][16];
};

struct OrtRunOptions {
	atomic_int terminate;
	char prefix[512]; /* "": none */
};

struct OrtSession {
	struct OrtTypeInfo inputs[FAKE_LIST_MAX];
	size_t inputs_count;
	struct {
		char name[32], provider[64];
	} nodes[FAKE_LIST_MAX];
	size_t nodes_count;
};

static char session_prefix[512];
static struct profile *session_profile;

static OrtStatus *set_mode(OrtSessionOptions *options, ExecutionMode mode)
{
	(void)options;
	tell("mode %d\n", (int)mode);
	return NULL;
}

static OrtStatus *enable_profiling(OrtSessionOptions *options, const char *prefix)
{
	(void)options;
	snprintf(session_prefix, sizeof session_prefix, "%s", prefix);
	return NULL;
}

static void read_input(struct OrtTypeInfo *input, const char *name, int type, char *dims)
{
	char *dim;

	snprintf(input->name, sizeof input->name, "%s", name);
	input->type = (ONNXTensorElementDataType)type;
	while (strcmp(name, "sequence") != 0 && dims && *dims != '-' && (dim = strsep(&dims, ","))) {
		bool known = *dim >= '0' && *dim <= '9';
		input->dims[input->rank] = known ? strtoll(dim, NULL, 10) : -1;
		snprintf(input->dim_names[input->rank++], 16, "%s", known || *dim == '?' ? "" : dim);
	}
}

static OrtStatus *create_session(const OrtEnv *env, const char *path, const OrtSessionOptions *options, OrtSession **out)
{
	OrtStatus *status = failure_of("CreateSession");
	FILE *file = fopen(path, "re");
	char line[256] = "", name[32], rest[64];
	int type;

	(void)env;
	if (!file || !fgets(line, sizeof line, file) || strcmp(line, "fake model\n") != 0)
		status = status ? status : api.CreateStatus(ORT_INVALID_PROTOBUF, "Protobuf parsing failed.");
	struct OrtSession *session = calloc(1, sizeof *session);
	while (!status && fgets(line, sizeof line, file)) {
		if (sscanf(line, "input '%31[^']' %d %63s", name, &type, rest) == 3 ||
		    sscanf(line, "input %31s %d %63s", name, &type, rest) == 3)
			read_input(&session->inputs[session->inputs_count++], name, type, rest);
		if (sscanf(line, "node %31s %63s", session->nodes[session->nodes_count].name,
		           session->nodes[session->nodes_count].provider) == 2)
			session->nodes_count++;
	}
	if (file)
		fclose(file);
	if (!status)
		status = fake_eps_create(options);
	if (status) {
		free(session);
		return status;
	}
	if (session_prefix[0]) {
		session_profile = malloc(sizeof *session_profile);
		begin_profile(session_profile, session_prefix);
		int64_t start_us = begin_event(session_profile);
		end_event(session_profile, start_us, OrtProfilingEventCategory_SESSION, "session_initialization");
	}
	*out = session;
	return NULL;
}

static OrtStatus *end_profiling(OrtSession *session, OrtAllocator *allocator, char **out)
{
	(void)session, (void)allocator;
	end_profile(session_profile);
	*out = strdup(session_profile->path);
	free(session_profile);
	session_profile = NULL;
	return NULL;
}

static void release_session(OrtSession *session)
{
	fake_eps_release();
	free(session);
}

static OrtStatus *input_count(const OrtSession *session, size_t *out)
{
	*out = session->inputs_count;
	return NULL;
}

static OrtStatus *output_count(const OrtSession *session, size_t *out)
{
	(void)session;
	*out = 1;
	return NULL;
}

static OrtStatus *input_type(const OrtSession *session, size_t index, OrtTypeInfo **out)
{
	*out = (OrtTypeInfo *)(uintptr_t)&session->inputs[index];
	return NULL;
}

static OrtStatus *input_name(const OrtSession *session, size_t index, OrtAllocator *allocator, char **out)
{
	(void)allocator;
	*out = strdup(session->inputs[index].name);
	return NULL;
}

static OrtStatus *output_name(const OrtSession *session, size_t index, OrtAllocator *allocator, char **out)
{
	(void)session, (void)index, (void)allocator;
	*out = strdup("y");
	return NULL;
}

/* A sequence is no tensor. */
static OrtStatus *cast_to_tensor(const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out)
{
	*out = strcmp(info->name, "sequence") == 0 ? NULL : (const OrtTensorTypeAndShapeInfo *)info;
	return NULL;
}

static OrtStatus *element_type(const OrtTensorTypeAndShapeInfo *info, ONNXTensorElementDataType *out)
{
	*out = ((const struct OrtTypeInfo *)info)->type;
	return NULL;
}

static OrtStatus *dims_count(const OrtTensorTypeAndShapeInfo *info, size_t *out)
{
	*out = ((const struct OrtTypeInfo *)info)->rank;
	return NULL;
}

static OrtStatus *get_dims(const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count)
{
	memcpy(dims, ((const struct OrtTypeInfo *)info)->dims, count * sizeof *dims);
	return NULL;
}

static OrtStatus *get_dim_names(const OrtTensorTypeAndShapeInfo *info, const char *names[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		names[i] = ((const struct OrtTypeInfo *)info)->dim_names[i];
	return NULL;
}

static void release_type(OrtTypeInfo *info)
{
	(void)info;
}

/* Subgraphs and nodes are their providers and names. */
static OrtStatus *get_assignment(const OrtSession *session, const OrtEpAssignedSubgraph *const **graphs, size_t *count)
{
	static const OrtEpAssignedSubgraph *all[FAKE_LIST_MAX];

	for (size_t i = 0; i < session->nodes_count; i++)
		all[i] = (const OrtEpAssignedSubgraph *)session->nodes[i].provider;
	*graphs = all;
	*count = session->nodes_count;
	return NULL;
}

static OrtStatus *get_provider(const OrtEpAssignedSubgraph *graph, const char **out)
{
	*out = (const char *)graph;
	return NULL;
}

static OrtStatus *get_nodes(const OrtEpAssignedSubgraph *graph, const OrtEpAssignedNode *const **nodes, size_t *count)
{
	(void)graph;
	*nodes = NULL;
	*count = 1;
	return NULL;
}

/* ---- runs ---- */

static OrtStatus *create_run_options(OrtRunOptions **out)
{
	*out = calloc(1, sizeof **out);
	return NULL;
}

static OrtStatus *set_terminate(OrtRunOptions *options)
{
	tell("terminate\n");
	options->terminate = 1;
	return NULL;
}

static OrtStatus *profile_run(OrtRunOptions *options, const char *prefix)
{
	snprintf(options->prefix, sizeof options->prefix, "%s", prefix);
	return NULL;
}

static void release_run_options(OrtRunOptions *options)
{
	free(options);
}

static void run_node(struct profile *profile, const char *name, const char *provider)
{
	bool of_cpu = strcmp(provider, "CPUExecutionProvider") == 0, is_twin = word("twins") && !of_cpu, lasts = false;
	int64_t node_us = is_twin ? begin_twin(profile, &lasts) : begin_event(profile);

	if (lasts)
		wait_for_twin();
	int64_t kernel_us = is_twin ? now_us() : node_us;
	end_event(profile, node_us, OrtProfilingEventCategory_NODE, name);
	if (is_twin && !lasts)
		release_twin();
	if (!of_cpu)
		add_kernel(profile, node_us, kernel_us - node_us, name);
}

static OrtStatus *run_nodes(const OrtSession *session, const OrtRunOptions *options, struct profile *profile)
{
	const char *run_ms = word("run_ms=");
	int64_t until_us = now_us() + (run_ms ? atoll(run_ms) * 1000 : 0);

	int64_t model_us = begin_event(profile), execute_us = begin_event(profile);
	for (size_t i = 0; i < session->nodes_count; i++)
		run_node(profile, session->nodes[i].name, session->nodes[i].provider);
	while (now_us() < until_us && !((struct OrtRunOptions *)(uintptr_t)options)->terminate)
		usleep(500);
	end_event(profile, execute_us, OrtProfilingEventCategory_SESSION, "SequentialExecutor::Execute");
	end_event(profile, model_us, OrtProfilingEventCategory_SESSION, "model_run");
	if (((struct OrtRunOptions *)(uintptr_t)options)->terminate)
		return api.CreateStatus(ORT_FAIL, "Exiting due to terminate flag being set to true.");
	return failure_of("Run");
}

static OrtStatus *run(OrtSession *session, const OrtRunOptions *options, const char *const *names,
                      const OrtValue *const *values, size_t count, const char *const *output_names,
                      size_t outputs_count, OrtValue **outputs)
{
	static atomic_int runs;
	struct profile *own = NULL;

	(void)output_names;
	if (atomic_fetch_add(&runs, 1) == 0)
		tell_values(names, values, count);
	if (options->prefix[0] && !session_profile) {
		own = malloc(sizeof *own);
		begin_profile(own, options->prefix);
	}
	bool profiled = own || session_profile;
	OrtStatus *status = profiled ? run_nodes(session, options, own ? own : session_profile) : NULL;
	if (own)
		end_profile(own);
	free(own);
	if (!status && word("needs="))
		status = check_size(count ? values[0] : NULL, strtoll(word("needs="), NULL, 10));
	for (size_t i = 0; !status && i < outputs_count; i++)
		status = create_tensor(NULL, (const int64_t[]){ 1 }, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &outputs[i]);
	return status;
}

void fake_model_fill(void)
{
	api.SetSessionExecutionMode = set_mode;
	api.EnableProfiling = enable_profiling;
	api.CreateSession = create_session;
	api.ReleaseSession = release_session;
	api.SessionEndProfiling = end_profiling;
	api.SessionGetInputCount = input_count;
	api.SessionGetOutputCount = output_count;
	api.SessionGetInputTypeInfo = input_type;
	api.SessionGetInputName = input_name;
	api.SessionGetOutputName = output_name;
	api.CastTypeInfoToTensorInfo = cast_to_tensor;
	api.GetTensorElementType = element_type;
	api.GetDimensionsCount = dims_count;
	api.GetDimensions = get_dims;
	api.GetSymbolicDimensions = get_dim_names;
	api.ReleaseTypeInfo = release_type;
	api.Session_GetEpGraphAssignmentInfo = get_assignment;
	api.EpAssignedSubgraph_GetEpName = get_provider;
	api.EpAssignedSubgraph_GetNodes = get_nodes;
	api.CreateRunOptions = create_run_options;
	api.RunOptionsSetTerminate = set_terminate;
	api.RunOptionsEnableProfiling = profile_run;
	api.ReleaseRunOptions = release_run_options;
	api.Run = run;
}
