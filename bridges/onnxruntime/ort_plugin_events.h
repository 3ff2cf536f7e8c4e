/* Copies the events of hosted plugins of other frameworks from the trace to ONNX Runtime's own profile. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PLUGIN_EVENTS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PLUGIN_EVENTS_H

#include "ort.h"
#include "ort_copies.h"

struct ort_plugin_events {
	const struct ort_host *host;
	epp_session *session;
	uint64_t producers;      /* set of the plugins' producers in the trace, a bit each
	                            (epp_hosted_profiler_producers) */
	int64_t profile_unix_ns; /* Unix time at which ONNX Runtime's profile started */
	int64_t duration_ns;     /* length of the profile; events that may have started in this time are added */
	struct ort_devices *devices;
	/* returns ONNX Runtime's correlation id for an event of the trace, as in struct ort_container */
	uint64_t (*ort_id_of)(const void *user, uint64_t id);
	const void *user;
};

/* Adds the events of these producers, in the time of the profile, to ONNX Runtime's container. */
OrtStatus *ort_plugin_events_fill(const struct ort_plugin_events *plugins, OrtProfilingEventsContainer *container);

#endif
