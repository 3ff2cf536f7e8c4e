/* Registers EP libraries in ONNX Runtime, adds their devices to a session, and counts the nodes that are assigned to
 * each provider.  A library's devices are those that exist after its registration and did not exist before. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/ep_push.h"
#include "epprof/epprof.h"
#include "run.h"

#define DEVICES_MAX 256

/* ---- libraries ---- */

/* Parses LIBRARY[:NAME].  Only a ':' in the file's name separates the two. */
static epp_status *parse(struct run_ep *ep, const char *text)
{
	const char *colon = strrchr(basename(text), ':');
	char *library = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);

	if (!library)
		return epp_status_no_memory();
	ep->library = realpath(library, NULL);
	epp_status *status = ep->library ? NULL : epp_status_errno(errno, "--ep %s", library);
	free(library);
	if (!status)
		cli_warn_of_writers(ep->library);
	if (!status && colon && !(ep->name = strdup(colon + 1)))
		status = epp_status_no_memory();
	return status;
}

/* Makes the name under which a library is registered: the file's name without "lib" and ".so..." or ".dll".  A library
 * may give this name to its provider, so that users see it.  If two libraries would have the same name, a number is
 * appended to that of the second. */
static epp_status *name_library(const struct run_eps *eps, struct run_ep *ep)
{
	const char *file = basename(ep->library);

	if (strncmp(file, "lib", 3) == 0 && file[3] && file[3] != '.')
		file += 3;
	const char *end = strstr(file, ".so");
	if (!end)
		end = strstr(file, ".dll");
	int length = end && end > file ? (int)(end - file) : (int)strlen(file);
	for (unsigned number = 1; !ep->registered_name; number++) {
		char *name;
		int bytes = number == 1 ? asprintf(&name, "%.*s", length, file)
		                        : asprintf(&name, "%.*s_%u", length, file, number);
		if (bytes < 0)
			return epp_status_no_memory();
		bool is_free = true;
		for (size_t i = 0; i < eps->count; i++)
			is_free = is_free &&
			          (!eps->eps[i].registered_name || strcmp(eps->eps[i].registered_name, name) != 0);
		if (is_free)
			ep->registered_name = name;
		else
			free(name);
	}
	return NULL;
}

/* ---- devices ---- */

static bool is_in_devices(const OrtEpDevice *device, const OrtEpDevice *const *devices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

/* Returns the error for a library that does not have the named provider, or has several and none was named.  The
 * message lists its providers. */
static epp_status *make_provider_error(const struct ort *ort, const struct run_ep *ep,
                                       const OrtEpDevice *const *devices, size_t count)
{
	char list[512] = "";
	size_t used = 0;

	if (!count)
		return epp_status_create(EPP_NOT_FOUND, "it finds no device on this machine");
	for (size_t i = 0; i < count && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", i ? ", " : "",
		                         ort->api->EpDevice_EpName(devices[i]));
	if (ep->name)
		return epp_status_create(EPP_NOT_FOUND, "it has no provider '%s'; it has %s", ep->name, list);
	return epp_status_create(EPP_INVALID_ARGUMENT, "it has %s; select one with --ep LIBRARY:NAME", list);
}

/* Adds one provider of a library to the session's options: the named one, or else the only one.  `added` has the
 * library's devices. */
static epp_status *append_provider(struct run_ep *ep, const struct ort *ort, OrtSessionOptions *session_options,
                                   const OrtEpDevice *const *added, size_t added_count)
{
	const OrtEpDevice *wanted[DEVICES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < added_count; i++) {
		const char *name = ort->api->EpDevice_EpName(added[i]), *first = ort->api->EpDevice_EpName(added[0]);
		if (!ep->name && strcmp(name, first) != 0)
			return make_provider_error(ort, ep, added, added_count);
		if (!ep->name || strcmp(name, ep->name) == 0)
			wanted[count++] = added[i];
	}
	if (!count)
		return make_provider_error(ort, ep, added, added_count);
	if (!ep->name && !(ep->name = strdup(ort->api->EpDevice_EpName(wanted[0]))))
		return epp_status_no_memory();
	return ort_check(ort, ort->api->SessionOptionsAppendExecutionProvider_V2(session_options, ort->env, wanted,
	                                                                         count, NULL, NULL, 0));
}

static epp_status *register_library(struct run_ep *ep, const struct ort *ort, OrtSessionOptions *session_options)
{
	const OrtEpDevice *before[DEVICES_MAX], *added[DEVICES_MAX];
	const OrtEpDevice *const *devices;
	size_t before_count, count, added_count = 0;

	epp_status *status = ort_check(ort, ort->api->GetEpDevices(ort->env, &devices, &before_count));
	if (status)
		return status;
	before_count = before_count < DEVICES_MAX ? before_count : DEVICES_MAX;
	memcpy(before, devices, before_count * sizeof *before);
	void *path = ort_path(ep->library);
	if (!path)
		return epp_status_no_memory();
	status = ort_check(ort, ort->api->RegisterExecutionProviderLibrary(ort->env, ep->registered_name, path));
	free(path);
	if (status)
		return status;
	ep->registered = true;
	status = ort_check(ort, ort->api->GetEpDevices(ort->env, &devices, &count));
	if (status)
		return status;
	for (size_t i = 0; i < count && added_count < DEVICES_MAX; i++) {
		if (!is_in_devices(devices[i], before, before_count))
			added[added_count++] = devices[i];
	}
	return append_provider(ep, ort, session_options, added, added_count);
}

static epp_status *register_named(struct run_eps *eps, const struct ort *ort, OrtSessionOptions *session_options,
                                  struct run_ep *ep)
{
	TRY(name_library(eps, ep));
	return epp_status_prefix(register_library(ep, ort, session_options), "%s", ep->library);
}

epp_status *run_eps_add(struct run_eps *eps, const struct ort *ort, const char *text, OrtSessionOptions *session_options)
{
	struct run_ep *ep = &eps->eps[eps->count++];

	TRY(parse(ep, text));
	return register_named(eps, ort, session_options, ep);
}

epp_status *run_eps_register(struct run_eps *eps, const struct ort *ort, const struct run_options *options,
                             OrtSessionOptions *session_options)
{
	memset(eps, 0, sizeof *eps);
	epp_status *status = cli_bridge_find("ort", &eps->eps[0].library);
	if (status)
		return status;
	eps->count = 1;
	/* The collector is registered under this name, which means that its host (this command, in run_kernels.c) reads
	 * ONNX Runtime's profile.  Otherwise the collector would read it too. */
	if (!(eps->eps[0].registered_name = strdup(EPPROF_COLLECTOR_NAME_OF_READER)))
		return epp_status_no_memory();
	TRY(register_named(eps, ort, session_options, &eps->eps[0]));
	for (size_t i = 0; i < options->eps_count; i++)
		TRY(run_eps_add(eps, ort, options->eps[i], session_options));
	return NULL;
}

/* Returns true if the collector hosts the library, because EPPROF_PROFILERS names it. */
static bool is_hosted(const char *library)
{
	const char *named = secure_getenv("EPPROF_PROFILERS");
	char *list = named ? strdup(named) : NULL, *rest = list, *path;
	bool found = false;

	while (!found && (path = strsep(&rest, ":")) != NULL) {
		char *real = realpath(path, NULL);
		found = real && strcmp(real, library) == 0;
		free(real);
	}
	free(list);
	return found;
}

epp_status *run_eps_expect_events(struct run_eps *eps, epp_session *recording)
{
	for (size_t i = 1; i < eps->count; i++) {
		struct run_ep *ep = &eps->eps[i];
		if (!is_hosted(ep->library))
			TRY(epp_provider_events_create(recording, ep->name, &ep->events));
	}
	return NULL;
}

void run_eps_close_accounts(struct run_eps *eps)
{
	for (size_t i = 0; i < eps->count; i++) {
		epp_provider_events_destroy(eps->eps[i].events);
		eps->eps[i].events = NULL;
	}
}

void run_eps_unregister(struct run_eps *eps, const struct ort *ort)
{
	for (size_t i = eps->count; i-- > 0;) {
		struct run_ep *ep = &eps->eps[i];
		/* A failure is ignored, because there is nothing to do about it at the end. */
		OrtStatus *status = ep->registered
		                        ? ort->api->UnregisterExecutionProviderLibrary(ort->env, ep->registered_name)
		                        : NULL;
		if (status)
			ort->api->ReleaseStatus(status);
		free(ep->library);
		free(ep->registered_name);
		free(ep->name);
	}
	memset(eps, 0, sizeof *eps);
}

/* Prints a warning for a provider without nodes.  The provider's name comes from the library and may have any bytes. */
static void print_unused(const struct run_ep *ep)
{
	fprintf(stderr, "epprof: %s: '", ep->library);
	cli_print_clean(stderr, ep->name, strlen(ep->name));
	fputs("' claims no node of the model; all of it runs elsewhere\n", stderr);
}

/* ---- assignment of nodes ---- */

epp_status *run_eps_count_nodes(struct run_eps *eps, const struct ort *ort, const OrtSession *session)
{
	const OrtEpAssignedSubgraph *const *graphs;
	size_t count;

	epp_status *status = ort_check(ort, ort->api->Session_GetEpGraphAssignmentInfo(session, &graphs, &count));
	for (size_t i = 0; !status && i < count; i++) {
		const OrtEpAssignedNode *const *nodes;
		size_t nodes_count = 0, at = 0;
		const char *name = "";
		status = ort_check(ort, ort->api->EpAssignedSubgraph_GetEpName(graphs[i], &name));
		if (!status)
			status = ort_check(ort, ort->api->EpAssignedSubgraph_GetNodes(graphs[i], &nodes, &nodes_count));
		while (at < eps->count && strcmp(eps->eps[at].name, name) != 0)
			at++;
		*(at < eps->count ? &eps->eps[at].nodes_count : &eps->other_nodes_count) += nodes_count;
	}
	if (status)
		return status;
	eps->nodes_known = true;
	for (size_t i = 1; i < eps->count; i++) {
		if (!eps->eps[i].nodes_count)
			print_unused(&eps->eps[i]);
	}
	return NULL;
}
