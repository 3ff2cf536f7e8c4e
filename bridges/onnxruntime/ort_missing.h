/* Execution providers (EPs) whose device events the collector does not get: their profilers submit them to ONNX Runtime
 * alone, which writes them into its own profile. They are added to the trace from there, after ONNX Runtime has written
 * it: when it releases the collector's profiler, or at the exit of the process. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H

#include <pthread.h>

#include "epprof/import.h"
#include "ort.h"
#include "ort_profile.h"

#define ORT_MISSING_NAMES 16u
#define ORT_MISSING_NAME_BYTES 48u

/* Unique names, up to ORT_MISSING_NAMES. */
struct ort_names {
	size_t count;
	char names[ORT_MISSING_NAMES][ORT_MISSING_NAME_BYTES];
};

/* State of one profiling run. */
struct ort_missing {
	pthread_mutex_t lock;
	struct ort_names ran;                /* providers that ran nodes, except ONNX Runtime's own CPU provider */
	struct ort_names gives;              /* labels of profilers whose events are in the trace */
	struct ort_names known;              /* providers for whose nodes one of these profilers recorded events */
	bool is_assigned[ORT_MISSING_NAMES]; /* of gives: its provider is in known */
	epp_session *session;                /* the trace; NULL: nothing is read */
	epp_provider_events *accounts[ORT_MISSING_NAMES]; /* of ran; NULL: its events are in the trace, or no room */
	struct ort_profile profile;
	bool is_due;             /* the profile is to be read; atomic */
	pthread_mutex_t reading; /* held while the profile is read or the accounts are closed */
};

/* Must be called before the struct is shared with another thread. */
void ort_missing_init(struct ort_missing *missing);
/* Begins a profiling run, after the last one was closed. `session`: the trace, if events are to be read from ONNX
 * Runtime's profile; else NULL.
 * Ownership: the session is borrowed until ort_missing_close. */
void ort_missing_begin(struct ort_missing *missing, epp_session *session);
/* Records that a node ran on this provider. If no profiler has joined under this name, its events are expected from now
 * on, so that the trace of a killed process reports that they are missing.
 * Thread: [any-thread]; costs a text comparison for a known name. */
void ort_missing_ran(struct ort_missing *missing, const char *provider);
/* Records that a profiler's events are in the trace. Returns the number of its label, 0 without room for it. */
uint32_t ort_missing_gives(struct ort_missing *missing, const char *label);
/* Records that the profiler with this number has events of the provider's nodes; call it before ort_missing_ran.
 * Returns true at the first call for the provider.
 * Thread: [any-thread]; costs a text comparison for a known provider. */
bool ort_missing_assign(struct ort_missing *missing, uint32_t number, const char *provider);

/* Finds the providers that ran nodes and have no events. A profiler may have another name than its provider, so the
 * names on both sides whose counterparts are not known are compared by count: none is missing if as many other
 * profilers have events. */
void ort_missing_find(struct ort_missing *missing, struct ort_names *found);

/* In EndProfiling: prepares the reading of the profile, which is now being written. */
void ort_missing_end(struct ort_missing *missing);
/* Reads the profile, once, and adds the missing events to the trace. A failure leaves the trace as it is, and the
 * account counts the events as lost. `logger` NULL: ONNX Runtime is gone, nothing is logged. */
void ort_missing_read(struct ort_missing *missing, const struct ort_host *host, const OrtLogger *logger);
/* Keeps only the session's own profile open, once it has been written: a process may have many sessions that have ended
 * and were not released. */
void ort_missing_settle(struct ort_missing *missing);
/* Closes the accounts; events that were not read are lost. */
void ort_missing_close(struct ort_missing *missing);

#endif
