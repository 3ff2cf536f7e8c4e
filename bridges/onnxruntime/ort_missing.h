/* Execution providers (EPs) whose device events the collector does not get: their profilers submit them to ONNX Runtime
 * alone, which writes them into its own profile.  They are added to the trace from this profile when ONNX Runtime has
 * written it: when ONNX Runtime releases the collector's profiler, or at the end of the process. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_MISSING_H

#include <pthread.h>

#include "epprof/import.h"
#include "ort.h"
#include "ort_profile.h"

#define ORT_MISSING_NAMES 16u
#define ORT_MISSING_NAME_BYTES 48u

/* A list of up to ORT_MISSING_NAMES different names. */
struct ort_names {
	size_t count;
	char names[ORT_MISSING_NAMES][ORT_MISSING_NAME_BYTES];
};

/* State of one profiling run. */
struct ort_missing {
	pthread_mutex_t lock;
	/* names of providers that ran nodes, except ONNX Runtime's own CPU provider */
	struct ort_names ran;
	struct ort_names recorded; /* labels of profilers that have events in the trace */
	/* names of providers for whose nodes a profiler in `recorded` has events */
	struct ort_names known;
	bool is_assigned[ORT_MISSING_NAMES]; /* by index in `recorded`: the provider of this profiler is in `known` */
	epp_session *session;                /* the session of the trace; NULL: no profile is read */
	/* by index in `ran`: the ledger of the provider's missing events; NULL: no events are missing, or there was no
	 * room */
	epp_provider_events *accounts[ORT_MISSING_NAMES];
	struct ort_profile profile;
	bool is_due;             /* the profile must still be read; atomic */
	pthread_mutex_t reading; /* held while the profile is read and while the ledgers are closed */
};

/* Must be called before the struct is shared with another thread. */
void ort_missing_init(struct ort_missing *missing);
/* Begins a profiling run.  The previous one must be closed.  `session` is the session of the trace if events are to be
 * read from ONNX Runtime's profile, else NULL.  Ownership: the session is borrowed until ort_missing_close. */
void ort_missing_begin(struct ort_missing *missing, epp_session *session);
/* Records that a node ran on this provider.  If no profiler has joined the collector under this name, adds a ledger for
 * the provider's events to the session, with the note that they are expected.  If the process is killed, its trace then
 * reports that the events are missing.  Thread: [any-thread]; costs a text comparison for a known name. */
void ort_missing_add_executed(struct ort_missing *missing, const char *provider);
/* Records that a profiler has events in the trace.  Returns the number of its label; 0: there is no room. */
uint32_t ort_missing_add_recorded(struct ort_missing *missing, const char *label);
/* Records that the profiler with this number has events of the provider's nodes; must be called before
 * ort_missing_add_executed for the same node.   Returns true at the first call for the provider.
 * Thread: [any-thread]; costs a text comparison for a known provider. */
bool ort_missing_assign(struct ort_missing *missing, uint32_t number, const char *provider);

/* Finds the missing providers: those that ran nodes and whose profilers did not submit events to the collector.  The
 * name of a profiler may differ from that of its provider.  So providers without a known profiler and profilers without
 * a known provider are compared by their counts: if there are at least as many such profilers as such providers, no
 * provider is missing. */
void ort_missing_find(struct ort_missing *missing, struct ort_names *found);

/* Must be called in EndProfiling, while ONNX Runtime has the profile open.  Prepares the reading of the profile. */
void ort_missing_end(struct ort_missing *missing);
/* Reads the profile, once, and adds the missing events to the trace.  If this fails, the trace is not changed, and the
 * events are counted as lost.  If `logger` is NULL, ONNX Runtime is gone and nothing is logged. */
void ort_missing_read(struct ort_missing *missing, const struct ort_host *host, const OrtLogger *logger);
/* Called when ONNX Runtime has written the profile: keeps only this file open and closes the other candidates.
 * Otherwise a process with many sessions that have ended and were not released would have many open files. */
void ort_missing_settle(struct ort_missing *missing);
/* Closes the ledgers.  Events that were not read are counted as lost. */
void ort_missing_close(struct ort_missing *missing);

#endif
