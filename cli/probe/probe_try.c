/* Tries a plugin: profiles it in a session in memory, and counts the events that it delivers: device events, and host
 * calls that it reports.  Both are on tracks that belong to the plugin. */
#include "probe_try.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/session.h"

#define TRY_NS 1000000000u
#define NODE_NS 10000000
#define WORK_COUNT 4

struct trial {
	epp_plugin *plugin;
	epp_session *session;
	int (*work)(int count);
	const char *work_name;
	unsigned works_count, works_failed;
	uint64_t events_count, kernels_count, calls_count;
	epp_trace_ledger_entry account; /* the plugin's entry in the ledger: how many events it emitted and lost */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Records host events as a framework would, for a second: a run of a model, with nodes that each contain the work and a
 * pause of 10 ms. */
static void record_host_events(struct trial *trial)
{
	const struct timespec pause = { .tv_nsec = NODE_NS };
	epp_name model = epp_name_intern("model_run"), node = epp_name_intern("probe");
	uint64_t end_ns = now_ns() + TRY_NS, run = epp_event_begin(trial->session, EPP_SESSION, model);

	while (now_ns() < end_ns) {
		uint64_t id = epp_event_begin(trial->session, EPP_NODE, node);
		if (trial->work) {
			trial->works_count++;
			trial->works_failed += trial->work(WORK_COUNT) != 0;
		}
		nanosleep(&pause, NULL);
		epp_event_end(trial->session, id, NULL, 0);
	}
	epp_event_end(trial->session, run, NULL, 0);
}

static epp_status *count_events(struct trial *trial, epp_trace *trace)
{
	epp_timeline *timeline;
	const epp_event *event;
	epp_status *status = epp_timeline_create(trace, NULL, &timeline);

	while (!status && epp_timeline_next(timeline, &event)) {
		bool is_slice = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;
		bool is_device = event->track->kind == EPP_TRACK_DEVICE;
		if (!is_slice || !epp_trace_track_plugin(trace, event->track))
			continue;
		trial->events_count++;
		trial->kernels_count += is_device && event->category == EPP_KERNEL;
		trial->calls_count += !is_device;
	}
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	size_t accounts_count = epp_trace_ledger_count(trace);
	for (size_t i = 0; i < accounts_count && !status && !trial->account.is_plugin; i++)
		status = epp_trace_ledger_at(trace, i, &trial->account);
	return status;
}

/* ---- results ---- */

static void print_losses(const epp_trace_ledger_entry *account)
{
	const char *name;

	printf("; %" PRIu64 " more were lost:", account->lost_total);
	for (unsigned i = 0; (name = epp_loss_name(i)); i++) {
		if (account->lost[i])
			printf(" %s %" PRIu64, name, account->lost[i]);
	}
}

static void print_reason(const struct trial *trial, const char *error)
{
	const epp_trace_ledger_entry *account = &trial->account;

	if (error)
		cli_print_clean(stdout, error, strlen(error));
	else if (account->note && *account->note)
		cli_print_clean(stdout, account->note, strlen(account->note));
	else if (account->lost_total)
		printf("all %" PRIu64 " that it emitted were lost", account->emitted);
	else if (trial->works_failed)
		printf("%s failed %u of %u times", trial->work_name, trial->works_failed, trial->works_count);
	else if (trial->work)
		printf("it emitted none, though %s was called %u times", trial->work_name, trial->works_count);
	else
		fputs("nothing gave its device work (--work SYMBOL calls a function of the library that does)", stdout);
}

static void print_result(const struct trial *trial, const char *error)
{
	printf("  tried for 1 s as %s: %" PRIu64 " events", epp_plugin_kind(trial->plugin), trial->events_count);
	if (!trial->events_count) {
		fputs(", because ", stdout);
		print_reason(trial, error);
	} else {
		printf(", %" PRIu64 " kernels, %" PRIu64 " calls", trial->kernels_count, trial->calls_count);
		if (error) {
			fputs("; ", stdout);
			cli_print_clean(stdout, error, strlen(error));
		}
	}
	if (trial->account.lost_total)
		print_losses(&trial->account);
	putchar('\n');
}

/* ---- the trial ---- */

/* Runs the trial and prints its result.  *failure is set to an error that the plugin returned at the end of the run, or
 * to NULL. */
static epp_status *run_trial(struct trial *trial, epp_status **failure)
{
	OrtEpProfilerImpl *profiler;
	epp_trace *trace = NULL;
	epp_status *status = epp_plugin_profiler_create(trial->plugin, &profiler);

	if (status)
		return status;
	status = epp_session_attach(trial->session, profiler, NULL);
	if (status) {
		epp_plugin_profiler_destroy(profiler);
		return status;
	}
	status = epp_session_start(trial->session);
	if (status)
		return status;
	record_host_events(trial);
	status = epp_session_end(trial->session);
	if (status)
		return status;
	*failure = epp_session_wait(trial->session, epp_plugin_timeout_ns());
	status = epp_trace_open_session(trial->session, &trace);
	if (!status)
		status = count_events(trial, trace);
	if (!status)
		print_result(trial, *failure ? epp_status_message(*failure) : NULL);
	epp_trace_close(trace);
	return status;
}

int probe_try(const char *path, const char *work)
{
	const epp_session_options options = { .struct_size = sizeof(options) };
	struct trial trial = { .work_name = work, .account = { .struct_size = sizeof(trial.account) } };
	epp_status *failure = NULL, *status = epp_plugin_load(path, &trial.plugin);

	if (!status && work) {
		void *symbol = epp_plugin_symbol(trial.plugin, work);
		memcpy(&trial.work, &symbol, sizeof(symbol));
		if (!symbol) {
			printf("  not tried: no symbol %s\n", work);
			epp_status_destroy(epp_plugin_unload(trial.plugin));
			return CLI_FAILURE;
		}
	}
	if (!status)
		status = epp_session_create(&options, &trial.session);
	if (!status)
		status = run_trial(&trial, &failure);
	epp_session_destroy(trial.session);
	epp_status_destroy(failure);
	if (status) {
		fputs("  not tried: ", stdout);
		cli_print_clean(stdout, epp_status_message(status), strlen(epp_status_message(status)));
		putchar('\n');
		epp_status_destroy(status);
	}
	/* If a call of the library has not returned, unloading fails, and the library stays loaded. */
	epp_status_destroy(epp_plugin_unload(trial.plugin));
	return trial.events_count ? CLI_OK : CLI_FAILURE;
}
