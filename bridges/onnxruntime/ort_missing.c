/* Adds the events of providers that do not submit them to the collector: see ort_missing.h.  A thread adds a name to a
 * list under the lock, and increments the list's count last, so that other threads can search the list without the
 * lock. */
#include "ort_missing.h"

#include <bsd/libutil.h>
#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool contains(const struct ort_names *names, const char *name)
{
	size_t count = __atomic_load_n(&names->count, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < count; i++)
		if (!strncmp(names->names[i], name, ORT_MISSING_NAME_BYTES - 1))
			return true;
	return false;
}

/* Adds a name.  Returns false if the name is in the list already, or if there is no room. */
static bool add(struct ort_names *names, const char *name)
{
	size_t count = names->count;
	if (count == ORT_MISSING_NAMES || contains(names, name))
		return false;
	strlcpy(names->names[count], name, sizeof(names->names[count]));
	__atomic_store_n(&names->count, count + 1, __ATOMIC_RELEASE);
	return true;
}

/* Returns true at the first call for this name in the process, so that a message is logged once. */
static bool is_first_message(const char *provider)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ort_names logged;
	pthread_mutex_lock(&lock);
	bool added = add(&logged, provider);
	pthread_mutex_unlock(&lock);
	return added;
}

void ort_missing_init(struct ort_missing *missing)
{
	*missing = (struct ort_missing){ .lock = PTHREAD_MUTEX_INITIALIZER, .reading = PTHREAD_MUTEX_INITIALIZER };
	ort_profile_init(&missing->profile);
}

void ort_missing_begin(struct ort_missing *missing, epp_session *session)
{
	/* ort_missing_settle may be running on another thread, for the end of another session. */
	pthread_mutex_lock(&missing->reading);
	pthread_mutex_lock(&missing->lock);
	missing->ran.count = missing->recorded.count = missing->known.count = 0;
	memset(missing->is_assigned, 0, sizeof(missing->is_assigned));
	missing->session = session;
	ort_profile_init(&missing->profile);
	pthread_mutex_unlock(&missing->lock);
	pthread_mutex_unlock(&missing->reading);
}

static bool is_recorded(const struct ort_missing *missing, const char *provider)
{
	return contains(&missing->recorded, provider) || contains(&missing->known, provider);
}

void ort_missing_add_executed(struct ort_missing *missing, const char *provider)
{
	if (!*provider || !strcmp(provider, "CPUExecutionProvider") || contains(&missing->ran, provider))
		return;
	pthread_mutex_lock(&missing->lock);
	if (add(&missing->ran, provider) && missing->session && !is_recorded(missing, provider)) {
		epp_status *status = epp_provider_events_create(missing->session, provider,
		                                                &missing->accounts[missing->ran.count - 1]);
		/* If no profiler can be added to the ledger, the missing events are counted as one event. */
		if (status)
			epp_session_count_refused(missing->session, 1);
		epp_status_destroy(status);
	}
	pthread_mutex_unlock(&missing->lock);
}

uint32_t ort_missing_add_recorded(struct ort_missing *missing, const char *label)
{
	uint32_t number = 0;
	pthread_mutex_lock(&missing->lock);
	add(&missing->recorded, label);
	for (uint32_t i = 0; i < missing->recorded.count && !number; i++)
		number = strncmp(missing->recorded.names[i], label, ORT_MISSING_NAME_BYTES - 1) ? 0 : i + 1;
	pthread_mutex_unlock(&missing->lock);
	return number;
}

bool ort_missing_assign(struct ort_missing *missing, uint32_t number, const char *provider)
{
	if (contains(&missing->known, provider))
		return false;
	pthread_mutex_lock(&missing->lock);
	bool added = add(&missing->known, provider);
	missing->is_assigned[number - 1] |= added;
	pthread_mutex_unlock(&missing->lock);
	return added;
}

void ort_missing_find(struct ort_missing *missing, struct ort_names *found)
{
	size_t others = 0;
	*found = (struct ort_names){ 0 };
	pthread_mutex_lock(&missing->lock);
	for (size_t i = 0; i < missing->ran.count; i++)
		if (!is_recorded(missing, missing->ran.names[i]))
			add(found, missing->ran.names[i]);
	for (size_t i = 0; i < missing->recorded.count; i++)
		others += !missing->is_assigned[i] && !contains(&missing->ran, missing->recorded.names[i]);
	pthread_mutex_unlock(&missing->lock);
	if (others >= found->count)
		found->count = 0;
}

/* ---- ledgers of missing providers ---- */

static void expect_none(struct ort_missing *missing, const char *note)
{
	for (size_t i = 0; i < ORT_MISSING_NAMES; i++)
		if (missing->accounts[i])
			epp_provider_events_expect_none(missing->accounts[i], note);
}

static void note(struct ort_missing *missing, const char *text)
{
	for (size_t i = 0; i < ORT_MISSING_NAMES; i++)
		if (missing->accounts[i])
			epp_provider_events_set_note(missing->accounts[i], text);
}

/* Closes the ledgers of the providers that are not in `found`, the list of missing providers. */
static void close_others(struct ort_missing *missing, const struct ort_names *found)
{
	pthread_mutex_lock(&missing->lock);
	for (size_t i = 0; i < missing->ran.count; i++) {
		if (!missing->accounts[i] || contains(found, missing->ran.names[i]))
			continue;
		epp_provider_events_expect_none(missing->accounts[i], "");
		epp_provider_events_destroy(missing->accounts[i]);
		missing->accounts[i] = NULL;
	}
	pthread_mutex_unlock(&missing->lock);
}

void ort_missing_close(struct ort_missing *missing)
{
	/* If the process is ending, another thread may still be reading the profile; waits for it. */
	pthread_mutex_lock(&missing->reading);
	ort_profile_close(&missing->profile);
	pthread_mutex_lock(&missing->lock);
	for (size_t i = 0; i < ORT_MISSING_NAMES; i++) {
		epp_provider_events_destroy(missing->accounts[i]);
		missing->accounts[i] = NULL;
	}
	missing->session = NULL;
	pthread_mutex_unlock(&missing->lock);
	pthread_mutex_unlock(&missing->reading);
}

void ort_missing_settle(struct ort_missing *missing)
{
	if (pthread_mutex_trylock(&missing->reading))
		return;
	if (__atomic_load_n(&missing->is_due, __ATOMIC_ACQUIRE))
		ort_profile_settle(&missing->profile);
	pthread_mutex_unlock(&missing->reading);
}

/* ---- reading ---- */

void ort_missing_end(struct ort_missing *missing)
{
	struct ort_names found;
	if (!missing->session)
		return;
	ort_missing_find(missing, &found);
	close_others(missing, &found);
	ort_profile_open(&missing->profile);
	__atomic_store_n(&missing->is_due, true, __ATOMIC_RELEASE);
}

/* Returns the size limit of a trace that is a ring, from EPPROF_POLICY; 0: the trace is no ring. */
static uint64_t ring_bytes(void)
{
	static const char ring[] = "ring:";
	const char *policy = secure_getenv("EPPROF_POLICY");
	uint64_t bytes = 0;
	bool is_ring = policy && !strncmp(policy, ring, sizeof(ring) - 1) &&
	               expand_number(policy + sizeof(ring) - 1, &bytes) == 0;
	return is_ring ? bytes : 0;
}

/* Adds the events in the profile.  They belong to the missing provider if there is only one, otherwise to a common
 * ledger of all missing providers. */
static epp_status *add_events(struct ort_missing *missing, const struct ort_names *found, const char *path,
                              epp_provider_events_counts *counts)
{
	epp_provider_events *only = NULL, *of_all = NULL;
	for (size_t i = 0; i < missing->ran.count && found->count == 1; i++)
		only = only ? only : missing->accounts[i];
	epp_status *status = only ? NULL : epp_provider_events_create(missing->session, NULL, &of_all);
	const epp_provider_events_options options = { .struct_size = sizeof(options),
		                                      .profiles = &path,
		                                      .profiles_count = 1,
		                                      .profile_unix_us = missing->profile.unix_us,
		                                      .max_bytes = ring_bytes(),
		                                      .is_one_provider = found->count == 1 };
	if (!status)
		status = epp_provider_events_add(only ? only : of_all, &options, counts);
	epp_provider_events_destroy(of_all);
	if (!status && !only)
		expect_none(missing, counts->added ? "its events are in the account 'providers'" : "");
	return status;
}

/* Logs that the profile has no events of some providers. */
static void log_none(const struct ort_host *host, const OrtLogger *logger, const struct ort_names *found)
{
	for (size_t i = 0; i < found->count && logger; i++) {
		if (!is_first_message(found->names[i]))
			continue;
		ort_log(host, logger, ORT_LOGGING_LEVEL_WARNING,
		        ort_status_of(host, epp_status_create(
						EPP_PLUGIN,
						"epprof: %s ran nodes, and ONNX Runtime's profile has no device event",
						found->names[i])));
	}
}

static void read_profile(struct ort_missing *missing, const struct ort_host *host, const OrtLogger *logger)
{
	static const char incomplete[] = "missing: ONNX Runtime's profile is not there, or not complete";
	char path[ORT_PROFILE_PATH_BYTES];
	struct ort_names found;
	bool is_whole = false;
	epp_provider_events_counts counts = { .struct_size = sizeof(counts) };
	ort_missing_find(missing, &found);
	/* ONNX Runtime writes the events of EPs last, so an incomplete profile is not read at all. */
	bool is_there = ort_profile_find(&missing->profile, path, &is_whole) && is_whole;
	if (!found.count && !(is_there && ort_profile_has_kernels(path)))
		return;
	epp_status *status = is_there ? add_events(missing, &found, path, &counts)
	                              : epp_status_create(EPP_NOT_FOUND, "%s", incomplete);
	if (status) {
		note(missing, epp_status_message(status));
	} else if (!counts.added && !counts.lost) {
		expect_none(missing, "ONNX Runtime's profile has no event of it");
		log_none(host, logger, &found);
	}
	if (status && logger)
		ort_log(host, logger, ORT_LOGGING_LEVEL_WARNING,
		        ort_status_of(host, epp_status_prefix(status, "epprof: the trace lacks device events")));
	else
		epp_status_destroy(status);
}

void ort_missing_read(struct ort_missing *missing, const struct ort_host *host, const OrtLogger *logger)
{
	pthread_mutex_lock(&missing->reading);
	if (__atomic_exchange_n(&missing->is_due, false, __ATOMIC_ACQ_REL))
		read_profile(missing, host, logger);
	pthread_mutex_unlock(&missing->reading);
}
