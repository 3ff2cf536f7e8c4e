/* Runs of a PU1 library that begin and end beside each other, on threads that are held up wherever they are:
 * pu1_profiler.c. */
#include <signal.h>
#include <stdatomic.h>

#include "pu1_recording.h"

#include "plugins/pu1/pu1_profiler.h"

static struct pu1_test test;

#define TAKING_TURNS 4
#define TURNS_MS 1500

static atomic_bool no_more_turns;
static atomic_uint ended_badly;
static char ended_how[256];

static void *begin_and_end(void *profiler_of)
{
	const OrtApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	OrtEpProfilerImpl *profiler = profiler_of;
	for (unsigned i = 0; !no_more_turns && !ended_badly; i++) {
		OrtStatus *status = profiler->StartProfiling(profiler, 0);
		if (!status)
			status = profiler->EndProfiling(profiler, NULL);
		if (status && !ended_badly++)
			snprintf(ended_how, sizeof(ended_how), "turn %u: %s", i, api->GetErrorMessage(status));
	}
	return NULL;
}

static void hold_up(int signal)
{
	(void)signal;
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* The reader that one lets go may be another's; each is held up now and then, wherever it is. */
START_TEST(runs_that_end_beside_each_other)
{
	const struct sigaction action = { .sa_handler = hold_up, .sa_flags = SA_RESTART };
	OrtEpProfilerImpl *profilers[TAKING_TURNS];
	pthread_t threads[TAKING_TURNS];
	test = pu1_load(PU1_PLUGIN("scripted_pu1"));
	for (size_t i = 0; i < TAKING_TURNS; i++)
		check_ok(epp_plugin_profiler_create(test.plugin, &profilers[i]));
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < TAKING_TURNS; i++)
		threads[i] = recording_thread(begin_and_end, profilers[i]);
	for (unsigned i = 0; i < TURNS_MS * 10; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		pthread_kill(threads[i % TAKING_TURNS], SIGUSR1);
	}
	no_more_turns = true;
	for (size_t i = 0; i < TAKING_TURNS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_msg(!ended_badly, "%s", ended_how);
	for (size_t i = 0; i < TAKING_TURNS; i++)
		epp_plugin_profiler_destroy(profilers[i]);
	check_ok(epp_plugin_unload(test.plugin));
}
END_TEST

static Suite *pu1_turns_suite(void)
{
	Suite *suite = suite_create("pu1_turns");
	TCase *tests = tcase_create("pu1_turns");
	tcase_add_test(tests, runs_that_end_beside_each_other);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(pu1_turns_suite)
