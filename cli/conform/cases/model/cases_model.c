/* The cases that run a model in ONNX Runtime, with the library as an execution provider. */
#include <inttypes.h>

#include "cli/conform/cases/cases.h"
#include "model_host.h"

#define SESSIONS_COUNT 20
#define RUNS_COUNT 20
#define THREADS_COUNT 4

/* Fails the case unless each profile has exactly `expected` events. */
static void expect_same(const struct conform *conform, const char *what, uint64_t expected,
                        const struct model_profiles *profiles, size_t first_number)
{
	for (size_t i = 0; i < profiles->count; i++) {
		if (profiles->events_counts[i] != expected)
			conform_fail(conform,
			             "the same work has %" PRIu64 " events in the first %s, %" PRIu64 " in %s %zu",
			             expected, what, profiles->events_counts[i], what, i + first_number);
	}
}

static void expect_some(struct model_host *host, const struct model_profiles *profiles)
{
	if (profiles->count && profiles->events_counts[0])
		return;
	model_close(host);
	conform_fail(host->conform, "ONNX Runtime's profile has no event of the provider, which has nodes of the model");
}

void case_model_session(const struct conform *conform)
{
	struct model_profiles profiles;
	struct model_host host;

	model_open(conform, &host);
	model_run(&host, false, 1, 3, &profiles);
	expect_some(&host, &profiles);
	model_close(&host);
}

void case_model_restart(const struct conform *conform)
{
	struct model_profiles profiles[SESSIONS_COUNT];
	struct model_host host;

	model_open(conform, &host);
	for (size_t i = 0; i < SESSIONS_COUNT; i++)
		model_run(&host, false, 1, 1, &profiles[i]);
	expect_some(&host, &profiles[0]);
	model_close(&host);
	for (size_t i = 0; i < SESSIONS_COUNT; i++)
		expect_same(conform, "session", profiles[0].events_counts[0], &profiles[i], i + 1);
}

void case_model_run_level(const struct conform *conform)
{
	struct model_profiles profiles;
	struct model_host host;

	model_open(conform, &host);
	model_run(&host, true, 1, RUNS_COUNT, &profiles);
	expect_some(&host, &profiles);
	model_close(&host);
	expect_same(conform, "run", profiles.events_counts[0], &profiles, 1);
}

void case_model_threads(const struct conform *conform)
{
	struct model_profiles alone, profiles;
	struct model_host host;

	model_open(conform, &host);
	model_run(&host, true, 1, 1, &alone);
	expect_some(&host, &alone);
	model_run(&host, true, THREADS_COUNT, RUNS_COUNT, &profiles);
	model_close(&host);
	expect_same(conform, "run", alone.events_counts[0], &profiles, 2);
}
