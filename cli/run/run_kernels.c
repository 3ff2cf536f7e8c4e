/* Adds the events of execution providers to the recording, from the profiles that ONNX Runtime wrote: one for the
 * session, or one for each run. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/epprof.h"
#include "run.h"

static int is_profile(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".json") == 0;
}

/* Adds the events of profiles.  A profile does not name the provider of an event.  So the events are counted in the
 * provider's own ledger entry if there is only one provider, else in a common entry. */
static epp_status *append(struct run_eps *eps, epp_session *recording, const epp_provider_events_options *options,
                          unsigned *kernels)
{
	epp_provider_events *only = eps->count == 2 ? eps->eps[1].events : NULL, *of_all = NULL;
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };

	if (!only)
		TRY(epp_provider_events_create(recording, NULL, &of_all));
	epp_status *status = epp_provider_events_add(only ? only : of_all, options, &counts);
	epp_provider_events_destroy(of_all);
	if (status)
		return status;
	for (size_t i = 1; i < eps->count && !only; i++) {
		if (eps->eps[i].events)
			epp_provider_events_expect_none(eps->eps[i].events, "");
	}
	*kernels = (counts.has_pushed ? RUN_KERNELS_PUSHED : 0) | (counts.added ? RUN_KERNELS_IMPORTED : 0) |
	           (counts.filtered ? RUN_KERNELS_TOO_OLD : 0);
	return NULL;
}

epp_status *run_kernels_append(struct run_eps *eps, epp_session *recording, const char *folder, uint64_t max_bytes,
                               unsigned *kernels)
{
	struct dirent **entries;
	epp_status *status = NULL;

	*kernels = RUN_KERNELS_NONE;
	int count = scandir(folder, &entries, is_profile, alphasort);
	if (count < 0)
		return epp_status_errno(errno, "%s", folder);
	char **paths = calloc((size_t)count + 1, sizeof *paths);
	if (!paths)
		status = epp_status_no_memory();
	for (int i = 0; i < count; i++) {
		if (!status && asprintf(&paths[i], "%s/%s", folder, entries[i]->d_name) < 0) {
			paths[i] = NULL;
			status = epp_status_no_memory();
		}
		free(entries[i]);
	}
	free(entries);
	if (!status)
		status = append(eps, recording,
		                &(epp_provider_events_options){ .struct_size = sizeof(epp_provider_events_options),
		                                                .profiles = (const char *const *)paths,
		                                                .profiles_count = (size_t)count,
		                                                .max_bytes = max_bytes,
		                                                .is_one_provider = eps->count <= 2 },
		                kernels);
	for (int i = 0; i < count && paths; i++)
		free(paths[i]);
	free(paths);
	return status;
}
